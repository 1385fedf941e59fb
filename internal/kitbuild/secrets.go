package kitbuild

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/moby/buildkit/session"
	"github.com/moby/buildkit/session/secrets"
	"github.com/moby/buildkit/session/secrets/secretsprovider"
)

// MaxSecretSize bounds one secret, in bytes. It is BuildKit's own bound, which it applies to regular files
// and to what has been read.
const MaxSecretSize = secretsprovider.MaxSecretSize

// openSecrets serves the secrets to the steps that mount them. Each is read when a step asks for it.
func openSecrets(sources []secretsprovider.Source) (session.Attachable, error) {
	rest, err := secretsprovider.NewStore(sources)
	if err != nil {
		return nil, fmt.Errorf("open secrets: %w", err)
	}
	files := map[string]string{}
	for _, s := range sources {
		delete(files, s.ID) // the last of one name counts, as in the store
		if s.Env == "" && s.FilePath != "" {
			files[s.ID] = s.FilePath
		}
	}
	return secretsprovider.NewSecretProvider(secretFiles{files, rest}), nil
}

// secretFiles reads the secrets that are files, in the place of BuildKit's store, which reads a device or a pipe
// without end into memory. A pipe is worth having: a shell makes one of <(command).
type secretFiles struct {
	paths map[string]string // by ID
	rest  secrets.SecretStore
}

// GetSecret implements secrets.SecretStore.
func (s secretFiles) GetSecret(ctx context.Context, id string) ([]byte, error) {
	path, ok := s.paths[id]
	if !ok {
		return s.rest.GetSecret(ctx, id)
	}
	type answer struct {
		data []byte
		err  error
	}
	read := make(chan answer, 1)
	go func() { // opening a pipe waits for its writer, and does not look at the context
		data, err := readSecret(path)
		read <- answer{data, err}
	}()
	select {
	case a := <-read:
		return a.data, a.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func readSecret(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSecretSize+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxSecretSize {
		return nil, fmt.Errorf("read secret %s: more than %d bytes", path, MaxSecretSize)
	}
	return data, nil
}
