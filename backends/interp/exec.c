/* SPDX-License-Identifier: Apache-2.0
 * The interpreter's dispatch loop. */
#include "backends/interp/machine.h"

#include "backends/interp/residue.h"
#include "ir/scalar.h"

#include <stdio.h>

/* ---- accesses ----------------------------------------------------------- */

/* The flat row-major address of an access; false: a fault. */
static inline bool locate(machine *m, const code_access *a,
                          const interp_word *R, uint64_t *at) {
  const uint32_t *idx = m->k->regs.v + a->at, *ext = idx + a->n;
  uint64_t place = 0;
  for (uint32_t i = 0; i < a->n; i++) {
    int64_t v = R[idx[i]].i, extent = R[ext[i]].i;
    if ((uint64_t)v >= (uint64_t)extent || extent < 0) {
      machine_outside(m, a, i, v, extent);
      return false;
    }
    place = place * (uint64_t)extent + (uint64_t)v;
  }
  *at = place;
  return !a->nregion || machine_regions(m, a, R, place);
}

static inline bool load_plain(machine *m, const code_access *a, uint64_t at,
                              interp_word *out) {
  const machine_buf *b = &m->buf[a->buf];
  if (b->wrote[at] < b->birth) {
    machine_unwritten(m, a, at);
    return false;
  }
  *out = b->val[at];
  return true;
}

static inline void store_plain(machine *m, const code_access *a, uint64_t at,
                               interp_word v) {
  machine_buf *b = &m->buf[a->buf];
  b->wrote[at] = m->clock;
  b->val[at] = v;
}

/* ---- loops -------------------------------------------------------------- */

/* Starts a loop; false: it has no iterations. */
static bool start_loop(const code_loop *l, interp_word *R) {
  int64_t lo = R[l->lo].i, extent = R[l->extent].i;
  R[l->var].i = lo;
  R[l->end].i = (int64_t)((uint64_t)lo + (uint64_t)extent);
  return extent > 0;
}

static bool in_domain(machine *m, const code_domain *d, const interp_word *R) {
  int64_t v = R[d->value].i, lo = R[d->lo].i, extent = R[d->extent].i;
  if (v >= lo && (uint64_t)v - (uint64_t)lo < (uint64_t)extent && extent > 0)
    return true;
  machine_fault(m, (interp_error){.code = TESS_BOUNDS,
                                  .fault = INTERP_DOMAIN,
                                  .stmt = d->stmt,
                                  .element = -1,
                                  .dim = d->dim,
                                  .at = v,
                                  .lo = lo,
                                  .extent = extent});
  return false;
}

/* ---- what is not arithmetic of one instruction -------------------------- */

static void cast_native(const code_insn *i, interp_word *R) {
  tess_dtype to = code_dtype(i->type), from = code_dtype(i->from);
  interp_word a = R[i->a];
  if (ir_is_float(to))
    R[i->d].f = ir_is_float(from) ? ir_round_real(to, a.f)
                                  : ir_cast_int_to_real(to, from, a.i);
  else
    R[i->d].i = ir_is_float(from) ? ir_cast_real_to_int(to, a.f)
                                  : ir_cast_int(to, from, a.i);
}

static void reinterpret(const code_insn *i, interp_word *R) {
  tess_dtype to = code_dtype(i->type), from = code_dtype(i->from);
  uint64_t bits = 0;
  if (ir_is_float(from))
    ir_put_real(from, R[i->a].f, &bits);
  else
    ir_put_int(from, R[i->a].i, &bits);
  if (ir_is_float(to))
    R[i->d].f = ir_get_real(to, &bits);
  else
    R[i->d].i = ir_get_int(to, &bits);
}

static void call_real(const code_insn *i, interp_word *R) {
  double x[3] = {R[i->a].f, R[i->b].f, R[i->c].f};
  R[i->d].f = ir_apply_real((ir_fn)i->what, code_dtype(i->type), x);
}

static void call_int(const code_insn *i, interp_word *R) {
  int64_t x[3] = {R[i->a].i, R[i->b].i, R[i->c].i};
  R[i->d].i = ir_apply_int((ir_fn)i->what, code_dtype(i->type), x);
}

static void call_residue(const machine *m, const code_insn *i, interp_word *R) {
  uint64_t x[3] = {R[i->a].u, R[i->b].u, R[i->c].u};
  R[i->d].u = residue_call(m->o->seed, (ir_fn)i->what, code_dtype(i->type),
                           i->nargs, x);
}

static bool call_extern(machine *m, const code_insn *i, interp_word *R) {
  const code_call *call = &m->k->calls.v[i->a];
  const char *name = ir_text(m->k->p, call->name);
  arena_mark mark = arena_get_mark(m->memory);
  interp_word *x = arena_array(m->memory, interp_word, call->n + 1);
  for (uint32_t k = 0; k < call->n; k++) x[k] = R[m->k->regs.v[call->at + k]];
  bool done = m->o->call &&
              m->o->call(m->o->ud, name, call->type, call->n, x, &R[i->d]);
  arena_reset_to(m->memory, mark);
  if (done) return true;
  interp_error e = {.code = TESS_UNSUPPORTED,
                    .fault = INTERP_UNSUPPORTED,
                    .stmt = call->stmt,
                    .element = -1};
  snprintf(e.what, sizeof e.what, "the host's function '%s' is not known",
           name);
  machine_fault(m, e);
  return false;
}

