/* SPDX-License-Identifier: Apache-2.0
 * The random tester: what it knows of single primitives.  A primitive that
 * is not named here is drawn by its declaration alone; a row says how often
 * to draw it, which blocks suit it, and how to make operands of which a
 * random one would almost always be refused. */
#include "ir/query.h"
#include "random/fuzz.h"

#include "schedule/sch.h"

#include <stdio.h>
#include <string.h>

/* ---- blocks that suit --------------------------------------------------- */

static bool reduces(const ir_program *p, ir_stmt b) {
  return sch_has_init(p, b);
}

static bool is_inner(const ir_program *p, ir_stmt b) {
  return ir_st(p, b)->parent && !sch_is_output(p, b);
}

static bool has_loops(const ir_program *p, ir_stmt b) {
  return ir_st(p, b)->parent && ir_is_loop(p, ir_st(p, b)->parent);
}

static bool has_iters(const ir_program *p, ir_stmt b) {
  return ir_blk(p, b)->iters.n > 1;
}

static bool reads(const ir_program *p, ir_stmt b) {
  return ir_st(p, b)->parent && ir_blk(p, b)->reads.n;
}

/* Reads something that is made in the program. */
static bool consumes(const ir_program *p, ir_stmt b) {
  ir_span r = ir_blk(p, b)->reads;
  for (uint32_t i = r.at; ir_st(p, b)->parent && i < r.at + r.n; i++)
    if (p->buf.v[p->region.v[i].buf].role == IR_ROLE_LOCAL) return true;
  return false;
}

static bool reads_under_loop(const ir_program *p, ir_stmt b) {
  return reads(p, b) && has_loops(p, b);
}

static bool changes(const ir_program *p, ir_stmt b) {
  ir_span r = ir_blk(p, b)->reads;
  for (uint32_t i = r.at; i < r.at + r.n; i++)
    if (sch_writes_buf(p, b, p->region.v[i].buf)) return true;
  return false;
}

/* Stores a choice between two values, as padding does. */
static bool chooses(const ir_program *p, ir_stmt b) {
  ir_stmt st = ir_st(p, b)->body;
  return st && ir_st(p, st)->kind == IR_STORE &&
         ir_at(p, ir_st(p, st)->value)->op == IR_SELECT;
}

/* ---- loops -------------------------------------------------------------- */

/* A loop of the block in focus that `fits`; else any. */
static vm_value loop_that(fuzz *f, bool (*fits)(fuzz *f, ir_stmt loop)) {
  vm_rv found = 0;
  uint32_t n = 0;
  for (uint32_t i = 0; i < f->nloops && fuzz_below(f, 12); i++) {
    ir_stmt s = fuzz_stmt(f, f->loop[i]);
    if (s && ir_is_loop(&f->s.m.prog, s) && fits(f, s) &&
        fuzz_below(f, ++n) == 0)
      found = f->loop[i];
  }
  return vm_var(found ? found : fuzz_any_loop(f));
}

static bool is_serial(fuzz *f, ir_stmt loop) {
  const ir_stmt_rec *r = ir_st(&f->s.m.prog, loop);
  return r->loop_kind == IR_SERIAL && !r->anno;
}

static int64_t extent(fuzz *f, ir_stmt loop) {
  int64_t n = INT64_MAX;
  ir_const_int(&f->s.m.prog, ir_st(&f->s.m.prog, loop)->extent, &n);
  return n;
}

static bool is_long(fuzz *f, ir_stmt loop) {
  return is_serial(f, loop) && extent(f, loop) != 1;
}

static bool is_of_type(fuzz *f, ir_stmt loop, sch_loop_type type) {
  sch_state s = {.p = &f->s.m.prog, .scratch = &f->scratch};
  sch_loop_type t = sch_type_of_loop(&s, loop);
  arena_reset(&f->scratch);
  return t == type;
}

static bool is_spatial(fuzz *f, ir_stmt loop) {
  return is_serial(f, loop) && is_of_type(f, loop, SCH_LOOP_S);
}

static bool is_narrow(fuzz *f, ir_stmt loop) {
  return is_spatial(f, loop) && extent(f, loop) <= 64;
}

static bool is_short(fuzz *f, ir_stmt loop) {
  return is_serial(f, loop) && extent(f, loop) <= 16;
}

static bool is_reduce(fuzz *f, ir_stmt loop) {
  return is_serial(f, loop) && is_of_type(f, loop, SCH_LOOP_R);
}

