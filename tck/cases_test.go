package tck

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/registry"

	"github.com/sbxkit/sbxkit/internal/kittest"
	"github.com/sbxkit/sbxkit/internal/layerfs"
	"github.com/sbxkit/sbxkit/internal/ociimage"
)

// fewestCases keeps a case file from getting lost unnoticed.
const fewestCases = 150

// TestCases judges every kit of kittest and compares with the verdict that it must get.
func TestCases(t *testing.T) {
	cases, err := kittest.Cases()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) < fewestCases {
		t.Fatalf("%d cases, there were %d once", len(cases), fewestCases)
	}
	seen := coverage{}
	for _, c := range cases {
		t.Run(c.ID, func(t *testing.T) {
			verdict, err := judge(t, c)
			if c.Error != "" {
				if err == nil || !strings.Contains(err.Error(), c.Error) {
					t.Fatalf("%s: the error is %v, want one with %q", c.Title, err, c.Error)
				}
				return
			}
			if err != nil {
				t.Fatalf("%s: %v", c.Title, err)
			}
			compare(t, c, verdict)
			for _, r := range verdict.Results {
				seen.add(r.Report)
			}
		})
	}
	if !t.Failed() {
		seen.check(t)
	}
}

func compare(t *testing.T, c *kittest.Case, verdict *Verdict) {
	t.Helper()
	if len(verdict.Results) != len(c.Want) {
		t.Fatalf("%s: %d groups of platforms, want %d: %+v", c.Title, len(verdict.Results), len(c.Want), verdict.Results)
	}
	conforms := true
	for i, want := range c.Want {
		got := verdict.Results[i]
		if want.Platforms != nil && !slices.Equal(got.Platforms, want.Platforms) {
			t.Errorf("%s: platforms %v, want %v", c.Title, got.Platforms, want.Platforms)
		}
		for severity, names := range map[Severity][]string{Fail: want.Fail, Warn: want.Warn, Skip: want.Skip} {
			var found []string
			for _, f := range got.Report.with(severity) {
				found = append(found, f.Name)
			}
			if !sameNames(found, names) {
				t.Errorf("%s: %v: %q, want %q; findings: %+v", c.Title, severity, found, names, got.Report.Findings)
			}
		}
		s := got.Report.Summary()
		if s.Checks != want.Checks || s.Failed+s.Warned+s.Skipped+s.Passed != s.Checks {
			t.Errorf("%s: %+v, want %d checks", c.Title, s, want.Checks)
		}
		conforms = conforms && len(want.Fail) == 0
	}
	if verdict.Conforms() != conforms {
		t.Errorf("%s: conforms is %v", c.Title, verdict.Conforms())
	}
}

func sameNames(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}

// judge writes the case's artifact and judges it the way a user would.
func judge(t *testing.T, c *kittest.Case) (*Verdict, error) {
	t.Helper()
	host := ""
	if c.Registry() {
		server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
		t.Cleanup(server.Close)
		host = strings.TrimPrefix(server.URL, "http://")
	}
	place, err := c.Write(t.TempDir(), host)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	var image *ociimage.Image
	if place.Ref != "" {
		image, err = ociimage.OpenRegistry(ctx, place.Ref, ociimage.Options{})
	} else {
		image, err = ociimage.OpenLayout(ctx, place.Dir, place.Selector)
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		if err := image.Close(); err != nil {
			t.Error(err)
		}
	}()
	if c.Source() == "" {
		verdict, err := Validate(ctx, image)
		if err == nil {
			checkDigests(t, image, verdict)
		}
		return verdict, err
	}
	artifacts, err := image.Artifacts(ctx)
	if err != nil {
		return nil, err
	}
	var source Source = building{NewArtifactSource(image, artifacts[0])}
	if c.Source() == kittest.UnreadableOverlay {
		source = noOverlay{NewArtifactSource(image, artifacts[0])}
	}
	report, err := Run(ctx, source)
	if err != nil {
		return nil, err
	}
	return &Verdict{Results: []Result{{Report: report}}}, nil
}

