package mixed

import "testing"

func TestPass(t *testing.T) {}

func TestSkip(t *testing.T) { t.Skip("no moon tonight") }

func TestParent(t *testing.T) {
	t.Run("good", func(t *testing.T) {})
	t.Run("bad", func(t *testing.T) {
		t.Run("deep", func(t *testing.T) { t.Error("the deep one") })
	})
	t.Run("off", func(t *testing.T) { t.Skip() })
}

func TestParentItself(t *testing.T) {
	t.Run("good", func(t *testing.T) {})
	t.Error("the parent itself")
}

func FuzzSeeds(f *testing.F) {
	f.Add("a")
	f.Add("b")
	f.Fuzz(func(t *testing.T, s string) {})
}
