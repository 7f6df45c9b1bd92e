/* SPDX-License-Identifier: Apache-2.0
 * sketch_of(decisions, trace): an SQL function that parses a record and returns
 * its sketch's hash, or NULL for a damaged record. */
#include "search/database/database.h"
#include "vm/text/text.h"

typedef struct contents {
  mem_heap *heap;
  const char *text; /* of the trace */
  const void *decisions;
  size_t ntext, ndecisions; /* bytes */
  vm_trace t;
  vm_decisions d;
} contents;

/* The trace contains the decisions, too; both must agree. */
static tess_status read_contents(void *ud) {
  contents *r = ud;
  err_state err;
  vm_trace_init(&r->t, r->heap);
  tess_status s = vm_read_json(&r->t, r->text, r->ntext, NULL, &err);
  if (s != TESS_OK) return s;
  vm_get_decisions(&r->t, r->heap, &r->d);
  size_t n = r->d.n * sizeof *r->d.v;
  bool same = n == r->ndecisions && (!n || !memcmp(r->d.v, r->decisions, n));
  return same ? TESS_OK : TESS_INVALID;
}

/* Out of memory is an error of the query, not of the record. */
static void set_sketch_result(sqlite3_context *q, database *d, contents *r) {
  uint64_t capped = r->heap->capped;
  tess_status s = mem_protect(r->heap, read_contents, r);
  if (s == TESS_OK)
    sqlite3_result_int64(q, (sqlite3_int64)vm_sketch_hash(&r->t));
  else if (s == TESS_NOMEM || r->heap->capped != capped)
    d->lacked = s, sqlite3_result_error_nomem(q);
  else
    sqlite3_result_null(q);
}

/* sketch_of(decisions, trace) */
static void sketch_of(sqlite3_context *q, int n, sqlite3_value **v) {
  database *d = sqlite3_user_data(q);
  contents r = {.heap = &d->c->heap, .t.heap = &d->c->heap};
  (void)n;
  d->lacked = TESS_OK;
  r.decisions = sqlite3_value_blob(v[0]);
  r.ndecisions = (size_t)sqlite3_value_bytes(v[0]);
  r.text = (const char *)sqlite3_value_text(v[1]);
  r.ntext = (size_t)sqlite3_value_bytes(v[1]);
  if (r.text)
    set_sketch_result(q, d, &r);
  else
    sqlite3_result_null(q);
  vec_free(r.heap, &r.d);
  vm_trace_free(&r.t);
}

tess_status database_add_functions(database *d) {
  int code = sqlite3_create_function(d->db, "sketch_of", 2,
                                     SQLITE_UTF8 | SQLITE_DETERMINISTIC, d,
                                     sketch_of, NULL, NULL);
  return code == SQLITE_OK ? TESS_OK : database_fail(d, "opening");
}
