/* SPDX-License-Identifier: Apache-2.0
 * Domains of a database's columns, a line each: SQLite keeps any value in any
 * column, and what another program wrote there must not pass for a result. */
#include "search/database/columns.h"
#include "measure/measure.h"

#include <stdio.h>

/* ---- domains ------------------------------------------------------------ */

/* A condition on the column's value x, which may ask other columns of the row,
 * and what the value must be. */
typedef struct domain {
  const char *holds, *must;
} domain;

#define IS_INTEGER "typeof(x) = 'integer'"
#define IS_NUMBER "typeof(x) IN ('integer', 'real')"
#define IS_TEXT "typeof(x) = 'text'"
#define IN_BOUNDS(x) x " BETWEEN 1e-10 AND 31622400.0"
#define POSSIBLE "a time from 1e-10 to 31622400 s"

static const domain an_integer = {IS_INTEGER, "an integer"};
static const domain a_count = {IS_INTEGER " AND x >= 0",
                               "an integer from 0 on"};
static const domain a_batch = {IS_INTEGER " AND x BETWEEN 1 AND 4294967295",
                               "an integer from 1 to 4294967295"};
static const domain a_flag = {IS_INTEGER " AND x IN (0, 1)", "0 or 1"};
static const domain maybe_a_flag = {
    "x IS NULL OR (" IS_INTEGER " AND x IN (0, 1))", "0, 1 or NULL"};
static const domain a_text = {IS_TEXT, "a text"};
static const domain a_version = {IS_TEXT " AND x <> ''",
                                 "the version of an engine"};
static const domain a_date = {IS_TEXT
                              " AND strftime('%Y-%m-%dT%H:%M:%SZ', x) = x",
                              "a time as 2026-01-31T12:00:00Z"};
static const domain a_workload = {IS_INTEGER
                                  " AND x IN (SELECT hash FROM workload)",
                                  "the hash of a row of the table workload"};
/* Parsing one takes long beside the rest: each is parsed once.  Of a single row
 * nothing else is looked at. */
static const domain a_target = {
    IS_TEXT " AND x IN (WITH every AS MATERIALIZED (SELECT target FROM record"
            " UNION SELECT target FROM run UNION SELECT target FROM session"
            " UNION SELECT target FROM quality)"
            " SELECT target FROM every WHERE is_target(target))",
    "a target"};
static const char one_target[] = IS_TEXT " AND is_target(x)";
static const domain a_policy = {IS_TEXT " AND is_policy(x)",
                                "a measuring policy"};
/* Of records from elsewhere tess_database_add was told any. */
static const domain maybe_own_policy = {
    IS_TEXT " AND (is_policy(x) OR (run = 0 AND x <> ''))",
    "a measuring policy"};
static const domain a_status = {IS_TEXT " AND is_status(x)", "a status"};
static const domain an_end = {IS_TEXT
                              " AND (x IN ('', 'PRUNED') OR is_status(x))",
                              "a status, PRUNED or empty"};
static const domain a_result = {"(x IS NULL AND status <> 'OK') OR (" IS_NUMBER
                                " AND " IN_BOUNDS("x") ")",
                                POSSIBLE};
static const domain some_results = {"typeof(x) = 'blob' AND are_times(x)",
                                    "doubles, each " POSSIBLE};
static const domain a_duration = {IS_NUMBER " AND x >= 0 AND x < 1e300",
                                  "a number of seconds from 0 on"};
static const domain maybe_a_duration = {
    "x IS NULL OR (" IS_NUMBER " AND x >= 0 AND x < 1e300)",
    "a number of seconds from 0 on, or NULL"};
static const domain maybe_a_score = {"x IS NULL OR " IS_NUMBER,
                                     "a number or NULL"};
static const domain maybe_an_error = {"x IS NULL OR (" IS_NUMBER " AND x >= 0)",
                                      "a number from 0 on, or NULL"};
static const domain maybe_a_share = {"x IS NULL OR (" IS_NUMBER
                                     " AND x BETWEEN 0 AND 1)",
                                     "a number from 0 to 1, or NULL"};
static const domain a_run = {IS_INTEGER
                             " AND (x = 0 OR x IN (SELECT id FROM run))",
                             "0 or the id of a row of the table run"};
