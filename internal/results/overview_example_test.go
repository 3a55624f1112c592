package results_test

import (
	"fmt"
	"os"
	"path/filepath"

	"proactivedp/internal/results"
)

// A folder without results is no page.
func ExampleReadPage() {
	dir, err := os.MkdirTemp("", "results")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "bench.md"), []byte("# Speed\n\n12 updates a second\n"),
		0o666); err != nil {
		fmt.Println(err)
		return
	}
	page, err := results.ReadPage(dir)
	fmt.Println(page != nil, err)
	// Output: true <nil>
}
