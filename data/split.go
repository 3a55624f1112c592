package data

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"proactivedp/rng"
)

// TrainFraction is the share of rows that are for training if a data set was published without a separate test set.
// The paper uses the same share: accuracies in its model files are multiples of 1/2,211, and 2,211 rows are a fifth
// of the 11,055 rows of the data set phishing.
const TrainFraction = 0.8

// Split returns the training and the test rows of d, each in the order of the file. If d was published with a
// separate test set (see Dataset.Train), it returns these two parts. Otherwise ⌊0.8·rows⌋ random rows are for
// training; this needs a root, and at least 5 rows so that neither part is empty. It is an error if d is not valid.
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

// SplitByRecord splits d into a training set and a test set, like [Split], but whether a record is in the test set
// depends only on the record itself: the test set has the records whose hash, keyed by the root, is in the upper
// fifth of its range. If a record is added or removed, all other records stay where they are, whereas with Split any
// record may move. So two data sets that differ by one record have training sets that differ by at most that record.
// Equal records are in the same part. The expected size of the training set is 0.8·rows. It is an error if either
// part is empty. If d has persons, the person is hashed instead of the record, so that all records of a person are in
// the same part.
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
		return train, test, fmt.Errorf("the split by record puts %d rows of %s into the training set and %d into the test set, "+
			"must be at least 1 (%s): use another --seed, more rows, or --test for a file of test rows", train.Len(), d.Name,
			test.Len(), why)
	}
	return train, test, nil
}

// HoldOut splits the training rows into rows to train on (rest) and held-out rows (held), on which models
// are compared. A row is held out if a hash of its record, keyed by the root, is in [fold·part,
// (fold+1)·part). So the expected number of held-out rows is part·rows, and different folds hold out
// different rows. It is an error if either side is empty.
//
// As in [SplitByRecord], whether a record is held out depends neither on its place nor on other records. So if a
// record is added or removed, rest changes by at most this record. If the data set has persons, all records of a
// person have the hash of the person.
//
// Equal records (copies) are divided between rest and held: the hash of the n-th copy also depends on n. Otherwise
// all copies would be in the same part, and the accuracy would vary as much as if each record occurred once. Copies
// are equal, so removing any of them has the same effect as removing the last one.
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

// CheckHoldOut returns an error unless [HoldOut] accepts part (the fraction of rows that is held out) and fold (which
// part that is).
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
		var hash []byte
		if s.Data.Person == nil {
			hash = s.Data.recordHash(&put, i)
		} else {
			put.h.Reset()
			put.bytes(s.Data.Person[i][:])
			put.sum = put.h.Sum(put.sum[:0])
			hash = put.sum
		}
		if first := recordKey(hash); copies && s.Data.Person == nil {
			if n := before[first]; n > 0 {
				put.h.Reset()
				put.bytes(hash)
				put.uint64(n)
				put.flush()
				hash = put.h.Sum(nil)
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

// Distinct returns how many different records s has, and how many copies the most frequent record has. If there are
// few different records, an accuracy is unreliable, because [SplitByRecord] puts all copies of a record into the same
// part.
func (s Subset) Distinct() (records, copies int) {
	times := map[recordKey]int{}
	put := hasher{h: sha256.New()}
	for _, i := range s.Rows {
		key := recordKey(s.Data.recordHash(&put, i))
		times[key]++
		copies = max(copies, times[key])
	}
	return len(times), copies
}

// recordHash returns the hash of record i, computed with put's hash. The next call overwrites it.
func (d *Dataset) recordHash(put *hasher, i int32) []byte {
	put.h.Reset()
	d.hashRecord(put, int(i))
	put.flush()
	put.sum = put.h.Sum(put.sum[:0])
	return put.sum
}

func (d *Dataset) hashRecord(put *hasher, i int) {
	if d.Images != nil {
		put.uint32(uint32(d.Label[i]))
		put.bytes(d.Images.Image(i))
		return
	}
	d.hashRow(put, i)
}

func sequence(n int) []int32 {
	rows := make([]int32, n)
	for i := range rows {
		rows[i] = int32(i)
	}
	return rows
}

// Partition says how the training rows are divided among the clients: Replicate, Shard or a Dirichlet partition.
type Partition string

// These are the partitions without a parameter; see also Dirichlet.
const (
	// Replicate gives every client the whole training set, as in the paper's experiments, instead of a
	// separate part for each client. So every client uses every record, and the ε of a record counts
	// the rounds of all clients.
	Replicate Partition = "replicate"
	// Shard deals the rows at random into disjoint parts of equal size, one for each client. With n clients, up to
	// n−1 rows remain and are not used.
	Shard Partition = "shard"
)

// ParsePartition reads the name of a Partition: "replicate", "shard" or "dirichlet:ALPHA" (see Dirichlet).
func ParsePartition(name string) (Partition, error) {
	p := Partition(name)
	if _, skewed := p.alpha(); skewed || p == Replicate || p == Shard {
		return p, nil
	}
	return "", fmt.Errorf("partition = %q, must be %q, %q or %sALPHA with ALPHA in [%g, %g]", name, Replicate,
		Shard, dirichlet, MinAlpha, float64(MaxAlpha))
}

// Disjoint reports whether each record is held by at most one client.
func (p Partition) Disjoint() bool { return p != Replicate }

// MaxParts is the largest number of clients to which rows are dealt.
const MaxParts = 1_000_000

// Deal divides the rows of train and returns the rows of each of n clients. All clients get the same number of rows,
// at least 1. root is the seed that decides who gets which rows. It may be nil only for Replicate.
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

// Check returns an error if parts, the rows of each client, break the rules of the partition: if a client holds a
// record twice or one that does not exist, or if two clients share a record although p is disjoint. The accounting of
// a record's ε assumes these rules.
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
