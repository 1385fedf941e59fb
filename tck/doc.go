// Package tck judges published kits: the conformance checks, their report and its formats.
//
// Start with [Validate], which judges every runnable platform of an image, or with [Run], which
// judges one artifact behind a [Source]. A build that is about to export implements Source itself
// and asks [Run] before it writes anything. [Annotations] derives what a descriptor demands of the
// manifest; the builder writes that map and the checks compare with it.
//
// # What a verdict means
//
// A kit conforms when no check fails. A warning is a recommendation that was not followed, a skip
// something that the source cannot show; neither changes the verdict. A source that cannot observe
// a thing answers [ErrUnobservable], and the check skips: it never reports the thing as absent.
// Eighteen checks judge every kit; agent-skill-content is a nineteenth that runs where an
// agent-skill@1 is declared.
//
// An error of [Run] or [Validate] means that no judgement was possible: the content does not match
// its digest, the registry did not answer, the image is not one. It is never a finding.
//
// # What it refuses
//
// The package starts no process, writes no file and reads neither clock nor environment. It does not
// follow a reference by itself; what it reads comes from the Source that it was given.
//
// # Limits
//
// Files of an artifact are read up to [MaxFile] bytes, lines of package databases up to
// pkgdb.MaxLine. A file over its limit is a finding, except where the specification asks for less.
//
// # Stability
//
// Check names, requirement ids and the members of the JSON document are part of the module's version
// promise. The wording of findings is not.
package tck
