/* SPDX-License-Identifier: Apache-2.0
 * Throughput of index arithmetic: expressions built per second, cold (new
 * nodes) and warm (interned already), as tiling a matrix product builds them;
 * region relaxation; affine map decisions. */
#include "base/arena.h"
#include "ir/arith/arith.h"
#include "ir/edit.h"
#include "support/bench.h"

#include <string.h>

enum { LOOPS = 8, FUSED = LOOPS };

typedef struct maker {
  mem_heap heap;
  arena scratch;
  ir_program p;
  ir_var var[LOOPS + 1];
  ir_expr lo[LOOPS], extent[LOOPS], row, col, flat, tile, lane;
  ir_expr domain[2];
} maker;

/* Loops i0 j0 i1 j1 k0 i2 k1 j2 of a tiled 1024 product, and one
 * for the first two fused. */
static void begin_nest(maker *m) {
  static const int64_t n[LOOPS] = {16, 8, 4, 8, 128, 16, 8, 16};
  ir_program *p = &m->p;
  ir_program_reset(p);
  for (int i = 0; i < LOOPS; i++) {
    m->var[i] = ir_var_new(p, IR_VAR_LOOP, 0, IR_INDEX, 0, n[i] - 1);
    m->lo[i] = ir_index(p, 0);
    m->extent[i] = ir_index(p, n[i]);
  }
  m->var[FUSED] = ir_var_new(p, IR_VAR_LOOP, 0, IR_INDEX, 0, 127);
  m->domain[0] = m->domain[1] = ir_index(p, 1024);
}

static ir_expr times_const(maker *m, int loop, int64_t k) {
  return ir_mul(&m->p, ir_ref(&m->p, m->var[loop]), ir_index(&m->p, k));
}

/* Typical index expressions of a schedule: 38 operations. */
enum { BUILT = 38 };

static void build_nests(maker *m) {
  ir_program *p = &m->p;
  ir_expr eight = ir_index(p, 8), f = ir_ref(p, m->var[FUSED]);
  ir_expr i = ir_add(p, ir_add(p, times_const(m, 0, 64), times_const(m, 2, 16)),
                     ir_ref(p, m->var[5]));
  ir_expr j =
      ir_add(p, ir_add(p, times_const(m, 1, 128), times_const(m, 3, 16)),
             ir_ref(p, m->var[7]));
  m->row = i;
  m->col = j;
  m->flat = ir_add(p, ir_mul(p, i, ir_index(p, 1024)), j);
  m->tile = ir_binary(p, IR_DIV, f, eight);
  m->lane = ir_binary(p, IR_MOD, f, eight);
  ir_expr again = ir_add(p, ir_mul(p, m->tile, eight), m->lane);
  ir_expr rows = ir_add(p, ir_mul(p, m->tile, ir_index(p, 64)),
                        ir_sub(p, i, times_const(m, 0, 64)));
  ir_binary(p, IR_LT, rows, ir_index(p, 1000));
  ir_binary(p, IR_MIN, ir_add(p, rows, ir_index(p, 16)), ir_index(p, 1024));
  ir_binary(p, IR_DIV, m->flat, ir_index(p, 16));
  ir_binary(p, IR_MOD, m->flat, ir_index(p, 16));
  ir_binary(p, IR_EQ, ir_add(p, again, i), j);
}

/* Operations per second: repeats `step`, which does `each` of them, until the
 * time is up. */
static double rate(maker *m, double seconds, int each, void (*step)(maker *)) {
  double start = bench_now(), now;
  uint64_t done = 0;
  do {
    for (int i = 0; i < 1000; i++) step(m);
    done += 1000;
    now = bench_now();
  } while (now - start < seconds);
  return (double)done * each / (now - start);
}

static void cold(maker *m) {
  begin_nest(m);
  build_nests(m);
}

static void relax(maker *m) {
  ir_expr min, max;
  bool exact;
  arith_relax(&m->p, &m->scratch, m->flat, 4, m->var + 4, m->lo + 4,
              m->extent + 4, &min, &max, &exact);
}

static void map_linear(maker *m) {
  ir_expr bind[2] = {m->row, m->col};
  ir_expr extent[2] = {m->domain[0], m->domain[1]};
  ir_var in[6] = {m->var[0], m->var[1], m->var[2],
                  m->var[3], m->var[5], m->var[7]};
  arith_map(&m->p, &m->scratch, 6, in, NULL, 2, bind, m->lo, extent, 0);
}

/* The same with i0 and j0 fused. */
static void map_fused(maker *m) {
  ir_program *p = &m->p;
  ir_expr i = ir_add(p, ir_mul(p, m->tile, ir_index(p, 64)),
                     ir_sub(p, m->row, times_const(m, 0, 64)));
  ir_expr j = ir_add(p, ir_mul(p, m->lane, ir_index(p, 128)),
                     ir_sub(p, m->col, times_const(m, 1, 128)));
  ir_expr bind[2] = {i, j}, extent[2] = {m->domain[0], m->domain[1]};
  ir_var in[5] = {m->var[FUSED], m->var[2], m->var[3], m->var[5], m->var[7]};
  arith_map(p, &m->scratch, 5, in, NULL, 2, bind, m->lo, extent, 0);
}

int main(int argc, char **argv) {
  bench_options o = bench_parse(argc, argv, "how fast index arithmetic is");
  double s = o.quick ? 0.2 : 2;
  maker m = {.p = {0}};
  mem_heap_init(&m.heap, mem_default_allocator, 0);
  arena_init(&m.scratch, &m.heap);
  ir_program_init(&m.p, &m.heap);
  bench_figure("index_ops_cold_per_s", rate(&m, s, BUILT, cold), "1/s", NULL);
  bench_figure("index_ops_warm_per_s", rate(&m, s, BUILT, build_nests), "1/s",
               NULL);
  bench_figure("relaxed_per_s", rate(&m, s, 1, relax), "1/s", NULL);
  bench_figure("linear_maps_per_s", rate(&m, s, 1, map_linear), "1/s", NULL);
  bench_figure("fused_maps_per_s", rate(&m, s, 1, map_fused), "1/s", NULL);
  ir_program_free(&m.p);
  arena_free(&m.scratch);
  return 0;
}
