package auto

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"proactivedp/dp"
	"proactivedp/dp/claim"
	"proactivedp/internal/bounded"
	"proactivedp/internal/files"
	"proactivedp/internal/strictjson"
	"proactivedp/train"
)

// Journal is what [Run] stores in its folder: the clients' accounts (budgets), the tasks and the stages (private
// trainings). It holds everything on which the next step depends, so a later call of Run can continue from it. Run
// writes each stage to the journal before the stage starts, and never removes one, so that its cost is never
// forgotten. The spent part of the budgets is computed from the stages.
type Journal struct {
	Public   Public        `json:"public"`
	Seed     uint64        `json:"seed"` // seed of the tasks, see train.Spec.Seed
	Accounts []Account     `json:"accounts"`
	Tasks    []JournalTask `json:"tasks"`
	Stages   []Stage       `json:"stages"`
}

// JournalTask is one task of a [Journal], the file from which an interrupted [Run] continues: a model to be trained for
// the targets and budgets of some clients, in one or several stages (private trainings). Outlook has the accuracies that
// were estimated before the first stage.
type JournalTask struct {
	Task
	Outlook Outlook `json:"outlook"`
	// SampleSize is the batch size of each stage of the task, and Rounds is the number of rounds of each stage. Both
	// are 0 for the strategies Paper and PaperTarget, whose stages differ.
	SampleSize int `json:"sample_size,omitempty"`
	Rounds     int `json:"rounds,omitempty"`
	// End says why the task ended. It is "" while the task is under way.
	End string `json:"end,omitempty"`
}

// JournalFile is the name of the file in [Options].Dir in which [Run] keeps its [Journal].
const (
	JournalFile = "journal.json"
	maxJournal  = 64 << 20
)

// sealed is the content of a journal's file. The digest detects damage, but not forgery.
type sealed struct {
	Version int             `json:"version"`
	SHA256  string          `json:"journal_sha256"` // of Journal as compact JSON
	Journal json.RawMessage `json:"journal"`
}

// journalVersion increases whenever the meaning of a journal changes.
const journalVersion = 2

// readJournal reads the journal of a folder. It returns nil if nothing was run there.
func readJournal(dir string) (*Journal, error) {
	path := filepath.Join(dir, JournalFile)
	text, err := bounded.Within(dir, JournalFile, maxJournal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, checkNew(dir)
	}
	if err != nil {
		return nil, err
	}
	j, err := parseJournal(text)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return j, nil
}

// checkNew refuses a folder that has a model but no journal. Because the journal is written before the
// first stage, it must have been lost. Continuing would overwrite the model and forget what it cost.
func checkNew(dir string) error {
	models, err := fs.Glob(os.DirFS(dir), fmt.Sprintf(modelFile, "*"))
	if err != nil || len(models) == 0 {
		return err
	}
	return fmt.Errorf("%s is missing, which records what %s has cost: restore it, or give another folder", filepath.Join(dir, JournalFile), models[0])
}

