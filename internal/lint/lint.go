// Package lint holds tests of the source itself: that imports keep to the
// floors of the house, and that randomness and goroutines stay where they
// belong.
package lint
