package layerfs

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// The cases lie in testdata/cases/*.txt, one line a statement, blank lines and lines that start with # left out:
//
//	== NAME             begins a case
//	== template NAME    begins layers that cases take over with: use NAME
//	layer               begins a layer, bottom first; "layer 2" adds to the second one
//	dir P [U:G] [MODE]      link P -> TARGET    char00 P    global P
//	file P [U:G] [MODE] [= TEXT]    hard P => TARGET    char P    fifo P
//	zeros P SIZE        a file of so many zero bytes, K and M for KiB and MiB
//	chain P N -> TARGET N links P1 -> P2 -> ... PN -> TARGET
//	expect              begins what must be seen:
//	  composed reader   exists P, absent P, links P (too many), toolarge P, read P = TEXT,
//	                    stat P = U:G MODE TYPE, stems ROOT FILE = NAMES, badstems ROOT FILE (too many links)
//	  extraction        owner P = U:G MODE, owner P none, dangling = PATHS,
//	                    shows P = dir | opaque | file | link TARGET | whiteout | nothing
//
// {x*5} stands for xxxxx anywhere, '' for an empty word.

// member is one entry of a layer in a case.
type member struct {
	header tar.Header
	body   []byte
}

// testCase is one case.
type testCase struct {
	name   string
	layers [][]member
	expect []expectation
}

type expectation struct {
	at   string // file:line
	verb string
	args []string
}

var repetition = regexp.MustCompile(`\{([^{}*]*)\*(\d+)\}`)

// words splits a line.
func words(line string) []string {
	line = repetition.ReplaceAllStringFunc(line, func(s string) string {
		m := repetition.FindStringSubmatch(s)
		n, _ := strconv.Atoi(m[2])
		return strings.Repeat(m[1], n)
	})
	fields := strings.Fields(line)
	for i, f := range fields {
		if f == "''" {
			fields[i] = ""
		}
	}
	return fields
}

// parseCases reads one file of cases.
func parseCases(name string, data []byte) ([]testCase, error) {
	var cases []testCase
	templates := make(map[string][][]member)
	seen := make(map[string]bool)
	var c *testCase
	var current *[]member
	expecting := false
	for i, line := range strings.Split(string(data), "\n") {
		at := fmt.Sprintf("%s:%d", filepath.Base(name), i+1)
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if title, ok := strings.CutPrefix(line, "== "); ok {
			if seen[title] {
				return nil, fmt.Errorf("%s: case %q twice", at, title)
			}
			seen[title] = true
			cases = append(cases, testCase{name: title})
			c, current, expecting = &cases[len(cases)-1], nil, false
			continue
		}
		if c == nil {
			return nil, fmt.Errorf("%s: statement before the first case", at)
		}
		w := words(line)
		switch {
		case w[0] == "use" && len(w) == 2:
			layers, ok := templates[w[1]]
			if !ok {
				return nil, fmt.Errorf("%s: no template %s", at, w[1])
			}
			for _, l := range layers {
				c.layers = append(c.layers, append([]member(nil), l...))
			}
		case w[0] == "layer" && len(w) == 1:
			c.layers = append(c.layers, nil)
			current = &c.layers[len(c.layers)-1]
		case w[0] == "layer":
			n, err := strconv.Atoi(w[1])
			if err != nil || n < 1 || n > len(c.layers) {
				return nil, fmt.Errorf("%s: no layer %s", at, w[1])
			}
			current = &c.layers[n-1]
		case w[0] == "expect":
			expecting = true
		case expecting:
			c.expect = append(c.expect, expectation{at, w[0], w[1:]})
		case current == nil:
			return nil, fmt.Errorf("%s: entry outside of a layer", at)
		default:
			m, err := parseMembers(w)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", at, err)
			}
			*current = append(*current, m...)
		}
		if t, ok := strings.CutPrefix(c.name, "template "); ok {
			templates[t] = c.layers
		}
	}
	var out []testCase
	for _, c := range cases {
		if strings.HasPrefix(c.name, "template ") {
			continue
		}
		if len(c.expect) == 0 {
			return nil, fmt.Errorf("%s: case %q expects nothing", name, c.name)
		}
		out = append(out, c)
	}
	return out, nil
}

