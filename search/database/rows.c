/* SPDX-License-Identifier: Apache-2.0
 * The rows of a database, filtered and best first: tess_database_row, _filter
 * and _count. */
#include "search/database/database.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

/* Rows are read in order; asking for an earlier one restarts the query.
 * Damaged rows are skipped in the first pass and given in a second one. */
static const char rows_sql[] =
    "SELECT record.id, workload, name, target, policy, engine, status, seconds,"
    " program_hash, checked, run, round, slot, elapsed, predicted,"
    " sketch, stored_at" DATABASE_FILTERED
    " ORDER BY status <> 'OK', seconds, record.id";
static const char count_sql[] =
    "SELECT count(*)" DATABASE_FILTERED " AND (status <> 'OK' OR"
    " (typeof(seconds) IN ('real', 'integer') AND seconds BETWEEN ?9 AND"
    " ?10))";

/* Evaluated for each row when it is reached: sorting by it would parse all
 * traces first, which takes seconds for thousands of rows. */
static const char row_sql[] = "SELECT sketch_of(decisions, trace) IS NULL, "
                              "message, samples, decisions FROM record "
                              "WHERE id = ?1";

static bool has_time(tess_database *d) {
  return strcmp(database_text(d->rows, 6), "OK") ||
         database_has_time(d, d->rows, 7, sqlite3_column_int64(d->rows, 0));
}

/* Leaves the statement at its row, which has the record's message and
 * samples. */
static tess_status ask_damaged(tess_database *d, int64_t id, bool *yes) {
  sqlite3_reset(d->row);
  sqlite3_bind_int64(d->row, 1, id);
  int code = sqlite3_step(d->row);
  *yes = code == SQLITE_ROW && sqlite3_column_int(d->row, 0);
  return code == SQLITE_ROW || code == SQLITE_DONE
             ? TESS_OK
             : database_fail(d, "reading");
}

/* Whether the current pass gives the current row. */
static tess_status look_at_row(tess_database *d, bool *gives) {
  bool damaged;
  *gives = false;
  if (!has_time(d)) return TESS_OK;
  tess_status s = ask_damaged(d, sqlite3_column_int64(d->rows, 0), &damaged);
  *gives = damaged == d->second;
  d->passed_over |= damaged;
  return s;
}

static void end_rows(tess_database *d) {
  sqlite3_finalize(d->rows);
  sqlite3_finalize(d->row);
  d->rows = d->row = NULL;
}

/* Steps to the next row; resets the statements after the last one. */
static tess_status next_row(tess_database *d) {
  tess_status s = TESS_OK;
  bool gives = false;
  while (s == TESS_OK && !gives) {
    int code = sqlite3_step(d->rows);
    if (code == SQLITE_ROW) {
      s = look_at_row(d, &gives);
    } else if (code != SQLITE_DONE) {
      s = database_fail(d, "reading");
    } else if (d->passed_over && !d->second) {
      d->second = true;
      sqlite3_reset(d->rows);
    } else {
      s = TESS_NOT_FOUND;
    }
  }
  if (s != TESS_OK) end_rows(d);
  return s;
}

void database_bind_filter(const database *d, sqlite3_stmt *q) {
  const database_filter *f = &d->filter;
  if (f->of_workload) sqlite3_bind_int64(q, 1, (sqlite3_int64)f->workload);
  sqlite3_bind_text(q, 2, f->name, -1, SQLITE_STATIC); /* NULL: any */
  sqlite3_bind_text(q, 3, f->target, -1, SQLITE_STATIC);
  sqlite3_bind_text(q, 4, f->policy, -1, SQLITE_STATIC);
  sqlite3_bind_int(q, 5, f->checked);
  sqlite3_bind_text(q, 6, f->before, -1, SQLITE_STATIC);
  sqlite3_bind_int(q, 7, f->failed);
  sqlite3_bind_text(q, 8, f->sketches, -1, SQLITE_STATIC);
}

static tess_status start_rows(tess_database *d) {
  d->at = 0;
  d->passed_over = d->second = false;
  if (sqlite3_prepare_v2(d->db, rows_sql, -1, &d->rows, NULL) == SQLITE_OK &&
      sqlite3_prepare_v2(d->db, row_sql, -1, &d->row, NULL) == SQLITE_OK) {
    database_bind_filter(d, d->rows);
    return next_row(d);
  }
  tess_status s = database_fail(d, "reading");
  end_rows(d);
  return s;
}

static tess_status step_to(tess_database *d, uint64_t k) {
  tess_status s = TESS_OK;
  if (d->rows && k < d->at) end_rows(d);
  if (!d->rows) s = start_rows(d);
  for (; s == TESS_OK && d->at < k; d->at++) s = next_row(d);
  return s;
}

