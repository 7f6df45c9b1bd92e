/* SPDX-License-Identifier: Apache-2.0
 * Compiles expressions to bytecode, lane by lane, with value numbering: a
 * node's register is reused while it is valid.  Values last until the
 * statements nested in the one that computed them start, since those may store
 * to what was loaded; hoisted values, which are computed where their variables
 * are bound, last for the whole scope. */
#include "backends/interp/comp.h"
#include "ir/edit.h"

#include "backends/interp/residue.h"
#include "base/hash.h"
#include "ir/scalar.h"

enum { MAX_ARGS = 3 };

/* Bound on code duplication: nested choices may duplicate shared operands on
 * both sides. */
enum { MAX_CODE = 1 << 20 };

/* ---- registers and instructions ----------------------------------------- */

uint32_t comp_regs(comp *c, uint32_t n) {
  uint32_t at = vec_extend(c->k->heap, &c->k->init, n);
  memset(c->k->init.v + at, 0, n * sizeof *c->k->init.v);
  (void)vec_extend(c->k->heap, &c->k->valid, n);
  memset(c->k->valid.v + at, 0, n);
  return at;
}

code_insn *comp_op(comp *c, code_op op, uint32_t d, uint32_t a, uint32_t b) {
  code_insn i = {.op = (uint8_t)op, .d = d, .a = a, .b = b};
  vec_push(c->k->heap, &c->k->insn, i);
  vec_push(c->k->heap, &c->k->origin, c->stmt);
  return &c->k->insn.v[c->k->insn.n - 1];
}

uint32_t comp_const(comp *c, int64_t v) {
  uint32_t r = comp_regs(c, 1);
  c->k->init.v[r].i = v;
  c->k->valid.v[r] = 1;
  return r;
}

void comp_undo(comp *c, uint32_t mark) {
  while (c->k->undo.n > mark) c->k->valid.v[vec_pop(&c->k->undo)] = 0;
}

static void now_valid(comp *c, uint32_t r) {
  c->k->valid.v[r] = 1;
  if (!c->keep) vec_push(c->k->heap, &c->k->undo, r);
}

/* ---- single operations -------------------------------------------------- */

static void emit(comp *c, ir_expr e, uint32_t lane, uint32_t d);

static tess_dtype scalar(tess_dtype t) {
  t.lanes = 1;
  return t;
}

/* A lane of an operand; a scalar is broadcast. */
static uint32_t operand(comp *c, ir_expr e, uint32_t lane) {
  return comp_lane(c, e, ir_at(c->p, e)->dtype.lanes > lane ? lane : 0);
}

static const uint8_t int_op[] = {
    [IR_ADD] = OP_ADD, [IR_SUB] = OP_SUB, [IR_MUL] = OP_MUL, [IR_DIV] = OP_DIV,
    [IR_MOD] = OP_MOD, [IR_MIN] = OP_MIN, [IR_MAX] = OP_MAX, [IR_EQ] = OP_EQ,
    [IR_NE] = OP_NE,   [IR_LT] = OP_LT,   [IR_LE] = OP_LE,   [IR_AND] = OP_AND,
    [IR_OR] = OP_OR};
static const uint8_t residue_op[] = {
    [IR_ADD] = OP_R_ADD, [IR_SUB] = OP_R_SUB, [IR_MUL] = OP_R_MUL,
    [IR_DIV] = OP_R_DIV, [IR_MOD] = OP_R_MOD, [IR_MIN] = OP_R_MIN,
    [IR_MAX] = OP_R_MAX, [IR_EQ] = OP_EQ,     [IR_NE] = OP_NE,
    [IR_LT] = OP_R_LT,   [IR_LE] = OP_R_LE};

static bool is_compare(unsigned op) { return op >= IR_EQ && op <= IR_LE; }

static code_op binary_op(const comp *c, tess_dtype t, unsigned op) {
  if (ir_is_float(t) && c->residue) return (code_op)residue_op[op];
  if (ir_is_float(t)) return is_compare(op) ? OP_COMPARE : OP_REAL;
  if (op == IR_AND || op == IR_OR || (t.code == TESS_DTYPE_INT && t.bits == 64))
    return (code_op)int_op[op];
  return OP_INT;
}

