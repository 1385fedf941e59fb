package descriptor

import (
	"strings"

	"gopkg.in/yaml.v3"
)

// editable gives a copy of the document that may be changed, and the mapping at its top.
func (d *Document) editable(flat bool) (*Document, *yaml.Node) {
	next := &Document{name: d.name, src: d.src, skew: d.skew, parsed: d.parsed, authored: map[*yaml.Node]string{}}
	copied := func(from, to *yaml.Node) {
		if text, ok := d.authored[from]; ok {
			next.authored[to] = text
		}
	}
	if flat && shares(d.tree) {
		next.tree = expandAliases(d.tree, copied)
	} else {
		next.tree = cloneTree(d.tree, map[*yaml.Node]*yaml.Node{}, copied)
	}
	top := next.tree
	if top.Kind == yaml.DocumentNode {
		top = top.Content[0]
	}
	return next, top
}

// reread decodes the changed copy.
func (next *Document) reread() (*Document, error) {
	return next.read(&checker{name: next.name})
}

func yamlField(y *yaml.Node, key string) (int, *yaml.Node) {
	for i := 0; i+1 < len(y.Content); i += 2 {
		if y.Content[i].Value == key {
			return i + 1, y.Content[i+1]
		}
	}
	return -1, nil
}

// WithContentFile points the contentFile of one agent-context entry at where it was staged.
// entry counts all ordinary entries, members of groups included, in document order, as Declared does.
// Only that field changes: a document that shares values by aliases gets them written out first.
func (d *Document) WithContentFile(entry int, path string) (*Document, error) {
	declared := d.d.Declared()
	if entry < 0 || entry >= len(declared) || declared[entry].Type != TypeAgentContext || declared[entry].Config["contentFile"] == nil {
		return nil, d.Errorf(codeEntryIndex, "capabilities", "", "there is no agent context with a contentFile at position %d", entry)
	}
	next, top := d.editable(true)
	_, list := yamlField(top, "capabilities")
	found := -1
	var set func(list *yaml.Node) bool
	set = func(list *yaml.Node) bool {
		for _, item := range list.Content {
			if item.Kind != yaml.MappingNode {
				continue // a null, which decoding drops
			}
			if _, group := yamlField(item, "group"); group != nil {
				if _, members := yamlField(group, "capabilities"); members != nil && set(members) {
					return true
				}
				continue
			}
			if found++; found < entry {
				continue
			}
			_, config := yamlField(item, "config")
			at, old := yamlField(config, "contentFile")
			config.Content[at] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: path, Line: old.Line, Column: old.Column,
				HeadComment: old.HeadComment, LineComment: old.LineComment, FootComment: old.FootComment}
			return true
		}
		return false
	}
	set(list)
	return next.reread()
}

// WithProvides appends entries derived from a workload's package databases to provides. A list that
// is an alias is copied first; one that other places share by an anchor is refused, since they would
// change with it.
func (d *Document) WithProvides(derived []string) (*Document, error) {
	if len(derived) == 0 {
		return d, nil
	}
	next, top := d.editable(false)
	at, list := yamlField(top, "provides")
	switch {
	case list == nil && d.root.has("provides"): // by a merge key
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		for _, p := range d.d.Provides {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p})
		}
		top.Content = append(top.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "provides"}, list)
	case list == nil:
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}
		top.Content = append(top.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: "provides"}, list)
	case list.Kind == yaml.AliasNode:
		list = expandAliases(list, ignoreCopies)
		if list.Kind != yaml.SequenceNode {
			list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: list.Line, Column: list.Column}
		}
		top.Content[at] = list
	case list.Kind != yaml.SequenceNode: // null
		list = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Line: list.Line, Column: list.Column}
		top.Content[at] = list
	case list.Anchor != "" && aliased(next.tree, list):
		return nil, d.Errorf(codeAnchorList, "provides", "write the list out where it is repeated",
			"entries derived from the package database must be added, but other places share this list by the anchor %q", list.Anchor)
	}
	if list.Style&yaml.FlowStyle != 0 {
		// Hundreds of packages in one line are no reading; the comment behind the line goes above it.
		list.Style &^= yaml.FlowStyle
		if at, _ := yamlField(top, "provides"); list.LineComment != "" {
			key := top.Content[at-1]
			key.HeadComment = strings.TrimPrefix(key.HeadComment+"\n"+list.LineComment, "\n")
			list.LineComment = ""
		}
	}
	for _, p := range derived {
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: p})
	}
	return next.reread()
}

func aliased(y, target *yaml.Node) bool {
	if y.Kind == yaml.AliasNode {
		return y.Alias == target
	}
	for _, child := range y.Content {
		if aliased(child, target) {
			return true
		}
	}
	return false
}
