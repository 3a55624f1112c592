// Package fetch finds the files of data sets: in a folder the user names, else
// in a cache, else by download from a list of sources into that cache. A file
// is handed out, and put into the cache, only once it is verified.
//
//	phishing, err := libsvm.Load(ctx, "phishing", fetch.Locator{}) // from the cache, or its site
//	digits, err := mnist.Load(ctx, fetch.Locator{Dir: "/my/data"}) // from there, or not at all
package fetch

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"proactivedp/internal/bounded"
	"proactivedp/internal/memory"
)

// The ways in which a file is not found. They exclude each other; an error
// that is none of them is a cancelled context, a malformed File, or a Check for
// which there is too little memory: that says nothing of the file.
var (
	// ErrUnavailable: the file is not in the cache and could not be obtained
	// (offline, no source gave it whole, or the cache cannot be written).
	ErrUnavailable = errors.New("not available")
	// ErrMissing: the user named a folder and the file is not in it.
	ErrMissing = errors.New("missing from the folder given")
	// ErrDamaged: there is such a file but it fails verification. In the cache
	// it also means that it could not be fetched anew.
	ErrDamaged = errors.New("damaged")
)

// DefaultMaxBytes bounds what is downloaded, or found, of a File that sets no bound: room for the
// largest data set in use, CIFAR-10's 170 MB.
const DefaultMaxBytes = 256 << 20

// File says what a file is and where it comes from.
type File struct {
	// Rel is its place below the folder, slash-separated and local:
	// "libsvm/phishing".
	Rel string
	// Also lists other places, of the same form, where the file may be if Rel is
	// not there: under another name, say, or not compressed. A download goes to Rel.
	Also []string
	// Sources are URLs, tried in this order. They redirect to their own hosts or
	// those of other sources; what redirects elsewhere is refused.
	Sources []string
	// SHA256 of the whole file, 64 hexadecimal digits; "" if not known.
	SHA256 string
	// MaxBytes bounds the file; 0 means DefaultMaxBytes.
	MaxBytes int64
	// Check verifies the content of the file at path; nil checks nothing more
	// than SHA256. The file may not be at its final place yet.
	Check func(path string) error
}

// Locator says where to look. The zero value looks in the user's cache and
// downloads in silence.
type Locator struct {
	// Dir is a folder named by the user. If set, it alone is looked in and
	// nothing is ever downloaded.
	Dir string
	// Cache is where downloads are kept; "" means proactivedp below
	// os.UserCacheDir.
	Cache string
	// Offline forbids downloads.
	Offline bool
	// Memory is how many bytes the process may take when the data set is loaded, 0 for
	// as many as there are (see internal/memory): a larger one is refused while it is read.
	Memory int64
	// Progress gets a line for each download, and how far it is: a bar on a terminal,
	// elsewhere a line for each tenth; nil is silent.
	Progress io.Writer
	// Client makes the requests; nil means http.DefaultClient, which honours
	// HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
	Client *http.Client

	timing timing
}

// timing is how long a download waits; zero fields mean the defaults.
type timing struct {
	connect time.Duration // how long until a connection must stand
	stall   time.Duration // how long between one sign of life and the next
	pause   time.Duration // how long before the first retry; later ones wait longer
	window  time.Duration // how long a time in which at least leastRate a second must come
	total   time.Duration // how long for a file, from all its sources together
}

// leastRate is the least bytes a second, on average over timing.window: a server
// that sends a byte now and then shows life for ever.
const leastRate = 1 << 10

func (t timing) orDefault() timing {
	// connect is short because a run without a network must soon go on without
	// the file; the rest is for networks that are merely slow.
	if t.connect == 0 {
		t.connect = 3 * time.Second
	}
	if t.stall == 0 {
		t.stall = 20 * time.Second
	}
	if t.pause == 0 {
		t.pause = 250 * time.Millisecond
	}
	if t.window == 0 {
		t.window = 30 * time.Second
	}
	if t.total == 0 {
		t.total = time.Hour
	}
	return t
}

