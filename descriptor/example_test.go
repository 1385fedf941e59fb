package descriptor_test

import (
	"fmt"
	"os"

	"github.com/sbxkit/sbxkit/descriptor"
)

// One run shows every mistake at its place, with a way out where there is one.
func ExampleDocument_Validate() {
	src := []byte(`schemaVersion: "3"
kind: mixin
requires: ["node ^20"]
capabilities:
  - type: com.docker.sandbox/network-policy@1
    config:
      runtime:
        alow: [api.example.com]
`)
	doc, err := descriptor.Decode("kit.yaml", src)
	if err == nil {
		_, err = doc.Validate(descriptor.Authored)
	}
	fmt.Println(err)
	// Output:
	// kit.yaml:3:12: requires[0]: "node ^20" is neither a name nor a name with version constraints
	//   |
	// 3 | requires: ["node ^20"]
	//   |            ^
	// hint: "^" is not an operator here; write "node >= 20, < 21"
	//
	// kit.yaml:8:9: capabilities[0].config.runtime.alow: unknown key "alow"
	//   |
	// 8 |         alow: [api.example.com]
	//   |         ^
	// hint: did you mean "allow"?
}

// From the text of an author to what an artifact carries.
func Example_publish() {
	doc, err := descriptor.Decode("lamp.yaml", []byte(`schemaVersion: "3"
kind: mixin
args:
  version: {default: 1.4.0, buildArg: LAMP_VERSION}
provides: ["lamp@${{ kit.args.version }}"]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	values, err := doc.ResolveBuildArgs(map[string]string{"version": "1.5.0"})
	if err != nil {
		fmt.Println(err)
		return
	}
	published, err := doc.ExpandBuild(values)
	if err != nil {
		fmt.Println(err)
		return
	}
	warnings, err := published.Validate(descriptor.Published)
	if err != nil {
		fmt.Println(err)
		return
	}
	descriptor.Render(os.Stdout, published.Name(), published.Source(), warnings)
	text, err := published.Descriptor().JSON()
	fmt.Println(string(text), err)
	// Output:
	// {"schemaVersion":"3","kind":"mixin","provides":["lamp@1.5.0"],"args":{"version":{"default":"1.4.0","buildArg":"LAMP_VERSION"}}} <nil>
}

func ExampleRelation_SatisfiedBy() {
	r, err := descriptor.ParseRelation("python >= 3.11, < 4")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r, r.SatisfiedBy("python", "3.12.1"), r.SatisfiedBy("python", "4.0"), r.SatisfiedBy("python", ""))
	// Output: com.docker.kit/python <4,>=3.11 true false false
}