// checkDigests demands that a verdict says of which bytes it is.
func checkDigests(t *testing.T, image *ociimage.Image, verdict *Verdict) {
	t.Helper()
	artifacts, err := image.Artifacts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for _, a := range artifacts {
		want = append(want, a.Platform+" "+a.Descriptor.Digest.String())
	}
	for _, r := range verdict.Results {
		for platform, digest := range r.Digests {
			got = append(got, platform+" "+digest)
		}
	}
	if verdict.Digest != image.Target.Digest.String() || !sameNames(got, want) {
		t.Errorf("the verdict is on %s with %q, want %s with %q", verdict.Digest, got, image.Target.Digest, want)
	}
}

// building shows an artifact as a build does that has not assembled it yet.
type building struct{ Source }

func (building) Layers(context.Context) (int, error)               { return 0, ErrUnobservable }
func (building) Overlay(context.Context) (*layerfs.Overlay, error) { return nil, ErrUnobservable }
func (building) Stat(context.Context, string) (layerfs.Info, error) {
	return layerfs.Info{}, ErrUnobservable
}
func (building) Index() (annotations map[string]string, present bool) { return nil, false }

// noOverlay fails to lay the layers out, which no artifact does whose layers can be listed.
type noOverlay struct{ Source }

func (noOverlay) Overlay(context.Context) (*layerfs.Overlay, error) {
	return nil, errors.New("entries are out of order")
}

// coverage counts, for each check, the kits on which it came to each verdict.
type coverage map[string]map[Severity]int

func (c coverage) add(r *Report) {
	for _, check := range r.Roster {
		verdict, _ := r.Verdict(check.Name)
		if c[check.Name] == nil {
			c[check.Name] = map[Severity]int{}
		}
		c[check.Name][verdict]++
	}
}

// verdicts says what each check can come to besides passing and failing.
var verdicts = map[string][]Severity{
	"descriptor-annotation":   {Fail},
	"at-least-one-layer":      {Passed, Fail, Skip},
	"staged-recipe":           {Passed, Fail, Skip},
	"agent-context-staged":    {Passed, Fail, Skip},
	"overlay-home-ownership":  {Passed, Fail, Skip},
	"overlay-links-resolve":   {Passed, Fail, Warn, Skip},
	"sbx-platform-floor":      {Passed, Fail, Warn},
	"sbx-persistent-env":      {Passed, Fail, Warn},
	"derived-provides":        {Passed, Fail, Warn, Skip},
	"merged-set-declarations": {Passed, Fail, Skip},
	"index-annotations":       {Passed, Fail, Warn},
}

// check asks that every check came to each of its verdicts, and to no other, and prints the counts.
func (c coverage) check(t *testing.T) {
	names := []string{descriptorAnnotation.Name}
	for _, entry := range roster() {
		names = append(names, entry.Name)
	}
	for name := range verdicts {
		if !slices.Contains(names, name) {
			t.Errorf("%s is no check", name)
		}
	}
	kits := 0
	for _, name := range names {
		can, ok := verdicts[name]
		if !ok {
			can = []Severity{Passed, Fail}
		}
		for _, s := range []Severity{Passed, Skip, Warn, Fail} {
			switch n := c[name][s]; {
			case slices.Contains(can, s) && n == 0:
				t.Errorf("no kit brings %s to %v", name, s)
			case !slices.Contains(can, s) && n > 0:
				t.Errorf("%s came to %v, which it should not", name, s)
			}
		}
		n := c[name]
		t.Logf("%-26s %3d passed %3d failed %3d warned %3d skipped", name, n[Passed], n[Fail], n[Warn], n[Skip])
		kits = max(kits, n[Passed]+n[Fail]+n[Warn]+n[Skip])
	}
	t.Logf("%d checks on %d artifacts", len(names), kits)
}
