/* SPDX-License-Identifier: Apache-2.0
 * The sentence of a refusal, formatted lazily from its template. */
#include "ir/query.h"
#include "schedule/sch.h"
#include <inttypes.h>

static const char *const templates[] = {
    "nothing was refused",
#define REFUSAL(name, text) text,
#include "schedule/refusals.def"
#undef REFUSAL
};

const char *sch_reason_text(sch_reason r) {
  return r < SCH_R_COUNT ? templates[r] : "?";
}

static void put_stmt(const ir_program *p, ir_stmt s, strbuf *out) {
  if (s == SCH_INLINE_MARK) {
    str_puts(out, "the inline mark");
  } else if (s == SCH_ROOT_MARK) {
    str_puts(out, "the root mark");
  } else if (!s || s >= p->stmt.n) {
    str_puts(out, "nothing");
  } else if (ir_is_loop(p, s)) {
    str_puts(out, "loop ");
    ir_var_name(p, ir_st(p, s)->var, out);
  } else if (ir_is_block(p, s)) {
    str_printf(out, "block \"%s\"", ir_text(p, ir_blk(p, s)->name));
  } else if (ir_is_dead(p, s)) {
    str_puts(out, "a loop or block that no longer exists");
  } else {
    str_puts(out, "the statement \"");
    ir_print_stmt_head(p, s, out);
    str_putc(out, '"');
  }
}

/* : `for i in range(8)` */
static void put_head(const ir_program *p, ir_stmt s, strbuf *out) {
  if (!s || s >= p->stmt.n || ir_is_dead(p, s)) return;
  str_puts(out, ": `");
  ir_print_stmt_head(p, s, out);
  str_putc(out, '`');
}

/* (i = 0, j = 3) */
static void put_iteration(const ir_program *p, const sch_conflict *c, int k,
                          strbuf *out) {
  str_putc(out, '(');
  for (uint32_t i = 0; i < c->n[k]; i++) {
    if (i) str_puts(out, ", ");
    ir_var_name(p, c->var[k][i], out);
    str_printf(out, " = %" PRId64, c->at[k][i]);
  }
  str_putc(out, ')');
}

static void put_conflict(const ir_program *p, const sch_conflict *c,
                         strbuf *out) {
  if (!c->n[0]) return;
  str_puts(out, ", such as ");
  put_iteration(p, c, 0, out);
  if (!c->n[1]) return;
  str_puts(out, " and ");
  put_iteration(p, c, 1, out);
}

/* : there are "A", "B" */
static void put_blocks(const ir_program *p, strbuf *out) {
  enum { MOST = 12 };
  ir_stmt root = ir_entry(p)->root;
  uint32_t n = 0;
  for (ir_stmt s = root; s; s = ir_next(p, s, root)) {
    if (s == root || !ir_is_block(p, s)) continue;
    if (n == MOST) {
      str_puts(out, ", ...");
      return;
    }
    str_printf(out, "%s\"%s\"", n ? ", " : ": there are ",
               ir_text(p, ir_blk(p, s)->name));
    n++;
  }
}

/* One hole, given what is between the braces. */
static void put_hole(const ir_program *p, const sch_refusal *r,
                     const char *hole, strbuf *out) {
  unsigned k = hole[1] == '}' ? 0 : (unsigned)(hole[1] - '0');
  switch (*hole) {
  case 's': put_stmt(p, r->s[k & 1], out); break;
  case 'h': put_head(p, r->s[k & 1], out); break;
  case 'n': str_printf(out, "%" PRId64, r->n[k & 3]); break;
  case 'c': put_conflict(p, &r->conflict, out); break;
  case 'l': put_blocks(p, out); break;
  case 't': str_puts(out, r->t ? r->t : "?"); break;
  case 'b':
    str_printf(out, "buffer \"%s\"",
               r->buf && r->buf < p->buf.n ? ir_text(p, p->buf.v[r->buf].name)
                                           : "?");
    break;
  default: str_putc(out, '?');
  }
}

void sch_refusal_text(const ir_program *p, const char *prim,
                      const sch_refusal *r, strbuf *out) {
  const char *t = sch_reason_text((sch_reason)r->reason);
  if (prim) str_puts(out, prim);
  if (prim && r->s[0] && !strstr(t, "{s")) {
    str_puts(out, " of ");
    put_stmt(p, r->s[0], out);
  }
  if (prim) str_puts(out, ": ");
  while (*t) {
    const char *close = *t == '{' ? strchr(t, '}') : NULL;
    if (close) {
      put_hole(p, r, t + 1, out);
      t = close + 1;
    } else {
      str_putc(out, *t++);
    }
  }
}
