package descriptor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/sbxkit/sbxkit/descriptor"
)

const head = "schemaVersion: \"3\"\nkind: mixin\n"

// padded gives a sound descriptor of exactly n bytes.
func padded(n int) string {
	const key = "description: "
	return head + key + strings.Repeat("x", n-len(head)-len(key)-1) + "\n"
}

func TestSizeLimits(t *testing.T) {
	for n, want := range map[int]string{descriptor.WarnSize: "", descriptor.WarnSize + 1: "KIT0002", descriptor.MaxSize: "KIT0002"} {
		warnings, err := decode(t, padded(n)).Validate(descriptor.Authored)
		got := ""
		if len(warnings) == 1 {
			got = warnings[0].Code
		}
		if err != nil || got != want {
			t.Errorf("%d bytes: %v, %v", n, warnings, err)
		}
	}
	_, err := descriptor.Decode("kit.yaml", []byte(padded(descriptor.MaxSize+1)))
	if found := invalid(t, err); len(found) != 1 || found[0].Code != "KIT0001" || found[0].Path != "" {
		t.Errorf("got %v", found)
	}
	if len(err.Error()) > 4000 {
		t.Errorf("the error is drawn in %d bytes", len(err.Error()))
	}
}

// What grows on the way is judged again when it is published.
func TestPublishedSize(t *testing.T) {
	doc := decode(t, "schemaVersion: \"3\"\nkind: workload\nversion: \"1\"\n")
	var many []string
	for i := 0; len(many)*30 < descriptor.MaxSize; i++ {
		many = append(many, fmt.Sprintf("deb/package-number-%05d@1.2.3", i))
	}
	next, err := doc.WithProvides(many)
	if err != nil {
		t.Fatal(err)
	}
	_, err = next.Validate(descriptor.Published)
	if found := invalid(t, err); len(found) != 1 || found[0].Code != "KIT0001" {
		t.Errorf("got %d findings", len(found))
	}
	if next, err = doc.WithProvides(many[:len(many)/4]); err != nil {
		t.Fatal(err)
	}
	if warnings, err := next.Validate(descriptor.Published); err != nil || len(warnings) != 1 || warnings[0].Code != "KIT0002" {
		t.Errorf("got %v, %v", warnings, err)
	}
}

func TestDepth(t *testing.T) {
	nested := func(n int) string {
		return head + "capabilities: [{type: com.acme/x@1, config: {a: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "}}]\n"
	}
	const around = 4 // the list, the entry, the config, and the value itself
	decode(t, nested(descriptor.MaxDepth-around+1))
	_, err := descriptor.Decode("kit.yaml", []byte(nested(descriptor.MaxDepth-around+2)))
	if found := invalid(t, err); len(found) != 1 || found[0].Code != "KIT0008" {
		t.Errorf("got %v", found)
	}
	if _, err := descriptor.Decode("kit.yaml", []byte(strings.Repeat("[", 20_000))); err == nil {
		t.Error("20000 brackets: accepted")
	}
}

func TestAliasLimits(t *testing.T) {
	aliases := func(items, copies int, item string) string {
		return head + "capabilities: [{type: com.acme/x@1, config: {a: &a [" + strings.Repeat(item+", ", items) + "], b: [" + strings.Repeat("*a, ", copies) + "]}}]\n"
	}
	decode(t, aliases(99, descriptor.MaxAliasNodes/100, "x"))
	for what, text := range map[string]string{
		"values": aliases(99, descriptor.MaxAliasNodes/100+1, "x"),
		"bytes":  aliases(1, descriptor.MaxAliasBytes/100_000+1, strings.Repeat("x", 100_000)),
	} {
		_, err := descriptor.Decode("kit.yaml", []byte(text))
		if found := invalid(t, err); len(found) != 1 || found[0].Code != "KIT0009" {
			t.Errorf("%s: got %v", what, found)
		}
	}
}

