package broker

import (
	"fmt"
	"path/filepath"
	"strings"

	"proactivedp/internal/files"
)

// These are the files that WriteConfig writes to the folder of the keyring.
const (
	configFile      = "nats.conf"
	certificateFile = "server.crt"
	privateKeyFile  = "server.key"
)

// WriteConfig writes configuration files for brokers (nats-server) that run elsewhere: TLS, and the users of ring with
// their permissions. allow returns the permissions of a user; for trainings of package cluster, pass cluster.Allow. The
// files are written to dir, the folder of the keyring. They are secret: copy them only to the brokers' machines.
// Existing files are not overwritten.
func WriteConfig(dir string, ring *Keyring, allow func(User) Permissions) error {
	var text strings.Builder
	fmt.Fprintf(&text, "# Users and TLS of proactivedp's brokers; to be included in nats-server's own configuration.\n"+
		"tls {\n  cert_file: %q\n  key_file: %q\n  min_version: \"1.3\"\n}\nauthorization {\n  users: [\n",
		certificateFile, privateKeyFile)
	for _, u := range ring.Users {
		may := allow(u)
		fmt.Fprintf(&text, "    # %s %d\n    { nkey: %s, permissions: { publish: %s, subscribe: %s } }\n", u.Role,
			u.Client, u.Public, allowed(may.Publish), allowed(may.Subscribe))
	}
	text.WriteString("  ]\n}\n")
	for _, file := range []struct{ name, text string }{
		{configFile, text.String()}, {certificateFile, ring.Certificate}, {privateKeyFile, ring.PrivateKey},
	} {
		if err := writeSecret(filepath.Join(dir, file.name), files.Text(file.text)); err != nil {
			return fmt.Errorf("keys: %w", err)
		}
	}
	return nil
}

// allowed formats a list of subjects for nats-server. An empty list allows nothing.
func allowed(subjects []string) string {
	if len(subjects) == 0 {
		return `{ deny: [">"] }`
	}
	texts := make([]string, len(subjects))
	for i, s := range subjects {
		texts[i] = fmt.Sprintf("%q", s)
	}
	return "{ allow: [" + strings.Join(texts, ", ") + "] }"
}
