// Package descriptor reads, checks and writes kit descriptors: the YAML that says what a sandbox kit
// offers, needs and asks of its host (kit format 3).
//
// Start with [Decode], which takes bytes and a display name, and ask the [Document] to
// [Document.Validate] itself. [DecodeFile] also finds a descriptor in the comments of a recipe.
// [Document.ResolveBuildArgs] and [Document.ExpandBuild] lead from what an author wrote to what an
// artifact carries, [Document.ExpandCreate] from there to what a sandbox uses.
//
// The package never touches the disk, the network, the environment or the clock: equal input, equal
// output. It does not merge descriptors and does not look into images.
//
// # Forms
//
// A descriptor is met in several forms with rules of their own: an [Authored] one may hold argument
// references, a [Published] one none to build-phase arguments, an [Effective] one no reference at all.
// Say which form you hold.
//
// A capability whose config still holds a reference is judged in full when it is filled in. Until
// then only what the specification demands at once is an error in it; the other faults of its literal
// parts are warnings that say so.
//
// # Errors, places and secrets
//
// There is one error type, [InvalidError]. It holds every independent fault of a document, in document
// order, each with a stable code (see [Rules]), a dotted path, and its place in the bytes as they were
// written. Places survive expansion and editing, and count in the file also for text lifted out of a
// comment. What comes through an alias is reported at the alias; a field that is missing, at the
// nearest container that exists. [Render] draws findings; [InvalidError.Error] uses it. No message
// repeats the value of an argument.
//
// A misspelt key is reported once and then read as the key that was probably meant, so that no
// follow-up errors hide the others.
//
// # Decisions
//
// Where the specification and its reference disagree or are silent, this package accepts what the
// reference accepts and warns authors of what will surprise them:
//
//   - Only the first YAML document of a file is read; a second one is a warning.
//   - Null items of lists of text and of capabilities are dropped, with a warning, and not counted in
//     paths.
//   - Keys are case-sensitive everywhere.
//   - Text that is not UTF-8 is refused.
//   - A key of a nested config that is no text is refused, for unknown capability types too: the
//     published form could not hold it.
//   - Empty text where an optional word is expected (transport, mode, memory and the like) counts as
//     absent, with a warning. So does null, except in the types that forbid it.
//   - Hosts of a network policy have no grammar. Schemes, blanks, slashes, user names and ports out of
//     range are warnings.
//   - An agent context is one per destination; at most one of a block is without directory, and at most
//     one has a body. An empty one is accepted with a warning.
//   - network-policy@1 and @2 exclude each other within a block, and may stand in different ones.
//   - Names under deb/ and apk/ are refused in the authored provides, and again after build expansion.
//   - An unknown type under com.docker.sandbox/ is accepted with a warning; other types that this
//     version does not know pass through untouched.
//   - A default that fails its own enum or pattern is a warning until it is used.
//
// # Limits and stability
//
// Input above [MaxSize] is refused before it is parsed; depth, aliases and the growth by arguments are
// bounded by [MaxDepth], [MaxAliasNodes], [MaxAliasBytes] and a limit of 4 MiB. At most a thousand
// findings are collected. Codes, and the JSON that [Descriptor.JSON] writes, are part of the module's
// version promise; the wording of messages is not.
//
// A Document is immutable and may be used from several goroutines.
package descriptor
