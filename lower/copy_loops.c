/* SPDX-License-Identifier: Apache-2.0
 * The loops of an automatic copy; see copy_loops.h. */
#include "lower/copy_loops.h"
#include "ir/analysis/analysis.h"
#include "ir/query.h"

static bool copy_is_single(const ir_program *p, ir_stmt s) {
  return s && !ir_st(p, s)->next;
}

/* The store reads nothing of what it changes, under `cond` (0: always). */
static bool reads_others(const ir_program *p, ir_stmt store, ir_expr cond) {
  const ir_stmt_rec *r = ir_st(p, store);
  for (uint32_t i = r->idx.at; i < r->idx.at + r->idx.n; i++)
    if (ir_has_load(p, p->arg.v[i], r->buf)) return false;
  return !ir_has_load(p, r->value, r->buf) &&
         !(cond && ir_has_load(p, cond, r->buf));
}

bool copy_parse(const ir_program *p, ir_stmt block, bool any, copy_nest *out) {
  ir_stmt s = ir_st(p, block)->body;
  ir_expr cond = 0;
  out->n = 0;
  for (; copy_is_single(p, s) && ir_is_loop(p, s); s = ir_st(p, s)->body) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (out->n == COPY_MAX_LOOPS || (!any && r->loop_kind != IR_SERIAL) ||
        !ir_is_const(p, r->lo, 0) || ir_at(p, r->extent)->op != IR_INT)
      return false;
    out->loop[out->n++] = s;
  }
  if (copy_is_single(p, s) && ir_st(p, s)->kind == IR_IF && !ir_st(p, s)->alt) {
    cond = ir_st(p, s)->cond;
    s = ir_st(p, s)->body;
  }
  out->store = s;
  return copy_is_single(p, s) && ir_st(p, s)->kind == IR_STORE &&
         !ir_st(p, s)->mask && reads_others(p, s, cond) &&
         !ir_st(p, block)->alt;
}

static int64_t copy_extent(const ir_program *p, ir_stmt loop) {
  int64_t n = 0;
  ir_const_int(p, ir_st(p, loop)->extent, &n);
  return n;
}

/* ---- several elements at once ------------------------------------------- */

/* Is the store of stride one in the loop? */
static bool stores_contiguously(const ir_program *p, const copy_nest *k,
                                ir_var v) {
  ir_span at = ir_st(p, k->store)->idx;
  ir_expr atom[16];
  int64_t coef[16], c, step = 0;
  for (uint32_t d = 0; d + 1 < at.n; d++)
    if (ir_uses_var(p, p->arg.v[at.at + d], v)) return false;
  int n =
      at.n ? arith_terms(p, p->arg.v[at.at + at.n - 1], 16, atom, coef, &c) : 0;
  for (int i = 0; i < n; i++) {
    if (atom[i] == ir_ref(p, v))
      step = coef[i];
    else if (ir_uses_var(p, atom[i], v))
      return false;
  }
  return step == 1;
}

/* How many elements of the innermost loop `bytes` are, at most; 1 where it is
 * not contiguous. */
static int64_t most_elements(const ir_program *p, const copy_nest *k,
                             int64_t bytes) {
  ir_stmt loop = k->loop[k->n - 1];
  size_t each = ir_dtype_bytes(p->buf.v[ir_st(p, k->store)->buf].dtype);
  int64_t n = bytes / (int64_t)each, extent = copy_extent(p, loop);
  if (n < 2 || !stores_contiguously(p, k, ir_st(p, loop)->var)) return 1;
  return n < extent ? n : extent;
}

/* Strip-mines the loop: a vectorized one of `lanes` steps goes into it. */
static void strip_mine_copy(ir_program *p, arena *scratch, ir_stmt loop,
                            int64_t lanes) {
  ir_var v = ir_st(p, loop)->var;
  int64_t extent = p->var.v[v].hi + 1;
  ir_var outer = ir_var_split(p, v, 0, extent / lanes - 1);
  ir_var inner = ir_var_split(p, v, 1, lanes - 1);
  ir_stmt l =
      ir_loop_new(p, inner, ir_index(p, 0), ir_index(p, lanes), IR_VECTORIZED);
  ir_subst sub;
  ir_subst_init(&sub, p, scratch);
  ir_subst_var(&sub, v,
               ir_add(p, ir_mul(p, ir_ref(p, outer), ir_index(p, lanes)),
                      ir_ref(p, inner)));
  for (ir_stmt s = loop; (s = ir_next(p, s, loop));)
    ir_subst_head(&sub, s, true);
  ir_move_body(p, loop, l);
  ir_append(p, loop, l);
  ir_st(p, loop)->var = outer;
  p->var.v[outer].owner = loop;
  ir_st(p, loop)->extent = ir_index(p, extent / lanes);
}

