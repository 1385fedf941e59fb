package tck

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/internal/layerfs"
)

// memory is a file system of whole files, for tests.
type memory map[string]string

func (m memory) Exists(_ context.Context, path string) (bool, error) {
	_, ok := m[path]
	return ok, nil
}

func (m memory) Stat(context.Context, string) (layerfs.Info, error) {
	return layerfs.Info{}, ErrUnobservable
}

func (m memory) ReadFile(_ context.Context, path string, limit int64) ([]byte, error) {
	text, ok := m[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	if int64(len(text)) > limit {
		return nil, layerfs.ErrTooLarge
	}
	return []byte(text), nil
}

func (m memory) Stems(context.Context, string, string) ([]string, error) { return nil, nil }

// users are the cases of testdata/users.txt.
type users struct {
	files memory
	cases [][2]string // user, who
}

func readUsers(t testing.TB) users {
	t.Helper()
	data, err := os.ReadFile("testdata/users.txt")
	if err != nil {
		t.Fatal(err)
	}
	u := users{files: memory{}}
	file := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "  "):
			u.files[file] += strings.ReplaceAll(line[2:], `\r`, "\r") + "\n"
		case line == "passwd" || line == "group":
			file = "/etc/" + line
		default:
			quoted, who, ok := strings.Cut(line, " -> ")
			user, err := strconv.Unquote(quoted)
			if !ok || err != nil {
				t.Fatalf("users.txt: bad line %q", line)
			}
			u.cases = append(u.cases, [2]string{user, who})
		}
	}
	if len(u.cases) == 0 {
		t.Fatal("users.txt has no cases")
	}
	return u
}

func TestResolveUser(t *testing.T) {
	u := readUsers(t)
	for _, c := range u.cases {
		who, err := resolveUser(t.Context(), u.files, c[0])
		got := "nobody"
		if err == nil {
			got = fmt.Sprintf("%d:%d", who.uid, who.gid)
		} else if _, ok := err.(unresolvedError); !ok {
			t.Errorf("%q: %v, want an unresolvedError", c[0], err)
		}
		if got != c[1] {
			t.Errorf("%q is %s, want %s", c[0], got, c[1])
		}
	}
}

// An account file without a final line end is read to its end.
func TestResolveUserLastLine(t *testing.T) {
	who, err := resolveUser(t.Context(), memory{"/etc/passwd": "a:x:5:6::/:"}, "a")
	if err != nil || *who != (identity{5, 6}) {
		t.Errorf("got %v, %v; want 5:6", who, err)
	}
}

func TestMayExecute(t *testing.T) {
	for _, test := range []struct {
		who  identity
		info layerfs.Info
		want bool
	}{
		{identity{0, 0}, layerfs.Info{Mode: 0o001, UID: 5, GID: 5}, true},
		{identity{0, 0}, layerfs.Info{Mode: 0o666}, false},
		{identity{1000, 1000}, layerfs.Info{Mode: 0o100, UID: 1000}, true},
		{identity{1000, 1000}, layerfs.Info{Mode: 0o011, UID: 1000, GID: 1000}, false}, // the owner's bits alone count
		{identity{1000, 50}, layerfs.Info{Mode: 0o010, GID: 50}, true},
		{identity{1000, 50}, layerfs.Info{Mode: 0o101, GID: 50}, false}, // the group's bits alone count
		{identity{1000, 1000}, layerfs.Info{Mode: 0o001}, true},
		{identity{1000, 1000}, layerfs.Info{Mode: 0o110}, false},
	} {
		if got := test.who.mayExecute(test.info); got != test.want {
			t.Errorf("%v on %04o %d:%d: %v, want %v", test.who, test.info.Mode, test.info.UID, test.info.GID, got, test.want)
		}
	}
}

// FuzzAccounts asks that whatever is found was really written there, usable and absolute.
func FuzzAccounts(f *testing.F) {
	u := readUsers(f)
	for _, c := range u.cases {
		f.Add(u.files["/etc/passwd"], u.files["/etc/group"], c[0])
	}
	f.Fuzz(func(t *testing.T, passwd, group, user string) {
		who, err := resolveUser(t.Context(), memory{"/etc/passwd": passwd, "/etc/group": group}, user)
		if err != nil {
			if _, ok := err.(unresolvedError); !ok {
				t.Fatalf("unexpected kind of error: %v", err)
			}
			return
		}
		if who.uid < 0 || who.uid > maxID || who.gid < 0 || who.gid > maxID {
			t.Fatalf("%q resolves to unusable ids %v", user, *who)
		}
		if !strings.Contains(passwd, ":") {
			t.Fatalf("%q resolves without any record", user)
		}
	})
}
