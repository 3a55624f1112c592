package audit

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"proactivedp/dp"
	"proactivedp/dp/gdp"
	"proactivedp/internal/bounded"
	"proactivedp/internal/decimal"
	"proactivedp/rng"
)

// Scores are the results of an attack on a training, which may have run elsewhere. [Scores.Audit] computes lower
// bounds on the ε of the training from them. The attack is on canaries (extra records). A fair coin decided for each
// canary, independently of the others, whether it was a member, that is, in the training data. Without knowing the
// coins, the attack gave each canary a score. A higher score means that the canary is more likely a member. Member
// and Score have one element for each canary.
type Scores struct {
	Member []bool
	Score  []float64
}

// MinCanaries and MaxCanaries are the limits of the number of canaries (extra records) in [Scores]. MaxScoresBytes is
// the largest file that [ReadScores] reads, in bytes.
const (
	MinCanaries    = 20
	MaxCanaries    = 100_000
	MaxScoresBytes = 16 << 20
)

const (
	maxScoreErrors = 10 // the number of bad lines that are reported at most
	// Coins that are fair are refused with a probability of at most unfairLevel.
	unfairLevel = 1e-6
	// The order of equal scores must not depend on the coins, also if both are drawn with one seed.
	coinStream, tieStream = 0, 1
)

// ReadScores reads scores as CSV, with one line for each canary (an extra record, which may have been added to the
// training data). The header names the columns "member", which is 1 if the canary was in the training data and
// otherwise 0, and "score", a finite number. If there is a column "id", no value may occur twice, because each canary
// must count once. Other columns are ignored. The error lists the first bad lines.
func ReadScores(r io.Reader) (Scores, error) {
	text, err := io.ReadAll(bounded.Reader(r, MaxScoresBytes))
	if err != nil {
		return Scores{}, fmt.Errorf("scores: %w", err)
	}
	lines := csv.NewReader(bytes.NewReader(bytes.TrimPrefix(text, []byte("\uFEFF"))))
	lines.ReuseRecord, lines.TrimLeadingSpace = true, true
	header, err := lines.Read()
	if errors.Is(err, io.EOF) {
		return Scores{}, errors.New("scores: the file is empty, must have the columns member and score")
	}
	if err != nil {
		return Scores{}, fmt.Errorf("scores: %w", err)
	}
	member, missing := column(header, "member")
	score, alsoMissing := column(header, "score")
	if err := errors.Join(missing, alsoMissing); err != nil {
		return Scores{}, err
	}
	id := slices.IndexFunc(header, func(h string) bool { return strings.TrimSpace(h) == "id" })
	first := map[string]int{}
	var s Scores
	var bad []error
	for len(bad) < maxScoreErrors {
		record, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			bad = append(bad, fmt.Errorf("scores: %w", err))
			if errors.Is(err, csv.ErrFieldCount) {
				continue
			}
			break // the lines after it cannot be read reliably
		}
		line, _ := lines.FieldPos(0)
		label, number := strings.TrimSpace(record[member]), strings.TrimSpace(record[score])
		if label != "0" && label != "1" {
			bad = append(bad, fmt.Errorf("scores:%d: member = %.40q, must be 0 or 1", line, label))
		}
		v, err := strconv.ParseFloat(number, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			bad = append(bad, fmt.Errorf("scores:%d: score = %.40q, must be a finite number", line, number))
		}
		if id >= 0 {
			name := strings.TrimSpace(record[id])
			if before, twice := first[name]; twice {
				bad = append(bad, fmt.Errorf("scores:%d: id = %.40q, must not be that of line %d", line, name, before))
			}
			first[name] = line
		}
		s.Member, s.Score = append(s.Member, label == "1"), append(s.Score, v)
	}
	if err := errors.Join(bad...); err != nil {
		return Scores{}, err
	}
	return s, s.Validate()
}

