/* SPDX-License-Identifier: Apache-2.0
 * Public API of targets: text, fields.  measure/api_target.c makes them, since
 * a device may have to be asked. */
#include "backends/object.h"

tess_target *tess_target_hold(tess_target *t) {
  if (t) t->refs++;
  return t;
}

void tess_target_free(tess_target *t) {
  if (!t || --t->refs) return;
  str_free(&t->text);
  mem_free(&t->c->heap, t, sizeof *t);
}

const char *tess_target_text(tess_target *t) { return str_get(&t->text); }

int64_t tess_target_int(tess_target *t, const char *field) {
  return target_int(&t->t, field);
}

tess_status tess_target_check_field(tess_target *t, const char *field) {
  if (!field) return ctx_fail(t->c, TESS_INVALID, "target: there is no name");
  return target_check_field(field, &t->c->err);
}

tess_status tess_target_check_feature(tess_target *t, const char *feature) {
  if (!feature) return ctx_fail(t->c, TESS_INVALID, "target: there is no name");
  return target_check_feature(&t->t, feature, &t->c->err);
}

int tess_target_has(tess_target *t, const char *feature) {
  return feature && target_has(&t->t, feature);
}
