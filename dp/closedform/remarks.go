package closedform

import (
	"errors"
	"fmt"
)

// remarks collects errors about events. It counts equal errors instead of repeating them, because a
// growing sequence has an event for each of its sizes.
type remarks struct {
	list []remark
	at   map[string]int // the index of a text in the list
}

type remark struct {
	err         error
	first, more int // the first event that the remark is about, and how many others it is about
}

func (r *remarks) add(event int, err error) {
	if i, known := r.at[err.Error()]; known {
		r.list[i].more++
		return
	}
	if r.at == nil {
		r.at = map[string]int{}
	}
	r.at[err.Error()] = len(r.list)
	r.list = append(r.list, remark{err: err, first: event})
}

func (r *remarks) join() error {
	var errs []error
	for _, m := range r.list {
		others := ""
		if m.more > 0 {
			others = fmt.Sprintf(" and %d more", m.more)
		}
		errs = append(errs, fmt.Errorf("event %d%s: %w", m.first, others, m.err))
	}
	return errors.Join(errs...)
}
