/* SPDX-License-Identifier: Apache-2.0
 * The table of TVM's instructions and the corresponding primitives. */
#include "vm/text/tvm.h"

#define P(name) extern const sch_prim sch_prim_##name;
#include "schedule/prims.def"
#undef P

static const tvm_row rows[] = {
#define TVM(kind, name, inputs, attrs) \
  {#kind, &sch_prim_##name, inputs, attrs, false},
#define LATER(kind, name, inputs, attrs) \
  {#kind, &sch_prim_##name, inputs, attrs, true},
#include "vm/tvm.def"
#undef TVM
};

enum { NROWS = sizeof rows / sizeof *rows };

const tvm_row *vm_tvm_find_kind(const char *kind) {
  for (uint32_t i = 0; i < NROWS; i++)
    if (!strcmp(rows[i].kind, kind)) return &rows[i];
  return NULL;
}

const tvm_row *vm_tvm_find_prim(const sch_prim *p) {
  for (uint32_t i = 0; i < NROWS; i++)
    if (rows[i].prim == p && !rows[i].later) return &rows[i];
  return NULL;
}

static const char *const forms[] = {
    [TVM_PLAIN] = "",   [TVM_REST] = "rest:", [TVM_SIDE] = "side:",
    [TVM_KEY] = "key:", [TVM_FUNC] = "func:", [TVM_UNIFORM] = "uniform:"};

static uint32_t find_spec(const sch_prim *p, const char *name, size_t n) {
  uint32_t i = 0;
  while (i < p->nspecs &&
         (strncmp(p->specs[i].name, name, n) || p->specs[i].name[n]))
    i++;
  return i;
}

bool vm_tvm_next_field(const char **list, const sch_prim *p, tvm_field *out) {
  const char *at = *list + strspn(*list, " ");
  if (!*at) return false;
  out->form = TVM_PLAIN;
  for (tvm_form f = TVM_REST; f <= TVM_UNIFORM; f++)
    if (!strncmp(at, forms[f], strlen(forms[f]))) out->form = f;
  at += strlen(forms[out->form]);
  size_t n = strcspn(at, " ");
  out->spec = find_spec(p, at, n);
  *list = at + n;
  return true;
}

bool vm_tvm_has_prefix(const char *key) {
  enum { OWN, TVMS };
#define ANNOTATION(name, whose) \
  if (whose == TVMS && !strcmp(key, name)) return true;
#include "ir/annotations.def"
#undef ANNOTATION
  return !strncmp(key, TVM_KEY_PREFIX, strlen(TVM_KEY_PREFIX));
}