// parseMembers reads the line of one entry, or of a chain of them.
func parseMembers(w []string) ([]member, error) {
	verb, w := w[0], w[1:]
	if len(w) == 0 {
		return nil, errors.New("entry without a name")
	}
	h := tar.Header{Name: w[0], Mode: 0o644}
	w = w[1:]
	target := func(arrow string) error {
		if len(w) != 2 || w[0] != arrow {
			return fmt.Errorf("%s wants NAME %s TARGET", verb, arrow)
		}
		h.Linkname = w[1]
		return nil
	}
	var body []byte
	switch verb {
	case "link":
		h.Typeflag, h.Mode = tar.TypeSymlink, 0o777
		return []member{{h, nil}}, target("->")
	case "hard":
		h.Typeflag = tar.TypeLink
		return []member{{h, nil}}, target("=>")
	case "chain":
		n, err := strconv.Atoi(w[0])
		if err != nil || len(w) != 3 || w[1] != "->" {
			return nil, errors.New("chain wants NAME N -> TARGET")
		}
		var ms []member
		for i := 1; i <= n; i++ {
			l := tar.Header{Name: h.Name + strconv.Itoa(i), Typeflag: tar.TypeSymlink, Linkname: "/" + h.Name + strconv.Itoa(i+1)}
			if i == n {
				l.Linkname = w[2]
			}
			ms = append(ms, member{l, nil})
		}
		return ms, nil
	case "char00":
		h.Typeflag = tar.TypeChar
	case "char":
		h.Typeflag, h.Devmajor, h.Devminor = tar.TypeChar, 1, 3
	case "fifo":
		h.Typeflag = tar.TypeFifo
	case "global":
		h.Typeflag, h.PAXRecords = tar.TypeXGlobalHeader, map[string]string{"comment": "c"}
	case "zeros":
		n, err := parseSize(strings.Join(w, " "))
		if err != nil {
			return nil, err
		}
		body, w = make([]byte, n), nil
		h.Typeflag = tar.TypeReg
	case "dir":
		h.Typeflag, h.Mode = tar.TypeDir, 0o755
		h.Name = strings.TrimSuffix(h.Name, "/") + "/"
	case "file":
		h.Typeflag = tar.TypeReg
	default:
		return nil, fmt.Errorf("unknown entry %q", verb)
	}
	for len(w) > 0 {
		uid, gid, isOwner := strings.Cut(w[0], ":")
		switch {
		case w[0] == "=":
			body, w = []byte(strings.Join(w[1:], " ")), nil
			continue
		case isOwner:
			var err1, err2 error
			h.Uid, err1 = strconv.Atoi(uid)
			h.Gid, err2 = strconv.Atoi(gid)
			if err := errors.Join(err1, err2); err != nil {
				return nil, err
			}
		default:
			mode, err := strconv.ParseInt(w[0], 8, 64)
			if err != nil {
				return nil, err
			}
			h.Mode = mode
		}
		w = w[1:]
	}
	return []member{{h, body}}, nil
}

func parseSize(s string) (int64, error) {
	unit := int64(1)
	if n, ok := strings.CutSuffix(s, "M"); ok {
		s, unit = n, 1<<20
	} else if n, ok := strings.CutSuffix(s, "K"); ok {
		s, unit = n, 1<<10
	}
	n, err := strconv.ParseInt(s, 10, 64)
	return n * unit, err
}

