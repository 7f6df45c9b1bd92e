/* SPDX-License-Identifier: Apache-2.0
 * Types of expressions that were read, and the expressions that they become.
 * A literal has the type of the operand beside it, or else that of the place
 * where the whole stands; what is printed gives it a type, as in int8(1), where
 * neither says one (ir/print/print_expr.c). */
#include "ir/read/read.h"
#include "ir/scalar.h"
#include <string.h>

#define FLOAT32 ((tess_dtype){TESS_DTYPE_FLOAT, 32, 1})

static const char *spell_type(reader *r, tess_dtype t) {
  return describe_type_text(r->b, t);
}

static tess_dtype of_lanes(tess_dtype t, uint16_t lanes) {
  t.lanes = lanes;
  return t;
}

/* ---- the type that a tree has by itself --------------------------------- */

static bool own_type(reader *r, const read_tree *t, tess_dtype *out);

/* That of the first of the operands that has one. */
static bool type_among(reader *r, uint32_t n, read_tree *const *args,
                       tess_dtype *out) {
  for (uint32_t i = 0; i < n; i++)
    if (own_type(r, args[i], out)) return true;
  return false;
}

static bool load_type(reader *r, const read_tree *t, tess_dtype *out) {
  tess_dtype index, type = r->p->buf.v[t->id].dtype;
  uint32_t lanes = type.lanes;
  for (uint32_t i = 0; i < t->n - t->masked; i++)
    if (own_type(r, t->args[i], &index) && index.lanes > 1)
      lanes = (uint32_t)type.lanes * index.lanes;
  *out = of_lanes(type, (uint16_t)lanes);
  return true;
}

static bool compare_type(reader *r, const read_tree *t, tess_dtype *out) {
  tess_dtype of;
  *out = IR_BOOL;
  if (type_among(r, t->n, t->args, &of)) out->lanes = of.lanes;
  return true;
}

static bool binary_type(reader *r, const read_tree *t, tess_dtype *out) {
  if (t->op >= IR_EQ && t->op <= IR_OR) return compare_type(r, t, out);
  return type_among(r, 2, t->args, out);
}

static bool call_type(reader *r, const read_tree *t, tess_dtype *out) {
  if (ir_fn_is_named(t->fn) || t->fn == IR_FN_REINTERPRET)
    *out = t->dtype;
  else if (ir_fn_of_copies(t->fn))
    *out = IR_INDEX;
  else if (t->fn == IR_FN_BALLOT)
    *out = (tess_dtype){TESS_DTYPE_UINT, 32, 1};
  else if (t->fn == IR_FN_ANY || t->fn == IR_FN_ALL)
    *out = IR_BOOL;
  else if (ir_fn_of_warp(t->fn))
    return own_type(r, t->args[1], out);
  else
    return type_among(r, t->n, t->args, out);
  return true;
}

/* false: it is a literal, or of literals alone. */
static bool own_type(reader *r, const read_tree *t, tess_dtype *out) {
  switch (t->kind) {
  case TREE_INT:
  case TREE_REAL: return false;
  case TREE_BOOL: *out = IR_BOOL; return true;
  case TREE_VAR: *out = r->p->var.v[t->id].dtype; return true;
  case TREE_LOAD: return load_type(r, t, out);
  case TREE_BINARY: return binary_type(r, t, out);
  case TREE_NEGATE: return own_type(r, t->args[0], out);
  case TREE_NOT: return compare_type(r, t, out);
  case TREE_SELECT: return type_among(r, 2, t->args + 1, out);
  case TREE_CAST: *out = t->dtype; return true;
  case TREE_CALL: return call_type(r, t, out);
  case TREE_VECTOR:
    if (!type_among(r, t->n, t->args, out)) return false;
    out->lanes = t->dtype.lanes;
    return true;
  }
  return false;
}

/* That, or else what is wanted, or else the literal's default. */
static tess_dtype type_of(reader *r, const read_tree *t,
                          const tess_dtype *want) {
  tess_dtype own;
  if (own_type(r, t, &own)) return own;
  if (want) return *want;
  while (t->kind != TREE_INT && t->kind != TREE_REAL)
    t = t->args[t->kind == TREE_SELECT];
  return t->kind == TREE_INT ? IR_INDEX : FLOAT32;
}

