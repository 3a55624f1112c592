package data

// RecordError is an error at one record, whose text does not say which record it is. Errors appear in logs, where the
// number could reveal something about a private record. A program that needs the number reads the field Row.
type RecordError struct {
	Row int // number of the record in its data set, from 0
	Err error
}

// Error returns the text of Err, without the number of the record.
func (e *RecordError) Error() string { return e.Err.Error() }

// Unwrap returns Err, for errors.Is and errors.As.
func (e *RecordError) Unwrap() error { return e.Err }
