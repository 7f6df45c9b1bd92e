/* SPDX-License-Identifier: Apache-2.0
 * Building and editing the IR: expressions, substitution, statements, blocks,
 * buffers, functions, reducers.  Every edit of a program goes through these. */
#ifndef IR_EDIT_H
#define IR_EDIT_H

#include "ir/ir.h"

/* ---- building expressions (expr.c; algebra in arith/) ------------------- */

ir_expr ir_int(ir_program *p, tess_dtype t, int64_t v);  /* wraps to t */
ir_expr ir_index(ir_program *p, int64_t v);              /* int64 */
ir_expr ir_real(ir_program *p, tess_dtype t, double v);  /* rounds to t */
ir_expr ir_bool(ir_program *p, bool v);
/* A new variable; lo, hi are the constant bounds of its values. */
ir_var ir_var_new(ir_program *p, ir_var_kind kind, ir_str name, tess_dtype t,
                  int64_t lo, int64_t hi);
ir_var ir_var_split(ir_program *p, ir_var from, unsigned part, int64_t hi);
ir_var ir_var_fused(ir_program *p, ir_var a, ir_var b, int64_t hi);
/* A fresh variable of the same kind and name (clone.c). */
ir_var ir_var_like(ir_program *p, ir_var v, int64_t lo, int64_t hi);
/* Any binary operator; both operands must have the same dtype (lanes too), and
 * 0 for one of them gives the other.  Simplifies; index arithmetic is
 * canonicalized. */
ir_expr ir_binary(ir_program *p, ir_op op, ir_expr a, ir_expr b);
ir_expr ir_not(ir_program *p, ir_expr a);
ir_expr ir_select(ir_program *p, ir_expr cond, ir_expr yes, ir_expr no);
ir_expr ir_cast(ir_program *p, tess_dtype t, ir_expr a);
ir_expr ir_load(ir_program *p, ir_buf b, uint32_t n, const ir_expr *idx);
ir_expr ir_load_masked(ir_program *p, ir_buf b, tess_dtype t, uint32_t n,
                       const ir_expr *idx, ir_expr mask);
ir_expr ir_ramp(ir_program *p, ir_expr base, ir_expr stride, uint32_t lanes);
ir_expr ir_broadcast(ir_program *p, ir_expr a, uint32_t lanes);
ir_expr ir_call(ir_program *p, ir_fn fn, tess_dtype t, uint32_t n,
                const ir_expr *args);
ir_expr ir_call_named(ir_program *p, ir_fn fn, const char *name, tess_dtype t,
                      uint32_t n, const ir_expr *args);
static inline ir_expr ir_call_extern(ir_program *p, const char *name,
                                     tess_dtype t, uint32_t n,
                                     const ir_expr *args) {
  return ir_call_named(p, IR_FN_EXTERN, name, t, n, args);
}
static inline ir_expr ir_add(ir_program *p, ir_expr a, ir_expr b) {
  return ir_binary(p, IR_ADD, a, b);
}
static inline ir_expr ir_sub(ir_program *p, ir_expr a, ir_expr b) {
  return ir_binary(p, IR_SUB, a, b);
}
static inline ir_expr ir_mul(ir_program *p, ir_expr a, ir_expr b) {
  return ir_binary(p, IR_MUL, a, b);
}
static inline ir_expr ir_and(ir_program *p, ir_expr a, ir_expr b) {
  return ir_binary(p, IR_AND, a, b);   /* either may be 0: true */
}
/* The node as given, not simplified (for printers and tests). */
ir_expr ir_raw(ir_program *p, const ir_node *n, const uint32_t *args);

/* ---- substitution (subst.c) --------------------------------------------- */

/* A sparse map from the few nodes that a walk visits to a word (memo.h). */
typedef struct ir_memo {
  uint32_t n, slots;         /* used slots; slots: a power of two, or 0 */
  uint32_t *v;               /* pairs of node and value; node 0: empty */
} ir_memo;

