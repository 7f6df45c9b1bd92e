/* SPDX-License-Identifier: Apache-2.0
 * Reference documentation generated from the primitives' declarations. */
#ifndef VM_DOC_DOC_H
#define VM_DOC_DOC_H

#include "schedule/sig.h"

/* A default as Lua; "nil" for none, "" for a required operand. */
const char *vm_doc_default(const sch_spec *sp);
/* "in" "attr" "decision" "out" */
const char *vm_doc_role(const sch_spec *sp);
/* The k-th refusal reason, each once (lists shared by primitives overlap);
 * SCH_R_NONE past the last. */
sch_reason vm_doc_refusal(const sch_prim *p, uint32_t k);
/* One primitive's page, as Markdown. */
void vm_doc_page(const sch_prim *p, strbuf *out);
/* All pages, after a table of contents. */
void vm_doc_reference(strbuf *out);
/* LuaCATS annotations, for editors. */
void vm_doc_stubs(strbuf *out);
/* include/tessera/primitives.h: a typed inline function for each. */
void vm_doc_header(strbuf *out);

#endif
