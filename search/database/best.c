/* SPDX-License-Identifier: Apache-2.0
 * The best record of a program: only times that were measured in one way are
 * compared, so a group of records is chosen first, then the fastest of it. */
#include "measure/measure.h"
#include "search/database/database.h"

#include <inttypes.h>
#include <stdio.h>

/* The group of the newest record that is asked for, and how many groups there
 * are.  ?4: times of a function; ?5: the words that name inputs, NULL: drawn
 * ones. */
static const char group_sql[] =
    "SELECT target, policy, count(*) OVER () FROM"
    " (SELECT target, policy, max(id) AS newest FROM record"
    " WHERE workload = ?1 AND status = 'OK' AND checked"
    " AND (?2 IS NULL OR target = ?2) AND CASE"
    " WHEN ?3 IS NOT NULL THEN policy = ?3"
    " WHEN ?4 OR policy LIKE '" DATABASE_OF_FUNCTION "%'"
    " THEN ?4 AND policy LIKE '" DATABASE_OF_FUNCTION "%'"
    " WHEN ?5 IS NULL THEN instr(policy, ' inputs=') = 0"
    " ELSE instr(policy || ' ', ?5) > 0 END"
    " GROUP BY target, policy) ORDER BY newest DESC LIMIT 1";

typedef struct choosing {
  tess_database *d;
  tess_program *p;
  const tess_best_filter *f;
  strbuf policy, inputs; /* what is asked of the policy; empty: nothing */
  strbuf target, chosen; /* of the group */
  uint32_t groups;
} choosing;

static tess_status check_filter(const choosing *w) {
  const tess_best_filter *f = w->f;
  if (f->policy && (f->inputs || f->measure || f->measure_name))
    return ctx_fail(w->d->c, TESS_INVALID,
                    "the best record of a policy is asked for, which says "
                    "itself on what and by what was measured");
  if (f->measure && f->inputs)
    return ctx_fail(w->d->c, TESS_INVALID,
                    "a function 'measure' gave times without inputs");
  return TESS_OK;
}

/* The words of a policy that name the host's tensors. */
static tess_status name_inputs(choosing *w) {
  const tess_best_filter *f = w->f;
  strbuf contents;
  uint64_t key = 0;
  if (!f->inputs) return TESS_OK;
  str_init(&contents, &w->d->c->heap);
  tess_status s =
      measure_take_inputs(w->p, f->ninputs, f->inputs, &contents, &key);
  str_free(&contents);
  str_printf(&w->inputs, " inputs=%016" PRIx64 " ", key);
  return s;
}

static tess_status read_conditions(choosing *w) {
  const tess_best_filter *f = w->f;
  tess_status s = check_filter(w);
  if (s == TESS_OK) s = name_inputs(w);
  if (s != TESS_OK) return s;
  if (f->policy)
    str_puts(&w->policy, f->policy);
  else if (f->measure_name)
    str_printf(&w->policy, DATABASE_OF_FUNCTION " name=%s", f->measure_name);
  return str_status(&w->policy) ? str_status(&w->policy)
                                : str_status(&w->inputs);
}

static void bind_given(sqlite3_stmt *q, int i, const char *text) {
  sqlite3_bind_text(q, i, text && *text ? text : NULL, -1, SQLITE_STATIC);
}

/* NOT_FOUND: no record is asked for. */
static tess_status choose_group(choosing *w) {
  sqlite3_stmt *q;
  tess_status s = database_prepare(w->d, group_sql, &q);
  if (s != TESS_OK) return s;
  sqlite3_bind_int64(q, 1, (sqlite3_int64)tess_program_hash(w->p));
  bind_given(q, 2, w->f->target);
  bind_given(q, 3, str_get(&w->policy));
  sqlite3_bind_int(q, 4, w->f->measure != 0);
  bind_given(q, 5, str_get(&w->inputs));
  int code = sqlite3_step(q);
  if (code == SQLITE_ROW) {
    str_puts(&w->target, database_text(q, 0));
    str_puts(&w->chosen, database_text(q, 1));
    w->groups = (uint32_t)sqlite3_column_int64(q, 2);
    s = str_status(&w->target) ? str_status(&w->target)
                               : str_status(&w->chosen);
  } else {
    s = code == SQLITE_DONE ? TESS_NOT_FOUND : database_fail(w->d, "reading");
  }
  sqlite3_finalize(q);
  return s;
}

/* Those of functions are passed over where none is asked for. */
static bool has_of_functions(const choosing *w) {
  tess_best_filter f = *w->f;
  if (f.policy || f.inputs || f.measure || f.measure_name) return false;
  f.measure = 1;
  choosing other = *w;
  other.f = &f;
  str_init(&other.target, &w->d->c->heap);
  str_init(&other.chosen, &w->d->c->heap);
  bool has = choose_group(&other) == TESS_OK;
  str_free(&other.target);
  str_free(&other.chosen);
  return has;
}

static tess_status say_none(const choosing *w) {
  const char *how = "", *instead = "";
  if (has_of_functions(w))
    instead = "; there are such as a function measured, which 'measure' asks "
              "for";
  if (w->f->policy) how = ", measured by this policy,";
  if (w->f->measure || w->f->measure_name) how = ", measured by a function,";
  if (w->f->inputs) how = ", measured on these inputs,";
  const char *target = w->f->target;
  return ctx_fail(w->d->c, TESS_NOT_FOUND,
                  "database %s has no success of program '%s' (%016" PRIx64
                  ")%s%s%s that was compared with the unscheduled program%s",
                  w->d->path, tess_program_name(w->p), tess_program_hash(w->p),
                  target ? " for target " : "", target ? target : "", how,
                  instead);
}

static tess_status take_best(choosing *w, tess_record *out) {
  tess_status s = read_conditions(w);
  if (s == TESS_OK) s = choose_group(w);
  const tess_record_filter f = {.struct_size = sizeof f,
                                .checked = 1,
                                .program = w->p,
                                .target = str_get(&w->target),
                                .policy = str_get(&w->chosen)};
  if (s == TESS_OK) s = database_take_filter(w->d, &f);
  if (s == TESS_OK) s = database_row(w->d, 0, out);
  if (s == TESS_NOT_FOUND || (s == TESS_OK && out->damaged)) return say_none(w);
  return s;
}

tess_status database_best(tess_database *d, tess_program *p,
                          const tess_best_filter *f, tess_record *out,
                          uint32_t *groups) {
  choosing w = {.d = d, .p = p, .f = f};
  strbuf *const texts[] = {&w.policy, &w.inputs, &w.target, &w.chosen};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    str_init(texts[i], &d->c->heap);
  database_end_filter(d);
  tess_status s = take_best(&w, out);
  *groups = w.groups;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) str_free(texts[i]);
  return s == TESS_NOMEM || s == TESS_LIMIT
             ? ctx_ran_out(d->c, s, "the best record")
             : s;
}
