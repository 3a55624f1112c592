// Package fetch finds the files of data sets. If the user names a folder, it looks only there. Otherwise it looks in
// a cache, and downloads files that the cache lacks from a list of sources. A file is verified before it is returned
// or put into the cache.
//
//	phishing, err := libsvm.Load(ctx, "phishing", fetch.Locator{}) // from the cache, or from its web site
//	digits, err := mnist.Load(ctx, fetch.Locator{Dir: "/my/data"}) // only from this folder
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

// These errors say why there is no verified copy of a file. An error of this package wraps at most one of them. If it
// wraps none, there is another cause: for example, a cancelled context, an invalid File, or too little memory for
// File.Check.
var (
	// ErrUnavailable means that the file is not in the cache and could not be obtained: downloads
	// are off, no source has the whole file, or the cache cannot be written.
	ErrUnavailable = errors.New("not available")
	// ErrMissing means that the user named a folder and the file is not in it.
	ErrMissing = errors.New("missing from the given folder")
	// ErrDamaged means that the file exists but fails verification. A damaged file in the cache is downloaded again;
	// there the error means that the download failed too, or that downloads are off.
	ErrDamaged = errors.New("damaged")
)

// DefaultMaxBytes is the largest size in bytes of a file whose File.MaxBytes is 0: 256 MiB. The largest file that
// this program downloads, the archive of CIFAR-10, has 170 MB.
const DefaultMaxBytes = 256 << 20

// File describes a file of a data set: its names, the URLs from which it can be downloaded, and the digest or test
// that verifies it.
type File struct {
	// Rel is the path of the file relative to the folder or cache, with slashes and without "..", such as
	// "libsvm/phishing".
	Rel string
	// Also lists other paths, of the same form, where the file may be if Rel does not exist, for
	// example under another name or uncompressed. A download goes to Rel.
	Also []string
	// Sources are the URLs of the file, tried in this order. Redirects to the host of any of these URLs are
	// followed, except from https to http. Other redirects are refused.
	Sources []string
	// SHA256 is the digest of the whole file, 64 hexadecimal digits; "" if not known.
	SHA256 string
	// MaxBytes is the largest size of the file in bytes; a larger one is an error. 0 means DefaultMaxBytes.
	MaxBytes int64
	// Check verifies the content of the file at path, which need not be its final path. nil means that only SHA256 is
	// checked. If SHA256 is "" too, the content is not verified.
	Check func(path string) error
}

// Locator says where to look for the files of data sets, and whether to download them. The zero value
// looks in the user's cache, and downloads without showing progress.
type Locator struct {
	// Dir is a folder named by the user. If it is set, only this folder is searched, and nothing is
	// ever downloaded.
	Dir string
	// Cache is the folder of downloads; "" means proactivedp below os.UserCacheDir.
	Cache string
	// Offline forbids downloads.
	Offline bool
	// Memory is how many bytes the process may use when it loads the data set. 0 means all available memory. A data
	// set that needs more is an error, as soon as the reader notices.
	Memory int64
	// Progress gets a line for each download and its progress: a bar on a terminal, or else a line
	// for each tenth. nil is silent.
	Progress io.Writer
	// Client makes the requests; nil means http.DefaultClient, which honours
	// HTTP_PROXY, HTTPS_PROXY and NO_PROXY.
	Client *http.Client

	timing timing
}

// timing is how long a download waits; zero fields mean the defaults.
type timing struct {
	connect time.Duration // time limit for the connection
	stall   time.Duration // longest time without any data
	pause   time.Duration // time before the first retry; later retries wait longer
	window  time.Duration // period over which the rate must be at least leastRate
	total   time.Duration // time limit for a file, for all its sources together
}

// leastRate is the least average number of bytes per second over timing.window. Without it, a
// server that sends a byte now and then could keep a download running forever.
const leastRate = 1 << 10

func (t timing) orDefault() timing {
	// connect is short because a run without a network must soon continue without the file. The
	// other limits allow for slow networks.
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

// Locate returns the path of a verified copy of f, for a reader to open. It looks in the folder l.Dir or, if that is
// "", in the cache. If f is not in the cache, Locate downloads it, unless l.Offline is set. A damaged file in the
// cache is downloaded again, once. If there is no verified copy, the error wraps ErrUnavailable, ErrMissing or
// ErrDamaged. If ctx is cancelled, the error wraps context.Cause(ctx).
func (l Locator) Locate(ctx context.Context, f File) (string, error) {
	places, err := f.places()
	if err != nil {
		return "", err
	}
	if l.Dir != "" {
		return f.in(l.Dir, places)
	}
	cache, err := l.CacheFolder()
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
		l.say("fetch: %s is damaged (%v), downloading it again", found, damage)
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
		return "", fmt.Errorf("%s: %w: %w\nand could not be downloaded again:\n%w\nremove it, or put a good copy "+
			"there", found, ErrDamaged, damage, err)
	default:
		return "", fmt.Errorf("%s: %w:\n%w\nto work without a download, put the file at %s", f.Rel, ErrUnavailable,
			err, path)
	}
}

// places checks f and returns the paths where it may be, in the form of this operating system.
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

// first returns the first path below the folder at which a file exists. If no file exists, it
// returns the error for the first path.
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

// in returns the path of f in the user's folder after verifying it.
func (f File) in(folder string, places []string) (string, error) {
	path, err := first(folder, places)
	if err != nil {
		also := ""
		if len(f.Also) > 0 {
			also = fmt.Sprintf(" (and neither is any of %q)", f.Also)
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

func (f File) most() int64 { return cmp.Or(f.MaxBytes, DefaultMaxBytes) }

// verify returns an error that says why the file at path is not f, or nil. The file may be a
// symbolic link: data sets are large, and users often keep them on another disk. A named pipe or a
// device is refused, because it may never end.
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

// hashFile returns the SHA-256 of a file. most is the largest allowed size in bytes.
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

// CacheFolder returns the folder to which l downloads files: l.Cache, or the folder proactivedp in the user's cache.
// The folder need not exist yet.
func (l Locator) CacheFolder() (string, error) {
	if l.Cache != "" {
		return l.Cache, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w", err)
	}
	return filepath.Join(dir, "proactivedp"), nil
}

// say writes a line to Progress. If that fails, the download continues.
func (l Locator) say(format string, args ...any) {
	if l.Progress != nil {
		fmt.Fprintf(l.Progress, format+"\n", args...)
	}
}
