/* SPDX-License-Identifier: Apache-2.0
 * rewrite_parallel_vectorize_unroll: parallel outer loops, vectorized inner
 * ones and unrolling, as a block's annotations ask. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/rewrite/compose.h"

#define REWRITE_PARALLEL_VECTORIZE_UNROLL_SIG(F, S)

PRIM_DEFINE(
    rewrite_parallel_vectorize_unroll, REWRITE_PARALLEL_VECTORIZE_UNROLL_SIG,
    .summary = "Make loops parallel, vectors and unrolled as annotations ask.",
    .rewrite = "parallel = 64, vectorize = 8; for i: for j: S   ->   parallel "
               "i: for j_0: vectorized j_1 in 8: S",
    .details =
        "A postprocessor, as MetaSchedule's RewriteParallelVectorizeUnroll.\n"
        "For each block with the annotations parallel, vectorize,\n"
        "unroll_explicit or unroll_implicit, which go, and each block in it:\n"
        "as many of the outermost loops that drive spatial iters alone as "
        "have\n"
        "at most `parallel` iterations together, and one more, are fused and\n"
        "parallel; the innermost loop, where it drives spatial iters alone, "
        "is\n"
        "vectorized, cut to `vectorize` where it is longer and that divides\n"
        "it; and around a reduction the outermost loop gets the annotation\n"
        "pragma_auto_unroll_max_step, which unrolling obeys. Loops with\n"
        "annotations, of other kinds, of extents that are no constants, or\n"
        "beside others, and those that cannot be so, stay as they are.\n",
    .refusals = (const uint16_t[]){0},
    .example = "local root = sch:get_block(\"root\")\n"
               "sch:annotate(root, \"parallel\", 64)\n"
               "sch:annotate(root, \"vectorize\", 8)\n"
               "sch:annotate(root, \"unroll_explicit\", 16)\n"
               "sch:rewrite_parallel_vectorize_unroll()\n");

enum { MAX_LOOPS = 64 };

typedef struct wanted {
  int64_t parallel, vectorize, unroll;
  bool is_explicit;
} wanted;

static bool take_key(ir_program *p, ir_stmt block, const char *key,
                     int64_t *value) {
  if (!sch_anno_int(p, block, key, value)) return false;
  return ir_anno_remove(p, block, key);
}

static bool take_wanted(ir_program *p, ir_stmt block, wanted *w) {
  *w = (wanted){0};
  bool any = take_key(p, block, "parallel", &w->parallel);
  any |= take_key(p, block, "vectorize", &w->vectorize);
  bool implicit = take_key(p, block, "unroll_implicit", &w->unroll);
  w->is_explicit = take_key(p, block, "unroll_explicit", &w->unroll);
  return any || implicit || w->is_explicit;
}

/* A loop as it came, of spatial iters, that may be rewritten. */
static bool is_free(sch_state *s, ir_stmt loop, int64_t *extent) {
  const ir_stmt_rec *r = ir_st(s->p, loop);
  return r->loop_kind == IR_SERIAL && !r->anno &&
         ir_const_int(s->p, r->extent, extent) &&
         sch_type_of_loop(s, loop) == SCH_LOOP_S;
}

/* How many of the outermost loops are to be one in parallel. */
static uint32_t count_parallel(sch_state *s, uint32_t n, const ir_stmt *loop,
                               int64_t most) {
  int64_t extent, product = 1;
  uint32_t k = 0;
  while (k < n && product <= most && is_free(s, loop[k], &extent) &&
         (!k || sch_only_child(s->p, loop[k - 1]) == loop[k])) {
    if (__builtin_mul_overflow(product, extent, &product)) break;
    k++;
  }
  return product > 1 ? k : 0;
}

static void parallelize(sch_state *s, uint32_t n, const ir_stmt *loop,
                        int64_t most) {
  ir_stmt fused;
  for (uint32_t k = count_parallel(s, n, loop, most); k > 0; k--) {
    fused = loop[0];
    if (k > 1 && !sch_do_fuse(s, k, loop, &fused)) continue;
    sch_do_parallel(s, fused);
    return;
  }
}

static void vectorize(sch_state *s, ir_stmt loop, int64_t most) {
  int64_t extent;
  ir_stmt made[2];
  if (!is_free(s, loop, &extent) || extent < 2) return;
  if (extent > most) {
    int64_t factor[2] = {SCH_AUTO, most};
    if (extent % most || !sch_do_split(s, loop, 2, factor, made)) return;
    loop = made[1];
  }
  sch_do_vectorize(s, loop);
}

static void unroll(sch_state *s, ir_stmt loop, const wanted *w) {
  ir_program *p = s->p;
  if (ir_anno_get(p, loop, "pragma_auto_unroll_max_step")) return;
  ir_val steps = ir_value_int(p, w->unroll);
  ir_anno_set(p, loop, ir_name(p, "pragma_auto_unroll_max_step"), steps);
  ir_val how = ir_value_int(p, w->is_explicit);
  ir_anno_set(p, loop, ir_name(p, "pragma_unroll_explicit"), how);
}

static void rewrite_block(sch_state *s, ir_stmt block, const wanted *w) {
  ir_stmt loop[MAX_LOOPS];
  uint32_t n = sch_loops_above(s->p, block, MAX_LOOPS, loop);
  if (!n || n > MAX_LOOPS) return;
  int64_t extent = 0;
  bool inner = w->vectorize > 1 && ir_st(s->p, block)->parent == loop[n - 1] &&
               sch_only_child(s->p, loop[n - 1]) == block;
  /* One short loop is in parallel, if that is asked for, and no vector. */
  bool is_short = n == 1 && w->parallel > 1 &&
                  ir_const_int(s->p, ir_st(s->p, loop[0])->extent, &extent) &&
                  extent <= w->vectorize;
  if (inner && !is_short) vectorize(s, loop[n - 1], w->vectorize);
  n = sch_loops_above(s->p, block, MAX_LOOPS, loop);
  if (w->parallel > 1) parallelize(s, n, loop, w->parallel);
  n = sch_loops_above(s->p, block, MAX_LOOPS, loop);
  ir_span it = ir_blk(s->p, block)->iters;
  bool reduces = false;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    reduces |= s->p->iter.v[i].kind == IR_REDUCE;
  if (w->unroll > 0 && reduces && n) unroll(s, loop[0], w);
}

static bool rewrite_parallel_vectorize_unroll_apply(
    sch_state *s, struct rewrite_parallel_vectorize_unroll_args *a) {
  ir_program *p = s->p;
  ir_stmt root = ir_entry(p)->root;
  uint32_t n = 0;
  (void)a;
  for (ir_stmt st = root; st; st = ir_next(p, st, root))
    n += ir_is_block(p, st) && ir_st(p, st)->anno;
  ir_stmt *block = arena_array(s->scratch, ir_stmt, n + 1);
  n = 0;
  for (ir_stmt st = root; st; st = ir_next(p, st, root))
    if (ir_is_block(p, st) && ir_st(p, st)->anno) block[n++] = st;
  for (uint32_t k = 0; k < n; k++) {
    wanted w;
    if (!take_wanted(p, block[k], &w)) continue;
    sch_list inside = sch_child_blocks(s, block[k]);
    for (uint32_t i = 0; i < inside.n; i++) rewrite_block(s, inside.v[i], &w);
  }
  return true;
}
