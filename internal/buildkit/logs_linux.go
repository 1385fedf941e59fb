package buildkit

import (
	"io"
	"strings"
	"sync"

	"github.com/sirupsen/logrus"
)

// The libraries log through one logger for the whole process. It is redirected for good: stragglers
// that speak after Close must not reach standard error either.
var (
	takeLogs sync.Once
	sinks    logSinks
)

// logSinks passes each log line on to the verbose engines that run.
type logSinks struct {
	mu   sync.Mutex
	next int
	to   map[int]func(string, ...any)
}

// add starts passing lines to logf until the returned function is called.
func (s *logSinks) add(logf func(string, ...any)) (remove func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.to == nil {
		s.to = map[int]func(string, ...any){}
	}
	id := s.next
	s.next++
	s.to[id] = logf
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.to, id)
	}
}

// Levels and Fire make logSinks a hook of the logger.
func (s *logSinks) Levels() []logrus.Level { return logrus.AllLevels }

func (s *logSinks) Fire(e *logrus.Entry) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, logf := range s.to {
		line := e.Message
		if err, ok := e.Data[logrus.ErrorKey].(error); ok {
			line += ": " + err.Error()
		}
		logf("builder: %s: %s", e.Level, strings.TrimSpace(line))
	}
	return nil
}

// captureLogs silences the libraries and, if verbose, sends what they say to logf.
func captureLogs(logf func(string, ...any), verbose bool) (release func()) {
	takeLogs.Do(func() {
		logrus.SetOutput(io.Discard)
		logrus.AddHook(&sinks)
	})
	if !verbose {
		return func() {}
	}
	return sinks.add(logf)
}
