/* SPDX-License-Identifier: Apache-2.0
 * Printing programs as readable loop nests:
 *
 *   matmul(A: float32[128, 64], B: float32[64, 32], C: out float32[128, 32])
 *     for i in range(128)
 *       for j in vectorized(32)
 *         for k in range(64)
 *           block C(vi: 128 = i, vj: 32 = j, vk: reduce 64 = k)
 *             init
 *               C[vi, vj] = 0.0
 *             C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj] */
#include "ir/print/print.h"
#include "ir/edit.h"
#include "ir/query.h"
#include "ir/scalar.h"

enum { WIDTH = 80 };

/* ---- lines -------------------------------------------------------------- */

static void note_line(printer *pr) {
  if (pr->o && pr->o->lines) vec_push(pr->out->heap, pr->o->lines, pr->of);
}

/* Begins the line of statement s (0: a further one of the last). */
static void line_begin(printer *pr, ir_stmt s) {
  if (s) pr->of = s;
  note_line(pr);
  if (pr->o && pr->o->changed)
    str_puts(pr->out, s && pr->o->changed[s] ? "* " : "  ");
  for (int i = 0; i < pr->indent; i++) str_puts(pr->out, "  ");
}

/* Ends the line of s, with a caret if it is the marked statement. */
static void line_end(printer *pr, ir_stmt s) {
  str_putc(pr->out, '\n');
  if (!s || !pr->o || pr->o->mark != s) return;
  line_begin(pr, 0);
  str_printf(pr->out, "^-- %s\n", pr->o->mark_text ? pr->o->mark_text : "here");
}

/* ---- statement heads --------------------------------------------------- */

/* "128", or "range(1, 127)" and "range(i, extent=n)" if it does not begin
 * at 0. */
static void print_domain(printer *pr, ir_expr lo, ir_expr extent, bool word) {
  int64_t a, n;
  if (ir_is_const(pr->p, lo, 0)) {
    str_puts(pr->out, word ? "range(" : "");
    print_expr(pr, extent);
    str_puts(pr->out, word ? ")" : "");
    return;
  }
  str_puts(pr->out, "range(");
  print_expr(pr, lo);
  if (ir_const_int(pr->p, lo, &a) && ir_const_int(pr->p, extent, &n)) {
    str_printf(pr->out, ", %lld)", (long long)((uint64_t)a + (uint64_t)n));
    return;
  }
  str_puts(pr->out, ", extent=");
  print_expr(pr, extent);
  str_putc(pr->out, ')');
}

static const char *loop_word(const ir_stmt_rec *r) {
  static const char *const word[] = {[IR_SERIAL] = "",
                                     [IR_PARALLEL] = "parallel",
                                     [IR_VECTORIZED] = "vectorized",
                                     [IR_UNROLLED] = "unrolled"};
  return r->loop_kind == IR_THREAD ? ir_thread_text((ir_thread)r->thread)
                                   : word[r->loop_kind];
}

static void loop_head(printer *pr, const ir_stmt_rec *r) {
  const char *word = loop_word(r);
  str_printf(pr->out, "for %s in %s", print_var(pr, r->var), word);
  str_puts(pr->out, *word ? "(" : "");
  print_domain(pr, r->lo, r->extent, !*word);
  str_puts(pr->out, *word ? ")" : "");
  print_annos(pr, r->anno);
}

static void print_iter(printer *pr, const ir_iter *it) {
  static const char *const kind[] = {
      [IR_SPATIAL] = "", [IR_REDUCE] = "reduce ", [IR_OPAQUE] = "opaque "};
  str_printf(pr->out, "%s: %s", print_var(pr, it->var), kind[it->kind]);
  print_domain(pr, it->lo, it->extent, false);
  str_puts(pr->out, " = ");
  print_expr(pr, it->bind);
}

