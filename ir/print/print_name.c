/* SPDX-License-Identifier: Apache-2.0
 * Printing names, values, annotations and buffer declarations. */
#include "ir/print/print.h"
#include "ir/query.h"
#include "ir/read/lex.h"

static bool is_seen(const printer *pr, const char *name) {
  for (uint32_t i = 0; i < pr->seen.n; i++)
    if (!strcmp(pr->seen.v[i], name)) return true;
  return false;
}

/* ---- quotes ------------------------------------------------------------- */

void print_name(strbuf *out, const char *name) {
  if (read_is_plain_name(name))
    str_puts(out, name);
  else
    str_put_quoted(out, '\'', name, strlen(name));
}

/* The same in the arena. */
static const char *spelled(printer *pr, const char *name) {
  if (read_is_plain_name(name)) return name;
  strbuf out;
  str_init(&out, pr->out->heap);
  print_name(&out, name);
  const char *s = str_get(&out);
  const char *copy = arena_printf(&pr->scratch, "%s", s ? s : "");
  pr->out->bad |= out.bad;
  str_free(&out);
  return copy;
}

/* ---- names -------------------------------------------------------------- */

/* The name itself, or the first of name_1, name_2, ... that is unused. */
static const char *unique(printer *pr, const char *base) {
  char *name = arena_printf(&pr->scratch, "%s", base);
  for (unsigned k = 1; is_seen(pr, name); k++)
    name = arena_printf(&pr->scratch, "%s_%u", base, k);
  vec_push(pr->scratch.heap, &pr->seen, name);
  return spelled(pr, name);
}

void print_bind_var(printer *pr, ir_var v) {
  pr->var[v] = unique(pr, ir_var_text(pr->p, v, &pr->scratch));
}

void print_bind_buf(printer *pr, ir_buf b) {
  const char *name = ir_text(pr->p, pr->p->buf.v[b].name);
  pr->buf[b] = unique(pr, *name ? name : "buffer");
}

const char *print_var(printer *pr, ir_var v) {
  if (!pr->var[v]) print_bind_var(pr, v);
  return pr->var[v];
}

const char *print_buf(printer *pr, ir_buf b) {
  if (!pr->buf[b]) print_bind_buf(pr, b);
  return pr->buf[b];
}

/* ---- values ------------------------------------------------------------- */

static void print_string(strbuf *out, const char *s) {
  str_put_quoted(out, '"', s, strlen(s));
}

void print_value(printer *pr, ir_val v) {
  const ir_value *x = &pr->p->value.v[v];
  strbuf *out = pr->out;
  switch ((ir_val_tag)x->tag) {
  case IR_VAL_NIL: str_puts(out, "nil"); break;
  case IR_VAL_BOOL: str_puts(out, x->i ? "true" : "false"); break;
  case IR_VAL_INT: str_printf(out, "%lld", (long long)x->i); break;
  case IR_VAL_REAL: print_real(out, x->f); break;
  case IR_VAL_STR: print_string(out, ir_text(pr->p, x->s)); break;
  case IR_VAL_LIST:
  case IR_VAL_DICT:
    str_putc(out, x->tag == IR_VAL_LIST ? '[' : '{');
    for (uint32_t i = 0; i < x->n; i++) {
      bool value = x->tag == IR_VAL_DICT && i % 2;
      str_puts(out, !i ? "" : value ? " = " : ", ");
      print_value(pr, pr->p->arg.v[x->at + i]);
    }
    str_putc(out, x->tag == IR_VAL_LIST ? ']' : '}');
    break;
  }
}

void print_annos(printer *pr, uint32_t anno) {
  if (!anno) return;
  str_puts(pr->out, " {");
  for (uint32_t a = anno; a; a = pr->p->anno.v[a].next) {
    if (a != anno) str_puts(pr->out, ", ");
    print_name(pr->out, ir_text(pr->p, pr->p->anno.v[a].key));
    str_puts(pr->out, " = ");
    print_value(pr, pr->p->anno.v[a].val);
  }
  str_putc(pr->out, '}');
}

/* ---- declarations ------------------------------------------------------- */

static void extents(printer *pr, ir_span s) {
  str_putc(pr->out, '[');
  for (uint32_t i = 0; i < s.n; i++) {
    if (i) str_puts(pr->out, ", ");
    print_expr(pr, pr->p->arg.v[s.at + i]);
  }
  str_putc(pr->out, ']');
}

static void print_holds(const ir_buf_rec *r, strbuf *out) {
  if (r->holds & IR_HOLDS_ENDS) {
    str_printf(out, " offsets into %lld", (long long)r->most);
    return;
  }
  if (r->holds & IR_HOLDS_RANGE)
    str_printf(out, " range [%lld, %lld)", (long long)r->least,
               (long long)r->most + 1);
  if (r->holds & IR_HOLDS_SORTED) str_puts(out, " sorted");
  if (r->holds & IR_HOLDS_UNIQUE) str_puts(out, " unique");
}

void print_buf_decl(printer *pr, ir_buf b, const char *role) {
  const ir_buf_rec *r = &pr->p->buf.v[b];
  strbuf *out = pr->out;
  str_printf(out, "%s: %s%s", print_buf(pr, b), role, *role ? " " : "");
  ir_dtype_print(r->dtype, out);
  extents(pr, r->shape);
  print_holds(r, out);
  if (r->scope != IR_SCOPE_GLOBAL)
    str_printf(out, " in %s", ir_scope_text((ir_scope)r->scope));
  if (r->strides.n) {
    str_puts(out, " strides ");
    extents(pr, r->strides);
  }
  if (r->offset) {
    str_puts(out, " offset ");
    print_expr(pr, r->offset);
  }
  if (r->align) str_printf(out, " align %u", (unsigned)r->align);
}

/* ---- setting up --------------------------------------------------------- */

typedef struct run {
  printer pr;
  void (*f)(printer *pr, uint32_t what);
  uint32_t what;
} run;

static tess_status run_protected(void *ud) {
  run *r = ud;
  arena *a = &r->pr.scratch;
  const ir_program *p = r->pr.p;
  r->pr.var = arena_zalloc(a, p->var.n * sizeof *r->pr.var);
  r->pr.buf = arena_zalloc(a, p->buf.n * sizeof *r->pr.buf);
  r->f(&r->pr, r->what);
  return TESS_OK;
}

void print_run(const ir_program *p, const ir_print_opts *o, strbuf *out,
               void (*f)(printer *pr, uint32_t what), uint32_t what) {
  run r = {.pr = {.p = p, .o = o, .out = out}, .f = f, .what = what};
  arena_init(&r.pr.scratch, out->heap);
  if (mem_protect(out->heap, run_protected, &r)) {
    str_clear(out);
    out->bad = true;
  }
  vec_free(out->heap, &r.pr.seen);
  r.pr.b.p.constant.n = 0; /* their contents are the printed program's */
  if (r.pr.b.heap) describe_free(&r.pr.b);
  arena_free(&r.pr.scratch);
}
