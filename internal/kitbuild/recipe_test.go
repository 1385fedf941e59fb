package kitbuild

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	gwclient "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/errdefs"
	"github.com/moby/buildkit/solver/pb"
	"github.com/moby/buildkit/util/grpcerrors"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"google.golang.org/grpc/codes"
)

// The note about missing files is tested with an engine, in testdata/kits.
func TestForeignNote(t *testing.T) {
	here := []gwclient.WorkerInfo{{Platforms: []ocispec.Platform{{OS: "linux", Architecture: "amd64"}, {OS: "linux", Architecture: "386"}}}}
	op := func(arch string) *pb.Op {
		return &pb.Op{Op: &pb.Op_Exec{Exec: &pb.ExecOp{}}, Platform: &pb.Platform{OS: "linux", Architecture: arch}}
	}
	failed := func(op *pb.Op) error {
		return fmt.Errorf("build: %w", &errdefs.SolveError{Solve: &errdefs.Solve{Op: op}, Err: errors.New("exit code: 1")})
	}
	copied := op("arm64")
	copied.Op = &pb.Op_File{File: &pb.FileOp{}}
	for name, c := range map[string]struct {
		workers []gwclient.WorkerInfo
		err     error
		note    bool
	}{
		"foreign":          {here, failed(op("arm64")), true},
		"own":              {here, failed(op("amd64")), false},
		"own, spelled so":  {here, failed(op("x86_64")), false},
		"no program":       {here, failed(copied), false},
		"of no platform":   {here, failed(&pb.Op{Op: &pb.Op_Exec{Exec: &pb.ExecOp{}}}), false},
		"of no step":       {here, failed(nil), false},
		"cancelled":        {here, grpcerrors.WrapCode(failed(op("arm64")), codes.Canceled), false},
		"another error":    {here, errors.New("exit code: 1"), false},
		"workers unknown":  {nil, failed(op("arm64")), false},
		"platforms hidden": {[]gwclient.WorkerInfo{{}}, failed(op("arm64")), false},
	} {
		got := stepNote(c.workers, c.err)
		if c.note != strings.Contains(got, "for linux/amd64, linux/386 only: steps for linux/arm64 need an emulator") || !c.note && got != "" {
			t.Errorf("%s: %q", name, got)
		}
	}
}