#define LOOP(what)                                          \
  static vm_value what##_loop(fuzz *f, const vm_value *v) { \
    (void)v;                                                \
    return loop_that(f, is_##what);                         \
  }
LOOP(long)
LOOP(spatial)
LOOP(narrow)
LOOP(short)
LOOP(reduce)

/* Threads of a block may share a reduction. */
static vm_value thread_loop(fuzz *f, const vm_value *v) {
  return fuzz_below(f, 4) ? spatial_loop(f, v) : reduce_loop(f, v);
}

/* A loop around a consumer or producer of the block in focus, and not around
 * the block itself. */
static vm_value neighbour_loop(fuzz *f, const char *getter) {
  const ir_program *p = &f->s.m.prog;
  uint32_t n, k = 0, fit = 0;
  ir_stmt block = fuzz_stmt(f, f->block), s;
  vm_rv b = fuzz_below(f, 16) ? fuzz_get(f, getter, vm_var(f->block), &n) : 0;
  vm_rv l = b ? fuzz_get(f, "get_loops", vm_var(b + fuzz_below(f, n)), &k) : 0;
  vm_rv found = l ? l + fuzz_below(f, k) : fuzz_any_loop(f);
  for (uint32_t i = 0; l && block && i < k; i++)
    if ((s = fuzz_stmt(f, l + i)) && !ir_is_ancestor(p, s, block) &&
        fuzz_below(f, ++fit) == 0)
      found = l + i;
  return vm_var(found);
}

/* Where windows are wanted, a loop that makes them, in tiles or not. */
static vm_value consumer_loop(fuzz *f, const vm_value *v) {
  vm_rv window = fuzz_below(f, 2) ? 0 : fuzz_window_loop(f);
  (void)v;
  return window ? vm_var(window) : neighbour_loop(f, "get_consumers");
}

static vm_value producer_loop(fuzz *f, const vm_value *v) {
  (void)v;
  return neighbour_loop(f, "get_producers");
}

/* Two to four loops, each directly inside the one before. */
static vm_value hints_chain(fuzz *f, const vm_value *v) {
  const ir_program *p = &f->s.m.prog;
  vm_value l[4];
  uint32_t n = 0, at = 0, long_enough = 2 + fuzz_below(f, 3);
  (void)v;
  if (fuzz_below(f, 12) == 0) return fuzz_loops(f);
  for (uint32_t tries = 0; tries < 4 && n < 2; tries++) {
    at = f->nloops ? fuzz_below(f, f->nloops) : 0;
    n = 0;
    for (uint32_t i = at; i < f->nloops && n < long_enough; i++) {
      ir_stmt s = fuzz_stmt(f, f->loop[i]);
      if (!s || !ir_is_loop(p, s) || !is_serial(f, s)) break;
      l[n++] = vm_var(f->loop[i]);
      if (sch_only_child(p, s) == 0) break;
    }
  }
  return n > 1 ? vm_list(&f->pool, n, l) : fuzz_loops(f);
}

/* Another loop as long, in whatever scope it stands; 0: none. */
static vm_rv like(fuzz *f, vm_rv loop) {
  ir_stmt this = fuzz_stmt(f, loop);
  vm_rv found = 0;
  uint32_t n = 0;
  for (uint32_t i = 0; this && i < f->nseen; i++) {
    ir_stmt s = fuzz_stmt(f, f->seen[i]);
    if (s && s != this && ir_is_loop(&f->s.m.prog, s) &&
        extent(f, s) == extent(f, this) && fuzz_below(f, ++n) == 0)
      found = f->seen[i];
  }
  return found;
}

/* Loops as deep as each other, around the block in focus and a consumer; or
 * only as long. */
static vm_value abreast(fuzz *f, const vm_value *v) {
  uint32_t n, k = 0;
  if (f->nloops && fuzz_below(f, 6) == 0) {
    vm_rv one = f->loop[fuzz_below(f, f->nloops)], two = like(f, one);
    vm_value any[2] = {vm_var(one), vm_var(two)};
    if (two) return vm_list(&f->pool, 2, any);
  }
  vm_rv b = fuzz_below(f, 16)
                ? fuzz_get(f, "get_consumers", vm_var(f->block), &n)
                : 0;
  vm_rv l = b ? fuzz_get(f, "get_loops", vm_var(b + fuzz_below(f, n)), &k) : 0;
  (void)v;
  if (!l || !f->nloops) return fuzz_loops(f);
  uint32_t at = fuzz_below(f, k < f->nloops ? k : f->nloops);
  uint32_t other = fuzz_below(f, 8) ? at : fuzz_below(f, k);
  vm_value both[2] = {vm_var(f->loop[at]), vm_var(l + other)};
  return vm_list(&f->pool, 2, both);
}

