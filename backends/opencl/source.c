/* SPDX-License-Identifier: Apache-2.0
 * The source of a program's kernels: helper functions, then a kernel for each
 * nest of thread loops. */
#include "backends/opencl/emit.h"
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* With the name of the kernel, or of the program before the first. */
void ocl_refuse(ocl *m, tess_status code, const char *fmt, ...) {
  char what[400];
  va_list ap;
  if (m->refused) return;
  m->refused = true;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  err_set(m->err, code, "%s: %s",
          m->kernel ? m->name : ir_text(m->p, ir_entry(m->p)->name), what);
}

void opencl_kernel_name(const char *program, uint32_t i, uint32_t n,
                        char out[BACKEND_SYMBOL + 24]) {
  char symbol[BACKEND_SYMBOL];
  backend_symbol(program, symbol);
  if (n > 1)
    snprintf(out, BACKEND_SYMBOL + 24, "%s_kernel_%u", symbol, i);
  else
    snprintf(out, BACKEND_SYMBOL + 24, "%s_kernel", symbol);
}

/* ---- heads ---------------------------------------------------------- */

/* Buffers do not alias. */
static void print_buffer(ocl *m, const device_kernel *k, uint32_t i) {
  const ir_buf_rec *b = &m->p->buf.v[k->buf[i]];
  if (ir_is_float(b->dtype) && b->dtype.bits == 64) m->has_double = true;
  str_printf(&m->body, "__global %s%s *restrict %s",
             k->written[i] ? "" : "const ", ocl_memory_type(b->dtype),
             ocl_buf(m, k->buf[i]));
}

static void print_head(ocl *m, const device_kernel *k, const char *name) {
  str_printf(&m->body,
             "\n__kernel "
             "__attribute__((reqd_work_group_size(%lld, %lld, %lld)))\n"
             "void %s(",
             (long long)k->block[0], (long long)k->block[1],
             (long long)k->block[2], name);
  for (uint32_t i = 0; i < k->nbuf; i++) {
    if (i) str_puts(&m->body, ",\n    ");
    print_buffer(m, k, i);
  }
  for (uint32_t i = 0; i < k->nvar; i++)
    str_printf(&m->body, "%sconst long %s", k->nbuf + i ? ",\n    " : "",
               ocl_var(m, k->var[i]));
  str_puts(&m->body, ") {\n");
}

/* ---- limits --------------------------------------------------------- */

static void check_threads(ocl *m, const device_kernel *k) {
  int64_t n = k->block[0] * k->block[1] * k->block[2];
  if (n > m->target->max_threads)
    ocl_refuse(m, TESS_UNSUPPORTED,
               "it has blocks of %lld threads, the target at most %lld",
               (long long)n, (long long)m->target->max_threads);
}

static void check_shared(ocl *m, const device_split *d) {
  if ((int64_t)d->shared > m->target->shared_bytes)
    ocl_refuse(m, TESS_UNSUPPORTED,
               "a kernel needs %llu bytes of shared memory, the target has "
               "%lld",
               (unsigned long long)d->shared,
               (long long)m->target->shared_bytes);
}

static void print_kernels(ocl *m, const device_split *d) {
  const char *program = ir_text(m->p, ir_entry(m->p)->name);
  check_shared(m, d);
  for (uint32_t i = 0; i < d->kernel.n && !m->refused; i++) {
    const device_kernel *k = &d->kernel.v[i];
    arena_mark mark = arena_get_mark(m->scratch);
    m->kernel = k;
    opencl_kernel_name(program, i, d->kernel.n, m->name);
    check_threads(m, k);
    ocl_forget_names(m);
    print_head(m, k, m->name);
    m->indent = 1;
    ocl_kernel_body(m, k);
    ocl_forget(m);
    str_puts(&m->body, "}\n");
    arena_reset_to(m->scratch, mark);
  }
}

/* ---- the whole ------------------------------------------------------ */

static void take_memory(ocl *m) {
  const ir_program *p = m->p;
  m->var = arena_zalloc(m->scratch, p->var.n * sizeof *m->var);
  m->buf = arena_zalloc(m->scratch, p->buf.n * sizeof *m->buf);
  m->vectors = arena_zalloc(m->scratch, p->buf.n);
  m->uses = arena_zalloc(m->scratch, p->node.n * sizeof *m->uses);
  m->value = arena_zalloc(m->scratch, p->node.n * sizeof *m->value);
  m->counted = arena_array(m->scratch, ir_expr, p->node.n);
  m->trail = arena_array(m->scratch, ir_expr, p->node.n);
  m->width = 1;
  ir_unconditional_find(&m->must, p, m->scratch);
}

static void put_together(ocl *m, strbuf *out) {
  char symbol[BACKEND_SYMBOL];
  backend_symbol(ir_text(m->p, ir_entry(m->p)->name), symbol);
  str_printf(out, "/* %s: OpenCL C 1.2 */\n", symbol);
  if (m->has_double)
    str_puts(out, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  if (!strcmp(m->target->contract, "off"))
    str_puts(out, "#pragma OPENCL FP_CONTRACT OFF\n");
  str_write(out, m->helpers.v, m->helpers.n);
  str_write(out, m->body.v, m->body.n);
}

typedef struct printing {
  ocl m;
  const device_split *d;
} printing;

static tess_status print_all(void *ud) {
  printing *w = ud;
  take_memory(&w->m);
  print_kernels(&w->m, w->d);
  return w->m.refused ? w->m.err->code : TESS_OK;
}

tess_status opencl_print(const device_split *d, ir_program *p, arena *scratch,
                         const target *t, strbuf *out, err_state *e) {
  printing w = {.m = {.p = p, .scratch = scratch, .target = t, .err = e},
                .d = d};
  str_init(&w.m.body, p->heap);
  str_init(&w.m.helpers, p->heap);
  map_init(&w.m.names, p->heap);
  map_init(&w.m.has_helper, p->heap);
  tess_status s = mem_protect(p->heap, print_all, &w);
  if (!s && (w.m.body.bad || w.m.helpers.bad)) s = mem_refusal(p->heap);
  if (!s) put_together(&w.m, out);
  str_free(&w.m.body);
  str_free(&w.m.helpers);
  map_free(&w.m.names);
  map_free(&w.m.has_helper);
  return s ? s : str_status(out);
}
