/* SPDX-License-Identifier: Apache-2.0
 * The only entry to a primitive: resolves operands to the typed argument
 * struct, takes or draws the decision, calls, binds outputs.
 *
 * What can be checked without a program was checked when the instruction was
 * appended (check.c); only what variables refer to is checked here. */
#include "ir/edit.h"
#include "ir/query.h"
#include "vm/exec.h"
#include "vm/text/map.h"

typedef struct frame {
  vm_machine *m;
  const vm_trace *t;
  const sch_prim *prim;
  uint32_t spec; /* the operand being resolved */
} frame;

static bool fail_call(frame *f, vm_why why, vm_rv rv, int64_t n) {
  f->m->fail = (vm_failure){.why = (uint16_t)why,
                            .operand = (uint16_t)f->spec,
                            .inst = f->m->at,
                            .prim = f->prim,
                            .rv = rv,
                            .n = {n}};
  return false;
}

/* ---- operands ----------------------------------------------------------- */

static bool get_stmt(frame *f, vm_value v, ir_stmt *out) {
  const ir_program *p = &f->m->prog;
  ir_stmt s = f->m->cell.v[v.rv].stmt;
  if (s == SCH_INLINE_MARK || s == SCH_ROOT_MARK) {
    if (!(f->prim->flags & SCH_TAKES_MARKS))
      return fail_call(f, VM_W_MARK, v.rv, s);
  } else if (ir_is_dead(p, s)) {
    return fail_call(f, VM_W_DEAD, v.rv, ir_st(p, s)->prev);
  }
  *out = s;
  return true;
}

/* Floor division and modulo, b not 0; true on overflow. */
static bool floor_divide(uint8_t op, int64_t a, int64_t b, int64_t *out) {
  if (b == -1) {
    *out = 0;
    return op == IR_DIV && __builtin_sub_overflow((int64_t)0, a, out);
  }
  bool inexact = a % b != 0 && (a < 0) != (b < 0);
  *out = op == IR_DIV ? a / b - inexact : a % b + (inexact ? b : 0);
  return false;
}

static vm_why calculate(uint8_t op, int64_t a, int64_t b, int64_t *out) {
  bool bad = false;
  if ((op == IR_DIV || op == IR_MOD) && b == 0) return VM_W_ZERO_DIVISION;
  switch (op) {
  case IR_ADD: bad = __builtin_add_overflow(a, b, out); break;
  case IR_SUB: bad = __builtin_sub_overflow(a, b, out); break;
  case IR_MUL: bad = __builtin_mul_overflow(a, b, out); break;
  case IR_MIN: *out = a < b ? a : b; break;
  case IR_MAX: *out = a > b ? a : b; break;
  default: bad = floor_divide(op, a, b, out); break;
  }
  return bad ? VM_W_OVERFLOW : VM_W_NONE;
}

vm_why vm_evaluate(const vm_cell *cell, const vm_trace *t, vm_value v,
                   int64_t *out) {
  int64_t a, b;
  if (v.tag != VM_OP) {
    *out = v.tag == VM_RV ? cell[v.rv].i : v.i;
    return VM_W_NONE;
  }
  vm_why why = vm_evaluate(cell, t, t->val.v[v.at], &a);
  if (why == VM_W_NONE) why = vm_evaluate(cell, t, t->val.v[v.at + 1], &b);
  return why == VM_W_NONE ? calculate(v.op, a, b, out) : why;
}

static bool get_int(frame *f, vm_value v, int64_t *out) {
  vm_why why = vm_evaluate(f->m->cell.v, f->t, v, out);
  return why == VM_W_NONE || fail_call(f, why, 0, 0);
}

static bool get_factor(frame *f, vm_value v, int64_t *out) {
  *out = SCH_AUTO;
  if (v.tag == VM_AUTO) return true;
  return get_int(f, v, out) &&
         (*out != SCH_AUTO || fail_call(f, VM_W_OVERFLOW, 0, 0));
}

