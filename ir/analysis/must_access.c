/* SPDX-License-Identifier: Apache-2.0
 * Must-access analysis of a block's body: whether each instance accesses all of
 * a declared region, which may be guarded or a bounding box with gaps. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"

typedef struct region_ask {
  ir_program *p;
  arena *scratch;
  ir_stmt block;
  ir_region r; /* over the block's iters */
  bool write;
  ir_stmt decided; /* this condition, and those around it in the block, are
                    * known to take the branch that is analyzed; 0: none */
} region_ask;

/* The last index of dimension d. */
static ir_expr region_last(ir_program *p, ir_region r, uint32_t d) {
  ir_expr extent = ir_region_extent(p, r, d);
  return ir_sub(p, ir_add(p, ir_region_min(p, r, d), extent), ir_index(p, 1));
}

/* Does the condition only keep the store inside of the buffer, or hold in all
 * of the region?  One that loops were split under may have been simplified: i_0
 * * 8 + i_1 < 16 to i_0 < 2. */
static bool only_clips(const region_ask *k, const ir_stmt_rec *st,
                       ir_expr cond) {
  ir_program *p = k->p;
  const ir_node n = *ir_at(p, cond);
  if (n.op == IR_AND) return only_clips(k, st, n.a) && only_clips(k, st, n.b);
  for (uint32_t d = 0; st->kind == IR_STORE && d < st->idx.n; d++) {
    ir_expr at = p->arg.v[st->idx.at + d], lo = ir_region_min(p, k->r, d);
    ir_expr end = ir_add(p, lo, ir_region_extent(p, k->r, d));
    if (cond == ir_binary(p, IR_LT, at, ir_dim(p, st->buf, d))) return true;
    if (n.op == IR_LT && n.a == at &&
        (n.b == ir_dim(p, st->buf, d) || arith_prove_le(p, end, n.b)))
      return true;
    if (n.op == IR_LE && n.b == at &&
        (ir_is_const(p, n.a, 0) || arith_prove_le(p, n.a, lo)))
      return true;
  }
  return false;
}

/* Index d of an access by statement s, with lets inlined. */
static ir_expr index_at(const region_ask *k, ir_stmt s, uint32_t idx,
                        uint32_t d) {
  return ir_inline_lets(k->p, k->scratch, s, k->block, k->p->arg.v[idx + d]);
}

static bool same_element(const region_ask *k, ir_stmt s, ir_stmt other) {
  const ir_stmt_rec a = *ir_st(k->p, s), b = *ir_st(k->p, other);
  if (b.buf != a.buf || b.mask) return false;
  for (uint32_t d = 0; d < a.idx.n; d++)
    if (index_at(k, s, a.idx.at, d) != index_at(k, other, b.idx.at, d))
      return false;
  return true;
}

/* Must the list store to the same element as store s? */
static bool stores_same(const region_ask *k, ir_stmt first, ir_stmt s) {
  const ir_program *p = k->p;
  for (ir_stmt q = first; q; q = ir_st(p, q)->next) {
    const ir_stmt_rec r = *ir_st(p, q);
    bool lets = r.kind == IR_LET && stores_same(k, r.body, s);
    bool both = r.kind == IR_IF && stores_same(k, r.body, s) &&
                stores_same(k, r.alt, s);
    if (lets || both || (r.kind == IR_STORE && same_element(k, s, q)))
      return true;
  }
  return false;
}

/* Is the store in one branch of a condition, and does the other one store to
 * the same element? */
static bool both_store(const region_ask *k, ir_stmt s, ir_stmt branch) {
  const ir_stmt_rec *in = ir_st(k->p, branch), *r = ir_st(k->p, in->parent);
  return ir_st(k->p, s)->kind == IR_STORE && k->write &&
         stores_same(k, in->in_alt ? r->body : r->alt, s);
}

static bool is_decided(const region_ask *k, ir_stmt cond) {
  return k->decided && ir_is_ancestor(k->p, cond, k->decided);
}

/* Is the store unconditionally executed: are there between it and the block
 * only lets, loops that have iterations, conditions of which both branches
 * store, and guards that only clip (conjoined in *clip)? */