// Behind a limit nothing is judged: what was not read would look like keys that repeat each other.
func TestNothingFollowsALimit(t *testing.T) {
	var b strings.Builder
	b.WriteString(head + "capabilities:\n- type: com.acme/x@1\n  config:\n    a0: &a0 [x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 20; i++ {
		fmt.Fprintf(&b, "    a%d: &a%d [%s]\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i-1), 9), ", "))
	}
	_, err := descriptor.Decode("kit.yaml", []byte(b.String()))
	if found := invalid(t, err); len(found) != 1 || found[0].Code != "KIT0009" {
		t.Errorf("got %v", found)
	}
}

// A key that YAML's readers would not find again in the published form is refused, as written and as an argument
// makes it.
func TestMaxKey(t *testing.T) {
	const quotes = 2
	text := head + "version: \"1\"\nargs: {k: {buildArg: K}}\ncapabilities:\n- type: com.acme/x@1\n  config:\n    ? %s\n    : 1\n"
	for key, fits := range map[string]bool{
		strings.Repeat("k", descriptor.MaxKey-quotes):       true,
		strings.Repeat("k", descriptor.MaxKey-quotes+1):     false,
		strings.Repeat("é", descriptor.MaxKey-quotes):       true,
		strings.Repeat("<", (descriptor.MaxKey-quotes)/6):   true, // JSON escapes it
		strings.Repeat("<", (descriptor.MaxKey-quotes)/6+1): false,
		"x" + strings.Repeat("\u00e9", descriptor.MaxKey-1): false,
	} {
		wants := func(err error, path string) {
			t.Helper()
			if fits && err != nil {
				t.Errorf("%d bytes: %v", len(key), err)
			}
			if fits {
				return
			}
			found := invalid(t, err)
			if len(found) != 1 || found[0].Code != "KIT0104" || found[0].Path != path {
				t.Errorf("%d bytes: got %v", len(key), found)
			}
		}
		doc, err := descriptor.Decode("kit.yaml", fmt.Appendf(nil, text, `"`+key+`"`))
		if wants(err, "capabilities[0].config"); err == nil {
			readsBack(t, doc)
		}
		doc, err = decode(t, fmt.Sprintf(text, `"${{ kit.args.k }}"`)).ExpandBuild(map[string]string{"k": key})
		if wants(err, "capabilities[0].config"); err == nil {
			readsBack(t, doc)
		} else if strings.Contains(err.Error(), key) {
			t.Errorf("%d bytes: the argument's value is in the message", len(key))
		}
	}
}

// readsBack sees to it that consumers, who decode YAML, find in the published JSON what it was made of.
func readsBack(t *testing.T, doc *descriptor.Document) {
	t.Helper()
	text := jsonOf(t, doc.Descriptor())
	back, err := descriptor.Decode("published", []byte(text))
	if err != nil {
		t.Error(err)
	} else if again := jsonOf(t, back.Descriptor()); again != text {
		t.Errorf("wrote %.200s, read %.200s", text, again)
	}
}

// Every character that an escape can bring into a descriptor survives publishing.
func TestPublishedCharacters(t *testing.T) {
	for _, escape := range []string{`\0`, `\e`, `\x7f`, `\x80`, `\x85`, `\x9f`, `\xa0`, `\u2028`, `\u202e`, `\ufeff`, `\ufffe`, `\uffff`, `\U0001F600`, `\U0010FFFF`} {
		doc := decode(t, head+"description: \"a"+escape+"b\"\ncapabilities: [{type: com.acme/x@1, config: {\"a"+escape+"b\": 1}}]\n")
		readsBack(t, doc)
		staged, err := doc.YAML()
		if err != nil {
			t.Errorf("%s: %v", escape, err)
			continue
		}
		back, err := descriptor.Decode("kit.yaml", staged)
		if err != nil || jsonOf(t, back.Descriptor()) != jsonOf(t, doc.Descriptor()) {
			t.Errorf("%s: the staged copy differs: %v", escape, err)
		}
	}
}

// What aliases make of a document is judged before it is published.
func TestAliasedSize(t *testing.T) {
	text := strings.Repeat("x", 40_000)
	doc := decode(t, head+"version: \"1\"\ncapabilities: [{type: com.acme/x@1, config: {a: &a "+text+", b: ["+strings.Repeat("*a, ", 20)+"]}}]\n")
	if _, err := doc.Validate(descriptor.Authored); err != nil {
		t.Error(err)
	}
	_, err := doc.Validate(descriptor.Published)
	if found := invalid(t, err); len(found) != 1 || found[0].Code != "KIT0001" {
		t.Errorf("got %v", found)
	}
}

// A file that is wrong everywhere is reported in bounded time and size.
func TestManyFindings(t *testing.T) {
	var b strings.Builder
	b.WriteString(head)
	for i := 0; b.Len() < descriptor.MaxSize-100; i++ {
		fmt.Fprintf(&b, "k%d: {}\n", i)
	}
	done := make(chan error, 1)
	go func() {
		_, err := descriptor.Decode("kit.yaml", []byte(b.String()))
		done <- err
	}()
	select {
	case err := <-done:
		// The warning about the size is one of the thousand, and no error.
		if found := invalid(t, err); len(found) != 999 {
			t.Errorf("%d findings", len(found))
		}
	case <-time.After(time.Minute):
		t.Fatal("the document is not judged within a minute")
	}
}

func TestNotUTF8(t *testing.T) {
	for _, text := range []string{head + "author: \xff\n", "\xff\xfek\x00"} {
		_, err := descriptor.Decode("kit.yaml", []byte(text))
		if found := invalid(t, err); len(found) != 1 || found[0].Code != "KIT0003" {
			t.Errorf("%q: got %v", text, found)
		}
	}
	_, err := descriptor.Decode("kit.yaml", []byte("\ufeff"+head+"author: é \xff\n"))
	if found := invalid(t, err); found[0].Start != (descriptor.Position{Line: 3, Column: 11}) {
		t.Errorf("got %v", found)
	}
	doc := decode(t, "\ufeff"+head+"version: v1\n")
	_, err = doc.Validate(descriptor.Authored)
	if found := invalid(t, err); found[0].Start != (descriptor.Position{Line: 3, Column: 10}) {
		t.Errorf("behind a byte order mark: %v", found)
	}
}