/* A block that uses what the one in focus makes. */
static vm_value consumer(fuzz *f, const vm_value *v) {
  uint32_t n;
  vm_rv b = fuzz_below(f, 16)
                ? fuzz_get(f, "get_consumers", vm_var(f->block), &n)
                : 0;
  (void)v;
  return vm_var(b ? b + fuzz_below(f, n) : f->block);
}

/* ---- numbers ------------------------------------------------------------ */

static vm_value axis(fuzz *f, const vm_value *v) {
  (void)v;
  return vm_int((int64_t)fuzz_below(f, 5) - 2);
}

/* The iters of the block in some order. */
static vm_value order(fuzz *f, const vm_value *v) {
  ir_stmt b = fuzz_stmt(f, f->block);
  vm_value x[8];
  uint32_t n = b && fuzz_below(f, 12) ? ir_blk(&f->s.m.prog, b)->iters.n : 3;
  (void)v;
  n = n < 8 ? n : 8;
  for (uint32_t i = 0; i < n; i++) {
    uint32_t k = fuzz_below(f, i + 1);
    x[i] = x[k];
    x[k] = vm_int(i);
  }
  return vm_list(&f->pool, n, x);
}

static vm_value few(fuzz *f, const vm_value *v) {
  (void)v;
  return vm_int(fuzz_below(f, 24) ? 1 + fuzz_below(f, 4) : fuzz_below(f, 20));
}

static vm_value below_three(fuzz *f, const vm_value *v) {
  (void)v;
  return vm_int(fuzz_below(f, 3));
}

static vm_value fuzz_innermost(fuzz *f, const vm_value *v) {
  (void)v;
  return vm_int(fuzz_below(f, 12) ? 1 << fuzz_below(f, 6)
                                  : (int64_t)fuzz_below(f, 4) - 2);
}

/* Lengths of a part or two, and what is left; or none, for points. */
static vm_value lengths(fuzz *f, const vm_value *v) {
  vm_value x[2] = {vm_int(1 + fuzz_below(f, 4)), vm_int(1 + fuzz_below(f, 3))};
  (void)v;
  if (fuzz_below(f, 3) == 0) return vm_nil();
  return vm_list(&f->pool, 1 + fuzz_below(f, 2), x);
}

/* Some of the loops around v[0], for points. */
static vm_value outer(fuzz *f, const vm_value *v) {
  vm_value x[2];
  uint32_t n = 0;
  if (v[1].tag != VM_NIL) return vm_nil();
  if (fuzz_below(f, 16) == 0) return fuzz_loops(f);
  for (uint32_t i = 0; i < f->nloops && n < 2 && f->loop[i] != v[0].rv; i++)
    if (fuzz_below(f, 2)) x[n++] = vm_var(f->loop[i]);
  return vm_list(&f->pool, n, x);
}

static vm_value alignment(fuzz *f, const vm_value *v) {
  (void)v;
  return vm_int(fuzz_below(f, 2) ? 1 << fuzz_below(f, 6)
                                 : 1 + (int64_t)fuzz_below(f, 12));
}

static vm_value shift(fuzz *f, const vm_value *v) {
  (void)v;
  return vm_int((int64_t)fuzz_below(f, 16) - 4);
}

/* A number for each iter of the block. */
static vm_value multiples(fuzz *f, const vm_value *v) {
  ir_stmt b = fuzz_stmt(f, f->block);
  vm_value x[8];
  uint32_t n = b && fuzz_below(f, 12) ? ir_blk(&f->s.m.prog, b)->iters.n : 3;
  (void)v;
  n = n < 8 ? n : 8;
  for (uint32_t i = 0; i < n; i++)
    x[i] = vm_int(fuzz_below(f, 24) ? 1 + fuzz_below(f, 8) / 2 : 0);
  return vm_list(&f->pool, n, x);
}

/* ---- names -------------------------------------------------------------- */

static vm_value hints_text(fuzz *f, const char *s) {
  return vm_str(&f->pool, s, strlen(s));
}

static vm_value block_name(fuzz *f, const vm_value *v) {
  ir_stmt b = fuzz_stmt(f, f->block);
  const ir_program *p = &f->s.m.prog;
  (void)v;
  return hints_text(f, b ? ir_text(p, ir_blk(p, b)->name) : "root");
}

