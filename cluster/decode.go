package cluster

import (
	"fmt"

	"proactivedp/internal/strictjson"
)

// mostText is the largest text in a message, in bytes.
const mostText = 2000

// decode reads a message of another process, which is not trusted.
func decode(text []byte, v any) error {
	if len(text) > maxAnswer {
		return fmt.Errorf("message has %d bytes, must have at most %d", len(text), maxAnswer)
	}
	return strictjson.DecodeWhole(text, v, mostText)
}
