/* SPDX-License-Identifier: Apache-2.0
 * storage_align: pads the rows of a buffer to an alignment, plus an offset. */
#include "ir/edit.h"
#include "ir/query.h"
#include "schedule/analysis/layout.h"

#define STORAGE_ALIGN_SIG(F, S)                                        \
  F(S, IN, BLOCK, block, REQ, "the block that writes the buffer")      \
  F(S, ATTR, BUFFER, buffer_index, REQ,                                \
    "the buffer; an index counts those it writes, from 0")             \
  F(S, ATTR, INT, axis, REQ, "the dimension; -1 is the last one")      \
  F(S, ATTR, INT, factor, REQ, "what the stride is a multiple of ...") \
  F(S, ATTR, INT, offset, REQ, "... plus this, in elements")

PRIM_DEFINE(
    storage_align, STORAGE_ALIGN_SIG,
    .summary = "Align the stride of one dimension of a buffer.",
    .rewrite = "block B   ->   block B with buffer_dim_align = "
               "{{0, axis, factor, offset}}",
    .details =
        "1. The buffer is allocated in the function, and neither is a part\n"
        "   of another nor has parts that are matched.\n"
        "2. The axis is a dimension of the buffer; a negative one counts\n"
        "   from the end.\n"
        "3. The factor is from 1 to 2^20.\n"
        "4. An annotation buffer_dim_align that the block bears already is\n"
        "   of this kind.\n"
        "When the program is lowered, and the buffer has shrunk to what is\n"
        "used of it, the stride of the axis grows to the next number that\n"
        "is `offset` more than a multiple of `factor`; the strides of the\n"
        "axes before it grow with it.\n",
    .refusals = SCH_REASONS(SCH_BUFFER_REASONS, SCH_R_PARAMETER_FIXED,
                            SCH_R_OPAQUE_ACCESS, SCH_R_ALIGN_AXIS,
                            SCH_R_ALIGN_FACTOR, SCH_R_ALIGN_NOTE),
    .example = "sch:storage_align(sch:get_block(\"C\"), 0, -2, 32, 8)\n");

enum { MOST_FACTOR = 1 << 20 };

/* The entry of an earlier call as four numbers. */
static bool read_entry(const ir_program *p, ir_val v, int64_t out[4]) {
  const ir_value *x = &p->value.v[v];
  if (x->tag != IR_VAL_LIST || x->n != 4) return false;
  for (uint32_t i = 0; i < 4; i++) {
    const ir_value *e = &p->value.v[p->arg.v[x->at + i]];
    if (e->tag != IR_VAL_INT) return false;
    out[i] = e->i;
  }
  return true;
}

/* All entries but that of the same buffer and axis; false: not ours. */
static bool read_note(sch_state *s, ir_stmt block, const int64_t key[4],
                      uint32_t *n, uint32_t **out) {
  const ir_program *p = s->p;
  const ir_anno *a = ir_anno_get(p, block, "buffer_dim_align");
  const ir_value *list = a ? &p->value.v[a->val] : NULL;
  *n = 0;
  *out = arena_array(s->scratch, uint32_t, list ? list->n + 1 : 1);
  if (list && list->tag != IR_VAL_LIST) return false;
  for (uint32_t i = 0; list && i < list->n; i++) {
    int64_t e[4];
    ir_val v = p->arg.v[list->at + i];
    if (!read_entry(p, v, e)) return false;
    if (e[0] != key[0] || e[1] != key[1]) (*out)[(*n)++] = v;
  }
  return true;
}

static bool storage_align_apply(sch_state *s, struct storage_align_args *a) {
  ir_program *p = s->p;
  ir_buf buf;
  uint32_t index, n, *list, e[4];
  if (!sch_find_buffer(s, a->block, a->buffer_index, SCH_WRITES, NULL, &index,
                       &buf) ||
      !sch_check_allocated(s, buf))
    return false;
  int64_t ndim = ir_ndim(p, buf), axis = a->axis < 0 ? a->axis + ndim : a->axis;
  if (axis < 0 || axis >= ndim)
    return sch_refuse(s, SCH_R_ALIGN_AXIS, .buf = buf, .n = {a->axis, ndim});
  if (a->factor < 1 || a->factor > MOST_FACTOR)
    return sch_refuse(s, SCH_R_ALIGN_FACTOR, .n = {a->factor, MOST_FACTOR});
  int64_t rest = a->offset % a->factor;
  int64_t entry[4] = {index, axis, a->factor,
                      rest < 0 ? rest + a->factor : rest};
  if (!read_note(s, a->block, entry, &n, &list))
    return sch_refuse(s, SCH_R_ALIGN_NOTE, .s = {a->block});
  for (int i = 0; i < 4; i++) e[i] = ir_value_int(p, entry[i]);
  list[n++] = ir_value_add(p, (ir_value){.tag = IR_VAL_LIST, .n = 4}, e);
  ir_val all = ir_value_add(p, (ir_value){.tag = IR_VAL_LIST, .n = n}, list);
  (void)ir_anno_remove(p, a->block, "buffer_dim_align");
  ir_anno_set(p, a->block, ir_name(p, "buffer_dim_align"), all);
  p->edits++;
  return true;
}
