package kits_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sbxkit/sbxkit/internal/testenv"
)

const deepagents = "deepagents/deepagents.yaml"

func TestDeepagentsVersionIsOne(t *testing.T) {
	version, err := pinned(string(read(t, deepagents)))
	if err != nil {
		t.Fatal(err)
	}
	if version != "0.7.21" {
		t.Errorf("the kit pins %s; its pages are about 0.7.21", version)
	}
	readme := string(read(t, "deepagents/README.md"))
	if !strings.Contains(readme, "-t deepagents:"+version+" ") || !strings.Contains(readme, "out/deepagents "+version) {
		t.Errorf("README.md shows the commands with another version than %s", version)
	}
}

// Each pin is changed alone, in memory: the test above must notice every one.
func TestDeepagentsVersionChangedInOnePlaceIsNoticed(t *testing.T) {
	text := string(read(t, deepagents))
	for _, p := range pins {
		at := p.find.FindStringSubmatchIndex(text)
		if at == nil {
			t.Fatalf("%s: not found", p.name)
		}
		for _, other := range []string{"0.7.20", "0.7.21.1", ""} {
			if got, err := pinned(text[:at[2]] + other + text[at[3]:]); err == nil {
				t.Errorf("%s alone says %q and all seem to agree on %q", p.name, other, got)
			}
		}
		if _, err := pinned(text[:at[0]] + text[at[1]:]); err == nil {
			t.Errorf("%s is gone and nobody noticed", p.name)
		}
		if _, err := pinned(text + "\n" + text[at[0]:at[1]]); err == nil {
			t.Errorf("%s is there twice and nobody noticed", p.name)
		}
	}
}

func TestDeepagentsAsksForNoMoreThanItSays(t *testing.T) {
	k := load(t, deepagents)
	if k.Kind != "mixin" || len(k.Requires) != 0 {
		t.Errorf("kind %q, requires %q; want a mixin that requires nothing", k.Kind, k.Requires)
	}
	var types []string
	for _, c := range k.Capabilities {
		types = append(types, c.Type)
	}
	want := []string{
		"com.docker.sandbox/network-policy@1", "com.docker.sandbox/lifecycle@1", "com.docker.sandbox/agent-context@1",
	}
	if !slices.Equal(types, want) {
		t.Errorf("capabilities: got %q, want %q", types, want)
	}
	var n network
	if err := k.config("com.docker.sandbox/network-policy@1", &n); err != nil {
		t.Fatal(err)
	}
	if want := []string{"pypi.org", "files.pythonhosted.org"}; !slices.Equal(n.Install.Allow, want) {
		t.Errorf("install phase reaches %q, want %q", n.Install.Allow, want)
	}
	if want := []string{"host.docker.internal:12434", "localhost:12434"}; !slices.Equal(n.Runtime.Allow, want) {
		t.Errorf("runtime phase reaches %q, want %q", n.Runtime.Allow, want)
	}
}

func TestDeepagentsHooksAndFile(t *testing.T) {
	life := deepagentsLife(t)
	if len(life.Install) != 3 || len(life.Startup) != 0 || len(life.Files) != 1 {
		t.Fatalf("%d install hooks, %d startup hooks, %d files; want 3, 0, 1",
			len(life.Install), len(life.Startup), len(life.Files))
	}
	for i, h := range life.Install {
		if h.User != "1000" {
			t.Errorf("install[%d] runs as %q, want the agent's uid", i, h.User)
		}
		// Only the installer talks to the network, and it finds the proxy by these names alone.
		want := []string(nil)
		if i == 1 {
			want = []string{"HTTP_PROXY", "HTTPS_PROXY"}
		}
		if !slices.Equal(h.Env, want) {
			t.Errorf("install[%d] sees %q, want %q", i, h.Env, want)
		}
	}
	f := life.Files[0]
	if f.Path != "/home/agent/deepagents_quickstart.py" || f.Overwrite == nil || *f.Overwrite {
		t.Errorf("file %+v; want the quickstart, never overwritten", f)
	}
}

func deepagentsLife(t *testing.T) lifecycle {
	t.Helper()
	var life lifecycle
	if err := load(t, deepagents).config("com.docker.sandbox/lifecycle@1", &life); err != nil {
		t.Fatal(err)
	}
	return life
}