// column returns the position of a column, which must occur once.
func column(header []string, name string) (int, error) {
	at := -1
	for i, h := range header {
		if strings.TrimSpace(h) != name {
			continue
		}
		if at >= 0 {
			return 0, fmt.Errorf("scores: the header has the column %s twice", name)
		}
		at = i
	}
	if at < 0 {
		return 0, fmt.Errorf("scores: header = %.200q, must have the column %s", header, name)
	}
	return at, nil
}

// Validate returns an error if the scores cannot be audited. Member and Score must have equal lengths, the number of
// canaries must be in [MinCanaries, MaxCanaries], and each score must be finite. The number of members (canaries in
// the training data) must be about half, as fair coins give. Validate refuses a number that is so far from half that
// fair coins would give it with a probability of at most 1e-6.
func (s Scores) Validate() error {
	n, members := len(s.Member), s.members()
	if len(s.Score) != n {
		return fmt.Errorf("scores: %d scores of %d canaries, must be equal", len(s.Score), n)
	}
	if err := checkCanaries(n); err != nil {
		return fmt.Errorf("scores: %w", err)
	}
	if members == 0 || members == n {
		return fmt.Errorf("scores: all %d canaries have the same member: the audit needs canaries that were in "+
			"the training data and canaries that were not", n)
	}
	if low, high := ClopperPearson(members, n, unfairLevel/2); low > 0.5 || high < 0.5 {
		return fmt.Errorf("scores: %d of %d canaries are members, must be about half: a fair coin must decide for "+
			"each canary (audit --canaries draws the coins)", members, n)
	}
	if i := slices.IndexFunc(s.Score, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }); i >= 0 {
		return fmt.Errorf("scores: score %d = %v, must be a finite number", i, s.Score[i])
	}
	return nil
}

func (s Scores) members() int {
	n := 0
	for _, m := range s.Member {
		if m {
			n++
		}
	}
	return n
}

// ScoresOptions are the options of [Scores.Audit].
type ScoresOptions struct {
	Delta      float64 // δ at which ε is bounded, in [1e-15, 0.5]
	Confidence float64 // probability with which each of the two lower bounds holds, in [0.5, 1 - 1e-9]
	// Guesses is the number of canaries for which it is guessed whether they are members, an even number in [2,
	// canaries]. The half of them with the highest scores are guessed to be members, and the half with the lowest
	// scores not to be. Choose Guesses without looking at Member. If it is 0, several numbers are tried, and the
	// probability of error, 1 - Confidence, is divided among them.
	Guesses int
	Seed    uint64 // seed of the random order of canaries with equal scores; the order in the file could reveal members
}

// Validate returns one error that lists every option outside its range.
func (o ScoresOptions) Validate() error {
	err := checkBound(o.Delta, o.Confidence)
	if o.Guesses < 0 || o.Guesses > MaxCanaries || o.Guesses%2 != 0 {
		err = errors.Join(err, fmt.Errorf("guesses = %d, must be even and in [2, %d]", o.Guesses, MaxCanaries))
	}
	return err
}

// Audit returns two lower bounds on the ε of the attacked training, and measures how well the attack recognises
// members (canaries that were in the training data). The first bound assumes only that fair coins chose the members.
// The second is usually larger, but assumes more, see [GaussianDP]. The training may have run anywhere: Audit does
// not need its code. If a bound is above the ε that was claimed for the training, the claim is wrong, with the
// confidence o.Confidence.
func (s Scores) Audit(o ScoresOptions) (*ScoresReport, error) {
	if err := errors.Join(s.Validate(), o.Validate()); err != nil {
		return nil, err
	}
	n := len(s.Score)
	if o.Guesses > n {
		return nil, fmt.Errorf("guesses = %d, must be at most the %d canaries", o.Guesses, n)
	}
	r := &ScoresReport{
		Delta: o.Delta, Confidence: o.Confidence, Adjacency: dp.AddOrRemove, LowerKind: statistical,
		Canaries: n, Members: s.members(), Seed: o.Seed, Attack: s.attack(1 - o.Confidence),
	}
	tries := choices(n)
	if o.Guesses > 0 {
		tries = []choice{{o.Guesses / 2, o.Guesses / 2}}
	}
	r.Tests = len(tries)
	level := (1 - o.Confidence) / float64(len(tries))
	right := s.ranked(o.Seed)
	r.OneRun = counted(tries[0], right)
	r.Gaussian.OneRun = r.OneRun
	for _, c := range tries {
		g := counted(c, right)
		if g.pValue(r.EpsilonLowerBound, o.Delta) < level {
			e, err := g.epsilon(o.Delta, level)
			if err != nil {
				return nil, err
			}
			if e > r.EpsilonLowerBound {
				r.EpsilonLowerBound, r.OneRun = e, g
			}
		}
		if mu := g.mu(r.Gaussian.Mu, level); mu > r.Gaussian.Mu {
			r.Gaussian.Mu, r.Gaussian.OneRun = mu, g
		}
	}
	e, err := gdp.Epsilon(r.Gaussian.Mu, o.Delta)
	if err != nil {
		return nil, err
	}
	r.Gaussian.EpsilonLowerBound = max(0, e*(1-1e-9)) // gdp rounds up
	return r, nil
}

