// Command tool is all that the images of the tests hold: what their recipes run instead of a shell.
package main

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "tool:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 {
		return fmt.Errorf("usage: tool VERB PATH [ARG]")
	}
	verb, path, rest := args[0], args[1], append(args[2:], "")
	switch verb {
	case "write": // PATH TEXT
		return write(path, rest[0])
	case "env": // PATH NAME: the value of a variable
		return write(path, os.Getenv(rest[0]))
	case "copy": // PATH FROM
		data, err := os.ReadFile(rest[0])
		if err != nil {
			return err
		}
		return write(path, string(data))
	case "random": // PATH: other bytes in each run
		return write(path, rand.Text())
	case "remove": // PATH
		return os.Remove(path)
	case "owner": // PATH UID
		uid, err := strconv.Atoi(rest[0])
		if err != nil {
			return err
		}
		if err := os.MkdirAll(path, 0o755); err != nil {
			return err
		}
		return os.Chown(path, uid, uid)
	case "fail": // PATH: on purpose
		return fmt.Errorf("asked to fail with %s", path)
	}
	return fmt.Errorf("unknown verb %s", verb)
}

func write(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