/* ---- building ----------------------------------------------------------- */

static bool build_int(reader *r, const read_tree *t, tess_dtype type,
                      ir_expr *out) {
  int64_t v = t->negative ? (int64_t)(0 - t->i) : (int64_t)t->i;
  bool is_uint64 = type.code == TESS_DTYPE_UINT && type.bits == 64;
  bool fits = t->i <= (uint64_t)INT64_MAX + t->negative;
  if (ir_is_float(type)) {
    *out = ir_real(r->p, type, t->negative ? -(double)t->i : (double)t->i);
    return true;
  }
  if (is_uint64 ? t->negative && t->i : !fits || !ir_holds_int(type, v))
    return read_fail_at(r, &t->at, "%s%llu is no value of %s",
                        t->negative ? "-" : "", (unsigned long long)t->i,
                        spell_type(r, type));
  *out = ir_int(r->p, type, v);
  return true;
}

static bool build_literal(reader *r, const read_tree *t, tess_dtype type,
                          ir_expr *out) {
  if (type.lanes != 1 || !ir_is_number(type))
    return read_fail_at(r, &t->at, "a literal cannot be of type %s",
                        spell_type(r, type));
  if (t->kind == TREE_INT) return build_int(r, t, type, out);
  if (!ir_is_float(type))
    return read_fail_at(r, &t->at, "%g is no value of %s", t->f,
                        spell_type(r, type));
  *out = ir_real(r->p, type, t->f);
  return true;
}

static bool build_args(reader *r, const read_tree *t, uint32_t n,
                       const tess_dtype *want, ir_expr **out) {
  *out = arena_array(r->scratch, ir_expr, n ? n : 1);
  for (uint32_t i = 0; i < n; i++)
    if (!read_type_tree(r, t->args[i], want, &(*out)[i])) return false;
  return true;
}

static bool build_load(reader *r, const read_tree *t, ir_expr *out) {
  uint32_t n = t->n - t->masked;
  ir_expr *idx = arena_array(r->scratch, ir_expr, n ? n : 1), mask;
  tess_dtype type;
  load_type(r, t, &type);
  for (uint32_t i = 0; i < n; i++) {
    tess_dtype index = type_of(r, t->args[i], &IR_INDEX);
    if (index.code != TESS_DTYPE_INT || index.bits != 64)
      return read_fail_at(r, &t->args[i]->at,
                          "an index is of type int64, not %s",
                          spell_type(r, index));
    if (!read_type_tree(r, t->args[i], &IR_INDEX, &idx[i])) return false;
  }
  if (!t->masked) {
    *out = ir_load(r->p, t->id, n, idx);
    return true;
  }
  tess_dtype bits = of_lanes(IR_BOOL, type.lanes);
  if (!read_type_tree(r, t->args[n], &bits, &mask)) return false;
  *out = ir_load_masked(r->p, t->id, type, n, idx, mask);
  return true;
}

/* Which types an operator takes. */
static bool check_operands(reader *r, const read_tree *t, tess_dtype type) {
  bool logic = t->op == IR_AND || t->op == IR_OR;
  bool compares = t->op >= IR_EQ && t->op <= IR_LE;
  bool truth = type.code == TESS_DTYPE_BOOL;
  bool divides = t->op == IR_DIV && ir_is_float(type) == (t->name[1] == '/');
  if (logic == truth && !divides && type.code != TESS_DTYPE_HANDLE) return true;
  if (truth && compares) return true;
  return read_fail_at(r, &t->at, "'%s' does not take operands of type %s",
                      t->name ? t->name : ir_op_text(t->op),
                      spell_type(r, type));
}

static bool build_binary(reader *r, const read_tree *t, const tess_dtype *want,
                         ir_expr *out) {
  ir_expr *e;
  tess_dtype type;
  bool to_bool = t->op >= IR_EQ && t->op <= IR_OR;
  bool logic = t->op == IR_AND || t->op == IR_OR;
  if (!type_among(r, 2, t->args, &type))
    type = logic     ? IR_BOOL
           : to_bool ? type_of(r, t->args[0], NULL)
                     : type_of(r, t, want);
  if (!check_operands(r, t, type) || !build_args(r, t, 2, &type, &e))
    return false;
  *out = ir_binary(r->p, t->op, e[0], e[1]);
  return true;
}

