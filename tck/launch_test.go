package tck

import (
	"context"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// configured is an artifact with another image config.
type configured struct {
	Source
	config ocispec.ImageConfig
}

func (c configured) Config(context.Context) (*ocispec.Image, error) {
	return &ocispec.Image{Config: c.config}, nil
}

// What starts a workload is entrypoint and command, one behind the other, and its first element
// names a program. A mixin starts nothing. The name of the check is asserted, so that renaming it
// cannot make this test pass on nothing.
func TestLaunchRule(t *testing.T) {
	for _, test := range []struct {
		name            string
		entrypoint, cmd []string
		want            Severity
	}{
		{"entrypoint", []string{"/bin/bash"}, nil, Passed},
		{"command", nil, []string{"bash"}, Passed},
		{"both", []string{"/bin/bash"}, []string{"-l"}, Passed},
		{"an empty argument", []string{"/bin/bash", ""}, nil, Passed},
		{"an empty entrypoint list", []string{}, []string{"bash"}, Passed},
		{"neither", nil, nil, Fail},
		{"two empty lists", []string{}, []string{}, Fail},
		{"an empty program", []string{""}, []string{"bash"}, Fail},
		{"an empty command", nil, []string{""}, Fail},
	} {
		for kind, want := range map[string]Severity{"1-workload": test.want, "1-bare": Passed} {
			source := configured{sourceOf(t, kind), ocispec.ImageConfig{Entrypoint: test.entrypoint, Cmd: test.cmd, User: "agent"}}
			report, err := Run(t.Context(), source)
			if err != nil {
				t.Fatal(err)
			}
			if got, ran := report.Verdict("image-config"); !ran || got != want {
				t.Errorf("%s on %s: ran %v, verdict %v, want %v", test.name, kind, ran, got, want)
			}
		}
	}
}
