/* SPDX-License-Identifier: Apache-2.0
 * Parts of blocks: iters, regions, allocations; annotations that list buffers;
 * blocks by name.  A part is replaced as a whole by a new run of its pool; the
 * old run is garbage. */
#include "ir/edit.h"
#include "ir/pool.h"
#include "ir/query.h"
#include <stdio.h>

void ir_block_set_iters(ir_program *p, ir_stmt b, uint32_t n,
                        const ir_iter *it) {
  uint32_t at;
  POOL_ADD(p->heap, &p->iter, n, it, at);
  for (uint32_t i = 0; i < n; i++) p->var.v[p->iter.v[at + i].var].owner = b;
  ir_blk(p, b)->iters = (ir_span){at, n};
  p->edits++;
}

static ir_span add_regions(ir_program *p, uint32_t n, const ir_region *r) {
  uint32_t at;
  POOL_ADD(p->heap, &p->region, n, r, at);
  p->edits++;
  return (ir_span){at, n};
}

void ir_block_set_reads(ir_program *p, ir_stmt b, uint32_t n,
                        const ir_region *r) {
  ir_span span = add_regions(p, n, r);
  ir_blk(p, b)->reads = span;
}

void ir_block_set_writes(ir_program *p, ir_stmt b, uint32_t n,
                         const ir_region *r) {
  ir_span span = add_regions(p, n, r);
  ir_blk(p, b)->writes = span;
}

void ir_block_add_alloc(ir_program *p, ir_stmt b, ir_buf buf) {
  ir_span old = ir_blk(p, b)->allocs;
  uint32_t at = vec_extend(p->heap, &p->arg, old.n + 1);
  memcpy(p->arg.v + at, p->arg.v + old.at, old.n * sizeof *p->arg.v);
  p->arg.v[at + old.n] = buf;
  ir_blk(p, b)->allocs = (ir_span){at, old.n + 1};
  p->edits++;
}

void ir_block_remove_alloc(ir_program *p, ir_stmt b, ir_buf buf) {
  ir_span old = ir_blk(p, b)->allocs;
  uint32_t at = vec_extend(p->heap, &p->arg, old.n), n = 0;
  for (uint32_t i = 0; i < old.n; i++)
    if (p->arg.v[old.at + i] != buf) p->arg.v[at + n++] = p->arg.v[old.at + i];
  p->arg.n = at + n;
  ir_blk(p, b)->allocs = (ir_span){at, n};
  p->edits++;
}

/* ---- annotations that list buffers -------------------------------------- */

bool ir_anno_lists_buffer(const ir_program *p, ir_stmt b, const char *key,
                          ir_buf buf) {
  const ir_anno *a = ir_st(p, b)->anno ? ir_anno_get(p, b, key) : NULL;
  const ir_value *list = a ? &p->value.v[a->val] : NULL;
  if (!list || list->tag != IR_VAL_LIST) return false;
  for (uint32_t i = 0; i < list->n; i++) {
    const ir_value *x = &p->value.v[p->arg.v[list->at + i]];
    if (x->tag == IR_VAL_STR && x->s == p->buf.v[buf].name) return true;
  }
  return false;
}

/* Sets the annotation to n values; removes it if there are none. */
static void set_list_anno(ir_program *p, ir_stmt b, const char *key, uint32_t n,
                          const ir_val *v) {
  ir_value list = {.tag = IR_VAL_LIST, .n = n};
  (void)ir_anno_remove(p, b, key);
  if (n) ir_anno_set(p, b, ir_name(p, key), ir_value_add(p, list, v));
  p->edits++;
}

void ir_anno_add_buffer(ir_program *p, arena *scratch, ir_stmt b,
                        const char *key, ir_buf buf) {
  const ir_anno *a = ir_anno_get(p, b, key);
  ir_value old = a ? p->value.v[a->val] : (ir_value){.tag = IR_VAL_LIST};
  if (ir_anno_lists_buffer(p, b, key, buf)) return;
  if (old.tag != IR_VAL_LIST) old.n = 0;
  ir_val *v = arena_array(scratch, ir_val, old.n + 1);
  if (old.n) memcpy(v, p->arg.v + old.at, old.n * sizeof *v);
  ir_value name = {.tag = IR_VAL_STR, .s = p->buf.v[buf].name};
  v[old.n] = ir_value_add(p, name, NULL);
  set_list_anno(p, b, key, old.n + 1, v);
}

void ir_anno_remove_buffer(ir_program *p, arena *scratch, ir_stmt b,
                           const char *key, ir_buf buf) {
  if (!ir_anno_lists_buffer(p, b, key, buf)) return;
  const ir_value old = p->value.v[ir_anno_get(p, b, key)->val];
  ir_val *v = arena_array(scratch, ir_val, old.n);
  uint32_t n = 0;
  for (uint32_t i = 0; i < old.n; i++) {
    ir_val x = p->arg.v[old.at + i];
    if (p->value.v[x].tag != IR_VAL_STR ||
        p->value.v[x].s != p->buf.v[buf].name)
      v[n++] = x;
  }
  set_list_anno(p, b, key, n, v);
}

bool ir_is_hidden(const ir_program *p, ir_buf buf) {
  for (uint32_t i = 1; i < p->block.n; i++) {
    ir_stmt b = p->block.v[i].stmt;
    if (!ir_is_dead(p, b) && ir_st(p, b)->anno &&
        (ir_anno_lists_buffer(p, b, IR_HIDDEN_READS, buf) ||
         ir_anno_lists_buffer(p, b, IR_HIDDEN_WRITES, buf)))
      return true;
  }
  return false;
}

/* Does a block of the entry function, or of a detached copy, have the name?
 * Blocks of other functions do not count. */
static bool block_name_is_taken(const ir_program *p, ir_str name) {
  for (uint32_t b = 1; b < p->block.n; b++) {
    if (p->block.v[b].name != name) continue;
    ir_stmt top = p->block.v[b].stmt;
    const ir_stmt_rec *r = ir_st(p, top);
    if (r->kind != IR_BLOCK || r->block != b) continue;
    while (ir_st(p, top)->parent) top = ir_st(p, top)->parent;
    uint32_t f = 1;
    while (f < p->func.n && (f == p->entry || p->func.v[f].root != top)) f++;
    if (f == p->func.n) return true;
  }
  return false;
}

ir_str ir_fresh_block_name(ir_program *p, ir_str name) {
  ir_str fresh = name;
  for (unsigned k = 1; block_name_is_taken(p, fresh); k++) {
    char suffix[16];
    snprintf(suffix, sizeof suffix, "_%u", k);
    fresh = ir_name_cat(p, name, suffix);
  }
  return fresh;
}

bool ir_has_reduce_iter(const ir_program *p, ir_stmt block) {
  ir_span it = ir_blk(p, block)->iters;
  for (uint32_t i = it.at; i < it.at + it.n; i++)
    if (p->iter.v[i].kind == IR_REDUCE) return true;
  return false;
}

bool ir_reduce_iter_in_write(const ir_program *p, ir_stmt block) {
  ir_span w = ir_blk(p, block)->writes, iters = ir_blk(p, block)->iters;
  for (uint32_t i = w.at; i < w.at + w.n; i++) {
    ir_region r = p->region.v[i];
    for (uint32_t k = 0; k < 2 * ir_ndim(p, r.buf); k++)
      for (uint32_t j = iters.at; j < iters.at + iters.n; j++)
        if (p->iter.v[j].kind == IR_REDUCE &&
            ir_uses_var(p, p->arg.v[r.at + k], p->iter.v[j].var))
          return true;
  }
  return false;
}
