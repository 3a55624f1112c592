package broker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nkeys"

	"proactivedp/internal/bounded"
	"proactivedp/internal/files"
	"proactivedp/internal/strictjson"
	"proactivedp/rng"
)

// Role says what a user of the broker does. It determines the user's permissions.
type Role string

// These are the values of [Role].
const (
	Client   Role = "client"   // a process that trains on its own records
	Operator Role = "operator" // a person or program that asks for the state of a training, and expels clients
	Worker   Role = "worker"   // a process that computes trainings of a sweep (many trainings with different settings)
	// Server is the process that serves a training, or gives the trainings of a sweep to workers. It needs this role
	// only at a broker that runs elsewhere.
	Server Role = "server"
)

// User is a user of the broker in a Keyring: its role and its public key.
type User struct {
	Role   Role   `json:"role"`
	Client int    `json:"client"` // number of the client, for the role Client; otherwise 0
	Public string `json:"public"` // public key of the user, by which the broker recognises it
}

// Keyring is the secret of the broker: the certificate with which it proves its identity, and the public keys by
// which it recognises its users. Each user has the other part, its [Credentials]. [MakeKeys] makes both.
type Keyring struct {
	Version     int    `json:"version"`
	Certificate string `json:"certificate"` // certificate, as PEM
	PrivateKey  string `json:"private_key"` // private key of the certificate, as PEM
	Users       []User `json:"users"`
}

// Credentials are the secret of one user of a broker: the key with which the user proves its identity, and the
// certificate by which it recognises the broker. [MakeKeys] writes them to a file for each user, and
// [ReadCredentials] reads them.
type Credentials struct {
	Version int    `json:"version"`
	Role    Role   `json:"role"`
	Client  int    `json:"client"` // number of the client, for the role Client; otherwise 0
	Seed    string `json:"seed"`   // secret key of the user, in the form of a NATS nkey seed
	CA      string `json:"ca"`     // certificate that signed the broker's certificate, as PEM
}

// Check returns an error if the role of the credentials is not the needed one. Call it before connecting, because the
// broker would accept the connection and then refuse every request. If c is nil (no credentials, as on loopback),
// Check returns nil.
func (c *Credentials) Check(needed Role) error {
	if c == nil || c.Role == needed {
		return nil
	}
	return fmt.Errorf("credentials of role %q, must be of %q", c.Role, needed)
}

// These are the files that MakeKeys writes.
const (
	keyringFile = "server.keys"
	credsEnd    = ".creds"
)

const keyVersion = 1

// validity is how long a certificate is valid.
const validity = 5 * 365 * 24 * time.Hour

// MakeKeys makes the keys for a broker and its users, and writes them to the folder dir, which it creates if needed:
// a [Keyring] for the broker, one file of [Credentials] for each of the clients, and one for each other [Role]:
// operator, worker (one for all processes that compute trainings for others) and server. hosts are the names or
// addresses under which the broker will be reached. Existing files are not overwritten. Each file is a secret of its
// user: copy it only to the user's machine.
func MakeKeys(dir string, clients int, hosts []string) error {
	if clients < 0 || clients > 1_000_000 {
		return fmt.Errorf("keys of %d clients, must be in [0, 1000000]", clients)
	}
	if len(hosts) == 0 {
		return errors.New("no hosts: give at least one name or address of the broker")
	}
	if err := makeKeys(dir, clients, hosts); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

func makeKeys(dir string, clients int, hosts []string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	cert, key, err := certificate(hosts)
	if err != nil {
		return err
	}
	ring := Keyring{Version: keyVersion, Certificate: cert, PrivateKey: key}
	add := func(role Role, client int, name string) error {
		pair, err := nkeys.CreateUser()
		if err != nil {
			return err
		}
		public, err := pair.PublicKey()
		if err != nil {
			return err
		}
		seed, err := pair.Seed()
		if err != nil {
			return err
		}
		ring.Users = append(ring.Users, User{role, client, public})
		return writeSecret(filepath.Join(dir, name+credsEnd),
			files.JSON(Credentials{keyVersion, role, client, string(seed), cert}))
	}
	for c := range clients {
		if err := add(Client, c, fmt.Sprintf("client-%d", c)); err != nil {
			return err
		}
	}
	for _, role := range []Role{Operator, Worker, Server} {
		if err := add(role, 0, string(role)); err != nil {
			return err
		}
	}
	return writeSecret(filepath.Join(dir, keyringFile), files.JSON(ring))
}

// writeSecret writes a new file that only its owner can read.
func writeSecret(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Sync(), f.Close())
}

// certificate makes a self-signed certificate for the hosts.
func certificate(hosts []string) (cert, key string, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), nil)
	if err != nil {
		return "", "", err
	}
	serial, err := rng.NewSecret()
	if err != nil {
		return "", "", err
	}
	now := time.Now()
	about := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial[:16]), Subject: pkix.Name{CommonName: "proactivedp " + hosts[0]},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(validity), IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		// The brokers of a cluster also show it to each other, as clients.
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			about.IPAddresses = append(about.IPAddresses, ip)
		} else if host != "" {
			about.DNSNames = append(about.DNSNames, host)
		} else {
			return "", "", errors.New(`host = "", must be a name or an address`)
		}
	}
	der, err := x509.CreateCertificate(nil, about, about, &private.PublicKey, private)
	if err != nil {
		return "", "", err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return "", "", err
	}
	block := func(kind string, bytes []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: bytes}))
	}
	return block("CERTIFICATE", der), block("PRIVATE KEY", secret), nil
}

// These bound the files of keys, in bytes. A keyring has a few lines for each user. A file of
// credentials has one user, and a certificate that may have many hosts.
const (
	maxKeyring     = 512 << 20
	maxCredentials = 1 << 20
)

// ReadKeyring reads the keyring that MakeKeys wrote to the folder dir.
func ReadKeyring(dir string) (*Keyring, error) {
	ring, err := readKeys[Keyring](filepath.Join(dir, keyringFile), maxKeyring)
	if err != nil {
		return nil, err
	}
	if ring.Version != keyVersion {
		return nil, fmt.Errorf("keyring: version = %d, must be %d", ring.Version, keyVersion)
	}
	for i, u := range ring.Users {
		if !nkeys.IsValidPublicUserKey(u.Public) || u.Role != Client && u.Role != Operator && u.Role != Worker &&
			u.Role != Server || u.Client < 0 {
			return nil, fmt.Errorf("keyring: user %d is %q, client %d, key %q", i, u.Role, u.Client, u.Public)
		}
	}
	return ring, nil
}

// ReadCredentials reads the credentials of a user, which MakeKeys wrote, from the file at path.
func ReadCredentials(path string) (*Credentials, error) {
	c, err := readKeys[Credentials](path, maxCredentials)
	if err != nil {
		return nil, err
	}
	if c.Version != keyVersion {
		return nil, fmt.Errorf("credentials %s: version = %d, must be %d", path, c.Version, keyVersion)
	}
	return c, nil
}

func readKeys[T any](path string, most int64) (*T, error) {
	text, err := bounded.File(path, most)
	if err != nil {
		return nil, err
	}
	v := new(T)
	if err := strictjson.Decode(text, v); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}
