package user

import (
	"testing"

	"x.test/racy/detector"
	"x.test/racy/library"
)

func TestWithout(t *testing.T) {
	library.Nothing()
	if detector.On {
		t.Error("the race detector is on")
	}
}
