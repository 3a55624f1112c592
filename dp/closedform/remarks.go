package closedform

import (
	"errors"
	"fmt"
)

// remarks collects what is wrong with events. It counts equal remarks, because a growing sequence
// has an event for each of its sizes.
type remarks struct {
	list []remark
	at   map[string]int // the index of a text in the list
}

type remark struct {
	err         error
	first, more int // the first event it is about, and how many others
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