// Locate returns the path of a verified copy of f. It may download f, but not
// if l.Dir is set. A damaged file in the cache is fetched anew, once. The error
// is one of ErrUnavailable, ErrMissing and ErrDamaged where they apply, and the
// cause of ctx if that is done.
func (l Locator) Locate(ctx context.Context, f File) (string, error) {
	places, err := f.places()
	if err != nil {
		return "", err
	}
	if l.Dir != "" {
		return f.in(l.Dir, places)
	}
	cache, err := l.cache()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %w", f.Rel, ErrUnavailable, err)
	}
	var damage error
	found, err := first(cache, places)
	if err == nil {
		switch damage = f.verify(found); {
		case damage == nil:
			return found, nil
		case errors.Is(damage, memory.ErrTooLittle):
			return "", damage
		}
		l.say("fetch: %s is damaged (%v), fetching it anew", found, damage)
	}
	path := filepath.Join(cache, places[0])
	err = l.download(ctx, f, path)
	switch {
	case err == nil:
		return path, nil
	case ctx.Err() != nil:
		return "", fmt.Errorf("%s: %w", f.Rel, context.Cause(ctx))
	case errors.Is(err, memory.ErrTooLittle):
		return "", err
	case damage != nil:
		return "", fmt.Errorf("%s: %w: %w\nand could not be fetched anew:\n%w\nremove it, or put a good copy "+
			"there by hand", found, ErrDamaged, damage, err)
	default:
		return "", fmt.Errorf("%s: %w:\n%w\nto do without a download, put the file at %s", f.Rel, ErrUnavailable,
			err, path)
	}
}

// places checks f and returns where it may be, in the form of this system.
func (f File) places() ([]string, error) {
	var places []string
	for _, rel := range append([]string{f.Rel}, f.Also...) {
		place, err := filepath.Localize(rel)
		if err != nil || place == "." {
			return nil, fmt.Errorf("file = %q, must be a slash-separated path below a folder", rel)
		}
		places = append(places, place)
	}
	if _, err := hex.DecodeString(f.SHA256); err != nil || len(f.SHA256) != 0 &&
		len(f.SHA256) != hex.EncodedLen(sha256.Size) {
		return nil, fmt.Errorf("%s: SHA256 = %q, must be 64 hexadecimal digits", f.Rel, f.SHA256)
	}
	if f.MaxBytes < 0 {
		return nil, fmt.Errorf("%s: MaxBytes = %d, must be at least 0", f.Rel, f.MaxBytes)
	}
	return places, nil
}

// first returns the path of the first place below the folder at which there is a
// file; without one, the error is that of the first place.
func first(folder string, places []string) (string, error) {
	var missing error
	for _, place := range places {
		path := filepath.Join(folder, place)
		_, err := os.Stat(path)
		if err == nil {
			return path, nil
		}
		missing = cmp.Or(missing, err)
	}
	return "", missing
}

// in returns the path of f in the folder that the user named, verified.
func (f File) in(folder string, places []string) (string, error) {
	path, err := first(folder, places)
	if err != nil {
		also := ""
		if len(f.Also) > 0 {
			also = fmt.Sprintf(" (nor is any of %q)", f.Also)
		}
		return "", fmt.Errorf("%s: %w%s: %w", f.Rel, ErrMissing, also, err)
	}
	switch err := f.verify(path); {
	case err == nil:
		return path, nil
	case errors.Is(err, memory.ErrTooLittle):
		return "", err
	default:
		return "", fmt.Errorf("%s: %w: %w", path, ErrDamaged, err)
	}
}

// most is how many bytes the file may have.
func (f File) most() int64 { return cmp.Or(f.MaxBytes, DefaultMaxBytes) }

// verify returns an error that says in what way the file at path is not f, or
// nil. It may be a symbolic link: data sets are large, and the user's own often lie
// on another disk. A named pipe or a device is refused, because it may never end.
func (f File) verify(path string) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return bounded.ErrNotPlain
	}
	if f.SHA256 != "" {
		sum, err := hashFile(path, f.most())
		if err != nil {
			return err
		}
		if want, _ := hex.DecodeString(f.SHA256); string(sum) != string(want) {
			return fmt.Errorf("SHA-256 is %x, expected %x", sum, want)
		}
	}
	if f.Check != nil {
		return f.Check(path)
	}
	return nil
}

// hashFile returns the SHA-256 of a file, which may have so many bytes.
func hashFile(path string, most int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	h := sha256.New()
	if _, err := io.Copy(h, bounded.Reader(file, most)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return h.Sum(nil), nil
}

func (l Locator) cache() (string, error) {
	if l.Cache != "" {
		return l.Cache, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w", err)
	}
	return filepath.Join(dir, "proactivedp"), nil
}

// say writes a line to Progress. If that fails, the file is fetched all the same.
func (l Locator) say(format string, args ...any) {
	if l.Progress != nil {
		fmt.Fprintf(l.Progress, format+"\n", args...)
	}
}
