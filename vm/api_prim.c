/* SPDX-License-Identifier: Apache-2.0
 * Public API of the primitives' declarations and documentation. */
#include "vm/api.h"
#include "vm/doc/doc.h"

uint32_t tess_prim_count(void) { return sch_nprims; }

tess_status tess_prim_get(uint32_t i, tess_prim_info *out) {
  if (i >= sch_nprims) return TESS_NOT_FOUND;
  const sch_prim *p = sch_prims[i];
  const tess_prim_info info = {.name = p->name,
                               .summary = p->summary,
                               .rewrite = p->rewrite,
                               .details = p->details,
                               .example = p->example,
                               .samples = (p->flags & SCH_SAMPLES) != 0,
                               .pure = (p->flags & SCH_PURE) != 0,
                               .unsafe = (p->flags & SCH_UNSAFE) != 0,
                               .hidden = (p->flags & SCH_HIDDEN) != 0,
                               .noperands = p->nspecs};
  return ctx_give(NULL, tess_prim_info, &info, out);
}

static const char *const kind_names[] = {
#define KIND(name, type, text) #name,
    SCH_KINDS(KIND)
#undef KIND
};

tess_status tess_prim_operand_get(uint32_t i, uint32_t k,
                                  tess_prim_operand *out) {
  if (i >= sch_nprims || k >= sch_prims[i]->nspecs) return TESS_NOT_FOUND;
  const sch_spec *sp = &sch_prims[i]->specs[k];
  const tess_prim_operand info = {.name = sp->name,
                                  .help = sp->help,
                                  .kind = kind_names[sp->kind],
                                  .role = vm_doc_role(sp),
                                  .required = sp->dflt.required &&
                                              sp->role != SCH_ROLE_DECISION,
                                  .default_text = vm_doc_default(sp)};
  return ctx_give(NULL, tess_prim_operand, &info, out);
}

tess_status tess_prim_refusal_get(uint32_t i, uint32_t k, const char **name,
                                  const char **text) {
  sch_reason r = i < sch_nprims ? vm_doc_refusal(sch_prims[i], k) : SCH_R_NONE;
  if (r == SCH_R_NONE) return TESS_NOT_FOUND;
  *name = sch_reason_name(r);
  *text = sch_reason_text(r);
  return TESS_OK;
}

/* ---- docs --------------------------------------------------------------- */

typedef struct ask {
  tess_context *c;
  const char *name; /* NULL: all */
  void (*put)(strbuf *out, void *ud);
  char **text;
} ask;

static void put_doc(strbuf *out, void *ud) {
  const ask *a = ud;
  if (a->name)
    vm_doc_page(sch_find_prim(a->name), out);
  else
    vm_doc_reference(out);
}

static void put_stubs(strbuf *out, void *ud) {
  (void)ud;
  vm_doc_stubs(out);
}

static tess_status answer(void *ud) {
  ask *a = ud;
  if (a->name && !sch_find_prim(a->name))
    return ctx_fail(a->c, TESS_NOT_FOUND, "there is no primitive '%.100s'",
                    a->name);
  *a->text = api_text(a->c, a->put, a);
  return TESS_OK;
}

tess_status tess_prim_doc(tess_context *c, const char *name, char **markdown) {
  ask a = {c, name, put_doc, markdown};
  *markdown = NULL;
  return ctx_run(c, answer, &a);
}

tess_status tess_prim_stubs(tess_context *c, char **lua) {
  ask a = {c, NULL, put_stubs, lua};
  *lua = NULL;
  return ctx_run(c, answer, &a);
}
