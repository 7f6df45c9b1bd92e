/* SPDX-License-Identifier: Apache-2.0
 * rewrite_cooperative_fetch: distributes annotated copies over the threads of
 * a block, and vectorizes them. */
#include "schedule/rewrite/compose.h"
#include "ir/query.h"

#define REWRITE_COOPERATIVE_FETCH_SIG(F, S)

PRIM_DEFINE(
    rewrite_cooperative_fetch, REWRITE_COOPERATIVE_FETCH_SIG,
    .summary = "Let the threads of a block share the copies that ask for it.",
    .rewrite = "copy with cooperative_fetch = 4: for f in e   ->   for f_0: "
               "bind f_1 to threadIdx.x: vectorized f_2 in 4",
    .details =
        "A postprocessor, as MetaSchedule's RewriteCooperativeFetch. The\n"
        "innermost loop of each block annotated cooperative_fetch, whose "
        "value\n"
        "is how many elements a thread copies at a time, is cut by that and "
        "by\n"
        "the extents of threadIdx.z, .y and .x in the kernel, bound, and the\n"
        "innermost part vectorized. In a kernel with blocks that a warp runs\n"
        "(warp_execution) threadIdx.x is a warp.\n"
        "A copy is done one element at a time where what is wanted does not\n"
        "divide the loop's extent, is more than 16 bytes, or of elements of\n"
        "more than 4; and with scalars where it cannot be vectorized. One\n"
        "outside of kernels stays as it is. The annotation goes.\n"
        "1. The loop can be cut and bound.\n",
    .refusals = SCH_REASONS(SCH_R_STEP_REFUSED),
    .example =
        "local copy = sch:cache_read(sch:get_block(\"C\"), 0, \"shared\")\n"
        "local c = sch:get_block(\"C\")\n"
        "local i, j, k = sch:get_loops(c)\n"
        "sch:bind(i, \"blockIdx.x\")\n"
        "sch:bind(j, \"threadIdx.x\")\n"
        "sch:compute_at(copy, j)\n"
        "sch:annotate(copy, \"cooperative_fetch\", 4)\n"
        "sch:rewrite_cooperative_fetch()\n");

enum { MAX_LOOPS = 64, MAX_VECTOR_BYTES = 16, MAX_ELEMENT_BYTES = 4 };
static const char fetch_key[] = "cooperative_fetch";

/* The bytes of the widest element that the block accesses. */
static int64_t element_bytes(const ir_program *p, ir_stmt block) {
  ir_span part[2] = {ir_blk(p, block)->reads, ir_blk(p, block)->writes};
  size_t most = 1;
  for (int k = 0; k < 2; k++)
    for (uint32_t i = part[k].at; i < part[k].at + part[k].n; i++) {
      size_t n = ir_dtype_bytes(p->buf.v[p->region.v[i].buf].dtype);
      if (n > most) most = n;
    }
  return (int64_t)most;
}

/* How many elements a thread copies at a time. */
static int64_t lanes_of(const ir_program *p, ir_stmt block, int64_t wanted,
                        int64_t extent) {
  int64_t bytes = element_bytes(p, block);
  bool fits = wanted > 1 && extent % wanted == 0 &&
              bytes <= MAX_ELEMENT_BYTES && wanted <= MAX_VECTOR_BYTES / bytes;
  return fits ? wanted : 1;
}

static bool fetch_together(sch_state *s, ir_stmt block, int64_t wanted) {
  static const char *const axis[] = {"threadIdx.z", "threadIdx.y",
                                     "threadIdx.x"};
  ir_program *p = s->p;
  ir_stmt kernel = sch_kernel_of(p, block), loop[MAX_LOOPS], made[5];
  int64_t extent, threads[IR_THREAD_COUNT], factor[5] = {SCH_AUTO};
  uint32_t n = sch_loops_above(p, block, MAX_LOOPS, loop), k = 1;
  if (!n || n > MAX_LOOPS || !kernel ||
      !ir_const_int(p, ir_st(p, loop[n - 1])->extent, &extent) ||
      ir_st(p, loop[n - 1])->loop_kind != IR_SERIAL)
    return true;
  sch_thread_extents(p, kernel, threads);
  const char *bound[5] = {NULL};
  for (int a = 0; a < 3; a++) {
    int64_t count = threads[IR_THREADIDX_Z - a];
    if (count < 1) continue;
    bound[k] = axis[a];
    factor[k++] = count;
  }
  int64_t lanes = lanes_of(p, block, wanted, extent);
  if (lanes > 1) factor[k++] = lanes;
  if (k == 1) return true;
  if (!sch_do_split(s, loop[n - 1], k, factor, made)) return false;
  for (uint32_t i = 1; i < k; i++)
    if (bound[i] && !sch_do_bind(s, made[i], bound[i])) return false;
  if (lanes > 1) sch_do_vectorize(s, made[k - 1]);
  return true;
}

static bool
rewrite_cooperative_fetch_apply(sch_state *s,
                                struct rewrite_cooperative_fetch_args *a) {
  sch_list blocks = sch_leaf_blocks(s);
  (void)a;
  for (uint32_t i = 0; i < blocks.n; i++) {
    int64_t wanted;
    if (!sch_anno_int(s->p, blocks.v[i], fetch_key, &wanted)) continue;
    ir_anno_remove(s->p, blocks.v[i], fetch_key);
    if (!fetch_together(s, blocks.v[i], wanted))
      return sch_step_refused(s, blocks.v[i]);
  }
  return true;
}
