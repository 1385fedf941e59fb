package kitbuild

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/moby/buildkit/session/secrets/secretsprovider"
	"golang.org/x/sys/unix"
)

func secretStore(t *testing.T, path string) secretFiles {
	t.Helper()
	rest, err := secretsprovider.NewStore([]secretsprovider.Source{{ID: "of-env", Env: "SBXKIT_TEST_SECRET"}})
	if err != nil {
		t.Fatal(err)
	}
	return secretFiles{map[string]string{"tok": path}, rest}
}

func TestSecrets(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, size int) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, bytes.Repeat([]byte("s"), size), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		path string
		want int    // bytes
		err  string // or the reason
	}{
		{write("small", 3), 3, ""},
		{write("limit", MaxSecretSize), MaxSecretSize, ""},
		{write("over", MaxSecretSize+1), 0, "more than 512000 bytes"},
		{"/dev/zero", 0, "more than 512000 bytes"},
		{dir, 0, "is a directory"},
		{filepath.Join(dir, "absent"), 0, "no such file"},
	} {
		data, err := secretStore(t, c.path).GetSecret(t.Context(), "tok")
		if c.err == "" && (err != nil || len(data) != c.want) || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%s: %d bytes, %v", c.path, len(data), err)
		}
	}
	t.Setenv("SBXKIT_TEST_SECRET", "abc")
	if data, err := secretStore(t, "x").GetSecret(t.Context(), "of-env"); err != nil || string(data) != "abc" {
		t.Errorf("of the environment: %q, %v", data, err)
	}
}

// TestSecretPipe: a pipe is read, and one that nobody writes to keeps nobody from stopping the build.
func TestSecretPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := secretStore(t, pipe).GetSecret(ctx, "tok"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	other := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(other, 0o600); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- os.WriteFile(other, []byte("piped"), 0) }()
	if data, err := secretStore(t, other).GetSecret(t.Context(), "tok"); err != nil || string(data) != "piped" {
		t.Errorf("got %q, %v", data, err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	// Lets the reader of the first pipe go.
	if f, err := os.OpenFile(pipe, os.O_RDWR, 0); err == nil {
		f.Close()
	}
}
