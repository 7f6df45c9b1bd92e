/* SPDX-License-Identifier: Apache-2.0
 * The reference of the primitives, made from their declarations. */
#ifndef VM_DOC_DOC_H
#define VM_DOC_DOC_H

#include "schedule/sig.h"

/* A default as Lua; "nil" where there is none, "" where it is required. */
const char *vm_doc_default(const sch_spec *sp);
/* "in" "attr" "decision" "out" */
const char *vm_doc_role(const sch_spec *sp);
/* The k-th reason it can refuse for, each once (lists that primitives share
 * overlap); SCH_R_NONE past the last. */
sch_reason vm_doc_refusal(const sch_prim *p, uint32_t k);
/* One primitive's page, as Markdown. */
void vm_doc_page(const sch_prim *p, strbuf *out);
/* All of them, after a list. */
void vm_doc_reference(strbuf *out);
/* LuaCATS annotations, for editors. */
void vm_doc_stubs(strbuf *out);

#endif