static bool get_stmts(frame *f, vm_value v, sch_list *out) {
  uint32_t n = v.tag == VM_LIST ? v.n : 0;
  ir_stmt *s = arena_array(&f->m->scratch, ir_stmt, n);
  for (uint32_t i = 0; i < n; i++)
    if (!get_stmt(f, f->t->val.v[v.at + i], &s[i])) return false;
  *out = (sch_list){n, s};
  return true;
}

static bool get_ints(frame *f, vm_value v, sch_ints *out) {
  uint32_t n = v.tag == VM_LIST ? v.n : 0;
  int64_t *d = arena_array(&f->m->scratch, int64_t, n);
  bool factors = f->prim->specs[f->spec].kind == SCH_KIND_FACTORS;
  for (uint32_t i = 0; i < n; i++) {
    vm_value e = f->t->val.v[v.at + i];
    if (!(factors ? get_factor(f, e, &d[i]) : get_int(f, e, &d[i])))
      return false;
  }
  *out = (sch_ints){n, d};
  return true;
}

static void get_reals(frame *f, vm_value v, sch_reals *out) {
  uint32_t n = v.tag == VM_LIST ? v.n : 0;
  double *d = arena_array(&f->m->scratch, double, n);
  for (uint32_t i = 0; i < n; i++) d[i] = f->t->val.v[v.at + i].f;
  *out = (sch_reals){n, d};
}

static bool get_value(frame *f, vm_value v, ir_val *out);

static bool get_run(frame *f, vm_value v, ir_val *out) {
  uint32_t *e = arena_array(&f->m->scratch, uint32_t, v.n);
  for (uint32_t i = 0; i < v.n; i++)
    if (!get_value(f, f->t->val.v[v.at + i], &e[i])) return false;
  uint32_t tag = v.tag == VM_DICT ? IR_VAL_DICT : IR_VAL_LIST;
  *out = ir_value_add(&f->m->prog, (ir_value){.tag = tag, .n = v.n}, e);
  return true;
}

/* Adds the value to the program's own table. */
static bool get_value(frame *f, vm_value v, ir_val *out) {
  ir_value made = {0};
  switch ((vm_tag)v.tag) {
  case VM_LIST:
  case VM_DICT: return get_run(f, v, out);
  case VM_STR:
    *out = ir_value_str(&f->m->prog, f->t->text.v + v.str);
    return true;
  case VM_BOOL: made = (ir_value){.tag = IR_VAL_BOOL, .i = v.i}; break;
  case VM_REAL: made = (ir_value){.tag = IR_VAL_REAL, .f = v.f}; break;
  default:
    made.tag = IR_VAL_INT;
    if (!get_int(f, v, &made.i)) return false;
  }
  *out = ir_value_add(&f->m->prog, made, NULL);
  return true;
}

/* The text was validated when it was appended. */
static bool get_map(frame *f, vm_value v, sch_map *out) {
  vm_machine *m = f->m;
  int64_t given[VM_MAP_MAX], at;
  uint32_t n = v.tag == VM_LIST ? v.n - 1 : 0;
  const vm_value *e = v.tag == VM_LIST ? f->t->val.v + v.at : &v;
  for (uint32_t i = 0; i < n; i++)
    if (!get_int(f, e[i + 1], &given[i])) return false;
  return vm_read_map(f->t->text.v + e->str, n, given, &m->prog, &m->scratch,
                     out, &at);
}

static bool get_fill(frame *f, vm_value v, sch_fill *out) {
  out->tag = v.tag == VM_REAL                      ? SCH_FILL_REAL
             : v.tag == VM_STR || v.tag == VM_LIST ? SCH_FILL_MAP
                                                   : SCH_FILL_INT;
  if (out->tag == SCH_FILL_MAP) return get_map(f, v, &out->map);
  if (out->tag == SCH_FILL_INT) return get_int(f, v, &out->i);
  out->f = v.f;
  return true;
}

