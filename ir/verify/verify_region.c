/* SPDX-License-Identifier: Apache-2.0
 * Verifier, last part: accesses are inside the regions that their blocks
 * declare, values of iters inside their domains, accesses inside their buffers.
 * Only what is proven wrong is refused: an access that must miss every declared
 * region, or one that must leave it because it is unguarded and its index takes
 * all its values. */
#include "ir/arith/arith.h"
#include "ir/arith/linear.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/verify/verify.h"

typedef struct checker {
  verifier *v;
  bool shapes;     /* checks buffers' shapes, not declared regions, */
  bool guarded;    /* of guarded accesses, too */
  ir_stmt block;   /* whose regions are checked */
  bool whole;      /* its iters must take all values of their domains */
  bool reduces;    /* it is a reduction, which may read what it updates */
  ir_stmt *binder; /* by buffer: the statement that binds it */
  bool *dead;      /* by statement: it is unreachable */
  uint32_t *mark;  /* by expression: when it was last visited */
  uint32_t round;
  ir_stmt at; /* the statement being checked */
} checker;

/* ---- one dimension ------------------------------------------------------ */

/* Are the variable's bounds exactly those of its domain?  They may be wider, as
 * after a loop around it was shortened. */
static bool bounds_are_exact(const ir_program *p, const ir_var_rec *v,
                             ir_expr lo, ir_expr extent) {
  int64_t first, n;
  return ir_const_int(p, lo, &first) && ir_const_int(p, extent, &n) && n > 0 &&
         v->lo == first && v->hi == arith_add_hi(first, n - 1);
}

/* Below a loop that may run no iteration nothing is certain. */
static bool may_skip(const ir_program *p, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(p, s);
  return r->kind == IR_IF ||
         (r->kind == IR_LOOP && ir_at(p, r->extent)->lo < 1);
}

/* The iteration variable v of a block; NULL: it is no longer one. */
static const ir_iter *iter_of(const ir_program *p, ir_var v) {
  ir_span it = ir_blk(p, p->var.v[v].owner)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].var == v) return &p->iter.v[i];
  return NULL;
}

/* The extent of the loop, or of the iteration variable of a block around, that
 * v is; 0: neither. */
static ir_expr extent_of_var(const ir_program *p, ir_var v) {
  const ir_var_rec *r = &p->var.v[v];
  if (r->kind == IR_VAR_LOOP) return ir_st(p, r->owner)->extent;
  const ir_iter *it = r->kind == IR_VAR_ITER ? iter_of(p, v) : NULL;
  return it ? it->extent : 0;
}

/* The variable is bound to *driver, a loop or an iteration variable of a block
 * around, or to a sum of it and a constant, and has as many values; *driver is
 * 0 where it has one value. */
static bool is_driven(const ir_program *p, const ir_iter *it, ir_var *driver) {
  lin bind;
  int64_t n = 0, m = 0;
  *driver = 0;
  lin_of(p, it->bind, &bind);
  if (bind.n == 0) return ir_const_int(p, it->extent, &n) && n == 1;
  if (bind.n != 1 || bind.t[0].k != 1) return false;
  const ir_node *x = ir_at(p, bind.t[0].atom);
  if (x->op != IR_VAR) return false;
  *driver = x->a;
  ir_expr extent = extent_of_var(p, x->a);
  return extent && ir_const_int(p, it->extent, &n) &&
         ir_const_int(p, extent, &m) && n == m;
}

static bool all_instances_run(const ir_program *p, ir_stmt block);

/* Every iteration variable is driven, no two by the same and none by one of a
 * block that is not whole: they take all points of their domain together. */
static bool is_driven_whole(const ir_program *p, ir_stmt block) {
  ir_span it = ir_blk(p, block)->iters;
  ir_var driver, other;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    if (!is_driven(p, &p->iter.v[i], &driver)) return false;
    const ir_var_rec *r = &p->var.v[driver];
    if (driver && r->kind == IR_VAR_ITER && !all_instances_run(p, r->owner))
      return false;
    for (uint32_t k = it.at; driver && k < i; k++)
      if (is_driven(p, &p->iter.v[k], &other) && other == driver) return false;
  }
  return true;
}

