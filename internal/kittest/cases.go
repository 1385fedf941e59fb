package kittest

import (
	"bufio"
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

//go:embed bases/*.txt cases/*.txt
var files embed.FS

// Ways of showing an artifact that only a test's own source can make.
const (
	Building          = "building"           // neither layers nor overlay can be seen yet
	UnreadableOverlay = "unreadable-overlay" // laying the layers out fails
)

// Source says how the artifact is shown; empty: as what it is.
func (c *Case) Source() string { return c.source }

// Case is one artifact and the verdict that it must get.
type Case struct {
	ID    string // unique
	Title string
	File  string // where it is written

	base     string   // "M0"
	shape    string   // "bare" or "index"
	registry bool     // kept in a registry, not in a layout
	digest   bool     // asked for by digest, not by tag
	source   string   // Building, UnreadableOverlay, or empty
	lines    []string // mutations

	Want []Want // one for each group of platforms, in order
	// Error is a part of the operational error's text, empty when there is a verdict.
	Error string
}

// Want is the verdict on a group of platforms: what is named by none of the lists passed.
type Want struct {
	Platforms        []string // nil: not compared
	Checks           int      // how many checks ran
	Fail, Warn, Skip []string // names of checks, a name once for each finding
}

// kitChecks is how many checks judge a kit that declares no skill.
const kitChecks = 18

// Exit is the status with which the command must end.
func (c *Case) Exit() int {
	if c.Error != "" {
		return 3
	}
	for _, w := range c.Want {
		if len(w.Fail) > 0 {
			return 1
		}
	}
	return 0
}

// Cases reads all cases, in the order of their files.
func Cases() ([]*Case, error) {
	names, err := fs.Glob(files, "cases/*.txt")
	if err != nil {
		return nil, err
	}
	var all []*Case
	seen := map[string]string{}
	for _, name := range names {
		data, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		cases, err := parseCases(name, data)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			if other, ok := seen[c.ID]; ok {
				return nil, fmt.Errorf("case %s is in %s and in %s", c.ID, other, name)
			}
			seen[c.ID] = name
		}
		all = append(all, cases...)
	}
	return all, nil
}

func parseCases(name string, data []byte) ([]*Case, error) {
	var all []*Case
	lines := bufio.NewScanner(bytes.NewReader(data))
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimRight(lines.Text(), " ")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if rest, ok := strings.CutPrefix(line, "case "); ok {
			id, title, _ := strings.Cut(rest, " ")
			all = append(all, &Case{ID: id, Title: title, File: path.Base(name), shape: "index", Want: []Want{{Checks: kitChecks}}})
			continue
		}
		if len(all) == 0 {
			return nil, fmt.Errorf("%s:%d: a case line comes first", name, number)
		}
		if err := all[len(all)-1].line(line); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
	}
	return all, lines.Err()
}

// line takes one line of a case: where it starts from, what is expected, or a mutation.
func (c *Case) line(line string) error {
	verb, rest, _ := strings.Cut(line, " ")
	want := &c.Want[len(c.Want)-1]
	words := strings.Fields(rest)
	switch verb {
	case "from":
		c.base = words[0]
		for _, word := range words[1:] {
			switch word {
			case "bare", "index":
				c.shape = word
			case "registry":
				c.registry = true
			case "by-digest":
				c.digest = true
			case Building, UnreadableOverlay:
				c.source = word
			default:
				return fmt.Errorf("unknown word %q", word)
			}
		}
	case "platforms":
		if want.Platforms != nil {
			c.Want = append(c.Want, Want{Checks: kitChecks})
			want = &c.Want[len(c.Want)-1]
		}
		want.Platforms = words
	case "checks":
		n, err := strconv.Atoi(rest)
		want.Checks = n
		return err
	case "fail":
		want.Fail = append(want.Fail, words...)
	case "warn":
		want.Warn = append(want.Warn, words...)
	case "skip":
		want.Skip = append(want.Skip, words...)
	case "error":
		c.Error = rest
	default:
		c.lines = append(c.lines, line)
	}
	return nil
}

// Registry tells whether the case needs one.
func (c *Case) Registry() bool { return c.registry }

// Place says where a case was written.
type Place struct {
	Dir, Selector string // an OCI layout, or
	Ref           string // a reference of a registry
}

// repositories are where the kits of the cases live in a registry, with the tag of each.
var repositories = map[string][2]string{
	"M0": {"kits/lantern", "1.2.0"}, "W0": {"kits/foundry", "2.0.0"}, "S0": {"kits/forge", "1.0.0"},
}

// Write makes the artifact in the registry at host when the case asks for one, else in the empty
// directory dir.
func (c *Case) Write(dir, host string) (Place, error) {
	if !c.registry {
		host = "registry.example" // stated in a set, never asked
	}
	k, err := c.build(host)
	if err != nil {
		return Place{}, fmt.Errorf("case %s: %w", c.ID, err)
	}
	image, err := k.image()
	if err != nil {
		return Place{}, fmt.Errorf("case %s: %w", c.ID, err)
	}
	where := repositories[c.base]
	place := Place{Dir: dir, Selector: where[1]}
	if c.digest {
		place.Selector = image.Target.Digest.String()
	}
	if !c.registry {
		return place, image.WriteLayout(dir, where[1])
	}
	for base, l := range k.listed {
		if err := l.image.Push(host, repositories[base][0], repositories[base][1]); err != nil {
			return Place{}, err
		}
	}
	if err := image.Push(host, where[0], where[1]); err != nil {
		return Place{}, err
	}
	for _, base := range k.forgotten {
		url := "http://" + host + "/v2/" + repositories[base][0] + "/manifests/" + k.listed[base].image.Target.Digest.String()
		if err := send(http.MethodDelete, url, "", nil); err != nil {
			return Place{}, err
		}
	}
	return Place{Ref: host + "/" + where[0] + ":" + where[1]}, nil
}

// build runs the base's lines and the case's own. The kits that a set lists are built first, because
// the set states their digests.
func (c *Case) build(host string) (*kit, error) {
	own, ofListed := []string{}, map[string][]string{}
	for _, line := range c.lines {
		if rest, ok := strings.CutPrefix(line, "listed "); ok {
			base, line, _ := strings.Cut(rest, " ")
			ofListed[base] = append(ofListed[base], line)
			continue
		}
		own = append(own, line)
	}
	k := newKit(c.shape == "bare")
	if c.base == "S0" {
		for _, base := range []string{"W0", "M0"} {
			member := newKit(base == "W0")
			if err := member.runBase(base, ofListed[base]); err != nil {
				return nil, err
			}
			image, err := member.image()
			if err != nil {
				return nil, err
			}
			where := repositories[base]
			k.listed[base] = &listedKit{member, image, host + "/" + where[0] + ":" + where[1]}
		}
	} else if len(ofListed) > 0 {
		return nil, fmt.Errorf("%s lists no kits: %v", c.base, slices.Collect(maps.Keys(ofListed)))
	}
	return k, k.runBase(c.base, own)
}

func newKit(bare bool) *kit {
	return &kit{bare: bare, config: map[string]any{}, manifest: map[string]any{}, listed: map[string]*listedKit{}}
}

func (k *kit) runBase(base string, more []string) error {
	data, err := files.ReadFile("bases/" + base + ".txt")
	if err != nil {
		return err
	}
	var lines []string
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, " \n"); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return k.run(append(lines, more...))
}
