/* SPDX-License-Identifier: Apache-2.0
 * Accesses of a device's threads: bounds, bytes moved, sectors of global memory
 * read, and conflicts of the banks of shared memory, of which there are 32
 * with a word of 4 bytes each in turn.  A warp's access of 8 or 16 bytes a lane
 * is done in halves or quarters (CUDA C Programming Guide, "Shared Memory"). */
#include "support/gpu_parts.h"
#include <stdlib.h>
#include <string.h>

static bool is_in_span(const char *at, size_t bytes, const char *from,
                       size_t size) {
  return at >= from && bytes <= size && (size_t)(at - from) <= size - bytes;
}

bool gpu_check(gpu_module *m, const void *at, size_t bytes, bool shared) {
  bool ok = shared && is_in_span(at, bytes, m->dynamic, m->l->dynamic_shared);
  for (uint32_t i = 0; shared && i < m->nshared; i++)
    ok |= is_in_span(at, bytes, m->shared[i].at, m->shared[i].bytes);
  for (uint32_t i = 0; !shared && i < m->l->nspans; i++)
    ok |= is_in_span(at, bytes, m->l->span[i].at, m->l->span[i].bytes);
  if (!ok)
    gpu_fault(m, "%zu bytes of %s memory that are out of bounds", bytes,
              shared ? "shared" : "global");
  return ok;
}

void gpu_note(const void *at, uint32_t bytes, uint32_t flags, uint32_t site) {
  gpu_module *m = gpu_running;
  gpu_counts *c = m->counts;
  bool shared = flags & GPU_SHARED, writes = flags & GPU_WRITES;
  if (!gpu_check(m, at, bytes, shared)) gpu_wait(m, GPU_DONE); /* for good */
  *(shared   ? writes ? &c->shared_written : &c->shared_read
    : writes ? &c->global_written
             : &c->global_read) += bytes;
  if (shared || !writes) gpu_keep_access(m, at, bytes, shared, site);
}

void gpu_keep_access(gpu_module *m, const void *at, uint32_t bytes, bool shared,
                     uint32_t site) {
  uint32_t lane = (uint32_t)(m->current - m->thread) % GPU_LANES;
  if (m->naccesses == m->room) {
    m->room = m->room ? 2 * m->room : 1024;
    m->access = realloc(m->access, m->room * sizeof *m->access);
  }
  m->access[m->naccesses++] = (gpu_access){
      site,         m->times[site * GPU_LANES + lane]++, lane, bytes, shared,
      (uintptr_t)at};
}

static int compare_accesses(const void *a, const void *b) {
  const gpu_access *x = a, *y = b;
  if (x->site != y->site) return x->site < y->site ? -1 : 1;
  if (x->times != y->times) return x->times < y->times ? -1 : 1;
  return x->lane < y->lane ? -1 : x->lane > y->lane;
}

/* How often an access of these lanes is repeated. */
uint32_t gpu_conflicts(const gpu_access *v, uint32_t n) {
  uintptr_t word[GPU_LANES * 4];
  uint32_t count = 0, most = 0, in_bank[GPU_LANES] = {0};
  for (uint32_t i = 0; i < n; i++)
    for (uintptr_t w = v[i].at / 4; w <= (v[i].at + v[i].bytes - 1) / 4; w++) {
      bool seen = false;
      for (uint32_t k = 0; k < count && !seen; k++) seen = word[k] == w;
      if (seen || count == GPU_LANES * 4) continue;
      word[count++] = w;
      uint32_t *of = &in_bank[w % GPU_LANES];
      if (++*of > most) most = *of;
    }
  return most > 1 ? most - 1 : 0;
}

/* How many sectors the lanes address. */
static uint32_t sectors_of(const gpu_access *v, uint32_t n) {
  enum { BYTES = 32 };
  uintptr_t sector[GPU_LANES * 2];
  uint32_t count = 0;
  for (uint32_t i = 0; i < n; i++)
    for (uintptr_t s = v[i].at / BYTES; s <= (v[i].at + v[i].bytes - 1) / BYTES;
         s++) {
      bool seen = false;
      for (uint32_t k = 0; k < count && !seen; k++) seen = sector[k] == s;
      if (!seen && count < GPU_LANES * 2) sector[count++] = s;
    }
  return count;
}

static void count_group(gpu_module *m, const gpu_access *v, uint32_t n) {
  if (!v->shared) {
    m->counts->read_sectors += sectors_of(v, n);
    return;
  }
  uint32_t part = v->bytes > 8 ? 8 : v->bytes > 4 ? 16 : 32;
  for (uint32_t i = 0; i < n;) {
    uint32_t k = i;
    while (k < n && v[k].lane / part == v[i].lane / part) k++;
    m->counts->bank_conflicts += gpu_conflicts(v + i, k - i);
    i = k;
  }
}

void gpu_flush_accesses(gpu_module *m) {
  gpu_access *v = m->access;
  uint32_t n = m->naccesses;
  if (n) qsort(v, n, sizeof *v, compare_accesses);
  for (uint32_t i = 0; i < n;) {
    uint32_t k = i;
    while (k < n && v[k].site == v[i].site && v[k].times == v[i].times) k++;
    count_group(m, v + i, k - i);
    i = k;
  }
  for (uint32_t i = 0; i < n; i++)
    m->times[v[i].site * GPU_LANES + v[i].lane] = 0;
  m->naccesses = 0;
}
