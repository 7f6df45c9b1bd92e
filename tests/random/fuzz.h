/* SPDX-License-Identifier: Apache-2.0
 * The random tester: a random program under a random sequence of primitives,
 * legal and illegal.
 *
 * After each legal one the program is well-formed; at the end (and here and
 * there before) it is the same computation as at the start, in the residue
 * domain, with racing loops and declared regions checked; a refused one
 * leaves program and trace exactly as they were; and replaying the trace
 * gives the same program again.  A case is a function of (seed, number). */
#ifndef RANDOM_FUZZ_H
#define RANDOM_FUZZ_H

#include "backends/interp/interp.h"
#include "random/gen_program.h"
#include "vm/vm.h"

typedef struct fuzz_options {
  gen_options gen;
  uint32_t max_depth;    /* primitives applied; 0: 40 */
  uint32_t fault;        /* damage that is done on purpose; 0: none */
  bool every_step;       /* compare after every legal primitive */
  bool through_llvm;     /* also compile the result */
  /* The text of a device's target: results that bind threads are compiled for
   * it instead, and run; those for CUDA by the emulator.  NULL: none. */
  const char *device;
  /* A scheduler with a fault: how often it mattered.  Only cases in which it
   * did are looked at, and then at once.  NULL: there is none. */
  const uint64_t *hits;
  bool lowering;         /* it is lowering that has the fault */
  /* Gets the trace of a case that is wrong, and before each call the trace
   * with that call, for those that end the process; NULL: nothing. */
  char *note;
  size_t note_size;
  /* Drawn more often: primitives that refuse for this reason, and those that
   * this text names before a colon.  0, NULL: none. */
  uint32_t reason;
  const char *about;
} fuzz_options;

enum {
  FUZZ_MAX_PRIMS = 128,
  FUZZ_MAX_LIST = 8,
  FUZZ_MAX_STEPS = 4000000 /* of the interpreter, in one run */
};

/* What TVM's JSON cannot express, as vm/text/tvm_write.c says it. */
enum { FUZZ_TVM_REASONS = 11 };
extern const char *const fuzz_tvm_reasons[FUZZ_TVM_REASONS];

/* Comparisons that are not made, and why. */
typedef enum fuzz_skip {
  FUZZ_TOO_LONG,         /* given up: too many iterations */
  FUZZ_ROUNDED_LONG,     /*   with 16-bit floats, before it is lowered */
  FUZZ_NOT_LOWERED,      /* lowering says TESS_UNSUPPORTED, */
  FUZZ_LOWER_LIMIT,      /*   or TESS_LIMIT */
  FUZZ_NO_COMPILER,      /* compiled: not wanted, or not this case's turn */
  FUZZ_NATIVE_UNSUPPORTED, /* compiled: lowering says so for LLVM, */
  FUZZ_NATIVE_LIMIT,     /*   or that it is too much, */
  FUZZ_NOT_COMPILED,     /*   or compiling says TESS_UNSUPPORTED */
  FUZZ_SKIPS
} fuzz_skip;
extern const char *const fuzz_skip_names[FUZZ_SKIPS];

typedef struct fuzz_counts {
  uint64_t schedules, legal, refused, comparisons, through_llvm, wrong;
  uint64_t faults;       /* cases in which the damage could be done; calls
                          * that applied, samplers among them, and in which a
                          * fault mattered */
  uint64_t round_trips;  /* traces written and read back */
  /* Traces that TVM's JSON can express, and refusals of others by what it
   * cannot; their parts before are written and read back. */
  uint64_t through_tvm, not_tvm[FUZZ_TVM_REASONS];
  uint64_t skipped[FUZZ_SKIPS];
  uint64_t through_device;
  uint64_t any_integers; /* compiled, with inputs over their types' ranges */
  uint64_t to_the_bit;   /* compiled, with arithmetic that rounds */
  uint64_t lowered, halves; /* compared lowered; those with 16-bit floats */
  /* What was reached: applications and refusals of each primitive, in the
   * order of prims.def, and refusals for each reason. */
  uint64_t applied[FUZZ_MAX_PRIMS], declined[FUZZ_MAX_PRIMS];
  uint64_t reason[SCH_R_COUNT];
} fuzz_counts;