static bool is_reduction(const ir_program *p, ir_stmt block) {
  return ir_has_reduce_iter(p, block) || ir_st(p, block)->alt;
}

/* Whether every instance of the block runs, for all that is known. */
static bool all_instances_run(const ir_program *p, ir_stmt block) {
  for (ir_stmt s = ir_st(p, block)->parent; s; s = ir_st(p, s)->parent)
    if (may_skip(p, s) || (ir_is_block(p, s) && ir_blk(p, s)->pred))
      return false;
  return !ir_blk(p, block)->pred && is_driven_whole(p, block);
}

/* Must the variable take every value of its constant range while one instance
 * of the block runs, or all of them do? */
static bool takes_all(const checker *c, ir_expr e) {
  const ir_program *p = c->v->p;
  const ir_node *n = ir_at(p, e);
  if (n->op != IR_VAR) return false;
  const ir_var_rec *r = &p->var.v[n->a];
  const ir_stmt_rec *s = ir_st(p, r->owner);
  if (r->kind == IR_VAR_LOOP)
    return bounds_are_exact(p, r, s->lo, s->extent) &&
           ir_is_ancestor(p, c->block, r->owner);
  if (r->kind != IR_VAR_ITER || !c->whole ||
      (r->owner != c->block && !all_instances_run(p, r->owner)))
    return false;
  const ir_iter *it = iter_of(p, n->a);
  return it && bounds_are_exact(p, r, it->lo, it->extent);
}

static bool is_exact(const checker *c, const lin *l) {
  for (uint32_t i = 0; i < l->n; i++)
    if (!takes_all(c, l->t[i].atom)) return false;
  return true;
}

/* Must the `n` elements from offset `diff` on leave [0, extent)? */
static bool must_leave(const checker *c, const lin *diff, int64_t n,
                       ir_expr extent, bool guarded) {
  const ir_node *x = ir_at(c->v->p, extent);
  arith_range r = lin_range(c->v->p, diff);
  int64_t last = arith_add_hi(r.hi, n - 1), end = x->hi;
  if (last < 0 || (end != INT64_MAX && r.lo >= end)) return true;
  if (guarded || !is_exact(c, diff)) return false;
  return r.lo < 0 || (x->op == IR_INT && last >= end);
}

/* ---- one access --------------------------------------------------------- */

/* A box: the values of `min` by dimension, with the iters of block `inner` (0:
 * none) replaced by their bindings, and its extents. */
typedef struct box {
  ir_buf buf;
  uint32_t at, step; /* mins in the pool, every step-th */
  ir_stmt inner;
} box;

/* Replaces the iters of block `inner` in l by their bindings; false: it does
 * not fit. */
static bool substitute_bindings(const ir_program *p, lin *l, ir_stmt inner) {
  ir_span it = ir_blk(p, inner)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++) {
    ir_expr ref = ir_ref(p, p->iter.v[i].var);
    uint32_t k = 0;
    while (k < l->n && l->t[k].atom != ref) k++;
    if (k == l->n) continue;
    int64_t coef = l->t[k].k;
    lin bind;
    lin_of(p, p->iter.v[i].bind, &bind);
    lin_remove(l, k);
    if (!lin_add(p, l, &bind, coef)) return false;
  }
  return true;
}

/* x := the start of dimension d of the box, less that of region r. */
static bool offset(const ir_program *p, const box *b, ir_region r, uint32_t d,
                   lin *x) {
  lin min;
  lin_of(p, p->arg.v[b->at + d * b->step], x);
  lin_of(p, ir_region_min(p, r, d), &min);
  return (!b->inner || substitute_bindings(p, x, b->inner)) &&
         lin_add(p, x, &min, -1);
}

