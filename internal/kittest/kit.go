package kittest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Prefixes that the short spelling of an annotation key stands for: kit.descriptor, image.title.
const (
	kitKeys   = "vnd.docker.sandbox."
	imageKeys = "org.opencontainers."
)

func longKey(short string) string {
	if strings.HasPrefix(short, "kit.") {
		return kitKeys + short
	}
	if strings.HasPrefix(short, "image.") {
		return imageKeys + short
	}
	return short
}

// document is a descriptor as plain data.
type document map[string]any

func (d document) clone() document { return maps.Clone(d) }

// edit runs one of set, drop and add. The values of lists are replaced, never changed in place,
// so clones stay apart.
func (d document) edit(verb, rest string) error {
	field, text, _ := strings.Cut(rest, " ")
	if verb == "drop" {
		delete(d, field)
		return nil
	}
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return fmt.Errorf("%s %s: %w", verb, field, err)
	}
	if verb == "add" {
		old, _ := d[field].([]any)
		value = append(slices.Clone(old), value)
	}
	d[field] = value
	return nil
}

// kit is what the lines describe.
type kit struct {
	doc         document
	annotated   document // nil: doc
	staged      document // nil: doc
	asYAML      bool     // how the annotation is written
	config      map[string]any
	rawConfig   []byte
	tampered    bool
	layers      []*layer
	annotations []func(where string, a map[string]string)
	manifest    map[string]any
	bare        bool
	children    []string
	onlyOthers  bool
	wraps       int
	forgotten   []string
	listed      map[string]*listedKit // by base: what layers-of, <BASE.ref> and <BASE.digest> mean
}

// listedKit is a member of a merged set.
type listedKit struct {
	*kit
	image *Image
	ref   string
}

// run executes lines. Lines that start with a blank belong to the one before.
func (k *kit) run(lines []string) error {
	for len(lines) > 0 {
		line := lines[0]
		n := 1
		for n < len(lines) && strings.HasPrefix(lines[n], " ") {
			n++
		}
		block := lines[1:n]
		lines = lines[n:]
		if err := k.line(line, block); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	return nil
}

func (k *kit) line(line string, block []string) error {
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "descriptor":
		text := k.substitute(strings.Join(block, "\n"))
		var plain map[string]any // the library would make every map inside a document, too
		err := yaml.Unmarshal([]byte(text), &plain)
		k.doc = plain
		return err
	case "set", "drop", "add":
		return k.doc.edit(verb, k.substitute(rest))
	case "annotated", "staged":
		return k.copyVerb(verb, rest)
	case "config":
		return k.configVerb(rest)
	case "layer":
		return k.layerVerb(rest, block)
	case "layers-of":
		text, err := k.listed[rest].stagedText()
		if err != nil {
			return err
		}
		for _, l := range k.listed[rest].layers {
			k.layers = append(k.layers, &layer{slices.Clone(l.entries), l.how, text})
		}
	case "no-layers":
		k.layers = nil
	case "remove":
		for _, l := range k.layers {
			l.entries = slices.DeleteFunc(l.entries, func(e entry) bool { return e.header.Name == expand(rest) })
		}
	case "compress":
		number, how, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		k.layers[n-1].how = how
	case "annotation", "unannotate", "on":
		return k.annotationVerb(verb, rest)
	case "manifest":
		field, text, _ := strings.Cut(rest, " ")
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return err
		}
		k.manifest[field] = value
	case "child":
		k.children = append(k.children, rest)
	case "only-children":
		k.onlyOthers = true
	case "wrap":
		n, err := strconv.Atoi(rest)
		k.wraps = n
		return err
	case "tamper":
		k.tampered = true
	case "forget":
		k.forgotten = append(k.forgotten, rest)
	default:
		return fmt.Errorf("unknown verb")
	}
	return nil
}

func (k *kit) copyVerb(which, rest string) error {
	verb, rest, _ := strings.Cut(rest, " ")
	if verb == "yaml" {
		k.asYAML = true
		return nil
	}
	target := &k.annotated
	if which == "staged" {
		target = &k.staged
	}
	if *target == nil {
		*target = k.doc.clone()
	}
	return (*target).edit(verb, rest)
}

func (k *kit) configVerb(rest string) error {
	field, text, _ := strings.Cut(rest, " ")
	if field == "raw" {
		k.rawConfig = []byte(text)
		return nil
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		return err
	}
	k.config[field] = value
	return nil
}

func (k *kit) layerVerb(rest string, block []string) error {
	var entries []entry
	for _, line := range block {
		e, err := parseEntry(strings.TrimSpace(expand(line)))
		if err != nil {
			return err
		}
		entries = append(entries, e)
	}
	if rest == "" {
		k.layers = append(k.layers, &layer{entries: entries})
		return nil
	}
	number, where, _ := strings.Cut(rest, " ")
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 || n > len(k.layers) {
		return fmt.Errorf("no layer %q", number)
	}
	l := k.layers[n-1]
	switch where {
	case "":
		l.entries = append(l.entries, entries...)
	case "first":
		l.entries = append(entries, l.entries...)
	case "only":
		l.entries = entries
	default:
		return fmt.Errorf("unknown place %q", where)
	}
	return nil
}

