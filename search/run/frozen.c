/* SPDX-License-Identifier: Apache-2.0
 * What is known without measuring: the best record of a database, else the
 * schedule that the cost model "analytic" prefers among a few that are drawn.
 */
#include "ir/query.h"
#include "search/run/draft.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* ---- the result --------------------------------------------------------- */

typedef struct frozen {
  tune_setup *set;
  tess_result *r;
  bool how;           /* the options say how it is to be measured */
  uint32_t unchecked; /* successes that were never compared */
} frozen;

static tess_status make_frozen(void *ud) {
  frozen *f = ud;
  tune_setup *set = f->set;
  mem_heap *h = &set->c->heap;
  f->r = mem_new(h, tess_result);
  *f->r = (tess_result){.c = set->c, .refs = 1};
  strbuf *const texts[] = {&f->r->funnel, &f->r->ledger, &f->r->classes,
                           &f->r->note, &f->r->failure};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    str_init(texts[i], h);
  f->r->program = program_hold(set->program);
  f->r->kernel_threads = set->o.kernel_threads;
  f->r->target = tess_target_hold(set->target);
  f->r->info.latency = INFINITY;
  return TESS_OK;
}

static tess_status take_draft(void *ud, tess_session *s,
                              const search_cand *best) {
  frozen *f = ud;
  const vm_trace *t;
  tess_status st = session_finish(s, best, &t);
  f->r->info.status = TESS_OK;
  return st == TESS_OK ? session_decided(s, t, best, &f->r->best) : st;
}

static tess_status guess(frozen *f) {
  f->r->info.status = TESS_NOT_FOUND;
  tess_status st = draft_make(f->set, DRAFT_DRAWS, take_draft, f);
  str_puts(&f->r->note, ", so the schedule is what the cost model \"analytic\" "
                        "prefers; it was not measured");
  return st;
}

/* Successes of the program, of any target; none of which is the best. */
static tess_status count_unchecked(frozen *f, tess_database *d) {
  const tess_record_filter only = {.struct_size = sizeof only,
                                   .program = f->set->program};
  tess_record row = TESS_INIT(tess_record);
  tess_status s = tess_database_filter(d, &only);
  for (uint64_t k = 0; s == TESS_OK; k++) {
    s = tess_database_row(d, k, &row);
    if (s == TESS_OK && !strcmp(row.status, "OK") && !row.checked)
      f->unchecked++;
  }
  if (s != TESS_NOT_FOUND) return s;
  ctx_clear(d->c);
  return TESS_OK;
}

/* Of times that were measured just as these options say, where they say it and
 * there are some; else of the newest by such a function, or on such inputs. */
static tess_status find_best(frozen *f, tess_database *d, tess_record *row) {
  tune_setup *set = f->set;
  const tess_tune_options *o = &set->o;
  measure_policy policy;
  uint32_t groups;
  tess_best_filter b = {.struct_size = sizeof b,
                        .target = tess_target_text(set->target)};
  if (f->how && !o->measure) {
    tess_status s = setup_policy(set, &policy);
    b.policy = set->policy;
    if (s == TESS_OK) s = database_best(d, set->program, &b, row, &groups);
    if (s != TESS_NOT_FOUND) return s;
    b.policy = NULL;
  }
  b.measure = o->measure != NULL;
  b.measure_name = o->measure ? o->measure_name : NULL;
  b.inputs = o->inputs;
  b.ninputs = o->ninputs;
  tess_status s = database_best(d, set->program, &b, row, &groups);
  if (s == TESS_OK && groups > 1)
    str_printf(&f->r->note,
               "of %u policies of measuring, whose times are not comparable, "
               "this is the newest: %s",
               groups, row->policy);
  return s;
}

/* From the database, if there is a file and something in it. */
static tess_status look_up(frozen *f, bool *found) {
  tune_setup *set = f->set;
  tess_database *d;
  tess_record row = TESS_INIT(tess_record);
  *found = false;
  if (!set->o.database) return TESS_OK;
  if (access(set->o.database, F_OK) && errno == ENOENT) {
    str_printf(&f->r->note, "there is no database %s", set->o.database);
    return TESS_OK;
  }
  tess_status s = tess_database_open(set->c, set->o.database, &d);
  if (s != TESS_OK) return s;
  s = find_best(f, d, &row);
  *found = s == TESS_OK;
  if (s == TESS_OK) {
    int64_t flops = ir_flops(&set->program->p);
    f->r->info = (tess_result_info){
        .latency = row.seconds,
        .gflops = flops > 0 ? (double)flops / row.seconds * 1e-9 : 0};
    s = tess_database_trace(d, row.id, &f->r->best);
  } else if (s == TESS_NOT_FOUND) {
    ctx_clear(set->c);
    s = count_unchecked(f, d);
    if (f->unchecked)
      str_printf(&f->r->note,
                 "of the %u records of successes that are stored for this "
                 "program none was compared with the unscheduled program, as "
                 "imported ones are when a run has measured them",
                 f->unchecked);
  }
  tess_database_free(d);
  return s;
}

tess_status tune_frozen(tune_setup *set, tess_result **out) {
  const tess_tune_options *o = &set->o;
  bool how = o->min_time > 0 || o->warm_cache || o->kernel_threads;
  frozen f = {.set = set, .how = how};
  bool found = false;
  tess_status s = setup_complete(set);
  if (s == TESS_OK) s = mem_protect(&set->c->heap, make_frozen, &f);
  if (s == TESS_OK) s = look_up(&f, &found);
  if (s == TESS_OK && !found && !f.r->note.n)
    str_puts(&f.r->note, "nothing is stored for this program");
  if (s == TESS_OK && !found) s = setup_sketches(set);
  if (s == TESS_OK && !found) s = guess(&f);
  if (s == TESS_OK)
    *out = f.r;
  else
    tess_result_free(f.r);
  return s;
}