static void emit_binary(comp *c, const ir_node *n, uint32_t lane, uint32_t d) {
  tess_dtype t = scalar(ir_at(c->p, n->a)->dtype);
  uint32_t a = operand(c, n->a, lane), b = operand(c, n->b, lane);
  code_insn *i = comp_op(c, binary_op(c, t, n->op), d, a, b);
  i->what = n->op;
  i->type = code_type(t);
}

static code_op cast_op(const comp *c, tess_dtype to, tess_dtype from) {
  if (!c->residue || (!ir_is_float(to) && !ir_is_float(from))) return OP_CAST;
  return !ir_is_float(from) ? OP_R_FROM_INT
         : ir_is_float(to)  ? OP_R_CAST
                            : OP_R_TO_INT;
}

static void emit_cast(comp *c, const ir_node *n, uint32_t lane, uint32_t d) {
  tess_dtype to = scalar(n->dtype), from = scalar(ir_at(c->p, n->a)->dtype);
  uint32_t a = operand(c, n->a, lane);
  code_insn *i = comp_op(c, cast_op(c, to, from), d, a, 0);
  i->type = code_type(to);
  i->from = code_type(from);
}

/* The call for one lane; its number in k->calls. */
static uint32_t add_call(comp *c, ir_expr e, uint32_t lane) {
  const ir_node n = *ir_at(c->p, e);
  uint32_t *arg = arena_array(c->memory, uint32_t, n.n + 1);
  for (uint32_t i = 0; i < n.n; i++)
    arg[i] = operand(c, c->p->arg.v[n.b + i], lane);
  uint32_t at = vec_extend(c->k->heap, &c->k->regs, n.n);
  memcpy(c->k->regs.v + at, arg, n.n * sizeof *arg);
  const char *name = ir_text(c->p, n.c);
  code_call call = {.name = n.c,
                    .type = scalar(n.dtype),
                    .n = n.n,
                    .at = at,
                    .name_hash = hash_bytes(name, strlen(name)),
                    .stmt = c->stmt};
  return vec_push(c->k->heap, &c->k->calls, call);
}

static void emit_extern(comp *c, ir_expr e, uint32_t lane, uint32_t d) {
  uint32_t call = add_call(c, e, lane);
  comp_op(c, c->residue ? OP_R_EXTERN : OP_EXTERN, d, call, 0);
  if (c->residue && c->acts) comp_op(c, OP_R_EFFECT, 0, call, 0);
}

static code_op call_op(const comp *c, ir_fn fn, tess_dtype t, tess_dtype from) {
  if (fn == IR_FN_REINTERPRET)
    return c->residue && (ir_is_float(t) || ir_is_float(from))
               ? OP_R_REINTERPRET
               : OP_REINTERPRET;
  if (!ir_is_float(t)) return OP_CALL_INT;
  return c->residue ? OP_R_CALL : OP_CALL_REAL;
}

/* Where thread loops do not run in lockstep, asynchronous copies are executed
 * synchronously. */
static void emit_copies(comp *c, const ir_node *n, uint32_t d) {
  uint32_t left = n->n ? comp_index(c, c->p->arg.v[n->b]) : 0;
  if (c->kernel) comp_op(c, OP_ASYNC, d, left, 0)->what = (uint8_t)n->a;
}

/* A warp function: each lane is suspended there until the others arrive. */
static void emit_warp(comp *c, const ir_node *n, uint32_t d) {
  const uint32_t *arg = c->p->arg.v + n->b;
  bool vote = n->a >= IR_FN_BALLOT;
  uint32_t r[3] = {comp_index(c, arg[0]), comp_index(c, arg[1]), 0};
  if (!vote) r[2] = comp_index(c, arg[2]);
  if (!c->kernel || c->warp || c->plan.stmt[c->stmt].level != c->kernel_level)
    plan_fail(c->e, TESS_INVALID, c->stmt, 0,
              "%s that is not in a thread's code", ir_fn_text((ir_fn)n->a));
  code_insn *i = comp_op(c, vote ? OP_VOTE : OP_SHUFFLE, d, r[0], r[1]);
  i->c = r[2];
  i->what = (uint8_t)n->a;
}

