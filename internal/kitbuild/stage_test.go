package kitbuild

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/moby/buildkit/client/llb"
	"github.com/moby/buildkit/solver/pb"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
)

func TestStageSources(t *testing.T) {
	at := time.Unix(1700000000, 0)
	files := []project.StagedFile{
		{Path: "/usr/share/sandbox/kit/lamp/kit.yaml", Data: []byte("descriptor")},
		{Path: "/usr/share/sandbox/kit/lamp/kit.dockerfile", Data: []byte("recipe")},
		{Path: "/usr/share/sandbox/kit/lamp/context-1/notes.md", Data: []byte("notes")},
	}
	var digests []string
	for _, arch := range []string{"amd64", "arm64"} {
		state := stageSources(llb.Scratch(), files, at, "stage kit sources")
		def, err := state.Marshal(context.Background(), llb.Platform(ocispec.Platform{OS: "linux", Architecture: arch}))
		if err != nil {
			t.Fatal(err)
		}
		var made []string
		for _, data := range def.Def {
			var op pb.Op
			if err := op.Unmarshal(data); err != nil {
				t.Fatal(err)
			}
			for _, action := range op.GetFile().GetActions() {
				if a := action.GetMkfile(); a != nil {
					made = append(made, a.Path+" "+string(a.Data))
					if a.Mode != 0o644 {
						t.Errorf("%s has mode %o", a.Path, a.Mode)
					}
				}
				if a := action.GetMkdir(); a != nil && a.Mode != 0o755 {
					t.Errorf("%s has mode %o", a.Path, a.Mode)
				}
				if a := action.GetCopy(); a != nil && a.Timestamp != at.UnixNano() {
					t.Errorf("copied with time %d", a.Timestamp)
				}
			}
			if len(op.Inputs) == 0 && op.GetFile() != nil {
				digests = append(digests, string(data))
			}
		}
		want := []string{
			"/usr/share/sandbox/kit/lamp/kit.yaml descriptor",
			"/usr/share/sandbox/kit/lamp/kit.dockerfile recipe",
			"/usr/share/sandbox/kit/lamp/context-1/notes.md notes",
		}
		if !slices.Equal(made, want) {
			t.Errorf("made %q, want %q", made, want)
		}
	}
	if len(digests) != 2 || digests[0] != digests[1] {
		t.Error("the sources are collected once per platform instead of once")
	}
}

func TestStagedFiles(t *testing.T) {
	pub := &project.Published{Stem: "lamp", Guidance: []project.StagedFile{{Path: "/g"}}}
	paths := func() string {
		var out []string
		for _, f := range stagedFiles(pub, nil) {
			out = append(out, f.Path)
		}
		return strings.Join(out, " ")
	}
	const root = "/usr/share/sandbox/kit/lamp"
	if got := paths(); got != root+"/kit.yaml /g" {
		t.Errorf("without a recipe: %s", got)
	}
	pub.Recipe = &project.Recipe{Name: "x"}
	if got := paths(); got != root+"/kit.yaml /g" {
		t.Errorf("with an empty recipe: %s", got)
	}
	pub.Recipe.Text = []byte("FROM scratch")
	if got := paths(); got != root+"/kit.yaml "+root+"/kit.dockerfile /g" {
		t.Errorf("with a recipe: %s", got)
	}
}
