/* SPDX-License-Identifier: Apache-2.0
 * How a primitive is declared, once.
 *
 * A file schedule/prim/<name>.c holds a list of operands, PRIM_DEFINE and the
 * function that checks and applies the primitive.  Recording, replay, texts,
 * JSON, the Lua binding, the reference docs and the conformance tests all
 * follow from that declaration; they are loops over `sch_prim.specs`.
 *
 *   #define FUSE_SIG(F, S)                                                  \
 *     F(S, IN,   LOOPS, loops, REQ, "the loops to fuse, outer first")       \
 *     F(S, ATTR, BOOL, preserve_unit_iters, DEF(1), "keep unit loops' ...") \
 *     F(S, OUT,  LOOP,  fused, REQ, "the fused loop")
 *   PRIM_DEFINE(fuse, FUSE_SIG, .summary = "...", .rewrite = "...", ...);
 *   static bool fuse_apply(sch_state *s, struct fuse_args *a) { ... }
 *
 * and one word in schedule/prims.def.
 */
#ifndef SCHEDULE_SIG_H
#define SCHEDULE_SIG_H

#include "base/rng.h"
#include "ir/edit.h"

typedef struct sch_list { uint32_t n; const ir_stmt *v; } sch_list;
typedef struct sch_ints { uint32_t n; const int64_t *v; } sch_ints;
typedef struct sch_reals { uint32_t n; const double *v; } sch_reals;

/* The buffer meant by an operand: by its place among the regions that a block
 * reads (or writes), or by its name; sch_find_buffer determines which it is. */
typedef struct sch_buffer {
  enum { SCH_BY_INDEX, SCH_BY_READ, SCH_BY_WRITE, SCH_BY_NAME } by;
  int64_t index;           /* SCH_BY_INDEX, _READ, _WRITE */
  const char *name;        /* SCH_BY_NAME */
} sch_buffer;

/* A map of indices: results over the parameters, which are variables of the
 * kind IR_VAR_FORMAL without known bounds. */
typedef struct sch_map {
  bool given;
  uint32_t nin, nout;
  const ir_var *in;
  const ir_expr *out;
} sch_map;

/* What to fill new elements with. */
typedef struct sch_fill {
  enum { SCH_FILL_NONE, SCH_FILL_INT, SCH_FILL_REAL, SCH_FILL_MAP } tag;
  int64_t i;
  double f;
  sch_map map;             /* of indices to one integer */
} sch_fill;

#define SCH_AUTO INT64_MIN      /* a factor left open */
#define SCH_OPEN (-1)           /* the same, as samplers say it */
/* Loops that sample_compute_location may give beside real ones. */
#define SCH_INLINE_MARK ((ir_stmt)0xfffffffeu)
#define SCH_ROOT_MARK ((ir_stmt)0xfffffffdu)

/* Operand kinds: KIND(name, C type on the applying side, what a person
 * writes).  On the trace side, BLOCK to NODES hold random variables; EXPR,
 * FACTORS, VALUE, INDEX_MAP and FILL may contain integer ones. */
#define SCH_KINDS(KIND)                                                     \
  KIND(BLOCK, ir_stmt, "a block")                                           \
  KIND(LOOP, ir_stmt, "a loop")                                             \
  KIND(NODE, ir_stmt, "a block or loop")                                    \
  KIND(BLOCKS, sch_list, "a list of blocks")                                \
  KIND(LOOPS, sch_list, "a list of loops")                                  \
  KIND(NODES, sch_list, "a block or loop, or a list of them")               \
  KIND(INT, int64_t, "an integer")                                          \
  KIND(BOOL, bool, "a boolean")                                             \
  KIND(REAL, double, "a number")                                            \
  KIND(STR, const char *, "a string")                                       \
  KIND(INTS, sch_ints, "a list of integers")                                \
  KIND(REALS, sch_reals, "a list of numbers")                               \
  KIND(EXPR, int64_t, "an integer or integer variable")                     \
  KIND(FACTORS, sch_ints, "a list of integers, integer variables or auto")  \
  KIND(VALUE, ir_val, "a string, number, boolean, integer variable or list")\
  KIND(BUFFER, sch_buffer, "an index, {\"read\" or \"write\", index} or name")\
  KIND(INDEX_MAP, sch_map, "an index map: a function, or a text")           \
  KIND(FILL, sch_fill, "a number, or an index map to one integer")          \
  KIND(DTYPE, tess_dtype, "a data type")                                    \
  KIND(VAR, int64_t, "an integer variable")                                 \
  KIND(VARS, sch_ints, "integer variables")

