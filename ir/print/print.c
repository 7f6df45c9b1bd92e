/* SPDX-License-Identifier: Apache-2.0
 * Programs as readable loop nests:
 *
 *   matmul(A: float32[128, 64], B: float32[64, 32], C: out float32[128, 32])
 *     for i in range(128)
 *       for j in vectorized(32)
 *         for k in range(64)
 *           block C(vi: 128 = i, vj: 32 = j, vk: reduce 64 = k)
 *             init
 *               C[vi, vj] = 0.0
 *             C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]
 */
#include "ir/print/print.h"
#include "ir/edit.h"
#include "ir/query.h"

enum { WIDTH = 80 };

/* ---- lines -------------------------------------------------------------- */

/* Starts the line of statement s (0: of none). */
static void begin(printer *pr, ir_stmt s) {
  if (pr->o && pr->o->changed)
    str_puts(pr->out, s && pr->o->changed[s] ? "* " : "  ");
  for (int i = 0; i < pr->indent; i++) str_puts(pr->out, "  ");
}

/* Ends the line of s; points at it when it is the marked one. */
static void end(printer *pr, ir_stmt s) {
  str_putc(pr->out, '\n');
  if (!s || !pr->o || pr->o->mark != s) return;
  begin(pr, 0);
  str_printf(pr->out, "^-- %s\n", pr->o->mark_text ? pr->o->mark_text : "here");
}

/* ---- heads -------------------------------------------------------------- */

/* "128", or "range(1, 127)" and "range(i, extent=n)" when it starts late. */
static void domain(printer *pr, ir_expr lo, ir_expr extent, bool word) {
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
  domain(pr, r->lo, r->extent, !*word);
  str_puts(pr->out, *word ? ")" : "");
  print_annos(pr, r->anno);
}

static void iter(printer *pr, const ir_iter *it) {
  static const char *const kind[] = {
      [IR_SPATIAL] = "", [IR_REDUCE] = "reduce ", [IR_OPAQUE] = "opaque "};
  str_printf(pr->out, "%s: %s", print_var(pr, it->var), kind[it->kind]);
  domain(pr, it->lo, it->extent, false);
  str_puts(pr->out, " = ");
  print_expr(pr, it->bind);
}

/* name(iterations), on one line where it fits; `wrap` allows several. */
static void block_head(printer *pr, ir_stmt s, bool wrap) {
  const ir_block_rec *b = ir_blk(pr->p, s);
  size_t start = pr->out->n, room = WIDTH - 2 * (size_t)pr->indent;
  for (bool split = false;; split = true) {
    str_printf(pr->out, "block %s(", ir_text(pr->p, b->name));
    for (uint32_t i = 0; i < b->iters.n; i++) {
      str_puts(pr->out, i ? split ? "," : ", " : "");
      if (split) {
        str_putc(pr->out, '\n');
        begin(pr, 0);
        str_puts(pr->out, "    ");
      }
      iter(pr, &pr->p->iter.v[b->iters.at + i]);
    }
    str_putc(pr->out, ')');
    print_annos(pr, ir_st(pr->p, s)->anno);
    if (split || !wrap || pr->out->bad || pr->out->n - start <= room) return;
    pr->out->n = start;
    pr->out->v[start] = '\0';
  }
}

static void store_head(printer *pr, const ir_stmt_rec *r) {
  str_printf(pr->out, "%s[", print_buf(pr, r->buf));
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

static void head(printer *pr, ir_stmt s, bool wrap) {
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
  case IR_EVALUATE: print_expr(pr, r->eval); break;
  case IR_ALLOCATE:
    str_puts(pr->out, "allocate ");
    print_buf_decl(pr, r->alloc, "");
    break;
  case IR_BARRIER:
    str_printf(pr->out, "barrier %s", ir_scope_text((ir_scope)r->thread));
    break;
  }
}

void print_head(printer *pr, ir_stmt s) { head(pr, s, false); }

/* ---- bodies ------------------------------------------------------------- */

static void statements(printer *pr, ir_stmt first);

static void regions(printer *pr, const char *word, ir_span span) {
  begin(pr, 0);
  str_printf(pr->out, "%s(", word);
  for (uint32_t i = 0; i < span.n; i++) {
    str_puts(pr->out, i ? ", " : "");
    print_region(pr, pr->p->region.v[span.at + i]);
  }
  str_puts(pr->out, ")");
  end(pr, 0);
}

static void allocations(printer *pr, const ir_block_rec *b) {
  for (uint32_t i = 0; i < b->allocs.n; i++) {
    ir_buf buf = pr->p->arg.v[b->allocs.at + i];
    print_bind_buf(pr, buf);
    begin(pr, 0);
    str_puts(pr->out, "alloc ");
    print_buf_decl(pr, buf, "");
    end(pr, 0);
  }
}

static void matches(printer *pr, const ir_block_rec *b) {
  for (uint32_t i = 0; i < b->matches.n; i++) {
    const ir_match *m = &pr->p->match.v[b->matches.at + i];
    print_bind_buf(pr, m->buf);
    begin(pr, 0);
    str_puts(pr->out, "match ");
    print_buf_decl(pr, m->buf, "");
    str_puts(pr->out, " = ");
    print_region(pr, m->source);
    end(pr, 0);
  }
}

