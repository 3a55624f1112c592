package cluster

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"proactivedp/dp"
	"proactivedp/internal/decimal"
	"proactivedp/internal/files"
	"proactivedp/sim"
	"proactivedp/train"
)

// Report is the report of a finished distributed training, which [Serve] returns: the report of the training, the
// sizes of its messages, and how old the models were from which updates were computed. Expelled lists the clients that
// were removed.
type Report struct {
	train.Report
	Run       string `json:"run"`
	Received  int64  `json:"bytes_received"`  // bytes of the messages whose updates were applied to the model
	Broadcast int64  `json:"bytes_broadcast"` // bytes of the messages with global models
	Resent    int    `json:"resent"`          // number of updates that clients sent again
	// Lags has the staleness of the updates: element l is the number of updates for a round i that was computed from
	// global model i − l.
	Lags     []int          `json:"lags"`
	Refused  map[string]int `json:"refused"` // number of refused messages, by reason, see [Refusal]
	Expelled []int          `json:"expelled"`
}

// finish makes the report of a training whose clients have all sent their ledgers.
func (s *server) finish(ctx context.Context) (*Report, error) {
	result := &train.Outcome{Result: &sim.Result{
		Params: slices.Clone(s.machine.Model()), Run: s.Prepared.Config.Run(), Updates: s.machine.Updates(),
		Staleness: slices.Clone(s.record.Lags), MaxLag: sim.Staleness(s.record.Lags).Max(),
	}}
	r := &Report{Run: s.about.Run, Received: s.record.Received, Broadcast: s.record.Broadcast, Lags: s.record.Lags,
		Refused: s.record.Refused}
	for c, one := range s.record.Clients {
		var ledger dp.Ledger
		mech := *s.mech
		if one.Expelled {
			r.Expelled = append(r.Expelled, c)
			ledger = s.planned()
		} else {
			var err error
			if ledger, err = one.Ledger.ledger(c, s.mech, s.about.Rounds); err != nil {
				return nil, err
			}
			mech.DatasetSize = min(mech.DatasetSize, one.Ledger.Records)
			r.Resent += one.Ledger.Resent
		}
		addReplaced(&ledger, one.replaced(), &mech, s.about.Rounds)
		result.Ledgers = append(result.Ledgers, ledger)
	}
	report, err := s.Prepared.Report(ctx, result, s.record.seconds(s.trained))
	if err != nil {
		return nil, err
	}
	r.Report = *report
	if len(r.Expelled) > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("expelled: %s; (ε, δ) assumes that they released all their "+
			"rounds and hold as many records as the server assumes. A client that holds fewer pays more for "+
			"each record, as its own statement says", listed(r.Expelled)))
	}
	for c, one := range s.record.Clients {
		r.Notes = append(r.Notes, replacedNote(c, one.replaced())...)
	}
	if s.Prepared.Config.Partition.Disjoint() && len(s.record.Clients) > 1 {
		r.Notes = append(r.Notes, ownHolders)
	}
	r.Notes = append(r.Notes, olderCopies(r.Rounds))
	if err := files.Write(s.record.path(reportFile), files.JSON(r)); err != nil {
		return nil, err
	}
	s.log.Info("the run has ended", "run", r.Run, "updates", r.Updates, "seconds", r.Seconds, "expelled",
		len(r.Expelled))
	return r, nil
}

// planned returns the most that an expelled client can have released.
func (s *server) planned() dp.Ledger {
	var l dp.Ledger
	for _, e := range s.mech.Events(s.about.Rounds) {
		l.Record(e)
	}
	return l.Named(dp.Noise{})
}

// listed formats a list of clients.
func listed(clients []int) string {
	texts := make([]string, len(clients))
	for i, c := range clients {
		texts[i] = fmt.Sprint(c)
	}
	return decimal.Many(len(clients), "client") + " (" + strings.Join(texts, ", ") + ")"
}

// WriteText writes the report as text for people: accuracy and privacy of the training, and how much was sent.
func (r *Report) WriteText(w io.Writer) error {
	if err := r.Report.WriteText(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "sent            %s of updates, %s of broadcasts; %s\n", bytesText(r.Received),
		bytesText(r.Broadcast), decimal.Many(r.Resent, "update")+" sent again")
	if err != nil || len(r.Refused) == 0 {
		return err
	}
	_, err = fmt.Fprintf(w, "refused         %s\n", refusedText(r.Refused))
	return err
}

func bytesText(n int64) string { return fmt.Sprintf("%.4g MB", float64(n)/1e6) }

// refusedText lists how many messages were refused for each reason.
func refusedText(refused map[string]int) string {
	var texts []string
	for why, n := range refused {
		texts = append(texts, fmt.Sprintf("%d %s", n, why))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}
