// Command runner is what the tests run inside builds: a static program that needs no base image.
package main

import (
	"fmt"
	"os"
	"strings"
	"time"
)

func main() {
	switch args := os.Args[1:]; args[0] {
	case "write": // write FILE TEXT
		if err := os.WriteFile(args[1], []byte(args[2]), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "append": // append FILE TEXT
		b, err := os.ReadFile(args[1])
		if err == nil {
			err = os.WriteFile(args[1], append(b, args[2]...), 0o644)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "say": // say TEXT
		fmt.Println(args[1])
	case "block": // block MARK...: says so and does not end by itself
		fmt.Println("blocking", strings.Join(args[1:], " "))
		time.Sleep(time.Hour)
	case "fail": // fail: says why on both streams
		fmt.Println("to stdout")
		fmt.Fprintln(os.Stderr, "to stderr")
		os.Exit(3)
	}
}
