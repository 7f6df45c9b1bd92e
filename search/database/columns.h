/* SPDX-License-Identifier: Apache-2.0
 * The domain of each column of a database, as queries for the rows that hold a
 * value outside of it. */
#ifndef SEARCH_DATABASE_COLUMNS_H
#define SEARCH_DATABASE_COLUMNS_H

#include "search/database/database.h"

/* Columns of a record that go from file to file. */
#define DATABASE_COPIED                                                    \
  "workload, target, policy, engine, sketch, decisions, status, message, " \
  "seconds, samples, program_hash, trace, stored_at, checked"
/* A record is in a file when one of the same candidate, result and time is. */
#define DATABASE_SAME                                                   \
  "m.workload = o.workload AND m.target = o.target AND m.policy = "     \
  "o.policy AND m.sketch = o.sketch AND m.decisions = o.decisions AND " \
  "m.status = o.status AND m.seconds IS o.seconds"

enum { DATABASE_CHECK_MAX = 1200 };
typedef struct database_check {
  const char *table, *column;
  /* Gives a line a row: "record 3: seconds is -1.0, not a time from ...". */
  char sql[DATABASE_CHECK_MAX];
} database_check;

/* The i-th check, from 0; false past the last. */
bool database_column_check(size_t i, database_check *out);
/* Statements that check what an imported record says, of the id ?1: a line as
 * above where a column is out of its domain, or it is damaged; those past the
 * last stay NULL. */
enum { DATABASE_RECORD_CHECKS = 24 };
tess_status
database_prepare_record_checks(database *d,
                               sqlite3_stmt *q[DATABASE_RECORD_CHECKS]);
/* Defines the SQL functions that the queries call. */
tess_status database_add_domains(database *d);

#endif
