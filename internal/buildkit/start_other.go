//go:build !linux

package buildkit

import (
	"context"
	"fmt"
)

// Start reports that builds need Linux; the error wraps [ErrUnsupportedSystem].
func Start(context.Context, Options) (*Engine, error) {
	return nil, fmt.Errorf("start builder: %w: build on a Linux machine", ErrUnsupportedSystem)
}