/* name(iters), on one line if it fits; `wrap` allows several. */
static void block_head(printer *pr, ir_stmt s, bool wrap) {
  const ir_block_rec *b = ir_blk(pr->p, s);
  size_t start = pr->out->n, room = WIDTH - 2 * (size_t)pr->indent;
  for (bool split = false;; split = true) {
    str_puts(pr->out, "block ");
    print_name(pr->out, ir_text(pr->p, b->name));
    str_putc(pr->out, '(');
    for (uint32_t i = 0; i < b->iters.n; i++) {
      str_puts(pr->out, i ? split ? "," : ", " : "");
      if (split) {
        str_putc(pr->out, '\n');
        line_begin(pr, 0);
        str_puts(pr->out, "    ");
      }
      print_iter(pr, &pr->p->iter.v[b->iters.at + i]);
    }
    str_putc(pr->out, ')');
    print_annos(pr, ir_st(pr->p, s)->anno);
    if (split || !wrap || pr->out->bad || pr->out->n - start <= room) return;
    pr->out->n = start;
    pr->out->v[start] = '\0';
  }
}

static void store_head(printer *pr, const ir_stmt_rec *r) {
  str_printf(pr->out, "%s%s[", r->loop_kind ? "atomic " : "",
             print_buf(pr, r->buf));
  for (uint32_t i = 0; i < r->idx.n; i++) {
    str_puts(pr->out, i ? ", " : "");
    print_expr(pr, pr->p->arg.v[r->idx.at + i]);
  }
  str_puts(pr->out, "] = ");
  print_expr(pr, r->value);
  if (!r->mask) return;
  str_puts(pr->out, " if ");
  print_expr(pr, r->mask);
}

static void let_head(printer *pr, const ir_stmt_rec *r) {
  str_printf(pr->out, "let %s: ", print_var(pr, r->let_var));
  ir_dtype_print(pr->p->var.v[r->let_var].dtype, pr->out);
  str_puts(pr->out, " = ");
  print_expr(pr, r->let_value);
}

static void stmt_head(printer *pr, ir_stmt s, bool wrap) {
  const ir_stmt_rec *r = ir_st(pr->p, s);
  switch ((ir_kind)r->kind) {
  case IR_DEAD: str_puts(pr->out, "removed"); break;
  case IR_LOOP: loop_head(pr, r); break;
  case IR_BLOCK: block_head(pr, s, wrap); break;
  case IR_STORE: store_head(pr, r); break;
  case IR_IF:
    str_puts(pr->out, "if ");
    print_expr(pr, r->cond);
    break;
  case IR_LET: let_head(pr, r); break;
  case IR_EVALUATE: print_untyped_expr(pr, r->eval); break;
  case IR_ALLOCATE:
    str_puts(pr->out, "allocate ");
    print_buf_decl(pr, r->alloc, "");
    break;
  case IR_BARRIER:
    str_printf(pr->out, "barrier %s", ir_scope_text((ir_scope)r->thread));
    break;
  }
}

void print_head(printer *pr, ir_stmt s) { stmt_head(pr, s, false); }

/* ---- bodies ------------------------------------------------------------- */

static void print_statements(printer *pr, ir_stmt first);

static void print_regions(printer *pr, const char *word, ir_span span) {
  line_begin(pr, 0);
  str_printf(pr->out, "%s(", word);
  for (uint32_t i = 0; i < span.n; i++) {
    str_puts(pr->out, i ? ", " : "");
    print_region(pr, pr->p->region.v[span.at + i]);
  }
  str_puts(pr->out, ")");
  line_end(pr, 0);
}

static void print_allocations(printer *pr, const ir_block_rec *b) {
  for (uint32_t i = 0; i < b->allocs.n; i++) {
    ir_buf buf = pr->p->arg.v[b->allocs.at + i];
    print_bind_buf(pr, buf);
    line_begin(pr, 0);
    str_puts(pr->out, "alloc ");
    print_buf_decl(pr, buf, "");
    line_end(pr, 0);
  }
}

static void print_matches(printer *pr, const ir_block_rec *b) {
  for (uint32_t i = 0; i < b->matches.n; i++) {
    const ir_match *m = &pr->p->match.v[b->matches.at + i];
    print_bind_buf(pr, m->buf);
    line_begin(pr, 0);
    str_puts(pr->out, "match ");
    print_buf_decl(pr, m->buf, "");
    str_puts(pr->out, " = ");
    print_region(pr, m->source);
    line_end(pr, 0);
  }
}

