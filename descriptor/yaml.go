package descriptor

import (
	"bytes"
	"fmt"

	"gopkg.in/yaml.v3"
)

// YAML writes the document as block YAML. Comments, order, anchors and, where the author wrote YAML,
// the style of inner lists are kept; a document that came as JSON is laid out anew. The error says
// that the text would not be read back as the same document, which a sound document never meets.
func (d *Document) YAML() ([]byte, error) {
	tree := cloneTree(d.tree, map[*yaml.Node]*yaml.Node{}, ignoreCopies)
	root := tree
	if root.Kind == yaml.DocumentNode {
		root = root.Content[0]
	}
	if root.Style&yaml.FlowStyle != 0 {
		layOut(root)
	}
	spellNulls(tree, false)
	want, err := d.d.JSON()
	if err != nil {
		return nil, err
	}
	out, err := encodeYAML(tree)
	if err == nil && reads(out, want) {
		return out, nil
	}
	// The library does not write back every comment and every block of text as it read them. What
	// matters is the content: once more, without comments and with all text quoted.
	plainTree(tree)
	if out, err = encodeYAML(tree); err != nil {
		return nil, fmt.Errorf("write descriptor as YAML: %w", err)
	}
	if !reads(out, want) {
		return nil, d.Errorf(codeReencode, "", "", "[internal error] the document changes when it is written as YAML")
	}
	return out, nil
}

// reads tells whether out decodes to the document whose JSON is want.
func reads(out, want []byte) bool {
	back, err := Decode("", out)
	if err != nil {
		return false
	}
	got, err := back.d.JSON()
	return err == nil && bytes.Equal(got, want)
}

func encodeYAML(tree *yaml.Node) (out []byte, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the YAML writer gave up: %v", r)
		}
	}()
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := enc.Encode(tree); err != nil {
		return nil, err
	}
	if err := enc.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func ignoreCopies(from, to *yaml.Node) {}

// cloneTree copies a tree and tells copied of each node. done maps what was copied, so that aliases
// point into the copy.
func cloneTree(y *yaml.Node, done map[*yaml.Node]*yaml.Node, copied func(from, to *yaml.Node)) *yaml.Node {
	out := *y
	done[y] = &out
	copied(y, &out)
	out.Content = nil
	if y.Kind == yaml.AliasNode {
		if target := done[y.Alias]; target != nil {
			out.Alias = target
		}
	}
	for _, child := range y.Content {
		out.Content = append(out.Content, cloneTree(child, done, copied))
	}
	return &out
}

// layOut turns flow style into block style, and quoted keys and plain text into what a person writes.
func layOut(y *yaml.Node) {
	y.Style &^= yaml.FlowStyle
	if y.Kind == yaml.ScalarNode && y.Style == yaml.DoubleQuotedStyle {
		y.Style = 0 // the tag keeps text text: the writer quotes where it must
	}
	for _, child := range y.Content {
		layOut(child)
	}
}

// spellNulls writes out the nulls that an author left empty within brackets: the library would write
// them as empty text.
func spellNulls(y *yaml.Node, flow bool) {
	flow = flow || y.Style&yaml.FlowStyle != 0
	if flow && y.Kind == yaml.ScalarNode && y.Value == "" && y.ShortTag() == tagNull {
		y.Value = "null"
	}
	for _, child := range y.Content {
		spellNulls(child, flow)
	}
}

func plainTree(y *yaml.Node) {
	y.HeadComment, y.LineComment, y.FootComment = "", "", ""
	if y.Kind == yaml.ScalarNode && y.ShortTag() == "!!str" {
		y.Tag, y.Style = "!!str", yaml.DoubleQuotedStyle
	}
	for _, child := range y.Content {
		plainTree(child)
	}
}

// expandAliases replaces each alias and merge key by what it stands for. The limits on aliases hold:
// a tree that was read is within them.
func expandAliases(y *yaml.Node, copied func(from, to *yaml.Node)) *yaml.Node {
	if y.Kind == yaml.AliasNode {
		own := expandAliases(y.Alias, copied)
		own.HeadComment, own.LineComment, own.FootComment = y.HeadComment, y.LineComment, y.FootComment
		own.Line, own.Column = y.Line, y.Column
		return own
	}
	out := *y
	out.Anchor, out.Content = "", nil
	copied(y, &out)
	for _, child := range y.Content {
		out.Content = append(out.Content, expandAliases(child, copied))
	}
	if out.Kind == yaml.MappingNode {
		unmerge(&out)
	}
	return &out
}

// unmerge writes out the merge keys of a mapping.
func unmerge(y *yaml.Node) {
	var own, merged []*yaml.Node
	names := map[string]bool{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		if y.Content[i].ShortTag() != tagMerge {
			own = append(own, y.Content[i], y.Content[i+1])
			names[y.Content[i].Value] = true
		}
	}
	if len(own) == len(y.Content) {
		return
	}
	for i := 0; i+1 < len(y.Content); i += 2 {
		if y.Content[i].ShortTag() != tagMerge {
			continue
		}
		parts := []*yaml.Node{y.Content[i+1]}
		if parts[0].Kind == yaml.SequenceNode {
			parts = parts[0].Content
		}
		for _, part := range parts {
			for j := 0; j+1 < len(part.Content); j += 2 {
				if name := part.Content[j].Value; !names[name] {
					names[name] = true
					merged = append(merged, part.Content[j], part.Content[j+1])
				}
			}
		}
	}
	y.Content = append(own, merged...)
}

// shares tells whether a tree has aliases or merge keys.
func shares(y *yaml.Node) bool {
	if y.Kind == yaml.AliasNode || y.Kind == yaml.ScalarNode && y.ShortTag() == tagMerge {
		return true
	}
	for _, child := range y.Content {
		if shares(child) {
			return true
		}
	}
	return false
}
