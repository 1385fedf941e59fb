package layerfs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

func TestDefaultLimits(t *testing.T) {
	want := limits{layers: 4096, entries: 2097152, nodes: 2097152,
		nameBytes: 268435456, unpackedBytes: 68719476736, keptBytes: 33554432, steps: 50000000}
	if got := NewStack(nil).limits; got != want {
		t.Errorf("got %+v\nwant %+v", got, want)
	}
	for name, c := range map[string][2]int64{
		"MaxWindowBytes":       {MaxWindowBytes, 134217728},
		"MaxLinkSteps":         {MaxLinkSteps, 8},
		"MaxLookupExpansions":  {MaxLookupExpansions, 40},
		"MaxExtractExpansions": {MaxExtractExpansions, 255},
		"MaxPathBytes":         {MaxPathBytes, 4095},
	} {
		if c[0] != c[1] {
			t.Errorf("%s is %d, documented as %d", name, c[0], c[1])
		}
	}
}

// A stack at a limit answers; one beyond it is a LimitError that names the limit, of every question that it concerns.
func TestLimits(t *testing.T) {
	all := []string{"Exists", "Stat", "ReadFile", "Stems", "Overlay"}
	layers := [][]string{
		{"file a = body", "link l -> a"},
		{"file d/e/f", "hard d/g => d/e/f"},
	}
	size := int64(0)
	for _, l := range layers {
		// Beyond the last entry, archive/tar reads the two blocks that end an archive.
		size += int64(len(archive(t, layerOf(t, l...))))
	}
	for _, c := range []struct {
		what    string
		set     func(l *limits, n int64)
		at      int64
		affects []string
	}{
		{"layers", func(l *limits, n int64) { l.layers = int(n) }, 2, all},
		{"entries", func(l *limits, n int64) { l.entries = int(n) }, 4, all},
		{"bytes of names", func(l *limits, n int64) { l.nameBytes = n }, int64(len("a" + "la" + "d/e/f" + "d/gd/e/f")), all},
		{"unpacked bytes", func(l *limits, n int64) { l.unpackedBytes = n }, size, all},
		{"files and directories", func(l *limits, n int64) { l.nodes = int(n) }, 6, []string{"Overlay"}},
	} {
		for _, over := range []bool{false, true} {
			for _, q := range c.affects {
				var blobs []Blob
				for i, l := range layers {
					blobs = append(blobs, blobOf(t, fmt.Sprint(i), l...))
				}
				s := NewStack(blobs)
				max := c.at
				if over {
					max--
				}
				c.set(&s.limits, max)
				s.left = s.limits
				err := questions[q](t.Context(), s)
				var le *LimitError
				switch {
				case !over && err != nil:
					t.Errorf("%s at the limit: %s: %v", c.what, q, err)
				case over && !errors.As(err, &le):
					t.Errorf("%s beyond the limit: %s: got %v", c.what, q, err)
				case over && (le.What != c.what || le.Max != max):
					t.Errorf("%s beyond the limit: %s: got %v", c.what, q, le)
				}
			}
		}
	}
}

// The steps of a question are counted, and the question ends at the limit.
func TestStepLimit(t *testing.T) {
	b := blobOf(t, "a", "file a/b/c/d/e/f", "link l -> a/b/c", "link a/x -> b")
	for q, ask := range map[string]func(s *Stack) error{
		"Exists":  func(s *Stack) error { return second(s.Exists(t.Context(), "/l/d/e/f")) },
		"Stems":   func(s *Stack) error { return second(s.Stems(t.Context(), "/l/d", "f")) },
		"Overlay": func(s *Stack) error { return second(s.Overlay(t.Context())) },
	} {
		passed := false
		for max := int64(0); max < 200 && !passed; max++ {
			s := NewStack([]Blob{b})
			s.limits.steps = max
			err := ask(s)
			var le *LimitError
			switch {
			case err == nil:
				passed = true
				if max < 3 {
					t.Errorf("%s takes %d steps only", q, max)
				}
			case !errors.As(err, &le) || le.What != "steps" || le.Max != max:
				t.Fatalf("%s: got %v", q, err)
			}
		}
		if !passed {
			t.Errorf("%s does not end within 200 steps", q)
		}
	}
}

func TestKeptBytes(t *testing.T) {
	ctx := t.Context()
	b := blobOf(t, "a", "file a = 1234", "file b = 1234", "file c = 1")
	s := NewStack([]Blob{b})
	s.limits.keptBytes = 5
	s.Keep(func(string) bool { return true })
	for i, c := range []struct {
		path   string
		opened int
	}{{"/a", 1}, {"/c", 1}, {"/b", 2}, {"/b", 3}, {"/a", 3}} {
		if _, err := s.ReadFile(ctx, c.path, 10); err != nil || b.opened != c.opened {
			t.Errorf("%d: %s: %v after %d passes, want %d", i, c.path, err, b.opened, c.opened)
		}
	}
	if s.kept != 5 {
		t.Errorf("%d bytes are kept", s.kept)
	}
}

