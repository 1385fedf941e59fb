package kitbuild

import (
	"errors"
	"strings"

	"github.com/moby/buildkit/frontend/dockerfile/parser"
	gwclient "github.com/moby/buildkit/frontend/gateway/client"
	"github.com/moby/buildkit/solver/errdefs"
	"github.com/moby/buildkit/solver/pb"
	"github.com/moby/buildkit/util/grpcerrors"
	"google.golang.org/grpc/status"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
)

// faultError states the findings of an invalid document without their excerpts: the client of a build
// draws those from the source information. The *descriptor.InvalidError is reachable through it.
type faultError struct{ invalid *descriptor.InvalidError }

func (e *faultError) Error() string {
	var lines []string
	for _, f := range e.invalid.Findings {
		if f.Severity == descriptor.Error {
			lines = append(lines, findingText(f))
		}
	}
	return "invalid kit descriptor " + e.invalid.Name + ": " + strings.Join(lines, "\n")
}

func (e *faultError) Unwrap() error { return e.invalid }

func findingText(f descriptor.Finding) string {
	text := f.Message
	if f.Path != "" {
		text = f.Path + ": " + text
	}
	if f.Hint != "" {
		text += " (" + f.Hint + ")"
	}
	return text
}

// withSource gives an error about the descriptor the place that a client draws.
func withSource(err error) error {
	var invalid *descriptor.InvalidError
	if !errors.As(err, &invalid) || len(errdefs.Sources(err)) > 0 {
		return err
	}
	source := &errdefs.Source{Info: sourceInfo(invalid.Name, invalid.Source)}
	for _, f := range invalid.Findings {
		if f.Severity != descriptor.Error || f.Start.Line == 0 {
			continue
		}
		source.Ranges = append(source.Ranges, findingRange(f))
	}
	return errdefs.WithSource(&faultError{invalid}, source)
}

func sourceInfo(name string, data []byte) *pb.SourceInfo {
	return &pb.SourceInfo{Filename: name, Data: data, Language: "yaml"}
}

// findingRange turns 1-based columns into the engine's 0-based ones.
func findingRange(f descriptor.Finding) *pb.Range {
	end := f.End
	if end.Line == 0 {
		end = f.Start
	}
	return &pb.Range{
		Start: &pb.Position{Line: int32(f.Start.Line), Character: int32(max(f.Start.Column-1, 0))},
		End:   &pb.Position{Line: int32(end.Line), Character: int32(max(end.Column-1, 0))},
	}
}

// inRecipe gives an error of our own reading of the recipe its place there.
func inRecipe(err error, recipe *project.Recipe) error {
	source := &errdefs.Source{Info: &pb.SourceInfo{Filename: recipe.Name, Data: recipe.Text, Language: "Dockerfile"}}
	var located *parser.LocationError
	if errors.As(err, &located) {
		for _, ranges := range located.Locations {
			for _, r := range ranges {
				source.Ranges = append(source.Ranges, &pb.Range{
					Start: &pb.Position{Line: int32(r.Start.Line), Character: int32(r.Start.Character)},
					End:   &pb.Position{Line: int32(r.End.Line), Character: int32(r.End.Character)},
				})
			}
		}
	}
	return errdefs.WithSource(&recipeError{name: recipe.Name, err: err}, source)
}

// recipeError says in which recipe a fault lies.
type recipeError struct {
	name string
	err  error
	note string // what else may help, beginning with a blank
}

func (e *recipeError) Error() string { return e.name + ": " + e.err.Error() + e.note }
func (e *recipeError) Unwrap() error { return e.err }

// GRPCStatus keeps the name of the recipe when the error crosses the gateway: of an error that came from
// there, only the inner text would go back.
func (e *recipeError) GRPCStatus() *status.Status {
	inner, ok := grpcerrors.AsGRPCStatus(e.err)
	if !ok || inner == nil {
		return status.New(grpcerrors.Code(e.err), e.Error())
	}
	outer := inner.Proto()
	outer.Message = e.Error()
	return status.FromProto(outer)
}

// fault makes an error about one place of the descriptor. What concerns the whole document has no place:
// its first line would be the excerpt, and has nothing to do with it.
func fault(doc *descriptor.Document, code, path, hint, format string, args ...any) *descriptor.InvalidError {
	e := doc.Errorf(code, path, hint, format, args...)
	if path == "" {
		e.Findings[0].Start, e.Findings[0].End = descriptor.Position{}, descriptor.Position{}
	}
	return e
}

// warning makes a finding about one place of the descriptor.
func warning(doc *descriptor.Document, code, path, hint, format string, args ...any) descriptor.Finding {
	f := fault(doc, code, path, hint, format, args...).Findings[0]
	f.Severity = descriptor.Warning
	return f
}

// warnOpts gives a finding about a document the place that a client draws.
func warnOpts(doc *descriptor.Document, f descriptor.Finding) gwclient.WarnOpts {
	opts := gwclient.WarnOpts{Level: 1, SourceInfo: sourceInfo(doc.Name(), doc.Source())}
	if f.Start.Line > 0 {
		opts.Range = []*pb.Range{findingRange(f)}
	}
	if f.Hint != "" {
		opts.Detail = [][]byte{[]byte(f.Hint)}
	}
	return opts
}
