package kitbuild

import (
	"encoding/json"
	"testing"
)

func TestStamp(t *testing.T) {
	var got map[string]string
	if err := json.Unmarshal([]byte(Stamp()), &got); err != nil {
		t.Fatal(err)
	}
	if got["name"] != builderName || got["version"] == "" {
		t.Errorf("stamp %s lacks name or version", Stamp())
	}
}
