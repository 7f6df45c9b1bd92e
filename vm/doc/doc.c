/* SPDX-License-Identifier: Apache-2.0
 * Generates the reference of the primitives as Markdown. */
#include "vm/doc/doc.h"
#include "vm/vm.h"

const char *vm_doc_role(const sch_spec *sp) {
  static const char *const roles[] = {"in", "attr", "decision", "out"};
  return roles[sp->role];
}

const char *vm_doc_default(const sch_spec *sp) {
  if (sp->kind == SCH_KIND_BOOL && !sp->dflt.required)
    return sp->dflt.i ? "true" : "false";
  return sp->dflt.text;
}

/* A call as one would write it: required operands in order, the others by
 * name. */
static void put_usage(const sch_prim *p, strbuf *out) {
  const char *before = "";
  bool named = false;
  for (uint32_t i = 0; i < p->nspecs; i++)
    if (p->specs[i].role == SCH_ROLE_OUT) {
      bool list = p->specs[i].kind == SCH_KIND_BLOCKS ||
                  p->specs[i].kind == SCH_KIND_LOOPS ||
                  p->specs[i].kind == SCH_KIND_VARS;
      str_printf(out, "%s%s%s", before, p->specs[i].name, list ? "..." : "");
      before = ", ";
    }
  str_printf(out, "%ssch:%s(", *before ? " = " : "", p->name);
  before = "";
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (sp->role == SCH_ROLE_OUT || !sp->dflt.required) continue;
    str_printf(out, "%s%s", before, sp->name);
    before = ", ";
  }
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (sp->role == SCH_ROLE_OUT || sp->dflt.required) continue;
    str_printf(out, "%s%s = %s",
               named     ? ", "
               : *before ? ", { "
                         : "{ ",
               sp->name, vm_doc_default(sp));
    named = true;
  }
  str_puts(out, named ? " })" : ")");
}

static void put_operands(const sch_prim *p, strbuf *out) {
  const char *head = "\n| operand | takes | default | |\n|---|---|---|---|\n";
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (sp->role == SCH_ROLE_OUT) continue;
    str_printf(out, "%s| `%s` | %s | ", head, sp->name, vm_kind_text(sp->kind));
    if (sp->dflt.required)
      str_puts(out, "required");
    else
      str_printf(out, "`%s`", vm_doc_default(sp));
    str_printf(out, " | %s%s |\n", sp->help,
               sp->role == SCH_ROLE_DECISION
                   ? "; a decision: drawn when left out"
                   : "");
    head = "";
  }
}

static void put_results(const sch_prim *p, strbuf *out) {
  const char *head = "\nGives:\n\n";
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (sp->role != SCH_ROLE_OUT) continue;
    str_printf(out, "%s- `%s`, %s: %s\n", head, sp->name,
               vm_kind_text(sp->kind), sp->help);
    head = "";
  }
}

static bool is_repeated(const uint16_t *list, const uint16_t *at) {
  for (; list < at; list++)
    if (*list == *at) return true;
  return false;
}

sch_reason vm_doc_refusal(const sch_prim *p, uint32_t k) {
  for (const uint16_t *r = p->refusals; r && *r; r++)
    if (!is_repeated(p->refusals, r) && k-- == 0) return (sch_reason)*r;
  return SCH_R_NONE;
}

/* A template with letters in its holes: S and T for statements, N, M, K, L for
 * numbers, B for a buffer. */
static void put_template(const char *t, strbuf *out) {
  for (; *t; t++) {
    const char *end = *t == '{' ? strchr(t, '}') : NULL;
    unsigned k = end && t[2] >= '0' && t[2] <= '3' ? (unsigned)(t[2] - '0') : 0;
    if (!end) {
      str_putc(out, *t);
      continue;
    }
    switch (t[1]) {
    case 's': str_putc(out, "ST"[k & 1]); break;
    case 'n': str_putc(out, "NMKL"[k]); break;
    case 'b': str_putc(out, 'B'); break;
    default: str_puts(out, "..."); break;
    }
    t = end;
  }
}

static void put_refusals(const sch_prim *p, strbuf *out) {
  sch_reason r;
  for (uint32_t k = 0; (r = vm_doc_refusal(p, k)) != SCH_R_NONE; k++) {
    str_printf(out, "%s- `%s`: ", k ? "" : "\nRefused with:\n\n",
               sch_reason_name(r));
    put_template(sch_reason_text(r), out);
    str_putc(out, '\n');
  }
}

static void put_flags(const sch_prim *p, strbuf *out) {
  static const struct {
    uint32_t flag;
    const char *text;
  } flags[] = {{SCH_SAMPLES, "samples"},
               {SCH_PURE, "leaves the program as it is"},
               {SCH_UNSAFE, "may change what is computed"},
               {SCH_HIDDEN, "recorded by the engine"}};
  const char *before = "*";
  for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
    if (!(p->flags & flags[i].flag)) continue;
    str_printf(out, "%s%s", before, flags[i].text);
    before = ", ";
  }
  str_puts(out, *before == '*' ? "" : "*\n\n");
}

void vm_doc_page(const sch_prim *p, strbuf *out) {
  str_printf(out, "## %s\n\n%s\n\n", p->name, p->summary);
  put_flags(p, out);
  str_puts(out, "    ");
  put_usage(p, out);
  str_putc(out, '\n');
  if (*p->rewrite) str_printf(out, "\n    %s\n", p->rewrite);
  put_operands(p, out);
  put_results(p, out);
  if (*p->details) str_printf(out, "\n%s", p->details);
  put_refusals(p, out);
  if (*p->example) str_printf(out, "\n```lua\n%s```\n", p->example);
}

void vm_doc_reference(strbuf *out) {
  str_puts(out, "# Schedule primitives\n\n");
  for (uint32_t i = 0; i < sch_nprims; i++)
    str_printf(out, "- [%s](#%s): %s\n", sch_prims[i]->name, sch_prims[i]->name,
               sch_prims[i]->summary);
  for (uint32_t i = 0; i < sch_nprims; i++) {
    str_putc(out, '\n');
    vm_doc_page(sch_prims[i], out);
  }
}
