package cluster_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"sync"
	"time"

	"proactivedp/cluster"
	"proactivedp/cluster/broker"
	"proactivedp/data/synth"
	"proactivedp/rng"
	"proactivedp/train"
)

// A server and three clients, which could as well be processes on four machines.
func Example() {
	dir, err := os.MkdirTemp("", "dist")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	records := synth.OneHot(rng.New(3), 400)
	spec := train.DefaultSpec()
	spec.Runner, spec.Clients, spec.SampleSize, spec.GradComps = train.DistributedRunner, 3, "6", 60
	prepared, err := spec.Prepare(records, nil)
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var clients sync.WaitGroup
	join := func(url string) {
		for c := range spec.Clients {
			clients.Go(func() {
				_, err := cluster.Join(ctx, cluster.JoinOptions{
					URL: url, Client: c, Dir: filepath.Join(dir, fmt.Sprintf("client-%d", c)),
					Prepare: func(a *cluster.Announcement) (*train.Prepared, error) { return a.Prepare(records) },
				})
				if err != nil {
					log.Fatal(err)
				}
			})
		}
	}
	report, err := cluster.Serve(ctx, cluster.ServeOptions{
		Prepared: prepared, Dir: filepath.Join(dir, "server"), Engine: broker.Engine{Listen: "127.0.0.1:0"},
		Started: join,
	})
	if err != nil {
		log.Fatal(err)
	}
	clients.Wait()
	fmt.Printf("%d updates of %d rounds; simulated: %v\n", report.Updates, report.Rounds, report.Privacy.Simulation)
	// Output: 30 updates of 10 rounds; simulated: false
}
