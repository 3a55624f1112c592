package broker

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nkeys"

	"proactivedp/internal/bounded"
	"proactivedp/internal/strictjson"
	"proactivedp/rng"
)

// Role says what a user is for.
type Role string

// The roles.
const (
	Client   Role = "client"   // a client of a training
	Operator Role = "operator" // asks for the state of a training, and expels clients
	Worker   Role = "worker"   // computes cells of sweeps
	Server   Role = "server"   // serves trainings, or hands out cells, at a broker that runs elsewhere
)

// User is one that the broker knows.
type User struct {
	Role   Role   `json:"role"`
	Client int    `json:"client"` // a client's number; else 0
	Public string `json:"public"` // the public part of the user's key
}

// Keyring is what a broker knows its users by, and shows that it is itself by.
type Keyring struct {
	Version     int    `json:"version"`
	Certificate string `json:"certificate"` // PEM
	PrivateKey  string `json:"private_key"` // PEM
	Users       []User `json:"users"`
}

// Credentials are what one user shows that it is itself by.
type Credentials struct {
	Version int    `json:"version"`
	Role    Role   `json:"role"`
	Client  int    `json:"client"` // a client's number; else 0
	Seed    string `json:"seed"`   // the secret part of the user's key
	CA      string `json:"ca"`     // PEM: who vouches for the broker
}

// Check reports credentials of another role than the one that is needed: a broker would let
// them in, and answer nothing. No credentials, as on loopback, are those of every role.
func (c *Credentials) Check(needed Role) error {
	if c == nil || c.Role == needed {
		return nil
	}
	return fmt.Errorf("credentials of role %q, must be of %q", c.Role, needed)
}

// The names of the files that MakeKeys writes.
const (
	keyringFile = "server.keys"
	credsEnd    = ".creds"
)

const keyVersion = 1

// validity is how long a certificate is good for.
const validity = 5 * 365 * 24 * time.Hour

// MakeKeys writes to the folder dir, made if it is not there, a keyring for a broker that
// is reached under the names or addresses of hosts, and credentials for so many clients, an
// operator, the workers, and servers. It overwrites nothing. The folder holds secrets: each file
// is for the machine of its user alone.
func MakeKeys(dir string, clients int, hosts []string) error {
	if clients < 0 || clients > 1_000_000 {
		return fmt.Errorf("keys of %d clients, must be in [0, 1000000]", clients)
	}
	if len(hosts) == 0 {
		return errors.New("keys of a broker without a name or an address")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	cert, key, err := certificate(hosts)
	if err != nil {
		return fmt.Errorf("keys: %w", err)
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
		return writeSecret(filepath.Join(dir, name+credsEnd), Credentials{keyVersion, role, client, string(seed), cert})
	}
	for c := range clients {
		if err := add(Client, c, fmt.Sprintf("client-%d", c)); err != nil {
			return fmt.Errorf("keys: %w", err)
		}
	}
	for _, role := range []Role{Operator, Worker, Server} {
		if err := add(role, 0, string(role)); err != nil {
			return fmt.Errorf("keys: %w", err)
		}
	}
	if err := writeSecret(filepath.Join(dir, keyringFile), ring); err != nil {
		return fmt.Errorf("keys: %w", err)
	}
	return nil
}

// writeSecret writes a new file that its owner alone can read.
func writeSecret(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// certificate makes a certificate for the hosts that vouches for itself.
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
		// Brokers of a cluster show it to each other.
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			about.IPAddresses = append(about.IPAddresses, ip)
		} else if host != "" {
			about.DNSNames = append(about.DNSNames, host)
		} else {
			return "", "", errors.New(`a host is ""`)
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

// What bounds files of keys, in bytes: a keyring has some lines for each user, credentials
// are of one, with a certificate that may name many hosts.
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

// ReadCredentials reads the credentials of one user.
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
