package descriptor

import "strconv"

const maxPort = 65535

// port judges port@1: a port that the workload listens on.
func port(c *checker, e *entry) {
	m, ok := c.mapping(e.read, "name", "container", "transport")
	if !ok {
		return
	}
	m.text("name")
	switch number, known := m.integer("container"); {
	case known && (number < 1 || number > maxPort):
		c.fail(codeRange, e.read.get("container"), "a port is a number from 1 to %d", maxPort)
	case !known && e.read.get("container").orNil() == nil:
		c.failMissing(e.read, "container", "the port that the workload listens on")
	}
	m.choice("transport", "tcp", "udp")
}

// portKeys: one entry per number and transport.
func portKeys(e *entry) []instanceKey {
	n, t := e.read.get("container"), e.read.get("transport").orNil()
	transport := "tcp"
	switch {
	case n == nil || n.kind != scalar || n.tag != tagInt && n.tag != tagFloat:
		return nil
	case t == nil:
	case !t.isString() || open(t.text):
		return nil
	case t.text != "":
		transport = t.text
	}
	number := n.text
	switch v, _ := n.value(); v := v.(type) {
	case int64:
		number = strconv.FormatInt(v, 10)
	case float64:
		number = strconv.FormatFloat(v, 'f', -1, 64)
	}
	key := number + "/" + transport
	return []instanceKey{{key, "the port " + key, n}}
}

// usbDevice judges usb-device@1: one device by its ids, or all of a class.
func usbDevice(c *checker, e *entry) {
	m, ok := c.mapping(e.read, "vendorId", "productId", "class")
	if !ok {
		return
	}
	stated := func(key string) bool {
		s, literal := m.text(key)
		n := e.read.get(key).orNil()
		if literal && s == "" {
			c.lint(codeEmpty, n, "%s is empty, which counts as absent", key).Hint = "leave it out"
		}
		return n != nil && (!literal || s != "")
	}
	vendor, product, class := stated("vendorId"), stated("productId"), stated("class")
	switch {
	case class && (vendor || product):
		c.fail(codeTogether, e.read.get("class"), "a device is matched by vendorId and productId or by class, not by both")
	case vendor != product:
		missing := "productId"
		if product {
			missing = "vendorId"
		}
		c.failMissing(e.read, missing, "a device is matched by both ids")
	case !class && !vendor:
		c.fail(codeMissing, e.read, "a device is matched by vendorId and productId, or by class, but neither is there")
	}
}

// agentSkills judges agent-skills@1: a directory in which the agent looks for skills.
func agentSkills(c *checker, e *entry) {
	m, ok := c.mapping(e.read, "path", "mode")
	if !ok {
		return
	}
	m.canonicalPath("path", false)
	m.choice("mode", "readonly", "readwrite")
}

// agentSkillsKeys: one entry per path.
func agentSkillsKeys(e *entry) []instanceKey {
	n := e.read.get("path")
	if !n.isString() || open(n.text) {
		return nil
	}
	return []instanceKey{{n.text, "the skills directory " + quoted(n.text), n}}
}
