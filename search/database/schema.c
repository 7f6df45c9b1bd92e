/* SPDX-License-Identifier: Apache-2.0
 * The schema of databases: the tables, and what files of earlier engines lack
 * of them.  Changes only add, so earlier engines can read and write such a
 * file, too. */
#include "search/database/database.h"

#include <limits.h>
#include <stdlib.h>

/* A record is one of a run: of which batch (round), at which place of it. */
#define RUN_COLUMNS                                                     \
  "  run INTEGER NOT NULL DEFAULT 0, round INTEGER NOT NULL DEFAULT 0," \
  "  slot INTEGER NOT NULL DEFAULT 0, elapsed REAL, predicted REAL"
/* A run of tuning: what it was asked, and how far it came.  `after` is the last
 * record that was there before it, `first` the session's count then;
 * `transfer`: whether other workloads' records might teach it, NULL: unknown;
 * `unscheduled`: seconds of the unscheduled program, NULL: unknown.
 */
#define RUN_TABLE(where)                                                      \
  "CREATE TABLE IF NOT EXISTS " where "run ("                                 \
  "  id INTEGER PRIMARY KEY, workload INTEGER NOT NULL,"                      \
  "  target TEXT NOT NULL, policy TEXT NOT NULL, space INTEGER NOT NULL,"     \
  "  seed INTEGER NOT NULL, strategy TEXT NOT NULL, model TEXT NOT NULL,"     \
  "  batch INTEGER NOT NULL, after INTEGER NOT NULL, first INTEGER NOT NULL," \
  "  engine TEXT NOT NULL, started_at TEXT NOT NULL DEFAULT"                  \
  "    (strftime('%Y-%m-%dT%H:%M:%SZ')),"                                     \
  "  ended TEXT NOT NULL DEFAULT '', seconds REAL NOT NULL DEFAULT 0,"        \
  "  funnel TEXT NOT NULL DEFAULT '', ledger TEXT NOT NULL DEFAULT '',"       \
  "  transfer INTEGER, unscheduled REAL);"

static const char schema[] =
    "PRAGMA journal_mode = WAL;"
    "BEGIN IMMEDIATE;"
    "CREATE TABLE IF NOT EXISTS meta ("
    "  key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;"
    "INSERT OR IGNORE INTO meta VALUES ('schema', '1');"
    "CREATE TABLE IF NOT EXISTS workload ("
    "  hash INTEGER PRIMARY KEY, name TEXT NOT NULL, program BLOB NOT NULL);"
    "CREATE TABLE IF NOT EXISTS record ("
    "  id INTEGER PRIMARY KEY, workload INTEGER NOT NULL REFERENCES workload,"
    "  target TEXT NOT NULL, policy TEXT NOT NULL, engine TEXT NOT NULL,"
    "  sketch INTEGER NOT NULL, decisions BLOB NOT NULL, status TEXT NOT NULL,"
    "  message TEXT NOT NULL, seconds REAL, samples BLOB NOT NULL,"
    "  program_hash INTEGER NOT NULL, trace TEXT NOT NULL,"
    "  stored_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%SZ')),"
    "  checked INTEGER NOT NULL DEFAULT 0," RUN_COLUMNS ");"
    "CREATE INDEX IF NOT EXISTS record_key ON record"
    "  (workload, target, policy);"
    "CREATE TABLE IF NOT EXISTS session ("
    "  workload INTEGER NOT NULL, target TEXT NOT NULL, policy TEXT NOT NULL,"
    "  seed INTEGER NOT NULL, next INTEGER NOT NULL,"
    "  PRIMARY KEY (workload, target, policy, seed)) WITHOUT ROWID;"
    "CREATE TABLE IF NOT EXISTS quality ("
    "  workload INTEGER NOT NULL, target TEXT NOT NULL, policy TEXT NOT NULL,"
    "  seed INTEGER NOT NULL, model TEXT NOT NULL, trials INTEGER NOT NULL,"
    "  n INTEGER NOT NULL, rmse REAL, rank_accuracy REAL, top_k_recall REAL,"
    "  PRIMARY KEY (workload, target, policy, seed, model, trials))"
    "  WITHOUT ROWID;" RUN_TABLE("main.") "COMMIT;";

