/* SPDX-License-Identifier: Apache-2.0
 * Type checks of operands against their declaration, without a program.  call.c
 * relies on them. */
#include "base/str.h"
#include "ir/verify/verify.h"
#include "vm/exec.h"
#include "vm/text/map.h"

#include <math.h>
#include <string.h>

/* Every value of a trace is a valid value of a program. */
_Static_assert(VM_MAX_DEPTH < IR_MAX_VALUE_DEPTH, "a scalar has depth 1");
_Static_assert(VM_MAX_SIZE <= IR_MAX_VALUE_SIZE, "of a whole value");

typedef struct check {
  const vm_trace *t;    /* holds the variables */
  const vm_trace *pool; /* holds the values */
  const sch_spec *sp;
  vm_failure *why;
} check;

static bool refuse_operand(check *c, vm_why why, vm_value v) {
  c->why->why = (uint16_t)why;
  c->why->tag = v.tag;
  return false;
}

static bool is_arithmetic(uint8_t op) { return op >= IR_ADD && op <= IR_MAX; }

/* A variable of one of the kinds (bits by vm_rv_kind) in `kinds`. */
static bool check_var(check *c, vm_value v, unsigned kinds) {
  if (v.tag != VM_RV) return refuse_operand(c, VM_W_WRONG_KIND, v);
  c->why->rv = v.rv;
  c->why->n[0] = v.rv;
  if (v.rv == 0 || v.rv >= c->t->rv.n)
    return refuse_operand(c, VM_W_NO_VARIABLE, v);
  if (!(kinds >> c->t->rv.v[v.rv] & 1))
    return refuse_operand(c, VM_W_WRONG_VARIABLE, v);
  return true;
}

static bool check_integer(check *c, vm_value v) {
  if (v.tag == VM_INT) return true;
  if (v.tag != VM_OP) return check_var(c, v, 1u << VM_RV_INT);
  if (!is_arithmetic(v.op)) return refuse_operand(c, VM_W_WRONG_KIND, v);
  return check_integer(c, c->pool->val.v[v.at]) &&
         check_integer(c, c->pool->val.v[v.at + 1]);
}

static bool check_real(check *c, vm_value v) {
  const int64_t exact = INT64_C(1) << 53;
  if (v.tag == VM_INT && v.i >= -exact && v.i <= exact) return true;
  if (v.tag != VM_REAL) return refuse_operand(c, VM_W_WRONG_KIND, v);
  return !isnan(v.f) || refuse_operand(c, VM_W_NOT_A_NUMBER, v);
}

static bool is_text(const char *s, size_t n) {
  return str_utf8(s, n) == n && (!n || !memchr(s, 0, n));
}

static bool check_text(check *c, vm_value v) {
  if (v.tag != VM_STR) return refuse_operand(c, VM_W_WRONG_KIND, v);
  return is_text(c->pool->text.v + v.str, v.n) ||
         refuse_operand(c, VM_W_TEXT, v);
}

static bool check_dtype(check *c, vm_value v) {
  tess_dtype t;
  if (!check_text(c, v)) return false;
  return ir_dtype_parse(c->pool->text.v + v.str, &t) ||
         refuse_operand(c, VM_W_NO_DTYPE, v);
}

/* The text, alone or in a list followed by the values of $1, $2, ... */
static bool check_map(check *c, vm_value v) {
  bool list = v.tag == VM_LIST && v.n > 0;
  const vm_value *e = list ? c->pool->val.v + v.at : &v;
  uint32_t n = list ? v.n - 1 : 0;
  if (e->tag != VM_STR || n > VM_MAP_MAX)
    return refuse_operand(c, VM_W_WRONG_KIND, v);
  if (!check_text(c, *e)) return false;
  for (uint32_t i = 1; i <= n; i++)
    if (!check_integer(c, e[i])) return false;
  c->why->n[1] = n;
  return vm_read_map(c->pool->text.v + e->str, n, NULL, NULL, NULL, NULL,
                     &c->why->n[0]) ||
         refuse_operand(c, VM_W_NO_MAP, v);
}