/* Must the region contain all of dimension d from its start, or to its end? */
static bool is_whole_from(const ir_program *p, ir_region r, uint32_t d,
                          bool end) {
  ir_expr min = ir_region_min(p, r, d);
  if (!end) return ir_at(p, min)->hi <= 0;
  lin past, x;
  lin_of(p, min, &past);
  lin_of(p, ir_region_extent(p, r, d), &x);
  if (!lin_add(p, &past, &x, 1)) return false;
  lin_of(p, ir_dim(p, r.buf, d), &x);
  return lin_add(p, &past, &x, -1) && lin_range(p, &past).lo >= 0;
}

static bool is_empty(const ir_program *p, ir_region r) {
  for (uint32_t d = 0; d < ir_ndim(p, r.buf); d++)
    if (ir_at(p, ir_region_extent(p, r, d))->hi < 1) return true;
  return false;
}

/* May the box, of a nested block's declaration, be empty in some iterations,
 * which may be the only ones? */
static bool may_be_empty(const ir_program *p, const box *b) {
  if (b->step != 2) return false;
  for (uint32_t d = 0; d < ir_ndim(p, b->buf); d++)
    if (ir_at(p, p->arg.v[b->at + d * 2 + 1])->lo < 1) return true;
  return false;
}

/* Must the box be outside of its buffer? */
static bool misses_buffer(const ir_program *p, const box *b) {
  for (uint32_t d = 0; d < ir_ndim(p, b->buf); d++) {
    lin x;
    lin_of(p, p->arg.v[b->at + d * 2], &x);
    if (b->inner && !substitute_bindings(p, &x, b->inner)) continue;
    arith_range r = lin_range(p, &x);
    int64_t n = ir_at(p, p->arg.v[b->at + d * 2 + 1])->hi;
    int64_t end = ir_at(p, ir_dim(p, b->buf, d))->hi;
    if ((end != INT64_MAX && r.lo >= end) || arith_add_hi(r.hi, n) <= 0)
      return true;
  }
  return false;
}

/* The declaration of a nested block may overhang the buffer, or be outside. */
static bool leaves_region(const checker *c, const box *b, ir_region r,
                          bool guarded) {
  const ir_program *p = c->v->p;
  /* Where its last elements would be it may be empty. */
  guarded |= may_be_empty(p, b);
  /* The box may be inside; and an empty declaration may be of a block that
   * never runs. */
  if ((b->step == 2 &&
       (is_empty(p, (ir_region){b->buf, b->at}) || misses_buffer(p, b))) ||
      (guarded && is_empty(p, r)))
    return false;
  for (uint32_t d = 0; d < ir_ndim(p, r.buf); d++) {
    ir_expr min = p->arg.v[b->at + d * b->step];
    bool wide = b->step == 2;
    int64_t n = wide ? ir_at(p, p->arg.v[b->at + d * 2 + 1])->lo : 1;
    if (ir_at(p, min)->dtype.lanes != 1) continue;
    lin x;
    if (!offset(p, b, r, d, &x)) continue;
    bool low = lin_range(p, &x).lo < 0, whole = is_whole_from(p, r, d, true);
    if (wide && (low ? is_whole_from(p, r, d, false) : whole)) continue;
    if (wide && whole) n = 1;
    if (must_leave(c, &x, n < 1 ? 1 : n, ir_region_extent(p, r, d), guarded))
      return true;
  }
  return false;
}

/* 1: some region may contain the box, 0: none does, -1: none is declared. */
static int held_by(const checker *c, const box *b, ir_span regions,
                   bool guarded) {
  const ir_program *p = c->v->p;
  int found = -1;
  for (uint32_t i = 0; i < regions.n && found < 1; i++) {
    ir_region r = p->region.v[regions.at + i];
    if (r.buf == b->buf) found = !leaves_region(c, b, r, guarded);
  }
  return found;
}