/* What is stated of a block because it would not be inferred, or is asked
 * for. */
static void print_stated(printer *pr, ir_stmt s) {
  const ir_block_rec *b = ir_blk(pr->p, s);
  uint8_t stated = pr->stated ? pr->stated[ir_st(pr->p, s)->block] : 0;
  bool all = pr->o && pr->o->regions && ir_st(pr->p, s)->parent;
  if (all || stated & PRINT_STATES_REGIONS) {
    print_regions(pr, "reads", b->reads);
    print_regions(pr, "writes", b->writes);
  }
  if (!(stated & PRINT_STATES_REDUCER)) return;
  line_begin(pr, 0);
  str_puts(pr->out, "reducer ");
  print_reducer(pr, b->reducer);
  line_end(pr, 0);
}

/* The lines below a block's head. */
static void block_body(printer *pr, ir_stmt s) {
  const ir_block_rec *b = ir_blk(pr->p, s);
  if (b->pred) {
    line_begin(pr, 0);
    str_puts(pr->out, "where ");
    print_expr(pr, b->pred);
    line_end(pr, 0);
  }
  print_stated(pr, s);
  print_allocations(pr, b);
  print_matches(pr, b);
  if (ir_st(pr->p, s)->alt) {
    line_begin(pr, 0);
    str_puts(pr->out, "init");
    line_end(pr, 0);
    print_statements(pr, ir_st(pr->p, s)->alt);
  }
  pr->indent--;
  print_statements(pr, ir_st(pr->p, s)->body);
  pr->indent++;
}

/* Names for what s binds; they leave the scope after its body. */
static void print_bind_stmt(printer *pr, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(pr->p, s);
  if (r->kind == IR_LOOP)
    print_bind_var(pr, r->var);
  else if (r->kind == IR_LET)
    print_bind_var(pr, r->let_var);
  else if (r->kind == IR_ALLOCATE)
    print_bind_buf(pr, r->alloc);
  else if (r->kind == IR_BLOCK)
    for (uint32_t i = 0; i < ir_blk(pr->p, s)->iters.n; i++)
      print_bind_var(pr, pr->p->iter.v[ir_blk(pr->p, s)->iters.at + i].var);
}

static void print_statement(printer *pr, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(pr->p, s);
  uint32_t seen = pr->seen.n;
  print_bind_stmt(pr, s);
  line_begin(pr, s);
  stmt_head(pr, s, true);
  line_end(pr, s);
  if (r->kind == IR_BLOCK) {
    pr->indent++;
    block_body(pr, s);
    pr->indent--;
  } else {
    print_statements(pr, r->body);
    if (r->alt) {
      pr->of = s;
      line_begin(pr, 0);
      str_puts(pr->out, "else");
      line_end(pr, 0);
      print_statements(pr, r->alt);
    }
  }
  pr->seen.n = seen;
}

void print_stmt(printer *pr, ir_stmt s) { print_statement(pr, s); }

static void print_statements(printer *pr, ir_stmt first) {
  pr->indent++;
  for (ir_stmt s = first; s; s = ir_st(pr->p, s)->next) print_statement(pr, s);
  pr->indent--;
}

/* ---- functions ---------------------------------------------------------- */

/* An input that is written is an inout parameter. */
static const char *role_word(const ir_program *p, ir_buf b) {
  switch ((ir_role)p->buf.v[b].role) {
  case IR_ROLE_OUTPUT: return "out";
  case IR_ROLE_CONSTANT: return "constant";
  case IR_ROLE_LAYOUT_FREE: return "layout_free";
  case IR_ROLE_INPUT: return ir_is_stored(p, b) ? "inout" : "";
  case IR_ROLE_LOCAL: break;
  }
  return "";
}

