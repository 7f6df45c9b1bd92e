/* SPDX-License-Identifier: Apache-2.0
 * Inference of a block's read and write regions from its body. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"

enum { MAX_REGIONS = 256 };

/* The regions found, one a buffer. */
typedef struct found {
  ir_program *p;
  arena *scratch;
  ir_stmt block;
  uint32_t n;
  ir_region v[MAX_REGIONS];
} found;

static void too_many_regions(const found *f) {
  const char *name = ir_text(f->p, ir_blk(f->p, f->block)->name);
  mem_unwind_limit(f->p->heap, "a block reads or writes more than 256 buffers",
                   arena_printf(f->scratch, "block '%s'", name));
}

static void merge_region(found *f, ir_region r) {
  for (uint32_t i = 0; i < f->n; i++)
    if (f->v[i].buf == r.buf) {
      f->v[i] = arith_region_union(f->p, f->v[i], r);
      return;
    }
  if (f->n == MAX_REGIONS) too_many_regions(f);
  f->v[f->n++] = r;
}

static void find_below(found *f, ir_stmt first, bool writes) {
  ir_region r[MAX_REGIONS];
  for (ir_stmt s = first; s; s = ir_st(f->p, s)->next) {
    int n = ir_accessed_regions(f->p, f->scratch, s, writes, MAX_REGIONS, r);
    if (n < 0) too_many_regions(f);
    for (int i = 0; i < n; i++) merge_region(f, r[i]);
  }
}

/* As seen from block b: drops the buffers allocated in it, and replaces match
 * buffers by their sources. */
static void leave_block(found *f, ir_stmt b) {
  ir_span own = ir_blk(f->p, b)->allocs, m = ir_blk(f->p, b)->matches;
  uint32_t n = f->n;
  f->n = 0;
  for (uint32_t i = 0; i < n; i++) {
    ir_region r = f->v[i];
    uint32_t k = 0;
    while (k < own.n && f->p->arg.v[own.at + k] != r.buf) k++;
    if (k < own.n) continue;
    for (k = m.at; k < m.at + m.n; k++)
      if (f->p->match.v[k].buf == r.buf) {
        r = f->p->match.v[k].source;
        break;
      }
    merge_region(f, r);
  }
}

static void find_regions(found *f, ir_program *p, arena *scratch, ir_stmt b,
                         bool writes) {
  f->p = p;
  f->scratch = scratch;
  f->block = b;
  f->n = 0;
  find_below(f, ir_st(p, b)->alt, writes);
  find_below(f, ir_st(p, b)->body, writes);
  if (ir_blk(p, b)->allocs.n || ir_blk(p, b)->matches.n) leave_block(f, b);
}

static bool same_regions(const ir_program *p, ir_region a, ir_region b) {
  return a.buf == b.buf && !memcmp(p->arg.v + a.at, p->arg.v + b.at,
                                   2 * ir_ndim(p, a.buf) * sizeof *p->arg.v);
}

/* A reduction does not declare reads of what it updates: its init wrote
 * that. */
static void drop_updates(found *reads, const found *writes) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < reads->n; i++) {
    bool updated = false;
    for (uint32_t k = 0; k < writes->n; k++)
      updated |= same_regions(reads->p, reads->v[i], writes->v[k]);
    if (!updated) reads->v[n++] = reads->v[i];
  }
  reads->n = n;
}

/* Keeps the regions that annotations state explicitly (given; NULL: ignored),
 * and drops hidden ones. */
static void apply_annotations(found *f, ir_stmt b, ir_span old,
                              const char *given, const char *hidden) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < f->n; i++) {
    ir_region r = f->v[i];
    if (ir_anno_lists_buffer(f->p, b, hidden, r.buf)) continue;
    if (given && ir_anno_lists_buffer(f->p, b, given, r.buf))
      for (uint32_t k = old.at; k < old.at + old.n; k++)
        if (f->p->region.v[k].buf == r.buf) r = f->p->region.v[k];
    f->v[n++] = r;
  }
  f->n = n;
}

/* Where the buffers are those that the block accessed before, they keep their
 * order, by which schedules number them. */
static void keep_order(found *f, ir_span old) {
  if (old.n != f->n) return;
  for (uint32_t i = 0; i < old.n; i++) {
    uint32_t k = 0;
    while (k < f->n && f->v[k].buf != f->p->region.v[old.at + i].buf) k++;
    if (k == f->n) return;
  }
  for (uint32_t i = 0; i < old.n; i++) {
    uint32_t k = i;
    while (k < f->n && f->v[k].buf != f->p->region.v[old.at + i].buf) k++;
    if (k == f->n) return; /* one buffer twice */
    ir_region r = f->v[k];
    f->v[k] = f->v[i];
    f->v[i] = r;
  }
}

static void set_regions(ir_program *p, arena *scratch, ir_stmt b, bool given) {
  arena_mark m = arena_get_mark(scratch);
  found *reads = arena_new(scratch, found), *writes = arena_new(scratch, found);
  find_regions(reads, p, scratch, b, false);
  find_regions(writes, p, scratch, b, true);
  if (ir_st(p, b)->alt) drop_updates(reads, writes);
  if (ir_st(p, b)->anno) {
    apply_annotations(reads, b, ir_blk(p, b)->reads,
                      given ? IR_EXPLICIT_READS : NULL, IR_HIDDEN_READS);
    apply_annotations(writes, b, ir_blk(p, b)->writes,
                      given ? IR_EXPLICIT_WRITES : NULL, IR_HIDDEN_WRITES);
  }
  keep_order(reads, ir_blk(p, b)->reads);
  keep_order(writes, ir_blk(p, b)->writes);
  ir_block_set_reads(p, b, reads->n, reads->v);
  ir_block_set_writes(p, b, writes->n, writes->v);
  arena_reset_to(scratch, m);
}

void ir_block_find_regions(ir_program *p, arena *scratch, ir_stmt b) {
  set_regions(p, scratch, b, true);
}

void ir_block_find_all_regions(ir_program *p, arena *scratch, ir_stmt b) {
  set_regions(p, scratch, b, false);
}
