/* SPDX-License-Identifier: Apache-2.0
 * Expands automatic copies (blocks of read_at and write_at): vectorizes them by
 * vector_bytes, distributes those to shared scopes over the enclosing threads
 * (copy_loops.c), and with local_stage stages them through registers, as a
 * block that loads and one that stores.
 *
 * In kernels, copies into and out of fragments are executed by whole warps.
 * What is computed or guarded on the way out goes through shared memory, unless
 * the target, or the program (ir_asks_for_mma), defines which lane has which
 * element: then it is the warp's, too, on whole tiles. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/copy_loops.h"

static int64_t int_annotation(const ir_program *p, ir_stmt block,
                              const char *key) {
  const ir_anno *a = ir_anno_get(p, block, key);
  const ir_value *v = a ? &p->value.v[a->val] : NULL;
  return v && (v->tag == IR_VAL_INT || v->tag == IR_VAL_BOOL) ? v->i : 0;
}

/* ---- through registers -------------------------------------------------- */

/* A buffer with an element for each iteration of the nest. */
static ir_buf make_buffer(ir_program *p, const copy_nest *k, ir_stmt block,
                          ir_buf like, const char *suffix, ir_scope scope) {
  ir_expr shape[COPY_MAX_LOOPS];
  for (uint32_t i = 0; i < k->n; i++) shape[i] = ir_st(p, k->loop[i])->extent;
  ir_str name = ir_name_cat(p, p->buf.v[like].name, suffix);
  ir_buf b = ir_buf_new(p, name, p->buf.v[like].dtype, k->n, shape, scope,
                        IR_ROLE_LOCAL);
  ir_block_add_alloc(p, ir_scope_of(p, block), b);
  return b;
}

/* The registers of this iteration of the nest. */
static void at_loops(const ir_program *p, const copy_nest *k, ir_expr *idx) {
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

/* Splits the block: one before it loads into registers, which it stores. */
static void stage_copy(ir_program *p, arena *scratch, ir_stmt block,
                       const copy_nest *k) {
  ir_expr idx[COPY_MAX_LOOPS];
  copy_nest other;
  ir_subst sub;
  ir_buf regs = make_buffer(p, k, block, ir_st(p, k->store)->buf, "_stage",
                            IR_SCOPE_LOCAL);
  ir_subst_init(&sub, p, scratch);
  ir_stmt load = ir_clone_stmt(&sub, block, "_stage");
  ir_insert_before(p, block, load);
  ir_anno_remove(p, load, "double_buffer_scope");
  copy_parse(p, load, true, &other);
  at_loops(p, &other, idx);
  ir_span at = ir_arg_span(p, other.n, idx);
  ir_st(p, other.store)->buf = regs;
  ir_st(p, other.store)->idx = at;
  fill_whole(p, other.store);
  at_loops(p, k, idx);
  ir_expr value = ir_load(p, regs, k->n, idx);
  ir_st(p, k->store)->value = value;
  ir_block_find_regions(p, scratch, load);
  ir_block_find_regions(p, scratch, block);
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

static bool is_guarded(const ir_program *p, const copy_nest *k) {
  return ir_st(p, ir_st(p, k->store)->parent)->kind == IR_IF;
}

/* Does the load stay inside of its buffer without a guard? */
static bool is_inside(const ir_program *p, ir_expr load) {
  const ir_node n = *ir_at(p, load);
  for (uint32_t d = 0; d < n.n; d++) {
    const ir_node *i = ir_at(p, p->arg.v[n.b + d]);
    int64_t extent = 0;
    if (!ir_const_int(p, ir_dim(p, n.a, d), &extent) || i->lo < 0 ||
        i->hi >= extent)
      return false;
  }
  return true;
}

/* The block computes from shared memory instead of a fragment; a block before
 * it stores the fragment there, all of it where the fragment has whole
 * tiles. */
static void through_shared(ir_program *p, arena *scratch, ir_stmt block,
                           const copy_nest *k) {
  ir_expr idx[COPY_MAX_LOOPS];
  copy_nest other;
  ir_subst sub;
  taken t = find_load(p, scratch, ir_st(p, k->store)->value);
  ir_buf b =
      make_buffer(p, k, block, ir_at(p, t.load)->a, "_out", IR_SCOPE_SHARED);
  ir_subst_init(&sub, p, scratch);
  ir_stmt put = ir_clone_stmt(&sub, block, "_out");
  ir_insert_before(p, block, put);
  copy_parse(p, put, true, &other);
  at_loops(p, &other, idx);
  ir_span at = ir_arg_span(p, other.n, idx);
  t = find_load(p, scratch, ir_st(p, other.store)->value);
  ir_st(p, other.store)->buf = b;
  ir_st(p, other.store)->idx = at;
  ir_st(p, other.store)->value = t.load;
  if (is_guarded(p, &other) && is_inside(p, t.load))
    lower_splice(p, ir_st(p, other.store)->parent);
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
static int loop_over(const ir_program *p, const copy_nest *k,
                     const ir_node *access, uint32_t d) {
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
static bool is_on_tiles(const ir_program *p, ir_stmt block, const copy_nest *k,
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
                            const copy_nest *k, bool open) {
  ir_expr value = ir_st(p, k->store)->value;
  taken t = find_load(p, scratch, value);
  bool in = is_fragment(p, ir_st(p, k->store)->buf);
  if (!in && !t.load) return;
  bool plain = value == t.load && !(is_guarded(p, k) && is_inside(p, t.load));
  if (in || t.several || plain || !k->n ||
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
    if (!ir_is_thread_loop(r)) continue;
    if (r->thread == IR_THREADIDX_X) return false;
    kernel = s;
  }
  for (s = kernel; s; s = ir_next(p, s, kernel))
    if (ir_is_block(p, s) && lower_is_of_warp(p, s)) return true;
  return false;
}

/* ---- the pass ----------------------------------------------------------- */

static void expand_copy(ir_program *p, arena *scratch, ir_stmt block) {
  copy_nest k;
  if (!int_annotation(p, block, "auto_copy") || lower_is_of_warp(p, block) ||
      !copy_parse(p, block, false, &k))
    return;
  copy_plan how = {
      .bytes = int_annotation(p, block, "vector_bytes"),
      .threads = ir_scope_is_shared(p->buf.v[ir_st(p, k.store)->buf].scope),
      .lanes = has_lanes(p, block)};
  copy_schedule(p, scratch, block, &how);
  if (k.n && int_annotation(p, block, "local_stage") &&
      copy_parse(p, block, true, &k))
    stage_copy(p, scratch, block, &k);
}

LOWER_PASS(lower_auto_copy) {
  (void)e;
  copy_nest k;
  bool open = o->open_fragments || ir_asks_for_mma(p);
  LOWER_EACH(p, s)
  if (!o->no_threads && ir_is_block(p, s) &&
      int_annotation(p, s, "auto_copy") && copy_parse(p, s, false, &k) &&
      lower_in_kernel(p, s))
    split_fragments(p, scratch, s, &k, open);
  LOWER_EACH(p, s) if (ir_is_block(p, s)) expand_copy(p, scratch, s);
  return TESS_OK;
}
