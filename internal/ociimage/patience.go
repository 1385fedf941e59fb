package ociimage

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"
)

// MaxSilence is how long a registry may send nothing, or take nothing, before its connection is given up. It is
// long because a registry may check a large blob before it answers.
const MaxSilence time.Duration = 3 * time.Minute

// silenceError ends a request to a registry that does nothing.
type silenceError struct{ wait time.Duration }

func (e *silenceError) Error() string { return fmt.Sprintf("nothing moved for %s", e.wait) }

// patience gives up requests whose other side stops moving. A slow registry is no reason: each byte starts the
// wait anew. The time that our own side spends between two reads of an answer does not count.
type patience struct {
	wait time.Duration
	next http.RoundTripper
}

func (p *patience) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	silent := &silenceError{p.wait}
	timer := time.AfterFunc(p.wait, func() { cancel(silent) })
	out := req.Clone(ctx)
	if req.Body != nil && req.Body != http.NoBody {
		out.Body = &movingBody{req.Body, timer, p.wait}
	}
	resp, err := p.next.RoundTrip(out)
	timer.Stop()
	if err != nil {
		if context.Cause(ctx) == silent {
			err = silent
		}
		cancel(nil)
		return nil, err
	}
	resp.Body = &patientBody{resp.Body, ctx, cancel, timer, silent}
	return resp, nil
}

// movingBody is what we send: each piece that is taken starts the wait anew.
type movingBody struct {
	io.ReadCloser
	timer *time.Timer
	wait  time.Duration
}

func (b *movingBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.wait)
	return b.ReadCloser.Read(p)
}

// patientBody is an answer, each of whose pieces has to come in time.
type patientBody struct {
	io.ReadCloser
	ctx    context.Context // of the request, to learn why a read failed
	cancel context.CancelCauseFunc
	timer  *time.Timer
	silent *silenceError
}

func (b *patientBody) Read(p []byte) (int, error) {
	b.timer.Reset(b.silent.wait)
	n, err := b.ReadCloser.Read(p)
	b.timer.Stop()
	if err != nil && err != io.EOF && context.Cause(b.ctx) == b.silent {
		err = b.silent
	}
	return n, err
}

func (b *patientBody) Close() error {
	b.timer.Stop()
	err := b.ReadCloser.Close()
	b.cancel(nil)
	return err
}
