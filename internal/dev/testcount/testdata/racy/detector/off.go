//go:build !race

package detector

const On = false