static bool always_runs(const region_ask *k, ir_stmt s, ir_expr *clip) {
  ir_program *p = k->p;
  const ir_stmt_rec st = *ir_st(p, s);
  *clip = 0;
  for (ir_stmt in = s, a = st.parent; a != k->block;
       in = a, a = ir_st(p, a)->parent) {
    const ir_stmt_rec r = *ir_st(p, a);
    bool loop = r.kind == IR_LOOP && ir_is_const(p, r.lo, 0) &&
                ir_at(p, r.extent)->lo >= 1;
    if (loop || r.kind == IR_LET ||
        (r.kind == IR_IF && (is_decided(k, a) || both_store(k, s, in))))
      continue;
    if (r.kind != IR_IF || ir_st(p, in)->in_alt || !only_clips(k, &st, r.cond))
      return false;
    ir_expr cond = ir_inline_lets(p, k->scratch, a, k->block, r.cond);
    *clip = ir_and(p, *clip, cond);
  }
  return true;
}

/* Does an access by statement s with these indices cover the region: is it its
 * single point, or swept over all of it by the loops in the block? */
static bool access_fills(const region_ask *k, ir_stmt s, uint32_t idx) {
  ir_program *p = k->p;
  uint32_t n = 0, ndim = ir_ndim(p, k->r.buf);
  ir_loops l;
  ir_expr clip;
  ir_expr *out = arena_array(k->scratch, ir_expr, 3 * ndim);
  for (uint32_t d = 0; d < ndim; d++) {
    ir_expr at = index_at(k, s, idx, d), extent = ir_region_extent(p, k->r, d);
    ir_expr min = ir_region_min(p, k->r, d);
    if (at == min && ir_is_const(p, extent, 1)) continue;
    out[n] = at;
    out[ndim + n] = min;
    out[2 * ndim + n++] = extent;
  }
  if (!always_runs(k, s, &clip)) return false;
  if (!n) return true;
  (void)ir_loops_between(p, k->scratch, k->block, s, &l);
  /* The region may overhang the buffer as the loops do, or end with it. */
  for (int ends = 0; ends <= (clip != 0); ends++)
    if (arith_map_is(p, k->scratch, ARITH_MAP_SURJECTIVE, l.n, l.var, l.extent,
                     n, out, out + ndim, out + 2 * ndim, ends ? clip : 0))
      return true;
  return false;
}

static bool store_fills(const region_ask *k, ir_stmt s) {
  const ir_stmt_rec st = *ir_st(k->p, s);
  return st.buf == k->r.buf && !st.mask && access_fills(k, s, st.idx.at);
}

/* The conjuncts that do more than exclude points, where the region is a point
 * in some dimension, outside of the buffer, where nothing is to be accessed. 0:
 * none. */
static ir_expr clips_point(const region_ask *k, ir_expr cond) {
  ir_program *p = k->p;
  const ir_node n = *ir_at(p, cond);
  if (n.op == IR_AND) {
    ir_expr a = clips_point(k, n.a), b = clips_point(k, n.b);
    return a && b ? ir_and(p, a, b) : a ? a : b;
  }
  for (uint32_t d = 0; d < ir_ndim(p, k->r.buf); d++) {
    ir_expr at = ir_region_min(p, k->r, d);
    if (ir_is_const(p, ir_region_extent(p, k->r, d), 1) &&
        (cond == ir_binary(p, IR_LT, at, ir_dim(p, k->r.buf, d)) ||
         cond == ir_binary(p, IR_LE, ir_index(p, 0), at)))
      return cond;
  }
  return 0;
}

