/* SPDX-License-Identifier: Apache-2.0
 * Values of annotations and attributes; the annotations of a statement, a
 * linked list in the order in which they were set. */
#include "ir/edit.h"
#include "ir/query.h"

ir_val ir_value_add(ir_program *p, ir_value v, const uint32_t *elems) {
  if (v.tag == IR_VAL_LIST || v.tag == IR_VAL_DICT)
    v.at = v.n ? ir_args(p, v.n, elems) : 0;
  return vec_push(p->heap, &p->value, v);
}

ir_val ir_value_int(ir_program *p, int64_t v) {
  return ir_value_add(p, (ir_value){.tag = IR_VAL_INT, .i = v}, NULL);
}

ir_val ir_value_str(ir_program *p, const char *s) {
  ir_str name = ir_name(p, s);
  return ir_value_add(p, (ir_value){.tag = IR_VAL_STR, .s = name}, NULL);
}

static bool elements_eq(const ir_program *p, const ir_value *a,
                        const ir_program *q, const ir_value *b) {
  if (a->n != b->n) return false;
  for (uint32_t i = 0; i < a->n; i++)
    if (!ir_value_eq(p, p->arg.v[a->at + i], q, q->arg.v[b->at + i]))
      return false;
  return true;
}

/* Reals compare by their bits, so that a value always equals itself. */
bool ir_value_eq(const ir_program *p, ir_val a, const ir_program *q, ir_val b) {
  const ir_value *x = &p->value.v[a], *y = &q->value.v[b];
  if (x->tag != y->tag) return false;
  switch ((ir_val_tag)x->tag) {
  case IR_VAL_NIL: return true;
  case IR_VAL_BOOL:
  case IR_VAL_INT: return x->i == y->i;
  case IR_VAL_REAL: return !memcmp(&x->f, &y->f, sizeof x->f);
  case IR_VAL_STR: return !strcmp(ir_text(p, x->s), ir_text(q, y->s));
  case IR_VAL_LIST:
  case IR_VAL_DICT: return elements_eq(p, x, q, y);
  }
  return false;
}

/* The link to the annotation `key`, or the one at the end of the list. */
static uint32_t *find_anno(ir_program *p, ir_stmt s, const char *key) {
  uint32_t *at = &ir_st(p, s)->anno;
  while (*at && strcmp(ir_text(p, p->anno.v[*at].key), key))
    at = &p->anno.v[*at].next;
  return at;
}

const ir_anno *ir_anno_get(const ir_program *p, ir_stmt s, const char *key) {
  for (uint32_t a = ir_st(p, s)->anno; a; a = p->anno.v[a].next)
    if (!strcmp(ir_text(p, p->anno.v[a].key), key)) return &p->anno.v[a];
  return NULL;
}

bool ir_asks_for_mma(const ir_program *p) {
  const ir_anno *a = ir_anno_get(p, ir_entry(p)->root, "tensor_cores");
  const ir_value *v = a ? &p->value.v[a->val] : NULL;
  return v && v->tag == IR_VAL_STR && !strcmp(ir_text(p, v->s), "mma");
}

void ir_anno_set(ir_program *p, ir_stmt s, ir_str key, ir_val val) {
  vec_reserve(p->heap, &p->anno, 1);
  uint32_t *at = find_anno(p, s, ir_text(p, key));
  if (*at) {
    p->anno.v[*at].val = val;
  } else {
    *at = p->anno.n;
    vec_push(p->heap, &p->anno, ((ir_anno){key, val, 0}));
  }
  p->edits++;
}

bool ir_anno_remove(ir_program *p, ir_stmt s, const char *key) {
  uint32_t *at = find_anno(p, s, key);
  if (!*at) return false;
  *at = p->anno.v[*at].next;
  p->edits++;
  return true;
}
