/* SPDX-License-Identifier: Apache-2.0
 * The backend: targets, and compilation in its forms. */
#include "backends/dae/dae.h"
#include "backends/dae/sim.h"
#include "ir/query.h"
#include "lower/lower.h"

typedef struct compiling {
  ir_program *p;
  arena *scratch;
  const target *t;
  backend_form form;
  strbuf *out;
  err_state *e;
  dae_machine m;
  dae_compile c;
} compiling;

/* ---- texts ------------------------------------------------------------- */

/* Why the module that scheduled it left it to the host, where it says so. */
static void print_reasons(const dae_compile *c, const dae_host *h,
                          strbuf *out) {
  const ir_program *p = c->p;
  for (ir_stmt top = h->first;; top = ir_st(p, top)->next) {
    for (ir_stmt s = top; s; s = ir_next(p, s, top)) {
      const ir_anno *a = ir_anno_get(p, s, IR_ON_HOST);
      if (a && p->value.v[a->val].tag == IR_VAL_STR)
        str_printf(out, ": %s", ir_text(p, p->value.v[a->val].s));
    }
    if (top == h->last) return;
  }
}

static void print_call(const dae_compile *c, const dae_item *x, strbuf *out) {
  if (!x->host) return;
  const dae_host *h = &c->host.v[x->host - 1];
  str_printf(out, "host function %u", x->host - 1);
  for (uint32_t i = 0; i < h->nbuf; i++)
    str_printf(out, "%s%s", i ? ", " : " (",
               ir_text(c->p, c->p->buf.v[h->buf[i]].name));
  if (h->nbuf) str_putc(out, ')');
  print_reasons(c, h, out);
  str_putc(out, '\n');
}

static tess_status print_item(compiling *x, const dae_item *item) {
  dae_compile *c = &x->c;
  const dae_stream *s = &item->s;
  arena *a = x->scratch;
  dae_needs *needs;
  dae_times t;
  arena_mark mark = arena_get_mark(a);
  tess_status st = dae_find_needs(c->m, s, c->dram_bytes, a, &needs, x->e);
  if (st || !s->insn.n) return st;
  dae_simulate(c->m, s, needs, a, &t);
  if (x->form == BACKEND_STREAM)
    dae_print_stream(c->m, s, x->out);
  else if (x->form == BACKEND_TOKENS)
    dae_print_tokens(c->m, s, needs, a, x->out);
  else if (x->form == BACKEND_TIMELINE)
    dae_print_timeline(c->m, s, &t, x->out);
  else
    dae_print_events(c->m, s, &t, x->out);
  if (x->form == BACKEND_TOKENS) dae_verify(c->m, s, needs, true, a, x->out);
  arena_reset_to(a, mark);
  return TESS_OK;
}

static tess_status print_items(compiling *x) {
  tess_status s = TESS_OK;
  for (uint32_t i = 0; !s && i < x->c.item.n; i++) {
    s = print_item(x, &x->c.item.v[i]);
    if (x->form != BACKEND_EVENTS) print_call(&x->c, &x->c.item.v[i], x->out);
  }
  return s;
}

/* ---- compiling --------------------------------------------------------- */

/* The times of streams do not depend on data: they are part of the code. */
static tess_status find_times(compiling *x) {
  tess_status s = TESS_OK;
  for (uint32_t i = 0; !s && i < x->c.item.n; i++) {
    dae_item *item = &x->c.item.v[i];
    dae_needs *needs = NULL;
    dae_times t;
    arena_mark mark = arena_get_mark(x->scratch);
    if (!x->m.tokens)
      s = dae_find_needs(&x->m, &item->s, x->c.dram_bytes, x->scratch, &needs,
                         x->e);
    if (!s) dae_simulate(&x->m, &item->s, needs, x->scratch, &t);
    arena_reset_to(x->scratch, mark);
    if (!s) item->cycles = t.cycles;
    if (!s && t.is_stuck)
      s = err_set(x->e, TESS_BUILD_ERROR,
                  "the stream waits forever, from cycle %llu on",
                  (unsigned long long)t.cycles);
  }
  return s;
}

static tess_status compile_all(void *ud) {
  compiling *x = ud;
  tess_status s = dae_machine_parse(&x->m, x->t->machine, x->e);
  if (!s) s = dae_compile_program(&x->c, x->p, x->scratch, &x->m, x->e);
  if (s) return s;
  if (x->form != BACKEND_CODE) return print_items(x);
  s = dae_compile_hosts(&x->c);
  if (!s) s = find_times(x);
  if (!s) dae_write(&x->c, x->t->machine, x->out);
  return s;
}

static tess_status dae_compile_form(ir_program *p, arena *scratch,
                                    const target *t, backend_form form,
                                    strbuf *out, err_state *e) {
  compiling x = {
      .p = p, .scratch = scratch, .t = t, .form = form, .out = out, .e = e};
  arena_mark mark = arena_get_mark(scratch);
  tess_status s = backend_generate(p, "dae", compile_all, &x, out, e);
  dae_compile_free(&x.c);
  arena_reset_to(scratch, mark);
  return s;
}

/* ---- targets ----------------------------------------------------------- */

static tess_status dae_complete_target(target *t, err_state *e) {
  dae_machine m;
  if (!t->machine[0])
    return err_set(e, TESS_INVALID,
                   "target: 'dae' needs the table of a machine, '-machine=..', "
                   "which Lua gives for -model=%s",
                   t->model[0] ? t->model : "vta");
  tess_status s = dae_machine_parse(&m, t->machine, e);
  if (!s) s = dae_check_encoding(&m, e);
  t->vector_bytes = 16;
  return s;
}

static tess_status dae_runs_here(const target *t, err_state *e) {
  (void)t, (void)e;
  return TESS_OK; /* the simulator runs everywhere */
}

static const backend_device dae_device = {.time = dae_time, .why = dae_why};

const backend dae_backend = {
    .name = "dae",
    .forms = 1u << BACKEND_CODE | 1u << BACKEND_STREAM | 1u << BACKEND_TOKENS |
             1u << BACKEND_TIMELINE | 1u << BACKEND_EVENTS,
    .passes = LOWER_AT_flatten_buffer + 1,
    .marks_vthreads = true,
    .complete = dae_complete_target,
    .runs_here = dae_runs_here,
    .compile = dae_compile_form,
    .load = dae_load,
    .device = &dae_device,
    .unload = dae_unload,
};
