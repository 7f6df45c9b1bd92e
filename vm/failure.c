/* SPDX-License-Identifier: Apache-2.0
 * Failure messages, formatted on demand. */
#include "ir/query.h"
#include "vm/exec.h"

#include <inttypes.h>

static const struct {
  const char *name, *text;
  tess_status status;
} whys[] = {
    {"NONE", "out of memory or over its limit", TESS_NOMEM},
#define FAILURE(name, status, text) {#name, text, TESS_##status},
#include "vm/failures.def"
#undef FAILURE
};

tess_status vm_failure_status(const vm_failure *f) {
  return whys[f->why].status;
}

const char *vm_failure_reason(const vm_machine *m) {
  bool primitive = m->fail.why == VM_W_REFUSED ||
                   (m->fail.why == VM_W_UNFIT && m->fail.n[0] < 0);
  return primitive ? sch_reason_name((sch_reason)m->state.refusal.reason)
                   : whys[m->fail.why].name;
}

static const char *const kind_texts[] = {
#define KIND(name, type, text) text,
    SCH_KINDS(KIND)
#undef KIND
};

const char *vm_kind_text(uint32_t kind) { return kind_texts[kind]; }

static const char *const tag_texts[] = {"nothing",
                                        "a boolean",
                                        "an integer",
                                        "a real number",
                                        "a string",
                                        "a random variable",
                                        "auto",
                                        "a list",
                                        "a table with keys",
                                        "an arithmetic expression"};

static const char *const rv_texts[] = {"a block", "a loop", "an integer"};

typedef struct sentence {
  const vm_machine *m;
  const vm_trace *t;
  const vm_failure *f;
  strbuf *out;
} sentence;

static const sch_spec *spec_of(const sentence *s) {
  return &s->f->prim->specs[s->f->operand];
}

/* Describes the value that was given. */
static void put_given(const sentence *s) {
  const vm_failure *f = s->f;
  if (f->why == VM_W_MARK)
    str_puts(s->out, f->n[0] == SCH_INLINE_MARK ? "inline" : "root");
  else if (f->why == VM_W_WRONG_VARIABLE && f->rv < s->t->rv.n)
    str_puts(s->out, rv_texts[s->t->rv.v[f->rv]]);
  else
    str_puts(s->out, tag_texts[f->tag]);
}

/* The same for an element of a list, where one is at fault. */
static void put_instead(const sentence *s) {
  if (s->f->n[1])
    str_printf(s->out, "; element %" PRId64 " is ", s->f->n[1]);
  else
    str_puts(s->out, ", not ");
  put_given(s);
}

static void put_variable_name(const sentence *s) {
  char name[16];
  vm_rv_name(s->t, s->f->rv, name);
  str_puts(s->out, name);
}

static void put_decision_given(const sentence *s) {
  str_putc(s->out, '{');
  for (uint32_t i = 0; i < s->m->dec.n; i++)
    str_printf(s->out, "%s%" PRId64, i ? ", " : "", s->m->dec.v[i]);
  str_putc(s->out, '}');
}

static void put_head(const sentence *s, const char *before, ir_stmt st) {
  const ir_program *p = &s->m->prog;
  if (!st || st >= p->stmt.n || ir_is_dead(p, st)) return;
  str_printf(s->out, "%s `", before);
  ir_print_stmt_head(p, st, s->out);
  str_putc(s->out, '`');
}

/* The sampler's own reason, or else the size of the space and the loops and
 * blocks that it depends on: the printed head of a loop shows its extent. */
static void put_place(const sentence *s) {
  const sch_prim *p = s->f->prim;
  if (s->f->n[0] < 0) {
    const sch_refusal *r = &s->m->state.refusal;
    sch_refusal_text(&s->m->prog, NULL, r, s->out);
    if (!strstr(sch_reason_text((sch_reason)r->reason), "{s"))
      put_head(s, ", at", r->s[0]);
    return;
  }
  if (s->f->n[0] == INT64_MAX)
    str_puts(s->out, "it is none of those there are");
  else
    str_printf(s->out, "it is not among the %" PRId64 " there are", s->f->n[0]);
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (sp->role == SCH_ROLE_IN &&
        (sp->kind == SCH_KIND_LOOP || sp->kind == SCH_KIND_BLOCK ||
         sp->kind == SCH_KIND_NODE))
      put_head(s, " for",
               *(const ir_stmt *)(const void *)(s->m->args + sp->off));
  }
}

void vm_gone_text(const vm_trace *t, vm_rv rv, uint32_t k, strbuf *out) {
  char name[16];
  vm_rv_name(t, rv, name);
  str_printf(out, "%s refers to nothing any more: instruction %" PRIu32, name,
             k);
  if (k && k <= t->inst.n)
    str_printf(out, " (%s)", t->inst.v[k - 1].prim->name);
  str_puts(out, " removed it");
}

static int64_t number_of(const sentence *s, const char *hole) {
  return s->f->n[hole[1] - '0'];
}

static void put_hole(const sentence *s, const char *hole) {
  switch (*hole) {
  case 'o': str_puts(s->out, spec_of(s)->name); break;
  case 'h': str_puts(s->out, spec_of(s)->help); break;
  case 'k': str_puts(s->out, vm_kind_text(spec_of(s)->kind)); break;
  case 'v': put_given(s); break;
  case 'x': put_instead(s); break;
  case 'r': put_variable_name(s); break;
  case 'd': put_decision_given(s); break;
  case 'a': put_place(s); break;
  case 'g': vm_gone_text(s->t, s->f->rv, (uint32_t)s->f->n[0], s->out); break;
  case 's': str_puts(s->out, number_of(s, hole) == 1 ? "" : "s"); break;
  case 'n': str_printf(s->out, "%" PRId64, number_of(s, hole)); break;
  default: break;
  }
}

static void put_template(const sentence *s, const char *t) {
  for (; *t; t++) {
    if (*t == '{') {
      put_hole(s, t + 1);
      t = strchr(t, '}');
    } else {
      str_putc(s->out, *t);
    }
  }
}

void vm_failure_sentence(const vm_machine *m, const vm_trace *t,
                         const vm_failure *f, strbuf *out) {
  sentence s = {m, t, f, out};
  if (f->why == VM_W_REFUSED) {
    sch_refusal_text(&m->prog, f->prim->name, &m->state.refusal, out);
    return;
  }
  if (f->prim) str_printf(out, "%s: ", f->prim->name);
  put_template(&s, whys[f->why].text);
  if (f->why == VM_W_BROKEN && m->state.refusal.t)
    str_printf(out, ": %s", m->state.refusal.t);
}

void vm_failure_text(const vm_machine *m, const vm_trace *t, strbuf *out) {
  vm_failure_sentence(m, t, &m->fail, out);
}
