/* SPDX-License-Identifier: Apache-2.0
 * Public API of traces: creation, texts, access to instructions. */
#include "vm/api.h"
#include "vm/doc/doc.h"
#include "vm/text/text.h"
#include "vm/text/tvm.h"

#include <inttypes.h>

/* ---- life --------------------------------------------------------------- */

typedef struct filling {
  vm_trace *to;
  const vm_trace *from; /* NULL: empty */
} filling;

static tess_status fill_trace(void *ud) {
  filling *f = ud;
  vm_trace_init(f->to, f->to->heap);
  if (f->from) vm_trace_copy(f->to, f->from);
  return TESS_OK;
}

static tess_trace *trace_filled(tess_context *c, const vm_trace *t,
                                tess_program *program) {
  tess_trace *made = mem_new(&c->heap, tess_trace);
  *made = (tess_trace){.c = c, .refs = 1, .t.heap = &c->heap};
  filling f = {&made->t, t};
  arena_init(&made->view, &c->heap);
  if (program) made->program = program_hold(program);
  tess_status st = mem_protect(&c->heap, fill_trace, &f);
  if (st != TESS_OK) {
    tess_trace_free(made);
    mem_unwind(&c->heap, st);
  }
  return made;
}

tess_trace *trace_new(tess_context *c, const vm_trace *t,
                      tess_program *program) {
  return trace_filled(c, t, program);
}

tess_trace *trace_hold(tess_trace *t) {
  t->refs++;
  return t;
}

void tess_trace_free(tess_trace *t) {
  if (!t || --t->refs) return;
  tess_context *c = t->c;
  tess_program_free(t->program);
  arena_free(&t->view);
  vm_trace_free(&t->t);
  mem_free(&c->heap, t, sizeof *t);
}

tess_status tess_trace_bind(tess_trace *t, tess_program *p) {
  tess_program *was = t->program;
  ctx_clear(t->c);
  t->program = p ? program_hold(p) : NULL;
  tess_program_free(was);
  return TESS_OK;
}

tess_program *tess_trace_program(tess_trace *t) { return t->program; }

int tess_trace_equal(tess_trace *a, tess_trace *b) {
  return vm_trace_equal(&a->t, &b->t);
}

uint64_t tess_trace_hash(tess_trace *t) { return vm_trace_hash(&t->t); }

uint32_t tess_trace_size(tess_trace *t) { return t->t.inst.n; }

/* ---- texts -------------------------------------------------------------- */

typedef struct text {
  uint32_t i; /* the instruction, from 1, of put_inst_line */
  tess_trace *t;
  void (*put)(strbuf *out, void *ud);
  char **out;
  strbuf made; /* intermediate text, for writers that can fail */
} text;

static void put_lua(strbuf *out, void *ud) {
  vm_write_lua(&((text *)ud)->t->t, out);
}

static void put_json(strbuf *out, void *ud) {
  const tess_trace *t = ((text *)ud)->t;
  vm_json_opts o = {.places = true, .has_program = t->program != NULL};
  if (t->program) o.program = tess_program_hash(t->program);
  vm_write_json(&t->t, &o, out);
}

static void put_inst_line(strbuf *out, void *ud) {
  const text *w = ud;
  vm_write_lua_inst(&w->t->t, w->i - 1, out);
}

static tess_status write_trace_text(void *ud) {
  text *w = ud;
  *w->out = api_text(w->t->c, w->put, w);
  return TESS_OK;
}

tess_status tess_trace_lua(tess_trace *t, char **out) {
  text w = {.t = t, .put = put_lua, .out = out};
  *out = NULL;
  return ctx_run(t->c, write_trace_text, &w);
}

tess_status tess_trace_inst_lua(tess_trace *t, uint32_t i, char **out) {
  text w = {.t = t, .put = put_inst_line, .out = out, .i = i};
  *out = NULL;
  if (i < 1 || i > t->t.inst.n)
    return ctx_fail(t->c, TESS_NOT_FOUND,
                    "the trace has %u instructions; there is none at %u",
                    t->t.inst.n, i);
  return ctx_run(t->c, write_trace_text, &w);
}

