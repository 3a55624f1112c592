package dp

import (
	"errors"
	"fmt"
	"slices"

	"proactivedp/internal/strictjson"
	"proactivedp/rng"
)

// Noise names the source of an event's noise: the root (a seed or a secret, see [rng.Root]), the number of the run,
// and the client. The name does not reveal a secret and may be published. The zero value means that the source is not
// known.
//
// The noise of two releases with the same root, run, client and round number is the same random numbers, scaled by σ.
// Whoever has both releases can remove it. For example, let U and U′ be the releases of one round in two trainings
// with seed 1, at σ = 10 and σ = 20. Then the noise cancels in 2U − U′, which is a sum of gradients without
// protection.
type Noise struct {
	rng.Name
	Client int `json:"client"` // number of the client, or AllClients for rounds of any client of the run
}

// AllClients is the value of Noise.Client if it is not known which client of the run drew the noise, for example
// because the rounds come from a file, which does not name clients. The rounds may then be those of any client of the
// run.
const AllClients = -1

// String returns the name as text, such as "seed 1, run 0, client 2".
func (a Noise) String() string {
	if !a.Known() || a.Client == AllClients {
		return a.Name.String()
	}
	return fmt.Sprintf("%s, client %d", a.Name, a.Client)
}

// ErrSharedNoise is wrapped by the errors for two releases that share noise, because both name the same client in the
// same run of the same seed or secret (see [Noise]). No ε holds for such releases together, because the noise cancels
// when one, scaled, is subtracted from the other. The error also occurs if two releases name the same run but have
// different mechanisms, for example different σ: a run has only one mechanism, so these must be two trainings with the
// same seed (see [Compose]).
var ErrSharedNoise = errors.New("releases share their noise")

// Compose returns the events of several releases, such as trainings on the same records, as one list. Use it before
// you compute the ε of the releases together: it first checks that they do not share noise. Each argument lists all
// rounds of one release. The error wraps [ErrSharedNoise] if
//
//   - two arguments name the same client in the same run of the same seed or secret ([AllClients] counts as every
//     client); the error gives the indexes of the arguments, counted from 0;
//   - two events name the same run of the same seed or secret but differ in their mechanism, for example in σ (see
//     [Event.Alike]), even if they are of different clients. All clients of a run use one mechanism, so such events
//     cannot be parts of one run.
func Compose(releases ...[]Event) ([]Event, error) {
	seen := runs{}
	for i, events := range releases {
		for _, e := range events {
			if err := seen.add(i, e); err != nil {
				return nil, err
			}
		}
	}
	return slices.Concat(releases...), nil
}

// CheckNoise returns an error that wraps [ErrSharedNoise] if two ledgers share noise, for example because both name the
// same client in the same run of the same seed (see [Noise]). It makes the same checks as [Compose] with the events of
// each ledger as one argument. But it needs less memory, because it does not return a list of all events.
func CheckNoise(ledgers []Ledger) error {
	seen := runs{}
	for i := range ledgers {
		for e := range ledgers[i].All() {
			if err := seen.add(i, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// runs has the facts that Compose has found so far about each run.
type runs map[rng.Name]*composed

// add adds an event of release i.
func (r runs) add(i int, e Event) error {
	if !e.Noise.Known() {
		return nil
	}
	c := r[e.Noise.Name]
	if c == nil {
		c = &composed{first: e, lists: map[int]int{}}
		r[e.Noise.Name] = c
	}
	if j, ok := c.sharing(e.Noise.Client, i); ok {
		return sharedBy(fmt.Sprintf("releases %d and %d", j, i), e.Noise)
	}
	if !e.Alike(c.first) {
		return sharedBy(fmt.Sprintf("rounds of two mechanisms in release %d", i), e.Noise)
	}
	c.lists[e.Noise.Client] = i
	return nil
}

// composed has the facts about one run.
type composed struct {
	first Event
	lists map[int]int // for each client, the index of its list
}

// sharedBy returns the error for two releases that share noise; what names them.
func sharedBy(what string, noise Noise) error {
	return fmt.Errorf("%s share the noise of %s: rounds with equal numbers have equal noise, at any σ, so it can be "+
		"subtracted; use a separate run for each release: %w", what, noise, ErrSharedNoise)
}

// sharing returns the index of a list, other than i, that has events with the client's noise.
func (c *composed) sharing(client, i int) (int, bool) {
	if client == AllClients {
		first := i
		for _, j := range c.lists {
			first = min(first, j)
		}
		return first, first != i
	}
	for _, other := range [2]int{client, AllClients} {
		if j, ok := c.lists[other]; ok && j != i {
			return j, true
		}
	}
	return 0, false
}

// Names returns the sources of noise that the events name, each once, in the order of the events, for example to
// publish them with ε. A source is a root (a seed or a secret) and the number of a run: one root has independent
// noise for each run number. unnamed is true if at least one event names no source; whether that event shares
// noise with others is then unknown.
func Names(events []Event) (names []rng.Name, unnamed bool) {
	seen := map[rng.Name]bool{}
	for _, e := range events {
		switch name := e.Noise.Name; {
		case !name.Known():
			unnamed = true
		case !seen[name]:
			seen[name] = true
			names = append(names, name)
		}
	}
	return names, unnamed
}

// Release is a list of rounds whose noise comes from one source: a seed or a secret, together with the number of the
// run (training) that used it. Files store rounds in this form, which names the source once and not in each event.
type Release struct {
	// Noise names the source from which the noise of all Events was drawn: a seed or a secret, and the number of the
	// run. It is absent in JSON if the source is not known.
	Noise  rng.Name `json:"noise,omitzero"`
	Events []Event  `json:"events"`
}

// UnmarshalJSON reads a release from JSON. If the JSON names the source of the noise, this becomes the Noise of each
// event, with the client [AllClients] (any client of the run), because the JSON names no client. An unknown key and
// an invalid event are errors.
func (r *Release) UnmarshalJSON(text []byte) error {
	var read struct {
		Noise  rng.Name     `json:"noise,omitzero"`
		Events []givenEvent `json:"events"`
	}
	if err := strictjson.Decode(text, &read); err != nil {
		return err
	}
	release := Release{Noise: read.Noise}
	for i, given := range read.Events {
		e, err := given.event()
		if err != nil {
			return fmt.Errorf("release: event %d: %w", i, err)
		}
		if read.Noise.Known() {
			e.Noise = Noise{Name: read.Noise, Client: AllClients}
		}
		release.Events = append(release.Events, e)
	}
	*r = release
	return nil
}

// Releases groups the events by the source of their noise, that is, the root (a seed or a secret) and the number of
// the run, in the form in which files store rounds. The groups are in the order in which the sources first occur.
func Releases(events []Event) []Release {
	var out []Release
	at := map[rng.Name]int{}
	for _, e := range events {
		name := e.Noise.Name
		i, seen := at[name]
		if !seen {
			i = len(out)
			at[name] = i
			out = append(out, Release{Noise: name})
		}
		out[i].Events = append(out[i].Events, e)
	}
	return out
}