/* The samples of the row; none if the column is malformed. */
static const double *samples_at(sqlite3_stmt *q, int i, uint32_t *n) {
  const double *v = NULL;
  *n = 0;
  if (sqlite3_column_type(q, i) == SQLITE_BLOB) v = sqlite3_column_blob(q, i);
  size_t size = v ? (size_t)sqlite3_column_bytes(q, i) : 0;
  if (size % sizeof *v == 0) *n = (uint32_t)(size / sizeof *v);
  return *n ? v : NULL;
}

/* ---- shapes ------------------------------------------------------------- */

static const char *direction_of(tess_role role) {
  if (role == TESS_ROLE_OUTPUT) return "out ";
  return role == TESS_ROLE_INOUT ? "inout " : "";
}

/* "A: float32[4, 8], B: out float32[n]"; a symbolic extent is "?". */
static tess_status write_shapes(tess_program *p, strbuf *out) {
  char dtype[32];
  for (uint32_t i = 0; i < tess_program_nparams(p); i++) {
    tess_param param = TESS_INIT(tess_param);
    tess_status s = tess_program_param(p, i, &param);
    if (s != TESS_OK) return s;
    tess_dtype_text(param.dtype, dtype);
    str_printf(out, "%s%s: %s%s[", i ? ", " : "", param.name,
               direction_of(param.role), dtype);
    for (uint32_t k = 0; k < param.ndim; k++)
      if (param.shape[k] < 0)
        str_printf(out, "%s?", k ? ", " : "");
      else
        str_printf(out, "%s%lld", k ? ", " : "", (long long)param.shape[k]);
    str_putc(out, ']');
  }
  tess_status s = str_status(out);
  return s == TESS_OK ? s : ctx_ran_out(p->c, s, "the shapes of a workload");
}

/* Whether a program is damaged or memory was exhausted is told apart here: of a
 * damaged one there are no shapes, and its records can be read. */
static tess_status restore_shapes(tess_database *d, sqlite3_stmt *q) {
  tess_program *p;
  str_clear(&d->shapes);
  tess_status s = database_restore(d, sqlite3_column_blob(q, 0),
                                   (size_t)sqlite3_column_bytes(q, 0), &p);
  if (s == TESS_NOMEM || s == TESS_LIMIT) return s;
  if (s != TESS_OK) return TESS_OK;
  s = write_shapes(p, &d->shapes);
  tess_program_free(p);
  return s;
}

/* Records of one workload mostly come together. */
tess_status database_read_shapes(tess_database *d, uint64_t workload) {
  sqlite3_stmt *q = NULL;
  tess_status s = TESS_OK;
  if (d->has_shapes && d->shapes_of == workload) return TESS_OK;
  d->has_shapes = false;
  if (sqlite3_prepare_v2(d->db, "SELECT program FROM workload WHERE hash = ?1",
                         -1, &q, NULL) != SQLITE_OK)
    return database_fail(d, "reading");
  sqlite3_bind_int64(q, 1, (sqlite3_int64)workload);
  int code = sqlite3_step(q);
  if (code == SQLITE_ROW)
    s = restore_shapes(d, q);
  else
    s = database_fail(d, "reading");
  sqlite3_finalize(q);
  d->has_shapes = s == TESS_OK;
  d->shapes_of = workload;
  return s;
}

/* ---- filters ------------------------------------------------------------ */

void database_end_filter(tess_database *d) {
  database_filter *f = &d->filter;
  end_rows(d);
  database_end_groups(d);
  tess_text_free(d->c, f->name);
  tess_text_free(d->c, f->target);
  tess_text_free(d->c, f->policy);
  tess_text_free(d->c, f->before);
  tess_text_free(d->c, f->sketches);
  *f = (database_filter){0};
}

typedef struct filter_work {
  tess_database *d;
  const tess_record_filter *in;
  strbuf sketches;
} filter_work;

static char *copy_text(tess_context *c, const char *text) {
  return text ? ctx_text(c, text, strlen(text)) : NULL;
}

/* The time as the column has it. */
static tess_status read_time(const tess_database *d, const char *text,
                             char **out) {
  sqlite3_stmt *q = NULL;
  if (!text) return TESS_OK;
  int code = sqlite3_prepare_v2(
      d->db, "SELECT strftime('%Y-%m-%dT%H:%M:%SZ', ?1) WHERE ?1 LIKE '____-%'",
      -1, &q, NULL);
  if (code == SQLITE_OK) code = sqlite3_bind_text(q, 1, text, -1, NULL);
  if (code == SQLITE_OK) code = sqlite3_step(q);
  char time[32] = "";
  if (code == SQLITE_ROW)
    snprintf(time, sizeof time, "%s", database_text(q, 0));
  sqlite3_finalize(q);
  *out = *time ? copy_text(d->c, time) : NULL;
  if (*out) return TESS_OK;
  return ctx_fail(d->c, TESS_INVALID,
                  "'%s' is no time: write 2026-01-31 or 2026-01-31T12:00:00Z",
                  text);
}

/* "[1,-2]": as the column has them. */
static void write_sketches(const tess_record_filter *in, strbuf *list) {
  str_putc(list, '[');
  for (uint32_t i = 0; i < in->nsketch; i++)
    str_printf(list, "%s%" PRId64, i ? "," : "", (int64_t)in->sketch[i]);
  str_putc(list, ']');
}

