//go:build !unix

// Package openfiles checks the limit of open files on Unix systems. On this system it does nothing.
package openfiles