static void print_parameters(printer *pr, const ir_func *f, bool split) {
  const char *comma = "";
  for (uint32_t i = 0; i < f->sizes.n + f->params.n; i++) {
    str_puts(pr->out, comma);
    if (split) {
      str_putc(pr->out, '\n');
      line_begin(pr, 0);
      str_puts(pr->out, "    ");
    }
    if (i < f->sizes.n) {
      str_printf(pr->out, "%s: size",
                 print_var(pr, pr->p->arg.v[f->sizes.at + i]));
    } else {
      ir_buf b = pr->p->arg.v[f->params.at + i - f->sizes.n];
      print_buf_decl(pr, b, role_word(pr->p, b));
    }
    comma = split ? "," : ", ";
  }
}

static void function_head(printer *pr, const ir_func *f) {
  for (uint32_t i = 0; i < f->sizes.n; i++)
    print_bind_var(pr, pr->p->arg.v[f->sizes.at + i]);
  for (uint32_t i = 0; i < f->params.n; i++)
    print_bind_buf(pr, pr->p->arg.v[f->params.at + i]);
  line_begin(pr, f->root);
  size_t start = pr->out->n;
  const char *entry =
      ir_func_end(pr->p) > 2 && f == ir_entry(pr->p) ? "entry " : "";
  for (bool split = false;; split = true) {
    str_puts(pr->out, entry);
    print_name(pr->out, ir_text(pr->p, f->name));
    str_putc(pr->out, '(');
    print_parameters(pr, f, split);
    str_putc(pr->out, ')');
    print_annos(pr, ir_st(pr->p, f->root)->anno);
    if (split || pr->out->bad || pr->out->n - start <= WIDTH) break;
    pr->out->n = start;
    pr->out->v[start] = '\0';
  }
  line_end(pr, f->root);
}

/* Longer contents are left out. */
enum { MAX_CONTENTS = 64 };

static void print_contents(printer *pr, const ir_const *c) {
  tess_dtype t = pr->p->buf.v[c->buf].dtype;
  size_t size = ir_dtype_bytes(t), n = size ? c->bytes / size : 0;
  if (!size || n > MAX_CONTENTS || !c->data) return;
  str_puts(pr->out, " = [");
  for (size_t i = 0; i < n; i++) {
    const char *at = (const char *)c->data + i * size;
    str_puts(pr->out, i ? ", " : "");
    if (ir_is_float(t))
      print_real(pr->out, ir_get_real(t, at));
    else if (t.code == TESS_DTYPE_BOOL)
      str_puts(pr->out, ir_get_int(t, at) ? "true" : "false");
    else if (t.code == TESS_DTYPE_UINT)
      str_printf(pr->out, "%llu", (unsigned long long)ir_get_int(t, at));
    else
      str_printf(pr->out, "%lld", (long long)ir_get_int(t, at));
  }
  str_putc(pr->out, ']');
}

static void print_constants(printer *pr) {
  for (uint32_t i = 0; i < pr->p->constant.n; i++) {
    print_bind_buf(pr, pr->p->constant.v[i].buf);
    line_begin(pr, 0);
    str_puts(pr->out, "constant ");
    print_buf_decl(pr, pr->p->constant.v[i].buf, "");
    print_contents(pr, &pr->p->constant.v[i]);
    line_end(pr, 0);
  }
}

static void print_program(printer *pr, uint32_t what) {
  const ir_program *p = pr->p;
  (void)what;
  print_find_stated(pr);
  print_constants(pr);
  for (uint32_t i = 1; i < ir_func_end(p); i++) {
    uint32_t seen = pr->seen.n;
    pr->of = 0;
    if (i > 1) {
      note_line(pr);
      str_putc(pr->out, '\n');
    }
    function_head(pr, &p->func.v[i]);
    pr->indent++;
    block_body(pr, p->func.v[i].root);
    pr->indent--;
    pr->seen.n = seen;
  }
}

void ir_print(const ir_program *p, const ir_print_opts *o, strbuf *out) {
  print_run(p, o, out, print_program, 0);
}

void ir_print_stmt_head(const ir_program *p, ir_stmt s, strbuf *out) {
  print_run(p, NULL, out, print_head, s);
}
