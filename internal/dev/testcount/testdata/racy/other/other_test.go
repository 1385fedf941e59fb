package other

import (
	"testing"

	"x.test/racy/detector"
)

func TestWith(t *testing.T) {
	if !detector.On {
		t.Error("the race detector is off")
	}
}
