package tck

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/sbxkit/sbxkit/descriptor"
	"github.com/sbxkit/sbxkit/internal/layerfs"
	"github.com/sbxkit/sbxkit/internal/pkgdb"
)

// databaseOf gives the package database whose entries have that namespace; nil for a namespace that
// authors use.
func databaseOf(namespace string) *pkgdb.Database {
	for _, db := range pkgdb.Databases() {
		if db.Namespace == namespace {
			return &db
		}
	}
	return nil
}

// derivedProvides compares what a workload states about its packages with its package databases.
// Packages without an entry are fine: only those on which all platforms agree get one.
func derivedProvides(ctx context.Context, k *kit, r *recorder) error {
	entries := map[string][]descriptor.Provide{}
	for _, entry := range k.d.Provides {
		p, err := descriptor.ParseProvide(entry)
		if err == nil && databaseOf(p.Namespace()) != nil { // the rest is descriptor-valid's business
			entries[p.Namespace()] = append(entries[p.Namespace()], p)
		}
	}
	switch {
	case len(entries) == 0:
		return nil
	case k.d.Kind != descriptor.Workload:
		r.fail("a %s provides entries of a package database (deb/ or apk/); only a workload carries the whole database: remove them", k.d.Kind)
		return nil
	case len(k.d.Kits) > 0:
		r.skip("a merged set takes these entries over from its workload, which is judged by itself")
		return nil
	}
	for _, db := range pkgdb.Databases() {
		if len(entries[db.Namespace]) == 0 {
			continue
		}
		data, err := k.src.ReadFile(ctx, db.Path, pkgdb.MaxFile)
		switch {
		case errors.Is(err, layerfs.ErrTooLarge):
			r.warn("the %s entries were not compared: %s is over %d MiB", db.Namespace, db.Path, pkgdb.MaxFile>>20)
			continue
		case errors.Is(err, fs.ErrNotExist):
			r.fail("the descriptor provides %s/ entries but the image has no %s; remove them or ship the database", db.Namespace, db.Path)
			continue
		case err != nil:
			return r.unreadable(err)
		}
		packages, err := db.Read(data)
		if err != nil {
			r.fail("read %s: %v", db.Path, err)
			return nil
		}
		comparePackages(db, packages, entries[db.Namespace], r)
	}
	return nil
}

// comparePackages judges each entry against every record of its package.
func comparePackages(db pkgdb.Database, packages []pkgdb.Package, entries []descriptor.Provide, r *recorder) {
	records := map[string][]pkgdb.Package{}
	for _, p := range packages {
		records[p.Name] = append(records[p.Name], p)
	}
	for _, entry := range entries {
		_, name, _ := strings.Cut(entry.Name, "/")
		found := records[name]
		if len(found) == 0 {
			r.fail("provides %s, but %s records no installed package %s; remove the entry", spelled(entry), db.Path, name)
		}
		for _, p := range found {
			published, ok := pkgdb.PublishedVersion(p.Version)
			switch {
			case !ok:
				r.fail("provides %s, but the installed version %s has no form that a kit can state; remove the entry", spelled(entry), quote(p.Version))
			case published != entry.Version:
				r.fail("provides %s, but the installed version %s is stated as %s; state that", spelled(entry), quote(p.Version), published)
			}
		}
	}
}

// spelled writes an entry as its author would.
func spelled(p descriptor.Provide) string {
	if p.Version == "" {
		return p.Name
	}
	return p.Name + "@" + p.Version
}