static vm_value func_name(fuzz *f, const vm_value *v) {
  const ir_program *p = &f->s.m.prog;
  (void)v;
  return hints_text(f, ir_text(p, ir_entry(p)->name));
}

/* ---- behind a call ------------------------------------------------------ */

/* Tile sizes are mostly drawn to split by, but not loops that no run ends. */
static void split_by(fuzz *f, const vm_value *v, vm_rv first, uint32_t n) {
  vm_value to[VM_MAX_SPECS] = {{.tag = VM_NIL}}, factor[FUZZ_MAX_LIST];
  if (n > FUZZ_MAX_LIST || fuzz_below(f, 8) == 0) return;
  if (fuzz_extent(f, v[0].rv) > INT32_MAX) return;
  for (uint32_t i = 0; i < n; i++) factor[i] = vm_var(first + i);
  to[0] = v[0];
  to[1] = vm_list(&f->pool, n, factor);
  (void)fuzz_call(f, sch_find_prim("split"), to);
}

/* storage_align finds what was annotated in its place. */
static void align(fuzz *f, const vm_value *v, vm_rv first, uint32_t n) {
  vm_value to[VM_MAX_SPECS] = {v[0], vm_int(0), vm_int(0), vm_int(8)};
  ir_stmt b = fuzz_stmt(f, v[0].rv);
  (void)first, (void)n;
  if (strcmp(f->pool.text.v + v[1].str, "buffer_dim_align") || !b ||
      !ir_is_block(&f->s.m.prog, b))
    return;
  to[4] = vm_int(0);
  (void)fuzz_call(f, sch_find_prim("storage_align"), to);
}

/* ---- the table ---------------------------------------------------------- */

