/* SPDX-License-Identifier: Apache-2.0
 * Queries that hold for all backends. */
#include "backends/backend.h"
#include "base/clock.h"
#include <stdio.h>
#include <string.h>

static const char *const form_names[BACKEND_NFORMS] = {
#define FORM(id, name) name,
#include "backends/form.def"
#undef FORM
};

const backend *backend_find(const char *name) {
  for (size_t i = 0; backend_table[i]; i++)
    if (!strcmp(backend_table[i]->name, name)) return backend_table[i];
  return NULL;
}

int32_t backend_launch(const backend *b, const backend_code *c, void **args,
                       const int64_t *sizes, const tess_runtime *rt) {
  double seconds;
  return b->launch ? b->launch(c, args, sizes, rt)
                   : b->device->time(c, args, NULL, sizes, 1, &seconds);
}

int32_t backend_time(const backend *b, const backend_code *c, void **args,
                     void *const *resident, const int64_t *sizes,
                     const tess_runtime *rt, uint64_t runs, double *seconds) {
  if (b->device)
    return b->device->time(c, args, resident, sizes, runs, seconds);
  int32_t status = 0;
  double start = clock_now();
  for (uint64_t i = 0; i < runs && !status; i++)
    status = b->launch(c, args, sizes, rt);
  *seconds = clock_now() - start;
  return status;
}

const char *backend_why(const backend *b, const backend_code *c, int32_t status,
                        char out[BACKEND_WHY]) {
  const char *why = b && b->device ? b->device->why(c) : "";
  bool known = status > 0 && status <= TESS_UNWRITTEN;
  if (*why) return why;
  snprintf(out, BACKEND_WHY, "the kernel returned %d (%s)", status,
           known ? err_status_text((tess_status)status) : "?");
  return out;
}

const char *backend_names(char *out, size_t n) {
  size_t at = 0;
  for (size_t i = 0; backend_table[i] && at < n; i++)
    at += (size_t)snprintf(out + at, n - at, "%s%s", i ? ", " : "",
                           backend_table[i]->name);
  return out;
}

void backend_on_fatal(void (*fn)(const char *message)) {
  for (size_t i = 0; backend_table[i]; i++)
    if (backend_table[i]->on_fatal) backend_table[i]->on_fatal(fn);
}

tess_status backend_check_host(const backend *b, err_state *e) {
  return !b->own_process
             ? TESS_OK
             : err_set(e, TESS_UNSUPPORTED,
                       "kernels for '%s' are loaded by workers only: their "
                       "driver must not share the host's process",
                       b->name);
}

static bool has_form(const backend *b, uint32_t form) {
  return form < BACKEND_NFORMS && (b->forms & 1u << form);
}

tess_status backend_check_form(const backend *b, uint32_t form, err_state *e) {
  return has_form(b, form)
             ? TESS_OK
             : err_set(e, TESS_UNSUPPORTED, "the backend '%s' gives no '%s'",
                       b->name,
                       form < BACKEND_NFORMS ? form_names[form] : "such form");
}

tess_status backend_find_source(const backend *b, const char *name,
                                backend_form *out, err_state *e) {
  char known[BACKEND_NFORMS * 16] = "";
  size_t at = 0;
  bool llvm = !strcmp(name, "llvm");
  for (uint32_t f = 0; f < BACKEND_NFORMS; f++) {
    if (f == BACKEND_CODE || f == BACKEND_OBJECT || !has_form(b, f)) continue;
    *out = (backend_form)f;
    if (!strcmp(form_names[f], name) || (llvm && f == BACKEND_IR))
      return TESS_OK;
    at += (size_t)snprintf(known + at, sizeof known - at, "%s\"%s\"%s",
                           at ? ", " : "", form_names[f],
                           f == BACKEND_IR ? " (or \"llvm\")" : "");
  }
  return err_set(e, TESS_NOT_FOUND,
                 "a kernel for '%s' has the sources %s, not \"%.40s\"", b->name,
                 at ? known : "none", name);
}

tess_status backend_generate(ir_program *p, const char *name,
                             tess_status (*f)(void *ud), void *ud,
                             const strbuf *out, err_state *e) {
  mem_note(p->heap, "code generation", name);
  tess_status s = mem_protect(p->heap, f, ud);
  if (!s) s = str_status(out);
  if (s && e->code != s)
    err_ran_out(e, p->heap, s, "compiling '%s'", ir_text(p, ir_entry(p)->name));
  mem_note(p->heap, NULL, NULL);
  return s;
}