/* What a tensor intrinsic of the case works on. */
enum { FUZZ_INTRINS = 7 };
typedef struct fuzz_tile {
  tess_dtype t;
  int64_t size[3];
} fuzz_tile;

/* What became known of the calls that statements make in a run. */
enum { FUZZ_CALLS = 64, FUZZ_CALL_ARGS = 1 + GEN_MAX_DIM };
typedef struct fuzz_calls {
  uint64_t all;          /* which, and how often */
  uint64_t order, turns; /* of calls of one block; of the statements, */
  uint64_t always;       /*   those of them (bits) under no condition */
  uint64_t last;         /* statement that called */
  /* Of each statement: bits of its arguments.  Where those are the same, calls
   * keep their order; 0: none do. */
  uint32_t same[FUZZ_CALLS];
  bool many;             /* made by several threads: only `all` is looked at */
} fuzz_calls;

/* What cases leave to the next one. */
typedef struct fuzz {
  mem_heap heap;
  const fuzz_options *o;
  fuzz_counts counts;
  uint64_t seed, number;
  const char *again;     /* the trace that fuzz_again replays */
  const char *spoiled;   /* the operand that must not be accepted; or NULL */
  bool broken;           /* a checked build found the program malformed */
  bool enough;           /* the program has grown so much that it is to stay */
  rng r;
  ir_program base, before, damaged;
  vm_sched s;
  vm_trace trace_before, pool, shown;
  interp in;
  interp_expect expect;
  vm_machine replay;
  arena scratch, args;
  struct fuzz_native *native;
  strbuf what;           /* what the program is made of */
  strbuf report;         /* about what went wrong; else empty */
  /* Random variables to draw from. */
  vm_rv block, loop[32]; /* of the block in focus */
  uint32_t nloops;
  vm_rv seen[96];        /* any, some of them dead */
  uint32_t nseen;
  int64_t size[GEN_MAX_SIZES]; /* of the program's symbolic extents */
  fuzz_calls wanted, calls; /* of the base program, and of a run */
  fuzz_tile tile[FUZZ_INTRINS];
  uint32_t intrin;       /* the one that a tile was made for */
} fuzz;

void fuzz_init(fuzz *f);
void fuzz_free(fuzz *f);

/* One case.  TESS_OK: nothing wrong; TESS_MISMATCH: something is wrong, and
 * f->report says what; else the tester itself failed (memory). */
tess_status fuzz_case(fuzz *f, const fuzz_options *o, uint64_t seed,
                      uint64_t number);

/* The program of a case, or a smaller one (o->gen), under a trace as Lua.
 * TESS_REFUSED: it does not replay; else as fuzz_case. */
tess_status fuzz_again(fuzz *f, const fuzz_options *o, uint64_t seed,
                       uint64_t number, const char *trace);

/* ---- inside ------------------------------------------------------------- */

static inline uint32_t fuzz_below(fuzz *f, uint32_t n) {
  return (uint32_t)rng_below(&f->r, n);
}

/* How programs are run: with the sizes of this case. */
interp_options fuzz_run_options(const fuzz *f);
/* Notes that something is wrong: a line of the report. */
void fuzz_wrong(fuzz *f, const char *fmt, ...)
  __attribute__((format(printf, 2, 3)));

/* Every eighth case is a program whose arithmetic is exact, for the
 * compiler.  What a case is does not depend on the options: none of them
 * may decide whether something is drawn. */
static inline bool fuzz_is_exact(const fuzz *f) { return f->number % 8 == 0; }
/* Compiling takes long: so do these and as many others. */
enum { FUZZ_COMPILED = 4 };
static inline bool fuzz_is_compiled(const fuzz *f) {
  return f->number % FUZZ_COMPILED == 0;
}

/* Calls a primitive with operands drawn from what there is (fuzz_draw.c).
 * OK: it applied; REFUSED and the like: it did not, and may not have. */
