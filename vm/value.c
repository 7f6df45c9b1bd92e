/* SPDX-License-Identifier: Apache-2.0
 * Operand values of a trace: construction, copying, comparison, hashing.
 * Nested values are runs of the table `val`. */
#include "base/hash.h"
#include "vm/vm.h"

vm_value vm_str(vm_trace *pool, const char *s, size_t n) {
  uint32_t at = vec_extend(pool->heap, &pool->text, n + 1);
  memcpy(pool->text.v + at, s, n);
  pool->text.v[at + n] = '\0';
  return (vm_value){.tag = VM_STR, .n = (uint32_t)n, .str = at};
}

/* One more than the maximal depth of the elements; saturates. */
static uint16_t depth_over(uint32_t n, const vm_value *elems) {
  uint16_t depth = 0;
  for (uint32_t i = 0; i < n; i++)
    depth = elems[i].depth > depth ? elems[i].depth : depth;
  return depth < UINT16_MAX ? depth + 1 : depth;
}

static uint32_t add_run(vm_trace *pool, uint32_t n, const vm_value *elems) {
  uint32_t at = vec_extend(pool->heap, &pool->val, n);
  if (n) memcpy(pool->val.v + at, elems, n * sizeof *elems);
  return at;
}

vm_value vm_list_of(const vm_trace *pool, uint32_t at, uint32_t n) {
  return (vm_value){.tag = VM_LIST,
                    .depth = depth_over(n, pool->val.v + at),
                    .n = n,
                    .at = at};
}

vm_value vm_list(vm_trace *pool, uint32_t n, const vm_value *elems) {
  return vm_list_of(pool, add_run(pool, n, elems), n);
}

vm_value vm_op_of(const vm_trace *pool, uint32_t at, ir_op op) {
  return (vm_value){.tag = VM_OP,
                    .op = (uint8_t)op,
                    .depth = depth_over(2, pool->val.v + at),
                    .at = at};
}

vm_value vm_op(vm_trace *pool, ir_op op, vm_value a, vm_value b) {
  vm_value both[2] = {a, b};
  return vm_op_of(pool, add_run(pool, 2, both), op);
}

static int compare_keys(const vm_trace *t, vm_value a, vm_value b) {
  uint32_t n = a.n < b.n ? a.n : b.n;
  int c = memcmp(t->text.v + a.str, t->text.v + b.str, n);
  return c ? c : (a.n > b.n) - (a.n < b.n);
}

/* Shell sort of n pairs: short, in place, fast enough for long ones. */
static void sort_pairs(const vm_trace *t, vm_value *pair, uint32_t n) {
  for (uint32_t gap = n / 2; gap; gap = gap == 2 ? 1 : gap * 5 / 11) {
    for (uint32_t i = gap; i < n; i++) {
      vm_value key = pair[2 * i], value = pair[2 * i + 1];
      uint32_t j = i;
      for (; j >= gap && compare_keys(t, pair[2 * (j - gap)], key) > 0;
           j -= gap)
        memcpy(pair + 2 * j, pair + 2 * (j - gap), 2 * sizeof *pair);
      pair[2 * j] = key;
      pair[2 * j + 1] = value;
    }
  }
}

vm_value vm_dict_of(vm_trace *pool, uint32_t at, uint32_t n) {
  sort_pairs(pool, pool->val.v + at, n);
  return (vm_value){.tag = n ? VM_DICT : VM_LIST,
                    .depth = depth_over(2 * n, pool->val.v + at),
                    .n = 2 * n,
                    .at = at};
}

vm_value vm_dict(vm_trace *pool, uint32_t n, const vm_value *pairs) {
  return vm_dict_of(pool, add_run(pool, 2 * n, pairs), n);
}

/* Spelling of the operators of VM_OP; min and max are functions. */
static const struct {
  const char *text;
  ir_op op;
} ops[] = {{"+", IR_ADD}, {"-", IR_SUB},   {"*", IR_MUL},  {"//", IR_DIV},
           {"%", IR_MOD}, {"min", IR_MIN}, {"max", IR_MAX}};

const char *vm_op_text(ir_op op) {
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (ops[i].op == op) return ops[i].text;
  return "?";
}

ir_op vm_parse_op(const char *text) {
  for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
    if (!strcmp(ops[i].text, text)) return ops[i].op;
  return IR_NONE;
}

static uint32_t run_length(vm_value v) {
  switch ((vm_tag)v.tag) {
  case VM_LIST:
  case VM_DICT: return v.n;
  case VM_OP: return 2;
  default: return 0;
  }
}

vm_value vm_value_copy(vm_trace *dst, const vm_trace *src, vm_value v,
                       const vm_rv *map) {
  if (v.tag == VM_STR) return vm_str(dst, src->text.v + v.str, v.n);
  if (v.tag == VM_RV && map) v.rv = map[v.rv];
  uint32_t n = run_length(v), from = v.at;
  if (v.tag == VM_LIST || v.tag == VM_DICT || v.tag == VM_OP)
    v.at = vec_extend(dst->heap, &dst->val, n);
  for (uint32_t i = 0; i < n; i++) {
    vm_value e = vm_value_copy(dst, src, src->val.v[from + i], map);
    dst->val.v[v.at + i] = e;
  }
  return v;
}

bool vm_value_equal(const vm_trace *a, vm_value x, const vm_trace *b,
                    vm_value y) {
  if (x.tag != y.tag) return false;
  switch ((vm_tag)x.tag) {
  case VM_NIL:
  case VM_AUTO: return true;
  case VM_BOOL:
  case VM_INT: return x.i == y.i;
  case VM_REAL: return !memcmp(&x.f, &y.f, sizeof x.f);
  case VM_RV: return x.rv == y.rv;
  case VM_STR:
    return x.n == y.n && !memcmp(a->text.v + x.str, b->text.v + y.str, x.n);
  case VM_LIST:
  case VM_DICT:
  case VM_OP: break;
  }
  uint32_t n = run_length(x);
  bool same = n == run_length(y) && x.op == y.op;
  for (uint32_t i = 0; same && i < n; i++)
    same = vm_value_equal(a, a->val.v[x.at + i], b, b->val.v[y.at + i]);
  return same;
}

uint64_t vm_value_hash(const vm_trace *t, vm_value v) {
  uint64_t bits = 0, h = hash_mix(v.tag, v.op);
  switch ((vm_tag)v.tag) {
  case VM_NIL:
  case VM_AUTO: return h;
  case VM_BOOL:
  case VM_INT: return hash_mix(h, (uint64_t)v.i);
  case VM_REAL: memcpy(&bits, &v.f, sizeof bits); return hash_mix(h, bits);
  case VM_RV: return hash_mix(h, v.rv);
  case VM_STR: return hash_mix(h, hash_bytes(t->text.v + v.str, v.n));
  case VM_LIST:
  case VM_DICT:
  case VM_OP: break;
  }
  uint32_t n = run_length(v);
  h = hash_mix(h, n);
  for (uint32_t i = 0; i < n; i++)
    h = hash_mix(h, vm_value_hash(t, t->val.v[v.at + i]));
  return h;
}

void vm_value_each_rv(const vm_trace *t, vm_value v,
                      void (*f)(void *ud, vm_rv rv), void *ud) {
  if (v.tag == VM_RV) f(ud, v.rv);
  for (uint32_t i = 0; i < run_length(v); i++)
    vm_value_each_rv(t, t->val.v[v.at + i], f, ud);
}
