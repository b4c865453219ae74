//go:build linux && !race

// Package queue keeps jobs in order.
package queue

import (
	"context"
	"sync"
)

// Limits of a queue.
const (
	// MaxJobs is how many jobs wait at most.
	MaxJobs = 100
	minJobs // never fewer
	a, b    = iota, "func fake() {}"
)

const Version string = "1.2"

var ErrFull = errors.New("queue: full")

var (
	registry = map[string]func(Job) error{"print": func(j Job) error { return nil }}
	mu       sync.Mutex
	x, y     int
)

var state struct {
	sync.Mutex
	jobs []Job
}

// Job is what is done.
type Job interface {
	context.Context
	~int | ~string
	// Run does it.
	Run(ctx context.Context, args ...string) (n int, err error)
	Name() string
}

type Handler func(ctx context.Context, job Job) error

type (
	// ID names a job.
	ID    = uint64
	Set[K comparable] map[K]struct{}
	entry struct {
		id   ID `json:"id"`
		next *entry
	}
	walker interface{ Walk(fn func(e *entry) bool) }
)

// Queue holds jobs.
type Queue[T Job, O Option | *Option] struct {
	sync.RWMutex
	*entry
	Set[ID]
	items, done []T // both
	handlers    map[string]func(T) error
	stats       struct {
		total int
	} `json:"stats"`
	_ [0]func()
}

//go:noinline
func New[T Job](size int, opts ...Option) (*Queue[T, Option], error) {
	type local struct{ n int }
	const limit = 3
	var f = func() {}
	return nil, nil
}

// Push adds a job.
//
//go:nosplit
func (q *Queue[T, O]) Push(
	ctx context.Context, // for how long
	job T,
	then func(T) (int, error),
) error {
	return nil
}

func (Handler) ServeJob(ctx context.Context, job Job) error { return nil }

func (s Set[K]) Größe() int { return len(s) }

//go:linkname nanotime runtime.nanotime
func nanotime() int64

func Map[K comparable, V, W any](m map[K]V, f func(V) W) map[K]W { return nil }

/*
init registers
the handlers.
*/
func init() {
	s := `
func fake() {}
`
	_ = s
}