static void vectorize_copy(ir_program *p, arena *scratch, const copy_nest *k,
                           int64_t bytes) {
  ir_stmt loop = k->loop[k->n - 1];
  int64_t extent = copy_extent(p, loop), lanes = most_elements(p, k, bytes);
  while (lanes > 1 && extent % lanes) lanes--;
  if (lanes < 2) return;
  if (lanes == extent)
    ir_st(p, loop)->loop_kind = IR_VECTORIZED;
  else
    strip_mine_copy(p, scratch, loop, lanes);
}

/* ---- all threads together ----------------------------------------------- */

/* Is the map of the nest's iterations to stored elements injective, so that
 * threads may run them in any order? */
static bool is_injective_store(ir_program *p, arena *scratch, ir_stmt block,
                               const copy_nest *k) {
  ir_span writes = ir_blk(p, block)->writes, at = ir_st(p, k->store)->idx;
  ir_loops l;
  if (writes.n != 1) return false;
  ir_region r = p->region.v[writes.at];
  ir_expr *e = arena_array(scratch, ir_expr, 3 * at.n);
  uint32_t n = 0;
  for (uint32_t d = 0; d < at.n; d++) {
    ir_expr index = p->arg.v[at.at + d], min = ir_region_min(p, r, d);
    if (index == min) continue;
    e[n] = index;
    e[at.n + n] = min;
    e[2 * at.n + n++] = ir_region_extent(p, r, d);
  }
  (void)ir_loops_between(p, scratch, block, k->store, &l);
  return arith_map_is(p, scratch, ARITH_MAP_INJECTIVE, l.n, l.var, l.extent, n,
                      e, e + at.n, e + 2 * at.n, 0);
}

/* The threads that copy together: how many of each axis, .x first. */
typedef struct copy_team {
  int64_t n[3];
} copy_team;

static copy_team team_around(const ir_program *p, ir_stmt block,
                             const copy_plan *how) {
  copy_team t = {{how->lanes ? IR_WARP_LANES : 1, 1, 1}};
  unsigned seen = 0;
  for (ir_stmt s = block; how->threads && (s = ir_st(p, s)->parent);) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (!ir_is_thread_loop(r) || r->thread < IR_THREADIDX_X ||
        r->thread > IR_THREADIDX_Z)
      continue;
    uint32_t axis = r->thread - IR_THREADIDX_X;
    int64_t n;
    if (!(seen >> axis & 1) && ir_const_int(p, r->extent, &n)) t.n[axis] = n;
    seen |= 1u << axis;
  }
  return t;
}

/* Those that take part where there are `rest` equal parts, and the parts of
 * each. */
static copy_team team_part(copy_team all, int64_t *rest) {
  for (int i = 0; i < 3; i++) {
    int64_t n = all.n[i] < *rest ? all.n[i] : *rest;
    while (n > 1 && *rest % n) n--;
    all.n[i] = n > 1 ? n : 1;
    *rest /= all.n[i];
  }
  return all;
}

/* The width of vectors with which most elements are under way at once, a power
 * of two; the wider one of equals. */
static int64_t choose_width(copy_team all, int64_t total, int64_t inner,
                            int64_t most) {
  int64_t best = 1, score = 0, width = 1;
  while (width * 2 <= most) width *= 2;
  for (; width >= 1; width /= 2) {
    int64_t rest = total / width;
    if (inner % width) continue;
    copy_team t = team_part(all, &rest);
    int64_t now = width * t.n[0] * t.n[1] * t.n[2];
    if (now <= score) continue;
    score = now;
    best = width;
  }
  return best;
}

/* A loop around what comes next: its variable, as an expression. */
typedef struct chain {
  ir_program *p;
  ir_var from; /* gives the names */
  unsigned parts;
  ir_stmt top, last;
} chain;

static ir_expr add_copy_loop(chain *c, int64_t n, ir_loop_kind kind, int axis) {
  ir_program *p = c->p;
  if (n < 2) return ir_index(p, 0);
  ir_var v = ir_var_split(p, c->from, c->parts++, n - 1);
  ir_stmt l = ir_loop_new(p, v, ir_index(p, 0), ir_index(p, n), kind);
  if (kind == IR_THREAD) ir_st(p, l)->thread = (uint8_t)(IR_THREADIDX_X + axis);
  if (c->last)
    ir_append(p, c->last, l);
  else
    c->top = l;
  c->last = l;
  return ir_ref(p, v);
}

/* Padding puts rows of `vectors` times 16 bytes at an odd multiple of those.  A
 * quarter of a warp, which writes 128 bytes at once, then writes to distinct
 * banks where its rows are 8 / (rows at once) apart. */
static ir_expr spread_rows(ir_program *p, ir_expr row, int64_t vectors) {
  enum { BANK_GROUPS = 8 };
  ir_expr all = ir_index(p, BANK_GROUPS), apart = ir_index(p, vectors);
  ir_expr at_once = ir_index(p, BANK_GROUPS / vectors);
  ir_expr in_group = ir_binary(p, IR_MOD, row, all);
  ir_expr first = ir_mul(p, ir_binary(p, IR_DIV, row, all), all);
  ir_expr spread = ir_mul(p, ir_binary(p, IR_MOD, row, at_once), apart);
  return ir_add(p, first,
                ir_add(p, spread, ir_binary(p, IR_DIV, in_group, at_once)));
}