static tess_status copy_filter(void *ud) {
  const filter_work *w = ud;
  database_filter *f = &w->d->filter;
  tess_context *c = w->d->c;
  f->of_workload = w->in->program != NULL;
  if (f->of_workload) f->workload = tess_program_hash(w->in->program);
  f->checked = w->in->checked != 0;
  f->name = copy_text(c, w->in->workload_name);
  f->target = copy_text(c, w->in->target);
  f->policy = copy_text(c, w->in->policy);
  if (w->in->sketch) f->sketches = ctx_text_of(c, &w->sketches);
  f->failed = w->in->failed != 0;
  return read_time(w->d, w->in->before, &f->before);
}

tess_status database_take_filter(tess_database *d,
                                 const tess_record_filter *in) {
  tess_record_filter all = TESS_INIT(tess_record_filter);
  if (in) {
    tess_status s = ctx_take(d->c, tess_record_filter, in, &all);
    if (s != TESS_OK) return s;
  }
  filter_work w = {.d = d, .in = &all};
  database_end_filter(d);
  str_init(&w.sketches, &d->c->heap);
  if (all.sketch) write_sketches(&all, &w.sketches);
  tess_status s = ctx_run(d->c, copy_filter, &w);
  str_free(&w.sketches);
  if (s != TESS_OK) database_end_filter(d);
  return s;
}

tess_status database_count(tess_database *d, uint64_t *n) {
  sqlite3_stmt *q;
  *n = 0;
  if (sqlite3_prepare_v2(d->db, count_sql, -1, &q, NULL) != SQLITE_OK)
    return database_fail(d, "counting");
  database_bind_filter(d, q);
  sqlite3_bind_double(q, 9, database_least_time);
  sqlite3_bind_double(q, 10, database_greatest_time);
  int code = sqlite3_step(q);
  if (code == SQLITE_ROW) *n = (uint64_t)sqlite3_column_int64(q, 0);
  tess_status s = code == SQLITE_ROW ? TESS_OK : database_fail(d, "counting");
  sqlite3_finalize(q);
  if (s == TESS_OK) ctx_clear(d->c);
  return s;
}

static double number_at(sqlite3_stmt *q, int i) {
  return sqlite3_column_type(q, i) == SQLITE_NULL ? NAN
                                                  : sqlite3_column_double(q, i);
}

static void take_decisions(const tess_database *d, tess_record *row) {
  if (row->damaged) return;
  row->decisions = sqlite3_column_blob(d->row, 3);
  row->ndecisions =
      (uint32_t)((size_t)sqlite3_column_bytes(d->row, 3) / sizeof(int64_t));
}

/* ---- rows --------------------------------------------------------------- */

bool database_filters(const database_filter *f) {
  return f->of_workload || f->checked || f->failed || f->name || f->target ||
         f->policy || f->before || f->sketches;
}

tess_status database_row(tess_database *d, uint64_t k, tess_record *out) {
  tess_status s = step_to(d, k);
  if (s == TESS_NOT_FOUND)
    return ctx_fail(d->c, s, "the database has no record number %llu%s",
                    (unsigned long long)k + 1,
                    database_filters(&d->filter) ? " that the filter lets by"
                                                 : "");
  if (s == TESS_OK)
    s = database_read_shapes(d, (uint64_t)sqlite3_column_int64(d->rows, 1));
  if (s != TESS_OK) return s;
  sqlite3_stmt *q = d->rows;
  bool timed = !strcmp(database_text(q, 6), "OK") && !d->second;
  double seconds = timed ? sqlite3_column_double(q, 7) : INFINITY;
  tess_record row = {.id = sqlite3_column_int64(q, 0),
                     .workload = (uint64_t)sqlite3_column_int64(q, 1),
                     .workload_name = database_text(q, 2),
                     .target = database_text(q, 3),
                     .policy = database_text(q, 4),
                     .engine = database_text(q, 5),
                     .status = database_text(q, 6),
                     .seconds = seconds,
                     .program_hash = (uint64_t)sqlite3_column_int64(q, 8),
                     .checked = sqlite3_column_int(q, 9) != 0,
                     .damaged = d->second,
                     .message = database_text(d->row, 1),
                     .shapes = str_get(&d->shapes)};
  row.sample = samples_at(d->row, 2, &row.nsample);
  row.run = sqlite3_column_int64(q, 10);
  row.round = (uint32_t)sqlite3_column_int64(q, 11);
  row.slot = (uint32_t)sqlite3_column_int64(q, 12);
  row.elapsed = number_at(q, 13);
  row.predicted = number_at(q, 14);
  row.sketch = (uint64_t)sqlite3_column_int64(q, 15);
  row.stored_at = database_text(q, 16);
  take_decisions(d, &row);
  ctx_clear(d->c);
  return ctx_give(d->c, tess_record, &row, out);
}
