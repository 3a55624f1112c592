package data

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/internal/decimal"
	"proactivedp/rng"
)

// TrainFraction is the fraction of the rows that [Split] and [SplitByRecord] use for training if a data set has no
// separate test set. The Proactive DP paper uses this fraction too, as its experiment with the data set phishing shows:
// in the paper's LaTeX source, the name of a model file has the accuracy 0.93803709. This is a multiple of 1/2,211, so
// there were 2,211 test rows, a fifth of the 11,055 rows of phishing.
const TrainFraction = 0.8

// Split returns the training and the test rows of d, each in the order of the file. If d has a separate test set (see
// Dataset.Train), it returns these two parts. Otherwise it chooses ⌊0.8·rows⌋ random rows for training, drawn from
// root, and d must have at least 5 rows. If a row is added, all rows may change sides, so (ε, δ) does not cover the
// split: see [SplitByRecord]. It is an error if d is not valid. It is also an error if d says whose record each row is
// (Dataset.Person) and has no separate test set, because Split could put records of a person on both sides.
func Split(d *Dataset, root *rng.Root) (train, test Subset, err error) {
	if err := d.Validate(); err != nil {
		return train, test, fmt.Errorf("split: %w", err)
	}
	if err := d.checkApart(); err != nil {
		return train, test, err
	}
	n, rows := d.Len(), d.All().Rows
	if cut := d.Train; cut > 0 {
		return Subset{d, rows[:cut:cut]}, Subset{d, rows[cut:]}, nil
	}
	if d.Person != nil {
		return train, test, fmt.Errorf("%s has persons, must be split by record, which keeps the records of a person on one side",
			d.Name)
	}
	if n < 5 {
		return train, test, fmt.Errorf("%s has %d rows, a split needs at least 5: --test names a file of test rows", d.Name, n)
	}
	if err := root.Check(); err != nil {
		return train, test, fmt.Errorf("split: %w", err)
	}
	rng.Shuffle(root.Stream(rng.Split, 0, 0), rows)
	cut := int(TrainFraction * float64(n))
	slices.Sort(rows[:cut])
	slices.Sort(rows[cut:])
	return Subset{d, rows[:cut:cut]}, Subset{d, rows[cut:]}, nil
}

// SplitByRecord splits d into training and test rows so that adding or removing a record moves no other record. Use
// it instead of [Split] if (ε, δ) must also cover the split: two data sets that differ by one record then have
// training sets that differ by at most that record. Whether a record is in the test set depends only on the record
// and on root: a hash of the record, keyed by root, must be in the upper fifth of the range of hashes. So about
// 0.8·rows are for training, and equal records are on the same side.
//
// If d has a separate test set, SplitByRecord returns the two parts as Split does. If d says whose record each row is
// (Dataset.Person), the person is hashed instead of the record, so that all records of a person are on the same side.
// It is an error if a side is empty.
func SplitByRecord(d *Dataset, root *rng.Root) (train, test Subset, err error) {
	if d == nil || d.Train > 0 {
		return Split(d, root)
	}
	if err := errors.Join(d.Validate(), root.Check()); err != nil {
		return train, test, fmt.Errorf("split: %w", err)
	}
	train, test = d.All().byHash(root.Stream(rng.Split, 0, 0), TrainFraction, 1, false)
	if train.Len() == 0 || test.Len() == 0 {
		why := "equal records are on one side"
		if d.Person != nil {
			why = "all records of a person are on one side"
		}
		if d.Note != "" { // for example that noisy bounds made all records equal
			why += "; " + d.Note
		}
		return train, test, fmt.Errorf("the split by record puts %s of %s into the training set and %d into the test set, "+
			"must be at least 1 (%s): use another --seed, more rows, or --test for a file of test rows",
			decimal.Many(train.Len(), "row"), d.Name, test.Len(), why)
	}
	return train, test, nil
}

// HoldOut divides the training rows into rows to train on (rest) and rows to compare models on (held), so that the
// test set is not used for that. part in (0, 1) is the fraction to hold out. fold, in [0, 1/part − 1], says which
// rows these are, as in cross-validation: different folds hold out different rows. root is the source of the random
// choice. A row is held out if a hash of its record, keyed by root and scaled to [0, 1), is in [fold·part,
// (fold+1)·part). So the number of held-out rows varies around part·rows. It is an error if rest or held is empty.
//
// As with [SplitByRecord], adding or removing a record moves no other record, so rest changes by at most this record.
// If the data set says whose record each row is (Dataset.Person), the person is hashed instead of the record, so that
// all records of a person are on the same side.
//
// SplitByRecord keeps the copies of a record that occurs several times on one side. HoldOut divides them between rest
// and held: the n-th copy has its own hash, which depends only on the record and n. Otherwise a comparison of models on
// held could depend on the side of a few frequent records. Removing one of several equal copies has the same effect as
// removing the last one.
func HoldOut(train Subset, part float64, fold int, root *rng.Root) (rest, held Subset, err error) {
	if err := errors.Join(CheckHoldOut(part, fold), root.Check()); err != nil {
		return rest, held, err
	}
	low, high := float64(fold)*part, (float64(fold)+1)*part
	rest, held = train.byHash(root.Stream(rng.HoldOut, 0, 0), low, high, true)
	if rest.Len() == 0 || held.Len() == 0 {
		return rest, held, fmt.Errorf("holdout = %v holds out %d of %d training rows and leaves %d to train on, must "+
			"be at least 1 each: use another part, another seed, or more rows", part, held.Len(), train.Len(), rest.Len())
	}
	return rest, held, nil
}