tess_status tess_trace_json(tess_trace *t, char **out) {
  text w = {.t = t, .put = put_json, .out = out};
  *out = NULL;
  return ctx_run(t->c, write_trace_text, &w);
}

/* TVM's format cannot express every trace, so its writer can fail, as the
 * others cannot. */
static tess_status write_tvm(void *ud) {
  text *w = ud;
  tess_context *c = w->t->c;
  err_state err;
  tess_status st = vm_write_tvm(&w->t->t, &w->made, &err);
  if (!st) *w->out = ctx_text_of(c, &w->made);
  if (st == TESS_UNSUPPORTED) {
    ctx_fail(c, st, "%s", err.message);
    err_place(&c->err, "%s", err.place);
  }
  return st;
}

tess_status tess_trace_tvm_json(tess_trace *t, char **out) {
  text w = {.t = t, .out = out};
  *out = NULL;
  str_init(&w.made, &t->c->heap);
  tess_status s = ctx_run(t->c, write_tvm, &w);
  str_free(&w.made);
  return s;
}

typedef tess_status reader(vm_trace *t, const char *source, size_t n,
                           vm_json_opts *o, err_state *err);

static tess_status read_lua(vm_trace *t, const char *source, size_t n,
                            vm_json_opts *o, err_state *err) {
  (void)o;
  return vm_read_lua(t, source, n, err);
}

static tess_status read_tvm(vm_trace *t, const char *source, size_t n,
                            vm_json_opts *o, err_state *err) {
  (void)o;
  return vm_read_tvm(t, source, n, err);
}

typedef struct reading {
  tess_context *c;
  const char *text;
  reader *read;
  tess_program *program;
  tess_trace **out;
} reading;

/* A trace is not bound to the program it was recorded on: it may be replayed on
 * others, so a difference is reported and is no error. */
static void compare_program(const reading *r, const vm_json_opts *o) {
  if (o->has_program && r->program &&
      o->program != tess_program_hash(r->program))
    ctx_warn(r->c, o->program,
             "the trace was made for another program "
             "(%016" PRIx64 ")",
             o->program);
}

static tess_status read_text(void *ud) {
  reading *r = ud;
  tess_trace *t = trace_filled(r->c, NULL, r->program);
  vm_json_opts o = {.places = false};
  err_state err;
  size_t n = strlen(r->text);
  tess_status st = r->read(&t->t, r->text, n, &o, &err);
  if (st != TESS_OK) {
    tess_trace_free(t);
    ctx_fail(r->c, st, "%s", err.message);
    err_place(&r->c->err, "%s", err.place);
    return st;
  }
  compare_program(r, &o);
  *r->out = t;
  return TESS_OK;
}

tess_status tess_trace_from_lua(tess_context *c, const char *source,
                                tess_program *program, tess_trace **out) {
  reading r = {c, source, read_lua, program, out};
  *out = NULL;
  return ctx_run(c, read_text, &r);
}

tess_status tess_trace_from_json(tess_context *c, const char *source,
                                 tess_program *program, tess_trace **out) {
  reading r = {c, source, vm_read_json, program, out};
  *out = NULL;
  return ctx_run(c, read_text, &r);
}

tess_status tess_trace_from_tvm_json(tess_context *c, const char *source,
                                     tess_program *program, tess_trace **out) {
  reading r = {c, source, read_tvm, program, out};
  *out = NULL;
  return ctx_run(c, read_text, &r);
}

/* ---- one instruction ---------------------------------------------------- */

typedef struct looking {
  tess_trace *t;
  uint32_t i;
  const char *role;
  uint32_t max, *n;
  tess_arg *args;
  tess_inst_info *info;
} looking;

