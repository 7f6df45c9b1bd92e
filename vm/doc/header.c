/* SPDX-License-Identifier: Apache-2.0
 * The C header of the primitives: a typed inline function for each, made from
 * its declaration, over tess_schedule_call. */
#include "vm/doc/doc.h"
#include "vm/vm.h"

#include <stdio.h>
#include <string.h>

/* ---- lines -------------------------------------------------------------- */

/* Text that is broken between words, before column 80. */
typedef struct lines {
  strbuf *out;
  const char *start; /* of each further line */
  size_t line;       /* where the present one began */
} lines;

static lines begin_lines(strbuf *out, const char *start) {
  size_t line = out->n;
  while (line && out->v[line - 1] != '\n') line--;
  return (lines){out, start, line};
}

/* A word that is not broken, after a blank unless it begins the line. */
static void put_word(lines *l, const char *word, size_t n) {
  bool first = l->out->n == l->line || l->out->v[l->out->n - 1] == ' ' ||
               l->out->v[l->out->n - 1] == '(';
  if (l->out->n - l->line + !first + n > 78) {
    str_putc(l->out, '\n');
    l->line = l->out->n;
    str_puts(l->out, l->start);
  } else if (!first) {
    str_putc(l->out, ' ');
  }
  for (size_t i = 0; i < n; i++) {
    str_putc(l->out, word[i]);
    if (word[i] == '*' && i + 1 < n && word[i + 1] == '/')
      str_putc(l->out, ' '); /* ends no comment */
  }
}

static void put_text(lines *l, const char *text) {
  while (*text) {
    size_t n = strcspn(text, " ");
    if (n) put_word(l, text, n);
    text += n + (text[n] == ' ');
  }
}

/* ---- types -------------------------------------------------------------- */

/* How an operand of each kind is declared in C, and becomes a value.  A list
 * has its length before it, as n<name>. */
typedef struct c_type {
  const char *type;  /* with the blank or star before the name */
  const char *value; /* the function that makes a tess_value of it */
  bool list;
} c_type;

static c_type c_type_of(uint32_t kind) {
  switch ((sch_kind)kind) {
  case SCH_KIND_BLOCK:
  case SCH_KIND_LOOP:
  case SCH_KIND_NODE:
  case SCH_KIND_VAR: return (c_type){"tess_rv ", "tess_v_rv", false};
  case SCH_KIND_BLOCKS:
  case SCH_KIND_LOOPS:
  case SCH_KIND_NODES:
  case SCH_KIND_VARS: return (c_type){"const tess_rv *", "tess_v_rvs", true};
  case SCH_KIND_INT: return (c_type){"int64_t ", "tess_v_int", false};
  case SCH_KIND_BOOL: return (c_type){"int ", "tess_v_bool", false};
  case SCH_KIND_REAL: return (c_type){"double ", "tess_v_real", false};
  case SCH_KIND_STR:
  case SCH_KIND_DTYPE: return (c_type){"const char *", "tess_v_str", false};
  case SCH_KIND_INTS: return (c_type){"const int64_t *", "tess_v_ints", true};
  case SCH_KIND_REALS: return (c_type){"const double *", "tess_v_reals", true};
  case SCH_KIND_FACTORS:
    return (c_type){"const tess_value *", "tess_v_list", true};
  case SCH_KIND_EXPR:
  case SCH_KIND_VALUE:
  case SCH_KIND_BUFFER:
  case SCH_KIND_INDEX_MAP:
  case SCH_KIND_FILL: break;
  }
  return (c_type){"tess_value ", "", false};
}

/* Of a member of the options: 0, or NULL, is that it was left out. */
static c_type c_option_of(uint32_t kind) {
  if (kind == SCH_KIND_BOOL)
    return (c_type){"tess_choice ", "tess_v_choice", false};
  if (kind == SCH_KIND_INT || kind == SCH_KIND_REAL)
    return (c_type){"tess_value ", "", false};
  return c_type_of(kind);
}