tess_status fuzz_step(fuzz *f, const sch_prim **prim);
/* Is that among the reasons that it says it refuses for? */
bool fuzz_may_refuse(const sch_prim *p, uint32_t reason);
/* Calls this one; the program before is in f->before. */
tess_status fuzz_call(fuzz *f, const sch_prim *p, const vm_value *v);
/* The last call, of a primitive named so, changed the program in f->before:
 * handles stand for what they stood for, or are ended by it. */
bool fuzz_check_handles(fuzz *f, const char *prim);
/* Writes down the trace, with the call that is to come (or NULL). */
void fuzz_note(fuzz *f, const vm_call *c);
/* Notes what became of a call. */
void fuzz_count(fuzz *f, const sch_prim *p, tess_status st);
/* Calls a getter; *n outputs from the variable that is given, 0: refused. */
vm_rv fuzz_get(fuzz *f, const char *getter, vm_value operand, uint32_t *n);
/* What a variable stands for; 0: nothing that is alive. */
ir_stmt fuzz_stmt(const fuzz *f, vm_rv rv);
/* Iterations of a loop; 1 where that is no constant. */
int64_t fuzz_extent(const fuzz *f, vm_rv loop);
/* The block by its name, with the loops around it, is in focus. */
void fuzz_focus_on(fuzz *f, ir_stmt block);
/* An integer variable among some that are drawn; 0: none of them is one. */
vm_rv fuzz_any_int(fuzz *f);
/* One of the loops in focus, rarely something else; some of them. */
vm_rv fuzz_any_loop(fuzz *f);
vm_value fuzz_loops(fuzz *f);

/* What is known of a primitive (fuzz_hints.c). */
typedef vm_value fuzz_draw(fuzz *f, const vm_value *v);  /* v: those before */
typedef struct fuzz_hint {
  const char *prim;
  uint32_t weight;       /* tickets in the draw */
  bool keeps;            /* no loop's kind and no annotation is ever lost */
  bool (*suits)(const ir_program *p, ir_stmt block);    /* NULL: any does */
  bool all;              /* optional operands named here are never left out:
                          * they draw nothing by themselves */
  struct { const char *name; fuzz_draw *draw; } operand[6];
  /* Once it has applied; NULL: nothing. */
  void (*after)(fuzz *f, const vm_value *v, vm_rv first, uint32_t n);
} fuzz_hint;
extern const fuzz_hint fuzz_hints[];
const fuzz_hint *fuzz_hint_of(const sch_prim *p);
fuzz_draw *fuzz_hint_operand(const fuzz_hint *h, const char *operand);

/* Index maps, and what is given with them (fuzz_maps.c). */
fuzz_draw fuzz_layout, fuzz_iter_layout, fuzz_pad_value;
fuzz_draw fuzz_read_map, fuzz_write_map, fuzz_points, fuzz_ranges;

/* Annotations (fuzz_notes.c): keys and values to annotate by; what bears one,
 * and its key; how a block that was made copies. */
fuzz_draw fuzz_key, fuzz_note_value, fuzz_annotated, fuzz_its_key;
bool fuzz_is_annotated(const ir_program *p, ir_stmt block);
void fuzz_tell_how(fuzz *f, const vm_value *v, vm_rv first, uint32_t n);

/* fuzz_threads.c: threads in a loop that became blocks of them. */
void fuzz_bind_threads(fuzz *f, const vm_value *v, vm_rv first, uint32_t n);

/* fuzz_stages.c: what a finished schedule says of how it is to be lowered. */
void fuzz_stage(fuzz *f);

/* Operands of primitives that may change what is computed: such that they do
 * not, or are refused (fuzz_unsafe.c). */
fuzz_draw fuzz_read_side, fuzz_unfit_dtype, fuzz_no_side, fuzz_no_regions;
fuzz_draw fuzz_known_int, fuzz_its_value;
/* What a block hides is not overlooked: asked of the block v[0]. */
void fuzz_try_hidden(fuzz *f, const vm_value *v, vm_rv first, uint32_t n);

