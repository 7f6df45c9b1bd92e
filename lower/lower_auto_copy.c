/* SPDX-License-Identifier: Apache-2.0
 * Expands automatic copies (blocks of read_at and write_at): with local_stage
 * stages them through registers, as a block that loads and one that stores;
 * strip-mines and vectorizes by vector_bytes.  Copies to shared scopes are
 * cooperative: distributed over the enclosing threads, where the number of
 * threads divides the first extent and the map of iterations to elements is
 * injective.
 *
 * In kernels, copies into and out of fragments are executed by whole warps.
 * An epilogue on the way out goes through shared memory, unless the target
 * defines which lane has which element (open_fragments): then it is the warp's,
 * too, on whole tiles. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

enum { MAX_LOOPS = 16 };

/* The body of such a block: loops, perhaps a condition, one store. */
typedef struct nest {
  uint32_t n;
  ir_stmt loop[MAX_LOOPS], store;
} nest;

static bool only(const ir_program *p, ir_stmt s) {
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

static bool parse_copy(const ir_program *p, ir_stmt block, nest *out) {
  ir_stmt s = ir_st(p, block)->body;
  ir_expr cond = 0;
  out->n = 0;
  for (; only(p, s) && ir_is_loop(p, s); s = ir_st(p, s)->body) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (out->n == MAX_LOOPS || r->loop_kind != IR_SERIAL ||
        !ir_is_const(p, r->lo, 0) || ir_at(p, r->extent)->op != IR_INT)
      return false;
    out->loop[out->n++] = s;
  }
  if (only(p, s) && ir_st(p, s)->kind == IR_IF && !ir_st(p, s)->alt) {
    cond = ir_st(p, s)->cond;
    s = ir_st(p, s)->body;
  }
  out->store = s;
  return only(p, s) && ir_st(p, s)->kind == IR_STORE && !ir_st(p, s)->mask &&
         reads_others(p, s, cond) && !ir_st(p, block)->alt;
}

static int64_t int_annotation(const ir_program *p, ir_stmt block,
                              const char *key) {
  const ir_anno *a = ir_anno_get(p, block, key);
  const ir_value *v = a ? &p->value.v[a->val] : NULL;
  return v && (v->tag == IR_VAL_INT || v->tag == IR_VAL_BOOL) ? v->i : 0;
}

/* ---- through registers -------------------------------------------------- */

/* A buffer with an element for each iteration of the nest. */
static ir_buf make_buffer(ir_program *p, const nest *k, ir_stmt block,
                          ir_buf like, const char *suffix, ir_scope scope) {
  ir_expr shape[MAX_LOOPS];
  for (uint32_t i = 0; i < k->n; i++) shape[i] = ir_st(p, k->loop[i])->extent;
  ir_str name = ir_name_cat(p, p->buf.v[like].name, suffix);
  ir_buf b = ir_buf_new(p, name, p->buf.v[like].dtype, k->n, shape, scope,
                        IR_ROLE_LOCAL);
  ir_block_add_alloc(p, ir_scope_of(p, block), b);
  return b;
}

/* The registers of this iteration of the nest. */
static void at_loops(const ir_program *p, const nest *k, ir_expr *idx) {
  for (uint32_t i = 0; i < k->n; i++)
    idx[i] = ir_ref(p, ir_st(p, k->loop[i])->var);
}

/* Stores zeros where the guard is false: then all registers must be written,
 * and are private to the iteration. */
static void fill_whole(ir_program *p, ir_stmt store) {
  ir_stmt cond = ir_st(p, store)->parent;
  if (ir_st(p, cond)->kind != IR_IF) return;
  ir_expr value = ir_st(p, store)->value;
  tess_dtype t = ir_at(p, value)->dtype;
  ir_expr zero = ir_is_float(t) ? ir_real(p, t, 0) : ir_int(p, t, 0);
  value = ir_select(p, ir_st(p, cond)->cond, value, zero);
  ir_st(p, store)->value = value;
  lower_splice(p, cond);
}