static void get_buffer(frame *f, vm_value v, sch_buffer *out) {
  const vm_value *e = f->t->val.v + v.at;
  const char *text = f->t->text.v;
  if (v.tag == VM_INT) {
    *out = (sch_buffer){.by = SCH_BY_INDEX, .index = v.i};
  } else if (v.tag == VM_STR) {
    *out = (sch_buffer){.by = SCH_BY_NAME, .name = text + v.str};
  } else {
    bool read = text[e[0].str] == 'r';
    *out =
        (sch_buffer){.by = read ? SCH_BY_READ : SCH_BY_WRITE, .index = e[1].i};
  }
}

static void set_default(const sch_spec *sp, void *to) {
  switch ((sch_kind)sp->kind) {
  case SCH_KIND_INT:
  case SCH_KIND_EXPR:
  case SCH_KIND_VAR: *(int64_t *)to = sp->dflt.i; break;
  case SCH_KIND_BOOL: *(bool *)to = sp->dflt.i != 0; break;
  case SCH_KIND_REAL: *(double *)to = sp->dflt.f; break;
  case SCH_KIND_STR: *(const char **)to = sp->dflt.s; break;
  case SCH_KIND_DTYPE:
    if (sp->dflt.s) ir_dtype_parse(sp->dflt.s, to);
    break;
  default: break; /* an empty list is all zero */
  }
}

static bool set_operand(frame *f, vm_value v, void *to) {
  switch ((sch_kind)f->prim->specs[f->spec].kind) {
  case SCH_KIND_BLOCK:
  case SCH_KIND_LOOP:
  case SCH_KIND_NODE: return get_stmt(f, v, to);
  case SCH_KIND_BLOCKS:
  case SCH_KIND_LOOPS:
  case SCH_KIND_NODES: return get_stmts(f, v, to);
  case SCH_KIND_INT: *(int64_t *)to = v.i; return true;
  case SCH_KIND_BOOL: *(bool *)to = v.i != 0; return true;
  case SCH_KIND_REAL: *(double *)to = v.f; return true;
  case SCH_KIND_STR: *(const char **)to = f->t->text.v + v.str; return true;
  case SCH_KIND_BUFFER: get_buffer(f, v, to); return true;
  case SCH_KIND_INDEX_MAP: return get_map(f, v, to);
  case SCH_KIND_FILL: return get_fill(f, v, to);
  case SCH_KIND_INTS:
  case SCH_KIND_FACTORS:
  case SCH_KIND_VARS: return get_ints(f, v, to);
  case SCH_KIND_REALS: get_reals(f, v, to); return true;
  case SCH_KIND_EXPR:
  case SCH_KIND_VAR: return get_int(f, v, to);
  case SCH_KIND_VALUE: return get_value(f, v, to);
  case SCH_KIND_DTYPE: return ir_dtype_parse(f->t->text.v + v.str, to);
  }
  return false;
}

bool vm_resolve(vm_machine *m, const vm_trace *t, const vm_inst *in) {
  frame f = {m, t, in->prim, 0};
  const sch_prim *p = in->prim;
  const vm_value *v = t->val.v + in->operand;
  arena_reset(&m->scratch);
  m->state.p = &m->prog;
  m->state.scratch = &m->scratch;
  m->state.remembers = m->heap;
  m->state.refusal.reason = SCH_R_NONE;
  m->prog.step = m->at;
  memset(m->args, 0, p->args_size);
  for (; f.spec < p->nspecs; f.spec++) {
    const sch_spec *sp = &p->specs[f.spec];
    if (sp->role > SCH_ROLE_ATTR) continue;
    if (v->tag == VM_NIL)
      set_default(sp, m->args + sp->off);
    else if (!set_operand(&f, *v, m->args + sp->off))
      return false;
    v++;
  }
  return true;
}

/* ---- the decision ------------------------------------------------------- */

static void store_decision(vm_machine *m, const sch_prim *p) {
  const sch_spec *sp = vm_decision_spec(p);
  if (!sp) return;
  void *to = m->args + sp->off;
  if (sp->kind == SCH_KIND_INT)
    *(int64_t *)to = m->dec.v[0];
  else
    *(sch_ints *)to = (sch_ints){m->dec.n, m->dec.v};
}