static bool is_out(const sch_spec *sp) { return sp->role == SCH_ROLE_OUT; }
static bool is_operand(const sch_spec *sp) {
  return !is_out(sp) && sp->dflt.required;
}
static bool is_option(const sch_spec *sp) {
  return !is_out(sp) && !sp->dflt.required;
}

static uint32_t count_specs(const sch_prim *p, bool (*is)(const sch_spec *sp)) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->nspecs; i++) n += is(&p->specs[i]);
  return n;
}

/* The output that is a list; NULL: there is none. */
static const sch_spec *list_out(const sch_prim *p) {
  for (uint32_t i = 0; i < p->nspecs; i++)
    if (is_out(&p->specs[i]) && c_type_of(p->specs[i].kind).list)
      return &p->specs[i];
  return NULL;
}

/* ---- comments ----------------------------------------------------------- */

static void put_default(const sch_spec *sp, lines *l) {
  char text[64];
  snprintf(text, sizeof text, "(default: %s)", vm_doc_default(sp));
  put_text(l, text);
}

/* before, and on a line of its own: -> after */
static void put_rewrite(const char *text, strbuf *out) {
  str_puts(out, "\n *\n *   ");
  lines l = begin_lines(out, " *     ");
  for (const char *arrow = strstr(text, "   ->   "); *text;) {
    size_t n = strcspn(text, " ");
    if (text == arrow + 3) {
      str_puts(out, "\n *   ");
      l = begin_lines(out, " *     ");
    }
    if (n) put_word(&l, text, n);
    text += n + (text[n] == ' ');
  }
  str_puts(out, "\n *");
}

static void put_option(const sch_spec *sp, strbuf *out) {
  c_type t = c_option_of(sp->kind);
  lines l;
  if (t.list) str_printf(out, "  uint32_t n%s;\n", sp->name);
  str_printf(out, "  %s%s;\n", t.type, sp->name);
  str_puts(out, "  /* ");
  l = begin_lines(out, "   * ");
  put_text(&l, sp->help);
  if (sp->role == SCH_ROLE_DECISION)
    put_text(&l, "(drawn when left out)");
  else if (strcmp(vm_doc_default(sp), "nil"))
    put_default(sp, &l);
  str_puts(out, " */\n");
}

static void put_options(const sch_prim *p, strbuf *out) {
  str_printf(out,
             "/* What may be left out of tess_sch_%s_with. */\n"
             "typedef struct tess_sch_%s_options {\n",
             p->name, p->name);
  for (uint32_t i = 0; i < p->nspecs; i++)
    if (is_option(&p->specs[i])) put_option(&p->specs[i], out);
  str_printf(out, "} tess_sch_%s_options;\n\n", p->name);
}

static void put_about(const sch_prim *p, strbuf *out) {
  str_puts(out, "/* ");
  lines l = begin_lines(out, " * ");
  put_text(&l, p->summary);
  if (p->flags & SCH_UNSAFE)
    put_text(&l, "Unsafe: may change what is computed.");
  if (*p->rewrite) put_rewrite(p->rewrite, out);
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (is_option(sp)) continue;
    str_printf(out, "\n * %s: ", sp->name);
    l = begin_lines(out, " *   ");
    put_text(&l, sp->help);
  }
  const sch_spec *list = list_out(p);
  if (list && p->as_many)
    str_printf(out, "\n * %s has room for as many as %s says.", list->name,
               p->as_many);
  else if (list)
    str_printf(out,
               "\n * *n%s gets their number, of which at most max_%s are "
               "written.",
               list->name, list->name);
  str_puts(out, " */\n");
}

/* ---- functions ---------------------------------------------------------- */

static void put_param(lines *l, const char *type, const char *before,
                      const char *name, const char *after) {
  char text[160];
  int n = snprintf(text, sizeof text, "%s%s%s%s", type, before, name, after);
  put_word(l, text, (size_t)n);
}

/* Whether its list of outputs has a length that is not among the operands. */
static bool asks_length(const sch_prim *p) {
  return list_out(p) && !p->as_many;
}

