/* SPDX-License-Identifier: Apache-2.0
 * Schedules: the primitives, and queries about programs.  Included by
 * tessera.h, whose first page holds for this part, too. */
#ifndef TESSERA_SCHEDULE_H
#define TESSERA_SCHEDULE_H

#include <tessera/describe.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- schedules ---------------------------------------------------------- */

typedef uint32_t tess_rv;       /* a random variable of one schedule; 0: none */

typedef enum tess_value_kind {
  TESS_V_NIL, TESS_V_BOOL, TESS_V_INT, TESS_V_REAL, TESS_V_STR, TESS_V_RV,
  TESS_V_AUTO, TESS_V_LIST, TESS_V_DICT, TESS_V_OP,
  TESS_V_INTS, TESS_V_REALS, TESS_V_RVS
} tess_value_kind;
/* An operand.  Lists point to n elements of the caller's (DICT: alternating
 * keys and values; OP: s names the operator, list its two operands).  INTS,
 * REALS and RVS are lists whose n elements, int64_t, double or tess_rv, s
 * points to; only arguments are such. */
typedef struct tess_value {
  int32_t kind;
  uint32_t n;
  int64_t i;                    /* BOOL, INT */
  double f;                     /* REAL */
  const char *s;                /* STR, OP */
  tess_rv rv;                   /* RV */
  const struct tess_value *list;/* LIST, DICT, OP */
} tess_value;
typedef struct tess_arg { const char *name; tess_value value; } tess_arg;

typedef enum tess_rv_kind {
  TESS_RV_NONE, TESS_RV_BLOCK, TESS_RV_LOOP, TESS_RV_INT
} tess_rv_kind;

/* A schedule of the program's entry function, which it does not change; the
 * target, which may be NULL, has the facts that modules ask for, and `seed`
 * determines what is sampled.  NOMEM, LIMIT. */
TESS_API tess_status tess_schedule_new(tess_program *p, tess_target *target,
                                       uint64_t seed,
                                       TESS_GIVE tess_schedule **out);
TESS_API void tess_schedule_free(TESS_TAKE tess_schedule *s);
/* An independent copy, with the same random variables. */
TESS_API tess_status tess_schedule_copy(tess_schedule *s,
                                        TESS_GIVE tess_schedule **out);
/* Where the next instructions come from, for traces and errors. */
TESS_API void tess_schedule_place(tess_schedule *s, const char *file,
                                  uint32_t line);
/* Perform and record one primitive, operands by name.  *nout gets the number
 * of outputs, of which at most `max` are written to out: they are numbered
 * consecutively, so that the first determines all.  With list_out not NULL,
 * *list_out says whether they are one list. */
TESS_API tess_status tess_schedule_call(tess_schedule *s, const char *prim,
    uint32_t nargs, const tess_arg *args, uint32_t max, tess_rv *out,
    uint32_t *nout, int *list_out);
/* Would it be accepted?  TESS_OK or what calling it would return. */
TESS_API tess_status tess_schedule_can(tess_schedule *s, const char *prim,
                                       uint32_t nargs, const tess_arg *args);
/* The kind of a random variable; TESS_RV_NONE for one that does not exist. */
TESS_API tess_rv_kind tess_schedule_rv_kind(tess_schedule *s, tess_rv rv);
/* The value of an integer variable; records a guard in sketch mode.  TYPE for
 * a variable of another kind. */
TESS_API tess_status tess_schedule_get_int(tess_schedule *s, tess_rv rv,
                                           int64_t *out);
/* Do two variables refer to the same block or loop now?  In sketch mode a guard
 * is recorded where what was sampled may decide that.  Variables of what is
 * gone, and integers, are the same only if they are one variable. */
TESS_API tess_status tess_schedule_is_same(tess_schedule *s, tess_rv a,
                                           tess_rv b, int *out);
/* The value of a random variable as text, for people. */
TESS_API tess_status tess_schedule_rv_text(tess_schedule *s, tess_rv rv,
                                           TESS_GIVE char **out);
/* Facts of a loop or block. */
typedef struct tess_loop_info {
  uint32_t struct_size;         /* sizeof(tess_loop_info) */
  int32_t iter_type;            /* tess_iter_kind of what it drives; -1 mixed */
  const char *name, *kind, *thread;  /* kind: serial, parallel, ... */
  int64_t extent;               /* -1: not constant */
} tess_loop_info;
/* is_spatial: all its iters are, and it is not the root.  has_select: some
 * value that it computes is chosen by a condition, as padding is.  has_call: it
 * calls a function far more expensive than arithmetic: exp, log, tanh,
 * pow and the like, or one of the host's.  reuses_in_reduction: it reads again,
 * for other spatial iterations, what changes in the course of its reduction.
 * loops: of each iter, which of the loops around the block, counted from 0,
 * outermost first, alone binds it; -1: none or several do. */
typedef struct tess_block_info {
  uint32_t struct_size;         /* sizeof(tess_block_info) */
  uint32_t nreads;
  const char *name;
  uint32_t nwrites, niters;
  int32_t is_reduction, is_spatial, is_output, needs_multi_level_tiling;
  tess_iter_kind iters[16];
  int32_t has_select, has_call;
  int32_t loops[16];
  int32_t reuses_in_reduction, reserved;
} tess_block_info;
/* DEAD when the loop or block has been removed by a later primitive, TYPE when
 * the variable is of another kind; texts live until the schedule's next
 * call. */
TESS_API tess_status tess_schedule_loop_info(tess_schedule *s, tess_rv loop,
                                             tess_loop_info *out);
