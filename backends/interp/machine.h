/* SPDX-License-Identifier: Apache-2.0
 * The virtual machine of the interpreter: memory, race detection, kernels.
 *
 * Race detection by timestamps.  A clock ticks when a racing loop starts, at
 * each of its iterations, and when a buffer is allocated; every access records
 * the time.  For each open racing loop the machine keeps the start time of the
 * loop and of its current iteration, so that an earlier access at time t
 * happened
 *
 *      before the loop        t < start         ordered, at this level
 *      in another iteration   start <= t < iter  a race
 *      in this iteration      iter <= t          look one level further in
 *
 * An element keeps the time of its last write, and of its last read since.  Of
 * the reads before that one a set of bits suffices: at which of the levels open
 * then there was a read in another iteration.  A barrier starts a new round of
 * the threads of a block, which is a racing loop of its own, so what threads
 * did before it is ordered.
 *
 * With warps, a round is a racing loop over them, and the lanes of one share an
 * iteration from one memory-ordering point to the next.  In between they are
 * serial between exchanges of values, so that a lane has several iterations,
 * which do not race with each other. */
#ifndef BACKENDS_INTERP_MACHINE_H
#define BACKENDS_INTERP_MACHINE_H

#include "backends/interp/code.h"

typedef struct machine_cell {
  uint32_t writer;       /* time of the last write */
  uint32_t reader;       /* time of the last read since then, 0: none */
  uint32_t other;        /* a read in another iteration than that one */
  uint32_t levels;       /* levels with such reads */
} machine_cell;

typedef struct machine_buf {
  interp_word *val;
  uint32_t *wrote;       /* CODE_PLAIN: time of the last write, else NULL */
  machine_cell *cell;    /* CODE_RACING, else NULL */
  uint32_t birth;        /* allocation time: earlier writes are of a former
                          * lifetime */
  machine_cell *atomic;  /* the atomic updates since the last write, as
                          * readers; or NULL */
  uint32_t *in_flight;  /* element -> thread + 1 whose copy is in flight; or
                          * NULL */
  uint64_t size, room;   /* elements in use, allocated */
} machine_buf;

/* The copies in flight of a thread (copies.c). */
typedef struct machine_copy {
  const code_access *a;
  uint64_t at;
  const code_access *from; /* the last load; NULL: of an input */
  uint64_t from_at;
  uint32_t group, time;
} machine_copy;
typedef struct machine_copies {
  bool open;
  uint32_t thread, groups; /* committed */
  const code_access *from; /* while open: the last load */
  uint64_t from_at;
  uint32_t n, room;
  machine_copy *v;         /* oldest first */
} machine_copies;

typedef struct machine_level {
  uint32_t start, iter;
  ir_stmt loop;
  interp_group group;    /* what its iterations are */
  int64_t lo;            /* value of the variable in its first iteration */
  uint32_t lanes;        /* of a warp, serial: iteration i is that of lane i %
                          * lanes; 0: all iterations differ */
  uint32_t log;          /* start times of its iterations, from here in
                          * `times` */
} machine_level;

typedef struct machine {
  const code_unit *k;
  const interp_options *o;
  interp_error *e;
  mem_heap *heap;
  arena *memory;
  machine_buf *buf;
  uint32_t clock;
  uint32_t top;          /* `iter` of the innermost level, 0: none */
  uint32_t depth;
  machine_level level[CODE_LEVELS];
  code_times *times;
  uint64_t steps, bytes; /* remaining budget */
  machine_copies *copies; /* of the running thread; NULL: none */
  uint64_t effects;      /* see interp.effects */
} machine;

typedef enum machine_stop {
  MACHINE_END, MACHINE_BARRIER,
  MACHINE_WARP,          /* at a warp-synchronous operation */
  MACHINE_FAULT
} machine_stop;

/* Runs from *pc with registers R until the end, a barrier or a fault; *pc:
 * behind the barrier. */
machine_stop machine_exec(machine *m, interp_word *R, uint32_t *pc);

/* ---- kernels (kernel.c) ------------------------------------------------- */

/* A kernel in execution.  A thread is its registers and its program counter. */
typedef struct machine_launch {
  machine *m;
  const code_kernel *g;
  uint32_t nregs, start;
  int64_t extent[IR_THREAD_COUNT]; /* 0: the tag is not bound */
  int64_t blocks, threads;
  interp_word *regs;       /* of all threads */
  uint32_t *pc;
  uint8_t *stop;           /* why it stopped (machine_stop) */
  uint32_t nown, nheld;    /* number of buffers private to a thread, a warp */
  uint32_t *own, *held;    /* which, in code.bufs */
  machine_copies *copies;  /* of all threads */
  machine_buf *mine;       /* of all threads */
  machine_buf *ours;       /* of all warps */
} machine_launch;
static inline interp_word *machine_regs(const machine_launch *x, int64_t t) {
  return x->regs + (uint64_t)t * x->nregs;
}