/* -x of what is no literal. */
static bool build_negation(reader *r, const read_tree *t,
                           const tess_dtype *want, ir_expr *out) {
  ir_expr x;
  tess_dtype type = type_of(r, t, want);
  if (!ir_is_number(type) || type.code == TESS_DTYPE_BOOL)
    return read_fail_at(r, &t->at, "'-' does not take an operand of type %s",
                        spell_type(r, type));
  if (!read_type_tree(r, t->args[0], &type, &x)) return false;
  ir_expr minus =
      ir_is_float(type) ? ir_real(r->p, type, -1) : ir_int(r->p, type, -1);
  *out = ir_binary(r->p, IR_MUL, x, minus);
  return true;
}

static bool build_select(reader *r, const read_tree *t, const tess_dtype *want,
                         ir_expr *out) {
  ir_expr cond, e[2];
  tess_dtype type = type_of(r, t, want), of = type_of(r, t->args[0], &IR_BOOL);
  if (of.lanes != 1 && of.lanes != type.lanes)
    return read_fail_at(r, &t->at, "the condition has %u lanes, the values %u",
                        of.lanes, type.lanes);
  of = of_lanes(IR_BOOL, of.lanes);
  if (!read_type_tree(r, t->args[0], &of, &cond) ||
      !read_type_tree(r, t->args[1], &type, &e[0]) ||
      !read_type_tree(r, t->args[2], &type, &e[1]))
    return false;
  *out = ir_select(r->p, cond, e[0], e[1]);
  return true;
}

/* A conversion; of a literal it is that literal in the type. */
static bool build_cast(reader *r, const read_tree *t, ir_expr *out) {
  const read_tree *of = t->args[0];
  ir_expr x;
  if (of->kind == TREE_INT || of->kind == TREE_REAL)
    return build_literal(r, of, t->dtype, out);
  if (!read_type_tree(r, of, NULL, &x)) return false;
  if (ir_at(r->p, x)->dtype.lanes != t->dtype.lanes ||
      t->dtype.code == TESS_DTYPE_HANDLE)
    return read_fail_at(r, &t->at, "%s cannot be cast to %s",
                        spell_type(r, ir_at(r->p, x)->dtype),
                        spell_type(r, t->dtype));
  *out = ir_cast(r->p, t->dtype, x);
  return true;
}

static bool build_vector(reader *r, const read_tree *t, const tess_dtype *want,
                         ir_expr *out) {
  tess_dtype type = of_lanes(type_of(r, t, want), 1);
  ir_expr *e;
  if (t->op == IR_RAMP && (!ir_is_int(type) || type.code == TESS_DTYPE_BOOL))
    return read_fail_at(r, &t->at, "a ramp is of integers, not of %s",
                        spell_type(r, type));
  if (!build_args(r, t, t->n, &type, &e)) return false;
  *out = t->op == IR_RAMP ? ir_ramp(r->p, e[0], e[1], t->dtype.lanes)
                          : ir_broadcast(r->p, e[0], t->dtype.lanes);
  return true;
}

/* ---- calls -------------------------------------------------------------- */

static bool build_named(reader *r, const read_tree *t, ir_expr *out) {
  ir_expr *e;
  if (!build_args(r, t, t->n, NULL, &e)) return false;
  *out = ir_call_named(r->p, t->fn, t->name, t->dtype, t->n, e);
  return true;
}

static bool build_warp(reader *r, const read_tree *t, const tess_dtype *want,
                       ir_expr *out) {
  tess_dtype mask = {TESS_DTYPE_UINT, 32, 1}, lane;
  bool votes = t->fn >= IR_FN_BALLOT;
  tess_dtype type = votes ? IR_BOOL : type_of(r, t->args[1], want);
  ir_expr e[3] = {0};
  if (!read_type_tree(r, t->args[0], &mask, &e[0]) ||
      !read_type_tree(r, t->args[1], &type, &e[1]))
    return false;
  if (!votes) lane = type_of(r, t->args[2], NULL);
  if (!votes && !read_type_tree(r, t->args[2], &lane, &e[2])) return false;
  tess_dtype result = type;
  if (votes) call_type(r, t, &result);
  *out = ir_call(r->p, t->fn, result, t->n, e);
  return true;
}

