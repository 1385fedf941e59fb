package descriptor_test

import (
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/descriptor"
)

func TestCompareVersions(t *testing.T) {
	cases := []struct {
		a, b string
		want int
	}{
		{"1", "1", 0}, {"1.0", "1.0.0", -1}, {"2.4.0-rc3", "2.4.0", 1}, {"1.A", "1.a", -1},
		{"1.10", "1.9", 1}, {"1.9", "1.1a", 1}, {"1.1a", "1.10", 1}, // not transitive
		{"2.01", "2.1", 0}, {"00", "0", 0}, {"1.-", "1", 1}, {"1.-", "1.0", -1},
		{"99999999999999999999999", "100000000000000000000000", -1}, {" 1 ", "1", 0},
	}
	for _, c := range cases {
		if got := descriptor.CompareVersions(c.a, c.b); got != c.want {
			t.Errorf("CompareVersions(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
		if got := descriptor.CompareVersions(c.b, c.a); got != -c.want {
			t.Errorf("CompareVersions(%q, %q) = %d, want %d", c.b, c.a, got, -c.want)
		}
	}
}

func TestValidVersion(t *testing.T) {
	for s, want := range map[string]bool{"1": true, "0.7.21": true, "1.0-rc.1": true, " 1 ": true, "1.-": true,
		"": false, "v1": false, "1.": false, "1..2": false, "a.1": false, "1+2": false, "1_2": false, ".1": false, "1a": false, "-1": false} {
		if got := descriptor.ValidVersion(s); got != want {
			t.Errorf("ValidVersion(%q) = %t", s, got)
		}
	}
}

func TestVersionOfTag(t *testing.T) {
	for tag, want := range map[string]string{"v1.2": "1.2", "1.2": "1.2", "latest": "", "vv1": "", "v": "", "": "", " 1": "", "1.2-alpine": "1.2-alpine"} {
		if got, ok := descriptor.VersionOfTag(tag); got != want || ok != (want != "") {
			t.Errorf("VersionOfTag(%q) = %q, %t", tag, got, ok)
		}
	}
}

func TestRelations(t *testing.T) {
	cases := []struct{ relation, canonical string }{
		{"python", "com.docker.kit/python"},
		{" io.acme/x ", "io.acme/x"},
		{"python >= 3.12 , < 4", "com.docker.kit/python <4,>=3.12"},
		{"python<4,>=3.12", "com.docker.kit/python <4,>=3.12"},
		{"python >= 3, >= 3.12, < 5, <= 4", "com.docker.kit/python <=4,>=3.12"},
		{"python < 4, <= 4", "com.docker.kit/python <4"},
		{"python = 2.01, >= 1", "com.docker.kit/python =2.1"},
		{"python > 3", "com.docker.kit/python >=3.-"},
		{"python < 3.-", "com.docker.kit/python <=3"},
		{"python >= 3, <= 03", "com.docker.kit/python =3"},
		{"python >= 3, < 3.-", "com.docker.kit/python =3"},
		{"python <= 0", "com.docker.kit/python <=0"},
		{"python >= 0", "com.docker.kit/python >=0"},
	}
	for _, c := range cases {
		r, err := descriptor.ParseRelation(c.relation)
		if err != nil {
			t.Errorf("%q: %v", c.relation, err)
			continue
		}
		if r.String() != c.canonical {
			t.Errorf("%q is %q, want %q", c.relation, r, c.canonical)
		}
		again, err := descriptor.ParseRelation(r.String())
		if err != nil || again.String() != r.String() {
			t.Errorf("%q does not stay itself: %q, %v", r, again, err)
		}
	}
}

func TestSatisfiedBy(t *testing.T) {
	cases := []struct {
		relation, name, version string
		want                    bool
	}{
		{"go = 1.22.0", "go", "1.22", false},
		{"go > 1.23.0", "go", "1.23.0-rc1", true},
		{"go", "com.docker.kit/go", "", true},
		{"go >= 1", "go", "", false},
		{"go >= 1", "rust", "2", false},
		{"go >= 1, < 2", "go", "1.99", true},
		{"go >= 1, < 2", "go", "2", false},
		{"go >= 1", "go", "latest", false},
		{"io.acme/go >= 1", "io.acme/go", "1", true},
		{"io.acme/go >= 1", "go", "1", false},
	}
	for _, c := range cases {
		r, err := descriptor.ParseRelation(c.relation)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.SatisfiedBy(c.name, c.version); got != c.want {
			t.Errorf("%q satisfied by %s %q: %t", c.relation, c.name, c.version, got)
		}
	}
}

func TestParseProvide(t *testing.T) {
	p, err := descriptor.ParseProvide(" jq@ 1.7 ")
	if err != nil || p != (descriptor.Provide{Name: "com.docker.kit/jq", Version: "1.7"}) || p.Namespace() != "com.docker.kit" {
		t.Errorf("got %+v, %v", p, err)
	}
	if p, err = descriptor.ParseProvide("deb/zlib1g@1"); err != nil || p.Namespace() != "deb" {
		t.Errorf("got %+v, %v", p, err)
	}
	if _, err = descriptor.ParseProvide("jq@v1"); err == nil || !strings.Contains(err.Error(), `"jq@v1" has the version "v1"`) {
		t.Errorf("got %v", err)
	}
}
