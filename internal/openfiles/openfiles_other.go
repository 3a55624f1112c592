//go:build !unix

// Package openfiles does nothing here: there is no limit of open files.
package openfiles
