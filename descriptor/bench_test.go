package descriptor_test

import (
	"testing"

	"github.com/sbxkit/sbxkit/descriptor"
)

func BenchmarkDecodeValidate(b *testing.B) {
	src := []byte(sample(b))
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		doc, err := descriptor.Decode("kit.yaml", src)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := doc.Validate(descriptor.Authored); err != nil {
			b.Fatal(err)
		}
	}
}