/* Splits the block: *load, before it, loads into registers that it stores. */
static void stage_copy(ir_program *p, arena *scratch, ir_stmt block,
                       const nest *k, ir_stmt *load) {
  ir_expr idx[MAX_LOOPS];
  nest other;
  ir_subst sub;
  ir_buf regs = make_buffer(p, k, block, ir_st(p, k->store)->buf, "_stage",
                            IR_SCOPE_LOCAL);
  ir_subst_init(&sub, p, scratch);
  *load = ir_clone_stmt(&sub, block, "_stage");
  ir_insert_before(p, block, *load);
  ir_anno_remove(p, *load, "double_buffer_scope");
  parse_copy(p, *load, &other);
  at_loops(p, &other, idx);
  ir_span at = ir_arg_span(p, other.n, idx);
  ir_st(p, other.store)->buf = regs;
  ir_st(p, other.store)->idx = at;
  fill_whole(p, other.store);
  at_loops(p, k, idx);
  ir_expr value = ir_load(p, regs, k->n, idx);
  ir_st(p, k->store)->value = value;
  ir_block_find_regions(p, scratch, *load);
  ir_block_find_regions(p, scratch, block);
}

/* ---- several elements at once ------------------------------------------- */

/* Is the store of stride one in the loop? */
static bool is_contiguous(const ir_program *p, const nest *k, ir_var v) {
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

/* Strip-mines the loop: a vectorized one of `lanes` steps goes into it. */
static void strip_mine(ir_program *p, arena *scratch, ir_stmt loop,
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

static void vectorize(ir_program *p, arena *scratch, const nest *k,
                      int64_t bytes) {
  ir_stmt loop = k->loop[k->n - 1];
  int64_t extent = 0, lanes;
  ir_const_int(p, ir_st(p, loop)->extent, &extent);
  size_t each = ir_dtype_bytes(p->buf.v[ir_st(p, k->store)->buf].dtype);
  lanes = bytes / (int64_t)each;
  if (lanes > extent) lanes = extent;
  while (lanes > 1 && extent % lanes) lanes--;
  if (lanes < 2 || !is_contiguous(p, k, ir_st(p, loop)->var)) return;
  if (lanes == extent)
    ir_st(p, loop)->loop_kind = IR_VECTORIZED;
  else
    strip_mine(p, scratch, loop, lanes);
}

/* ---- all threads together ----------------------------------------------- */

/* Distributes the loop over `threads` threads, contiguous parts. */
static void distribute(ir_program *p, arena *scratch, ir_stmt loop,
                       uint8_t axis, int64_t threads) {
  ir_var v = ir_st(p, loop)->var;
  int64_t extent = p->var.v[v].hi + 1;
  ir_var outer = ir_var_split(p, v, 0, threads - 1);
  ir_var inner = ir_var_split(p, v, 1, extent / threads - 1);
  ir_stmt l =
      ir_loop_new(p, outer, ir_index(p, 0), ir_index(p, threads), IR_THREAD);
  ir_st(p, l)->thread = axis;
  ir_subst sub;
  ir_subst_init(&sub, p, scratch);
  ir_subst_var(
      &sub, v,
      ir_add(p, ir_mul(p, ir_ref(p, outer), ir_index(p, extent / threads)),
             ir_ref(p, inner)));
  for (ir_stmt s = loop; (s = ir_next(p, s, loop));)
    ir_subst_head(&sub, s, true);
  ir_st(p, loop)->var = inner;
  p->var.v[inner].owner = loop;
  ir_st(p, loop)->extent = ir_index(p, extent / threads);
  ir_wrap(p, loop, l);
}

/* Is the map of the nest's iterations to stored elements injective, so that
 * threads may run them in any order? */
static bool is_injective_store(ir_program *p, arena *scratch, ir_stmt block,
                               const nest *k) {
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

static void distribute_threads(ir_program *p, arena *scratch, ir_stmt block,
                               const nest *k) {
  unsigned seen = 0;
  if (ir_st(p, k->loop[0])->loop_kind != IR_SERIAL ||
      !is_injective_store(p, scratch, block, k))
    return;
  for (ir_stmt s = ir_st(p, block)->parent; s; s = ir_st(p, s)->parent) {
    const ir_stmt_rec r = *ir_st(p, s);
    int64_t threads, extent = 0;
    if (r.kind != IR_LOOP || r.loop_kind != IR_THREAD ||
        r.thread < IR_THREADIDX_X || r.thread > IR_THREADIDX_Z ||
        (seen >> r.thread & 1))
      continue;
    seen |= 1u << r.thread;
    ir_const_int(p, ir_st(p, k->loop[0])->extent, &extent);
    if (ir_const_int(p, r.extent, &threads) && threads > 1 &&
        extent % threads == 0)
      distribute(p, scratch, k->loop[0], r.thread, threads);
  }
}

/* Over the lanes of a warp, to which no enclosing loop is bound. */
static void distribute_lanes(ir_program *p, arena *scratch, ir_stmt block,
                             const nest *k) {
  uint32_t best = 0;
  int64_t most = 0;
  if (!is_injective_store(p, scratch, block, k)) return;
  for (uint32_t i = 0; i + (k->n > 1) < k->n; i++) {
    int64_t extent = 0;
    ir_const_int(p, ir_st(p, k->loop[i])->extent, &extent);
    if (ir_st(p, k->loop[i])->loop_kind != IR_SERIAL || extent <= most)
      continue;
    best = i;
    most = extent;
  }
  int64_t lanes = most % IR_WARP_LANES ? most : IR_WARP_LANES;
  if (most > 1 && lanes <= IR_WARP_LANES)
    distribute(p, scratch, k->loop[best], IR_THREADIDX_X, lanes);
}

/* ---- fragments ---------------------------------------------------------- */

static bool is_fragment(const ir_program *p, ir_buf b) {
  return ir_scope_is_fragment(p->buf.v[b].scope);
}

/* The loads of fragments in an expression: the last one found, and whether
 * there are others. */
typedef struct taken {
  ir_expr load;
  bool several;
} taken;

static void note_fragment_load(const ir_program *p, ir_expr e, void *ud) {
  taken *t = ud;
  const ir_node *n = ir_at(p, e);
  if (n->op != IR_LOAD || !is_fragment(p, n->a)) return;
  t->several |= t->load != 0;
  t->load = e;
}

static taken find_load(const ir_program *p, arena *scratch, ir_expr e) {
  taken t = {0, false};
  ir_visit(p, scratch, e, note_fragment_load, &t);
  return t;
}

static ir_expr take_instead(ir_subst *s, ir_buf b, uint32_t n,
                            const ir_expr *idx) {
  (void)n, (void)idx;
  return is_fragment(s->p, b) ? *(ir_expr *)s->ud : 0;
}

static void note_warp(ir_program *p, ir_stmt block) {
  ir_val one = ir_value_int(p, 1);
  ir_anno_set(p, block, ir_name(p, LOWER_WARP_KEY), one);
}

/* The block computes from shared memory instead of a fragment; a block before
 * it stores the fragment there. */
static void through_shared(ir_program *p, arena *scratch, ir_stmt block,
                           const nest *k) {
  ir_expr idx[MAX_LOOPS];
  nest other;
  ir_subst sub;
  taken t = find_load(p, scratch, ir_st(p, k->store)->value);
  ir_buf b =
      make_buffer(p, k, block, ir_at(p, t.load)->a, "_out", IR_SCOPE_SHARED);
  ir_subst_init(&sub, p, scratch);
  ir_stmt put = ir_clone_stmt(&sub, block, "_out");
  ir_insert_before(p, block, put);
  parse_copy(p, put, &other);
  at_loops(p, &other, idx);
  ir_span at = ir_arg_span(p, other.n, idx);
  t = find_load(p, scratch, ir_st(p, other.store)->value);
  ir_st(p, other.store)->buf = b;
  ir_st(p, other.store)->idx = at;
  ir_st(p, other.store)->value = t.load;
  at_loops(p, k, idx);
  ir_expr load = ir_load(p, b, k->n, idx);
  ir_subst_init(&sub, p, scratch);
  sub.load = take_instead;
  sub.ud = &load;
  ir_expr value = ir_subst_expr(&sub, ir_st(p, k->store)->value);
  ir_st(p, k->store)->value = value;
  ir_block_find_regions(p, scratch, put);
  ir_block_find_regions(p, scratch, block);
  note_warp(p, put);
}

/* The loop that alone runs over dimension d of an access, over whole tiles; -1:
 * none does. */
static int loop_over(const ir_program *p, const nest *k, const ir_node *access,
                     uint32_t d) {
  enum { TILE = 16 };
  int found = -1;
  for (uint32_t l = 0; l < k->n; l++) {
    ir_expr atom[16], v = ir_ref(p, ir_st(p, k->loop[l])->var);
    int64_t coef[16], c, extent = 0;
    ir_const_int(p, ir_st(p, k->loop[l])->extent, &extent);
    if (!ir_uses_var(p, p->arg.v[access->b + d], ir_st(p, k->loop[l])->var))
      continue;
    int n = arith_terms(p, p->arg.v[access->b + d], 16, atom, coef, &c), at = 0;
    while (at < n && atom[at] != v) at++;
    if (found >= 0 || at >= n || coef[at] != 1 || extent % TILE) return -1;
    found = (int)l;
  }
  return found;
}

/* Can the epilogue be computed on tiles of fragments, in registers? */
static bool is_on_tiles(const ir_program *p, ir_stmt block, const nest *k,
                        ir_expr load) {
  const ir_node n = *ir_at(p, load);
  int row = n.n < 2 ? -1 : loop_over(p, k, &n, n.n - 2);
  int column = n.n < 2 ? -1 : loop_over(p, k, &n, n.n - 1);
  ir_expr predicate = ir_blk(p, block)->pred;
  return row >= 0 && column >= 0 && row != column &&
         (!predicate || ir_is_const(p, predicate, 1)) &&
         ir_st(p, ir_st(p, k->store)->parent)->kind == IR_LOOP;
}

/* What a warp copies together is said to be. */
static void split_fragments(ir_program *p, arena *scratch, ir_stmt block,
                            const nest *k, bool open) {
  ir_expr value = ir_st(p, k->store)->value;
  taken t = find_load(p, scratch, value);
  bool in = is_fragment(p, ir_st(p, k->store)->buf);
  if (!in && !t.load) return;
  if (in || t.several || value == t.load || !k->n ||
      (open && is_on_tiles(p, block, k, t.load)))
    note_warp(p, block);
  else
    through_shared(p, scratch, block, k);
}

/* Does the kernel of s have warp-collective blocks, and is s in no loop over
 * their lanes? */
static bool has_lanes(const ir_program *p, ir_stmt s) {
  ir_stmt kernel = 0;
  for (; s; s = ir_st(p, s)->parent) {
    const ir_stmt_rec *r = ir_st(p, s);
    if (r->kind != IR_LOOP || r->loop_kind != IR_THREAD) continue;
    if (r->thread == IR_THREADIDX_X) return false;
    kernel = s;
  }
  for (s = kernel; s; s = ir_next(p, s, kernel))
    if (ir_is_block(p, s) && lower_is_of_warp(p, s)) return true;
  return false;
}

/* ---- the pass ----------------------------------------------------------- */

static bool lower_auto_copy_is_shared(const ir_program *p, ir_buf b) {
  return p->buf.v[b].scope == IR_SCOPE_SHARED ||
         p->buf.v[b].scope == IR_SCOPE_SHARED_DYN;
}

/* Schedules the loops of one block.  Where the block is no longer proven to
 * cover its region the buffer's lifetime scope would grow, and threads that had
 * private copies would conflict: then the loops are rolled back. */
static void schedule_loops(ir_program *p, arena *scratch, ir_stmt block,
                           bool shared, bool lanes, int64_t bytes) {
  nest k;
  ir_subst sub;
  if (!parse_copy(p, block, &k) || !k.n) return;
  ir_buf b = ir_st(p, k.store)->buf;
  bool local = p->buf.v[b].role == IR_ROLE_LOCAL;
  ir_stmt scope = local ? ir_lifetime_scope(p, scratch, b) : 0;
  ir_subst_init(&sub, p, scratch);
  ir_stmt plain = ir_clone_stmt(&sub, k.loop[0], NULL);
  vectorize(p, scratch, &k, bytes);
  if (shared) distribute_threads(p, scratch, block, &k);
  if (lanes) distribute_lanes(p, scratch, block, &k);
  ir_stmt now = ir_st(p, block)->body;
  if (!local || ir_lifetime_scope(p, scratch, b) == scope) {
    ir_kill(p, plain);
    return;
  }
  ir_replace(p, now, plain);
  ir_kill(p, now);
}

static void expand_copy(ir_program *p, arena *scratch, ir_stmt block) {
  nest k;
  int64_t bytes = int_annotation(p, block, "vector_bytes");
  ir_stmt load = 0;
  if (!int_annotation(p, block, "auto_copy") || lower_is_of_warp(p, block) ||
      !parse_copy(p, block, &k))
    return;
  bool lanes = has_lanes(p, block),
       shared = lower_auto_copy_is_shared(p, ir_st(p, k.store)->buf);
  if (k.n && int_annotation(p, block, "local_stage"))
    stage_copy(p, scratch, block, &k, &load);
  if (load) schedule_loops(p, scratch, load, shared, lanes, bytes);
  schedule_loops(p, scratch, block, shared, lanes, bytes);
}

LOWER_PASS(lower_auto_copy) {
  (void)e;
  nest k;
  LOWER_EACH(p, s)
  if (!o->no_threads && ir_is_block(p, s) &&
      int_annotation(p, s, "auto_copy") && parse_copy(p, s, &k) &&
      lower_in_kernel(p, s))
    split_fragments(p, scratch, s, &k, o->open_fragments);
  LOWER_EACH(p, s) if (ir_is_block(p, s)) expand_copy(p, scratch, s);
  return TESS_OK;
}
