package data

// RecordError is an error at one record. The text of the error does not say which record it is, because errors appear
// in logs, where the number could reveal something about a private record. Only the field Row has the number.
type RecordError struct {
	Row int // number of the record in its data set, from 0
	Err error
}

// Error returns the text of Err.
func (e *RecordError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *RecordError) Unwrap() error { return e.Err }