/* What stands under a block's head. */
static void block_body(printer *pr, ir_stmt s) {
  const ir_block_rec *b = ir_blk(pr->p, s);
  if (b->pred) {
    begin(pr, 0);
    str_puts(pr->out, "where ");
    print_expr(pr, b->pred);
    end(pr, 0);
  }
  if (pr->o && pr->o->regions && ir_st(pr->p, s)->parent) {
    regions(pr, "reads", b->reads);
    regions(pr, "writes", b->writes);
  }
  allocations(pr, b);
  matches(pr, b);
  if (ir_st(pr->p, s)->alt) {
    begin(pr, 0);
    str_puts(pr->out, "init");
    end(pr, 0);
    statements(pr, ir_st(pr->p, s)->alt);
  }
  pr->indent--;
  statements(pr, ir_st(pr->p, s)->body);
  pr->indent++;
}

/* Names for what s binds; they go out of sight after its body. */
static void bind(printer *pr, ir_stmt s) {
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

static void statement(printer *pr, ir_stmt s) {
  const ir_stmt_rec *r = ir_st(pr->p, s);
  uint32_t seen = pr->seen.n;
  bind(pr, s);
  begin(pr, s);
  head(pr, s, true);
  end(pr, s);
  if (r->kind == IR_BLOCK) {
    pr->indent++;
    block_body(pr, s);
    pr->indent--;
  } else {
    statements(pr, r->body);
    if (r->alt) {
      begin(pr, 0);
      str_puts(pr->out, "else");
      end(pr, 0);
      statements(pr, r->alt);
    }
  }
  pr->seen.n = seen;
}

static void statements(printer *pr, ir_stmt first) {
  pr->indent++;
  for (ir_stmt s = first; s; s = ir_st(pr->p, s)->next) statement(pr, s);
  pr->indent--;
}

/* ---- functions ---------------------------------------------------------- */

static bool is_written(const ir_program *p, ir_buf b) {
  ir_stmt root = ir_entry(p)->root;
  for (ir_stmt s = root; s; s = ir_next(p, s, root))
    if (ir_st(p, s)->kind == IR_STORE && ir_st(p, s)->buf == b) return true;
  return false;
}

/* What is read and written comes from the caller, so it has an input's role. */
static const char *role_word(const ir_program *p, ir_buf b) {
  switch ((ir_role)p->buf.v[b].role) {
  case IR_ROLE_OUTPUT: return "out";
  case IR_ROLE_CONSTANT: return "constant";
  case IR_ROLE_LAYOUT_FREE: return "layout_free";
  case IR_ROLE_INPUT: return is_written(p, b) ? "inout" : "";
  case IR_ROLE_LOCAL: break;
  }
  return "";
}

static void parameters(printer *pr, const ir_func *f, bool split) {
  const char *comma = "";
  for (uint32_t i = 0; i < f->sizes.n + f->params.n; i++) {
    str_puts(pr->out, comma);
    if (split) {
      str_putc(pr->out, '\n');
      begin(pr, 0);
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
  begin(pr, f->root);
  size_t start = pr->out->n;
  const char *entry =
      ir_func_end(pr->p) > 2 && f == ir_entry(pr->p) ? "entry " : "";
  for (bool split = false;; split = true) {
    str_printf(pr->out, "%s%s(", entry, ir_text(pr->p, f->name));
    parameters(pr, f, split);
    str_putc(pr->out, ')');
    print_annos(pr, ir_st(pr->p, f->root)->anno);
    if (split || pr->out->bad || pr->out->n - start <= WIDTH) break;
    pr->out->n = start;
    pr->out->v[start] = '\0';
  }
  end(pr, f->root);
}

/* The contents of constants are not shown. */
static void constants(printer *pr) {
  for (uint32_t i = 0; i < pr->p->constant.n; i++) {
    print_bind_buf(pr, pr->p->constant.v[i].buf);
    begin(pr, 0);
    str_puts(pr->out, "constant ");
    print_buf_decl(pr, pr->p->constant.v[i].buf, "");
    end(pr, 0);
  }
}

static void program(printer *pr, uint32_t what) {
  const ir_program *p = pr->p;
  (void)what;
  constants(pr);
  for (uint32_t i = 1; i < ir_func_end(p); i++) {
    uint32_t seen = pr->seen.n;
    if (i > 1) str_putc(pr->out, '\n');
    function_head(pr, &p->func.v[i]);
    pr->indent++;
    block_body(pr, p->func.v[i].root);
    pr->indent--;
    pr->seen.n = seen;
  }
}

void ir_print(const ir_program *p, const ir_print_opts *o, strbuf *out) {
  print_run(p, o, out, program, 0);
}

void ir_print_stmt_head(const ir_program *p, ir_stmt s, strbuf *out) {
  print_run(p, NULL, out, print_head, s);
}
