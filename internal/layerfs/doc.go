// Package layerfs reads the layers of an image as file systems.
//
// Start with [NewStack]. A [Stack] answers two different questions about the same layers:
//
//   - What does a reader of the composed image find at a path? [Stack.Exists], [Stack.Stat],
//     [Stack.ReadFile] and [Stack.Stems]. Links are followed, deletions of upper layers are honoured.
//   - What would unpacking the layers leave on a base that is not known? [Stack.Overlay], a model of
//     unpacking every layer into a folder of its own and stacking the folders with overlayfs.
//
// Both stand on one inventory a layer: the headers of its tar stream in archive order, collected in one
// pass. Bodies are not kept, except those that [Stack.Keep] names; any other body costs one more pass.
//
// # Where the two answers differ
//
// The conformance checks rest on these differences, so they are part of the contract.
//
//	                                            composed reader           extraction
//	opaque marker at the root of a layer        hides all lower layers    ignored
//	x -> /, then x/home/ in one layer           the path x/home           lands on /home
//	character device 0/0                        a file                    a deletion
//	name a/../b                                 never found as b          is b
//	entry below a link of a lower layer         found through the link    a directory replaces the link
//	hard link to a file of a lower layer        that file                 cannot be extracted
//
// In both of them a file of one layer hides for good what lower layers have below its path, also when a
// later layer makes a directory of it again. A PAX global header is never a file. A type of entry that
// is unknown counts as a file.
//
// # What it refuses
//
// Nothing is written and nothing is executed. A stream that is not a tar, that ends early or that exceeds
// a limit is an error of whatever was asked, of every question asked afterwards, too, and never an answer
// "absent". A cancelled question leaves no trace. What follows the end of the archive is read, so that a
// blob can verify itself, but it is not unpacked: checksums there are not looked at.
//
// An entry that cannot be unpacked (below a file, a hard link to nothing, a name that is too long) is no
// error: in the extraction its layer ends before it, in the composed reader it is an entry like any other.
//
// # Limits
//
// All limits are named constants, from [MaxLayers] to [MaxNodes], and hold for one stack unless they say
// otherwise. Beyond one of them the answer is a [*LimitError], [ErrTooLarge] or [ErrTooManyLinks]. A tar
// header's own records (long names, PAX) are bounded to 1 MiB each by archive/tar.
//
// # Stability
//
// Internal; the rules follow SPEC-v3 §10 and change with it.
package layerfs
