package web

import (
	"net"
	"sync"
)

// limited returns a listener with at most mostConnected connections. Further ones wait until one of
// them ends.
func limited(l net.Listener) net.Listener {
	return &limitedListener{Listener: l, free: make(chan struct{}, mostConnected), closed: make(chan struct{})}
}

type limitedListener struct {
	net.Listener
	free   chan struct{}
	closed chan struct{}
	once   sync.Once
}

// Accept waits until there is a connection and fewer than mostConnected are open.
func (l *limitedListener) Accept() (net.Conn, error) {
	select {
	case l.free <- struct{}{}:
	case <-l.closed:
		return nil, net.ErrClosed
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		<-l.free
		return nil, err
	}
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-l.free })}, nil
}

func (l *limitedListener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	release func()
}

// Close closes the connection, so that another one can be accepted.
func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