/* A substitution over expressions: variables and buffers are replaced, and
 * results are memoized by node, so that shared subexpressions are rewritten
 * once.  Everything that is not mapped stays. */
typedef struct ir_subst {
  ir_program *p;
  arena *scratch;
  uint32_t nvar, nbuf;       /* sizes of the maps */
  ir_expr *var;              /* var -> expression, 0: itself */
  ir_buf *buf;               /* buffer -> buffer, 0: itself */
  uint32_t vars;             /* bits of the mapped variables (ir_node) */
  bool deep, bufs;           /* maps more than loop variables; buffers */
  /* Called for every load (after its indices were mapped); 0: the default. */
  ir_expr (*load)(struct ir_subst *s, ir_buf buf, uint32_t n,
                  const ir_expr *idx);
  void *ud;
  ir_memo memo;              /* node -> result, 0: not yet */
} ir_subst;
void ir_subst_init(ir_subst *s, ir_program *p, arena *scratch);
void ir_subst_var(ir_subst *s, ir_var v, ir_expr e);
void ir_subst_buf(ir_subst *s, ir_buf b, ir_buf to);
/* Clears the memo (after changing the maps). */
void ir_subst_restart(ir_subst *s);
ir_expr ir_subst_expr(ir_subst *s, ir_expr e);
/* In place, through a statement and all nested in it: bindings, predicates,
 * bounds, regions, indices, values.  The body of a block does not use loop
 * variables bound outside it, so while only loop variables are mapped the walk
 * stops at the bindings and predicates of blocks. */
void ir_subst_stmt(ir_subst *s, ir_stmt st);
/* The same for the expressions of the one statement; of a block also those of
 * its inner scope (regions, match buffers) if `inside`. */
void ir_subst_head(ir_subst *s, ir_stmt st, bool inside);
ir_region ir_subst_region(ir_subst *s, ir_region r);
/* A deep copy of a statement (detached), with fresh variables, blocks and
 * buffers for those bound or allocated in it; names of copied blocks get
 * `suffix` and are made unique (NULL: they stay).  The maps from old to new
 * stay in s for the caller. */
ir_stmt ir_clone_stmt(ir_subst *s, ir_stmt st, const char *suffix);
/* A copy of the path from st down to `leaf`, which is nested in st or st
 * itself: of the statements around `leaf`, only those that enclose it; and
 * `leaf` whole. */
ir_stmt ir_clone_path(ir_subst *s, ir_stmt st, ir_stmt leaf,
                      const char *suffix);

/* ---- building and editing statements (stmt.c) --------------------------- */

ir_stmt ir_loop_new(ir_program *p, ir_var v, ir_expr lo, ir_expr extent,
                    ir_loop_kind kind);
ir_stmt ir_block_new(ir_program *p, ir_str name);
ir_stmt ir_store_new(ir_program *p, ir_buf b, uint32_t n, const ir_expr *idx,
                     ir_expr value);
ir_stmt ir_if_new(ir_program *p, ir_expr cond);
ir_stmt ir_let_new(ir_program *p, ir_var v, ir_expr value);
ir_stmt ir_evaluate_new(ir_program *p, ir_expr e);
ir_stmt ir_allocate_new(ir_program *p, ir_buf b);
ir_stmt ir_barrier_new(ir_program *p, ir_scope scope);

/* The only ways to change the tree.  A statement that is inserted must be
 * detached. */
void ir_append(ir_program *p, ir_stmt parent, ir_stmt child);
void ir_prepend(ir_program *p, ir_stmt parent, ir_stmt child);
void ir_append_alt(ir_program *p, ir_stmt parent, ir_stmt child);
void ir_insert_before(ir_program *p, ir_stmt at, ir_stmt s);
void ir_insert_after(ir_program *p, ir_stmt at, ir_stmt s);
void ir_detach(ir_program *p, ir_stmt s);      /* unlinks it; alive */
/* `s` takes the place of `old`; `old` is detached with its children. */
void ir_replace(ir_program *p, ir_stmt old, ir_stmt s);
/* All children of `from` move to the end of `to`'s body. */
void ir_move_body(ir_program *p, ir_stmt from, ir_stmt to);
/* `s` and everything nested in it become dead, stamped with p->step. */
void ir_kill(ir_program *p, ir_stmt s);
/* Wraps a statement, in its place, in a loop or block. */
void ir_wrap(ir_program *p, ir_stmt s, ir_stmt around);

