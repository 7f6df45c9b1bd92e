/* SPDX-License-Identifier: Apache-2.0
 * Generates LuaCATS annotations of the primitives, for editors. */
#include "vm/doc/doc.h"
#include "vm/vm.h"

/* The Lua type of an operand kind. */
static const char *lua_type(uint32_t kind) {
  switch ((sch_kind)kind) {
  case SCH_KIND_BLOCK: return "tessera.Block";
  case SCH_KIND_LOOP: return "tessera.Loop";
  case SCH_KIND_NODE: return "tessera.Block|tessera.Loop";
  case SCH_KIND_BLOCKS: return "tessera.Block[]";
  case SCH_KIND_LOOPS: return "tessera.Loop[]";
  case SCH_KIND_NODES: return "(tessera.Block|tessera.Loop)[]";
  case SCH_KIND_INT: return "integer";
  case SCH_KIND_BOOL: return "boolean";
  case SCH_KIND_REAL: return "number";
  case SCH_KIND_STR:
  case SCH_KIND_DTYPE: return "string";
  case SCH_KIND_INTS: return "integer[]";
  case SCH_KIND_REALS: return "number[]";
  case SCH_KIND_EXPR: return "integer|tessera.Int";
  case SCH_KIND_FACTORS: return "(integer|tessera.Int|tessera.Auto)[]";
  case SCH_KIND_VALUE: return "string|number|boolean|tessera.Int|table";
  case SCH_KIND_BUFFER: return "integer|string|table";
  case SCH_KIND_INDEX_MAP: return "string|function|table";
  case SCH_KIND_FILL: return "number|string|function|table|tessera.Int";
  case SCH_KIND_VAR: return "tessera.Int";
  case SCH_KIND_VARS: return "tessera.Int[]";
  }
  return "any";
}

/* The Lua type of an output; a list is several return values. */
static const char *result_type(uint32_t kind) {
  switch ((sch_kind)kind) {
  case SCH_KIND_BLOCKS: return "tessera.Block ...";
  case SCH_KIND_LOOPS: return "tessera.Loop ...";
  case SCH_KIND_VARS: return "tessera.Int ...";
  default: return lua_type(kind);
  }
}

/* {a: T, b?: T, ...}: the table of operands, only the optional ones or all. */
static void put_table(const sch_prim *p, bool all, strbuf *out) {
  const char *before = "{";
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (sp->role == SCH_ROLE_OUT || (sp->dflt.required && !all)) continue;
    str_printf(out, "%s%s%s: %s", before, sp->name,
               sp->dflt.required ? "" : "?", lua_type(sp->kind));
    before = ", ";
  }
  str_putc(out, '}');
}

static uint32_t count_params(const sch_prim *p, bool required) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < p->nspecs; i++)
    n += p->specs[i].role != SCH_ROLE_OUT &&
         p->specs[i].dflt.required == required;
  return n;
}

static void put_params(const sch_prim *p, strbuf *out) {
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (sp->role != SCH_ROLE_OUT && sp->dflt.required)
      str_printf(out, "---@param %s %s %s\n", sp->name, lua_type(sp->kind),
                 sp->help);
  }
  if (count_params(p, false)) {
    str_puts(out, "---@param options? ");
    put_table(p, false, out);
    str_putc(out, '\n');
  }
}

static void put_returns(const sch_prim *p, strbuf *out) {
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (sp->role == SCH_ROLE_OUT)
      str_printf(out, "---@return %s %s\n", result_type(sp->kind), sp->help);
  }
}

static void put_overload(const sch_prim *p, strbuf *out) {
  const char *before = ": ";
  str_puts(out, "---@overload fun(self: tessera.Schedule, operands: ");
  put_table(p, true, out);
  str_putc(out, ')');
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (sp->role != SCH_ROLE_OUT) continue;
    str_printf(out, "%s%s", before, result_type(sp->kind));
    before = ", ";
  }
  str_putc(out, '\n');
}

static void put_function(const sch_prim *p, strbuf *out) {
  const char *before = "";
  str_printf(out, "function Schedule:%s(", p->name);
  for (uint32_t i = 0; i < p->nspecs; i++) {
    const sch_spec *sp = &p->specs[i];
    if (sp->role == SCH_ROLE_OUT || !sp->dflt.required) continue;
    str_printf(out, "%s%s", before, sp->name);
    before = ", ";
  }
  str_printf(out, "%s) end\n",
             !count_params(p, false) ? ""
             : *before               ? ", options"
                                     : "options");
}

void vm_doc_stubs(strbuf *out) {
  str_puts(out, "---@meta tessera.schedule\n\n"
                "---@class tessera.Block\n---@class tessera.Loop\n"
                "---@class tessera.Int\n---@class tessera.Auto\n\n"
                "---@class tessera.Schedule\nlocal Schedule = {}\n");
  for (uint32_t i = 0; i < sch_nprims; i++) {
    const sch_prim *p = sch_prims[i];
    if (p->flags & SCH_HIDDEN) continue;
    str_printf(out, "\n---%s\n", p->summary);
    if (*p->rewrite) str_printf(out, "---\n---    %s\n", p->rewrite);
    put_params(p, out);
    put_returns(p, out);
    if (count_params(p, true) + count_params(p, false)) put_overload(p, out);
    put_function(p, out);
  }
  str_puts(out, "\nreturn Schedule\n");
}
