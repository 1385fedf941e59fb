package descriptor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"
)

// The shapes of the published JSON. Their field order is the format's (SPEC-v3 §9.2); empty fields
// are left out.
type jsonDescriptor struct {
	SchemaVersion string             `json:"schemaVersion"`
	DisplayName   string             `json:"displayName,omitempty"`
	Author        string             `json:"author,omitempty"`
	Description   string             `json:"description,omitempty"`
	SourceURL     string             `json:"sourceUrl,omitempty"`
	IconURL       string             `json:"iconUrl,omitempty"`
	Version       string             `json:"version,omitempty"`
	Licenses      []string           `json:"licenses,omitempty"`
	Kind          Kind               `json:"kind"`
	Provides      []string           `json:"provides,omitempty"`
	Requires      []string           `json:"requires,omitempty"`
	Integrates    []string           `json:"integrates,omitempty"`
	Conflicts     []string           `json:"conflicts,omitempty"`
	Capabilities  []jsonCapability   `json:"capabilities,omitempty"`
	Args          map[string]jsonArg `json:"args,omitempty"`
	Build         string             `json:"build,omitempty"`
	Kits          []jsonKit          `json:"kits,omitempty"`
	Dockerfile    string             `json:"dockerfile,omitempty"`
}

type jsonCapability struct {
	Group       *jsonGroup     `json:"group,omitempty"`
	Source      *jsonSource    `json:"source,omitempty"`
	Type        string         `json:"type,omitempty"`
	Name        string         `json:"name,omitempty"`
	Optional    bool           `json:"optional,omitempty"`
	Config      map[string]any `json:"config,omitempty"`
	Description string         `json:"description,omitempty"`
}

type jsonGroup struct {
	Name         string           `json:"name,omitempty"`
	Description  string           `json:"description,omitempty"`
	Optional     bool             `json:"optional,omitempty"`
	Capabilities []jsonCapability `json:"capabilities"`
}

type jsonSource struct {
	Kit  string `json:"kit,omitempty"`
	Path string `json:"path"`
}

type jsonArg struct {
	Default     *string  `json:"default,omitempty"`
	Required    bool     `json:"required,omitempty"`
	Description string   `json:"description,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Pattern     string   `json:"pattern,omitempty"`
	Env         string   `json:"env,omitempty"`
	BuildArg    string   `json:"buildArg,omitempty"`
}

type jsonKit struct {
	Ref    string            `json:"ref"`
	Digest string            `json:"digest,omitempty"`
	Args   map[string]string `json:"args,omitempty"`
}

// JSON writes the canonical compact JSON that the manifest annotation carries: fields in the order of
// the type, keys of maps sorted, absent fields left out, and <, > and & escaped, as are the characters
// that YAML does not take as they are: consumers read the annotation as YAML. Equal descriptors
// give equal bytes. The error tells of values that JSON cannot hold.
func (d *Descriptor) JSON() ([]byte, error) {
	j := jsonDescriptor{
		SchemaVersion: d.SchemaVersion, DisplayName: d.DisplayName, Author: d.Author, Description: d.Description,
		SourceURL: d.SourceURL, IconURL: d.IconURL, Version: d.Version, Licenses: d.Licenses, Kind: d.Kind,
		Provides: d.Provides, Requires: d.Requires, Integrates: d.Integrates, Conflicts: d.Conflicts,
		Capabilities: jsonCapabilities(d.Capabilities), Build: d.Build, Dockerfile: d.Dockerfile,
	}
	if d.Args != nil {
		j.Args = make(map[string]jsonArg, len(d.Args))
		for name, a := range d.Args {
			j.Args[name] = jsonArg(a)
		}
	}
	for _, k := range d.Kits {
		j.Kits = append(j.Kits, jsonKit(k))
	}
	out, err := json.Marshal(j)
	if err != nil {
		return nil, fmt.Errorf("write descriptor as JSON: %w", err)
	}
	return yamlSafe(out), nil
}

// yamlSafe escapes what JSON allows in a string and YAML does not. Such characters stand in strings only.
func yamlSafe(text []byte) []byte {
	if !bytes.ContainsFunc(text, isNoYAML) {
		return text
	}
	var b bytes.Buffer
	for _, r := range string(text) {
		if isNoYAML(r) {
			fmt.Fprintf(&b, `\u%04x`, r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.Bytes()
}

// isNoYAML tells the characters beyond the controls, which JSON escapes anyway, that YAML readers refuse,
// and those that they take for a line break.
func isNoYAML(r rune) bool {
	return r >= 0x7f && r < 0xa0 || r == 0xfffe || r == 0xffff
}

// publishable tells whether a key, written as JSON, can be read back as YAML.
func publishable(key string) bool {
	if 6*len(key)+2 <= MaxKey { // the longest escape of a byte
		return true
	}
	text, err := json.Marshal(key)
	return err == nil && utf8.RuneCount(yamlSafe(text)) <= MaxKey
}

func jsonCapabilities(all []Capability) []jsonCapability {
	var out []jsonCapability
	for _, c := range all {
		j := jsonCapability{Type: c.Type, Name: c.Name, Optional: c.Optional, Config: c.Config, Description: c.Description}
		if c.Source != nil {
			j.Source = &jsonSource{c.Source.Kit, c.Source.Path}
		}
		if c.Group != nil {
			j.Group = &jsonGroup{c.Group.Name, c.Group.Description, c.Group.Optional, jsonCapabilities(c.Group.Capabilities)}
		}
		out = append(out, j)
	}
	return out
}

// Declared lists all ordinary requests, members of groups included, in document order. A member has
// the optionality of its group.
func (d *Descriptor) Declared() []Capability {
	var out []Capability
	for _, c := range d.Capabilities {
		if c.Group == nil {
			out = append(out, c)
			continue
		}
		for _, m := range c.Group.Capabilities {
			m.Optional = c.Group.Optional
			out = append(out, m)
		}
	}
	return out
}

// CapabilityTypes lists the declared types, unique and byte-sorted.
func (d *Descriptor) CapabilityTypes() []string {
	var out []string
	for _, c := range d.Declared() {
		out = append(out, c.Type)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