static void put_operand_params(const sch_prim *p, lines *l) {
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (!is_operand(sp)) continue;
    c_type t = c_type_of(sp->kind);
    if (t.list) put_param(l, "uint32_t ", "n", sp->name, ",");
    put_param(l, t.type, "", sp->name, ",");
  }
}

static void put_result_params(const sch_prim *p, lines *l) {
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (!is_out(sp)) continue;
    if (asks_length(p)) put_param(l, "uint32_t ", "max_", sp->name, ",");
    put_param(l, "tess_rv *", "", sp->name, ",");
    if (asks_length(p)) put_param(l, "uint32_t *", "n", sp->name, ",");
  }
}

static void put_head(const sch_prim *p, bool with, strbuf *out) {
  size_t before = out->n;
  str_printf(out, "static inline tess_status tess_sch_%s%s(", p->name,
             with ? "_with" : "");
  lines l = {out, "    ", before};
  put_param(&l, "tess_schedule *", "", "s", ",");
  put_operand_params(p, &l);
  if (with) {
    char text[96];
    snprintf(text, sizeof text, "const tess_sch_%s_options *", p->name);
    put_param(&l, text, "", "options", ",");
  }
  put_result_params(p, &l);
  out->n--; /* the last comma */
  str_puts(out, ") {\n");
}

/* The operand as a value, read from before<name>. */
static void put_value(const c_type *t, const char *before, const char *name,
                      strbuf *out) {
  if (!*t->value)
    str_printf(out, "%s%s", before, name);
  else if (t->list)
    str_printf(out, "%s(%sn%s, %s%s)", t->value, before, name, before, name);
  else
    str_printf(out, "%s(%s%s)", t->value, before, name);
}

static void put_argument(const sch_spec *sp, strbuf *out) {
  str_printf(out, "    {\"%s\", ", sp->name);
  if (is_operand(sp)) {
    c_type t = c_type_of(sp->kind);
    put_value(&t, "", sp->name, out);
  } else {
    c_type t = c_option_of(sp->kind);
    bool zero = *t.value && sp->kind != SCH_KIND_BOOL; /* 0: left out */
    str_puts(out, "options");
    if (zero) str_printf(out, " && options->%s", sp->name);
    str_puts(out, "\n       ? ");
    put_value(&t, "options->", sp->name, out);
    str_puts(out, "\n       : tess_v_nil()");
  }
  str_puts(out, "},\n");
}

/* Single outputs are handed on one by one; NULL: not wanted. */
static void put_single_results(const sch_prim *p, strbuf *out) {
  uint32_t k = 0;
  for (uint32_t i = 0; i < p->nspecs; i++)
    if (is_out(&p->specs[i]))
      str_printf(out, "  if (%s) *%s = out_[%u];\n", p->specs[i].name,
                 p->specs[i].name, k++);
}

/* How many elements the list of outputs has room for. */
static void put_room(const sch_prim *p, strbuf *out) {
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (strcmp(sp->name, p->as_many)) continue;
    if (sp->kind == SCH_KIND_INT)
      str_printf(out, "%s > 0 ? (uint32_t)%s : 0", sp->name, sp->name);
    else
      str_printf(out, "n%s", sp->name);
    return;
  }
}

static void put_call(const sch_prim *p, uint32_t nargs, strbuf *out) {
  str_printf(out, "tess_schedule_call(\n      s, \"%s\", %u, %s, ", p->name,
             nargs, nargs ? "args_" : "NULL");
}