static void emit_call(comp *c, ir_expr e, uint32_t lane, uint32_t d) {
  const ir_node n = *ir_at(c->p, e);
  if (ir_fn_of_copies(n.a)) {
    emit_copies(c, &n, d);
    return;
  }
  if (ir_fn_of_warp(n.a)) {
    emit_warp(c, &n, d);
    return;
  }
  tess_dtype t = scalar(n.dtype);
  ir_fn fn = (ir_fn)n.a;
  uint32_t r[MAX_ARGS] = {0};
  if (n.n > MAX_ARGS || !n.n ||
      (fn != IR_FN_REINTERPRET && !ir_can_apply(fn, t))) {
    plan_fail(c->e, TESS_INVALID, c->stmt, 0, "a call of %s on this type",
              ir_fn_text(fn));
    return;
  }
  for (uint32_t i = 0; i < n.n; i++)
    r[i] = operand(c, c->p->arg.v[n.b + i], lane);
  tess_dtype from = scalar(ir_at(c->p, c->p->arg.v[n.b])->dtype);
  code_insn *i = comp_op(c, call_op(c, fn, t, from), d, r[0], r[1]);
  i->c = r[2];
  i->what = (uint8_t)fn;
  i->type = code_type(t);
  i->from = code_type(from);
  i->nargs = n.n;
}

/* ---- branches ----------------------------------------------------------- */

/* Evaluates only the chosen side, unless both may be speculated; operands that
 * both sides evaluate unconditionally are computed before the branch. */
static void emit_select(comp *c, ir_expr e, uint32_t lane, uint32_t d) {
  const ir_node *n = ir_at(c->p, e);
  uint32_t cond = operand(c, n->a, lane);
  if (plan_of(&c->plan, n->b)->pure && plan_of(&c->plan, n->c)->pure) {
    uint32_t yes = operand(c, n->b, lane);
    uint32_t no = operand(c, n->c, lane);
    comp_op(c, OP_SELECT, d, cond, yes)->c = no;
    return;
  }
  uint32_t both;
  const ir_expr *early = ir_unconditional_in_both(&c->must, e, &both);
  for (uint32_t i = 0; i < both; i++) operand(c, early[i], lane);
  uint32_t mark = comp_mark(c), jump = comp_here(c), out;
  comp_op(c, OP_JZ, 0, cond, 0);
  comp_op(c, OP_MOVE, d, operand(c, n->b, lane), 0);
  comp_undo(c, mark);
  out = comp_here(c);
  comp_op(c, OP_JUMP, 0, 0, 0);
  c->k->insn.v[jump].c = comp_here(c);
  comp_op(c, OP_MOVE, d, operand(c, n->c, lane), 0);
  comp_undo(c, mark);
  c->k->insn.v[out].c = comp_here(c);
}

static void emit_load_lane(comp *c, ir_expr e, uint32_t lane, uint32_t d) {
  const ir_node n = *ir_at(c->p, e);
  uint32_t *idx = arena_array(c->memory, uint32_t, n.n + 1);
  for (uint32_t i = 0; i < n.n; i++)
    idx[i] = operand(c, c->p->arg.v[n.b + i], lane);
  uint32_t a = comp_access(c, n.a, n.n, idx, false);
  code_guard guard = (code_guard)c->k->bufs.v[c->k->accesses.v[a].buf].guard;
  comp_op(c,
          guard == CODE_INPUT    ? OP_LOAD_INPUT
          : guard == CODE_PLAIN  ? OP_LOAD
          : n.a == c->atomically ? OP_LOAD_INPUT /* its store checks both */
                                 : OP_LOAD_RACING,
          d, a, 0);
}