/* Of files without the column `checked`: engines of that time compared exactly
 * the results that were better than all earlier ones. */
#define WERE_CHECKED                                               \
  "(SELECT id FROM ("                                              \
  "  SELECT id, seconds, min(seconds) OVER ("                      \
  "    PARTITION BY workload, target, policy ORDER BY id"          \
  "    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS least" \
  "  FROM main.record WHERE status = 'OK')"                        \
  "  WHERE least IS NULL OR seconds < least)"
static const char add_checked[] =
    "ALTER TABLE main.record ADD COLUMN checked INTEGER NOT NULL DEFAULT 0;"
    "UPDATE main.record SET checked = 1 WHERE id IN " WERE_CHECKED;
#define NO_RUNS                                                          \
  " 0 AS run, 0 AS round, 0 AS slot, NULL AS elapsed, NULL AS predicted" \
  " FROM main.record;" RUN_TABLE("temp.")
static const char show_checked[] =
    "CREATE TEMP VIEW record AS SELECT *, id IN " WERE_CHECKED
    " AS checked FROM main.record";
static const char show_both[] =
    "CREATE TEMP VIEW record AS SELECT *, id IN " WERE_CHECKED
    " AS checked," NO_RUNS;

/* Of files of engines that kept no runs. */
static const char add_runs[] =
    "ALTER TABLE main.record ADD COLUMN run INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE main.record ADD COLUMN round INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE main.record ADD COLUMN slot INTEGER NOT NULL DEFAULT 0;"
    "ALTER TABLE main.record ADD COLUMN elapsed REAL;"
    "ALTER TABLE main.record ADD COLUMN predicted REAL;" RUN_TABLE("main.");
static const char show_runs[] = "CREATE TEMP VIEW record AS SELECT *," NO_RUNS;

/* Of those whose runs did not tell of transfer. */
static const char add_transfer[] =
    "ALTER TABLE main.run ADD COLUMN transfer INTEGER;";
static const char show_transfer[] =
    "CREATE TEMP VIEW run AS SELECT *, NULL AS transfer, NULL AS unscheduled"
    " FROM main.run";

/* Of those whose runs did not tell of the unscheduled program. */
static const char add_unscheduled[] =
    "ALTER TABLE main.run ADD COLUMN unscheduled REAL;";
static const char show_unscheduled[] =
    "CREATE TEMP VIEW run AS SELECT *, NULL AS unscheduled FROM main.run";

/* How long to wait for another writer's lock, in milliseconds. */
enum { BUSY_MS = 30000 };
static const char patience_name[] = "TESSERA_DATABASE_PATIENCE";

/* 0: it is set, and to no number of milliseconds. */
static int read_patience(const char *text) {
  char *end;
  if (*text < '0' || *text > '9') return 0;
  long ms = strtol(text, &end, 10);
  return *end || ms > INT_MAX ? 0 : (int)ms;
}

int database_patience(void) {
  const char *text = getenv(patience_name);
  int ms = text ? read_patience(text) : 0;
  return ms > 0 ? ms : BUSY_MS;
}

tess_status database_check_patience(tess_context *c) {
  const char *text = getenv(patience_name);
  if (!text || read_patience(text) > 0) return TESS_OK;
  return ctx_fail(c, TESS_INVALID,
                  "the environment variable %s is '%s', not an integer of "
                  "milliseconds from 1 on",
                  patience_name, text);
}

tess_status database_run(database *d, const char *sql, const char *what) {
  if (sqlite3_exec(d->db, sql, NULL, NULL, NULL) == SQLITE_OK) return TESS_OK;
  return database_fail(d, what);
}

/* Creates the tables.  When several processes create one file at once, changing
 * the journal mode fails at once with SQLITE_BUSY in all but one of them,
 * without SQLite's usual waiting: hence the retries. */