// CheckHoldOut returns nil if [HoldOut] accepts the arguments part and fold, and otherwise an error. part, the
// fraction of rows that is held out, must be in (0, 1). fold says which rows these are, and must be in [0, 1/part − 1]:
// for part = 0.2, there are the folds 0 to 4. Use CheckHoldOut to check settings before the data is read.
func CheckHoldOut(part float64, fold int) error {
	if !(part > 0 && part < 1) {
		return fmt.Errorf("holdout = %v, must be in (0, 1): it is the part of the training records that is held "+
			"out, such as 0.1, and not a number of records", part)
	}
	const whole = 1 + 1e-9 // because 1/k is rounded
	if fold < 0 || (float64(fold)+1)*part > whole {
		return fmt.Errorf("fold = %d of holdout = %v, must be in [0, %.15g]", fold, part, math.Floor(whole/part)-1)
	}
	return nil
}

// byHash splits s by a hash of each record, a number in [0, 1) that is keyed by the stream. in has
// the rows with a hash in [low, high). If copies is true, each copy of a record has its own hash;
// otherwise all have the same. If the data set has persons, the hash is that of the person.
func (s Subset) byHash(stream *rng.Stream, low, high float64, copies bool) (out, in Subset) {
	key := hashKey(stream)
	out, in = Subset{Data: s.Data}, Subset{Data: s.Data}
	put := hasher{h: hmac.New(sha256.New, key[:])}
	before := map[recordKey]uint64{} // number of earlier copies of a record
	for _, i := range s.Rows {
		hash := put.digest(func() {
			if s.Data.Person == nil {
				s.Data.hashRecord(&put, i)
			} else {
				put.bytes(s.Data.Person[i][:])
			}
		})
		if first := recordKey(hash); copies && s.Data.Person == nil {
			if n := before[first]; n > 0 {
				hash = put.digest(func() {
					put.bytes(hash)
					put.uint64(n)
				})
			}
			before[first]++
		}
		part := &out
		// The first 53 bits, as a number in [0, 1).
		if x := float64(binary.BigEndian.Uint64(hash)>>11) / (1 << 53); low <= x && x < high {
			part = &in
		}
		part.Rows = append(part.Rows, i)
	}
	return out, in
}

func hashKey(stream *rng.Stream) (key [sha256.Size]byte) {
	for i := range len(key) / 8 {
		binary.LittleEndian.PutUint64(key[8*i:], stream.Uint64())
	}
	return key
}

// recordKey is the first half of a hash of a record. Two records that differ have different keys: 128 bits are
// enough for as many as fit into memory, and take half of it.
type recordKey [sha256.Size / 2]byte

// Distinct returns how many different records s has, and how often the most frequent one occurs. Use it to judge
// whether an accuracy on s is reliable. Copies of a record count as one, because [SplitByRecord] puts all of them into
// the same part, so the model is right on all of them or on none. With few different records, chance decides much of the
// accuracy.
func (s Subset) Distinct() (records, copies int) {
	times := map[recordKey]int{}
	put := hasher{h: sha256.New()}
	for _, i := range s.Rows {
		key := recordKey(put.digest(func() { s.Data.hashRecord(&put, i) }))
		times[key]++
		copies = max(copies, times[key])
	}
	return len(times), copies
}

func (d *Dataset) hashRecord(put *hasher, i int32) {
	if d.Images != nil {
		put.uint32(uint32(d.Label[i]))
		put.bytes(d.Images.Image(int(i)))
		return
	}
	d.hashRow(put, int(i))
}