/* A masked-off lane yields zero. */
static void emit_load(comp *c, ir_expr e, uint32_t lane, uint32_t d) {
  ir_expr mask = ir_at(c->p, e)->c;
  if (!mask) {
    emit_load_lane(c, e, lane, d);
    return;
  }
  uint32_t m = operand(c, mask, lane), zero = comp_const(c, 0);
  uint32_t mark = comp_mark(c);
  comp_op(c, OP_MOVE, d, zero, 0);
  uint32_t jump = comp_here(c);
  comp_op(c, OP_JZ, 0, m, 0);
  emit_load_lane(c, e, lane, d);
  comp_undo(c, mark);
  c->k->insn.v[jump].c = comp_here(c);
}

/* ---- any expression ----------------------------------------------------- */

static void emit_ramp(comp *c, const ir_node *n, uint32_t lane, uint32_t d) {
  tess_dtype t = scalar(n->dtype);
  uint32_t base = comp_lane(c, n->a, 0);
  if (lane == 0) {
    comp_op(c, OP_MOVE, d, base, 0);
    return;
  }
  uint32_t stride = comp_lane(c, n->b, 0);
  uint32_t k = comp_const(c, lane), step = comp_regs(c, 1);
  code_insn *i = comp_op(c, binary_op(c, t, IR_MUL), step, stride, k);
  i->what = IR_MUL;
  i->type = code_type(t);
  i = comp_op(c, binary_op(c, t, IR_ADD), d, base, step);
  i->what = IR_ADD;
  i->type = code_type(t);
}

static void emit(comp *c, ir_expr e, uint32_t lane, uint32_t d) {
  const ir_node n = *ir_at(c->p, e);
  switch ((ir_op)n.op) {
  case IR_NONE:
  case IR_INT:
  case IR_REAL:
  case IR_VAR: return;
  case IR_SELECT: emit_select(c, e, lane, d); return;
  case IR_LOAD: emit_load(c, e, lane, d); return;
  case IR_CALL:
    if (n.a == IR_FN_EXTERN)
      emit_extern(c, e, lane, d);
    else
      emit_call(c, e, lane, d);
    return;
  case IR_CAST: emit_cast(c, &n, lane, d); return;
  case IR_NOT: comp_op(c, OP_NOT, d, operand(c, n.a, lane), 0); return;
  case IR_BROADCAST: comp_op(c, OP_MOVE, d, comp_lane(c, n.a, 0), 0); return;
  case IR_RAMP: emit_ramp(c, &n, lane, d); return;
  default: emit_binary(c, &n, lane, d); return;
  }
}

/* A constant's register. */
static uint32_t constant_register(comp *c, ir_expr e) {
  const ir_node *n = ir_at(c->p, e);
  if (c->reg[e]) return c->reg[e];
  uint32_t r = comp_const(c, n->op == IR_INT ? n->i : 0);
  if (n->op == IR_REAL && c->residue)
    c->k->init.v[r].u = residue_of_real(n->f);
  else if (n->op == IR_REAL)
    c->k->init.v[r].f = n->f;
  c->reg[e] = r;
  return r;
}

static uint32_t variable(comp *c, ir_var v, uint32_t lane) {
  const plan_var *x = &c->plan.var[v];
  return x->alias ? comp_lane(c, x->alias, lane) : c->var_reg[v] + lane;
}

uint32_t comp_lane(comp *c, ir_expr e, uint32_t lane) {
  const ir_node *n = ir_at(c->p, e);
  if (c->e->code) return 0;
  if (n->op == IR_INT || n->op == IR_REAL) return constant_register(c, e);
  if (n->op == IR_VAR) return variable(c, n->a, lane);
  if (!c->reg[e]) c->reg[e] = comp_regs(c, n->dtype.lanes);
  uint32_t r = c->reg[e] + lane;
  if (c->k->valid.v[r]) return r;
  if (c->k->insn.n > MAX_CODE)
    plan_fail(c->e, TESS_LIMIT, c->stmt, 0,
              "more than %d instructions, from nested choices", MAX_CODE);
  emit(c, e, lane, r);
  now_valid(c, r);
  return r;
}

void comp_hoisted(comp *c, ir_stmt s) {
  c->keep = true;
  for (ir_expr e = c->plan.stmt[s].first; e; e = c->plan.node[e].next)
    for (uint32_t l = 0; l < ir_at(c->p, e)->dtype.lanes; l++)
      comp_lane(c, e, l);
  c->keep = false;
}
