/* SPDX-License-Identifier: Apache-2.0
 * Conversion of operands between the public API's values and a trace's. */
#include "vm/api.h"
#include "vm/text/reader.h"

typedef struct reader {
  tess_context *c;
  const sch_prim *prim;
  const char *operand;
  vm_trace *pool;
} reader;

static tess_status fail_operand(const reader *r, tess_status st,
                                const char *what) {
  ctx_fail(r->c, st, "%s: operand '%s': %s", r->prim->name, r->operand, what);
  ctx_blame(r->c, r->prim->name, "");
  return st;
}

static tess_status take_value(reader *r, const tess_value *v, uint32_t depth,
                              vm_value *out);

/* The elements of a list go to slots of the pool reserved for them. */
static tess_status take_run(reader *r, const tess_value *v, uint32_t depth,
                            uint32_t *at) {
  if (depth > VM_MAX_DEPTH)
    return fail_operand(r, TESS_LIMIT, "it is nested too deep");
  if (v->n && !v->list)
    return fail_operand(r, TESS_INVALID, "a list without elements");
  *at = vec_extend(r->pool->heap, &r->pool->val, v->n);
  memset(r->pool->val.v + *at, 0, v->n * sizeof *r->pool->val.v);
  for (uint32_t i = 0; i < v->n; i++) {
    vm_value e;
    tess_status st = take_value(r, &v->list[i], depth + 1, &e);
    if (st != TESS_OK) return st;
    r->pool->val.v[*at + i] = e;
  }
  return TESS_OK;
}

static tess_status take_list(reader *r, const tess_value *v, uint32_t depth,
                             vm_value *out) {
  uint32_t at;
  tess_status st = take_run(r, v, depth, &at);
  if (st != TESS_OK) return st;
  *out = vm_list_of(r->pool, at, v->n);
  return TESS_OK;
}

static tess_status take_dict(reader *r, const tess_value *v, uint32_t depth,
                             vm_value *out) {
  uint32_t at;
  if (v->n % 2) return fail_operand(r, TESS_INVALID, "a key without a value");
  tess_status st = take_run(r, v, depth, &at);
  if (st != TESS_OK) return st;
  for (uint32_t i = 0; i < v->n; i += 2)
    if (r->pool->val.v[at + i].tag != VM_STR)
      return fail_operand(r, TESS_TYPE, "a key must be a string");
  *out = vm_dict_of(r->pool, at, v->n / 2);
  return TESS_OK;
}

static tess_status take_op(reader *r, const tess_value *v, uint32_t depth,
                           vm_value *out) {
  ir_op op = v->s ? vm_parse_op(v->s) : IR_NONE;
  uint32_t at;
  if (!op || v->n != 2)
    return fail_operand(r, TESS_INVALID,
                        "arithmetic is + - * // % min or max of two "
                        "values");
  tess_status st = take_run(r, v, depth, &at);
  if (st != TESS_OK) return st;
  *out = vm_op_of(r->pool, at, op);
  return TESS_OK;
}

static vm_value packed_element(const tess_value *v, uint32_t i) {
  const void *at = v->s;
  switch (v->kind) {
  case TESS_V_INTS: return vm_int(((const int64_t *)at)[i]);
  case TESS_V_REALS: return vm_real(((const double *)at)[i]);
  default: return vm_var(((const tess_rv *)at)[i]);
  }
}

/* A list whose elements are all of one kind, and stand as such. */
static tess_status take_packed(reader *r, const tess_value *v, vm_value *out) {
  if (v->n && !v->s)
    return fail_operand(r, TESS_INVALID, "a list without elements");
  uint32_t at = vec_extend(r->pool->heap, &r->pool->val, v->n);
  for (uint32_t i = 0; i < v->n; i++)
    r->pool->val.v[at + i] = packed_element(v, i);
  *out = vm_list_of(r->pool, at, v->n);
  return TESS_OK;
}

static tess_status take_value(reader *r, const tess_value *v, uint32_t depth,
                              vm_value *out) {
  *out = vm_nil();
  switch ((tess_value_kind)v->kind) {
  case TESS_V_NIL: return TESS_OK;
  case TESS_V_BOOL: *out = vm_bool(v->i != 0); return TESS_OK;
  case TESS_V_INT: *out = vm_int(v->i); return TESS_OK;
  case TESS_V_REAL: *out = vm_real(v->f); return TESS_OK;
  case TESS_V_STR:
    if (!v->s) return fail_operand(r, TESS_INVALID, "a string that is NULL");
    *out = vm_str(r->pool, v->s, strlen(v->s));
    return TESS_OK;
  case TESS_V_RV: *out = vm_var(v->rv); return TESS_OK;
  case TESS_V_AUTO: *out = vm_auto(); return TESS_OK;
  case TESS_V_LIST: return take_list(r, v, depth, out);
  case TESS_V_DICT: return take_dict(r, v, depth, out);
  case TESS_V_OP: return take_op(r, v, depth, out);
  case TESS_V_INTS:
  case TESS_V_REALS:
  case TESS_V_RVS: return take_packed(r, v, out);
  }
  return fail_operand(r, TESS_INVALID, "a value of no known kind");
}

