/* SPDX-License-Identifier: Apache-2.0
 * Reading programs: functions and their parameters. */
#include "ir/read/read.h"
#include <string.h>

enum { MAX_PARAMS = 4096 };

/* "n: size" */
static bool read_size(reader *r, const char *name, const read_token *at) {
  ir_var v = ir_var_new(r->p, IR_VAR_SIZE, ir_name(r->p, name), IR_INDEX, 1,
                        INT64_MAX);
  return read_bind(r, at, name, false, v);
}

/* Is the parameter here a size? */
static bool is_size(reader *r, bool *ok) {
  reader ahead = *r;
  *ok = read_advance(&ahead);
  if (!*ok || !read_is(&ahead, ":")) return false;
  *ok = read_advance(&ahead);
  return *ok && read_is(&ahead, "size");
}

static bool read_params(reader *r, uint32_t *n, ir_buf *out) {
  bool ok = read_expect(r, "(");
  *n = 0;
  for (bool first = true; ok && !read_is(r, ")"); first = false) {
    if (!first && !read_expect(r, ",")) return false;
    read_token at = r->t;
    const char *name;
    if (is_size(r, &ok)) {
      ok = read_word(r, "a name", &name) && read_expect(r, ":") &&
           read_expect(r, "size") && read_size(r, name, &at);
    } else if (*n == MAX_PARAMS) {
      return read_fail(r, "a function has at most %d parameters", MAX_PARAMS);
    } else if (ok) {
      ok = read_buffer(r, IR_ROLE_INPUT, &out[*n]);
      *n += ok;
    }
  }
  return ok && read_advance(r);
}

static bool check_function_name(reader *r, const read_token *at,
                                const char *name) {
  for (uint32_t i = 1; i < r->p->func.n; i++)
    if (!strcmp(ir_text(r->p, r->p->func.v[i].name), name))
      return read_fail_at(r, at, "two functions are called '%s'", name);
  return true;
}

static bool read_function(reader *r) {
  uint32_t column = r->t.column, mark = r->nnames, n;
  ir_buf *params = arena_array(r->scratch, ir_buf, MAX_PARAMS);
  const char *name;
  bool ok, entry = read_accept(r, "entry", &ok);
  read_token at = r->t;
  if (!ok || !read_word(r, "the name of a function", &name) ||
      !check_function_name(r, &at, name) || !read_params(r, &n, params))
    return false;
  ir_stmt root = ir_block_new(r->p, ir_name(r->p, "root"));
  ok = read_annos(r, root) && read_line_end(r) &&
       read_block_body(r, root, column);
  if (!ok) return false;
  uint32_t f = ir_func_new(r->p, ir_name(r->p, name), n, params, root);
  if (entry) r->p->entry = f;
  r->nnames = mark;
  return r->t.kind == READ_END || r->t.column == column ||
         read_fail(r, "the line is indented like none before it");
}

static bool read_functions(reader *r) {
  bool ok = read_advance(r);
  while (ok && read_accept(r, "constant", &ok)) ok = ok && read_constant(r);
  if (ok && r->t.kind == READ_END)
    return read_fail(r, "the text has no function");
  while (ok && r->t.kind != READ_END) ok = read_function(r);
  return ok;
}

/* As for programs that were loaded. */
static tess_status check_program(reader *r) {
  strbuf why;
  str_init(&why, r->b->heap);
  bool ok = ir_verify(r->p, r->scratch, &why) &&
            ir_verify_bounds(r->p, false, r->scratch, &why);
  tess_status s = ok ? TESS_OK : why.bad ? str_status(&why) : TESS_INVALID;
  if (s == TESS_INVALID) err_set(r->b->err, s, "%s", str_get(&why));
  str_free(&why);
  return s;
}

tess_status read_program(ir_builder *b, arena *scratch, const char *text,
                         size_t n) {
  reader r = {.b = b, .p = &b->p, .scratch = scratch};
  read_lex_init(&r.lex, text, n, scratch);
  return read_functions(&r) ? check_program(&r) : TESS_PARSE;
}