/* The result of the call from its name and arguments, x. */
static uint64_t call_hash(const machine *m, const code_call *call,
                          const interp_word *R, interp_word *x) {
  for (uint32_t k = 0; k < call->n; k++) x[k] = R[m->k->regs.v[call->at + k]];
  return residue_hash(m->o->seed, call->name_hash, call->n, &x->u);
}

static void call_for_effect(machine *m, const code_insn *i,
                            const interp_word *R) {
  const code_call *call = &m->k->calls.v[i->a];
  arena_mark mark = arena_get_mark(m->memory);
  interp_word *x = arena_array(m->memory, interp_word, call->n + 1), result;
  m->effects += call_hash(m, call, R, x);
  if (m->o->call)
    (void)m->o->call(m->o->ud, ir_text(m->k->p, call->name), call->type,
                     call->n, x, &result);
  arena_reset_to(m->memory, mark);
}

static void call_extern_residue(const machine *m, const code_insn *i,
                                interp_word *R) {
  const code_call *call = &m->k->calls.v[i->a];
  arena_mark mark = arena_get_mark(m->memory);
  interp_word *x = arena_array(m->memory, interp_word, call->n + 1);
  uint64_t h = call_hash(m, call, R, x);
  if (ir_is_float(call->type))
    R[i->d].u = h;
  else
    R[i->d].i = ir_wrap_int(call->type, (int64_t)h);
  arena_reset_to(m->memory, mark);
}

static void reinterpret_residue(const machine *m, const code_insn *i,
                                interp_word *R) {
  tess_dtype to = code_dtype(i->type);
  uint64_t h = residue_hash(m->o->seed, i->type, 1, &R[i->a].u);
  if (ir_is_float(to))
    R[i->d].u = h;
  else
    R[i->d].i = ir_wrap_int(to, (int64_t)h);
}

/* ---- the loop ----------------------------------------------------------- */

#define RA R[i->a]
#define RB R[i->b]
#define RD R[i->d]
#define TRY(cond)                    \
  if (!(cond)) return MACHINE_FAULT; \
  break
#define INT64(op)                                 \
  RD.i = ir_fold_int((op), IR_INDEX, RA.i, RB.i); \
  break

