/* SPDX-License-Identifier: Apache-2.0
 * The verifier: entry points; its second part, the links of the trees. */
#include "ir/verify/verify.h"
#include "ir/query.h"

bool verify_fail(verifier *v, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  str_vprintf(v->why, fmt, ap);
  va_end(ap);
  return false;
}

bool verify_fail_at(verifier *v, ir_stmt s, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  str_vprintf(v->why, fmt, ap);
  va_end(ap);
  str_puts(v->why, ", in `");
  ir_print_stmt_head(v->p, s, v->why);
  str_puts(v->why, "`");
  return false;
}

/* ---- links -------------------------------------------------------------- */

/* May a statement of this kind have children in its body, or in alt? */
static bool may_have(ir_kind kind, bool alt) {
  switch (kind) {
  case IR_BLOCK:
  case IR_IF: return true;
  case IR_LOOP:
  case IR_LET:
  case IR_ALLOCATE: return !alt;
  default: return false;
  }
}

/* Checks one list of children.  Each is marked when reached, so a list that
 * runs into itself or another one is detected. */
static bool list_ok(verifier *v, ir_stmt parent, bool alt, ir_stmt first) {
  const ir_program *p = v->p;
  ir_kind kind = (ir_kind)ir_st(p, parent)->kind;
  if (first && !may_have(kind, alt))
    return verify_fail(v, "statement %u may not have children", parent);
  for (ir_stmt s = first, prev = 0; s; prev = s, s = ir_st(p, s)->next) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind == IR_DEAD)
      return verify_fail(v, "statement %u is dead but in the tree", s);
    if (v->reached[s])
      return verify_fail(v, "statement %u is in two places", s);
    if (r->parent != parent || r->prev != prev || r->in_alt != alt)
      return verify_fail(v, "the links of statement %u do not agree", s);
    v->reached[s] = 1;
  }
  return true;
}

/* Keys are unique, and an annotation belongs to one statement. */
static bool annos_ok(verifier *v, ir_stmt s) {
  const ir_program *p = v->p;
  const ir_stmt_rec *r = ir_st(p, s);
  if (r->anno && r->kind != IR_LOOP && r->kind != IR_BLOCK)
    return verify_fail(v, "statement %u may not have annotations", s);
  for (uint32_t a = r->anno; a; a = p->anno.v[a].next) {
    ir_str key = p->anno.v[a].key;
    if (v->annotated[a] || v->keyed[key] == s)
      return verify_fail(v, "annotation '%s' of statement %u is there twice",
                         ir_text(p, key), s);
    v->annotated[a] = 1;
    v->keyed[key] = s;
  }
  return true;
}

static bool root_ok(verifier *v, ir_stmt root) {
  const ir_program *p = v->p;
  const ir_stmt_rec *r = ir_st(p, root);
  if (r->kind != IR_BLOCK || r->parent || r->prev || r->next || r->in_alt)
    return verify_fail(v, "statement %u is no root block", root);
  if (v->reached[root])
    return verify_fail(v, "two functions share root block %u", root);
  const ir_block_rec *b = ir_blk(p, root);
  if (strcmp(ir_text(p, b->name), "root"))
    return verify_fail(v, "the root block is called '%s'", ir_text(p, b->name));
  if (b->iters.n || b->pred || r->alt || b->reducer)
    return verify_fail(v, "the root block has iterations, a predicate or "
                          "an init");
  v->reached[root] = 1;
  return true;
}

static bool tree_ok(verifier *v, ir_stmt root) {
  const ir_program *p = v->p;
  uint32_t *depth = arena_zalloc(v->scratch, p->stmt.n * sizeof *depth);
  if (!root_ok(v, root)) return false;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    const ir_stmt_rec *r = ir_st(p, s);
    depth[s] = depth[r->parent] + 1;
    if (depth[s] > IR_MAX_STMT_DEPTH)
      return verify_fail(v, "statements nest deeper than %d",
                         IR_MAX_STMT_DEPTH);
    if (!annos_ok(v, s) || !list_ok(v, s, false, r->body) ||
        !list_ok(v, s, true, r->alt))
      return false;
  }
  return true;
}

bool verify_links(verifier *v) {
  const ir_program *p = v->p;
  v->reached = arena_zalloc(v->scratch, p->stmt.n);
  v->annotated = arena_zalloc(v->scratch, p->anno.n);
  v->keyed = arena_zalloc(v->scratch, p->text.n * sizeof *v->keyed);
  for (uint32_t f = 1; f < p->func.n; f++)
    if (!tree_ok(v, p->func.v[f].root)) return false;
  return true;
}

bool verify_untrusted(const ir_program *p, arena *scratch, strbuf *why) {
  arena_mark m = arena_get_mark(scratch);
  verifier v = {.p = p, .scratch = scratch, .why = why};
  bool ok = verify_tables(&v) && verify_nodes(&v);
  arena_reset_to(scratch, m);
  return ok;
}

bool ir_verify(const ir_program *p, arena *scratch, strbuf *why) {
  arena_mark m = arena_get_mark(scratch);
  verifier v = {.p = p, .scratch = scratch, .why = why};
  bool ok = verify_tables(&v) && verify_links(&v) && verify_blocks(&v);
  if (ok) verify_mark_live(&v);
  ok = ok && verify_nodes(&v) && verify_facts(&v) && verify_scopes(&v) &&
       verify_regions(&v);
  arena_reset_to(scratch, m);
  return ok;
}