// choice is how many canaries with the highest scores are guessed to be members, and how many with the
// lowest scores to be none.
type choice struct{ high, low int }

// choices returns the choices that are tried for n canaries. They depend on n only. Halving the number
// of guesses each time loses little compared with the best number, and few tests share the level. A
// choice with fewer than ten guesses refutes nothing at the level that remains.
func choices(n int) []choice {
	const fewest = 10
	var all []choice
	for made := n; made >= fewest; made /= 2 {
		all = append(all, choice{made - made/2, made / 2})
		if made < n {
			all = append(all, choice{made, 0})
		}
	}
	return all
}

// ranked returns the canaries' members in the order of their scores, lowest first. The order among equal
// scores is random and does not depend on Member. The order in the file may depend on it, so it must not
// decide.
func (s Scores) ranked(seed uint64) []bool {
	order := make([]int, len(s.Score))
	for i := range order {
		order[i] = i
	}
	rng.Shuffle(rng.New(seed).Stream(rng.Synthetic, tieStream, 0), order)
	ascending(order, s.Score)
	members := make([]bool, len(order))
	for i, at := range order {
		members[i] = s.Member[at]
	}
	return members
}

// counted counts the right guesses of a choice among ranked members.
func counted(c choice, ranked []bool) OneRun {
	return countRight(len(ranked), c, func(i int) bool { return !ranked[i] })
}

func checkCanaries(n int) error { return dp.CheckCount("canaries", n, MinCanaries, MaxCanaries) }

// DrawCanaries prepares an audit of your own training: it tosses a fair coin for each of n canaries (extra records),
// n in [MinCanaries, MaxCanaries], with random numbers from root (a seed or a secret). It writes the results as CSV
// with the columns id, from 0 to n - 1, and member, 0 or 1. Call it before the training, and add the members, and
// only them, to the training data. Afterwards add a column score: for each canary a number that you compute from the
// trained model, larger if the canary is more likely a member, such as the negative loss. Then audit the file with
// [ReadScores] and [Scores.Audit].
func DrawCanaries(w io.Writer, n int, root *rng.Root) error {
	if err := checkCanaries(n); err != nil {
		return err
	}
	if err := root.Check(); err != nil {
		return err
	}
	coins := root.Stream(rng.Synthetic, coinStream, 0)
	text := []byte("id,member\n")
	for i := range n {
		text = fmt.Appendf(text, "%d,%d\n", i, coins.IntN(2))
	}
	_, err := w.Write(text)
	return err
}