tess_status database_make_tables(database *d) {
  for (int waited = 0; waited < database_patience(); waited += 10) {
    if (sqlite3_exec(d->db, schema, NULL, NULL, NULL) == SQLITE_OK)
      return TESS_OK;
    if ((sqlite3_errcode(d->db) & 0xff) != SQLITE_BUSY) break;
    if (!sqlite3_get_autocommit(d->db)) break;
    sqlite3_sleep(10);
  }
  return database_fail(d, "preparing its tables");
}

static tess_status lacks_column(database *d, const char *table,
                                const char *name, bool *yes) {
  sqlite3_stmt *q = NULL;
  int code = sqlite3_prepare_v2(d->db,
                                "SELECT 1 FROM pragma_table_info(?1) "
                                "WHERE name = ?2",
                                -1, &q, NULL);
  if (code == SQLITE_OK) code = sqlite3_bind_text(q, 1, table, -1, NULL);
  if (code == SQLITE_OK) code = sqlite3_bind_text(q, 2, name, -1, NULL);
  if (code == SQLITE_OK) code = sqlite3_step(q);
  tess_status s = code == SQLITE_ROW || code == SQLITE_DONE
                      ? TESS_OK
                      : database_fail(d, "reading its tables");
  *yes = code == SQLITE_DONE;
  sqlite3_finalize(q);
  return s;
}

/* Columns that files of earlier engines lack, in the order in which they were
 * added: a file that kept no runs has none that lacks one of theirs. */
enum { CHECKED, RUNS, TRANSFER, UNSCHEDULED, NCOLUMNS };
static const struct {
  const char *table, *name, *add;
} added[NCOLUMNS] = {
    [CHECKED] = {"record", "checked", add_checked},
    [RUNS] = {"record", "run", add_runs},
    [TRANSFER] = {"run", "transfer", add_transfer},
    [UNSCHEDULED] = {"run", "unscheduled", add_unscheduled},
};

static tess_status add_lacking(database *d) {
  tess_status s = TESS_OK;
  for (int i = 0; i < NCOLUMNS && s == TESS_OK; i++) {
    bool lacks = false;
    s = lacks_column(d, added[i].table, added[i].name, &lacks);
    if (s == TESS_OK && lacks)
      s = database_run(d, added[i].add, "completing its tables");
  }
  return s;
}

/* Views in place of tables. */
static tess_status show_lacking(database *d, const bool *lacks) {
  const char *doing = "completing its tables";
  const char *show = !lacks[RUNS]     ? show_checked
                     : lacks[CHECKED] ? show_both
                                      : show_runs;
  tess_status s = TESS_OK;
  if (lacks[RUNS] || lacks[CHECKED]) s = database_run(d, show, doing);
  if (s != TESS_OK || lacks[RUNS]) return s;
  if (lacks[TRANSFER]) return database_run(d, show_transfer, doing);
  return lacks[UNSCHEDULED] ? database_run(d, show_unscheduled, doing) : s;
}

/* Adds what tables of earlier engines lack; another process may have been
 * faster.  Where the file may not be written a view of this connection stands
 * in for the table. */
tess_status database_migrate(database *d) {
  bool lacks[NCOLUMNS] = {false}, some = false;
  tess_status s = TESS_OK;
  for (int i = 0; i < NCOLUMNS && s == TESS_OK; i++) {
    s = lacks_column(d, added[i].table, added[i].name, &lacks[i]);
    some = some || lacks[i];
  }
  if (s != TESS_OK || !some) return s;
  if (sqlite3_db_readonly(d->db, "main")) return show_lacking(d, lacks);
  s = database_run(d, "BEGIN IMMEDIATE", "completing its tables");
  if (s != TESS_OK) return s;
  s = add_lacking(d);
  if (s == TESS_OK) s = database_run(d, "COMMIT", "completing its tables");
  if (s != TESS_OK) sqlite3_exec(d->db, "ROLLBACK", NULL, NULL, NULL);
  return s;
}