// parseJournal reads a journal. It refuses one that is damaged or contradicts itself.
func parseJournal(text []byte) (*Journal, error) {
	var s sealed
	if err := errors.Join(strictjson.Decode(text, &s), strictjson.Check(text, false)); err != nil {
		return nil, err
	}
	if s.Version != journalVersion {
		return nil, fmt.Errorf("version = %d, must be %d: another version of the program wrote this folder. "+
			"Continue with that version. A training in another folder has a separate budget, which the records "+
			"pay in addition", s.Version, journalVersion)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, s.Journal); err != nil {
		return nil, err
	}
	if digest(compact.Bytes()) != s.SHA256 {
		return nil, errors.New("damaged: its SHA-256 does not match its content")
	}
	var j Journal
	if err := strictjson.Decode(s.Journal, &j); err != nil {
		return nil, err
	}
	return &j, j.validate()
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// write replaces the journal's file atomically.
func (j *Journal) write(dir string) error {
	compact, err := json.Marshal(j)
	if err != nil {
		return err
	}
	return files.Write(filepath.Join(dir, JournalFile), files.JSON(sealed{journalVersion, digest(compact), compact}))
}

// validate reports contradictions in the journal. It does not check the ledgers.
func (j *Journal) validate() error {
	var errs []error
	fail := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(j.Tasks) == 0 || len(j.Stages) > maxStages {
		fail("%d tasks and %d stages, must be at least one, at most %d", len(j.Tasks), len(j.Stages), maxStages)
	}
	for i, e := range j.Tasks {
		if err := e.Task.Validate(); err != nil {
			fail("task %d: %w", i, err)
		} else if err := j.fits(e.Task); err != nil {
			fail("task %d: %w", i, err)
		}
		if e.End == "" && i < len(j.Tasks)-1 {
			fail("task %d is under way, but another one follows", i)
		}
	}
	for _, a := range j.Accounts {
		if err := a.Validate(); err != nil {
			fail("account of clients %v: %w", a.Clients, err)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	stages := make([]int, len(j.Tasks))
	runs := map[uint64]bool{}
	for i := range j.Stages {
		s := &j.Stages[i]
		if s.Task < 0 || s.Task >= len(j.Tasks) || i > 0 && s.Task < j.Stages[i-1].Task {
			fail("stage %d: task = %d, must not decrease and must be below %d", i, s.Task, len(j.Tasks))
			break
		}
		stages[s.Task]++
		if err := s.validate(j.Tasks[s.Task].Task); err != nil {
			fail("stage %d: %w", i, err)
		}
		if !s.trained() && i < len(j.Stages)-1 {
			fail("stage %d is not trained, but another one follows", i)
		}
		for _, p := range s.Participants {
			if runs[p.Run] {
				fail("stage %d: run = %d is also that of another participant, so they would share their noise", i, p.Run)
			}
			runs[p.Run] = true
		}
	}
	for i, e := range j.Tasks {
		if e.End != "" && stages[i] == 0 {
			fail("task %d has ended without a stage", i)
		}
	}
	return errors.Join(errs...)
}

// fits reports why a task cannot use the accounts of the journal: its data or its budgets differ from
// those fixed before the first release.
func (j *Journal) fits(t Task) error {
	var errs []error
	if t.Spec.Seed != j.Seed {
		errs = append(errs, fmt.Errorf("seed = %d, must be %d: it deals the records that were accounted for",
			t.Spec.Seed, j.Seed))
	}
	first := j.Tasks[0].Spec
	for _, f := range []struct {
		name      string
		have, had any
	}{
		{"split", cmp.Or(t.Spec.Split, train.ShuffledSplit), cmp.Or(first.Split, train.ShuffledSplit)},
		{"holdout", t.Spec.Holdout, first.Holdout},
		{"fold", t.Spec.Fold, first.Fold}, {"partition", t.Spec.Partition, first.Partition},
	} {
		if f.have != f.had {
			errs = append(errs, fmt.Errorf("%s = %#v, must be %#v as in the first task of the folder: otherwise "+
				"a client would train on other records than those that were accounted for", f.name, f.have, f.had))
		}
	}
	wanted := accountsOf(t, j.Public)
	if !slices.EqualFunc(wanted, j.Accounts, Account.sameAs) {
		errs = append(errs, fmt.Errorf("the clients' records and budgets differ from those that were promised "+
			"before the first release: %v, must be %v", describe(wanted), describe(j.Accounts)))
	}
	for _, a := range j.Accounts {
		if t.Strategy.ByTheorem() != (len(a.Orders) == 0 && !a.Once) {
			errs = append(errs, fmt.Errorf("strategy = %q, must not be: the budget that was fixed before the "+
				"first release is %s", t.Strategy, a.kind()))
			break
		}
	}
	return errors.Join(errs...)
}

// kind names the account's filter.
func (a Account) kind() string {
	switch {
	case a.Once:
		return "that of one stage"
	case len(a.Orders) == 0:
		return "the closed form's"
	}
	return "that of a Rényi filter"
}

// describe lists the budgets of accounts.
func describe(all []Account) []string {
	var texts []string
	for _, a := range all {
		text := fmt.Sprintf("clients %v: N = %d, ε = %v, δ = %v", a.Clients, a.Records, a.Epsilon, a.Delta)
		if a.Group > 0 {
			text += " for " + claim.Whom(dp.Event{Group: a.Group})
		}
		texts = append(texts, text)
	}
	return texts
}

// ledgers returns the accounts, charged with the journal's stages. If a filter refuses a stage, ledgers
// returns an error, because this program does not write such a journal.
func (j *Journal) ledgers(ctx context.Context) ([]*ledger, error) {
	var all []*ledger
	for _, a := range j.Accounts {
		l, err := newLedger(a)
		if err != nil {
			return nil, err
		}
		for i := range j.Stages {
			if events := j.Stages[i].events(a, j.Seed); len(events) > 0 {
				if err := l.spend(ctx, i, events); err != nil {
					return nil, err
				}
			}
		}
		all = append(all, l)
	}
	return all, nil
}

// nextRun returns the next free run number of a release. The first is 1, because a training outside of
// a loop is run 0.
func (j *Journal) nextRun() uint64 {
	next := uint64(1)
	for i := range j.Stages {
		for _, p := range j.Stages[i].Participants {
			next = max(next, p.Run+1)
		}
	}
	return next
}

// stagesOfTask returns the stages of the journal's last task.
func (j *Journal) stagesOfTask() []Stage {
	task := len(j.Tasks) - 1
	first := slices.IndexFunc(j.Stages, func(s Stage) bool { return s.Task == task })
	if first < 0 {
		return nil
	}
	return j.Stages[first:]
}
