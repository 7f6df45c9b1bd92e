/* SPDX-License-Identifier: Apache-2.0
 * The reader's tokens and the names in scope. */
#include "ir/read/read.h"
#include <string.h>

const char *read_spell(reader *r, const read_token *t) {
  switch (t->kind) {
  case READ_END: return "the end";
  case READ_LINE_END: return "the end of the line";
  case READ_INT:
    return arena_printf(r->scratch, "%llu", (unsigned long long)t->i);
  case READ_REAL: return arena_printf(r->scratch, "%g", t->f);
  default: {
    int n = t->n > 40 ? 40 : (int)t->n;
    return arena_printf(r->scratch, "'%.*s'", n, t->s);
  }
  }
}

static bool fail_at(reader *r, const read_token *t, const char *fmt,
                    va_list ap) {
  err_set_to(r->b->err, TESS_PARSE, fmt, ap);
  err_place(r->b->err, "line %u, column %u", t->line, t->column);
  return false;
}

bool read_fail_at(reader *r, const read_token *t, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fail_at(r, t, fmt, ap);
  va_end(ap);
  return false;
}

bool read_fail(reader *r, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  fail_at(r, &r->t, fmt, ap);
  va_end(ap);
  return false;
}

bool read_advance(reader *r) {
  r->last = r->t;
  return read_lex(&r->lex, &r->t) || read_fail(r, "%s", r->lex.bad);
}

bool read_is(const reader *r, const char *text) {
  bool plain = r->t.kind == READ_NAME || r->t.kind == READ_SIGN;
  return plain && r->t.n == strlen(text) && !memcmp(r->t.s, text, r->t.n);
}

bool read_accept(reader *r, const char *text, bool *ok) {
  *ok = true;
  return read_is(r, text) && (*ok = read_advance(r));
}

bool read_expect(reader *r, const char *text) {
  if (read_is(r, text)) return read_advance(r);
  return read_fail(r, "'%s' is expected, not %s", text, read_spell(r, &r->t));
}

bool read_word(reader *r, const char *what, const char **out) {
  if ((r->t.kind != READ_NAME && r->t.kind != READ_QUOTED) || !r->t.n)
    return read_fail(r, "%s is expected, not %s", what, read_spell(r, &r->t));
  if (r->t.n > DESCRIBE_MAX_NAME)
    return read_fail(r, "a name has at most %d bytes", DESCRIBE_MAX_NAME);
  *out = arena_printf(r->scratch, "%.*s", (int)r->t.n, r->t.s);
  return read_advance(r);
}

bool read_int(reader *r, int64_t least, int64_t most, const char *what,
              int64_t *out) {
  read_token at = r->t;
  bool ok, negative = read_accept(r, "-", &ok);
  if (!ok) return false;
  if (r->t.kind != READ_INT)
    return read_fail_at(r, &at, "%s is expected, not %s", what,
                        read_spell(r, &r->t));
  uint64_t limit = (uint64_t)INT64_MAX + negative;
  *out = negative ? (int64_t)(0 - r->t.i) : (int64_t)r->t.i;
  if (r->t.i > limit || *out < least || *out > most)
    return read_fail_at(r, &at, "%s is from %lld to %lld", what,
                        (long long)least, (long long)most);
  return read_advance(r);
}

bool read_line_end(reader *r) {
  if (r->t.kind == READ_LINE_END) return read_advance(r);
  return r->t.kind == READ_END ||
         read_fail(r, "the line should end before %s", read_spell(r, &r->t));
}

/* ---- names in scope ----------------------------------------------------- */

const read_name *read_find(const reader *r, const char *name) {
  for (uint32_t i = r->nnames; i > 0; i--)
    if (!strcmp(r->names[i - 1].s, name)) return &r->names[i - 1];
  return NULL;
}

bool read_bind(reader *r, const read_token *at, const char *name,
               bool is_buffer, uint32_t id) {
  if (read_find(r, name))
    return read_fail_at(r, at, "the name '%s' is taken", name);
  if (r->nnames == r->room) {
    r->room = r->room ? 2 * r->room : 32;
    read_name *grown = arena_array(r->scratch, read_name, r->room);
    if (r->nnames) memcpy(grown, r->names, r->nnames * sizeof *grown);
    r->names = grown;
  }
  r->names[r->nnames++] = (read_name){name, is_buffer, id};
  return true;
}
