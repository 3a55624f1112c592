package web

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"proactivedp/internal/bounded"
)

// most is the largest size of any part of a planner, in bytes.
const most = 64 << 20

// texts are packages that handle text or memory, or that compute little. They are compiled without inlining, which makes
// the page smaller. So is math: its functions are instructions of the machine, or too long to be inlined.
var texts = []string{
	"bufio", "bytes", "context", "encoding/base64", "encoding/binary", "encoding/csv", "encoding/hex", "encoding/json",
	"errors", "fmt", "internal/abi", "internal/fmtsort", "internal/poll", "internal/runtime/maps", "internal/strconv", "io",
	"io/fs", "maps", "math", "math/big", "os", "path", "path/filepath", "reflect", "runtime", "slices", "strconv", "strings", "sync", "syscall",
	"syscall/js", "text/tabwriter", "time", "unicode/utf16", "unicode/utf8",
	"proactivedp/answer", "proactivedp/dp", "proactivedp/dp/claim", "proactivedp/dp/closedform", "proactivedp/dp/gdp",
	"proactivedp/dp/tradeoff", "proactivedp/internal/decimal", "proactivedp/internal/f32", "proactivedp/internal/message",
	"proactivedp/internal/strictjson", "proactivedp/plan", "proactivedp/plan/libraries", "proactivedp/rng",
}

// Compile compiles the planner to WebAssembly, for [Page]. folder is the root of this program's source, as [Source]
// returns it. version is a text that the page will show. Compile runs the installed Go. It needs no network if the
// module's dependencies are present.
func Compile(ctx context.Context, folder, version string) (Planner, error) {
	p := Planner{Version: version}
	made, err := os.MkdirTemp("", "proactivedp-page-")
	if err != nil {
		return p, err
	}
	defer os.RemoveAll(made)
	wasm := filepath.Join(made, "planner.wasm")
	args := []string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-s -w -buildid=", "-o", wasm}
	for _, name := range texts {
		args = append(args, "-gcflags="+name+"=-l")
	}
	if out, err := tool(ctx, folder, append(args, "./web/internal/planner")...).CombinedOutput(); err != nil {
		return p, fmt.Errorf("go build of the planner: %w\n%s", err, strings.TrimSpace(string(out)))
	}
	if p.Wasm, err = bounded.File(wasm, most); err != nil {
		return p, err
	}
	root, err := tool(ctx, folder, "env", "GOROOT").Output()
	if err != nil {
		return p, fmt.Errorf("go env GOROOT: %w", err)
	}
	loader := filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js")
	if p.Loader, err = bounded.File(loader, most); err != nil {
		return p, fmt.Errorf("the loader of Go for browsers: %w", err)
	}
	p.Licences, err = licences(ctx, folder)
	return p, err
}

// tool returns a command of Go in a folder, for programs for browsers.
func tool(ctx context.Context, folder string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, "go", args...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0", "GOWASM=", "GOEXPERIMENT=")
	return command
}

// licences returns the licence of the program, and those of the modules that the planner contains.
func licences(ctx context.Context, folder string) ([]byte, error) {
	out, err := tool(ctx, folder, "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./web/internal/planner").Output()
	if err != nil {
		return nil, fmt.Errorf("go list of the planner: %w", err)
	}
	all, err := bounded.File(filepath.Join(folder, "LICENSE"), most)
	if err != nil {
		return nil, err
	}
	others, err := bounded.File(filepath.Join(folder, "THIRD_PARTY_LICENSES"), most)
	if err != nil {
		return nil, err
	}
	const mark = "\n======== " // comes before the name of a module or of the standard library
	of := map[string]string{}
	for _, part := range strings.Split(string(others), mark)[1:] {
		name, _, _ := strings.Cut(part, "\n")
		of[name] = part
	}
	modules := append(strings.Split(strings.TrimSpace(string(out)), "\n"), "Go's standard library")
	slices.Sort(modules)
	for _, name := range slices.Compact(modules) {
		text, there := of[name]
		if !there {
			return nil, fmt.Errorf("THIRD_PARTY_LICENSES has no licence of %s, which the planner contains", name)
		}
		all = append(append(all, mark...), text...)
	}
	return all, nil
}

// ErrNoSource is the error that [Source] wraps if there is no copy of this program's source, or if Go is not
// installed. The program can then only use a page that was made before, see [Made].
var ErrNoSource = errors.New("no source of the planner")

// Source returns the root folder of this program's source, for [Compile]. It looks in folder and in the folders above
// it. If none of them is the root, or if Go is not installed, the error wraps [ErrNoSource].
func Source(ctx context.Context, folder string) (string, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return "", fmt.Errorf("%w: Go is not installed", ErrNoSource)
	}
	dir := folder
	for {
		if _, err := os.Stat(filepath.Join(dir, "web", "internal", "planner", "main_js.go")); err == nil {
			break
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("%w: %s is not in a copy of the repository", ErrNoSource, folder)
		}
		dir = up
	}
	if out, err := tool(ctx, dir, "list", "-f", "{{.Dir}}", "./web/internal/planner").CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s: %s", ErrNoSource, dir, strings.TrimSpace(string(out)))
	}
	return dir, nil
}