/* Pools of operands. */
uint32_t ir_args(ir_program *p, uint32_t n, const uint32_t *v); /* -> at */
ir_span ir_arg_span(ir_program *p, uint32_t n, const uint32_t *v);

/* Parts of blocks; each call replaces the whole part. */
void ir_block_set_iters(ir_program *p, ir_stmt b, uint32_t n,
                        const ir_iter *it);
void ir_block_set_reads(ir_program *p, ir_stmt b, uint32_t n,
                        const ir_region *r);
void ir_block_set_writes(ir_program *p, ir_stmt b, uint32_t n,
                         const ir_region *r);
/* Infer both from the accesses in the body (analysis/block_regions.c), except
 * those that annotations state explicitly; the second excepts only the hidden
 * ones. */
void ir_block_find_regions(ir_program *p, arena *scratch, ir_stmt b);
void ir_block_find_all_regions(ir_program *p, arena *scratch, ir_stmt b);
void ir_block_add_alloc(ir_program *p, ir_stmt b, ir_buf buf);
void ir_block_remove_alloc(ir_program *p, ir_stmt b, ir_buf buf);
void ir_anno_add_buffer(ir_program *p, arena *scratch, ir_stmt b,
                        const char *key, ir_buf buf);
void ir_anno_remove_buffer(ir_program *p, arena *scratch, ir_stmt b,
                           const char *key, ir_buf buf);
/* A block name that is unused in the entry function: name, name_1, ... */
ir_str ir_fresh_block_name(ir_program *p, ir_str name);

/* Annotations of a loop or block. */
void ir_anno_set(ir_program *p, ir_stmt s, ir_str key, ir_val val);
bool ir_anno_remove(ir_program *p, ir_stmt s, const char *key);
ir_val ir_value_int(ir_program *p, int64_t v);
ir_val ir_value_str(ir_program *p, const char *s);
ir_val ir_value_add(ir_program *p, ir_value v, const uint32_t *elems);

/* ---- buffers and functions (buffer.c) ----------------------------------- */

ir_buf ir_buf_new(ir_program *p, ir_str name, tess_dtype t, uint32_t ndim,
                  const ir_expr *shape, ir_scope scope, ir_role role);
/* `made` has elements of `of`, and so integers of their range. */
void ir_buf_keep_range(ir_program *p, ir_buf made, ir_buf of);
ir_region ir_region_new(ir_program *p, ir_buf b, const ir_expr *min_extent);
ir_region ir_region_full(ir_program *p, ir_buf b);
/* The symbolic extents are those that the parameters' shapes use. */
uint32_t ir_func_new(ir_program *p, ir_str name, uint32_t nparams,
                     const ir_buf *params, ir_stmt root);

/* ---- reducers (reducer.c) ----------------------------------------------- */

/* A built-in reducer: sum, prod, min or max; 0: no such name. */
uint32_t ir_reducer_builtin(ir_program *p, const char *name, tess_dtype t);
uint32_t ir_reducer_new(ir_program *p, ir_str name, uint32_t n,
                        const ir_var *lhs, const ir_var *rhs,
                        const ir_expr *combine, const ir_expr *identity);
/* The largest or smallest value of a type (floats: an infinity). */
ir_expr ir_extreme(ir_program *p, tess_dtype t, bool greatest);
/* Instantiates `combine` for lhs and rhs; writes n expressions. */
void ir_reducer_apply(ir_program *p, arena *scratch, uint32_t reducer,
                      const ir_expr *lhs, const ir_expr *rhs, ir_expr *out);

#endif
