/* SPDX-License-Identifier: Apache-2.0
 * The public functions of the interpreter: tess_interpret, tess_equivalent,
 * tess_tensor_intrin, which it checks; and tess_program_shape, of its
 * arguments. */
#include "backends/interp/interp.h"
#include "ir/query.h"
#include "measure/arguments.h"
#include "vm/intrin.h"
#include <string.h>

typedef struct asking {
  tess_context *c;
  tess_program *p, *q;
  const kernel_call *x;
  uint64_t seed;
  interp in;
} asking;

static tess_status report_interp_error(tess_context *c, const ir_program *p,
                                       tess_status s, const interp_error *e) {
  strbuf text;
  if (e->fault == INTERP_LIMIT && !strcmp(e->what, "memory"))
    return err_ran_out(&c->err, &c->heap, s, "interpreting '%s'",
                       ir_text(p, ir_entry(p)->name));
  str_init(&text, &c->heap);
  interp_error_text(p, e, &text);
  const char *what = str_get(&text);
  if (what && *what) err_set(&c->err, s, "%s", what);
  str_free(&text);
  return s;
}

static tess_status run_interpreter(void *ud) {
  asking *a = ud;
  interp_arg args[ARGUMENTS_MAX];
  interp_error e;
  interp_options o = {.domain = INTERP_NATIVE,
                      .nsizes = ir_entry(a->x->p)->sizes.n,
                      .sizes = a->x->sizes,
                      .stop = &a->c->stop};
  for (uint32_t i = 0; i < a->x->n; i++)
    args[i] = (interp_arg){a->x->args[i], a->x->tensor[i]->bytes};
  interp_init(&a->in, &a->c->heap);
  tess_status s = interp_run(&a->in, a->x->p, a->x->n, args, &o, &e);
  return s ? report_interp_error(a->c, a->x->p, s, &e) : TESS_OK;
}

tess_status tess_program_shape(tess_program *p, uint32_t i, uint32_t n,
                               tess_tensor *const *args, int64_t *shape) {
  kernel_call x = {.c = p->c, .p = &p->p, .n = n, .tensor = args};
  return arguments_shape(&x, i, shape);
}

tess_status tess_interpret(tess_program *p, uint32_t n,
                           tess_tensor *const *args) {
  kernel_call x = {.c = p->c, .p = &p->p, .n = n, .tensor = args};
  asking a = {.c = p->c, .p = p, .x = &x};
  tess_status s = arguments_bind(&x);
  ctx_begin_work(p->c);
  if (!s) s = ctx_run(p->c, run_interpreter, &a);
  ctx_end_work(p->c);
  interp_free(&a.in);
  return s;
}

/* A second program that reads uninitialized elements differs from the first,
 * whatever values it finds. */
static tess_status mismatch_error(tess_context *c) {
  return err_set(&c->err, TESS_MISMATCH, "in the second program %s",
                 c->err.message);
}

static tess_status check_equivalent(void *ud) {
  const asking *a = ud;
  interp_error e;
  interp_options o = {.stop = &a->c->stop};
  int which = 0;
  tess_status s =
      interp_equal(&a->c->heap, &a->p->p, &a->q->p, a->seed, &o, &e, &which);
  if (s) report_interp_error(a->c, which ? &a->q->p : &a->p->p, s, &e);
  return s == TESS_UNWRITTEN && which ? mismatch_error(a->c) : s;
}

tess_status tess_equivalent(tess_program *p, tess_program *q, uint64_t seed) {
  asking a = {.c = p->c, .p = p, .q = q, .seed = seed};
  ctx_begin_work(p->c);
  tess_status s = ctx_run(p->c, check_equivalent, &a);
  ctx_end_work(p->c);
  return s;
}

tess_status tess_tensor_intrin(tess_context *c, const char *name,
                               tess_program *desc, tess_program *impl,
                               int override) {
  if (!name || !desc || !impl || desc->c != c || impl->c != c)
    return ctx_fail(c, TESS_INVALID,
                    "tensor intrinsic: a name and two programs of the "
                    "context are needed");
  tess_status s = TESS_OK;
  ctx_begin_work(c);
  for (uint64_t seed = 1; !s && seed <= 2; seed++)
    s = tess_equivalent(desc, impl, seed);
  ctx_end_work(c);
  return s ? s : vm_intrin_add(c, name, &desc->p, &impl->p, override != 0);
}

tess_status tess_tensor_intrin_call(tess_context *c, const char *name,
                                    tess_program *desc, const char *how,
                                    int override) {
  if (!name || !desc || !how || desc->c != c)
    return ctx_fail(c, TESS_INVALID,
                    "tensor intrinsic: a name, a program of the context and "
                    "a call are needed");
  return vm_intrin_add_call(c, name, &desc->p, how, override != 0);
}
