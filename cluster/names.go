package cluster

import (
	"fmt"
	"strconv"
	"strings"

	"proactivedp/cluster/broker"
)

// These are subjects. RUN is the run's id.
const (
	subjectRoot = "pdp"
	findSubject = subjectRoot + ".find"
)

// names makes the subjects and the names of the streams of one run.
type names struct{ run string }

func (n names) subject(parts ...any) string {
	text := subjectRoot + "." + n.run
	for _, p := range parts {
		text += "." + fmt.Sprint(p)
	}
	return text
}

func (n names) down(k, chunk int) string { return n.subject("down", k%slots, chunk) }
func (n names) hello(client int) string  { return n.subject("hello", client) }
func (n names) status() string           { return n.subject("status") }
func (n names) expel() string            { return n.subject("expel") }
func (n names) pulse() string            { return n.subject("pulse") }
func (n names) call() string             { return n.subject("call") }
func (n names) news() string             { return n.subject("news") }
func (n names) upStream() string         { return n.stream("UP") }
func (n names) downStream() string       { return n.stream("DOWN") }

// stream returns the name of one of the run's streams. For anyRun it matches any stream.
func (n names) stream(kind string) string {
	if n.run == anyRun {
		return anyRun
	}
	return "PDP_" + n.run + "_" + kind
}

// anyRun stands for every run, in permissions that are for all runs.
const anyRun = "*"

// Allow returns what a user may do at the broker: under which NATS subjects (names of messages) the user may publish,
// and to which it may subscribe. This is what the user's role in a training needs, and nothing else. Pass Allow to
// [broker.WriteConfig] to configure a broker that runs elsewhere.
func Allow(u broker.User) broker.Permissions {
	if u.Role == broker.Server {
		return broker.Permissions{Publish: []string{">"}, Subscribe: []string{">"}}
	}
	return names{anyRun}.allow(u)
}

// slots is the number of broadcasts that the stream holds. While one is being written, the other is
// complete.
const slots = 2

// direct returns the subject that asks a broker for a stream's newest message of a subject.
func direct(stream, subject string) string { return "$JS.API.DIRECT.GET." + stream + "." + subject }

// These are the kinds of subjects of updates.
const (
	upKind    = "up"    // the stream keeps these messages
	earlyKind = "early" // these go directly to the server
)

// up returns the subject of a part of an update for the stream.
func (n names) up(client, round, chunk int) string { return n.part(upKind, client, round, chunk) }

// early returns the subject of an update that is sent directly to the server. The message may have
// updates of later rounds too.
func (n names) early(client, round int) string { return n.part(earlyKind, client, round, 0) }

// part returns the subject of a part of an update. It is called for each message, so it does not use
// fmt.
func (n names) part(kind string, client, round, chunk int) string {
	return subjectRoot + "." + n.run + "." + kind + "." + strconv.Itoa(client) + "." + strconv.Itoa(round) + "." +
		strconv.Itoa(chunk)
}

// parsePart returns the client, the round and the chunk in a subject of this kind.
func (n names) parsePart(kind, subject string) (client, round, chunk int, ok bool) {
	rest, ok := strings.CutPrefix(subject, subjectRoot+"."+n.run+"."+kind+".")
	if !ok {
		return 0, 0, 0, false
	}
	var v [3]int
	for i := range v {
		part, behind, more := strings.Cut(rest, ".")
		x, err := strconv.ParseInt(part, 10, 32)
		if err != nil || more != (i < len(v)-1) || !canonical(part) {
			return 0, 0, 0, false
		}
		v[i], rest = int(x), behind
	}
	return v[0], v[1], v[2], true
}

// canonical reports whether number is a decimal integer as this program writes it, without leading
// zeros. If others were accepted, one update could have several subjects.
func canonical(number string) bool {
	return number[0] != '+' && number[0] != '-' && (number[0] != '0' || number == "0")
}

// inbox returns the first part of the subjects under which a user gets answers. The server answers
// only there, so nobody can make it publish in another's name.
func inbox(role broker.Role, client int) string {
	if role == broker.Client {
		return fmt.Sprintf("_INBOX_client_%d", client)
	}
	return "_INBOX_" + string(role)
}

// allow returns a user's permissions in the run. A client may publish its own updates, ask in its
// own name, and read its own updates and the broadcasts.
func (n names) allow(u broker.User) broker.Permissions {
	own := inbox(u.Role, u.Client) + ".>"
	switch u.Role {
	case broker.Client:
		up := n.subject(upKind, u.Client, ">")
		return broker.Permissions{
			Publish: []string{findSubject, n.hello(u.Client), up, n.subject(earlyKind, u.Client, ">"),
				direct(n.upStream(), up), direct(n.downStream(), n.subject("down", ">"))},
			Subscribe: []string{own, n.subject("down", ">"), n.news(), n.call()},
		}
	case broker.Operator:
		return broker.Permissions{Publish: []string{findSubject, n.status(), n.expel()}, Subscribe: []string{own}}
	}
	return broker.Permissions{}
}