/* Is the box inside its buffer, as far as is known? */
static bool inside_ok(const checker *c, const box *b, bool write,
                      bool guarded) {
  const ir_program *p = c->v->p;
  if (guarded && !c->guarded) return true;
  for (uint32_t d = 0; d < ir_ndim(p, b->buf); d++) {
    ir_expr at = p->arg.v[b->at + d];
    lin x;
    lin_of(p, at, &x);
    if (ir_at(p, at)->dtype.lanes != 1 ||
        !must_leave(c, &x, 1, ir_dim(p, b->buf, d), guarded))
      continue;
    arith_range r = lin_range(p, &x);
    verify_fail(c->v, "buffer '%s' is %s outside of its shape: index %u, `",
                ir_text(p, p->buf.v[b->buf].name), write ? "written" : "read",
                d);
    ir_print_expr(p, at, c->v->why);
    str_printf(c->v->why, "`, is in [%lld, %lld] and the extent is `",
               (long long)r.lo, (long long)r.hi);
    ir_print_expr(p, ir_dim(p, b->buf, d), c->v->why);
    return verify_fail_at(c->v, c->at, "`");
  }
  return true;
}

static bool box_ok(checker *c, const box *b, bool write, bool guarded) {
  const ir_program *p = c->v->p;
  const ir_block_rec *r = ir_blk(p, c->block);
  ir_stmt binder = c->binder[b->buf];
  if (c->shapes) return inside_ok(c, b, write, guarded);
  if (!ir_st(p, c->block)->parent) return true; /* the root declares nothing */
  if (binder && ir_is_ancestor(p, c->block, binder)) return true;
  int held = held_by(c, b, write ? r->writes : r->reads, guarded);
  if (held != 1 && !write && c->reduces) {
    int updated = held_by(c, b, r->writes, guarded);
    if (updated >= 0) held = updated;
  }
  /* A reduction reads what it updates by virtue of its write regions. */
  if (held == 1 ||
      (!write && ir_anno_lists_buffer(p, c->block, IR_HIDDEN_READS, b->buf)) ||
      ((write || c->reduces) &&
       ir_anno_lists_buffer(p, c->block, IR_HIDDEN_WRITES, b->buf)))
    return true;
  return verify_fail_at(
      c->v, c->at, "block '%s' %s buffer '%s' %s", ir_text(p, r->name),
      write ? "writes" : "reads", ir_text(p, p->buf.v[b->buf].name),
      held ? "without declaring it" : "outside of the region it declares");
}

/* ---- walking ------------------------------------------------------------ */

static bool loads_ok(checker *c, ir_expr e, bool guarded);

static bool operands_ok(checker *c, ir_expr e, bool guarded) {
  const ir_program *p = c->v->p;
  const uint32_t *ops;
  uint32_t fixed[3], n = ir_operands(p, e, &ops, fixed);
  bool choice = ir_at(p, e)->op == IR_SELECT;
  for (uint32_t i = 0; i < n; i++)
    if (!loads_ok(c, ops[i], guarded || (choice && i > 0))) return false;
  return true;
}

/* Visits every node once a block, and again if it was guarded first and now is
 * not. */
static bool loads_ok(checker *c, ir_expr e, bool guarded) {
  const ir_node *n = ir_at(c->v->p, e);
  if (ir_is_instead(c->v->p, e)) return true; /* addresses, not accesses */
  uint32_t now = 2 * c->round + !guarded;
  if (!n->has_load || c->mark[e] >= now) return true;
  c->mark[e] = now;
  if (n->op == IR_LOAD) {
    box b = {n->a, n->b, 1, 0};
    if (!box_ok(c, &b, false, guarded || n->c)) return false;
  }
  return operands_ok(c, e, guarded);
}

/* Must an iter get values outside of its domain? */
static bool iter_values_ok(const checker *c, ir_stmt s, const ir_iter *it,
                           bool guarded) {
  const ir_program *p = c->v->p;
  lin x, lo;
  lin_of(p, it->bind, &x);
  lin_of(p, it->lo, &lo);
  if (!lin_add(p, &x, &lo, -1) || !must_leave(c, &x, 1, it->extent, guarded))
    return true;
  const ir_node *n = ir_at(p, it->bind);
  return verify_fail_at(c->v, s,
                        "the value of variable '%s', in [%lld, %lld], "
                        "leaves its domain",
                        ir_var_text(p, it->var, c->v->scratch),
                        (long long)n->lo, (long long)n->hi);
}

