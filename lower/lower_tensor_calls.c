/* SPDX-License-Identifier: Apache-2.0
 * Lowers tensor intrinsics that are a call: guards the block's body by
 *
 *   if instead "name(%0, ..)"(n, { dimensions, extents, A[0,0], A[1,0],
 *                                  A[0,1] } for each parameter)
 *     the intrinsic's description
 *
 * which a backend that emits the call folds to false.  The loads are address
 * operands: the base and the strides of each parameter, which later passes
 * rewrite as they rewrite accesses; they are not executed. */
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/tensor_call.h"
#include "lower/pass.h"

typedef struct call {
  ir_program *p;
  arena *scratch;
  uint32_t n;
  ir_expr *arg;
} call;

static void push(call *k, ir_expr e) { k->arg[k->n++] = e; }

static void push_param(call *k, ir_buf b) {
  ir_program *p = k->p;
  uint32_t n = ir_ndim(p, b);
  ir_expr *at = arena_array(k->scratch, ir_expr, n);
  push(k, ir_index(p, n));
  for (uint32_t d = 0; d < n; d++) {
    push(k, ir_dim(p, b, d));
    at[d] = ir_index(p, 0);
  }
  push(k, ir_load(p, b, n, at));
  for (uint32_t d = 0; d < n; d++) {
    if (!ir_is_const(p, ir_dim(p, b, d), 1)) at[d] = ir_index(p, 1);
    push(k, ir_load(p, b, n, at));
    at[d] = ir_index(p, 0);
  }
}

static ir_expr instead_condition(call *k, ir_stmt block, const char *text) {
  ir_program *p = k->p;
  ir_span m = ir_blk(p, block)->matches;
  uint32_t most = 1;
  for (uint32_t i = 0; i < m.n; i++)
    most += 2 + 2 * ir_ndim(p, p->match.v[m.at + i].buf);
  k->n = 0;
  k->arg = arena_array(k->scratch, ir_expr, most);
  push(k, ir_index(p, m.n));
  for (uint32_t i = 0; i < m.n; i++) push_param(k, p->match.v[m.at + i].buf);
  return ir_call_named(p, IR_FN_INSTEAD, text, IR_BOOL, k->n, k->arg);
}

/* The text of a block's call; NULL: there is none, or *why says why not. */
static const char *find_text(const call *k, ir_stmt s, const char **why) {
  const ir_program *p = k->p;
  const ir_anno *a =
      ir_is_block(p, s) ? ir_anno_get(p, s, IR_TENSOR_CALL) : NULL;
  *why = NULL;
  if (!a) return NULL;
  ir_span m = ir_blk(p, s)->matches;
  ir_buf param[IR_TENSOR_CALL_PARAMS];
  ir_tensor_call c;
  *why = "the block has other parameters than such a call";
  if (p->value.v[a->val].tag != IR_VAL_STR || m.n > IR_TENSOR_CALL_PARAMS)
    return NULL;
  for (uint32_t i = 0; i < m.n; i++) param[i] = p->match.v[m.at + i].buf;
  const char *text = ir_text(p, p->value.v[a->val].s);
  return ir_tensor_call_parse(text, m.n, NULL, &c, why) &&
                 ir_tensor_call_fits(p, &c, m.n, param, why)
             ? arena_printf(k->scratch, "%s", text)
             : NULL;
}

LOWER_PASS(lower_tensor_calls) {
  (void)o;
  call k = {.p = p, .scratch = scratch};
  const char *why;
  LOWER_EACH(p, s) {
    const char *text = find_text(&k, s, &why);
    if (text) {
      ir_stmt cond = ir_if_new(p, instead_condition(&k, s, text));
      ir_move_body(p, s, cond);
      ir_append(p, s, cond);
    } else if (why) {
      return err_set(e, TESS_UNSUPPORTED, "block '%s': %s: %s",
                     ir_text(p, ir_blk(p, s)->name), IR_TENSOR_CALL, why);
    }
  }
  return TESS_OK;
}
