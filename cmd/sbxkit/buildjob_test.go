package main

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	gwpb "github.com/moby/buildkit/frontend/gateway/pb"
	"github.com/moby/buildkit/solver/errdefs"
	"github.com/moby/buildkit/solver/pb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/sbxkit/sbxkit/internal/buildkit"
	"github.com/sbxkit/sbxkit/internal/cli"
	"github.com/sbxkit/sbxkit/internal/kitbuild"
	"github.com/sbxkit/sbxkit/tck"
)

// TestExplain: status 1 is for what is wrong with the kit. A full disk in the middle of its recipe is not.
func TestExplain(t *testing.T) {
	inRecipe := func(err error) error {
		return errdefs.WithSource(err, &errdefs.Source{
			Info:   &pb.SourceInfo{Filename: "lamp.dockerfile", Data: []byte("FROM scratch\nRUN \x1b[2J\n")},
			Ranges: []*pb.Range{{Start: &pb.Position{Line: 2}, End: &pb.Position{Line: 2}}},
		})
	}
	for _, c := range []struct {
		name  string
		err   error
		wrong bool
	}{
		{"a step fails", &gwpb.ExitError{ExitCode: 7}, true},
		{"a step cannot copy", &errdefs.SolveError{Err: errors.New("not found"), Solve: &errdefs.Solve{Op: &pb.Op{Op: &pb.Op_File{File: &pb.FileOp{}}}}}, true},
		{"the kit deviates", fmt.Errorf("check: %w", &tck.DeviationError{}), true},
		{"an image cannot be fetched", inRecipe(errors.New("no such host")), false},
		{"full disk", inRecipe(status.Error(codes.ResourceExhausted, "no space left on device")), false},
		{"stopped", inRecipe(status.Error(codes.Canceled, "context canceled")), false},
		{"engine gone", status.Error(codes.Unavailable, "closed"), false},
		{"anything else", errors.New("broken"), false},
	} {
		var said strings.Builder
		var wrong *cli.WrongError
		if err := (&buildJob{stderr: &said}).explain(c.err, false); errors.As(err, &wrong) != c.wrong {
			t.Errorf("%s: %v", c.name, err)
		}
		if strings.Contains(said.String(), "\x1b") {
			t.Errorf("%s: the terminal gets %q", c.name, said.String())
		}
	}
	missing := fmt.Errorf("RUN: %w", &gwpb.ExitError{Err: buildkit.ErrNoRuntime})
	var wrong *cli.WrongError
	if err := (&buildJob{stderr: io.Discard}).explain(missing, true); errors.As(err, &wrong) {
		t.Errorf("without a runtime: %v", err)
	}
	var usage *cli.UsageError
	if err := (&buildJob{}).verdict(fmt.Errorf("%w: x", kitbuild.ErrOption), ""); !errors.As(err, &usage) {
		t.Errorf("a wrong option is %v", err)
	}
}
