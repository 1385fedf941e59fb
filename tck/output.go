package tck

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
)

// Output is a verdict together with what a reader wants to know of the run that gave it. Its two
// forms, WriteText and WriteJSON, say the same.
type Output struct {
	Tool     string // the program's name
	Version  string // of the program; "dev" for an unreleased one
	Revision string // of the program's source; may be empty
	Target   string // what was judged, as the user named it
	Verdict  *Verdict
}

// suite names this family of checks in the output, beside ones that judge something else.
const suite = "validate"

type jsonOutput struct {
	Tool     string       `json:"tool"`
	Version  string       `json:"version"`
	Revision string       `json:"revision,omitempty"`
	Suite    string       `json:"suite"`
	Target   string       `json:"target"`
	Digest   string       `json:"digest,omitempty"`
	Conforms bool         `json:"conforms"`
	Results  []jsonResult `json:"results"`
}

type jsonResult struct {
	Platforms []string          `json:"platforms,omitempty"`
	Digests   map[string]string `json:"digests,omitempty"` // by platform, or by "" without one
	Conforms  bool              `json:"conforms"`
	Summary   Summary           `json:"summary"`
	Findings  []jsonFinding     `json:"findings"`
	Passed    []string          `json:"passed"`
}

type jsonFinding struct {
	Severity    Severity `json:"severity"`
	Check       string   `json:"check"`
	Requirement string   `json:"requirement"`
	Detail      string   `json:"detail"`
	Spec        string   `json:"spec,omitempty"`
}

// WriteJSON writes one indented JSON document.
func (o *Output) WriteJSON(w io.Writer) error {
	doc := jsonOutput{
		Tool: o.Tool, Version: o.Version, Revision: o.Revision, Suite: suite, Target: o.Target, Digest: o.Verdict.Digest,
		Conforms: o.Verdict.Conforms(),
		Results:  []jsonResult{},
	}
	for _, r := range o.Verdict.Results {
		result := jsonResult{
			Platforms: r.Platforms,
			Digests:   r.Digests,
			Conforms:  r.Report.Conforms(),
			Summary:   r.Report.Summary(),
			Findings:  []jsonFinding{},
			Passed:    []string{},
		}
		for _, f := range r.Report.Findings {
			result.Findings = append(result.Findings,
				jsonFinding{f.Severity, f.Name, f.Requirement, f.Detail, specLink(f.Requirement)})
		}
		for _, c := range r.Report.passed() {
			result.Passed = append(result.Passed, c.Name)
		}
		doc.Results = append(doc.Results, result)
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // the document is read by people and programs, never put into a page
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// passed lists the checks without a finding.
func (r *Report) passed() []Check {
	var all []Check
	for _, c := range r.Roster {
		if verdict, _ := r.Verdict(c.Name); verdict == Passed {
			all = append(all, c)
		}
	}
	return all
}

// specification is where the pages stand that the links lead to.
const specification = "https://github.com/docker/sandbox-kit-spec/blob/main/docs/spec/"

// specAnchors maps the clauses of the specification's main page that checks stand for to their headings.
var specAnchors = map[string]string{
	"§9.3": "93-annotations",
	"§9.5": "95-merging-a-set",
	"§9.6": "96-derived-provides",
	"§10":  "10-the-oci-layout",
}

// specPages lists the capability types that have a page of their own and that checks stand for.
var specPages = []string{"sbx@1", "agent-context@1", "agent-skill@1"}

// specLink gives the address of the text that states a requirement, empty when it cannot be placed.
func specLink(requirement string) string {
	id, _, _ := strings.Cut(requirement, "/")
	if clause, ok := strings.CutPrefix(id, "SPEC-v3 "); ok {
		if anchor, ok := specAnchors[clause]; ok {
			return specification + "SPEC-v3.md#" + anchor
		}
		return ""
	}
	for _, page := range specPages {
		if page == id {
			return specification + "capabilities/com.docker.sandbox/" + page + ".md"
		}
	}
	return ""
}
