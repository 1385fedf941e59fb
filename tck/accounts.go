package tck

import (
	"bytes"
	"iter"
	"strconv"
	"strings"
)

// maxID is the largest usable user or group id: the one above it means "no change" to chown.
const maxID = 1<<32 - 2

// account is a usable record of a passwd file.
type account struct {
	name     string
	uid, gid int64
}

// userSpec is the User of an image config, taken apart. The value is literal: a leading blank is
// part of the name.
type userSpec struct{ user, group string }

// parseUser cuts at the first colon; nothing behind it means no explicit group.
func parseUser(s string) userSpec {
	user, group, _ := strings.Cut(s, ":")
	return userSpec{user, group}
}

// findAccount gives the first usable record that user names: by uid when it is all digits, never by
// name then, so that a record named "1000" cannot pose as that uid.
func findAccount(passwd []byte, user string) (account, bool) {
	uid, numeric := int64(0), allDigits(user)
	if numeric {
		var ok bool
		if uid, ok = parseID(user); !ok {
			return account{}, false
		}
	}
	for f := range records(passwd, 7) {
		a := account{name: f[0]}
		var okUID, okGID bool
		a.uid, okUID = parseID(f[2])
		a.gid, okGID = parseID(f[3])
		if a.name == "" || !okUID || !okGID || !strings.HasPrefix(f[5], "/") {
			continue
		}
		if numeric && a.uid == uid || !numeric && a.name == user {
			return a, true
		}
	}
	return account{}, false
}

// findGroup gives the id of the first usable record of that name.
func findGroup(group []byte, name string) (int64, bool) {
	for f := range records(group, 4) {
		gid, ok := parseID(f[2])
		if f[0] != "" && f[0] == name && ok {
			return gid, true
		}
	}
	return 0, false
}

// records gives the lines of an account file that have exactly n fields, comments left out.
func records(file []byte, n int) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for line := range bytes.Lines(file) {
			text := strings.TrimSuffix(strings.TrimSuffix(string(line), "\n"), "\r")
			if strings.HasPrefix(text, "#") || strings.Count(text, ":") != n-1 {
				continue
			}
			if !yield(strings.Split(text, ":")) {
				return
			}
		}
	}
}

// allDigits is false for the empty text.
func allDigits(s string) bool {
	return s != "" && strings.Trim(s, "0123456789") == ""
}

// parseID reads a usable id; padding with zeros is fine.
func parseID(s string) (int64, bool) {
	if !allDigits(s) {
		return 0, false
	}
	id, err := strconv.ParseInt(s, 10, 64)
	return id, err == nil && id <= maxID
}