/* The regions of a nested block, over the loops around it. */
static bool nested_ok(checker *c, ir_stmt s, bool guarded) {
  const ir_program *p = c->v->p;
  const ir_block_rec *in = ir_blk(p, s);
  if (in->pred && ir_is_const(p, in->pred, 0)) return true; /* unreachable */
  guarded |= in->pred != 0;
  uint32_t n = c->shapes ? 0 : in->reads.n + in->writes.n;
  for (uint32_t i = 0; i < n; i++) {
    bool write = i >= in->reads.n;
    ir_region r =
        p->region.v[write ? in->writes.at + i - in->reads.n : in->reads.at + i];
    box b = {r.buf, r.at, 2, s};
    if (!box_ok(c, &b, write, guarded)) return false;
  }
  for (uint32_t i = in->iters.at; i < in->iters.at + in->iters.n; i++)
    if (!loads_ok(c, p->iter.v[i].bind, guarded) ||
        !iter_values_ok(c, s, &p->iter.v[i], guarded))
      return false;
  return !in->pred || loads_ok(c, in->pred, guarded);
}

static bool store_ok(checker *c, const ir_stmt_rec *r, bool guarded) {
  const ir_program *p = c->v->p;
  box b = {r->buf, r->idx.at, 1, 0};
  guarded |= r->mask != 0;
  if (!box_ok(c, &b, true, guarded) || !loads_ok(c, r->value, guarded))
    return false;
  for (uint32_t i = 0; i < r->idx.n; i++)
    if (!loads_ok(c, p->arg.v[r->idx.at + i], guarded)) return false;
  return !r->mask || loads_ok(c, r->mask, guarded);
}

static bool head_ok(checker *c, ir_stmt s, bool guarded) {
  const ir_stmt_rec *r = ir_st(c->v->p, s);
  c->at = s;
  switch ((ir_kind)r->kind) {
  case IR_LOOP:
    return loads_ok(c, r->lo, guarded) && loads_ok(c, r->extent, guarded);
  case IR_BLOCK: return nested_ok(c, s, guarded);
  case IR_STORE: return store_ok(c, r, guarded);
  case IR_IF: return loads_ok(c, r->cond, guarded);
  case IR_LET: return loads_ok(c, r->let_value, guarded);
  case IR_EVALUATE: return loads_ok(c, r->eval, guarded);
  default: return true;
  }
}

static bool list_ok(checker *c, ir_stmt first, bool guarded) {
  const ir_program *p = c->v->p;
  for (ir_stmt s = first; s; s = ir_st(p, s)->next) {
    if (c->dead[s]) continue;
    if (!head_ok(c, s, guarded)) return false;
    if (ir_is_block(p, s)) continue;
    bool inside = guarded || may_skip(p, s);
    if (!list_ok(c, ir_st(p, s)->body, inside) ||
        !list_ok(c, ir_st(p, s)->alt, inside))
      return false;
  }
  return true;
}

static bool matches_ok(checker *c) {
  const ir_program *p = c->v->p;
  ir_span m = ir_blk(p, c->block)->matches;
  c->at = c->block;
  if (c->shapes || !ir_st(p, c->block)->parent) return true;
  for (uint32_t i = m.at; i < m.at + m.n; i++) {
    ir_region r = p->match.v[i].source;
    const ir_block_rec *b = ir_blk(p, c->block);
    box x = {r.buf, r.at, 2, 0};
    ir_stmt binder = c->binder[r.buf];
    if (binder && ir_is_ancestor(p, c->block, binder)) continue;
    if (held_by(c, &x, b->reads, false) != 1 &&
        held_by(c, &x, b->writes, false) != 1)
      return verify_fail_at(c->v, c->block,
                            "match buffer '%s' is outside of "
                            "what the block declares",
                            ir_text(p, p->buf.v[p->match.v[i].buf].name));
  }
  return true;
}

