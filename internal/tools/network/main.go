//go:build linux

// Command network forwards packets between network namespaces, delays them, and drops some of them. The kernel's
// netem does the same, but many kernels do not have it.
//
//	network -seed 1 part-a=10.77.0.1 part-b=10.77.0.2
//
// In each namespace, it creates a TUN device with the name wire. A TUN device hands IP packets to a program. Checksums
// are complete, and no packet is longer than the MTU, because the device offers no offloads. Each line of the standard
// input sets the network: the loss in %, the round trip in milliseconds, and the namespace that is cut off, or "-".
// The program answers each line with the number of packets that passed, and of those that were dropped. It ends with
// the standard input.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"proactivedp/rng"
)

const (
	device   = "wire"
	longest  = 1 << 16 // bytes of the longest IP packet
	inFlight = 1 << 16 // packets of one sender that can be under way
)

func main() {
	seed := flag.Uint64("seed", 1, "seed of the losses")
	flag.Parse()
	if err := run(*seed, flag.Args(), os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "network: %v\n", err)
		os.Exit(1)
	}
}

// run creates the devices and forwards packets until the commands end.
func run(seed uint64, parts []string, commands io.Reader, say io.Writer) error {
	h := newHub(seed)
	for _, part := range parts {
		space, text, _ := strings.Cut(part, "=")
		address, err := netip.ParseAddr(text)
		if err != nil || !address.Is4() {
			return fmt.Errorf("%q: must be a namespace, =, and an IPv4 address", part)
		}
		port, err := openTUN(space)
		if err != nil {
			return fmt.Errorf("namespace %s: %w", space, err)
		}
		h.join(space, address, port)
	}
	failed := make(chan error, 1)
	for from := range h.ports {
		go func() { failed <- h.forward(from) }()
	}
	go func() { failed <- h.obey(commands, say) }()
	return <-failed
}

// openTUN creates the device in a namespace.
func openTUN(space string) (*os.File, error) {
	type opened struct {
		file *os.File
		err  error
	}
	done := make(chan opened)
	go func() {
		runtime.LockOSThread() // it is never unlocked: the thread ends with this goroutine, and with it its namespace
		file, err := func() (*os.File, error) {
			if err := enter(space); err != nil {
				return nil, err
			}
			fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
			if err != nil {
				return nil, fmt.Errorf("/dev/net/tun: %w", err)
			}
			request, err := unix.NewIfreq(device)
			if err == nil {
				request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
				err = unix.IoctlIfreq(fd, unix.TUNSETIFF, request)
			}
			if err != nil {
				return nil, errors.Join(fmt.Errorf("device %s: %w", device, err), unix.Close(fd))
			}
			return os.NewFile(uintptr(fd), space), nil
		}()
		done <- opened{file, err}
	}()
	o := <-done
	return o.file, o.err
}

// enter moves the calling thread into a namespace of ip netns.
func enter(space string) error {
	file, err := os.Open("/run/netns/" + space)
	if err != nil {
		return err
	}
	return errors.Join(unix.Setns(int(file.Fd()), unix.CLONE_NEWNET), file.Close())
}

// hub forwards the packets of all ports.
type hub struct {
	seed         uint64
	ports        []io.ReadWriter
	names        map[string]int
	addresses    map[[4]byte]int
	now          atomic.Pointer[state]
	passed, lost atomic.Int64
}

// state is what the network does with a packet.
type state struct {
	loss  float64       // share of the packets that are dropped
	delay time.Duration // half of a round trip
	cut   int           // port whose packets are all dropped, also those for it; -1: none
}

type packet struct {
	to    int
	due   time.Time
	bytes []byte
}

func newHub(seed uint64) *hub {
	h := &hub{seed: seed, names: map[string]int{"-": -1}, addresses: make(map[[4]byte]int)}
	h.now.Store(&state{cut: -1})
	return h
}

func (h *hub) join(name string, address netip.Addr, port io.ReadWriter) {
	h.names[name], h.addresses[address.As4()] = len(h.ports), len(h.ports)
	h.ports = append(h.ports, port)
}

// forward delays or drops the packets of one port. Each packet uses one draw of the port's own generator, also while
// nothing is lost. Packets that are not IPv4 or are for no port use none.
func (h *hub) forward(from int) error {
	draws := rng.New(h.seed).Stream(rng.Message, uint32(from), 0)
	queue := make(chan packet, inFlight)
	failed := make(chan error, 1)
	go func() { failed <- h.deliver(queue) }()
	buffer := make([]byte, longest)
	for {
		n, err := h.ports[from].Read(buffer)
		if err != nil {
			close(queue)
			return errors.Join(err, <-failed)
		}
		if n < 20 || buffer[0]>>4 != 4 {
			continue
		}
		to, known := h.addresses[[4]byte(buffer[16:20])]
		if !known {
			continue
		}
		s := h.now.Load()
		if drawn := draws.Float64(); drawn < s.loss || from == s.cut || to == s.cut {
			h.lost.Add(1)
			continue
		}
		select {
		case queue <- packet{to, time.Now().Add(s.delay), append([]byte(nil), buffer[:n]...)}:
		case err := <-failed:
			return err
		}
	}
}

// deliver writes packets when they are due. The packets of one sender keep their order.
func (h *hub) deliver(queue <-chan packet) error {
	for p := range queue {
		time.Sleep(time.Until(p.due))
		if _, err := h.ports[p.to].Write(p.bytes); err != nil {
			return err
		}
		h.passed.Add(1)
	}
	return nil
}

// obey sets the network by each line of commands, and answers it.
func (h *hub) obey(commands io.Reader, say io.Writer) error {
	lines := bufio.NewScanner(commands)
	for lines.Scan() {
		var loss, trip float64
		var name string
		_, err := fmt.Sscanf(lines.Text(), "%g %g %s", &loss, &trip, &name)
		cut, known := h.names[name]
		if err != nil || !known || !(loss >= 0 && loss <= 100) || !(trip >= 0 && trip <= math.MaxInt32) {
			return fmt.Errorf("%q: must be a loss in [0, 100] %%, a round trip in milliseconds, and a namespace or -",
				lines.Text())
		}
		h.now.Store(&state{loss / 100, time.Duration(trip * float64(time.Millisecond) / 2), cut})
		if _, err := fmt.Fprintln(say, h.passed.Load(), h.lost.Load()); err != nil {
			return err
		}
	}
	return lines.Err()
}