// archive writes members as a tar.
func archive(t testing.TB, ms []member) []byte {
	t.Helper()
	var buf bytes.Buffer
	w := tar.NewWriter(&buf)
	for _, m := range ms {
		h := m.header
		h.Size = int64(len(m.body))
		if h.Typeflag == tar.TypeXGlobalHeader {
			h = tar.Header{Name: h.Name, Typeflag: h.Typeflag, PAXRecords: h.PAXRecords}
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatalf("write %q: %v", h.Name, err)
		}
		if _, err := w.Write(m.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// memBlob is a layer in memory that counts how often it is opened.
type memBlob struct {
	digest string
	data   []byte
	opened int
	ends   int   // how often it was read to its end
	fail   error // in place of the end
}

func (b *memBlob) Digest() string { return b.digest }

func (b *memBlob) Open(context.Context) (io.ReadCloser, error) {
	b.opened++
	r := bytes.NewReader(b.data)
	return io.NopCloser(readerFunc(func(p []byte) (int, error) {
		n, err := r.Read(p)
		if err == io.EOF {
			b.ends++
			if b.fail != nil {
				err = b.fail
			}
		}
		return n, err
	})), nil
}

func pack(t testing.TB, how string, data []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	var w io.WriteCloser
	switch how {
	case "plain":
		return data
	case "gzip":
		w = gzip.NewWriter(&buf)
	case "zstd":
		var err error
		if w, err = zstd.NewWriter(&buf); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// stackOf makes a stack of the layers of a case.
func stackOf(t testing.TB, layers [][]member, how string) *Stack {
	t.Helper()
	var blobs []Blob
	for i, l := range layers {
		blobs = append(blobs, &memBlob{digest: fmt.Sprint("layer ", i), data: pack(t, how, archive(t, l))})
	}
	return NewStack(blobs)
}

// allCases reads every case of testdata.
func allCases(t testing.TB) []testCase {
	t.Helper()
	files, err := filepath.Glob("testdata/cases/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	var all []testCase
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		cases, err := parseCases(f, data)
		if err != nil {
			t.Fatal(err)
		}
		if len(cases) == 0 {
			t.Fatalf("%s holds no case", f)
		}
		prefix := strings.TrimSuffix(filepath.Base(f), ".txt")
		for _, c := range cases {
			c.name = prefix + "/" + c.name
			all = append(all, c)
		}
	}
	return all
}

func TestCases(t *testing.T) {
	for i, c := range allCases(t) {
		t.Run(c.name, func(t *testing.T) {
			// The packing turns: every case in one of them, every feature in each.
			s := stackOf(t, c.layers, []string{"plain", "gzip", "zstd"}[i%3])
			for _, e := range c.expect {
				got, want, err := observe(s, e)
				if err != nil {
					t.Errorf("%s: %v", e.at, err)
				} else if got != want {
					t.Errorf("%s: %s %s\n got %s", e.at, e.verb, abbreviate(strings.Join(e.args, " ")), abbreviate(got))
				}
			}
		})
	}
}

func abbreviate(s string) string {
	if len(s) > 300 {
		return s[:300] + "..."
	}
	return s
}

// contentBound is the bound that the conformance checks give to ReadFile.
const contentBound = 16 << 20

// observe asks a stack what an expectation is about.
func observe(s *Stack, e expectation) (got, want string, err error) {
	ctx := context.Background()
	before, after := e.args, []string(nil)
	for i, a := range e.args {
		if a == "=" {
			before, after = e.args[:i], e.args[i+1:]
			break
		}
	}
	if len(before) == 0 && e.verb != "dangling" {
		return "", "", fmt.Errorf("%s without a path", e.verb)
	}
	want = strings.Join(after, " ")
	switch e.verb {
	case "exists", "absent", "links":
		ok, err := s.Exists(ctx, before[0])
		switch {
		case errors.Is(err, ErrTooManyLinks):
			return "links", e.verb, nil
		case err != nil:
			return "", "", err
		case ok:
			return "exists", e.verb, nil
		}
		return "absent", e.verb, nil
	case "read":
		b, err := s.ReadFile(ctx, before[0], contentBound)
		return string(b), want, err
	case "toolarge":
		if _, err := s.ReadFile(ctx, before[0], contentBound); !errors.Is(err, ErrTooLarge) {
			return fmt.Sprint("error ", err), "too large", nil
		}
		return "", "", nil
	case "stat":
		i, err := s.Stat(ctx, before[0])
		kind := "special"
		if i.Regular {
			kind = "regular"
		}
		return fmt.Sprintf("%d:%d %04o %s", i.UID, i.GID, i.Mode.Perm(), kind), want, err
	case "stems":
		stems, err := s.Stems(ctx, before[0], before[1])
		return strings.Join(stems, " "), want, err
	case "badstems":
		_, err := s.Stems(ctx, before[0], before[1])
		return fmt.Sprint(errors.Is(err, ErrTooManyLinks)), "true", nil
	}
	o, err := s.Overlay(ctx)
	if err != nil {
		return "", "", err
	}
	switch e.verb {
	case "owner":
		owner, ok := o.Directory(before[0])
		if !ok {
			return "none", strings.Join(append(before[1:], after...), " "), nil
		}
		return fmt.Sprintf("%d:%d %04o", owner.UID, owner.GID, owner.Mode), want, nil
	case "dangling":
		var paths []string
		for _, l := range o.UnresolvedLinks() {
			paths = append(paths, l.Path)
		}
		return strings.Join(paths, " "), want, nil
	case "shows":
		return o.describe(before[0]), want, nil
	}
	return "", "", fmt.Errorf("unknown expectation %q", e.verb)
}

// describe tells what the model has at a path, in the words of the cases.
func (o *Overlay) describe(p string) string {
	n := o.root
	for _, name := range strings.Split(strings.Trim(p, "/"), "/") {
		if name == "" {
			continue
		}
		if n = n.children[name]; n == nil {
			return "nothing"
		}
	}
	switch n.kind {
	case nodeDir:
		if n.opaque {
			return "opaque"
		}
		return "dir"
	case nodeLink:
		return "link " + n.target
	case nodeWhiteout:
		return "whiteout"
	}
	return "file"
}
