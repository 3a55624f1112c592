package main

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"testing"
)

func Example() {
	if err := run(context.Background(), os.Stdout, ""); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 8 clients, data drawn as a stand-in for phishing
	// 0            85 % after 8.3 s, all after 30.5 s, 0.0 rounds ahead on average, 0 at most
	// blocks of 5  85 % after 5.0 s, all after 17.7 s, 1.4 rounds ahead on average, 4 at most
	// 5            85 % after 2.8 s, all after 12.7 s, 3.8 rounds ahead on average, 5 at most
	// unlimited    85 % after 1.6 s, all after  9.4 s, 18.8 rounds ahead on average, 52 at most
}

func TestFigure(t *testing.T) {
	file := filepath.Join(t.TempDir(), "curves.png")
	if err := run(context.Background(), io.Discard, file); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(content)); err != nil {
		t.Error(err)
	}
}