func sequence(n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// Partition says how the training rows are divided among the clients: [Replicate], [Shard] or a [Dirichlet]
// partition. Make one from text with [ParsePartition].
type Partition string

// These are the partitions without a parameter. Dirichlet makes the others.
const (
	// Replicate gives every client the whole training set instead of a separate part, as in the experiments of the
	// Proactive DP paper. So every client uses every record, and the ε of a record counts the rounds of all clients.
	Replicate Partition = "replicate"
	// Shard deals the rows at random into disjoint parts of equal size, one for each client. So the ε of a record
	// counts only the rounds of one client. With n clients, up to n−1 rows are left over and not used.
	Shard Partition = "shard"
)

// ParsePartition reads the name of a Partition: "replicate", "shard" or "dirichlet:ALPHA" with ALPHA in [MinAlpha,
// MaxAlpha], see [Dirichlet].
func ParsePartition(name string) (Partition, error) {
	p := Partition(name)
	if _, skewed := p.alpha(); skewed || p == Replicate || p == Shard {
		return p, nil
	}
	return "", fmt.Errorf("partition = %q, must be %q, %q or %sALPHA with ALPHA in [%g, %g]", name, Replicate,
		Shard, dirichlet, MinAlpha, float64(MaxAlpha))
}

// Disjoint reports whether each record is held by at most one client, as with all partitions except Replicate. Then
// the ε of a record counts only the rounds of one client.
func (p Partition) Disjoint() bool { return p != Replicate }

// MaxParts is the largest number of clients to which rows are dealt.
const MaxParts = 1_000_000

// Deal divides the rows of train among n clients and returns the rows of each client. With Replicate, every client
// gets all rows. With the other partitions, every client gets ⌊rows/n⌋ of them, at least one, and the remaining rows
// are not used. root is the source of the random choice, and may be nil only for Replicate. It is an error if n is
// not in [1, MaxParts], or if there are fewer rows than clients. If the rows have persons (see Dataset.Person), only
// Replicate is allowed for several clients, because other partitions would deal the records of a person to several
// clients. A Dirichlet partition needs classes, not targets.
func (p Partition) Deal(train Subset, n int, root *rng.Root) ([]Subset, error) {
	if n < 1 || n > MaxParts {
		return nil, fmt.Errorf("clients = %d, must be in [1, %d]", n, MaxParts)
	}
	if n > 1 && p != Replicate && train.Data.Person != nil {
		return nil, fmt.Errorf("partition = %q, must be %q for persons: it would deal the records of a person to several clients",
			p, Replicate)
	}
	if err := root.Check(); err != nil && p != Replicate {
		return nil, fmt.Errorf("partition = %q: %w", p, err)
	}
	if p.Skewed() && train.Data.Targets != nil {
		return nil, fmt.Errorf("partition = %q skews labels, and %s has targets instead: use %q or %q", p, train.Data.Name,
			Replicate, Shard)
	}
	parts := make([]Subset, n)
	switch p {
	case Replicate:
		for i := range parts {
			parts[i] = train
		}
	case Shard:
		size := train.Len() / n
		if size == 0 {
			return nil, tooFew(train, n)
		}
		rows := slices.Clone(train.Rows)
		rng.Shuffle(root.Stream(rng.Partition, 0, 0), rows)
		for i := range parts {
			part := rows[i*size : (i+1)*size : (i+1)*size]
			slices.Sort(part)
			parts[i] = Subset{train.Data, part}
		}
	default:
		alpha, skewed := p.alpha()
		if !skewed {
			_, err := ParsePartition(string(p))
			return nil, err
		}
		if train.Len() < n {
			return nil, tooFew(train, n)
		}
		dealSkewed(parts, train, alpha, root)
	}
	return parts, nil
}

func tooFew(train Subset, n int) error {
	return fmt.Errorf("clients = %d, must be at most the %d training rows to give each a shard", n, train.Len())
}

// Check returns an error if parts, the rows of each client, break the rules of the partition, on which the accounting
// of ε relies: no client may hold a record twice or one that does not exist, and if p is disjoint, no two clients may
// share a record. Use it for parts that were not made by [Partition.Deal].
func (p Partition) Check(parts []Subset) error {
	holder := map[*Dataset][]int32{} // for each record, 1 + the last client that holds it
	for i, part := range parts {
		if i > 0 && p == Replicate && same(part, parts[i-1]) {
			continue
		}
		if part.Data == nil {
			return fmt.Errorf("client %d holds %d rows of no data set", i, part.Len())
		}
		held := holder[part.Data]
		if held == nil {
			held = make([]int32, part.Data.Len())
			holder[part.Data] = held
		}
		for _, r := range part.Rows {
			if r < 0 || int(r) >= len(held) {
				return fmt.Errorf("client %d holds row %d of a data set of %d rows", i, r, len(held))
			}
			last := int(held[r]) - 1
			if last == i {
				return fmt.Errorf("client %d holds row %d twice", i, r)
			}
			if last >= 0 && p.Disjoint() {
				return fmt.Errorf("partition = %q, but clients %d and %d both hold row %d", p, last, i, r)
			}
			held[r] = int32(i) + 1
		}
	}
	return nil
}

// same reports whether two subsets are the same slice of the same data set.
func same(a, b Subset) bool {
	return a.Data == b.Data && len(a.Rows) == len(b.Rows) && (len(a.Rows) == 0 || &a.Rows[0] == &b.Rows[0])
}
