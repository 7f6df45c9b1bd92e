/* SPDX-License-Identifier: Apache-2.0
 * Describing: building programs from tensor expressions and imperative
 * blocks, one call at a time, for a host that holds nothing but numbers.
 *
 * A builder collects stages in the order in which they are described: a
 * `compute`, or an imperative statement that stands for itself.  Programs
 * are then made of those stages that their parameters need.
 *
 * Handles: an expression is an index into the builder's values (literals
 * have no type until they meet an operand that has one, and the results of a
 * reduction are values only of a whole compute); variables and buffers are
 * indices of the builder's program.  0 is none.  Every handle is checked.
 *
 * All functions leave the reason of a failure in the err_state and change
 * nothing then, beyond what nobody can see.  They may unwind (mem_protect);
 * the builder can be used on after that.
 */
#ifndef IR_BUILD_DESCRIBE_H
#define IR_BUILD_DESCRIBE_H

#include "base/error.h"
#include "ir/edit.h"

typedef uint32_t describe_expr;

enum {
  DESCRIBE_MAX_DIM = 16,      /* dimensions, iterations, indices, axes */
  DESCRIBE_MAX_OUT = 8,       /* outputs of one compute */
  DESCRIBE_MAX_DEPTH = 2000,  /* nesting of an expression */
  DESCRIBE_MAX_NESTING = 256, /* nesting of statements */
  DESCRIBE_MAX_NAME = 255     /* bytes of a name */
};
/* Elements of a buffer, so that int64 counts their bytes, too. */
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

/* A compute that is open: its block's variables and their extents. */
typedef struct describe_compute {
  ir_str name;
  uint32_t n;
  ir_var var[DESCRIBE_MAX_DIM];
  ir_expr extent[DESCRIBE_MAX_DIM];
} describe_compute;

/* A statement that is open: what is appended goes to its body or, behind
 * init_begin and else_begin, to its other list. */
typedef struct describe_open {
  ir_stmt s;
  bool alt;
  bool inner; /* it is the init of the block s, opened in it */
} describe_open;

/* A statement that stands for itself, or a compute. */
typedef struct describe_stage {
  ir_stmt s;
  uint32_t section; /* that was current */
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
  uint32_t section; /* what is described now belongs to it */
} ir_builder;

/* May unwind; describe_free is right after that, too. */
void describe_init(ir_builder *b, mem_heap *heap, err_state *err);
void describe_free(ir_builder *b);

/* ---- buffers (describe.c) ----------------------------------------------- */

/* shape: int64 expressions.  role INPUT, LAYOUT_FREE: to be filled by the
 * caller; OUTPUT, LOCAL: to be filled by imperative statements. */
tess_status describe_buffer(ir_builder *b, const char *name, tess_dtype t,
                            uint32_t ndim, const describe_expr *shape,
                            ir_scope scope, ir_role role, ir_buf *out);
/* Contents are copied; programs made of them point into the builder. */
tess_status describe_constant(ir_builder *b, const char *name, tess_dtype t,
                              uint32_t ndim, const int64_t *shape,
                              const void *data, ir_buf *out);
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
tess_status describe_cast(ir_builder *b, tess_dtype t, describe_expr x,
                          describe_expr *out);
tess_status describe_load(ir_builder *b, ir_buf buf, uint32_t n,
                          const describe_expr *idx, describe_expr *out);
/* The type that it has, or would take by itself. */
tess_status describe_dtype(ir_builder *b, describe_expr x, tess_dtype *out);
tess_status describe_text(ir_builder *b, describe_expr x, strbuf *out);

/* ---- reductions and computes (describe_compute.c) ----------------------- */

tess_status describe_axis_new(ir_builder *b, const char *name, describe_expr lo,
                              describe_expr extent, ir_var *out);
/* A reducer of n values of the given types: begin gives the formals, end
 * takes combined values over them and identities (infinite: the extreme of
 * the type). */
tess_status describe_reducer_begin(ir_builder *b, const char *name, uint32_t n,
                                   const tess_dtype *t, describe_expr *lhs,
                                   describe_expr *rhs);
tess_status describe_reducer_end(ir_builder *b, const char *name, uint32_t n,
                                 const describe_expr *lhs,
                                 const describe_expr *rhs,
                                 const describe_expr *combine,
                                 const double *identity, uint32_t *reducer);
/* How far the order of such sources, over these axes, is free
 * (describe_laws.c). */
ir_order describe_find_order(ir_builder *b, const ir_reducer *r,
                             const ir_expr *source, uint32_t naxes,
                             const ir_var *axes);
/* The built-in reducer that fits one source; n is 1. */
tess_status describe_builtin(ir_builder *b, const char *name,
                             describe_expr source, uint32_t *reducer);