func (k *kit) annotationVerb(verb, rest string) error {
	scope := ""
	if verb == "on" {
		scope, rest, _ = strings.Cut(rest, " ")
		verb, rest, _ = strings.Cut(rest, " ")
	}
	key, text, _ := strings.Cut(rest, " ")
	key = longKey(key)
	value, err := unquote(text)
	if err != nil {
		return err
	}
	k.annotations = append(k.annotations, func(where string, a map[string]string) {
		if scope != "" && scope != where && (scope != "manifests" || where == "index") {
			return
		}
		switch verb {
		case "annotation":
			a[key] = value
		case "unannotate":
			delete(a, key)
		case "append":
			a[key] += value
		case "clear":
			clear(a)
		}
	})
	return nil
}

// derived gives the annotations that the document demands, the builder's stamp included.
func (k *kit) derived() (map[string]string, error) {
	d := k.doc
	annotated := k.annotated
	if annotated == nil {
		annotated = d
	}
	text, err := json.Marshal(annotated)
	if k.asYAML {
		text, err = yaml.Marshal(map[string]any(annotated))
	}
	if err != nil {
		return nil, err
	}
	a := map[string]string{
		kitKeys + "kit.descriptor":     string(text),
		kitKeys + "kit.schema-version": fmt.Sprint(d["schemaVersion"]),
		kitKeys + "kit.built-by":       `{"name":"sbxkit/kittest","version":"dev"}`,
	}
	for key, value := range map[string]string{
		kitKeys + "kit.capabilities":    strings.Join(d.types(), ","),
		imageKeys + "image.title":       d.text("displayName"),
		imageKeys + "image.description": d.text("description"),
		imageKeys + "image.authors":     d.text("author"),
		imageKeys + "image.source":      d.text("sourceUrl"),
		imageKeys + "image.licenses":    strings.Join(d.list("licenses"), ","),
		imageKeys + "image.version":     d.version(),
	} {
		if value != "" {
			a[key] = value
		}
	}
	return a, nil
}

func (d document) text(field string) string {
	s, _ := d[field].(string)
	return s
}

func (d document) list(field string) []string {
	var all []string
	items, _ := d[field].([]any)
	for _, item := range items {
		all = append(all, fmt.Sprint(item))
	}
	return all
}

// version is the one that all voting provides share, where the document states none itself.
func (d document) version() string {
	if v := d.text("version"); v != "" {
		return v
	}
	votes := map[string]bool{}
	for _, p := range d.list("provides") {
		name, version, ok := strings.Cut(p, "@")
		if ok && !strings.HasPrefix(name, "deb/") && !strings.HasPrefix(name, "apk/") {
			votes[version] = true
		}
	}
	if len(votes) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(votes))[0]
}

// types lists the declared capability types, groups opened.
func (d document) types() []string {
	seen := map[string]bool{}
	var walk func(items any)
	walk = func(items any) {
		list, _ := items.([]any)
		for _, item := range list {
			m, _ := item.(map[string]any)
			if group, ok := m["group"].(map[string]any); ok {
				walk(group["capabilities"])
			} else if t, ok := m["type"].(string); ok {
				seen[t] = true
			}
		}
	}
	walk(d["capabilities"])
	all := slices.Collect(maps.Keys(seen))
	sort.Strings(all)
	return all
}

// substitute puts the listed kits' references and digests in.
func (k *kit) substitute(text string) string {
	for base, l := range k.listed {
		text = strings.ReplaceAll(text, "<"+base+".digest>", l.image.Target.Digest.String())
		text = strings.ReplaceAll(text, "<"+base+".ref>", l.ref)
	}
	return text
}

func expand(s string) string { return strings.ReplaceAll(s, "$KIT", "usr/share/sandbox/kit") }

// unquote reads a quoted Go string; text without quotes stands for itself.
func unquote(s string) (string, error) {
	if strings.HasPrefix(s, `"`) {
		return strconv.Unquote(s)
	}
	return s, nil
}

// split cuts a line at blanks; a word, or what follows its first equals sign, may be quoted.
func split(line string) ([]string, error) {
	var words []string
	for line = strings.TrimLeft(line, " "); line != ""; line = strings.TrimLeft(line, " ") {
		end := strings.IndexByte(line, ' ')
		if end < 0 {
			end = len(line)
		}
		if q := strings.IndexByte(line[:end], '"'); q >= 0 {
			quoted, err := strconv.QuotedPrefix(line[q:])
			if err != nil {
				return nil, err
			}
			value, err := strconv.Unquote(quoted)
			if err != nil {
				return nil, err
			}
			words = append(words, line[:q]+value)
			line = line[q+len(quoted):]
			continue
		}
		words = append(words, line[:end])
		line = line[end:]
	}
	return words, nil
}