/* The spec of an operand by its name; nspecs: there is none. */
static uint32_t find_operand(const sch_prim *p, const char *name) {
  uint32_t i = 0;
  while (i < p->nspecs &&
         (p->specs[i].role == SCH_ROLE_OUT || strcmp(p->specs[i].name, name)))
    i++;
  return i;
}

static tess_status no_operand(tess_context *c, const sch_prim *p,
                              const char *name) {
  char known[512];
  vm_operand_names(p, known, sizeof known);
  ctx_fail(c, TESS_NOT_FOUND, "%s has no operand '%.100s'; it takes %s",
           p->name, name, known);
  ctx_blame(c, p->name, "");
  return TESS_NOT_FOUND;
}

tess_status api_operands(tess_context *c, const sch_prim *prim, uint32_t nargs,
                         const tess_arg *args, vm_trace *pool,
                         vm_value *operand) {
  bool given[VM_MAX_SPECS] = {false};
  vm_trace_reset(pool);
  for (uint32_t i = 0; i < prim->nspecs; i++) operand[i] = vm_nil();
  for (uint32_t i = 0; i < nargs; i++) {
    const char *name = args[i].name ? args[i].name : "";
    uint32_t spec = find_operand(prim, name);
    reader r = {c, prim, name, pool};
    if (spec == prim->nspecs) return no_operand(c, prim, name);
    if (given[spec]) return fail_operand(&r, TESS_INVALID, "it is given twice");
    given[spec] = true;
    tess_status st = take_value(&r, &args[i].value, 0, &operand[spec]);
    if (st != TESS_OK) return st;
  }
  return TESS_OK;
}

/* ---- to the public API -------------------------------------------------- */

/* Where the variables in a value have values (NULL: they stay), and what makes
 * lists. */
typedef struct giver {
  const vm_trace *t;
  const vm_cell *cell;
  arena *to;
} giver;

static tess_value give_value(const giver *g, vm_value v);

static tess_value give_run(const giver *g, tess_value_kind kind, uint32_t at,
                           uint32_t n) {
  tess_value *list = arena_array(g->to, tess_value, n);
  for (uint32_t i = 0; i < n; i++) list[i] = give_value(g, g->t->val.v[at + i]);
  return (tess_value){.kind = kind, .n = n, .list = list};
}

/* Arithmetic without a result, as a division by zero, is nil. */
static tess_value give_number(const giver *g, vm_value v) {
  int64_t i;
  if (vm_evaluate(g->cell, g->t, v, &i) != VM_W_NONE)
    return (tess_value){.kind = TESS_V_NIL};
  return (tess_value){.kind = TESS_V_INT, .i = i};
}

static tess_value give_value(const giver *g, vm_value v) {
  const vm_trace *t = g->t;
  if (g->cell && (v.tag == VM_RV || v.tag == VM_OP)) return give_number(g, v);
  switch ((vm_tag)v.tag) {
  case VM_NIL: break;
  case VM_BOOL: return (tess_value){.kind = TESS_V_BOOL, .i = v.i};
  case VM_INT: return (tess_value){.kind = TESS_V_INT, .i = v.i};
  case VM_REAL: return (tess_value){.kind = TESS_V_REAL, .f = v.f};
  case VM_STR: return (tess_value){.kind = TESS_V_STR, .s = t->text.v + v.str};
  case VM_RV: return (tess_value){.kind = TESS_V_RV, .rv = v.rv};
  case VM_AUTO: return (tess_value){.kind = TESS_V_AUTO};
  case VM_LIST: return give_run(g, TESS_V_LIST, v.at, v.n);
  case VM_DICT: return give_run(g, TESS_V_DICT, v.at, v.n);
  case VM_OP: {
    tess_value op = give_run(g, TESS_V_OP, v.at, 2);
    op.s = vm_op_text((ir_op)v.op);
    return op;
  }
  }
  return (tess_value){.kind = TESS_V_NIL};
}

tess_value api_value(const vm_trace *t, vm_value v, arena *a) {
  return give_value(&(giver){t, NULL, a}, v);
}

tess_value api_decided(const vm_trace *t, vm_value v, const vm_cell *cell,
                       arena *a) {
  return give_value(&(giver){t, cell, a}, v);
}