typedef enum sch_kind {
#define KIND(name, type, text) SCH_KIND_##name,
  SCH_KINDS(KIND)
#undef KIND
} sch_kind;

#define KIND(name, type, text) typedef type sch_type_##name;
SCH_KINDS(KIND)
#undef KIND

/* IN: depends on the program (random variables); ATTR: static; DECISION:
 * what a sampling primitive chose; OUT: what it makes. */
typedef enum sch_role {
  SCH_ROLE_IN, SCH_ROLE_ATTR, SCH_ROLE_DECISION, SCH_ROLE_OUT
} sch_role;

typedef struct sch_default {
  bool required;
  int64_t i;             /* INT, BOOL, EXPR */
  const char *s;         /* STR, DTYPE; lists default to empty */
  double f;              /* REAL */
  const char *text;      /* as written here */
} sch_default;
#define SCH_DEFAULT_REQ {.required = true, .text = ""}
#define SCH_DEFAULT_OPT {.required = false, .text = "nil"}
#define SCH_DEFAULT_DEF(x) {.required = false, .i = (x), .text = #x}
#define SCH_DEFAULT_TXT(x) {.required = false, .s = (x), .text = #x}

typedef struct sch_spec {
  uint8_t role, kind;
  uint16_t off;          /* in the primitive's argument struct */
  const char *name, *help;
  sch_default dflt;
} sch_spec;

/* ---- refusals ----------------------------------------------------------- */

/* One row each in refusals.def: name and template, with holes {s0} {s1} for
 * statements, {h0} {h1} for ": " and how they are in the program (without
 * what is in them), {b} for a buffer, {n0} to {n3} for numbers, {t} for text,
 * {c} for ", such as" and two conflicting iterations, or nothing. */
typedef enum sch_reason {
  SCH_R_NONE,
#define REFUSAL(name, text) SCH_R_##name,
#include "schedule/refusals.def"
#undef REFUSAL
  SCH_R_COUNT
} sch_reason;

/* Two conflicting iterations: for each of the two loops around it, those that
 * determine most, and their values.  n 0: not known. */
enum { SCH_CONFLICT_LOOPS = 6 };
typedef struct sch_conflict {
  uint8_t n[2];
  ir_var var[2][SCH_CONFLICT_LOOPS];
  int64_t at[2][SCH_CONFLICT_LOOPS];
} sch_conflict;

/* Filled in by a refusing primitive; the sentence is made when it is read. */
typedef struct sch_refusal {
  uint16_t reason;
  ir_stmt s[2];
  ir_buf buf;
  int64_t n[4];
  const char *t;         /* static text, or one that lives with the args or
                          * the state */
  sch_conflict conflict;
} sch_refusal;

/* ---- the state a primitive works on ------------------------------------- */

typedef struct sch_state {
  ir_program *p;         /* its entry function is worked on */
  arena *scratch;        /* reset after every primitive */
  bool quick;            /* a possibility is asked for, not a change: what
                          * would take an exact look (polyhedra.h) is no */
  struct isl_ctx *isl;   /* for exact looks, made by the first of a primitive */
  mem_heap *remembers;   /* answers of them are kept there, over all
                          * primitives, until sch_forget_answers; NULL: not */
  struct sch_memo *memo; /* these; NULL: none yet */
  sch_refusal refusal;
  char text[240];        /* of a refusal that makes one */
  bool grows;            /* the primitive made more expressions than that,
                          * and gave up */
} sch_state;
enum { SCH_MOST_EXPRESSIONS = 1 << 18 };

/* To be called when a primitive has been applied, or the state is given up. */
void sch_end_questions(sch_state *s);
/* At the end of the state's life. */
void sch_forget_answers(sch_state *s);

/* return sch_refuse(s, SCH_R_NOT_ONLY_CHILD, .s = {loop}, .n = {2}); */
#define sch_refuse(st, why, ...)                                            \
  ((st)->refusal = (sch_refusal){.reason = (why), __VA_ARGS__}, false)
/* The sentence, complete, without place and program. */
void sch_refusal_text(const ir_program *p, const char *prim,
                      const sch_refusal *r, strbuf *out);
const char *sch_reason_name(sch_reason r);     /* "NOT_ONLY_CHILD" */
const char *sch_reason_text(sch_reason r);     /* the template */

/* ---- sampling primitives ------------------------------------------------ */

/* The space of decisions at one point of a replay.  A decision is a vector
 * of int64; `a` is the primitive's argument struct with its inputs resolved.
 * All may unwind on exhaustion only. */