static void set_decision(vm_machine *m, uint32_t n, const int64_t *d) {
  m->dec.n = 0;
  vec_reserve(m->heap, &m->dec, n);
  m->dec.n = n;
  if (n && d) memcpy(m->dec.v, d, n * sizeof *d);
}

/* The first loop or block among the operands; 0: none. */
static ir_stmt subject_of(const vm_machine *m, const sch_prim *p) {
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    const void *at = m->args + sp->off;
    ir_stmt s = 0;
    if (sp->role != SCH_ROLE_IN) continue;
    if (sp->kind == SCH_KIND_BLOCK || sp->kind == SCH_KIND_LOOP ||
        sp->kind == SCH_KIND_NODE)
      s = *(const ir_stmt *)at;
    if (sp->kind == SCH_KIND_BLOCKS || sp->kind == SCH_KIND_LOOPS ||
        sp->kind == SCH_KIND_NODES) {
      const sch_list *l = at;
      s = l->n ? l->v[0] : 0;
    }
    if (s && s < m->prog.stmt.n && !ir_is_dead(&m->prog, s)) return s;
  }
  return 0;
}

/* A refusal without a statement gets the call's subject. */
static bool refuse_call(frame *f, vm_why why, int64_t n) {
  sch_refusal *r = &f->m->state.refusal;
  if (!r->s[0]) r->s[0] = subject_of(f->m, f->prim);
  return fail_call(f, why, 0, n);
}

/* The given decision exactly, or a failure that records it for the text and
 * says what is wrong, or else the size of the space. */
