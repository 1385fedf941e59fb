package descriptor

import (
	"bytes"
	"strings"
)

// DecodeFile reads a file that either is a descriptor or, as a recipe, carries one in a comment:
//
//	# syntax=docker/sandbox-kit:3
//	# kit:
//	#   schemaVersion: "3"
//	#   kind: mixin
//	FROM scratch
//
// The file is decoded as a descriptor first, so that a marker within the comments of one means
// nothing. For the comment form the recipe to build is returned too: the file from its second
// "# syntax=" line on, else the whole file with the first such line made an ordinary comment, so that
// the recipe does not dispatch to the kit builder again (SPEC-v3 §3.3). recipe is nil for a plain
// descriptor. Positions count in the file.
//
// A descriptor in a comment names no other content: build, dockerfile and kits are errors in it.
func DecodeFile(name string, src []byte) (doc *Document, recipe []byte, err error) {
	doc, err = Decode(name, src)
	if err == nil {
		return doc, nil, nil
	}
	block, line, ok := commentBlock(src)
	if !ok {
		return nil, nil, err
	}
	if doc, err = decode(name, src, block, Position{line, commentIndent}); err != nil {
		return nil, nil, err
	}
	c := &checker{name: name}
	for _, key := range []string{"build", "dockerfile", "kits"} {
		n := doc.root.get(key).orNil()
		if n != nil && (n.kind == list && len(n.items) > 0 || n.kind == scalar && n.text != "") {
			c.fail(codeComment, n, "the recipe around this comment is the content; %s names another", key)
		}
	}
	if len(c.findings) > 0 {
		return nil, nil, doc.invalid(c.findings)
	}
	return doc, commentRecipe(src), nil
}

// commentIndent is how far the text of a block stands in: "#", a space, and two of indentation.
const commentIndent = 4

// commentBlock lifts the descriptor out of the comments. line is that of the marker.
func commentBlock(src []byte) (block []byte, line int, ok bool) {
	var out bytes.Buffer
	offset := 0
	for rest := src; len(rest) > 0; {
		text, after, _ := bytes.Cut(rest, []byte("\n"))
		switch {
		case !ok:
			if string(bytes.TrimRight(text, " \t\r")) == "# kit:" {
				ok, line = true, positionAt(src, offset).Line
			}
		default:
			body, more := blockLine(text)
			if !more {
				return out.Bytes(), line, true
			}
			out.Write(body)
			out.WriteByte('\n')
		}
		offset += len(rest) - len(after)
		rest = after
	}
	return out.Bytes(), line, ok
}

// blockLine takes the comment mark and the indentation off one line. ok is false behind the block.
func blockLine(text []byte) (body []byte, ok bool) {
	text = bytes.TrimSuffix(text, []byte("\r"))
	text, ok = bytes.CutPrefix(text, []byte("#"))
	if !ok {
		return nil, false
	}
	text = bytes.TrimPrefix(text, []byte(" "))
	if len(text) == 0 {
		return nil, true
	}
	return bytes.CutPrefix(text, []byte("  "))
}

const syntaxMark = "# syntax="

// commentRecipe gives what is to be built of a file in comment form.
func commentRecipe(src []byte) []byte {
	first, rest, _ := bytes.Cut(src, []byte("\n"))
	for at := len(src) - len(rest); at < len(src); {
		line, after, _ := bytes.Cut(src[at:], []byte("\n"))
		text := strings.TrimSpace(string(line))
		if strings.HasPrefix(text, syntaxMark) {
			return src[at:]
		}
		if text != "" && text[0] != '#' {
			break
		}
		at = len(src) - len(after)
	}
	if !strings.HasPrefix(strings.TrimSpace(string(bytes.TrimPrefix(first, bom))), syntaxMark) {
		return bytes.Clone(src)
	}
	return append([]byte("# built by way of the kit descriptor below\n"), rest...)
}
