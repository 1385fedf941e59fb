// Package kittest makes kits for tests, good ones and ones that are wrong in a known way.
//
// A kit is described by a few readable lines, see bases/*.txt and cases/*.txt: three kits that
// conform, and mutations of them together with the verdict that each must get. [Cases] gives them
// all, [Case.Write] puts the artifact into a directory or a registry. The lines mean:
//
//	descriptor            the indented YAML below becomes the descriptor
//	set FIELD YAML        one top-level field of it; drop FIELD removes it, add FIELD YAML appends to a list
//	config FIELD JSON     one field of the image config's config
//	layer                 a new layer on top, made of the indented entries below
//	layer N [first|only]  the entries go into layer N (from 1): behind, before or in place of what it has
//	remove PATH           drops the entries of that name from all layers; no-layers drops all layers
//	compress N HOW        how layer N is stored: gzip (the default), zstd, plain
//	annotation KEY TEXT   on the manifests and on the index; unannotate KEY removes it
//	on WHERE VERB ...     the annotation verb only there: index, manifests, or a platform
//	annotated set ...     only the document in the annotation; staged set ... only the staged copy
//	annotated yaml        the annotation is YAML, not JSON
//	listed BASE VERB ...  the verb is for a kit that the merged set lists
//	layers-of BASE        all layers of that listed kit
//	child PLATFORM        one more manifest in the index, without annotations; only-children drops the kit's own
//	wrap N                N more indexes around it, without annotations
//	manifest FIELD JSON   one field of the manifests; tamper config changes that blob behind its digest
//	forget BASE           that listed kit's manifest is gone from the registry
//
// Entries are: dir, file, fifo, published (the descriptor as staged) PATH; link, hard PATH TARGET;
// char PATH MAJOR MINOR; each followed by mode=, uid=, gid=, text=, size= where they make sense.
// $KIT stands for usr/share/sandbox/kit. The rest of a line may be a quoted Go string where it must
// hold blanks at its ends or control characters.
//
// In a case file a line "case ID TITLE" opens a case, "from BASE" says where it starts, followed by
// bare (a manifest without an index) or index (the default, linux/amd64 and linux/arm64), registry,
// by-digest, and the ways of showing it that [Building] and [UnreadableOverlay] name. What must come
// out is said by fail, warn and skip, each with names of checks, a name once for each finding, by
// checks (how many ran, 18 unless said otherwise), by platforms, which opens a further group when one
// is open, or by error, a part of the message when there can be no verdict.
//
// The package computes what annotations a descriptor demands by itself, so that tests compare two
// independent answers. It is for tests only and checks nothing.
package kittest
