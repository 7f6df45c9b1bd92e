/* SPDX-License-Identifier: Apache-2.0
 * Places allocations: an IR_ALLOCATE around the body of each local buffer's
 * lifetime scope. */
#include "ir/analysis/analysis.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "lower/pass.h"

typedef struct place {
  ir_buf buf;
  ir_stmt scope;
} place;

/* The lifetime scopes of all local buffers, before the program changes. */
static uint32_t find_lifetime_scopes(ir_program *p, arena *scratch,
                                     place **out) {
  uint32_t n = 0;
  LOWER_EACH(p, s) if (ir_is_block(p, s)) n += ir_blk(p, s)->allocs.n;
  *out = arena_array(scratch, place, n + 1);
  n = 0;
  LOWER_EACH(p, s) {
    if (!ir_is_block(p, s)) continue;
    ir_span a = ir_blk(p, s)->allocs;
    for (uint32_t i = 0; i < a.n; i++) {
      ir_buf b = p->arg.v[a.at + i];
      ir_stmt scope = ir_lifetime_scope(p, scratch, b);
      (*out)[n++] = (place){b, scope ? scope : s};
    }
  }
  return n;
}

/* Alignments of strides are annotations of the blocks that write the buffers;
 * they move to the allocations. */
static ir_val find_aligns(ir_program *p, arena *scratch, ir_buf b) {
  uint32_t n = 0, *list = arena_array(scratch, uint32_t, LOWER_MAX_ALIGNS);
  LOWER_EACH(p, s) {
    const ir_anno *a = ir_is_block(p, s) && ir_st(p, s)->anno
                           ? ir_anno_get(p, s, LOWER_ALIGN_KEY)
                           : NULL;
    if (!a || p->value.v[a->val].tag != IR_VAL_LIST) continue;
    ir_value all = p->value.v[a->val];
    for (uint32_t i = 0; i < all.n && n < LOWER_MAX_ALIGNS; i++) {
      ir_val v = p->arg.v[all.at + i];
      int64_t e[4];
      ir_span w = ir_blk(p, s)->writes;
      if (!lower_ints(p, v, 4, e) || e[0] < 0 || e[0] >= w.n ||
          p->region.v[w.at + (uint32_t)e[0]].buf != b)
        continue;
      list[n++] = v;
    }
  }
  return n ? ir_value_add(p, (ir_value){.tag = IR_VAL_LIST, .n = n}, list) : 0;
}

static bool any_aligns(const ir_program *p) {
  LOWER_EACH(p, s)
  if (ir_is_block(p, s) && ir_st(p, s)->anno &&
      ir_anno_get(p, s, LOWER_ALIGN_KEY))
    return true;
  return false;
}

LOWER_PASS(plan_allocation) {
  (void)o, (void)e;
  place *places;
  uint32_t n = find_lifetime_scopes(p, scratch, &places);
  bool aligns = any_aligns(p);
  for (uint32_t i = 0; i < n; i++) {
    ir_stmt a = ir_allocate_new(p, places[i].buf);
    ir_val v = aligns ? find_aligns(p, scratch, places[i].buf) : 0;
    if (v) ir_anno_set(p, a, ir_name(p, LOWER_ALIGN_KEY), v);
    ir_move_body(p, places[i].scope, a);
    ir_append(p, places[i].scope, a);
  }
  LOWER_EACH(p, s)
  if (ir_is_block(p, s)) ir_blk(p, s)->allocs = (ir_span){0, 0};
  return TESS_OK;
}
