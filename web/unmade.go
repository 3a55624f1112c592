//go:build !page

package web

var made []byte