static const domain some_decisions = {
    "typeof(x) = 'blob' AND length(x) % 8 = 0", "integers of 64 bits"};
static const domain a_trace = {IS_TEXT " AND json_valid(x)", "JSON"};

/* ---- columns ------------------------------------------------------------ */

typedef struct column {
  const char *table, *who; /* who: an expression that names the row */
  const char *name;
  const domain *in;
} column;

#define RECORD "record", "'record ' || id"
#define RUN "run", "'run ' || id"
#define SESSION "session", "'session of seed ' || seed"
#define QUALITY \
  "quality", "'quality of model ' || model || ' at ' || trials || ' trials'"

static const column column_table[] = {
    {"workload", "printf('workload %016llx', hash)", "name", &a_text},
    {RECORD, "workload", &a_workload},
    {RECORD, "target", &a_target},
    {RECORD, "policy", &maybe_own_policy},
    {RECORD, "engine", &a_version},
    {RECORD, "sketch", &an_integer},
    {RECORD, "decisions", &some_decisions},
    {RECORD, "status", &a_status},
    {RECORD, "message", &a_text},
    {RECORD, "seconds", &a_result},
    {RECORD, "samples", &some_results},
    {RECORD, "program_hash", &an_integer},
    {RECORD, "trace", &a_trace},
    {RECORD, "stored_at", &a_date},
    {RECORD, "checked", &a_flag},
    {RECORD, "run", &a_run},
    {RECORD, "round", &a_count},
    {RECORD, "slot", &a_count},
    {RECORD, "elapsed", &maybe_a_duration},
    {RECORD, "predicted", &maybe_a_score},
    {RUN, "workload", &a_workload},
    {RUN, "target", &a_target},
    {RUN, "policy", &a_policy},
    {RUN, "space", &an_integer},
    {RUN, "seed", &an_integer},
    {RUN, "strategy", &a_text},
    {RUN, "model", &a_text},
    {RUN, "batch", &a_batch},
    {RUN, "after", &a_count},
    {RUN, "first", &a_count},
    {RUN, "engine", &a_version},
    {RUN, "started_at", &a_date},
    {RUN, "ended", &an_end},
    {RUN, "seconds", &a_duration},
    {RUN, "funnel", &a_text},
    {RUN, "ledger", &a_text},
    {RUN, "transfer", &maybe_a_flag},
    {RUN, "unscheduled", &maybe_a_duration},
    {SESSION, "workload", &an_integer},
    {SESSION, "target", &a_target},
    {SESSION, "policy", &a_policy},
    {SESSION, "seed", &an_integer},
    {SESSION, "next", &a_count},
    {QUALITY, "workload", &an_integer},
    {QUALITY, "target", &a_target},
    {QUALITY, "policy", &a_policy},
    {QUALITY, "seed", &an_integer},
    {QUALITY, "model", &a_text},
    {QUALITY, "trials", &a_count},
    {QUALITY, "n", &a_count},
    {QUALITY, "rmse", &maybe_an_error},
    {QUALITY, "rank_accuracy", &maybe_a_share},
    {QUALITY, "top_k_recall", &maybe_a_share},
    {"meta", "'meta ' || key", "value", &a_text}};

/* A value of any length is cut: the line is for people. */
#define SHOWN                            \
  "CASE WHEN length(quote(x)) > 64 THEN" \
  " substr(quote(x), 1, 60) || '...' ELSE quote(x) END"

static bool column_check(size_t i, bool alone, database_check *out) {
  if (i >= sizeof column_table / sizeof *column_table) return false;
  const column *k = &column_table[i];
  const char *holds = alone && k->in == &a_target ? one_target : k->in->holds;
  out->table = k->table;
  out->column = k->name;
  snprintf(out->sql, sizeof out->sql,
           "SELECT %s || ': %s is ' || " SHOWN " || ', not %s' FROM"
           " (SELECT *, %s AS x FROM %s) WHERE NOT coalesce(%s, 0)",
           k->who, k->name, k->in->must, k->name, k->table, holds);
  return true;
}

bool database_column_check(size_t i, database_check *out) {
  return column_check(i, false, out);
}

