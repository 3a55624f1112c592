package dp

import (
	"errors"
	"fmt"
	"slices"

	"proactivedp/internal/strictjson"
	"proactivedp/rng"
)

// Noise says in public where the noise of an event is from: which run of which root,
// and which client of it. Rounds of one client of one run have one noise, whatever σ
// they are at: of two trainings with seed 1, at σ = 10 and 20, 2U − U′ is the sum of
// gradients without any. The zero value says nothing.
type Noise struct {
	rng.Name
	Client int `json:"client"` // or AllClients, for rounds of any client of the run
}

// AllClients is the Client of noise that is not said to be of one client.
const AllClients = -1

// String returns the name for people, such as "seed 1, run 0, client 2".
func (a Noise) String() string {
	if !a.Known() || a.Client == AllClients {
		return a.Name.String()
	}
	return fmt.Sprintf("%s, client %d", a.Name, a.Client)
}

// ErrSharedNoise is what composing releases wraps where two of them are of one run of
// one root. No ε can be claimed for them together.
var ErrSharedNoise = errors.New("releases share their noise")

// Compose returns the events of several releases together, in order. A list holds all
// that is counted of a release; where two lists name the same noise the error wraps
// ErrSharedNoise and says which two, counted from 0. So it is where a list has events of
// two mechanisms under one name, which a run never has.
func Compose(releases ...[]Event) ([]Event, error) {
	seen := map[rng.Name]*composed{}
	for i, events := range releases {
		for _, e := range events {
			if !e.Noise.Known() {
				continue
			}
			c := seen[e.Noise.Name]
			if c == nil {
				c = &composed{first: e, lists: map[int]int{}}
				seen[e.Noise.Name] = c
			}
			if j, ok := c.sharing(e.Noise.Client, i); ok {
				return nil, sharedBy(fmt.Sprintf("releases %d and %d", j, i), e.Noise)
			}
			if !e.Alike(c.first) {
				return nil, sharedBy(fmt.Sprintf("rounds of two mechanisms in %d", i), e.Noise)
			}
			c.lists[e.Noise.Client] = i
		}
	}
	return slices.Concat(releases...), nil
}

// composed is what Compose has met of a run.
type composed struct {
	first Event
	lists map[int]int // by client, the list that it is in
}

// sharedBy reports that what shares the noise.
func sharedBy(what string, noise Noise) error {
	return fmt.Errorf("%s are of %s: rounds of one number have one noise there, at any σ, and who has both takes "+
		"it off; a release needs a run of its own: %w", what, noise, ErrSharedNoise)
}

// sharing returns the first list other than i that has the client's noise.
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

// Names returns the runs that the events' noise is from, each once, in order, and
// whether there are events that name none.
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

// Release is a release as it stands in a file: its rounds under one name.
type Release struct {
	Noise  rng.Name `json:"noise,omitzero"` // absent: not known
	Events []Event  `json:"events"`
}

// UnmarshalJSON reads a release, of which every event has its noise then: of whatever client,
// as the file does not say which. A key that a release has not is an error.
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

// Releases returns the events by the name of their noise, those of equal names
// together.
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