typedef struct sch_sampler {
  /* Length of a decision; checks the arguments too: false after refusing. */
  bool (*size)(sch_state *s, const void *a, uint32_t *n);
  /* How many decisions there are; saturates at UINT64_MAX. */
  uint64_t (*count)(sch_state *s, const void *a);
  void (*draw)(sch_state *s, const void *a, rng *r, int64_t *out);
  /* Is this one of them, exactly?  n may be of any length. */
  bool (*admit)(sch_state *s, const void *a, uint32_t n, const int64_t *d);
  /* The nearest one to a stale decision (any length); what TVM would make
   * of it where TVM is defined, always admissible. */
  void (*repair)(sch_state *s, const void *a, uint32_t n, const int64_t *d,
                 int64_t *out);
  /* Natural logarithm of the probability that draw gives d. */
  double (*logp)(sch_state *s, const void *a, const int64_t *d);
  /* One neighbour drawn at random; false: there is none. */
  bool (*neighbour)(sch_state *s, const void *a, const int64_t *d, rng *r,
                    int64_t *out);
  /* The i-th decision, 0 <= i < count, in a fixed order. */
  void (*at)(sch_state *s, const void *a, uint64_t i, int64_t *out);
  /* As numbers for a surrogate model; returns how many (<= 16). */
  uint32_t (*embed)(sch_state *s, const void *a, const int64_t *d,
                    double *out);
} sch_sampler;

/* ---- the declaration ---------------------------------------------------- */

enum {
  SCH_PURE = 1,          /* does not change the program: dead when unused */
  SCH_SAMPLES = 2,       /* has a decision */
  SCH_UNSAFE = 4,        /* may change what is computed */
  SCH_HIDDEN = 8,        /* not called by people (guards) */
  SCH_TAKES_MARKS = 16,  /* a LOOP may be SCH_INLINE_MARK, SCH_ROOT_MARK;
                          * the machine keeps them from other primitives */
  SCH_REMARK = 32        /* pure, without outputs: says something of values,
                          * and is neither compared nor hashed */
};

typedef struct sch_prim {
  const char *name;
  const sch_spec *specs;
  uint16_t nspecs, args_size;
  uint32_t flags;
  bool (*apply)(sch_state *s, void *args);
  const sch_sampler *sampler;
  const char *decides;       /* what a number of its decision is: "tile"; of
                              * primitives that sample */
  const uint16_t *refusals;  /* reasons it can refuse for, 0-terminated */
  const char *as_many;       /* the operand that says how many outputs a list
                              * of them has, an INT, or by its length; NULL:
                              * that depends on the program */
  const char *summary;       /* one sentence */
  const char *rewrite;       /* before -> after, "" where there is none */
  const char *details;       /* numbered preconditions, further meaning */
  const char *example;       /* Lua that the tests run, see docs */
} sch_prim;

/* Every OUT row is a list or a single; an apply fills them in. */
#define SCH_FIELD_(S, role, kind, name, dflt, help) sch_type_##kind name;
#define SCH_SPEC_(S, role, kind, name, dflt, help)                          \
  {SCH_ROLE_##role, SCH_KIND_##kind, (uint16_t)offsetof(S, name), #name,    \
   help, SCH_DEFAULT_##dflt},
#define SCH_REASONS(...) (const uint16_t[]) { __VA_ARGS__, 0 }

#define PRIM_DEFINE(NAME, SIG, ...)                                         \
  struct NAME##_args { SIG(SCH_FIELD_, struct NAME##_args) };               \
  static bool NAME##_apply(sch_state *s, struct NAME##_args *a);            \
  static bool NAME##_thunk(sch_state *s, void *a) {                         \
    return NAME##_apply(s, a);                                              \
  }                                                                         \
  static const sch_spec NAME##_specs[] = {                                  \
    SIG(SCH_SPEC_, struct NAME##_args)};                                    \
  _Static_assert(sizeof(struct NAME##_args) <= SCH_MAX_ARGS, #NAME);        \
  extern const sch_prim sch_prim_##NAME;                                    \
  const sch_prim sch_prim_##NAME = {                                        \
    .name = #NAME, .specs = NAME##_specs,                                   \
    .nspecs = sizeof NAME##_specs / sizeof *NAME##_specs,                   \
    .args_size = sizeof(struct NAME##_args), .apply = NAME##_thunk,         \
    __VA_ARGS__}

#define SCH_MAX_ARGS 256

/* All primitives, in the order of prims.def (registry.c). */
extern const sch_prim *const sch_prims[];
extern const uint32_t sch_nprims;
const sch_prim *sch_find_prim(const char *name);

#endif
