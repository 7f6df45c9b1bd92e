/* SPDX-License-Identifier: Apache-2.0
 * The public functions of databases.  Around what may take long stand
 * database_begin and database_end, so that tess_stop ends it. */
#include "search/database/database.h"

tess_status tess_database_open(tess_context *c, const char *path,
                               tess_database **out) {
  return database_open(c, path, out);
}

tess_status tess_database_open_readonly(tess_context *c, const char *path,
                                        tess_database **out) {
  return database_open_readonly(c, path, out);
}

void tess_database_free(tess_database *d) { database_free(d); }

/* ---- records ------------------------------------------------------------ */

tess_status tess_database_filter(tess_database *d,
                                 const tess_record_filter *in) {
  return database_take_filter(d, in);
}

tess_status tess_database_count(tess_database *d, uint64_t *n) {
  database_begin(d);
  return database_end(d, database_count(d, n));
}

tess_status tess_database_row(tess_database *d, uint64_t k, tess_record *out) {
  database_begin(d);
  return database_end(d, database_row(d, k, out));
}

tess_status tess_database_group(tess_database *d, uint64_t k,
                                tess_record_group *out) {
  database_begin(d);
  return database_end(d, database_group(d, k, out));
}

tess_status tess_database_best_of(tess_database *d, tess_program *p,
                                  const tess_best_filter *in,
                                  tess_record *out) {
  tess_best_filter f = TESS_INIT(tess_best_filter);
  uint32_t groups;
  tess_status s = ctx_fits(d->c, tess_record, out);
  if (s == TESS_OK && in) s = ctx_take(d->c, tess_best_filter, in, &f);
  database_begin(d);
  if (s == TESS_OK) s = database_best(d, p, &f, out, &groups);
  return database_end(d, s);
}

tess_status tess_database_best(tess_database *d, tess_program *p,
                               const char *target, tess_record *out) {
  const tess_best_filter f = {.struct_size = sizeof f, .target = target};
  return tess_database_best_of(d, p, &f, out);
}

tess_status tess_database_trace(tess_database *d, int64_t id,
                                tess_trace **out) {
  return database_trace(d, id, out);
}

tess_status tess_database_run(tess_database *d, uint64_t k, tess_run *out) {
  database_begin(d);
  return database_end(d, database_get_run(d, k, out));
}

/* ---- changes ------------------------------------------------------------ */

tess_status tess_database_add(tess_database *d, tess_trace *t,
                              const char *target, const char *policy,
                              uint32_t n, const double *sample) {
  return database_add(d, t, target, policy, n, sample);
}

tess_status tess_database_remove(tess_database *d, const tess_record_filter *f,
                                 uint32_t keep, int dry, uint64_t *removed) {
  database_begin(d);
  return database_end(d, database_remove(d, f, keep, dry, removed));
}

tess_status tess_database_prune(tess_database *d, uint32_t keep,
                                uint64_t *removed) {
  *removed = 0;
  if (keep == 0)
    return ctx_fail(d->c, TESS_INVALID, "pruning keeps one record or more");
  return tess_database_remove(d, NULL, keep, 0, removed);
}

tess_status tess_database_merge(tess_database *d, const char *path,
                                uint64_t *added) {
  database_begin(d);
  return database_end(d, database_merge(d, path, added));
}

/* ---- files -------------------------------------------------------------- */

tess_status tess_database_export(tess_database *d, const char *path) {
  database_begin(d);
  return database_end(d, database_export(d, path));
}

tess_status tess_database_import(tess_database *d, const char *path,
                                 uint64_t *added) {
  database_begin(d);
  return database_end(d, database_import(d, path, added));
}

tess_status tess_database_verify(tess_database *d,
                                 void (*found)(void *ud, const char *what),
                                 void *ud) {
  database_begin(d);
  return database_end(d, database_verify(d, found, ud));
}
