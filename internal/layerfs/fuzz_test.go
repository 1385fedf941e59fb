package layerfs

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// FuzzStack asks everything of two layers of arbitrary bytes. Whatever they hold, the answers come within the limits, come the same twice
// and do not contradict each other.
func FuzzStack(f *testing.F) {
	for i, c := range allCases(f) {
		var two [2][]byte
		for j, l := range c.layers {
			if data := archive(f, l); j < 2 && len(data) < 64<<10 {
				two[j] = pack(f, []string{"plain", "plain", "gzip", "zstd"}[i%4], data)
			}
		}
		f.Add(two[0], two[1])
	}
	small := limits{layers: 2, entries: 1000, nodes: 5000,
		nameBytes: 1 << 20, unpackedBytes: 4 << 20, keptBytes: 1 << 20, steps: 100_000}
	f.Fuzz(func(t *testing.T, lower, upper []byte) {
		ctx := context.Background()
		s := NewStack([]Blob{&memBlob{digest: "1", data: lower}, &memBlob{digest: "2", data: upper}})
		s.limits, s.left = small, small
		s.Keep(func(p string) bool { return len(p)%2 == 0 })
		v, err := s.open(ctx)
		if err != nil {
			if _, err2 := s.Overlay(ctx); err2 == nil || err2.Error() != err.Error() {
				t.Fatalf("first %v, then %v", err, err2)
			}
			return
		}
		paths := []string{"/", "/usr/share/sandbox/kit", "/home/agent"}
		for _, inv := range v {
			for i := range min(len(inv.entries), 30) {
				paths = append(paths, "/"+inv.entries[i].key)
			}
		}
		for _, p := range paths {
			checkPath(t, s, p)
		}
		o, err := s.Overlay(ctx)
		if err != nil {
			var le *LimitError
			if !errors.As(err, &le) {
				t.Fatal(err)
			}
			return
		}
		var last string
		for _, l := range o.UnresolvedLinks() {
			if l.Path <= last {
				t.Fatalf("%q after %q", l.Path, last)
			}
			last = l.Path
			if got := o.describe(l.Path); got != "link "+l.Target {
				t.Fatalf("%q is %s", l.Path, got)
			}
		}
	})
}

// checkPath asks everything about one path.
func checkPath(t *testing.T, s *Stack, p string) {
	ctx := context.Background()
	info, err := s.Stat(ctx, p)
	ok, err2 := s.Exists(ctx, p)
	if ok != (err == nil) || err2 != nil && err == nil {
		t.Fatalf("%q: Stat %v, Exists %v, %v", p, err, ok, err2)
	}
	var le *LimitError
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, ErrTooManyLinks) && !errors.As(err, &le) {
		t.Fatalf("%q: %v", p, err)
	}
	b, err := s.ReadFile(ctx, p, 1<<16)
	if err == nil && (!ok || int64(len(b)) != info.Size) {
		t.Fatalf("%q: %d bytes, Stat says %+v, %v", p, len(b), info, ok)
	}
	stems, err := s.Stems(ctx, p, "kit.yaml")
	if !slices.IsSorted(stems) {
		t.Fatalf("%q: %q", p, stems)
	}
	for _, stem := range stems {
		if strings.Contains(stem, "/") {
			t.Fatalf("%q: stem %q", p, stem)
		}
		if ok, err := s.Exists(ctx, p+"/"+stem+"/kit.yaml"); !ok {
			t.Fatalf("%q: stem %q is not live: %v", p, stem, err)
		}
	}
	again, err2 := s.Stems(ctx, p, "kit.yaml")
	if !slices.Equal(stems, again) || (err == nil) != (err2 == nil) {
		t.Fatalf("%q: first %q, %v, then %q, %v", p, stems, err, again, err2)
	}
}
