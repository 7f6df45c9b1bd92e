/* SPDX-License-Identifier: Apache-2.0
 * The reference interpreter: executes a program at any stage, from described to
 * lowered, exactly, and detects races, out-of-bounds accesses and reads of
 * uninitialized elements that compiled code shows only sometimes.
 *
 * Two value domains.  NATIVE is the arithmetic of ir/scalar.h.  RESIDUE
 * computes floats modulo a number (residue.h), integers and bools natively:
 * two programs that are the same computation agree there exactly, whatever the
 * types, in any order of summation.  (Constants are folded only where that is
 * exact: ir/fold.c.)
 *
 * Parallel, vectorized and thread-bound loops race: two iterations that access
 * one element, one of them writing, are an error (TESS_RACE) wherever it is and
 * whatever is written.  Reads of uninitialized elements and accesses out of
 * bounds are errors, too.  A buffer of a block's allocs is fresh at each entry
 * of its lifetime scope (ir_lifetime_scope); one of IR_ALLOCATE at each
 * execution of it.
 *
 * Threads.  Without barriers thread-bound loops are racing loops that join at
 * their end.  A program with a barrier runs them as a device does (LOCKSTEP):
 * the outermost one starts a kernel, every thread runs the whole kernel body, a
 * thread loop binds its variable to the thread's own index, and all threads of
 * a block reach the same barrier before any passes it.  There a buffer in a
 * shared scope has one instance per block of threads and its lifetime; others
 * allocated in the kernel are private to a thread, or to a warp where their
 * scope is "warp" or a fragment's.
 *
 * Warps.  The threads of a block in order, .x fastest, form warps of
 * IR_WARP_LANES lanes, the last one possibly fewer.  All lanes must reach a
 * loop bound to IR_WARP, whole warps only, with the same values of its live-in
 * variables; its body is executed once.  Barriers of scope "warp" and functions
 * of a warp (ir_fn_of_warp) diverge and reconverge lanes as their declarations
 * state; anything else is an error.
 *
 * Asynchronous copies.  What a thread stores to shared memory between
 * async_begin and async_commit is in flight until an async_wait of that thread
 * completes it: it counts as written only then, and before, no access to it and
 * no write to its source is allowed. */
#ifndef BACKENDS_INTERP_INTERP_H
#define BACKENDS_INTERP_INTERP_H

#include "base/error.h"
#include "base/thread.h"
#include "ir/edit.h"

/* An argument of the program that is run. */
typedef struct interp_arg { void *data; size_t bytes; } interp_arg;

typedef enum interp_domain { INTERP_NATIVE, INTERP_RESIDUE } interp_domain;

typedef enum interp_threads {
  INTERP_THREADS_AUTO, INTERP_FORK_JOIN, INTERP_LOCKSTEP
} interp_threads;

/* A host function, in the native domain: integers and floats as ir/scalar.h
 * holds them; false: there is no such function. */
typedef union interp_word { int64_t i; uint64_t u; double f; } interp_word;
typedef bool interp_extern(void *ud, const char *name, tess_dtype t,
                           uint32_t n, const interp_word *args,
                           interp_word *result);

typedef struct interp_options {
  interp_domain domain;
  interp_threads threads;
  uint64_t seed;           /* of the residue domain's hashes */
  uint64_t max_steps;      /* loop iterations; 0: 2^32 - 1, the most */
  size_t max_bytes;        /* of buffers; 0: 1 GiB */
  bool check_regions;      /* accesses must lie in their blocks' regions */
  uint32_t nsizes;         /* values of the function's symbolic extents, */
  const int64_t *sizes;    /*   in the order of ir_func.sizes */
  interp_extern *call;     /* NULL: none; in the residue domain called only for
                            * calls with side effects */
  void *ud;
  const thread_flag *stop; /* polled now and then; may be NULL */
} interp_options;

