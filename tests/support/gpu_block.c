/* SPDX-License-Identifier: Apache-2.0
 * Runs the blocks of a launch: a fibre a thread, warps that converge where
 * their lanes exchange something, a block that waits at its barriers. */
#include "support/gpu_parts.h"
#include "support/sanitizers.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Thread_local gpu_module *gpu_running;

void gpu_fault(gpu_module *m, const char *fmt, ...) {
  if (m->failed) return;
  va_list ap;
  char text[GPU_WHY / 2];
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  m->failed = true;
  const uint32_t *t = m->current ? m->current->index : m->block;
  snprintf(m->why, GPU_WHY, "%s: %s (block %u,%u,%u, thread %u,%u,%u)",
           m->l->kernel, text, m->block[0], m->block[1], m->block[2], t[0],
           t[1], t[2]);
}

/* ---- fibres ------------------------------------------------------------- */

static void start_thread(void) {
  gpu_module *m = gpu_running;
  fiber_arrived(NULL);
  m->entry(m->l->args);
  m->current->state = GPU_DONE;
  fiber_leaving(NULL);
  swapcontext(&m->current->context, &m->scheduler);
}

void gpu_wait(gpu_module *m, gpu_state s) {
  gpu_thread *t = m->current;
  void *mine;
  t->state = s;
  fiber_leaving(&mine);
  swapcontext(&t->context, &m->scheduler);
  fiber_arrived(mine);
}

static void resume(gpu_module *m, gpu_thread *t) {
  void *mine;
  m->current = t;
  fiber_switch(&mine, m->stacks + (size_t)(t - m->thread) * GPU_STACK,
               GPU_STACK);
  swapcontext(&m->scheduler, &t->context);
  fiber_arrived(mine);
  m->current = NULL;
}

static void make_thread(gpu_module *m, uint32_t i) {
  gpu_thread *t = &m->thread[i];
  const int64_t *n = m->l->block;
  gpu_copy *copy = t->copy;
  *t = (gpu_thread){.state = GPU_READY, .copy = copy};
  t->index[0] = i % (uint32_t)n[0];
  t->index[1] = i / (uint32_t)n[0] % (uint32_t)n[1];
  t->index[2] = i / (uint32_t)(n[0] * n[1]);
  getcontext(&t->context);
  t->context.uc_stack.ss_sp = m->stacks + (size_t)i * GPU_STACK;
  t->context.uc_stack.ss_size = GPU_STACK;
  t->context.uc_link = NULL;
  makecontext(&t->context, start_thread, 0);
}

/* ---- warps -------------------------------------------------------------- */

static uint32_t block_lanes_of(const gpu_module *m, uint32_t first) {
  uint32_t left = m->nthreads - first;
  return left < GPU_LANES ? left : GPU_LANES;
}

static void run_ready(gpu_module *m, uint32_t first) {
  uint32_t n = block_lanes_of(m, first);
  for (uint32_t i = 0; i < n && !m->failed; i++) {
    gpu_thread *t = &m->thread[first + (m->l->reversed ? n - 1 - i : i)];
    if (t->state == GPU_READY) resume(m, t);
  }
  gpu_flush_accesses(m);
}

/* Have all lanes of the mask arrived where `t` waits? */
static bool have_arrived(const gpu_thread *lane, uint32_t n,
                         const gpu_thread *t) {
  uint32_t mask = gpu_mask(t);
  for (uint32_t i = 0; i < n; i++)
    if ((mask >> i & 1) && (lane[i].state != GPU_AT_WARP ||
                            lane[i].op != t->op || gpu_mask(&lane[i]) != mask))
      return false;
  return mask >> (t - lane) & 1;
}

/* Completes one collective of the warp; false: none is complete. */
static bool fibre_exchange(gpu_module *m, uint32_t first) {
  gpu_thread *lane = &m->thread[first];
  uint32_t n = block_lanes_of(m, first);
  for (uint32_t i = 0; i < n; i++) {
    if (lane[i].state != GPU_AT_WARP || !have_arrived(lane, n, &lane[i]))
      continue;
    m->current = &lane[i];
    bool ok = gpu_collective(m, lane, gpu_mask(&lane[i]));
    uint32_t mask = gpu_mask(&lane[i]);
    m->current = NULL;
    m->counts->collectives++;
    for (uint32_t k = 0; k < n; k++)
      if (mask >> k & 1) lane[k].state = GPU_READY;
    return ok;
  }
  return false;
}

