package descriptor

import (
	"path"
	"strings"
)

// volume judges volume@1: storage of one sandbox.
func volume(c *checker, e *entry) {
	m, ok := c.mapping(e.read, "path", "size", "tmpfs", "mode")
	if !ok {
		return
	}
	switch p, literal := m.text("path"); {
	case literal && !strings.HasPrefix(p, "/"):
		c.fail(codePath, e.read.get("path"), "%s is not an absolute path", e.read.get("path").quote())
	case !literal && e.read.get("path").orNil() == nil:
		c.failMissing(e.read, "path", "a volume is mounted somewhere")
	}
	c.byteSize(m, "size")
	m.flag("tmpfs")
	c.mode(m)
}

// hostMount judges host-mount@1: a directory of the host, found by the runtime.
func hostMount(c *checker, e *entry) {
	m, ok := c.strictMapping(e.read, "path", "mode")
	if !ok {
		return
	}
	m.canonicalPath("path", false)
	c.mode(m)
}

// storageKeys: one entry per cleaned path. What the two types share is judged by sharedPaths.
func storageKeys(e *entry) []instanceKey {
	n := e.read.get("path")
	if !n.isString() || open(n.text) || !strings.HasPrefix(n.text, "/") {
		return nil
	}
	at := path.Clean(n.text)
	return []instanceKey{{at, "storage at " + quoted(at), n}}
}

// sharedPaths reports a volume and a host mount at one path: shared storage has one owner.
func (c *checker) sharedPaths(b *block) {
	first := map[string]*node{}
	for _, e := range b.of("volume@1") {
		for _, k := range storageKeys(e) {
			first[k.text] = k.at
		}
	}
	for _, e := range b.of("host-mount@1") {
		for _, k := range storageKeys(e) {
			if at := first[k.text]; at != nil {
				c.fail(codeShared, k.at, "a volume is mounted at %s already", quoted(k.text)).Hint = "at " + c.place(at)
			}
		}
	}
}
