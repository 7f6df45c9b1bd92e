/* SPDX-License-Identifier: Apache-2.0
 * The program builder: programs from tensor expressions and imperative blocks,
 * one call at a time, for a host that holds only integer handles.
 *
 * A builder collects stages in the order in which they are described: a
 * `compute`, or a top-level imperative statement.  A program is then made of
 * the stages that its parameters depend on.
 *
 * Handles: an expression is an index into the builder's values (literals are
 * untyped until combined with a typed operand; results of a reduction can only
 * be the whole body of a compute); variables and buffers are indices of the
 * builder's program. 0 is none.  Every handle is checked.
 *
 * All functions report a failure in the err_state and then leave the builder as
 * it was.  They may unwind (mem_protect); the builder remains usable. */
#ifndef IR_BUILD_DESCRIBE_H
#define IR_BUILD_DESCRIBE_H

#include "base/error.h"
#include "ir/edit.h"

typedef uint32_t describe_expr;

enum {
  DESCRIBE_MAX_DIM = 16,      /* dimensions, iterations, indices, axes */
  DESCRIBE_MAX_OUT = 8,       /* outputs of one compute */
  DESCRIBE_MAX_DEPTH = 2000,  /* nesting of an expression */
  DESCRIBE_MAX_NESTING = 160, /* nesting of statements; Lua nests 200 calls */
  DESCRIBE_MAX_NAME = 255     /* bytes of a name */
};
/* The largest number of elements of a buffer: int64 can count their bytes. */
#define DESCRIBE_MAX_ELEMENTS ((INT64_C(1) << 60) - 1)

typedef enum describe_kind {
  DESCRIBE_NONE,
  DESCRIBE_EXPR,         /* e */
  DESCRIBE_INT_LITERAL,  /* i */
  DESCRIBE_REAL_LITERAL, /* f */
  DESCRIBE_REDUCTION     /* reduction, output */
} describe_kind;

typedef struct describe_value {
  uint16_t kind, depth;
  union {
    ir_expr e;
    int64_t i;
    double f;
    struct {
      uint32_t reduction, output;
    };
  };
} describe_value;

/* Runs of `arg` in the builder's program. */
typedef struct describe_reduction {
  uint32_t reducer;
  ir_span sources, axes;
} describe_reduction;

typedef struct describe_axis {
  ir_var var;
  ir_expr lo, extent;
} describe_axis;

/* An open compute: its block's iters and their extents. */
typedef struct describe_compute {
  ir_str name;
  uint32_t n;
  ir_var var[DESCRIBE_MAX_DIM];
  ir_expr extent[DESCRIBE_MAX_DIM];
} describe_compute;

/* An open statement: what is appended becomes part of its body or, after
 * init_begin and else_begin, of its alt list. */
typedef struct describe_open {
  ir_stmt s;
  bool alt;
  bool inner; /* it is the init of the block s, open inside it */
} describe_open;

/* A top-level statement or compute. */
typedef struct describe_stage {
  ir_stmt s;
  uint32_t section; /* the section it belongs to */
  bool statement;   /* no compute */
} describe_stage;

typedef struct ir_builder {
  mem_heap *heap;
  err_state *err;
  arena scratch;
  ir_program p;
  VEC(describe_value) value;
  VEC(describe_reduction) reduction;
  VEC(describe_axis) axis;
  VEC(describe_compute) compute;
  VEC(describe_open) open;
  VEC(describe_stage) stage;
  uint32_t section; /* the current one, for new stages */
  ir_stmt unneeded; /* of the last program: a statement of its section, not 0,
                     * that it does not need; 0: none */
} ir_builder;

/* May unwind; describe_free is valid after that, too. */
void describe_init(ir_builder *b, mem_heap *heap, err_state *err);
void describe_free(ir_builder *b);

/* ---- buffers (describe.c) ----------------------------------------------- */

/* shape: int64 expressions. role INPUT, LAYOUT_FREE: filled by the caller;
 * OUTPUT, LOCAL: written by imperative statements. */
tess_status describe_buffer(ir_builder *b, const char *name, tess_dtype t,
                            uint32_t ndim, const describe_expr *shape,
                            ir_scope scope, ir_role role, ir_buf *out);
/* Declares what placeholder `buf` holds: `holds` is a set of IR_HOLDS_*,
 * values are least .. below - 1.  Bounds of loads follow from it, so none may
 * have been made. */
tess_status describe_holds(ir_builder *b, ir_buf buf, uint8_t holds,
                           int64_t least, int64_t below);
/* Contents are copied; programs made of them point into the builder. */
tess_status describe_constant(ir_builder *b, const char *name, tess_dtype t,
                              uint32_t ndim, const int64_t *shape,
                              const void *data, ir_buf *out);
/* The contents of constants are shared and counted: a builder and each program
 * object hold those that they have.  New ones, held once; may unwind. */
