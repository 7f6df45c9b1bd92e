/* SPDX-License-Identifier: Apache-2.0
 * Stores how well a run's cost model predicted, batch by batch. */
#include "search/database/database.h"

#include <math.h>

static void bind_number(sqlite3_stmt *q, int at, double x) {
  if (isnan(x))
    sqlite3_bind_null(q, at);
  else
    sqlite3_bind_double(q, at, x);
}

tess_status database_put_quality(database *d, const database_key *k,
                                 uint64_t seed, const char *model,
                                 const tess_quality *x) {
  static const char text[] =
      "INSERT OR REPLACE INTO quality VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  sqlite3_stmt *q = NULL;
  int code = sqlite3_prepare_v2(d->db, text, -1, &q, NULL);
  if (code == SQLITE_OK) {
    database_bind_key(q, k);
    sqlite3_bind_int64(q, 4, (int64_t)seed);
    sqlite3_bind_text(q, 5, model, -1, SQLITE_STATIC);
    sqlite3_bind_int64(q, 6, x->trials);
    sqlite3_bind_int64(q, 7, x->n);
    bind_number(q, 8, x->rmse);
    bind_number(q, 9, x->rank_accuracy);
    bind_number(q, 10, x->top_k_recall);
    code = sqlite3_step(q);
  }
  tess_status s = code == SQLITE_DONE
                      ? TESS_OK
                      : database_fail(d, "a cost model's quality cannot be "
                                         "stored");
  sqlite3_finalize(q);
  return s;
}
