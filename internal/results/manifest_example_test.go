package results_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"proactivedp/internal/results"
)

// A manifest of one's own has the origin of what was made, and a key for its digest.
func Example() {
	type result struct {
		Title string `json:"title"`
		results.Origin
		SHA256 string `json:"manifest_sha256"`
	}
	dir, err := os.MkdirTemp("", "manifest")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, results.ManifestFile)
	f, err := os.Create(path)
	if err != nil {
		log.Fatal(err)
	}
	origin := results.NewOrigin(3, 1, time.Second, 3*time.Second)
	if err := results.WriteManifest(f, result{Title: "accuracy", Origin: origin}); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
	var read result
	if err := results.ReadManifest(dir, "", &read); err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s: %d of %d trainings computed in %v s\n", read.Title, read.Computed, read.Cells, read.Seconds)
	// Output: accuracy: 1 of 3 trainings computed in 1 s
}