TESS_API tess_status tess_schedule_block_info(tess_schedule *s, tess_rv block,
                                              tess_block_info *out);
/* An estimate of the operations and stores of one execution of a loop or
 * block, with the variables of enclosing loops at half of their range; -1
 * where it depends on sizes or data. */
TESS_API tess_status tess_schedule_work(tess_schedule *s, tess_rv rv,
                                        int64_t *out);
/* Would splitting the reduction of a block itself pay, by rfactor or over
 * threads?  The block is an untiled reduction, alone in loops of constant
 * extents that are its iters; one that needs multi-level tiling has fewer
 * spatial than reduction iterations and no more than max_spatial, another has
 * more than min_reduce reduction iterations (MetaSchedule's
 * NeedsRFactorOrCrossThreadReduction). */
TESS_API tess_status tess_schedule_needs_rfactor(tess_schedule *s,
    tess_rv block, int64_t max_spatial, int64_t min_reduce, int *out);
/* The integer variable that was a loop's factor when split made it; 0: it was a
 * number, the open one, or an expression, or no split made the loop. */
TESS_API tess_status tess_schedule_factor(tess_schedule *s, tess_rv loop,
                                          tess_rv *factor);
/* How many elements of its read (or written) buffer number `index` a block can
 * access in one iteration of a loop around it (0: while the program runs): the
 * size of the box around them; -1 where it is not constant. */
TESS_API tess_status tess_schedule_footprint(tess_schedule *s, tess_rv block,
    int write, uint32_t index, tess_rv loop, int64_t *elements);
/* The iters of a block that index its read (or written) buffer number
 * `index`, as a bit mask: bit i for iter i. */
TESS_API tess_status tess_schedule_access(tess_schedule *s, tess_rv block,
                                          int write, uint32_t index,
                                          uint64_t *iters);
/* The same buffer, and for each of its dimensions the iter that is its whole
 * index, -1 where the index is any other expression; and how long it is, -1
 * where that is not constant. */
typedef struct tess_access_info {
  uint32_t struct_size;         /* sizeof(tess_access_info) */
  uint32_t ndim;
  const char *buffer;
  int32_t dims[16];             /* of the first 16 dimensions */
  tess_dtype dtype;
  uint32_t reserved;
  int64_t shape[16];
  const char *scope;            /* of the buffer: "global", "shared", .. */
} tess_access_info;
TESS_API tess_status tess_schedule_access_info(tess_schedule *s, tess_rv block,
                                               int write, uint32_t index,
                                               tess_access_info *out);
/* An annotation's value as JSON text, NULL when absent. */
TESS_API tess_status tess_schedule_annotation(tess_schedule *s, tess_rv rv,
    const char *key, TESS_GIVE char **json);
/* What the block stores, as JSON text: numbers, and for all else a list of the
 * operation, as the program's text has it, and its operands: ["load", "A"],
 * ["cast", "int8", x], ["max", x, y], ["select", c, x, y].  NULL where the
 * block has no store, or several. */
TESS_API tess_status tess_schedule_stored_value(tess_schedule *s, tess_rv block,
                                                TESS_GIVE char **json);
/* Sketch mode: reading a sampled value records a guard. */
TESS_API void tess_schedule_sketch_mode(tess_schedule *s, int on);
TESS_API tess_target *tess_schedule_target(tess_schedule *s); /* borrowed */
/* Snapshots. */
TESS_API tess_status tess_schedule_program(tess_schedule *s,
                                           TESS_GIVE tess_program **out);
TESS_API tess_status tess_schedule_trace(tess_schedule *s,
                                         TESS_GIVE tess_trace **out);

/* ---- the primitives, as data -------------------------------------------- */

typedef struct tess_prim_operand {
  uint32_t struct_size;         /* sizeof(tess_prim_operand) */
  int32_t required;
  const char *name, *help;
  const char *kind;             /* "BLOCK" "LOOP" "NODE" "BLOCKS" "LOOPS" "INT"
                                 * "BOOL" "REAL" "STR" "INTS" "REALS" "EXPR"
                                 * "FACTORS" "VALUE" "BUFFER" "INDEX_MAP"
                                 * "FILL" "DTYPE" "VAR" "VARS" */
  const char *role;             /* "in" "attr" "decision" "out" */
  const char *default_text;     /* "" when required */
} tess_prim_operand;
typedef struct tess_prim_info {
  uint32_t struct_size;         /* sizeof(tess_prim_info) */
  uint32_t noperands;
  const char *name, *summary, *rewrite, *details, *example;
  int32_t samples, pure, unsafe, hidden;
} tess_prim_info;
/* Primitives are counted from 0, and so are their operands and refusals;
 * NOT_FOUND past the last.  Texts are static. */
TESS_API uint32_t tess_prim_count(void);
TESS_API tess_status tess_prim_get(uint32_t i, tess_prim_info *out);
TESS_API tess_status tess_prim_operand_get(uint32_t i, uint32_t k,
                                           tess_prim_operand *out);
TESS_API tess_status tess_prim_refusal_get(uint32_t i, uint32_t k,
                                           const char **name,
                                           const char **text);
/* Reference page of one primitive (NULL: all) as Markdown, and LuaCATS
 * stubs. */
TESS_API tess_status tess_prim_doc(tess_context *c, const char *name,
                                   TESS_GIVE char **markdown);
TESS_API tess_status tess_prim_stubs(tess_context *c, TESS_GIVE char **lua);

#ifdef __cplusplus
}
#endif

#endif
