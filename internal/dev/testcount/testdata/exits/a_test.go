package exits

import (
	"os"
	"testing"
)

func TestBefore(t *testing.T) {}

func TestMain(m *testing.M) {
	m.Run()
	os.Exit(3)
}