/* n sources give n results, to be used as the whole body of one compute. */
tess_status describe_reduce(ir_builder *b, uint32_t reducer, uint32_t n,
                            const describe_expr *sources, uint32_t naxes,
                            const ir_var *axes, describe_expr *out);

/* One variable a dimension, named by `axis_names` (NULL: i, j, k, ...). */
tess_status describe_compute_begin(ir_builder *b, const char *name,
                                   uint32_t ndim, const describe_expr *shape,
                                   const char *const *axis_names, ir_var *vars);
/* n buffers: one called as the compute, or name_v0, name_v1, ... */
tess_status describe_compute_end(ir_builder *b, uint32_t n,
                                 const describe_expr *body, ir_buf *out);
tess_status describe_compute_cancel(ir_builder *b);

/* ---- imperative statements (describe_stmt.c) ---------------------------- */

tess_status describe_loop_begin(ir_builder *b, const char *name,
                                describe_expr lo, describe_expr extent,
                                ir_var *out);
/* predicate may be 0.  Regions are found out at the end. */
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
/* It follows the stages so far. */
void describe_add_stage(ir_builder *b, ir_stmt s);
tess_status describe_evaluate(ir_builder *b, describe_expr x);

/* ---- programs (describe_program.c) -------------------------------------- */

/* The stages that the parameters need, inside a root block.  A buffer given
 * twice (in place) is one parameter. */
tess_status describe_program(ir_builder *b, const char *name, uint32_t nin,
                             const ir_buf *in, uint32_t nout, const ir_buf *out,
                             ir_program *dst);
/* The functions of another program join; names must differ. */
tess_status describe_join(ir_program *dst, const ir_program *further,
                          arena *scratch, err_state *err);

/* ---- inside ------------------------------------------------------------- */

/* A new handle for e. */
tess_status describe_give(ir_builder *b, ir_expr e, uint32_t depth,
                          describe_expr *out);
/* The value of a handle, NULL (and an error) when there is none. */
const describe_value *describe_get(ir_builder *b, describe_expr x,
                                   const char *what);
/* x as an expression of type t; literals adapt.  `what` names it. */
tess_status describe_typed(ir_builder *b, describe_expr x, tess_dtype t,
                           const char *what, ir_expr *out);
/* The same of IR_INDEX: an integer of fewer bits is cast, which changes no
 * value; one of uint64 is not. */
tess_status describe_index(ir_builder *b, describe_expr x, const char *what,
                           ir_expr *out);
/* x as an expression of its own type. */
tess_status describe_plain(ir_builder *b, describe_expr x, const char *what,
                           ir_expr *out);
tess_status describe_name_ok(ir_builder *b, const char *name, const char *what);
/* A type's name, in scratch until the call ends. */
const char *describe_type_text(ir_builder *b, tess_dtype t);
/* t is the type of one number; `what` names that which is to have it. */
tess_status describe_number_ok(ir_builder *b, tess_dtype t, const char *what);
bool describe_buf_ok(const ir_builder *b, ir_buf buf);
/* The extent of an axis or dimension: an index and, where constant, not less
 * than `least`. */
tess_status describe_extent(ir_builder *b, describe_expr x, int64_t least,
                            const char *what, ir_expr *out);
/* A buffer of these extents, where they are constant, is not too large. */
tess_status describe_elements_ok(ir_builder *b, uint32_t ndim,
                                 const ir_expr *dims, const char *what);
/* lo + extent, where constant, is an int64 too. */
tess_status describe_range_ok(ir_builder *b, ir_expr lo, ir_expr extent,
                              const char *what);
/* The axis made by describe_axis_new, NULL when v is none. */
const describe_axis *describe_axis_of(const ir_builder *b, ir_var v);
/* A variable's name, in scratch. */
const char *describe_spell(ir_builder *b, ir_var v);

/* Variables that an expression may use. */
typedef struct describe_vars {
  const describe_compute *c; /* those of a compute; NULL: none */
  ir_span runs[2];           /* in arg */
  bool sizes;                /* symbolic extents */
} describe_vars;
tess_status describe_check_vars(ir_builder *b, const describe_vars *allowed,
                                ir_expr e, const char *where);
/* Sets the built-in reducer that the block's init and update are. */
void describe_infer_reducer(ir_builder *b, ir_stmt block);
/* The innermost statement that is open, as "loop 'i'", in scratch. */
const char *describe_spell_open(ir_builder *b);
/* The values of a block's variables surely lie in their domains where pred
 * (0: true) and what is open say that it runs. */
tess_status describe_check_bindings(ir_builder *b, const char *block,
                                    uint32_t n, const char *const *names,
                                    const ir_iter *it, ir_expr pred);
/* Every variable of e is bound by a statement that is open. */
tess_status describe_check_scope(ir_builder *b, ir_expr e, const char *where);

#endif