static bool check_fill(check *c, vm_value v) {
  if (v.tag == VM_REAL) return check_real(c, v);
  return v.tag == VM_STR || v.tag == VM_LIST ? check_map(c, v)
                                             : check_integer(c, v);
}

static bool check_buffer(check *c, vm_value v) {
  const vm_value *e = c->pool->val.v + v.at;
  if (v.tag == VM_INT) return true;
  if (v.tag == VM_STR) return check_text(c, v);
  if (v.tag != VM_LIST || v.n != 2 || e[0].tag != VM_STR || e[1].tag != VM_INT)
    return refuse_operand(c, VM_W_WRONG_KIND, v);
  const char *side = c->pool->text.v + e[0].str;
  return !strcmp(side, "read") || !strcmp(side, "write") ||
         refuse_operand(c, VM_W_WRONG_KIND, v);
}

static bool check_value(check *c, vm_value v);

static bool check_entries(check *c, vm_value v) {
  const vm_value *pair = c->pool->val.v + v.at;
  for (uint32_t i = 0; i < v.n; i += 2) {
    if (!check_text(c, pair[i]) || !check_value(c, pair[i + 1])) return false;
    if (i && vm_value_equal(c->pool, pair[i - 2], c->pool, pair[i]))
      return refuse_operand(c, VM_W_REPEATED_KEY, v);
  }
  return true;
}

static bool check_value(check *c, vm_value v) {
  switch ((vm_tag)v.tag) {
  case VM_BOOL:
  case VM_INT: return true;
  case VM_REAL: return check_real(c, v);
  case VM_STR: return check_text(c, v);
  case VM_RV:
  case VM_OP: return check_integer(c, v);
  case VM_LIST:
    for (uint32_t i = 0; i < v.n; i++)
      if (!check_value(c, c->pool->val.v[v.at + i])) return false;
    return true;
  case VM_DICT: return check_entries(c, v);
  case VM_NIL:
  case VM_AUTO: break;
  }
  return refuse_operand(c, VM_W_WRONG_KIND, v);
}

/* An element of a list of that kind, or a scalar operand. */
static bool check_single(check *c, vm_value v) {
  enum { BLOCK = 1 << VM_RV_BLOCK, LOOP = 1 << VM_RV_LOOP };
  switch ((sch_kind)c->sp->kind) {
  case SCH_KIND_BLOCK:
  case SCH_KIND_BLOCKS: return check_var(c, v, BLOCK);
  case SCH_KIND_LOOP:
  case SCH_KIND_LOOPS: return check_var(c, v, LOOP);
  case SCH_KIND_NODE:
  case SCH_KIND_NODES: return check_var(c, v, BLOCK | LOOP);
  case SCH_KIND_INT:
  case SCH_KIND_INTS:
    return v.tag == VM_INT || refuse_operand(c, VM_W_WRONG_KIND, v);
  case SCH_KIND_BOOL:
    return v.tag == VM_BOOL || refuse_operand(c, VM_W_WRONG_KIND, v);
  case SCH_KIND_REAL:
  case SCH_KIND_REALS: return check_real(c, v);
  case SCH_KIND_STR: return check_text(c, v);
  case SCH_KIND_BUFFER: return check_buffer(c, v);
  case SCH_KIND_INDEX_MAP: return check_map(c, v);
  case SCH_KIND_FILL: return check_fill(c, v);
  case SCH_KIND_DTYPE: return check_dtype(c, v);
  case SCH_KIND_FACTORS: return v.tag == VM_AUTO || check_integer(c, v);
  case SCH_KIND_EXPR:
  case SCH_KIND_VAR:
  case SCH_KIND_VARS: return check_integer(c, v);
  case SCH_KIND_VALUE: return check_value(c, v);
  }
  return false;
}

