/* SPDX-License-Identifier: Apache-2.0
 * verify_gpu_code: refuses programs whose kernels exceed a GPU's limits. */
#include "ir/query.h"
#include "schedule/analysis/gpu.h"
#include "schedule/rewrite/compose.h"

#define VERIFY_GPU_CODE_SIG(F, S)                                      \
  F(S, ATTR, INT, max_shared_memory_per_block, DEF(49152), "in bytes") \
  F(S, ATTR, INT, max_threads_per_block, DEF(1024),                    \
    "the product of threadIdx.x, .y and .z")                           \
  F(S, ATTR, INT, max_vthread, DEF(8), "virtual threads")              \
  F(S, ATTR, INT, max_vector_bytes, DEF(16),                           \
    "that a vectorized loop accesses at once")                         \
  F(S, ATTR, INT, max_registers_per_thread, DEF(255),                  \
    "4 bytes each, for its own buffers")

PRIM_DEFINE(
    verify_gpu_code, VERIFY_GPU_CODE_SIG,
    .summary = "Refuse kernels that exceed what a GPU has.", .rewrite = "",
    .details =
        "A postprocessor, as MetaSchedule's VerifyGPUCode, but the program is\n"
        "analysed as it is scheduled, and not lowered. Of each kernel:\n"
        "1. Shared memory is enough: boxes of shared buffers that live at a\n"
        "   time, padded and in as many versions as pipelines keep, and what\n"
        "   threads reduce together. What lowering moves to shared memory\n"
        "   since threads read each other's private elements is not seen.\n"
        "2. There are no more threads, and of those within the bounds that\n"
        "   blocks are annotated with (thread_extent_low_inclusive,\n"
        "   thread_extent_high_inclusive); a block that a warp runs\n"
        "   (warp_execution) makes threadIdx.x 32.\n"
        "3. There are no more virtual threads.\n"
        "4. No vectorized loop accesses more bytes of a buffer at once.\n"
        "5. Private buffers of a thread fit its registers: an estimate, since\n"
        "   code generation has others, and may do with fewer.\n"
        "The program stays as it is.\n",
    .refusals = SCH_REASONS(SCH_R_GPU_REGISTERS, SCH_R_GPU_SHARED_MEMORY,
                            SCH_R_GPU_THREADS, SCH_R_GPU_THREADS_WANTED,
                            SCH_R_GPU_VECTOR, SCH_R_GPU_VTHREADS),
    .example = "sch:verify_gpu_code({ max_threads_per_block = 512 })\n");

typedef struct verify_gpu_code_args limits;

static bool check_use(sch_state *s, ir_stmt kernel, const limits *a,
                      const sch_kernel_use *u) {
  if (u->threads > a->max_threads_per_block)
    return sch_refuse(s, SCH_R_GPU_THREADS, .s = {kernel},
                      .n = {u->threads, a->max_threads_per_block});
  if (u->vthreads > a->max_vthread)
    return sch_refuse(s, SCH_R_GPU_VTHREADS, .s = {kernel},
                      .n = {u->vthreads, a->max_vthread});
  if (u->shared > a->max_shared_memory_per_block)
    return sch_refuse(s, SCH_R_GPU_SHARED_MEMORY, .s = {kernel},
                      .n = {u->shared, a->max_shared_memory_per_block});
  if (u->registers > a->max_registers_per_thread)
    return sch_refuse(s, SCH_R_GPU_REGISTERS, .s = {kernel},
                      .n = {u->registers, a->max_registers_per_thread});
  return true;
}

/* The numbers of threads that a block was tiled for. */
static bool check_wanted(sch_state *s, ir_stmt block, int64_t threads) {
  int64_t low = 0, high = INT64_MAX;
  sch_anno_int(s->p, block, "thread_extent_low_inclusive", &low);
  sch_anno_int(s->p, block, "thread_extent_high_inclusive", &high);
  return (threads >= low && threads <= high) ||
         sch_refuse(s, SCH_R_GPU_THREADS_WANTED, .s = {block},
                    .n = {threads, low, high});
}

/* A vectorized loop: what blocks below access by its lanes. */
static bool check_vector(sch_state *s, ir_stmt loop, const limits *a) {
  const ir_program *p = s->p;
  int64_t lanes;
  if (!ir_const_int(p, ir_st(p, loop)->extent, &lanes)) return true;
  for (ir_stmt st = loop; st; st = ir_next(p, st, loop)) {
    if (!ir_is_block(p, st)) continue;
    ir_span part[2] = {ir_blk(p, st)->reads, ir_blk(p, st)->writes};
    for (int k = 0; k < 2; k++)
      for (uint32_t i = part[k].at; i < part[k].at + part[k].n; i++) {
        ir_buf b = p->region.v[i].buf;
        int64_t bytes, size = (int64_t)ir_dtype_bytes(p->buf.v[b].dtype);
        if (__builtin_mul_overflow(lanes, size, &bytes)) bytes = INT64_MAX;
        if (bytes > a->max_vector_bytes)
          return sch_refuse(s, SCH_R_GPU_VECTOR, .s = {loop}, .buf = b,
                            .n = {bytes, a->max_vector_bytes});
      }
  }
  return true;
}

static bool check_kernel(sch_state *s, ir_stmt kernel, const limits *a) {
  const ir_program *p = s->p;
  sch_kernel_use u;
  sch_measure_kernel(s, kernel, &u);
  if (!check_use(s, kernel, a, &u)) return false;
  for (ir_stmt st = kernel; st; st = ir_next(p, st, kernel)) {
    if (ir_is_block(p, st) && ir_st(p, st)->anno &&
        !check_wanted(s, st, u.threads))
      return false;
    if (ir_is_loop(p, st) && ir_st(p, st)->loop_kind == IR_VECTORIZED &&
        !check_vector(s, st, a))
      return false;
  }
  return true;
}

static bool verify_gpu_code_apply(sch_state *s, limits *a) {
  const ir_program *p = s->p;
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt st = root, next; st; st = next) {
    const ir_stmt_rec *r = ir_st(p, st);
    bool thread = ir_is_thread_loop(r);
    next = thread ? ir_skip(p, st, root) : ir_next(p, st, root);
    if (thread && !check_kernel(s, st, a)) return false;
  }
  return true;
}
