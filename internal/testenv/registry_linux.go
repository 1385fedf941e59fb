package testenv

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// registryConfig lets the kernel choose the port; the registry tells which it is in its log.
const registryConfig = `version: 0.1
log: {level: info}
storage:
  filesystem: {rootdirectory: %q}
  delete: {enabled: true}
http: {addr: "127.0.0.1:0"}
`

var listening = regexp.MustCompile(`listening on (127\.0\.0\.1:[0-9]+)`)

// Registry starts an empty registry that speaks plain HTTP and returns its "127.0.0.1:PORT". It is the
// distribution's own, not a stand-in of ours.
func Registry(t testing.TB) string {
	t.Helper()
	program := Tool(t, "docker-registry")
	dir := workDir(t)
	config := filepath.Join(dir, "config.yml")
	if err := os.WriteFile(config, fmt.Appendf(nil, registryConfig, filepath.Join(dir, "data")), 0o600); err != nil {
		t.Fatal(err)
	}
	address := ""
	start(t, "docker-registry", exec.Command(program, "serve", config), func(s *service) error {
		found := listening.FindStringSubmatch(s.log.String())
		if found == nil {
			return errors.New("it does not listen yet")
		}
		address = found[1]
		answer, err := http.Get("http://" + address + "/v2/")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("it answers %s", answer.Status)
		}
		return nil
	})
	return address
}
