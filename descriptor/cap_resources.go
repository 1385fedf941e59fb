package descriptor

// resources judges resources@1: what a kit wants of the machine.
func resources(c *checker, e *entry) {
	m, ok := c.mapping(e.read, "cpu", "memory", "gpu")
	if !ok {
		return
	}
	if cpu, known := m.number("cpu"); known && cpu < 0 {
		c.fail(codeRange, e.read.get("cpu"), "cpu is negative")
	}
	c.byteSize(m, "memory")
	m.text("gpu")
}

// byteSize judges an amount of bytes; an empty one counts as absent.
func (c *checker) byteSize(m mapping, key string) {
	s, literal := m.text(key)
	n := m.n.get(key)
	switch {
	case !literal:
	case s == "":
		c.lint(codeEmpty, n, "%s is empty, which counts as absent", key).Hint = "leave it out"
	case !isByteSize(s):
		c.fail(codeValue, n, "%s is not an amount of bytes such as 512m, 1.5GiB or 4096", n.quote())
	}
}
