package sweep

import (
	"context"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// slowest is the rate below which the transfer of an object is given up, in bytes a second.
const slowest = 2 << 20

// transfer returns the longest time that the transfer of an object of some bytes may take.
//
// If a broker is killed after a question has reached it, the answer never comes, even when the broker is started
// again, and the library waits for as long as its context lasts. So no question has more than patience, and a
// transfer has a time that goes with its size.
func transfer(size int64) time.Duration {
	return patience + time.Duration(size)*time.Second/slowest
}

// object is an object of a bucket that is being read. Close it after use.
type object struct {
	jetstream.ObjectResult
	cancel context.CancelFunc
}

func (o object) Close() error {
	defer o.cancel()
	return o.ObjectResult.Close()
}

// find returns what a bucket says of an object. It returns an error if the bucket has no such object, or if the broker
// does not answer in time.
func find(ctx context.Context, js jetstream.JetStream, bucket, name string) (jetstream.ObjectStore,
	*jetstream.ObjectInfo, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	store, err := js.ObjectStore(ctx, bucket)
	if err != nil {
		return nil, nil, err
	}
	info, err := store.GetInfo(ctx, name)
	return store, info, err
}

// openObject opens an object of a bucket, if find finds it.
func openObject(ctx context.Context, js jetstream.JetStream, bucket, name string) (object, error) {
	store, info, err := find(ctx, js, bucket, name)
	if err != nil {
		return object{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, transfer(int64(min(info.Size, maxSaved))))
	o, err := store.Get(ctx, name)
	if err != nil {
		cancel()
		return object{}, err
	}
	return object{o, cancel}, nil
}

// putObject writes an object of some bytes to a bucket.
func putObject(ctx context.Context, js jetstream.JetStream, bucket, name string, from io.Reader, size int64) error {
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	store, err := js.ObjectStore(asking, bucket)
	if err != nil {
		return err
	}
	writing, cancel := context.WithTimeout(ctx, transfer(size))
	defer cancel()
	_, err = store.Put(writing, jetstream.ObjectMeta{Name: name}, from)
	return err
}