void *describe_contents(mem_heap *heap, const void *data, size_t bytes);
void describe_hold_constants(const ir_program *p);
void describe_drop_constants(const ir_program *p);
/* A symbolic extent, at least 1. */
tess_status describe_size(ir_builder *b, const char *name, ir_var *out);

/* ---- expressions (describe_expr.c) -------------------------------------- */

tess_status describe_int(ir_builder *b, tess_dtype t, int64_t v,
                         describe_expr *out);
tess_status describe_real(ir_builder *b, tess_dtype t, double v,
                          describe_expr *out);
tess_status describe_literal(ir_builder *b, double v, bool is_int,
                             describe_expr *out);
tess_status describe_var(ir_builder *b, ir_var v, describe_expr *out);
/* + - * / // % ^ min max == != < <= > >= and or */
tess_status describe_binary(ir_builder *b, const char *op, describe_expr x,
                            describe_expr y, describe_expr *out);
/* - not, and the functions of fn.def up to round */
tess_status describe_call(ir_builder *b, const char *fn, uint32_t n,
                          const describe_expr *args, describe_expr *out);
tess_status describe_extern(ir_builder *b, const char *name, tess_dtype t,
                            uint32_t n, const describe_expr *args,
                            describe_expr *out);
tess_status describe_select(ir_builder *b, describe_expr cond,
                            describe_expr yes, describe_expr no,
                            describe_expr *out);
tess_status describe_bit_cast(ir_builder *b, tess_dtype t, describe_expr x,
                              describe_expr *out);
tess_status describe_cast(ir_builder *b, tess_dtype t, describe_expr x,
                          describe_expr *out);
tess_status describe_load(ir_builder *b, ir_buf buf, uint32_t n,
                          const describe_expr *idx, describe_expr *out);
/* The type that it has, or a literal's default type. */
tess_status describe_dtype(ir_builder *b, describe_expr x, tess_dtype *out);
tess_status describe_text(ir_builder *b, describe_expr x, strbuf *out);

/* ---- reductions and computes (describe_compute.c) ----------------------- */

tess_status describe_axis_new(ir_builder *b, const char *name, describe_expr lo,
                              describe_expr extent, ir_var *out);
/* A reducer over n values of the given types: begin returns the formal
 * parameters, end takes the combined values over them and the identities
 * (infinite: the extreme of the type). */
tess_status describe_reducer_begin(ir_builder *b, const char *name, uint32_t n,
                                   const tess_dtype *t, describe_expr *lhs,
                                   describe_expr *rhs);
tess_status describe_reducer_end(ir_builder *b, const char *name, uint32_t n,
                                 const describe_expr *lhs,
                                 const describe_expr *rhs,
                                 const describe_expr *combine,
                                 const double *identity, uint32_t *reducer);
/* How far a reduction of such sources over these axes may be reordered
 * (describe_laws.c). */
ir_order describe_find_order(ir_builder *b, const ir_reducer *r,
                             const ir_expr *source, uint32_t naxes,
                             const ir_var *axes);
/* The built-in reducer for one source; n is 1. */
tess_status describe_builtin(ir_builder *b, const char *name,
                             describe_expr source, uint32_t *reducer);
/* n sources have n results, to be used as the whole body of one compute. */
tess_status describe_reduce(ir_builder *b, uint32_t reducer, uint32_t n,
                            const describe_expr *sources, uint32_t naxes,
                            const ir_var *axes, describe_expr *out);

/* One iter a dimension, named by `axis_names` (NULL: i, j, k, ...). */
tess_status describe_compute_begin(ir_builder *b, const char *name,
                                   uint32_t ndim, const describe_expr *shape,
                                   const char *const *axis_names, ir_var *vars);
/* n buffers: one with the name of the compute, or name_v0, name_v1, ... */
tess_status describe_compute_end(ir_builder *b, uint32_t n,
                                 const describe_expr *body, ir_buf *out);

/* ---- imperative statements (describe_stmt.c) ---------------------------- */

tess_status describe_loop_begin(ir_builder *b, const char *name,
                                describe_expr lo, describe_expr extent,
                                ir_var *out);
/* predicate may be 0.  Regions are inferred when it is closed. */
tess_status describe_block_begin(ir_builder *b, const char *name, uint32_t n,
                                 const char *const *names,
                                 const ir_iter_kind *kinds,
                                 const describe_expr *lo,
                                 const describe_expr *extent,
                                 const describe_expr *bind,
                                 describe_expr predicate, ir_var *vars);
tess_status describe_init_begin(ir_builder *b);
tess_status describe_if_begin(ir_builder *b, describe_expr cond);
tess_status describe_else_begin(ir_builder *b);
tess_status describe_let_begin(ir_builder *b, const char *name,
                               describe_expr value, ir_var *out);
tess_status describe_end(ir_builder *b);
tess_status describe_store(ir_builder *b, ir_buf buf, uint32_t n,
                           const describe_expr *idx, describe_expr value);
/* How many computes and statements are open. */
uint32_t describe_depth(const ir_builder *b);
/* Drops the innermost ones, with what is in them, until no more than `depth`
 * are open. */