static void find_binders(checker *c, ir_stmt root) {
  const ir_program *p = c->v->p;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    if (ir_st(p, s)->kind == IR_ALLOCATE) c->binder[ir_st(p, s)->alloc] = s;
    if (!ir_is_block(p, s)) continue;
    const ir_block_rec *b = ir_blk(p, s);
    for (uint32_t i = 0; i < b->allocs.n; i++)
      c->binder[p->arg.v[b->allocs.at + i]] = s;
    for (uint32_t i = 0; i < b->matches.n; i++)
      c->binder[p->match.v[b->matches.at + i].buf] = s;
  }
}

static void mark_dead(checker *c, ir_stmt first) {
  for (ir_stmt s = first; s; s = ir_st(c->v->p, s)->next) c->dead[s] = true;
}

/* Marks what is unreachable: under a condition that is constantly false, or in
 * a loop without iterations.  Its accesses are not checked. */
static void find_dead(checker *c, ir_stmt root) {
  const ir_program *p = c->v->p;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    const ir_stmt_rec *r = ir_st(p, s);
    int64_t cond = 1;
    bool all = c->dead[s];
    if (ir_is_block(p, s)) {
      ir_expr pred = ir_blk(p, s)->pred;
      all |= pred && ir_is_const(p, pred, 0);
    } else if (r->kind == IR_LOOP) {
      all |= ir_at(p, r->extent)->hi < 1;
    } else if (r->kind == IR_IF && ir_const_int(p, r->cond, &cond)) {
      mark_dead(c, cond ? r->alt : r->body);
    }
    if (!all) continue;
    mark_dead(c, r->body);
    mark_dead(c, r->alt);
  }
}

static bool func_ok(checker *c, ir_stmt root) {
  const ir_program *p = c->v->p;
  find_binders(c, root);
  find_dead(c, root);
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    if (!ir_is_block(p, s) || c->dead[s]) continue;
    c->block = s;
    c->whole = all_instances_run(p, s);
    c->reduces = is_reduction(p, s);
    c->round++;
    if (!matches_ok(c) || !list_ok(c, ir_st(p, s)->alt, false) ||
        !list_ok(c, ir_st(p, s)->body, false))
      return false;
  }
  return true;
}

static bool check_block_regions(verifier *v, bool shapes, bool guarded) {
  const ir_program *p = v->p;
  checker c = {.v = v, .shapes = shapes, .guarded = guarded};
  c.binder = arena_zalloc(v->scratch, p->buf.n * sizeof *c.binder);
  c.dead = arena_zalloc(v->scratch, p->stmt.n * sizeof *c.dead);
  c.mark = arena_zalloc(v->scratch, p->node.n * sizeof *c.mark);
  for (uint32_t f = 1; f < p->func.n; f++)
    if (!func_ok(&c, p->func.v[f].root)) return false;
  return true;
}

/* Regions that nobody wrote are inferred, and end where their buffers do: an
 * access that leaves its buffer leaves them, too.  The former is what is
 * wrong, and what is said then. */
bool verify_regions(verifier *v) {
  strbuf *why = v->why;
  size_t start = why->n;
  if (check_block_regions(v, false, true)) return true;
  size_t end = why->n;
  if ((!verify_instances(v) || !check_block_regions(v, true, false)) &&
      !why->bad) {
    why->n -= end - start;
    memmove(why->v + start, why->v + end, why->n - start + 1);
  }
  return false;
}

bool ir_verify_bounds(const ir_program *p, bool guarded, arena *scratch,
                      strbuf *why) {
  arena_mark m = arena_get_mark(scratch);
  verifier v = {.p = p, .scratch = scratch, .why = why};
  bool ok = check_block_regions(&v, true, guarded) && verify_instances(&v);
  arena_reset_to(scratch, m);
  return ok;
}