/* ---- functions of the conditions ---------------------------------------- */

static const char *text_argument(sqlite3_value **v) {
  const char *text = (const char *)sqlite3_value_text(v[0]);
  return text ? text : "";
}

/* What cannot be parsed is none; what only another machine can complete is. */
static void sql_is_target(sqlite3_context *q, int n, sqlite3_value **v) {
  const database *d = sqlite3_user_data(q);
  tess_target *t;
  tess_status s = tess_target_new(d->c, text_argument(v), &t);
  (void)n;
  tess_target_free(t);
  ctx_clear(d->c);
  sqlite3_result_int(q, s != TESS_PARSE && s != TESS_NOT_FOUND &&
                            s != TESS_INVALID);
}

/* Times that a function gave have its name, which may be any text. */
static void sql_is_policy(sqlite3_context *q, int n, sqlite3_value **v) {
  static const char own[] = DATABASE_OF_FUNCTION, name[] = " name=";
  const char *text = text_argument(v), *rest = text + sizeof own - 1;
  (void)n;
  if (strncmp(text, own, sizeof own - 1))
    sqlite3_result_int(q, measure_is_policy(text));
  else
    sqlite3_result_int(q, !*rest || !strncmp(rest, name, sizeof name - 1));
}

static void sql_is_status(sqlite3_context *q, int n, sqlite3_value **v) {
#define STATUS(id, value, text) #id,
  static const char *const known[] = {
#include <tessera/status.def>
  };
#undef STATUS
  const char *name = text_argument(v);
  size_t i = 0, end = sizeof known / sizeof *known;
  (void)n;
  while (i < end && strcmp(name, known[i])) i++;
  sqlite3_result_int(q, i < end);
}

/* Of a blob of doubles whether each is possible. */
static void sql_are_times(sqlite3_context *q, int n, sqlite3_value **v) {
  const char *at = sqlite3_value_blob(v[0]);
  size_t bytes = (size_t)sqlite3_value_bytes(v[0]);
  bool are = bytes % sizeof(double) == 0;
  (void)n;
  for (size_t i = 0; are && i < bytes; i += sizeof(double)) {
    double x;
    memcpy(&x, at + i, sizeof x);
    are = x >= database_least_time && x <= database_greatest_time;
  }
  sqlite3_result_int(q, are);
}

tess_status database_add_domains(database *d) {
  static const struct {
    const char *name;
    void (*f)(sqlite3_context *, int, sqlite3_value **);
  } list[] = {{"is_target", sql_is_target},
              {"is_policy", sql_is_policy},
              {"is_status", sql_is_status},
              {"are_times", sql_are_times}};
  for (size_t i = 0; i < sizeof list / sizeof *list; i++)
    if (sqlite3_create_function(d->db, list[i].name, 1,
                                SQLITE_UTF8 | SQLITE_DETERMINISTIC, d,
                                list[i].f, NULL, NULL) != SQLITE_OK)
      return database_fail(d, "verifying");
  return TESS_OK;
}

/* ---- one record --------------------------------------------------------- */

/* As damaged ones are found where records are read. */
static const char own_decisions[] =
    "SELECT 'record ' || id || ': its trace or decisions cannot be read, or do"
    " not belong together' FROM record WHERE id = ?1 AND"
    " sketch_of(decisions, trace) IS NULL";

tess_status
database_prepare_record_checks(database *d,
                               sqlite3_stmt *q[DATABASE_RECORD_CHECKS]) {
  database_check k;
  size_t n = 0;
  tess_status s = database_add_domains(d);
  for (size_t i = 0; s == TESS_OK && column_check(i, true, &k); i++) {
    char sql[DATABASE_CHECK_MAX + 16];
    if (strcmp(k.table, "record")) continue;
    snprintf(sql, sizeof sql, "%s AND id = ?1", k.sql);
    s = n + 1 < DATABASE_RECORD_CHECKS
            ? database_prepare(d, sql, &q[n++])
            : ctx_fail(d->c, TESS_INTERNAL, "more checks than there is room");
  }
  return s == TESS_OK ? database_prepare(d, own_decisions, &q[n]) : s;
}