/* Is a nested block one that must access all of the region? */
static bool block_fills(const region_ask *k, ir_stmt s) {
  ir_program *p = k->p;
  ir_span all = k->write ? ir_blk(p, s)->writes : ir_blk(p, s)->reads;
  uint32_t ndim = ir_ndim(p, k->r.buf);
  ir_expr *box = arena_array(k->scratch, ir_expr, 2 * ndim);
  ir_expr pred = ir_blk(p, s)->pred, given = pred ? clips_point(k, pred) : 0;
  for (uint32_t d = 0; d < ndim; d++) {
    box[d] = ir_region_min(p, k->r, d);
    box[ndim + d] = region_last(p, k->r, d);
  }
  for (uint32_t i = 0; i < all.n; i++) {
    ir_region r = p->region.v[all.at + i];
    if (r.buf == k->r.buf &&
        ir_must_access_box(p, k->scratch, s, r, k->block, box, box + ndim,
                           given) &&
        ir_must_access_region(p, k->scratch, s, r, k->write))
      return true;
  }
  return false;
}

static bool list_fills(const region_ask *k, ir_stmt first, bool *blocks);

/* One of the branches runs, and each must access the region.  Not in a loop,
 * where iterations may take different branches, nor under a condition that may
 * not hold. */
static bool branches_fill(const region_ask *k, ir_stmt cond, bool *blocks) {
  const ir_program *p = k->p;
  ir_stmt up = ir_st(p, cond)->parent;
  while (ir_st(p, up)->kind == IR_LET) up = ir_st(p, up)->parent;
  region_ask each = *k;
  each.decided = cond;
  return up == (k->decided ? k->decided : k->block) &&
         list_fills(&each, ir_st(p, cond)->body, blocks) &&
         list_fills(&each, ir_st(p, cond)->alt, blocks);
}

/* Must some statement of the list access the region?  Enters loops, lets and
 * conditions: if both branches do, finds the first one. */
static bool list_fills(const region_ask *k, ir_stmt first, bool *blocks) {
  const ir_program *p = k->p;
  for (ir_stmt s = first; s; s = ir_st(p, s)->next) {
    ir_kind kind = (ir_kind)ir_st(p, s)->kind;
    if (kind == IR_BLOCK) *blocks = true;
    if ((kind == IR_STORE && k->write && store_fills(k, s)) ||
        (kind == IR_BLOCK && block_fills(k, s)) ||
        (kind == IR_IF && branches_fill(k, s, blocks)) ||
        ((kind == IR_LOOP || kind == IR_LET || kind == IR_IF) &&
         list_fills(k, ir_st(p, s)->body, blocks)))
      return true;
  }
  return false;
}

/* For accesses through a match buffer, queries the match. */
static bool enter_match(region_ask *k) {
  ir_program *p = k->p;
  ir_span m = ir_blk(p, k->block)->matches;
  for (uint32_t i = m.at; i < m.at + m.n; i++) {
    ir_match x = p->match.v[i];
    if (x.source.buf != k->r.buf) continue;
    for (uint32_t d = 0; d < 2 * ir_ndim(p, k->r.buf); d++)
      if (p->arg.v[x.source.at + d] != p->arg.v[k->r.at + d]) return false;
    k->r = ir_region_full(p, x.buf);
    return true;
  }
  return true;
}

/* ---- reads -------------------------------------------------------------- */

typedef struct choice {
  ir_buf buf;
  bool found;
} choice;

static void look_for_choice(const ir_program *p, ir_expr e, void *ud) {
  choice *c = ud;
  const ir_node n = *ir_at(p, e);
  if (n.op == IR_SELECT &&
      (ir_has_load(p, n.b, c->buf) || ir_has_load(p, n.c, c->buf)))
    c->found = true;
}

static bool loads(const region_ask *k, ir_expr e, bool *sometimes) {
  choice c = {k->r.buf, false};
  if (!e || !ir_has_load(k->p, e, k->r.buf)) return false;
  ir_visit(k->p, k->scratch, e, look_for_choice, &c);
  *sometimes |= c.found;
  return true;
}

/* Is some load of the buffer below `first` conditional, or in a loop that may
 * have no iteration? */