// run runs a program as a hook would, with nothing in its environment but what is given.
func run(t *testing.T, env []string, argv ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestDeepagentsGuardJudgesTheInterpreter(t *testing.T) {
	guard := deepagentsLife(t).Install[0].Command
	python := testenv.Tool(t, "python3")
	for _, c := range []struct {
		version string
		ok      bool
	}{{"(3, 10, 14)", false}, {"(3, 11, 0)", true}, {"(3, 14, 0)", true}, {"(4, 0, 0)", true}} {
		// A python3 that runs the guard's program as if it were of another version.
		bin := t.TempDir()
		write(t, filepath.Join(bin, "python3"), "#!/bin/sh\nexec '"+python+"'"+
			" -c \"import sys; sys.version_info = "+c.version+"; exec(sys.argv[1])\" \"$2\"\n", 0o755)
		out, err := run(t, []string{"PATH=" + bin + ":" + os.Getenv("PATH")}, "/bin/sh", "-c", guard)
		if (err == nil) != c.ok {
			t.Errorf("version %s: %v\n%s", c.version, err, out)
		}
		if !c.ok && !strings.Contains(out, "deepagents needs Python 3.11") {
			t.Errorf("version %s: the message does not say what is needed: %s", c.version, out)
		}
	}
	if out, err := run(t, []string{"PATH=" + t.TempDir()}, "/bin/sh", "-c", guard); err == nil {
		t.Errorf("no interpreter at all passes the guard: %s", out)
	}
}

func TestDeepagentsInstallerNamesItsPackages(t *testing.T) {
	bin := t.TempDir()
	write(t, filepath.Join(bin, "python3"), "#!/bin/sh\nprintf '%s\\n' \"$@\"\n", 0o755)
	out, err := run(t, []string{"PATH=" + bin}, "/bin/sh", "-c", deepagentsLife(t).Install[1].Command)
	want := "-m\npip\ninstall\n--break-system-packages\ndeepagents==0.7.21\nlangchain-openai\n"
	if err != nil || out != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}

func TestDeepagentsReReadComparesTheInstalledVersion(t *testing.T) {
	recheck := deepagentsLife(t).Install[2].Command
	testenv.Tool(t, "python3")
	path := "PATH=" + os.Getenv("PATH")
	for version, ok := range map[string]bool{"0.7.21": true, "0.7.20": false, "0.7.21.post1": false} {
		lib := t.TempDir()
		write(t, filepath.Join(lib, "deepagents-"+version+".dist-info", "METADATA"),
			"Metadata-Version: 2.1\nName: deepagents\nVersion: "+version+"\n", 0o644)
		out, err := run(t, []string{path, "PYTHONPATH=" + lib}, "/bin/sh", "-c", recheck)
		if (err == nil) != ok {
			t.Errorf("installed %s: %v\n%s", version, err, out)
		}
		if !ok && !strings.Contains(out, "installed "+version) {
			t.Errorf("installed %s: the message does not name it: %s", version, out)
		}
	}
	if out, err := run(t, []string{path}, "/bin/sh", "-c", recheck); err == nil {
		t.Errorf("nothing installed passes the check: %s", out)
	}
}

// The quickstart runs against two modules that stand in for the real ones and print what they were given.
func TestDeepagentsQuickstartPassesTheModel(t *testing.T) {
	python := testenv.Tool(t, "python3")
	work := t.TempDir()
	write(t, filepath.Join(work, "deepagents_quickstart.py"), deepagentsLife(t).Files[0].Content, 0o644)
	write(t, filepath.Join(work, "langchain_openai.py"), `
class ChatOpenAI:
    def __init__(self, **given):
        print("model", sorted(given.items()))
`, 0o644)
	write(t, filepath.Join(work, "deepagents.py"), `
class Agent:
    def invoke(self, state):
        print("asked", state["messages"][0]["role"])
        return {"messages": [type("Message", (), {"content": "the answer"})]}

def create_deep_agent(model, system_prompt):
    print("agent", type(model).__name__, bool(system_prompt))
    return Agent()
`, 0o644)
	env := append(recipeEnv(t), "PYTHONDONTWRITEBYTECODE=1")
	out, err := run(t, env, python, filepath.Join(work, "deepagents_quickstart.py"))
	want := "model [('api_key', 'dmr'), ('base_url', 'http://host.docker.internal:12434/engines/v1'), " +
		"('model', 'ai/qwen3'), ('temperature', 0)]\nagent ChatOpenAI True\nasked user\nthe answer\n"
	if err != nil || out != want {
		t.Errorf("got %v\n%s\nwant\n%s", err, out, want)
	}
}

// recipeEnv reads the variables that the recipe sets.
func recipeEnv(t *testing.T) []string {
	t.Helper()
	recipe := string(read(t, "deepagents/deepagents.dockerfile"))
	_, vars, found := strings.Cut(recipe, "\nFROM scratch\nENV ")
	if !found {
		t.Fatal("the recipe is not one ENV on scratch")
	}
	var env []string
	for _, word := range strings.Fields(strings.ReplaceAll(vars, "\\\n", "\n")) {
		env = append(env, strings.ReplaceAll(word, `"`, ""))
	}
	return env
}

func TestDeepagentsRecipeSetsFourVariables(t *testing.T) {
	want := []string{
		"OPENAI_BASE_URL=http://host.docker.internal:12434/engines/v1", "OPENAI_API_KEY=dmr",
		"DEEPAGENTS_MODEL=ai/qwen3", "LANGSMITH_TRACING=false",
	}
	if got := recipeEnv(t); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
