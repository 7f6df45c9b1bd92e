/* SPDX-License-Identifier: Apache-2.0
 * Program builder: scoping, which variables an expression may use. */
#include "ir/build/describe.h"
#include "ir/edit.h"
#include "ir/query.h"

const describe_axis *describe_axis_of(const ir_builder *b, ir_var v) {
  for (uint32_t i = b->axis.n; i-- > 0;)
    if (b->axis.v[i].var == v) return &b->axis.v[i];
  return NULL;
}

const char *describe_spell(ir_builder *b, ir_var v) {
  return ir_var_text(&b->p, v, &b->scratch);
}

/* ---- inside a compute or reducer ---------------------------------------- */

typedef struct var_check {
  const describe_vars *allowed;
  ir_var bad; /* the first that it may not use */
} var_check;

static bool in_span(const ir_program *p, ir_span s, ir_var v) {
  for (uint32_t i = 0; i < s.n; i++)
    if (p->arg.v[s.at + i] == v) return true;
  return false;
}

static bool is_allowed(const describe_vars *a, const ir_program *p, ir_var v) {
  for (uint32_t d = 0; a->c && d < a->c->n; d++)
    if (a->c->var[d] == v) return true;
  return in_span(p, a->runs[0], v) || in_span(p, a->runs[1], v) ||
         (a->sizes && p->var.v[v].kind == IR_VAR_SIZE);
}

static void check_node(const ir_program *p, ir_expr e, void *ud) {
  var_check *k = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op == IR_VAR && !k->bad && !is_allowed(k->allowed, p, n->a))
    k->bad = n->a;
}

tess_status describe_check_vars(ir_builder *b, const describe_vars *allowed,
                                ir_expr e, const char *where) {
  var_check k = {.allowed = allowed};
  ir_visit(&b->p, &b->scratch, e, check_node, &k);
  if (!k.bad) return TESS_OK;
  const char *name = describe_spell(b, k.bad);
  if (describe_axis_of(b, k.bad))
    return err_set(b->err, TESS_INVALID,
                   "reduction axis '%s' is used outside "
                   "of a reduction over it, in %s",
                   name, where);
  return err_set(b->err, TESS_INVALID, "variable '%s' is not known in %s", name,
                 where);
}

/* ---- inside open statements --------------------------------------------- */

const char *describe_spell_open(ir_builder *b) {
  const ir_program *p = &b->p;
  const ir_stmt_rec *r = ir_st(p, b->open.v[b->open.n - 1].s);
  if (r->kind == IR_IF) return "an if";
  if (r->kind == IR_BLOCK)
    return arena_printf(&b->scratch, "block '%s'",
                        ir_text(p, p->block.v[r->block].name));
  return arena_printf(&b->scratch, "%s '%s'",
                      r->kind == IR_LOOP ? "loop" : "let",
                      describe_spell(b, r->var));
}

typedef struct scope_check {
  const ir_builder *b;
  ir_var bad;
  ir_stmt block; /* the open block that hides it, 0: it is not bound */
} scope_check;

/* Looks for the binder from the innermost open statement outwards; a loop
 * variable is hidden inside a block that was opened after the loop. */
static void check_scope(const ir_program *p, ir_expr e, void *ud) {
  scope_check *k = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op != IR_VAR || k->bad || p->var.v[n->a].kind == IR_VAR_SIZE) return;
  const ir_var_rec *r = &p->var.v[n->a];
  ir_stmt block = 0;
  for (uint32_t i = k->b->open.n; i-- > 0;) {
    ir_stmt s = k->b->open.v[i].s;
    if (s == r->owner) {
      k->block = r->kind == IR_VAR_LOOP ? block : 0;
      k->bad = k->block ? n->a : 0;
      return;
    }
    block = !block && ir_is_block(p, s) ? s : block;
  }
  k->bad = n->a;
}

tess_status describe_check_scope(ir_builder *b, ir_expr e, const char *where) {
  scope_check k = {.b = b};
  ir_visit(&b->p, &b->scratch, e, check_scope, &k);
  if (!k.bad) return TESS_OK;
  const char *name = describe_spell(b, k.bad);
  if (!k.block)
    return err_set(b->err, TESS_INVALID, "variable '%s' is not known in %s",
                   name, where);
  return err_set(b->err, TESS_INVALID,
                 "loop variable '%s' is used in %s inside "
                 "of block '%s'; bind one of the block's "
                 "variables to it",
                 name, where, ir_text(&b->p, ir_blk(&b->p, k.block)->name));
}