void describe_cancel(ir_builder *b, uint32_t depth);
/* Appends a stage. */
void describe_add_stage(ir_builder *b, ir_stmt s);
tess_status describe_evaluate(ir_builder *b, describe_expr x);

/* ---- programs (describe_program.c) -------------------------------------- */

/* The stages that the parameters depend on, inside a root block.  A buffer
 * given twice (in place) is one parameter. */
tess_status describe_program(ir_builder *b, const char *name, uint32_t nin,
                             const ir_buf *in, uint32_t nout, const ir_buf *out,
                             ir_program *dst);
/* Adds the functions of another program; names must differ. */
tess_status describe_join(ir_program *dst, const ir_program *further,
                          arena *scratch, err_state *err);

/* ---- forgetting (describe_trim.c) --------------------------------------- */

/* What is in use: handles, and sections whose statements are. */
typedef struct describe_kept {
  uint32_t nexprs, nbuffers, nvars, nsections;
  describe_expr *exprs;
  ir_buf *buffers;
  ir_var *vars;
  const uint32_t *sections;
} describe_kept;

/* Copies what is in use, and what it needs, to a new builder, and replaces the
 * handles by that one's; nothing may be open. */
tess_status describe_trim(ir_builder *b, ir_builder *to, describe_kept *k);

/* ---- shared by the builder's files -------------------------------------- */

/* Makes a handle for e. */
tess_status describe_give(ir_builder *b, ir_expr e, uint32_t depth,
                          describe_expr *out);
/* The value of a handle; NULL with an error: there is none. */
const describe_value *describe_get(ir_builder *b, describe_expr x,
                                   const char *what);
/* x as an expression of type t; literals adapt.  `what` names it in
 * messages. */
tess_status describe_typed(ir_builder *b, describe_expr x, tess_dtype t,
                           const char *what, ir_expr *out);
/* The same of IR_INDEX: a narrower integer is cast, which is lossless; a uint64
 * is refused. */
tess_status describe_index(ir_builder *b, describe_expr x, const char *what,
                           ir_expr *out);
/* x as an expression of its own type. */
tess_status describe_plain(ir_builder *b, describe_expr x, const char *what,
                           ir_expr *out);
tess_status describe_name_ok(ir_builder *b, const char *name, const char *what);
/* A type's name, in scratch until the call ends. */
const char *describe_type_text(ir_builder *b, tess_dtype t);
/* Checks that t is a type of one number; `what` names what is to have it. */
tess_status describe_number_ok(ir_builder *b, tess_dtype t, const char *what);
bool describe_buf_ok(const ir_builder *b, ir_buf buf);
/* The extent of an axis or dimension: an index, at least `least` if
 * constant. */
tess_status describe_extent(ir_builder *b, describe_expr x, int64_t least,
                            const char *what, ir_expr *out);
/* Checks that a buffer of these extents, if constant, is not too large. */
tess_status describe_elements_ok(ir_builder *b, uint32_t ndim,
                                 const ir_expr *dims, const char *what);
/* Checks that lo + extent, if constant, fits int64. */
tess_status describe_range_ok(ir_builder *b, ir_expr lo, ir_expr extent,
                              const char *what);
/* The axis made by describe_axis_new; NULL: v is none. */
const describe_axis *describe_axis_of(const ir_builder *b, ir_var v);
/* A variable's name, in scratch. */
const char *describe_spell(ir_builder *b, ir_var v);

/* The variables that an expression may use. */
typedef struct describe_vars {
  const describe_compute *c; /* those of a compute; NULL: none */
  ir_span runs[2];           /* in arg */
  bool sizes;                /* symbolic extents */
} describe_vars;
tess_status describe_check_vars(ir_builder *b, const describe_vars *allowed,
                                ir_expr e, const char *where);
/* Sets the block's built-in reducer if its init and update form one. */
void describe_infer_reducer(ir_builder *b, ir_stmt block);
/* The built-in reducer that a listing leaves out: that of init and update, or
 * of the update alone where the init stands elsewhere; 0: none. */
uint32_t describe_likely_reducer(ir_builder *b, ir_stmt block);
/* Sets the regions that a listing leaves out: those of its accesses, and none
 * of a root. */
void describe_likely_regions(ir_program *p, arena *scratch, ir_stmt block);
/* The innermost open statement, as "loop 'i'", in scratch. */
const char *describe_spell_open(ir_builder *b);
/* Proves that the values of a block's iters are in their domains, given pred
 * (0: true) and the conditions of the open statements. */
tess_status describe_check_bindings(ir_builder *b, const char *block,
                                    uint32_t n, const char *const *names,
                                    const ir_iter *it, ir_expr pred);
/* The part of a block's predicate that does not follow from the loops and
 * conditions of the open statements; 0: all of it does. */
ir_expr describe_needed_condition(ir_builder *b, ir_expr cond);
/* Checks that an open statement binds every variable of e. */
tess_status describe_check_scope(ir_builder *b, ir_expr e, const char *where);

#endif
