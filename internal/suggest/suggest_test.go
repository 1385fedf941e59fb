package suggest

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	verbs := []string{"validate", "version", "help", "completion"}
	for _, test := range []struct{ word, want string }{
		{"valdiate", "validate"},
		{"validat", "validate"},
		{"versoin", "version"},
		{"hlep", "help"},
		{"validate", ""}, // right already
		{"v", ""},        // too short to tell
		{"push", ""},
		{"", ""},
		{strings.Repeat("v", maxWord+1), ""},
	} {
		got, ok := Nearest(test.word, verbs)
		if ok != (test.want != "") || ok && got != test.want {
			t.Errorf("Nearest(%q) = %q, %v; want %q", test.word, got, ok, test.want)
		}
	}
	if got, ok := Nearest("tat", []string{"tag", "tap"}); ok {
		t.Errorf("two candidates are equally close, yet Nearest chose %q", got)
	}
}