static void put_body(const sch_prim *p, strbuf *out) {
  uint32_t nout = count_specs(p, is_out), nargs = p->nspecs - nout;
  const sch_spec *list = list_out(p);
  if (nargs) str_puts(out, "  const tess_arg args_[] = {\n");
  for (uint32_t i = 0; i < p->nspecs; i++)
    if (!is_out(&p->specs[i])) put_argument(&p->specs[i], out);
  if (nargs) str_puts(out, "  };\n");
  if (list && !p->as_many) {
    str_puts(out, "  return ");
    put_call(p, nargs, out);
    str_printf(out, "max_%s, %s, n%s, NULL);\n}\n", list->name, list->name,
               list->name);
    return;
  }
  str_puts(out, "  uint32_t nout_;\n");
  if (list) {
    str_puts(out, "  return ");
    put_call(p, nargs, out);
    put_room(p, out);
    str_printf(out, ", %s, &nout_, NULL);\n}\n", list->name);
    return;
  }
  if (nout) str_printf(out, "  tess_rv out_[%u] = {0};\n", nout);
  str_printf(out, "  %s", nout ? "tess_status status_ = " : "return ");
  put_call(p, nargs, out);
  str_printf(out, "%u, %s, &nout_, NULL);\n", nout, nout ? "out_" : "NULL");
  put_single_results(p, out);
  str_puts(out, nout ? "  return status_;\n}\n" : "}\n");
}

/* Without options it is the other one, with none. */
static void put_short_body(const sch_prim *p, strbuf *out) {
  size_t before = out->n;
  str_printf(out, "  return tess_sch_%s_with(", p->name);
  lines l = {out, "      ", before};
  put_param(&l, "", "", "s", ",");
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (!is_operand(sp)) continue;
    if (c_type_of(sp->kind).list) put_param(&l, "", "n", sp->name, ",");
    put_param(&l, "", "", sp->name, ",");
  }
  put_param(&l, "", "", "NULL", ",");
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (!is_out(sp)) continue;
    if (asks_length(p)) put_param(&l, "", "max_", sp->name, ",");
    put_param(&l, "", "", sp->name, ",");
    if (asks_length(p)) put_param(&l, "", "n", sp->name, ",");
  }
  out->n--;
  str_puts(out, ");\n}\n");
}

static void put_primitive(const sch_prim *p, strbuf *out) {
  bool with = count_specs(p, is_option) > 0;
  str_putc(out, '\n');
  if (with) put_options(p, out);
  put_about(p, out);
  put_head(p, with, out);
  put_body(p, out);
  if (!with) return;
  str_putc(out, '\n');
  put_head(p, false, out);
  put_short_body(p, out);
}

/* ---- the header --------------------------------------------------------- */

static const char preamble[] =
    "/* SPDX-License-Identifier: Apache-2.0\n"
    " * The schedule primitives as typed functions; made from their "
    "declarations\n"
    " * when Tessera is built, so do not edit.\n"
    " *\n"
    " * tess_sch_NAME(s, operands, results) performs NAME on the schedule and\n"
    " * records it, through tess_schedule_call: TESS_OK; TESS_REFUSED where "
    "NAME does\n"
    " * not apply, with the reason in tess_error; INVALID, TYPE, NOT_FOUND or "
    "DEAD\n"
    " * for operands that NAME does not take; LIMIT and NOMEM.  Where it "
    "fails, "
    "the\n"
    " * schedule and its trace are as before.\n"
    " *\n"
    " * Operands are borrowed for the call.  Results are variables of the "
    "schedule\n"
    " * and live as long.  Where a result is one variable, its pointer may be "
    "NULL,\n"
    " * and it becomes 0 when the call fails.\n"
    " *\n"
    " * tess_sch_NAME_with also takes what may be left out, in a struct of "
    "this\n"
    " * header's own: no library sees it, so it has no struct_size, and what "
    "is zero\n"
    " * in it is left out.\n"
    " *\n"
    " * A buffer is tess_v_int(i), the i-th that the block reads or writes, "
    "counted\n"
    " * from 0, or tess_v_str of its name.  An index map is a text:\n"
    " * tess_v_str(\"(i, j) -> (j, i)\"). */\n"
    "#ifndef TESSERA_PRIMITIVES_H\n"
    "#define TESSERA_PRIMITIVES_H\n\n"
    "#include <tessera/values.h>\n\n"
    "#ifdef __cplusplus\n"
    "extern \"C\" {\n"
    "#endif\n";

void vm_doc_header(strbuf *out) {
  str_puts(out, preamble);
  for (uint32_t i = 0; i < sch_nprims; i++)
    if (!(sch_prims[i]->flags & SCH_HIDDEN)) put_primitive(sch_prims[i], out);
  str_puts(out, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
}