/* What went wrong. */
typedef enum interp_fault {
  INTERP_FINE,
  INTERP_RACE,             /* TESS_RACE: loop, iter, write; iter[0] is -1 where
                            * only the later one is known */
  INTERP_DIVERGENCE,       /* TESS_RACE: a barrier, or a warp-synchronous
                            * operation, not reached by all: iter */
  INTERP_IN_FLIGHT,       /* TESS_RACE: an element that a thread, iter[0],
                            * copies and has not waited for; write[1]; write[0]:
                            * of the copy's source */
  INTERP_LANES,            /* TESS_RACE: lanes of a warp that do not converge as
                            * required; iter: threads */
  INTERP_OUTSIDE,          /* TESS_BOUNDS: dim, at, lo, extent            */
  INTERP_UNWRITTEN,        /* TESS_UNWRITTEN: read before any write       */
  INTERP_REGION,           /* TESS_BOUNDS: outside the regions of `loop`,
                            * a block                                     */
  INTERP_DOMAIN,           /* TESS_BOUNDS: binding `dim` of a block gives
                            * `at`, not in lo .. lo + extent - 1          */
  INTERP_LIMIT,            /* TESS_LIMIT: steps or memory                 */
  INTERP_STOPPED,          /* TESS_CANCELLED: `stop` was raised           */
  INTERP_UNSUPPORTED,      /* TESS_UNSUPPORTED: what                      */
  INTERP_INVALID,          /* TESS_INVALID: what                          */
  INTERP_DIFFERS,          /* TESS_MISMATCH: value                        */
  INTERP_EFFECTS           /* TESS_MISMATCH: of external calls            */
} interp_fault;

/* Which iterations race: those of a loop, or of all thread loops of a kernel,
 * which `loop` is then the outermost of, numbered with .x fastest. */
typedef enum interp_group {
  INTERP_ITERATIONS, INTERP_BLOCKS, INTERP_WARPS, INTERP_THREADS
} interp_group;

typedef struct interp_error {
  tess_status code;
  interp_fault fault;
  ir_stmt stmt;            /* the statement that was executed; 0: none */
  ir_buf buf;              /* 0: none */
  int64_t element;         /* its number in row-major order, -1: none */
  ir_stmt loop;
  interp_group group;
  int64_t iter[2];         /* the earlier and the later iteration */
  bool write[2];
  uint32_t dim;
  int64_t at, lo, extent;
  interp_word value[2];    /* of the first and the second program */
  char what[240];
} interp_error;

/* The sentence, complete; `p` is the program that was run. */
void interp_error_text(const ir_program *p, const interp_error *e,
                       strbuf *out);

/* A machine; its memory is reused by the next run. */
typedef struct interp {
  mem_heap *heap;
  arena memory;
  ir_program prog;         /* the program run: a copy, to which lifetime scopes
                            * add expressions */
  struct code_unit *code;
  uint64_t effects;        /* in the residue domain: hash of the external calls
                            * with side effects of the last run, their counts
                            * and arguments; in any order */
  uint64_t steps;          /* loop iterations of the last run */
} interp;

void interp_init(interp *in, mem_heap *heap);
void interp_free(interp *in);

/* Runs the entry function.  args: one a parameter, dense row-major; elements
 * of the parameter's type, in the residue domain interp_word.  Parameters
 * that are not outputs hold what is given, and may be stored to.  What an
 * error leaves in the arguments is unspecified; elements that nobody writes
 * stay as they are. */
tess_status interp_run(interp *in, const ir_program *p, uint32_t nargs,
                       const interp_arg *args, const interp_options *o,
                       interp_error *e);

/* The first of the n elements of an input that is not what is declared of it;
 * -1: all are. */
int64_t interp_find_undeclared(arena *scratch, const ir_buf_rec *r, uint64_t n,
                               const interp_word *val);

/* ---- comparing (compare.c) ---------------------------------------------- */

/* A few values for inputs, so that comparisons hit equal operands; residues
 * drawn from the whole field never do (thresholds.c). */
enum { INTERP_MOST_FEW = 64 };
typedef struct interp_few {
  uint32_t n;              /* 0: none */
  double v[INTERP_MOST_FEW];
} interp_few;
/* Adds the values that distinguish programs that compare data: small numbers,
 * the constants that p compares with, and inputs for which a compared
 * expression takes these values; none where p compares no data. */
void interp_few_add(interp_few *few, const ir_program *p);
/* Is e data, that is, neither a constant nor an index? */
bool interp_is_data(const ir_program *p, ir_expr e);

/* The distribution of inputs (inputs.c): uniform; or, where few has any, those,
 * or with `alone` nothing but 0 or 1 and in one place few.v[alone - 1]; or with
 * `extreme` integers at the ends of their types; or with a period, peaks at
 * elements number peak, peak + period, .. beyond all others; or with `ends` 1
 * and 2 the least and the greatest value alone, and with 3 a mix of them. */