static tess_status no_inst(const looking *k) {
  return ctx_fail(k->t->c, TESS_NOT_FOUND,
                  "the trace has %u instructions; there is none at %u",
                  k->t->t.inst.n, k->i);
}

static uint32_t count_role(const sch_prim *p, sch_role role) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->nspecs; i++) n += p->specs[i].role == role;
  return n;
}

static tess_status look(void *ud) {
  looking *k = ud;
  vm_trace *t = &k->t->t;
  if (k->i < 1 || k->i > t->inst.n) return no_inst(k);
  const vm_inst *in = &t->inst.v[k->i - 1];
  arena_reset(&k->t->view);
  tess_rv *out = arena_array(&k->t->view, tess_rv, in->nout);
  for (uint32_t i = 0; i < in->nout; i++) out[i] = in->out + i;
  const tess_inst_info info = {
      .name = in->prim->name,
      .file = t->text.v + in->file,
      .line = in->line,
      .nout = in->nout,
      .out = out,
      .ninputs = count_role(in->prim, SCH_ROLE_IN),
      .nattrs = count_role(in->prim, SCH_ROLE_ATTR),
      .samples = vm_samples(in),
      .has_decision = vm_samples(in) && !in->open,
      .ndecision = in->decision.n,
      .decision = in->decision.n ? t->dec.v + in->decision.at : NULL};
  return ctx_give(k->t->c, tess_inst_info, &info, k->info);
}

tess_status tess_trace_inst(tess_trace *t, uint32_t i, tess_inst_info *out) {
  looking k = {.t = t, .i = i, .info = out};
  return ctx_run(t->c, look, &k);
}

/* The default of an operand that was left out; NIL where it has none. */
static tess_value default_value(const sch_spec *sp) {
  switch ((sch_kind)sp->kind) {
  case SCH_KIND_INT:
  case SCH_KIND_EXPR:
    if (!strcmp(sp->dflt.text, "nil")) break;
    return (tess_value){.kind = TESS_V_INT, .i = sp->dflt.i};
  case SCH_KIND_BOOL: return (tess_value){.kind = TESS_V_BOOL, .i = sp->dflt.i};
  case SCH_KIND_STR:
  case SCH_KIND_DTYPE:
    if (!sp->dflt.s) break;
    return (tess_value){.kind = TESS_V_STR, .s = sp->dflt.s};
  default: break;
  }
  return (tess_value){.kind = TESS_V_NIL};
}

static tess_status list_operands(void *ud) {
  looking *k = ud;
  const vm_trace *t = &k->t->t;
  bool known = k->role && (!strcmp(k->role, "in") || !strcmp(k->role, "attr"));
  if (!known)
    return ctx_fail(k->t->c, TESS_INVALID,
                    "operands have the role 'in' or 'attr', not '%s'",
                    k->role ? k->role : "");
  if (k->i < 1 || k->i > t->inst.n) return no_inst(k);
  const sch_prim *p = t->inst.v[k->i - 1].prim;
  arena_reset(&k->t->view);
  for (uint32_t s = 0; s < p->nspecs; s++) {
    const sch_spec *sp = &p->specs[s];
    vm_value v = vm_operand(t, k->i - 1, s);
    if (strcmp(vm_doc_role(sp), k->role) || sp->role > SCH_ROLE_ATTR) continue;
    tess_value given =
        v.tag == VM_NIL ? default_value(sp) : api_value(t, v, &k->t->view);
    if (given.kind == TESS_V_NIL) continue;
    if (*k->n < k->max) k->args[*k->n] = (tess_arg){sp->name, given};
    ++*k->n;
  }
  return TESS_OK;
}

tess_status tess_trace_operands(tess_trace *t, uint32_t i, const char *role,
                                uint32_t max, tess_arg *out, uint32_t *n) {
  looking k = {.t = t, .i = i, .role = role, .max = max, .args = out, .n = n};
  *n = 0;
  return ctx_run(t->c, list_operands, &k);
}
