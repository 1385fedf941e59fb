package kitbuild

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/kitbuild/project"
	"github.com/sbxkit/sbxkit/internal/pkgdb"
)

// derive adds what a workload's package databases list on every platform to its provides, and judges the
// longer document.
func (b *build) derive(ctx context.Context, doc *descriptor.Document, contents []*platformContent) (*descriptor.Document, error) {
	if doc.Descriptor().Kind != descriptor.Workload {
		return doc, nil
	}
	var derived []string
	for _, db := range pkgdb.Databases() {
		var platforms []map[string]string
		for i, c := range contents {
			versions, err := b.installed(ctx, db, c)
			if err != nil {
				return nil, fmt.Errorf("derive provides for %s: %w", b.targets[i].id, err)
			}
			if versions != nil {
				platforms = append(platforms, versions)
			}
		}
		if len(platforms) == len(contents) {
			derived = append(derived, agreed(db.Namespace, platforms)...)
		}
	}
	if len(derived) == 0 {
		return doc, nil
	}
	doc, err := doc.WithProvides(derived)
	if err != nil {
		return nil, err
	}
	if _, err := doc.Validate(descriptor.Published); err != nil {
		return nil, err
	}
	return doc, nil
}

// installed gives the published version of each package of one platform, empty for one without an
// agreed version; nil when the platform has no such database.
func (b *build) installed(ctx context.Context, db pkgdb.Database, c *platformContent) (map[string]string, error) {
	data, err := readRef(ctx, c.ref, db.Path, pkgdb.MaxFile)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, errFolder):
		return nil, nil
	case errors.Is(err, project.ErrTooLarge):
		return nil, fmt.Errorf("read package database: %w", err)
	case err != nil:
		return nil, fmt.Errorf("read package database %s: %w", db.Path, err)
	}
	packages, err := db.Read(data)
	if err != nil {
		return nil, fmt.Errorf("read package database %s: %w", db.Path, err)
	}
	return publishedVersions(packages), nil
}

// publishedVersions settles repeated records of one name: unless all have one version, it has none.
func publishedVersions(packages []pkgdb.Package) map[string]string {
	out := map[string]string{}
	for _, p := range packages {
		version, ok := pkgdb.PublishedVersion(p.Version)
		if !ok {
			version = ""
		}
		if old, seen := out[p.Name]; seen && old != version {
			version = ""
		}
		out[p.Name] = version
	}
	return out
}

// agreed lists, sorted, the entries on which all platforms agree. A name that the grammar does not allow
// is left out: it is the distribution's, so nobody could mend it.
func agreed(namespace string, platforms []map[string]string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(platforms[0])) {
		version := platforms[0][name]
		same := version != ""
		for _, other := range platforms[1:] {
			same = same && other[name] == version
		}
		entry := namespace + "/" + name + "@" + version
		if _, err := descriptor.ParseProvide(entry); same && err == nil {
			out = append(out, entry)
		}
	}
	return out
}