machine_stop machine_exec(machine *m, interp_word *R, uint32_t *start) {
  const code_insn *insns = m->k->insn.v;
  const code_access *accesses = m->k->accesses.v;
  const code_loop *loops = m->k->loops.v;
  uint32_t pc = *start;
  uint64_t at;
  for (;;) {
    const code_insn *i = &insns[pc++];
    const code_loop *l;
    const code_access *a;
    switch ((code_op)i->op) {
    case OP_END: return MACHINE_END;
    case OP_BARRIER: *start = pc; return MACHINE_BARRIER;
    case OP_WARP:
    case OP_WARP_END:
    case OP_WARP_BARRIER:
    case OP_SHUFFLE:
    case OP_VOTE: *start = pc; return MACHINE_WARP;
    case OP_JUMP: pc = i->c; break;
    case OP_JZ: pc = RA.u ? pc : i->c; break;
    case OP_JNE: pc = RA.u != RB.u ? i->c : pc; break;
    case OP_MOVE: RD = RA; break;
    case OP_SELECT: RD = RA.u ? RB : R[i->c]; break;

    case OP_ADD: RD.u = RA.u + RB.u; break;
    case OP_SUB: RD.u = RA.u - RB.u; break;
    case OP_MUL: RD.u = RA.u * RB.u; break;
    case OP_DIV: INT64(IR_DIV);
    case OP_MOD: INT64(IR_MOD);
    case OP_MIN: RD.i = RA.i < RB.i ? RA.i : RB.i; break;
    case OP_MAX: RD.i = RA.i > RB.i ? RA.i : RB.i; break;
    case OP_EQ: RD.i = RA.u == RB.u; break;
    case OP_NE: RD.i = RA.u != RB.u; break;
    case OP_LT: RD.i = RA.i < RB.i; break;
    case OP_LE: RD.i = RA.i <= RB.i; break;
    case OP_AND: RD.i = RA.u && RB.u; break;
    case OP_OR: RD.i = RA.u || RB.u; break;
    case OP_NOT: RD.i = !RA.u; break;

    case OP_INT:
      RD.i = ir_fold_int((ir_op)i->what, code_dtype(i->type), RA.i, RB.i);
      break;
    case OP_REAL:
      RD.f = ir_fold_real((ir_op)i->what, code_dtype(i->type), RA.f, RB.f);
      break;
    case OP_COMPARE: RD.i = ir_compare_real((ir_op)i->what, RA.f, RB.f); break;
    case OP_CAST: cast_native(i, R); break;
    case OP_CALL_INT: call_int(i, R); break;
    case OP_CALL_REAL: call_real(i, R); break;
    case OP_REINTERPRET: reinterpret(i, R); break;
    case OP_EXTERN: TRY(call_extern(m, i, R));

    case OP_R_ADD: RD.u = residue_add(RA.u, RB.u); break;
    case OP_R_SUB: RD.u = residue_sub(RA.u, RB.u); break;
    case OP_R_MUL: RD.u = residue_mul(RA.u, RB.u); break;
    case OP_R_DIV: RD.u = residue_div(RA.u, RB.u); break;
    case OP_R_MOD:
      RD.u = residue_mod(m->o->seed, code_dtype(i->type), RA.u, RB.u);
      break;
    case OP_R_MIN: RD = residue_less(RA.u, RB.u) ? RA : RB; break;
    case OP_R_MAX: RD = residue_less(RA.u, RB.u) ? RB : RA; break;
    case OP_R_LT: RD.i = residue_less(RA.u, RB.u); break;
    case OP_R_LE: RD.i = !residue_less(RB.u, RA.u); break;
    case OP_R_CAST:
      RD.u = residue_cast(m->o->seed, code_dtype(i->type), code_dtype(i->from),
                          RA.u);
      break;
    case OP_R_FROM_INT:
      RD.u = residue_from_int(code_dtype(i->type), code_dtype(i->from), RA.i);
      break;
    case OP_R_TO_INT:
      RD.i = residue_to_int(m->o->seed, code_dtype(i->type), RA.u);
      break;
    case OP_R_CALL: call_residue(m, i, R); break;
    case OP_R_REINTERPRET: reinterpret_residue(m, i, R); break;
    case OP_R_EXTERN: call_extern_residue(m, i, R); break;
    case OP_R_EFFECT: call_for_effect(m, i, R); break;

    case OP_LOAD_INPUT:
      a = &accesses[i->a];
      if (!locate(m, a, R, &at)) return MACHINE_FAULT;
      RD = m->buf[a->buf].val[at];
      machine_take(m, NULL, 0);
      break;
    case OP_LOAD:
      a = &accesses[i->a];
      if (!locate(m, a, R, &at) || !load_plain(m, a, at, &RD))
        return MACHINE_FAULT;
      machine_take(m, a, at);
      break;
    case OP_LOAD_RACING:
      a = &accesses[i->a];
      if (!locate(m, a, R, &at) || !machine_read(m, a, at))
        return MACHINE_FAULT;
      RD = m->buf[a->buf].val[at];
      machine_take(m, a, at);
      break;
    case OP_STORE:
      a = &accesses[i->a];
      if (!locate(m, a, R, &at)) return MACHINE_FAULT;
      store_plain(m, a, at, RB);
      break;
    case OP_STORE_RACING:
      a = &accesses[i->a];
      if (!locate(m, a, R, &at) || !machine_write(m, a, at))
        return MACHINE_FAULT;
      m->buf[a->buf].val[at] = RB;
      if (m->copies && m->copies->open && !machine_send(m, a, at))
        return MACHINE_FAULT;
      break;
    case OP_STORE_ATOMIC:
      a = &accesses[i->a];
      if (!locate(m, a, R, &at) || !machine_update(m, a, at))
        return MACHINE_FAULT;
      m->buf[a->buf].val[at] = RB;
      break;
    case OP_ASYNC:
      TRY(machine_async(m, (ir_fn)i->what, RA.i, m->k->origin.v[pc - 1]));
    case OP_CHECK: TRY(locate(m, &accesses[i->a], R, &at));
    case OP_ALLOC: TRY(machine_alloc(m, i->a, R, m->k->origin.v[pc - 1]));

    case OP_LOOP:
      l = &loops[i->a];
      pc = start_loop(l, R) ? pc : l->exit;
      break;
    case OP_NEXT:
      l = &loops[i->a];
      if (!machine_steps(m, 1, l->stmt)) return MACHINE_FAULT;
      pc = ++R[l->var].i < R[l->end].i ? l->body : pc;
      break;
    case OP_RACE_LOOP:
      l = &loops[i->a];
      if (!start_loop(l, R))
        pc = l->exit;
      else if (!machine_enter(m, l->stmt, R[l->var].i) || !machine_iterate(m))
        return MACHINE_FAULT;
      break;
    case OP_RACE_NEXT:
      l = &loops[i->a];
      if (!machine_steps(m, 1, l->stmt)) return MACHINE_FAULT;
      if (++R[l->var].i >= R[l->end].i) {
        machine_leave(m);
        break;
      }
      pc = l->body;
      TRY(machine_iterate(m));
    case OP_LANES: TRY(machine_enter(m, i->a, 0));
    case OP_LANE: TRY(machine_iterate(m));
    case OP_LANES_END: machine_leave(m); break;
    case OP_DOMAIN: TRY(in_domain(m, &m->k->domains.v[i->a], R));
    case OP_KERNEL: {
      const code_kernel *g = &m->k->kernels.v[i->a];
      if (machine_kernel(m, g, R, pc) == MACHINE_FAULT) return MACHINE_FAULT;
      pc = g->exit;
      break;
    }
    }
  }
}
