package main

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/tonistiigi/go-csvvalue"

	"github.com/sbxkit/sbxkit/internal/cli"
)

// The kinds of output, spelled as buildx spells them.
const (
	outputOCI       = "oci"       // an OCI layout: a directory with tar=false, else one tar file
	outputDocker    = "docker"    // one tar file that `docker load` reads, of old engines too
	outputCacheOnly = "cacheonly" // build and check, keep nothing
)

// output is one parsed --output.
type output struct {
	kind string
	dest string // "-" is stdout
	tar  bool
}

// parseOutput reads "type=oci,dest=DIR,tar=false".
func parseOutput(text string) (output, error) {
	fields, err := csvvalue.Fields(text, nil)
	if err == io.EOF {
		return output{}, errors.New("it is empty: want type=oci, type=docker or type=cacheonly")
	}
	if err != nil {
		return output{}, fmt.Errorf("not a list of key=value: %w", err)
	}
	o := output{tar: true}
	tarStated := false
	seen := map[string]bool{}
	for _, field := range fields {
		key, value, ok := strings.Cut(field, "=")
		if !ok {
			return output{}, fmt.Errorf("%q is not key=value; for a layout directory write type=oci,tar=false,dest=%s", field, field)
		}
		key = strings.ToLower(strings.TrimSpace(key))
		if seen[key] {
			return output{}, fmt.Errorf("%s stands twice; a comma within a path needs quotes: '\"dest=a,b\"'", key)
		}
		seen[key] = true
		switch key {
		case "type":
			o.kind = value
		case "dest":
			o.dest = value
		case "tar":
			if o.tar, err = strconv.ParseBool(value); err != nil {
				return output{}, fmt.Errorf("tar=%s: want true or false", value)
			}
			tarStated = true
		default:
			return output{}, fmt.Errorf("unknown key %q: want type, dest or tar", key)
		}
	}
	return o, o.check(tarStated)
}

func (o output) check(tarStated bool) error {
	switch o.kind {
	case outputOCI:
		if !o.tar && (o.dest == "" || o.dest == "-") {
			return errors.New("type=oci,tar=false needs dest=DIR")
		}
	case outputDocker:
		if tarStated && !o.tar {
			return errors.New("type=docker is always one tar file; for a directory write type=oci,tar=false")
		}
	case outputCacheOnly:
		if o.dest != "" || tarStated {
			return errors.New("type=cacheonly keeps nothing: it takes neither dest nor tar")
		}
		return nil
	case "":
		return errors.New("type is missing: want type=oci, type=docker or type=cacheonly")
	case "registry", "image":
		return fmt.Errorf("type=%s: to write to a registry use --push", o.kind)
	default:
		return fmt.Errorf("unknown type %q: want oci, docker or cacheonly", o.kind)
	}
	if o.dest == "" {
		return fmt.Errorf("type=%s needs dest=FILE, or dest=- for standard output", o.kind)
	}
	return nil
}

// parseOutputs reads all --output flags and refuses two that write to one place.
func parseOutputs(texts []string) ([]output, error) {
	var list []output
	seen := map[string]bool{}
	for _, text := range texts {
		o, err := parseOutput(text)
		if err != nil {
			return nil, cli.Usagef("--output %s: %v", text, err)
		}
		if o.dest != "" && seen[o.dest] {
			return nil, cli.Usagef("--output %s: another output writes to %s", text, o.dest)
		}
		seen[o.dest] = true
		list = append(list, o)
	}
	return list, nil
}