// ScoresReport is the result of [Scores.Audit], an audit by the scores that an attack gave to canaries (planted
// records, of which only some were trained on). It has two lower bounds on the ε of the attacked training:
// EpsilonLowerBound, and Gaussian.EpsilonLowerBound, which assumes more. Attack says how well the attack recognises
// members, the canaries that were trained on.
type ScoresReport struct {
	// EpsilonLowerBound is the largest ε that the scores refute, or 0 if they refute none. It assumes nothing about
	// the training, only that fair coins decided which canaries were members.
	EpsilonLowerBound float64 `json:"epsilon_lower_bound"`
	Delta             float64 `json:"delta"`
	// Confidence is the probability with which a bound holds, for each of the two bounds by itself.
	Confidence float64      `json:"confidence"`
	Adjacency  dp.Adjacency `json:"adjacency"`
	// LowerKind is always "statistical": a bound holds with the stated confidence, not with certainty.
	LowerKind string `json:"lower_kind"`
	Canaries  int    `json:"canaries"`
	Members   int    `json:"members"`
	Seed      uint64 `json:"seed"` // seed of the random order among canaries with equal scores
	// Tests is how many numbers of guesses were tried. The probability of error, 1 - Confidence, is divided among
	// them.
	Tests    int        `json:"tests"`
	OneRun   OneRun     `json:"one_run"`
	Gaussian GaussianDP `json:"gaussian"`
	Attack   Attack     `json:"attack"`
}

// GaussianDP is the second lower bound on ε of a [ScoresReport]. The first bound assumes only that the toss of a coin
// decided for each canary (extra record) whether it was in the training data. The second is usually larger, but also
// assumes that the training is as private as a Gaussian mechanism with some parameter μ (μ-GDP, see package gdp).
type GaussianDP struct {
	// Mu is the lower bound on μ: with the report's confidence, the training is not μ-GDP for any smaller μ; 0 if
	// none is refuted.
	Mu                float64 `json:"mu_lower_bound"`
	EpsilonLowerBound float64 `json:"epsilon_lower_bound"`
	OneRun            OneRun  `json:"one_run"` // the guesses from which the bound was computed
}

// WriteText writes the report as text for people: the lower bounds on ε, and how well the attack recognises members.
func (r *ScoresReport) WriteText(w io.Writer) error {
	if r == nil || r.Canaries == 0 {
		return errors.New("this ScoresReport was not made by Scores.Audit")
	}
	var b bytes.Buffer
	percent := strconv.FormatFloat(100*r.Confidence, 'g', 10, 64) + " %"
	delta := decimal.Exactly(r.Delta)
	if r.EpsilonLowerBound > 0 {
		fmt.Fprintf(&b, "At %s confidence the training was not (ε, %s)-DP for any ε below %s.\n", percent, delta,
			decimal.Down(r.EpsilonLowerBound, shownDigits))
	} else {
		fmt.Fprintf(&b, "At %s confidence the scores refute no ε at δ = %s. This does not prove privacy: another attack "+
			"may do better.\n", percent, delta)
	}
	if g := r.Gaussian; g.Mu > 0 {
		fmt.Fprintf(&b, "At %s confidence it was not Gaussian-DP with any ε below %s at δ = %s (μ below %s).\n", percent,
			decimal.Down(g.EpsilonLowerBound, shownDigits), delta, decimal.Down(g.Mu, shownDigits))
	} else {
		fmt.Fprintf(&b, "The scores refute no μ of Gaussian-DP.\n")
	}
	fmt.Fprintf(&b, "\nThe first bound holds for every training. The second bounds ε only if the privacy of the training\n"+
		"is that of a Gaussian mechanism. Both are for %s adjacency. They assume that an independent\n"+
		"fair coin decided for each canary whether it was a member, and that the scores depend on the coins\n"+
		"only through the training.\n\n", r.Adjacency)
	fmt.Fprintf(&b, "%d canaries, %s. %d of %d guesses right", r.Canaries, decimal.Many(r.Members, "member"), r.OneRun.Right,
		r.OneRun.Guesses)
	if r.Gaussian.OneRun != r.OneRun {
		fmt.Fprintf(&b, " (Gaussian-DP: %d of %d)", r.Gaussian.OneRun.Right, r.Gaussian.OneRun.Guesses)
	}
	if r.Tests == 1 {
		fmt.Fprintf(&b, "; the number of guesses was given.\n\n")
	} else {
		fmt.Fprintf(&b, "; the best of %d choices of guesses,\nwhich share the probability of error (Bonferroni).\n\n", r.Tests)
	}
	r.Attack.write(&b, percent)
	_, err := w.Write(b.Bytes())
	return err
}
