package ociimage

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
)

func TestMaxSilence(t *testing.T) {
	if p, ok := network().(*patience); !ok || p.wait != MaxSilence || MaxSilence.String() != "3m0s" {
		t.Errorf("registries are met with %+v", network())
	}
}

// far is the other side of a request.
type far func(req *http.Request) (*http.Response, error)

func (f far) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// piecewise gives a byte at a time, each after a while, and then stops for good unless it may end.
type piecewise struct {
	ctx    context.Context
	pieces int
	gap    time.Duration
	ends   bool
}

func (p *piecewise) Read(b []byte) (int, error) {
	if p.pieces == 0 {
		if p.ends {
			return 0, io.EOF
		}
		<-p.ctx.Done()
		return 0, p.ctx.Err()
	}
	p.pieces--
	time.Sleep(p.gap)
	b[0] = 'x'
	return 1, nil
}

func (p *piecewise) Close() error { return nil }

// TestPatience runs in the time of a bubble, in which hours pass at once.
func TestPatience(t *testing.T) {
	const gap = MaxSilence - time.Second
	for _, c := range []struct {
		name   string
		upload int // pieces that the far side takes
		takes  bool
		answer piecewise
		pause  time.Duration // of our own between two reads
		silent bool
	}{
		{name: "nothing is answered", silent: true},
		{name: "what we send is not taken", upload: 5, silent: true},
		{name: "slow in both directions", upload: 100, takes: true, answer: piecewise{pieces: 100, gap: gap, ends: true}},
		{name: "the answer stops", takes: true, answer: piecewise{pieces: 5, gap: gap}, silent: true},
		{name: "we are slow", takes: true, answer: piecewise{pieces: 5, ends: true}, pause: 10 * MaxSilence},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				side := far(func(req *http.Request) (*http.Response, error) {
					for range c.upload {
						if _, err := req.Body.Read(make([]byte, 1)); err != nil {
							return nil, err
						}
						time.Sleep(gap)
					}
					if !c.takes {
						<-req.Context().Done()
						return nil, req.Context().Err()
					}
					body := c.answer
					body.ctx = req.Context()
					return &http.Response{StatusCode: http.StatusOK, Body: &body}, nil
				})
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "http://registry.example/", strings.NewReader(strings.Repeat("x", c.upload)))
				if err != nil {
					t.Fatal(err)
				}
				got := 0
				resp, err := (&patience{MaxSilence, side}).RoundTrip(req)
				if err == nil {
					for err == nil {
						var n int
						n, err = resp.Body.Read(make([]byte, 1))
						got += n
						time.Sleep(c.pause)
					}
					resp.Body.Close()
				}
				var silent *silenceError
				if c.silent {
					if !errors.As(err, &silent) {
						t.Errorf("got %v, want an end of patience", err)
					}
				} else if err != io.EOF || got != c.answer.pieces {
					t.Errorf("got %d pieces and %v", got, err)
				}
			})
		})
	}
}

// A caller that gives up is no silence of the other side.
func TestPatienceCancelled(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	stop()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://registry.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&patience{MaxSilence, far(func(req *http.Request) (*http.Response, error) {
		return nil, req.Context().Err()
	})}).RoundTrip(req)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestSilenceIsSaid(t *testing.T) {
	repo, err := name.NewRepository("registry.example/me/kit")
	if err != nil {
		t.Fatal(err)
	}
	if got := registryError(repo, &silenceError{MaxSilence}).Error(); got != "reach registry.example: nothing moved for 3m0s" {
		t.Errorf("got %q", got)
	}
}
