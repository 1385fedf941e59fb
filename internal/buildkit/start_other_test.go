//go:build !linux

package buildkit

import (
	"errors"
	"testing"
)

func TestStartRefuses(t *testing.T) {
	if _, err := Start(t.Context(), Options{}); !errors.Is(err, ErrUnsupportedSystem) {
		t.Errorf("error %v, want %v", err, ErrUnsupportedSystem)
	}
}
