package data

import (
	"bytes"
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"proactivedp/rng"
)

// PersonKey identifies the person to whom a row belongs without giving the name: it is the first half of the SHA-256
// of the name. If two names had the same key, which is very unlikely, the two persons would count as one.
type PersonKey [sha256.Size / 2]byte

// PersonOf returns the key by which Dataset.Person identifies the person with this name. Names are compared byte by
// byte: "Ann" and "ann" are different persons.
func PersonOf(name string) PersonKey {
	sum := sha256.Sum256([]byte(name))
	return PersonKey(sum[:])
}

// AtMost returns a subset of s with at most k records of each person, in the order of s. Use it before a training
// whose (ε, δ) should protect persons with several records: the noise can then be computed for k records. If a person
// has more than k records, AtMost keeps k of them that look random: those with the smallest hashes, keyed by the
// root. It is an error if the data set has no persons (see Dataset.Person).
//
// The hash depends only on the person and the record and, if a person has several equal records, on how many of these
// come before. So which records of a person are kept does not depend on the records of others. If a person is added
// or removed, the result gains or loses at most k records and is otherwise unchanged.
func (s Subset) AtMost(k int, root *rng.Root) (Subset, error) {
	if err := errors.Join(s.hasPersons(), root.Check()); err != nil {
		return Subset{}, err
	}
	if k < 1 {
		return Subset{}, fmt.Errorf("records of a person = %d, must be at least 1", k)
	}
	type ranked struct {
		hash recordKey
		at   int // its place in s
	}
	type record struct {
		of      PersonKey
		content recordKey
	}
	key := hashKey(root.Stream(rng.Persons, 0, 0))
	plain, keyed := hasher{h: sha256.New()}, hasher{h: hmac.New(sha256.New, key[:])}
	before, of := map[record]uint64{}, map[PersonKey][]ranked{}
	for at, i := range s.Rows {
		r := record{s.Data.Person[i], recordKey(plain.digest(func() { s.Data.hashRecord(&plain, i) }))}
		hash := keyed.digest(func() {
			keyed.bytes(r.of[:])
			keyed.bytes(r.content[:])
			keyed.uint64(before[r])
		})
		before[r]++
		of[r.of] = append(of[r.of], ranked{recordKey(hash), at})
	}
	var kept []int
	for _, records := range of {
		slices.SortFunc(records, func(a, b ranked) int {
			return cmp.Or(bytes.Compare(a.hash[:], b.hash[:]), cmp.Compare(a.at, b.at))
		})
		for _, r := range records[:min(k, len(records))] {
			kept = append(kept, r.at)
		}
	}
	slices.Sort(kept)
	out := Subset{Data: s.Data, Rows: make([]int32, len(kept))}
	for j, at := range kept {
		out.Rows[j] = s.Rows[at]
	}
	return out, nil
}

// CheckPersons returns an error if a person has more than k records in s. Call it before a training whose guarantee
// assumes at most k. The error text says neither who the person is nor how many records the person has.
func (s Subset) CheckPersons(k int) error {
	if err := s.hasPersons(); err != nil {
		return err
	}
	count := map[PersonKey]int{}
	for _, i := range s.Rows {
		if count[s.Data.Person[i]]++; count[s.Data.Person[i]] > k {
			return fmt.Errorf("a person has more than %d records, must have at most so many: keep them by Subset.AtMost", k)
		}
	}
	return nil
}

// hasPersons returns an error unless the data set says whose its records are.
func (s Subset) hasPersons() error {
	if s.Data == nil || s.Data.Person == nil {
		return errors.New("the data set does not say whose record each row is, must name the persons (--person)")
	}
	return nil
}

// checkApart returns an error if a person has records in the training set and in the test set that d was
// published with. The test accuracy would be that of known persons.
func (d *Dataset) checkApart() error {
	if d.Person == nil || d.Train == 0 {
		return nil
	}
	trained := map[PersonKey]bool{}
	for _, p := range d.Person[:d.Train] {
		trained[p] = true
	}
	if slices.ContainsFunc(d.Person[d.Train:], func(p PersonKey) bool { return trained[p] }) {
		return errors.New("a person has records in the training set and in the test set, must be in one of them: the test " +
			"accuracy would be that of known persons")
	}
	return nil
}
