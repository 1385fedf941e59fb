package layerfs

import "strings"

// trail is what is left to walk of a path: the innermost link target last.
type trail []string

// next takes the first name off the trail.
func (t *trail) next() (name string, ok bool) {
	for n := len(*t); n > 0; n = len(*t) {
		rest := strings.TrimLeft((*t)[n-1], "/")
		end := strings.IndexByte(rest, '/')
		if end >= 0 {
			(*t)[n-1] = rest[end:]
			return rest[:end], true
		}
		*t = (*t)[:n-1]
		if rest != "" {
			return rest, true
		}
	}
	return "", false
}

// done tells whether nothing is left, not even a slash.
func (t trail) done() bool { return len(t) == 0 }

// push puts a link's target in front of what is left.
func (t *trail) push(target string) { *t = append(*t, target) }