static bool take_exactly(frame *f, const vm_pick *pick, uint32_t n) {
  vm_machine *m = f->m;
  const sch_sampler *s = f->prim->sampler;
  set_decision(m, pick->n, pick->d);
  if (vm_decides_one(f->prim) && pick->n != 1)
    return fail_call(f, VM_W_NOT_ONE, 0, pick->n);
  if (s->admit(&m->state, m->args, pick->n, pick->d) && pick->n == n)
    return true;
  if (m->state.refusal.reason != SCH_R_NONE)
    return refuse_call(f, VM_W_UNFIT, -1);
  uint64_t count = s->count(&m->state, m->args);
  return fail_call(f, VM_W_UNFIT, 0,
                   count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

static void mend(frame *f, const vm_pick *pick, uint32_t n) {
  vm_machine *m = f->m;
  const sch_sampler *s = f->prim->sampler;
  bool fits = s->admit(&m->state, m->args, pick->n, pick->d);
  m->state.refusal.reason = SCH_R_NONE;
  set_decision(m, n, fits ? pick->d : NULL);
  if (!fits) s->repair(&m->state, m->args, pick->n, pick->d, m->dec.v);
}

static void draw_decision(frame *f, const vm_pick *pick, uint32_t n) {
  vm_machine *m = f->m;
  rng r;
  rng_init(&r, pick->seed, m->at);
  set_decision(m, n, NULL);
  f->prim->sampler->draw(&m->state, m->args, &r, m->dec.v);
}

/* An open decision is drawn first, then moved to a neighbour. */
static bool move_on(frame *f, const vm_pick *pick, uint32_t n) {
  vm_machine *m = f->m;
  if (pick->n)
    mend(f, pick, n);
  else
    draw_decision(f, pick, n);
  int64_t *to = arena_array(&m->scratch, int64_t, n);
  if (!f->prim->sampler->neighbour(&m->state, m->args, m->dec.v, pick->random,
                                   to))
    return fail_call(f, VM_W_NO_NEIGHBOUR, 0, 0);
  set_decision(m, n, to);
  return true;
}

static bool take_numbered(frame *f, const vm_pick *pick, uint32_t n) {
  vm_machine *m = f->m;
  const sch_sampler *s = f->prim->sampler;
  *pick->count = s->count(&m->state, m->args);
  if (pick->number >= *pick->count)
    return fail_call(f, VM_W_NO_SUCH_NUMBER, 0, 0);
  set_decision(m, n, NULL);
  s->at(&m->state, m->args, pick->number, m->dec.v);
  return true;
}

bool vm_decide(vm_machine *m, const vm_inst *in, const vm_pick *pick) {
  frame f = {m, NULL, in->prim, 0};
  uint32_t n = 0;
  bool ok = true;
  if (!in->prim->sampler->size(&m->state, m->args, &n))
    return refuse_call(&f, VM_W_REFUSED, 0);
  switch (pick->how) {
  case VM_DRAW: draw_decision(&f, pick, n); break;
  case VM_EXACT: ok = take_exactly(&f, pick, n); break;
  case VM_MEND: mend(&f, pick, n); break;
  case VM_NEIGHBOUR: ok = move_on(&f, pick, n); break;
  case VM_NUMBERED: ok = take_numbered(&f, pick, n); break;
  }
  if (ok) store_decision(m, in->prim);
  return ok;
}

/* ---- the call ----------------------------------------------------------- */

bool vm_verify_program(vm_machine *m, const sch_prim *after) {
  if (!TESS_CHECKED) return true;
  frame f = {m, NULL, after, 0};
  strbuf why;
  str_init(&why, m->heap);
  bool ok = ir_verify(&m->prog, &m->scratch, &why);
  if (!ok && str_get(&why)) {
    char *text = arena_array(&m->scratch, char, why.n + 1);
    m->state.refusal.t = memcpy(text, str_get(&why), why.n + 1);
  }
  str_free(&why);
  return ok || fail_call(&f, VM_W_BROKEN, 0, 0);
}

/* Only a program that ever had more statements than the limit can exceed it. */
static bool nests_well(frame *f) {
  ir_program *p = &f->m->prog;
  if (!ir_expr_depth_ok(p, &f->m->scratch))
    return fail_call(f, VM_W_DEPTH, 0, IR_MAX_EXPR_DEPTH);
  if (p->stmt.n <= IR_MAX_STMT_DEPTH) return true;
  return ir_depth(p, ir_entry(p)->root) <= IR_MAX_STMT_DEPTH ||
         fail_call(f, VM_W_NESTING, 0, IR_MAX_STMT_DEPTH);
}

bool vm_apply(vm_machine *m, const vm_inst *in) {
  frame f = {m, NULL, in->prim, 0};
  m->state.grows = false;
  bool ok = in->prim->apply(&m->state, m->args);
  sch_end_questions(&m->state);
  if (m->state.grows)
    return fail_call(&f, VM_W_GROWTH, 0, SCH_MOST_EXPRESSIONS);
  if (!ok) return refuse_call(&f, VM_W_REFUSED, 0);
  return in->prim->flags & SCH_PURE || nests_well(&f);
}

uint32_t vm_count_outputs(const vm_machine *m, const sch_prim *p) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (sp->role != SCH_ROLE_OUT) continue;
    bool list = sp->kind == SCH_KIND_BLOCKS || sp->kind == SCH_KIND_LOOPS ||
                sp->kind == SCH_KIND_VARS;
    n += list ? *(const uint32_t *)(const void *)(m->args + sp->off) : 1;
  }
  return n;
}

void vm_bind_outputs(vm_machine *m, const sch_prim *p, vm_rv first) {
  vm_cell *to = m->cell.v + first;
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    const void *from = m->args + sp->off;
    if (sp->role != SCH_ROLE_OUT) continue;
    if (sp->kind == SCH_KIND_BLOCKS || sp->kind == SCH_KIND_LOOPS) {
      const sch_list *l = from;
      for (uint32_t k = 0; k < l->n; k++) (to++)->stmt = l->v[k];
    } else if (sp->kind == SCH_KIND_VARS) {
      const sch_ints *l = from;
      for (uint32_t k = 0; k < l->n; k++) (to++)->i = l->v[k];
    } else if (sp->kind == SCH_KIND_VAR) {
      (to++)->i = *(const int64_t *)from;
    } else {
      (to++)->stmt = *(const ir_stmt *)from;
    }
  }
}