static bool is_list(uint32_t kind) {
  switch (kind) {
  case SCH_KIND_BLOCKS:
  case SCH_KIND_LOOPS:
  case SCH_KIND_NODES:
  case SCH_KIND_INTS:
  case SCH_KIND_REALS:
  case SCH_KIND_FACTORS:
  case SCH_KIND_VARS: return true;
  default: return false;
  }
}

static bool check_list(check *c, vm_value v) {
  if (v.tag != VM_LIST) return refuse_operand(c, VM_W_WRONG_KIND, v);
  for (uint32_t i = 0; i < v.n; i++) {
    if (!check_single(c, c->pool->val.v[v.at + i])) {
      c->why->n[1] = i + 1;
      return false;
    }
  }
  return true;
}

/* The number of values nested in it; stops counting beyond the limit. */
static uint32_t count_values(const vm_trace *pool, vm_value v) {
  uint32_t n = v.tag == VM_LIST || v.tag == VM_DICT ? v.n
               : v.tag == VM_OP                     ? 2
                                                    : 0;
  uint32_t total = 1;
  for (uint32_t i = 0; i < n && total <= VM_MAX_SIZE; i++)
    total += count_values(pool, pool->val.v[v.at + i]);
  return total;
}

bool vm_check_operand(const vm_trace *t, const vm_call *call, uint32_t spec,
                      vm_failure *why) {
  const sch_spec *sp = &call->prim->specs[spec];
  vm_value v = call->operand[spec];
  check c = {t, call->pool, sp, why};
  *why = (vm_failure){.operand = (uint16_t)spec, .prim = call->prim};
  if (sp->role == SCH_ROLE_OUT) return true;
  if (v.tag == VM_NIL)
    return sp->role == SCH_ROLE_DECISION || !sp->dflt.required ||
           refuse_operand(&c, VM_W_MISSING, v);
  why->n[0] = VM_MAX_DEPTH;
  if (v.depth > VM_MAX_DEPTH) return refuse_operand(&c, VM_W_TOO_DEEP, v);
  why->n[0] = VM_MAX_SIZE;
  if (count_values(c.pool, v) > VM_MAX_SIZE)
    return refuse_operand(&c, VM_W_TOO_LARGE, v);
  why->n[0] = 0;
  return is_list(sp->kind) ? check_list(&c, v) : check_single(&c, v);
}

static bool same_text(const vm_trace *pool, vm_value v, const char *s) {
  return v.tag == VM_STR && s && !strcmp(pool->text.v + v.str, s);
}

bool vm_is_default(const vm_trace *pool, const sch_spec *sp, vm_value v) {
  if (sp->dflt.required) return false;
  switch ((sch_kind)sp->kind) {
  case SCH_KIND_INT:
  case SCH_KIND_EXPR:
  case SCH_KIND_VAR: return v.tag == VM_INT && v.i == sp->dflt.i;
  case SCH_KIND_BOOL: return v.tag == VM_BOOL && v.i == (sp->dflt.i != 0);
  case SCH_KIND_REAL:
    return (v.tag == VM_REAL && v.f == sp->dflt.f) ||
           (v.tag == VM_INT && (double)v.i == sp->dflt.f);
  case SCH_KIND_STR:
  case SCH_KIND_DTYPE: return same_text(pool, v, sp->dflt.s);
  case SCH_KIND_BLOCKS:
  case SCH_KIND_LOOPS:
  case SCH_KIND_NODES:
  case SCH_KIND_INTS:
  case SCH_KIND_REALS:
  case SCH_KIND_FACTORS:
  case SCH_KIND_VARS: return v.tag == VM_LIST && v.n == 0;
  case SCH_KIND_BLOCK:
  case SCH_KIND_LOOP:
  case SCH_KIND_NODE:
  case SCH_KIND_BUFFER:
  case SCH_KIND_INDEX_MAP:
  case SCH_KIND_FILL:
  case SCH_KIND_VALUE: break;
  }
  return false;
}