/* Windows (fuzz_windows.c): whether the block may make some; a loop over which
 * a consumer of the block in focus slides, or tiles of it (0: none); behind
 * calls that make them, and that let iterations run at once. */
bool fuzz_rolls(const ir_program *p, ir_stmt block);
vm_rv fuzz_window_loop(fuzz *f);
/* The inner of two loops into which it is split, of tiles that may overhang;
 * or itself. */
vm_rv fuzz_tiled(fuzz *f, vm_rv loop);
void fuzz_roll(fuzz *f, const vm_value *v, vm_rv first, uint32_t n);
void fuzz_roll_inside(fuzz *f, const vm_value *v, vm_rv first, uint32_t n);

/* A block that finds the greatest or least of some floats, for another
 * reduction; two loops of which the second depends on what the first finds
 * (fuzz_extremes.c). */
bool fuzz_finds_extreme(const ir_program *p, ir_stmt block);
fuzz_draw fuzz_extreme_loop, fuzz_dependent_loop;

/* Behind read_at: what it has made is copied again, perhaps where a loop is
 * split further (fuzz_copies.c), and told how to copy. */
void fuzz_copy_twice(fuzz *f, const vm_value *v, vm_rv first, uint32_t n);

/* Tensor intrinsics (fuzz_intrin.c): whether the case knows any; enters them
 * into its program; the Lua that declares them.  Operands of tensorize: a
 * tile, made by splits and a reorder, and the intrinsic it may be. */
bool fuzz_has_intrins(const fuzz *f);
void fuzz_add_intrins(fuzz *f, ir_program *p);
void fuzz_write_intrins(const fuzz *f, strbuf *to);
bool fuzz_may_be_intrin(const ir_program *p, ir_stmt block);
vm_value fuzz_tile_loop(fuzz *f, const vm_value *v);
vm_value fuzz_intrin(fuzz *f, const vm_value *v);

/* Makes one operand of a call one that must not be accepted
 * (fuzz_spoil.c). */
void fuzz_spoil(fuzz *f, const sch_prim *p, vm_value *v);
/* What must hold of a call that applied (fuzz_laws.c). */
bool fuzz_check_laws(fuzz *f, const sch_prim *prim);

/* The program lowered, in the residue domain; compiled, in native arithmetic
 * (fuzz_lower.c).  false: wrong, and reported. */
bool fuzz_check_lowered(fuzz *f);
bool fuzz_check_compiled(fuzz *f);
/* What the base program promises of its calls. */
void fuzz_begin_calls(fuzz *f);
/* A run under *o makes its calls known in f->calls, from nothing on. */
void fuzz_watch_calls(fuzz *f, interp_options *o);
/* p, which has run so, made those that the base program made, in an order
 * that it may have; else says why not. */
const char *fuzz_compare_calls(const fuzz *f, const ir_program *p);
/* The same for compiled code, of all that it calls while it runs. */
void fuzz_watch_compiled(void);
bool fuzz_compiled_calls(const fuzz *f);
void fuzz_end_native(fuzz *f);

/* The trace written as Lua, as JSON and as TVM's JSON, and read back, says the
 * same, is written the same again, and replays to the same program
 * (fuzz_trips.c). */
bool fuzz_check_trips(fuzz *f);
/* p computes what the base program does; false: no, and reported. */
bool fuzz_same_result(fuzz *f, const ir_program *p);
/* The program printed and read back has the same hash or, since conditions that
 * always hold go when it is read, computes the same and from then on has
 * (fuzz_listing.c). */
bool fuzz_check_listing(fuzz *f);
/* A decision in the trace that does not fit is mended to one that does. */
bool fuzz_check_mended(fuzz *f);

/* Damages the program in way `fault`; false: there is no place for it. */
bool fuzz_damage(fuzz *f, ir_program *p, uint32_t fault);
enum { FUZZ_FAULTS = 9 };
const char *fuzz_fault_text(uint32_t fault);

#endif
