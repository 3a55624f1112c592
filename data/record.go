package data

// RecordError is an error at one record. Its text does not say which record: errors appear in logs, where a record's
// number could reveal a record that a release hides. Only the field Row has the number.
type RecordError struct {
	Row int // number of the record in its data set, from 0
	Err error
}

// Error returns the text of Err.
func (e *RecordError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RecordError) Unwrap() error { return e.Err }