static bool build_bits(reader *r, const read_tree *t, ir_expr *out) {
  ir_expr *e;
  if (!build_args(r, t, 1, NULL, &e)) return false;
  tess_dtype from = ir_at(r->p, e[0])->dtype;
  if (ir_dtype_bytes(from) != ir_dtype_bytes(t->dtype))
    return read_fail_at(r, &t->at, "%s and %s differ in size",
                        spell_type(r, from), spell_type(r, t->dtype));
  *out = ir_call(r->p, t->fn, t->dtype, 1, e);
  return true;
}

static bool build_call(reader *r, const read_tree *t, const tess_dtype *want,
                       ir_expr *out) {
  ir_expr *e;
  if (ir_fn_is_named(t->fn)) return build_named(r, t, out);
  if (ir_fn_of_warp(t->fn)) return build_warp(r, t, want, out);
  if (t->fn == IR_FN_REINTERPRET) return build_bits(r, t, out);
  tess_dtype type = t->n ? type_of(r, t, want) : IR_INDEX;
  if (!ir_fn_of_copies(t->fn) && !ir_can_apply(t->fn, of_lanes(type, 1)))
    return read_fail_at(r, &t->at, "'%s' does not take operands of type %s",
                        ir_fn_text(t->fn), spell_type(r, type));
  if (!build_args(r, t, t->n, &type, &e)) return false;
  *out = ir_call(r->p, t->fn, type, t->n, e);
  return true;
}

/* ---- the whole ---------------------------------------------------------- */

static bool build(reader *r, const read_tree *t, const tess_dtype *want,
                  ir_expr *out) {
  ir_expr x;
  switch (t->kind) {
  case TREE_INT:
  case TREE_REAL: return build_literal(r, t, type_of(r, t, want), out);
  case TREE_BOOL: *out = ir_bool(r->p, t->i); return true;
  case TREE_VAR: *out = ir_ref(r->p, t->id); return true;
  case TREE_LOAD: return build_load(r, t, out);
  case TREE_BINARY: return build_binary(r, t, want, out);
  case TREE_NEGATE: return build_negation(r, t, want, out);
  case TREE_SELECT: return build_select(r, t, want, out);
  case TREE_CAST: return build_cast(r, t, out);
  case TREE_VECTOR: return build_vector(r, t, want, out);
  case TREE_CALL: return build_call(r, t, want, out);
  case TREE_NOT: {
    tess_dtype type = of_lanes(IR_BOOL, type_of(r, t, &IR_BOOL).lanes);
    if (!read_type_tree(r, t->args[0], &type, &x)) return false;
    *out = ir_not(r->p, x);
    return true;
  }
  }
  return false;
}

bool read_type_tree(reader *r, const read_tree *t, const tess_dtype *want,
                    ir_expr *out) {
  if (!build(r, t, want, out)) return false;
  tess_dtype have = ir_at(r->p, *out)->dtype;
  if (!want || ir_dtype_eq(have, *want) ||
      (ir_dtype_eq(*want, IR_INDEX) && have.lanes > 1 &&
       ir_dtype_eq(of_lanes(have, 1), IR_INDEX)))
    return true;
  return read_fail_at(r, &t->at, "this is of type %s, and %s is wanted",
                      spell_type(r, have), spell_type(r, *want));
}

bool read_expr(reader *r, const tess_dtype *want, ir_expr *out) {
  read_tree *t;
  return read_parse_tree(r, &t) && read_type_tree(r, t, want, out);
}

bool read_index(reader *r, ir_expr *out) {
  return read_expr(r, &IR_INDEX, out);
}

bool read_condition(reader *r, ir_expr *out) {
  return read_expr(r, &IR_BOOL, out);
}