static bool reads_sometimes(const region_ask *k, ir_stmt first, bool guarded) {
  const ir_program *p = k->p;
  bool found = false;
  for (ir_stmt s = first; s && !found; s = ir_st(p, s)->next) {
    const ir_stmt_rec r = *ir_st(p, s);
    bool here = r.kind == IR_IF, any = false;
    if (r.kind == IR_LOOP) here = ir_at(p, r.extent)->lo < 1;
    if (r.kind == IR_LET) any = loads(k, r.let_value, &found);
    if (r.kind == IR_STORE) {
      any = loads(k, r.value, &found);
      for (uint32_t i = 0; i < r.idx.n; i++)
        any |= loads(k, p->arg.v[r.idx.at + i], &found);
    }
    found |= any && guarded;
    found = found || reads_sometimes(k, r.body, guarded || here) ||
            reads_sometimes(k, r.alt, guarded || here);
  }
  return found;
}

/* The loads of the buffer in a block, up to a limit. */
enum { MOST_LOADS = 64 };
typedef struct load_list {
  const region_ask *k;
  ir_stmt store; /* the one analyzed */
  uint32_t n;
  struct {
    ir_stmt store;
    ir_expr load;
  } v[MOST_LOADS];
} load_list;

static void record_load(const ir_program *p, ir_expr e, void *ud) {
  load_list *l = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op != IR_LOAD || n->a != l->k->r.buf || n->c || l->n == MOST_LOADS)
    return;
  l->v[l->n].store = l->store;
  l->v[l->n++].load = e;
}

static void list_loads(load_list *l, ir_stmt first) {
  const ir_program *p = l->k->p;
  for (ir_stmt s = l->store = first; s; s = l->store = ir_st(p, s)->next) {
    const ir_stmt_rec r = *ir_st(p, s);
    if (r.kind == IR_LET)
      ir_visit(p, l->k->scratch, r.let_value, record_load, l);
    if (r.kind == IR_STORE) {
      ir_visit(p, l->k->scratch, r.value, record_load, l);
      for (uint32_t i = 0; i < r.idx.n; i++)
        ir_visit(p, l->k->scratch, p->arg.v[r.idx.at + i], record_load, l);
    }
    list_loads(l, r.body);
    list_loads(l, r.alt);
  }
}

/* The linear index in the region of the point loaded; false: it moves, or there
 * are too many. */
static bool find_point(const region_ask *k, ir_expr load, uint64_t *at,
                       uint64_t *points) {
  ir_program *p = k->p;
  *at = 0, *points = 1;
  for (uint32_t d = 0; d < ir_ndim(p, k->r.buf); d++) {
    int64_t off, extent;
    ir_expr idx = p->arg.v[ir_at(p, load)->b + d];
    if (!ir_const_int(p, ir_sub(p, idx, ir_region_min(p, k->r, d)), &off) ||
        !ir_const_int(p, ir_region_extent(p, k->r, d), &extent) || off < 0 ||
        off >= extent || extent > MOST_LOADS)
      return false;
    *at = *at * (uint64_t)extent + (uint64_t)off;
    *points *= (uint64_t)extent;
    if (*points > MOST_LOADS) return false;
  }
  return true;
}

/* Does one load sweep all of the region, or does each of its points have
 * one? */
static bool loads_fill(const region_ask *k) {
  load_list *l = arena_array(k->scratch, load_list, 1);
  uint64_t seen = 0, at, points;
  *l = (load_list){.k = k};
  list_loads(l, ir_st(k->p, k->block)->body);
  for (uint32_t i = 0; i < l->n; i++) {
    if (access_fills(k, l->v[i].store, ir_at(k->p, l->v[i].load)->b))
      return true;
    if (!find_point(k, l->v[i].load, &at, &points)) continue;
    seen |= UINT64_C(1) << at;
    if (seen == UINT64_MAX >> (64 - points)) return true;
  }
  return false;
}

bool ir_must_access_region(ir_program *p, arena *scratch, ir_stmt block,
                           ir_region r, bool write) {
  region_ask k = {p, scratch, block, r, write, 0};
  bool blocks = false;
  if (!enter_match(&k)) return false;
  return list_fills(&k, ir_st(p, block)->body, &blocks) ||
         (!write && !blocks &&
          !reads_sometimes(&k, ir_st(p, block)->body, false) && loads_fill(&k));
}