/* Are the rows padded, and several of them written at once? */
static bool has_short_rows(const ir_program *p, ir_stmt block,
                           const copy_nest *k, int64_t width) {
  size_t each = ir_dtype_bytes(p->buf.v[ir_st(p, k->store)->buf].dtype);
  int64_t vectors = copy_extent(p, k->loop[k->n - 1]) / width;
  return ir_anno_get(p, block, LOWER_ALIGN_KEY) && k->n > 1 &&
         width * (int64_t)each == 16 && vectors < 8 && 8 % vectors == 0 &&
         copy_extent(p, k->loop[k->n - 2]) % 8 == 0;
}

/* The nest's variables as digits of the linear index, which counts vectors. */
static void substitute_digits(ir_program *p, arena *scratch, ir_stmt block,
                              const copy_nest *k, ir_expr linear, int64_t width,
                              ir_expr in_vector) {
  ir_subst sub;
  bool short_rows = has_short_rows(p, block, k, width);
  ir_subst_init(&sub, p, scratch);
  for (uint32_t i = k->n; i-- > 0;) {
    int64_t n = copy_extent(p, k->loop[i]);
    bool innermost = i == k->n - 1;
    ir_expr digits = ir_index(p, innermost ? n / width : n);
    ir_expr at = i ? ir_binary(p, IR_MOD, linear, digits) : linear;
    if (innermost)
      at = ir_add(p, ir_mul(p, at, ir_index(p, width)), in_vector);
    else if (short_rows && i == k->n - 2)
      at = spread_rows(p, at, copy_extent(p, k->loop[i + 1]) / width);
    ir_subst_var(&sub, ir_st(p, k->loop[i])->var, at);
    linear = ir_binary(p, IR_DIV, linear, digits);
  }
  for (ir_stmt s = k->loop[0]; (s = ir_next(p, s, k->loop[0]));)
    ir_subst_head(&sub, s, true);
}

/* false: nothing is distributed. */
static bool distribute_copy(ir_program *p, arena *scratch, ir_stmt block,
                            const copy_nest *k, copy_team all, int64_t bytes) {
  int64_t total = 1, inner = copy_extent(p, k->loop[k->n - 1]);
  for (uint32_t i = 0; i < k->n; i++) total *= copy_extent(p, k->loop[i]);
  int64_t width = choose_width(all, total, inner, most_elements(p, k, bytes));
  int64_t rest = total / width;
  copy_team t = team_part(all, &rest);
  if (t.n[0] * t.n[1] * t.n[2] < 2) return false;
  chain c = {.p = p, .from = ir_st(p, k->loop[0])->var};
  ir_expr z = add_copy_loop(&c, t.n[2], IR_THREAD, 2);
  ir_expr y = add_copy_loop(&c, t.n[1], IR_THREAD, 1);
  ir_expr x = add_copy_loop(&c, t.n[0], IR_THREAD, 0);
  ir_expr at = add_copy_loop(&c, rest, IR_SERIAL, 0);
  ir_expr in_vector = add_copy_loop(&c, width, IR_VECTORIZED, 0);
  at = ir_add(p, ir_mul(p, at, ir_index(p, t.n[2])), z);
  at = ir_add(p, ir_mul(p, at, ir_index(p, t.n[1])), y);
  at = ir_add(p, ir_mul(p, at, ir_index(p, t.n[0])), x);
  substitute_digits(p, scratch, block, k, at, width, in_vector);
  ir_move_body(p, k->loop[k->n - 1], c.last);
  ir_replace(p, k->loop[0], c.top);
  ir_kill(p, k->loop[0]);
  return true;
}

/* ---- both --------------------------------------------------------------- */

void copy_schedule(ir_program *p, arena *scratch, ir_stmt block,
                   const copy_plan *how) {
  copy_nest k;
  ir_subst sub;
  if (!copy_parse(p, block, false, &k) || !k.n) return;
  ir_buf b = ir_st(p, k.store)->buf;
  bool local = p->buf.v[b].role == IR_ROLE_LOCAL;
  ir_stmt scope = local ? ir_lifetime_scope(p, scratch, b) : 0;
  ir_subst_init(&sub, p, scratch);
  ir_stmt plain = ir_clone_stmt(&sub, k.loop[0], NULL);
  copy_team all = team_around(p, block, how);
  bool together = (how->threads || how->lanes) &&
                  is_injective_store(p, scratch, block, &k) &&
                  distribute_copy(p, scratch, block, &k, all, how->bytes);
  if (!together) vectorize_copy(p, scratch, &k, how->bytes);
  ir_stmt now = ir_st(p, block)->body;
  if (!local || ir_lifetime_scope(p, scratch, b) == scope) {
    ir_kill(p, plain);
    return;
  }
  ir_replace(p, now, plain);
  ir_kill(p, now);
}