/* Runs thread t from its program counter to its next stop. */
machine_stop machine_thread(machine_launch *x, int64_t t);
/* Reports that thread t stopped where thread `first` did not. */
void machine_diverged(machine_launch *x, int64_t first, int64_t t);
/* Runs the lanes of warp w until each reached a barrier of the block, or the
 * end (warp.c); false: fault. */
bool machine_warp(machine_launch *x, int64_t w);

/* Runs all blocks of threads of a kernel; its code starts at `pc`. */
machine_stop machine_kernel(machine *m, const code_kernel *g,
                            const interp_word *R, uint32_t pc);

/* ---- buffers (memory.c) ------------------------------------------------- */

/* Allocates buffer i with the extents in R; false: fault. */
bool machine_alloc(machine *m, uint32_t i, const interp_word *R,
                   ir_stmt s);
/* Reserves `size` elements in *b under the guard; false: fault. */
bool machine_room(machine *m, machine_buf *b, uint64_t size, code_guard g,
                  ir_buf buf, ir_stmt s);
/* Zeroed memory within the byte budget; NULL: fault. */
void *machine_memory(machine *m, uint64_t bytes, ir_buf buf, ir_stmt s);

/* ---- races (race.c) ----------------------------------------------------- */

/* The next tick; false when there is no next one: fault. */
bool machine_tick(machine *m, ir_stmt s);
bool machine_enter(machine *m, ir_stmt loop, int64_t lo);
bool machine_iterate(machine *m);
void machine_leave(machine *m);

/* The value of the loop's variable at time t; -1 when that is not known. */
int64_t machine_value_at(const machine *m, uint32_t d, uint32_t t);

/* Checks and records an access to element `at`; false: fault. */
bool machine_read(machine *m, const code_access *a, uint64_t at);
bool machine_write(machine *m, const code_access *a, uint64_t at);
/* The same for a read and a write at once, which does not race with others of
 * the kind. */
bool machine_update(machine *m, const code_access *a, uint64_t at);

/* ---- copies (copies.c) -------------------------------------------------- */

/* Records the source of a copy; NULL: an element that is never written. */
static inline void machine_take(machine *m, const code_access *a,
                                uint64_t at) {
  if (!m->copies || !m->copies->open) return;
  m->copies->from = a;
  m->copies->from_at = at;
}
/* Marks the element just stored as in flight; false: fault. */
bool machine_send(machine *m, const code_access *a, uint64_t at);
/* OP_ASYNC; false: fault. */
bool machine_async(machine *m, ir_fn fn, int64_t left, ir_stmt s);

/* ---- faults (fault.c) --------------------------------------------------- */

/* Spends `n` steps, polling `stop` every so often; false: fault. */
enum { MACHINE_LOOK = 1 << 16 };
bool machine_steps_slowly(machine *m, uint64_t n, ir_stmt s);
static inline bool machine_steps(machine *m, uint64_t n, ir_stmt s) {
  uint64_t left = m->steps - n;
  if (m->steps < n || m->steps / MACHINE_LOOK != left / MACHINE_LOOK)
    return machine_steps_slowly(m, n, s);
  m->steps = left;
  return true;
}
void machine_fault(machine *m, interp_error e);
void machine_limit(machine *m, ir_stmt s, ir_buf buf, const char *what);
/* Index `dim` of access a has value `at`, its extent is `extent`. */
void machine_outside(machine *m, const code_access *a, uint32_t dim,
                     int64_t at, int64_t extent);
void machine_unwritten(machine *m, const code_access *a, uint64_t at);
void machine_in_flight(machine *m, const code_access *a, uint64_t at,
                        bool writes);
/* The source of copy `from` was overwritten before the copy completed. */
void machine_overtaken(machine *m, const code_access *from, uint64_t at);
/* The earlier access at time t raced at level d; t 0: not known. */
void machine_race(machine *m, const code_access *a, uint64_t at, uint32_t d,
                  uint32_t t, bool wrote, bool writes);
/* Whether the indices of access a lie in the regions; false: fault. */
bool machine_regions(machine *m, const code_access *a, const interp_word *R,
                     uint64_t at);

#endif