// zeroTar is a tar with one file of n zero bytes.
func zeroTar(t *testing.T, w io.Writer, n int64) {
	t.Helper()
	tw := tar.NewWriter(w)
	err := tw.WriteHeader(&tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Size: n})
	if err == nil {
		_, err = io.CopyN(tw, readerFunc(func(p []byte) (int, error) { clear(p); return len(p), nil }), n)
	}
	if err == nil {
		err = tw.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A bomb ends in an error as soon as it is over the limit.
func TestBomb(t *testing.T) {
	var plain bytes.Buffer
	zeroTar(t, &plain, 64<<20)
	for _, how := range []string{"gzip", "zstd"} {
		data := pack(t, how, plain.Bytes())
		if len(data) > 128<<10 {
			t.Fatalf("%s: %d bytes are no bomb", how, len(data))
		}
		for _, limit := range []int64{1 << 20, int64(plain.Len())} {
			s := NewStack([]Blob{&memBlob{data: data}})
			s.limits.unpackedBytes = limit
			s.left = s.limits
			_, err := s.Exists(t.Context(), "/zeros")
			var le *LimitError
			if small := limit == 1<<20; small != errors.As(err, &le) || !small && err != nil {
				t.Errorf("%s within %d bytes: got %v", how, limit, err)
			}
		}
	}
}

// The layers of a stack share one limit: many small bombs are one large one.
func TestBombsInManyLayers(t *testing.T) {
	var plain bytes.Buffer
	zeroTar(t, &plain, 1<<20)
	var blobs []Blob
	for i := range 5 {
		blobs = append(blobs, &memBlob{digest: fmt.Sprint(i), data: pack(t, "gzip", plain.Bytes())})
	}
	s := NewStack(blobs)
	s.limits.unpackedBytes = 4 << 20
	s.left = s.limits
	_, err := s.Overlay(t.Context())
	var le *LimitError
	if !errors.As(err, &le) || le.What != "unpacked bytes" {
		t.Errorf("got %v", err)
	}
}

// An endless stream ends with its context.
func TestEndlessStream(t *testing.T) {
	var head bytes.Buffer
	if err := tar.NewWriter(&head).WriteHeader(&tar.Header{Name: "a", Typeflag: tar.TypeReg, Size: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	read := 0
	b := streamBlob(func() io.Reader {
		return io.MultiReader(bytes.NewReader(head.Bytes()), readerFunc(func(p []byte) (int, error) {
			if read += len(p); read > 4<<20 {
				cancel()
			}
			return len(p), nil
		}))
	})
	if _, err := NewStack([]Blob{b}).Exists(ctx, "/a"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

type streamBlob func() io.Reader

func (b streamBlob) Digest() string                              { return "stream" }
func (b streamBlob) Open(context.Context) (io.ReadCloser, error) { return io.NopCloser(b()), nil }

func TestWindow(t *testing.T) {
	// A frame header that asks for a window of 2^28 bytes, then nothing that matters.
	large := []byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, (28 - 10) << 3, 0x01, 0x00, 0x00}
	if _, err := NewStack([]Blob{&memBlob{data: large}}).Exists(t.Context(), "/a"); !errors.Is(err, zstd.ErrWindowSizeExceeded) {
		t.Errorf("got %v", err)
	}
	fits := bytes.Clone(large)
	fits[5] = (27 - 10) << 3
	if _, err := NewStack([]Blob{&memBlob{data: fits}}).Exists(t.Context(), "/a"); err != nil {
		t.Errorf("got %v", err)
	}
}

// archive/tar bounds the records of one header.
func TestRecordsOfAHeader(t *testing.T) {
	for size, ok := range map[int]bool{1000 << 10: true, 1100 << 10: false} {
		var buf bytes.Buffer
		w := tar.NewWriter(&buf)
		// The writer has the same bound, so the record is written as the body of a header of its own.
		name := fmt.Sprintf("path=%s\n", strings.Repeat("n", size))
		length := len(name) + 1
		length += len(fmt.Sprint(length))
		record := fmt.Sprintf("%d %s", length, name)
		if err := w.WriteHeader(&tar.Header{Name: "r", Typeflag: tar.TypeReg, Size: int64(len(record))}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(w, record); err != nil {
			t.Fatal(err)
		}
		if err := w.WriteHeader(&tar.Header{Name: "f", Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data := buf.Bytes()
		retype(data, tar.TypeXHeader)
		found, err := NewStack([]Blob{&memBlob{data: data}}).Exists(t.Context(), "/"+strings.Repeat("n", size))
		if found != ok || (err == nil) != ok {
			t.Errorf("%d bytes: %v, %v", size, found, err)
		}
	}
}

// retype changes the type of the first header of a tar.
func retype(data []byte, to byte) {
	data[156] = to
	sum := 0
	copy(data[148:156], "        ")
	for _, c := range data[:512] {
		sum += int(c)
	}
	copy(data[148:156], fmt.Sprintf("%06o\x00 ", sum))
}

// steps counts the work of making the overlay of one stack of layers.
func steps(t *testing.T, layers ...[]member) int64 {
	t.Helper()
	// Only a net below the counting.
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	s := stackOf(t, layers, "plain")
	v, err := s.open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	work := &extraction{meter: s.meter(), nodes: MaxNodes, max: MaxNodes}
	if _, err := newOverlay(ctx, v, work); err != nil {
		t.Fatal(err)
	}
	return work.meter.steps
}

// Forty links, each of which names the next one often, would take 8^40 steps if links were resolved one in another.
func TestMutuallyReferringLinks(t *testing.T) {
	var ms []member
	for i := range 40 {
		next := fmt.Sprintf("l%d", (i+1)%40)
		target := strings.Repeat(next+"/", 8) + next
		ms = append(ms, layerOf(t, fmt.Sprintf("link l%d -> %s", i, target))...)
	}
	ms = append(ms, layerOf(t, "file l0/f")...)
	if got := steps(t, ms); got > 40*(2*MaxLookupExpansions+10)+2*MaxExtractExpansions {
		t.Errorf("%d steps", got)
	}
	// The composed reader: the same links, up and down again.
	ms = ms[:0]
	for i := range 40 {
		ms = append(ms, layerOf(t, fmt.Sprintf("link d/l%d -> %s..", i, strings.Repeat(fmt.Sprintf("l%d/../", (i+1)%40), 8)))...)
	}
	s := stackOf(t, [][]member{ms}, "plain")
	v, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q := &lookup{view: v, meter: s.meter()}
	if _, _, err := q.file(t.Context(), "/d/l0/l1/l2/l3"); err != nil || q.meter.steps > 100 {
		t.Errorf("%d steps, %v", q.meter.steps, err)
	}
}

// The work grows with the length of the paths, not with its square for each file.
func TestDeepDirectories(t *testing.T) {
	const depth, files = 2000, 100
	var ms []member
	dir := strings.Repeat("d/", depth)
	for i := range files {
		ms = append(ms, layerOf(t, fmt.Sprintf("file %sf%d", dir, i))...)
	}
	if got, most := steps(t, ms), int64(depth*(files+4)+10*files); got > most {
		t.Errorf("one layer: %d steps, want at most %d", got, most)
	}
	// A second layer asks the first one about the metadata of each directory, along one way.
	if got, most := steps(t, ms, ms), int64(2*depth*(files+4)+20*files+2*depth); got > most {
		t.Errorf("two layers: %d steps, want at most %d", got, most)
	}
	s := stackOf(t, [][]member{ms, ms}, "plain")
	v, err := s.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	q := &lookup{view: v, meter: s.meter()}
	if _, place, err := q.file(t.Context(), "/"+dir+"f99"); place < 0 || err != nil || q.meter.steps > 10*depth {
		t.Errorf("%d steps, place %d, %v", q.meter.steps, place, err)
	}
}

func TestLimitErrorText(t *testing.T) {
	if got := (&LimitError{What: "entries", Max: 7}).Error(); got != "more than 7 entries" {
		t.Error(got)
	}
}

// The inventory keeps names, and nothing else of a header: a few bytes of a layer could otherwise hold on to 1 MiB each.
func TestHeadersAreNotKept(t *testing.T) {
	const headers, each = 64, 900 << 10
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	w := tar.NewWriter(z)
	for i := range headers {
		err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeSymlink, Name: fmt.Sprintf("%d-é", i), Linkname: "é", Format: tar.FormatPAX,
			PAXRecords: map[string]string{"SBXKIT.padding": strings.Repeat("x", each)}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	s := NewStack([]Blob{&memBlob{data: packed.Bytes()}})
	before := inUse()
	if found, err := s.Exists(t.Context(), "/absent"); found || err != nil {
		t.Fatal(found, err)
	}
	if after := inUse(); after > before+headers*each/4 {
		t.Errorf("%d bytes are kept of %d small names", after-before, headers)
	}
	runtime.KeepAlive(s)
}