static void run_warp(gpu_module *m, uint32_t first) {
  do run_ready(m, first);
  while (!m->failed && fibre_exchange(m, first));
}

/* ---- blocks ------------------------------------------------------------- */

/* Passes a barrier that all have reached; false: all threads have ended, or
 * some wait in vain. */
static bool pass_barrier(gpu_module *m) {
  uint32_t waiting = 0;
  for (uint32_t i = 0; i < m->nthreads; i++) {
    if (m->thread[i].state == GPU_AT_WARP) {
      m->current = &m->thread[i];
      gpu_fault(m, "waits for lanes that do not come: %s",
                m->current->op->name);
      return false;
    }
    waiting += m->thread[i].state == GPU_AT_BLOCK;
  }
  for (uint32_t i = 0; i < m->nthreads; i++)
    if (m->thread[i].state == GPU_AT_BLOCK) m->thread[i].state = GPU_READY;
  if (waiting && waiting < m->nthreads)
    gpu_fault(m, "a barrier that %u threads of %u reach", waiting, m->nthreads);
  m->counts->barriers += waiting != 0;
  return waiting && !m->failed;
}

static bool run_block(gpu_module *m) {
  for (uint32_t i = 0; i < m->nshared; i++)
    memset(m->shared[i].at, GPU_POISON, m->shared[i].bytes);
  memset(m->dynamic, GPU_POISON, m->l->dynamic_shared);
  for (uint32_t i = 0; i < m->nthreads; i++) make_thread(m, i);
  uint32_t warps = (m->nthreads + GPU_LANES - 1) / GPU_LANES;
  do {
    for (uint32_t w = 0; w < warps && !m->failed; w++)
      run_warp(m, GPU_LANES * (m->l->reversed ? warps - 1 - w : w));
  } while (!m->failed && pass_barrier(m));
  return !m->failed;
}

static bool run_grid(gpu_module *m) {
  const int64_t *n = m->l->grid;
  for (int64_t z = 0; z < n[2]; z++)
    for (int64_t y = 0; y < n[1]; y++)
      for (int64_t x = 0; x < n[0]; x++) {
        m->block[0] = (uint32_t)x;
        m->block[1] = (uint32_t)y;
        m->block[2] = (uint32_t)z;
        if (!run_block(m)) return false;
      }
  return true;
}

static bool find_entry(gpu_module *m, const char *kernel) {
  char name[360];
  LLVMOrcExecutorAddress at = 0;
  snprintf(name, sizeof name, "gpu_entry.%s", kernel);
  LLVMErrorRef e = LLVMOrcLLJITLookup(m->jit, &at, name);
  if (e) {
    LLVMConsumeError(e);
    return false;
  }
  uintptr_t address = (uintptr_t)at;
  memcpy(&m->entry, &address, sizeof address);
  return true;
}

static void take_block_memory(gpu_module *m) {
  const int64_t *n = m->l->block;
  m->nthreads = (uint32_t)(n[0] * n[1] * n[2]);
  m->thread = calloc(m->nthreads, sizeof *m->thread);
  m->stacks = aligned_alloc(4096, (size_t)m->nthreads * GPU_STACK);
  m->times = calloc((size_t)m->nsites * GPU_LANES + 1, sizeof *m->times);
  for (uint32_t i = 0; i < m->nthreads; i++)
    m->thread[i].copy = malloc(GPU_COPIES * sizeof(gpu_copy));
}

static void free_memory(gpu_module *m) {
  for (uint32_t i = 0; i < m->nthreads; i++) free(m->thread[i].copy);
  free(m->thread);
  free(m->stacks);
  free(m->times);
  m->thread = NULL;
}

bool gpu_run(gpu_module *m, const gpu_launch *l, gpu_counts *counts,
             char why[GPU_WHY]) {
  m->l = l;
  m->counts = counts;
  m->why = why;
  m->failed = false;
  m->naccesses = 0;
  snprintf(why, GPU_WHY, "there is no kernel '%s'", l->kernel);
  if (!find_entry(m, l->kernel) || l->dynamic_shared > GPU_DYNAMIC)
    return false;
  take_block_memory(m);
  gpu_running = m;
  bool ok = run_grid(m);
  gpu_running = NULL;
  free_memory(m);
  return ok;
}