const fuzz_hint fuzz_hints[] = {
    {"add_unit_loop", 1, .keeps = true, .suits = has_loops},
    {"annotate", 1, .keeps = true, .suits = has_loops,
     .operand = {{"ann_key", fuzz_key}, {"ann_val", fuzz_note_value}},
     .after = align},
    {"annotate_buffer_access", 1, .keeps = true, .suits = reads,
     .operand = {{"buffer", fuzz_read_side}, {"gen_new_ranges", fuzz_ranges}}},
    {"bind", 2, .suits = has_loops, .operand = {{"loop", thread_loop}},
     .after = fuzz_bind_threads},
    {"cache_index", 2, .keeps = true, .suits = reads},
    {"cache_inplace", 3, .keeps = true, .suits = changes},
    {"cache_read", 5, .keeps = true, .suits = reads},
    {"cache_write", 5, .keeps = true},
    {"compute_at", 10, .suits = is_inner, .operand = {{"loop", consumer_loop}},
     .after = fuzz_roll},
    {"compute_inline", 4, .suits = is_inner},
    {"decompose_padding", 3, .suits = chooses},
    {"decompose_reduction", 5, .suits = reduces},
    {"disallow_dynamic_loop", 1, .keeps = true, .suits = NULL},
    {"enter_postproc", 1, .suits = NULL},
    {"fission", 4, .keeps = true, .suits = has_loops},
    {"fuse", 6, .keeps = true, .suits = has_loops,
     .operand = {{"loops", hints_chain}}},
    {"fuse_reduction_epilogue", 4, .suits = reduces,
     .operand = {{"epilogue_block", consumer}}},
    {"guard", 1, .keeps = true,
     .operand = {{"var", fuzz_known_int}, {"value", fuzz_its_value}}},
    {"hoist_invariant_factor", 4, .suits = reduces},
    {"loop_partition", 3, .suits = has_loops, .all = true,
     .operand = {{"loop", long_loop},
                 {"factors", lengths},
                 {"outer_loops", outer},
                 {"points", fuzz_points}}},
    {"merge", 5, .suits = is_inner, .operand = {{"loops", abreast}}},
    {"pad_einsum", 3, .suits = has_loops, .operand = {{"padding", multiples}}},
    {"get_block", 1, .suits = NULL,
     .operand = {{"name", block_name}, {"func_name", func_name}}},
    {"parallel", 3, .suits = has_loops, .operand = {{"loop", spatial_loop}},
     .after = fuzz_roll_inside},
    {"read_at", 5, .keeps = true, .suits = reads_under_loop,
     .after = fuzz_copy_twice},
    {"reindex", 5, .keeps = true, .suits = reads},
    {"reindex_cache_read", 4, .keeps = true, .suits = reads,
     .operand = {{"index_map", fuzz_read_map}}},
    {"reindex_cache_write", 4, .keeps = true,
     .operand = {{"index_map", fuzz_write_map}}},
    {"reorder", 10, .keeps = true, .suits = has_loops},
    {"reorder_block_iter_var", 1, .keeps = true, .suits = has_iters,
     .operand = {{"new_order", order}}},
    {"reverse_compute_at", 10, .suits = consumes,
     .operand = {{"loop", producer_loop}}},
    {"reverse_compute_inline", 4, .suits = consumes},
    {"rewrite_cooperative_fetch", 1, .suits = NULL},
    {"rewrite_layout", 1, .suits = NULL},
    {"rewrite_parallel_vectorize_unroll", 1, .suits = NULL},
    {"rewrite_reduction_block", 1, .suits = NULL},
    {"rewrite_tensorize", 1, .suits = NULL},
    {"rewrite_unbound_block", 1, .suits = NULL},
    {"rfactor", 5, .suits = reduces,
     .operand = {{"loop", reduce_loop}, {"factor_axis", axis}}},
    {"rolling_buffer", 4, .suits = fuzz_rolls},
    {"rolling_update", 12, .suits = fuzz_finds_extreme,
     .operand = {{"loop", fuzz_extreme_loop},
                 {"dependent_loop", fuzz_dependent_loop}}},
    {"sample_categorical", 1, .suits = NULL},
    {"sample_compute_location", 2, .suits = is_inner},
    {"sample_partitioned_tile", 2, .suits = has_loops,
     .operand = {{"loop", long_loop},
                 {"n", few},
                 {"partition_pos", below_three},
                 {"innerpart_factor", few}},
     .after = split_by},
    {"sample_perfect_tile", 4, .suits = has_loops,
     .operand = {{"loop", long_loop},
                 {"n", few},
                 {"max_innermost_factor", fuzz_innermost}},
     .after = split_by},
    {"split", 12, .keeps = true, .suits = has_loops,
     .operand = {{"loop", long_loop}}},
    {"storage_align", 2, .keeps = true, .suits = is_inner,
     .operand = {{"axis", axis}, {"factor", alignment}, {"offset", shift}}},
    {"tensorize", 10, .suits = fuzz_may_be_intrin,
     .operand = {{"block_or_loop", fuzz_tile_loop},
                 {"tensor_intrin", fuzz_intrin}}},
    {"transform_block_layout", 4, .operand = {{"index_map", fuzz_iter_layout}}},
    {"transform_layout", 4, .all = true,
     .operand = {{"index_map", fuzz_layout}, {"pad_value", fuzz_pad_value}}},
    {"unannotate", 1, .suits = fuzz_is_annotated,
     .operand = {{"block_or_loop", fuzz_annotated}, {"ann_key", fuzz_its_key}}},
    {"unroll", 2, .suits = has_loops, .operand = {{"loop", short_loop}}},
    {"unsafe_hide_buffer_access", 1, .keeps = true, .suits = reads,
     .operand = {{"buf_type", fuzz_no_side},
                 {"buf_index_array", fuzz_no_regions}},
     .after = fuzz_try_hidden},
    {"unsafe_set_dtype", 1, .keeps = true, .suits = is_inner,
     .operand = {{"dtype", fuzz_unfit_dtype}}},
    {"vectorize", 4, .suits = has_loops, .operand = {{"loop", narrow_loop}}},
    {"verify_chip_buffers", 1, .keeps = true, .suits = NULL},
    {"verify_gpu_code", 1, .keeps = true, .suits = NULL},
    {"write_at", 5, .keeps = true, .suits = has_loops, .after = fuzz_tell_how},
    {.prim = NULL}};

const fuzz_hint *fuzz_hint_of(const sch_prim *p) {
  static const fuzz_hint none = {.prim = NULL, .weight = 5};
  for (const fuzz_hint *h = fuzz_hints; h->prim; h++)
    if (!strcmp(h->prim, p->name)) return h;
  return &none;
}

/* A way to draw this operand that the table names; NULL: none. */
fuzz_draw *fuzz_hint_operand(const fuzz_hint *h, const char *name) {
  for (size_t i = 0; i < sizeof h->operand / sizeof *h->operand; i++)
    if (h->operand[i].name && !strcmp(h->operand[i].name, name))
      return h->operand[i].draw;
  return NULL;
}