typedef struct interp_inputs {
  interp_few few;
  uint32_t alone;
  bool extreme;
  uint32_t period, peak;   /* peak < period */
  bool below;              /* the peaks are the least, not the greatest */
  uint32_t flat;           /* 1: peaks are the greatest value of all, others
                            * the least; above: others are few.v[flat - 2] */
  uint32_t ends;
} interp_inputs;
/* What an input may hold: least .. count - 1, where it is bounded, in the order
 * that `holds` (IR_HOLDS_*) says. */
typedef struct interp_range {
  int64_t least, count;    /* 0, 0 where it is not bounded */
  bool bounded;
  bool unproven;           /* some use of it may be out of bounds even so */
  uint8_t holds;
} interp_range;
/* Draws n elements of parameter `number`. */
void interp_draw(const interp_inputs *from, tess_dtype t, uint64_t seed,
                 uint32_t number, interp_range in, uint64_t n, uint64_t *out);
/* How many values p reduces to one by min, max and comparisons in a result,
 * less 1; 0: it does not select. */
uint32_t interp_choices(const ir_program *p, arena *scratch);
/* Variant k of inputs with one peak among that many consecutive values; the
 * period is a prime, so that a reduction over other strides mostly has a single
 * peak, too.  The ends come first: boundary iterations are what is mostly
 * forgotten.  With `few`, values compared with constants have peaks, too: on
 * both sides of all, then one of the few everywhere else.  false: there are no
 * more variants. */
bool interp_peaks(interp_inputs *in, const interp_few *few, uint32_t choices,
                  uint64_t k);

/* Expected results: what a program computes in the residue domain from inputs
 * drawn from a seed, to compare others with. */
typedef struct interp_expect {
  mem_heap *heap;
  arena memory;
  uint64_t seed;
  interp_inputs inputs;
  uint32_t choices;        /* what interp_choices says of the program */
  const interp_range *range; /* by parameter, where it is known; else NULL */
  uint32_t nparams;
  struct interp_param *param;
  uint64_t effects;        /* as in interp */
} interp_expect;

void interp_expect_init(interp_expect *x, mem_heap *heap);
void interp_expect_free(interp_expect *x);
/* The value of an extent with the sizes of *o; false: it depends on others. */
bool interp_extent(const ir_program *p, ir_expr e, const interp_options *o,
                   int64_t *v);
/* Draws the inputs and runs p.  `o` may be NULL; its domain and seed are
 * ignored. */
tess_status interp_expect_run(interp_expect *x, interp *in,
                              const ir_program *p, uint64_t seed,
                              const interp_options *o, interp_error *e);
/* Replaces the expected results by those of q, of the same parameters, on the
 * same inputs.  After an error another interp_expect_run is due. */
tess_status interp_expect_instead(interp_expect *x, interp *in,
                                  const ir_program *q,
                                  const interp_options *o, interp_error *e);
/* The range of each parameter's elements (index_range.c): what is declared of
 * it, else what its uses in indices, bindings and trip counts, also through
 * other buffers, admit by interval arithmetic.  One value where no bound is
 * found. */
void interp_index_ranges(const ir_program *p, arena *scratch,
                         interp_range *out);
/* That of one parameter. */
interp_range interp_index_range(const ir_program *p, ir_buf b,
                                arena *scratch);
/* Runs q on the same inputs; TESS_OK when all outputs agree, TESS_MISMATCH
 * with buffer, element and values, or what ended the run of q.  Parameters of
 * q may be flat, as lowering leaves them. */
tess_status interp_expect_check(interp_expect *x, interp *in,
                                const ir_program *q, const interp_options *o,
                                interp_error *e);

/* UNSUPPORTED where p leaves a buffer on what is drawn for its inputs, since no
 * range is known for one that indices depend on; *e names both.  A run that
 * exceeds the limits of *o says nothing, and is OK. */
tess_status interp_drawable(mem_heap *heap, const ir_program *p,
                            const interp_options *o, interp_error *e);

/* Runs and compares both on inputs of any values; of a few values, where the
 * programs compare data; of extreme ones, where there are integers; and with
 * peaks, where one of several values is selected.  *which (may be NULL): the
 * program that failed, 0 or 1. */
tess_status interp_equal(mem_heap *heap, const ir_program *p,
                         const ir_program *q, uint64_t seed,
                         const interp_options *o, interp_error *e, int *which);

#endif
