package panics

import "testing"

func TestBefore(t *testing.T) {}

func TestPanic(t *testing.T) { panic("out of cheese") }
