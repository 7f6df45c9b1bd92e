/* SPDX-License-Identifier: Apache-2.0
 * Generates sketches: applies each schedule module to all blocks that exist
 * when it starts, root first and consumers before producers; each schedule that
 * a module emits continues with the remaining blocks.  The result is the
 * product of the modules' choices (MetaSchedule's post-order apply, with
 * modules in place of rules). */
#include "search/space/space.h"
#include "search/postproc/postproc.h"
#include "base/hash.h"
#include "search/space/apply.h"
#include "vm/intrin.h"

#include <stdio.h>

/* ---- blocks ------------------------------------------------------------- */

/* Names of a program's blocks, NUL-terminated, in the order in which modules
 * are applied: the reverse of a post-order walk. */
static void list_blocks(const ir_program *p, ir_stmt s, strbuf *out,
                        uint32_t *n) {
  for (ir_stmt c = ir_st(p, s)->body; c; c = ir_st(p, c)->next)
    list_blocks(p, c, out, n);
  if (!ir_is_block(p, s)) return;
  const char *name = ir_text(p, ir_blk(p, s)->name);
  str_write(out, name, strlen(name) + 1);
  ++*n;
}

/* The k-th name of n in that text. */
static const char *name_at(const strbuf *names, uint32_t k) {
  const char *s = names->v;
  while (k--) s += strlen(s) + 1;
  return s;
}

/* ---- applying a module -------------------------------------------------- */

typedef struct writer {
  tess_space *space;
  space_sketches *k;
  const tess_module *m;
  tess_target *target;
  bool too_many; /* it made more sketches than there may be */
} writer;

static const char no_reason[] = "it gave no reason";

/* Appends a line to the log that explains the space; names and reasons may hold
 * any characters. */
static void put_line(writer *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static void put_line(writer *w, const char *fmt, ...) {
  char text[1024], line[2 * sizeof text];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  err_one_line(text, line, sizeof line);
  str_printf(&w->k->log, "%s\n", line);
}

static void log_outcome(writer *w, const char *block, const char *what,
                        const char *why) {
  put_line(w, "%s at %s: %s%s%s", w->m->name, block, what, *why ? ": " : "",
           why);
}

/* ---- who shadows whom --------------------------------------------------- */

typedef struct note_work {
  space_sketches *k;
  space_applied applied;
} note_work;
static tess_status note_applied(void *ud) {
  note_work *w = ud;
  vec_push(&w->k->c->heap, &w->k->applied, w->applied);
  return TESS_OK;
}

/* Remembers that the module made the last schedules of `to`, from number
 * `from` on, of one that others were applied to before. */
static tess_status remember(writer *w, const char *block, space_list *to,
                            uint32_t from) {
  note_work n = {w->k, {to->now, w->m->name, hash_bytes(block, strlen(block))}};
  tess_status st = mem_protect(&w->k->c->heap, note_applied, &n);
  if (st != TESS_OK) return st;
  for (uint32_t i = from; i < to->s.n; i++) to->done.v[i] = w->k->applied.n;
  return TESS_OK;
}

/* The last module that was applied at the block on the way to the schedule of
 * `done`; NULL: none was. */
static const char *last_applied(const space_sketches *k, uint32_t done,
                                const char *block) {
  uint64_t name = hash_bytes(block, strlen(block));
  while (done && k->applied.v[done - 1].block != name)
    done = k->applied.v[done - 1].before;
  return done ? k->applied.v[done - 1].module : NULL;
}

/* Would the module be applicable at the block in the program as given?  It may
 * fail there, but for memory and Ctrl-C. */
static tess_status applies_alone(writer *w, const char *block, tess_program *p,
                                 bool *applies) {
  space_list made = {.c = w->k->c, .program = p};
  tess_schedule *sch;
  space_outcome o;
  tess_status st = tess_schedule_new(p, w->target, 0, &sch);
  if (st != TESS_OK) return st;
  st = space_apply(w->m, sch, block, &made, &o);
  *applies = made.s.n > 0;
  tess_schedule_free(sch);
  space_list_drop(&made);
  return st;
}

/* Logs that the module is not applicable: shadowed by the one that was applied
 * at the block before, where it would be without that. */
static tess_status log_refusal(writer *w, const char *block, uint32_t done,
                               tess_program *p, const char *why) {
  const char *by = w->k->explain ? last_applied(w->k, done, block) : NULL;
  char text[128], reason[512];
  bool applies = false;
  snprintf(reason, sizeof reason, "%s", why); /* a module's text may not last */
  tess_status st = by ? applies_alone(w, block, p, &applies) : TESS_OK;
  if (st != TESS_OK) return st;
  snprintf(text, sizeof text, applies ? "shadowed by %s" : "not applicable",
           by);
  log_outcome(w, block, text, reason);
  return st;
}

/* Warns once per reason, since a module may fail at every block of every
 * sketch; an error where errors are strict. */
static tess_status module_failed(writer *w, tess_status st, const char *block,
                                 const char *why) {
  if (w->k->strict)
    return ctx_fail(w->k->c, st, "module %s failed at block %s: %s", w->m->name,
                    block, why);
  uint64_t key = hash_mix(hash_bytes(w->m->name, strlen(w->m->name)),
                          hash_bytes(why, strlen(why)));
  ctx_warn(w->k->c, key,
           "module %s failed at block %s and is not used there: %s", w->m->name,
           block, why);
  return TESS_OK;
}

/* Applies the module to one block of s; the results go to `to`. */
static tess_status apply_module(writer *w, tess_schedule *s, const char *block,
                                space_list *to) {
  space_outcome o;
  uint32_t had = to->s.n;
  tess_status st = space_apply(w->m, s, block, to, &o);
  if (st != TESS_OK) return st;
  char text[64];
  snprintf(text, sizeof text, "applied, %u schedule%s", to->s.n - had,
           to->s.n - had == 1 ? "" : "s");
  if (o.status == TESS_OK && to->s.n > had) {
    log_outcome(w, block, text, o.why);
    st = remember(w, block, to, had);
  } else if (o.status == TESS_OK || o.status == TESS_NOT_FOUND) {
    st = log_refusal(w, block, to->now, to->program, o.why);
  } else {
    const char *why = *o.why ? o.why : no_reason;
    log_outcome(w, block, "failed", why);
    st = module_failed(w, o.status, block, why);
  }
  if (st != TESS_OK) return st;
  return to->s.n > had ? TESS_OK : space_list_add_copy(to, s);
}

/* Applies one module to all blocks of one schedule, depth first; results in
 * `to`, up to the limit. */
static tess_status run_module(writer *w, tess_schedule *s, uint32_t done,
                              const strbuf *names, uint32_t left,
                              space_list *to) {
  space_list made = {.c = w->k->c, .program = to->program, .now = done};
  to->now = done;
  if (left == 0) return space_list_add_copy(to, s);
  if (w->k->stop && thread_flag_is_raised(w->k->stop)) return TESS_CANCELLED;
  tess_status st = apply_module(w, s, name_at(names, left - 1), &made);
  for (uint32_t i = 0; st == TESS_OK && !w->too_many && i < made.s.n; i++)
    st = run_module(w, made.s.v[i], made.done.v[i], names, left - 1, to);
  w->too_many = to->s.n > TESS_MAX_SKETCHES;
  space_list_drop(&made);
  return st;
}

static tess_status run_on_schedule(writer *w, tess_schedule *s, uint32_t done,
                                   space_list *to) {
  strbuf names;
  uint32_t n = 0;
  tess_program *p;
  tess_status st = tess_schedule_program(s, &p);
  if (st != TESS_OK) return st;
  str_init(&names, &w->k->c->heap);
  list_blocks(&p->p, ir_entry(&p->p)->root, &names, &n);
  tess_program_free(p);
  st = names.bad ? str_status(&names) : run_module(w, s, done, &names, n, to);
  str_free(&names);
  return st;
}

/* ---- sketches ----------------------------------------------------------- */

typedef struct keep_work {
  space_sketches *k;
  tess_trace *t, *made;
  tess_program *p;
} keep_work;

/* Removes the decisions from the trace; a duplicate sketch is dropped. */
static tess_status keep_open(void *ud) {
  keep_work *w = ud;
  w->made = trace_new(w->k->c, &w->t->t, w->p);
  vm_open_decisions(&w->made->t);
  if (w->k->cut) postproc_cut(&w->made->t);
  if (w->k->postprocess && w->k->postprocs)
    postproc_append(&w->made->t, w->k->postprocs);
  vm_intrin_need_trace(w->k->c, &w->p->p, &w->made->t, NULL);
  for (uint32_t i = 0; i < w->k->trace.n; i++)
    if (vm_trace_equal(&w->k->trace.v[i]->t, &w->made->t)) return TESS_OK;
  vec_push(&w->k->c->heap, &w->k->trace, w->made);
  w->made = NULL;
  return TESS_OK;
}

static tess_status keep_trace(space_sketches *k, tess_trace *t,
                              tess_program *p) {
  keep_work w = {.k = k, .t = t, .p = p};
  tess_status st = ctx_run(k->c, keep_open, &w);
  tess_trace_free(w.made);
  return st;
}

static tess_status keep_schedule(space_sketches *k, tess_schedule *s,
                                 tess_program *p) {
  tess_trace *full, *small;
  tess_status st = tess_schedule_trace(s, &full);
  if (st != TESS_OK) return st;
  st = tess_trace_simplify(full, &small);
  tess_trace_free(full);
  if (st != TESS_OK) return st;
  st = keep_trace(k, small, p);
  tess_trace_free(small);
  return st;
}

/* A module that makes too many sketches is left out: the schedules from before
 * it continue. */
static tess_status drop_module(writer *w) {
  char text[64];
  snprintf(text, sizeof text, "makes more than %d sketches", TESS_MAX_SKETCHES);
  put_line(w, "%s %s and is not used", w->m->name, text);
  if (w->k->strict)
    return ctx_fail(w->k->c, TESS_LIMIT, "module %s %s", w->m->name, text);
  ctx_warn(w->k->c, hash_bytes(w->m->name, strlen(w->m->name)),
           "module %s %s and is not used", w->m->name, text);
  return TESS_OK;
}

static tess_status run_on_all(writer *w, const space_list *now,
                              space_list *next) {
  tess_status st = TESS_OK;
  for (uint32_t i = 0; st == TESS_OK && !w->too_many && i < now->s.n; i++)
    st = run_on_schedule(w, now->s.v[i], now->done.v[i], next);
  return st;
}

static tess_status write_modules(tess_space *s, tess_program *p, tess_target *t,
                                 space_sketches *k) {
  tess_schedule *first;
  const space_list none = {.c = k->c, .program = p};
  space_list now = none, next = none;
  tess_status st = tess_schedule_new(p, t, 0, &first);
  if (st != TESS_OK) return st;
  space_list_add(&now, first);
  st = now.failed;
  k->composes = k->composes || s->n > 0;
  for (uint32_t m = 0; st == TESS_OK && m < s->n; m++) {
    writer w = {.space = s, .k = k, .m = &s->module[m], .target = t};
    st = run_on_all(&w, &now, &next);
    if (st == TESS_OK && w.too_many) st = drop_module(&w);
    space_list_drop(w.too_many ? &next : &now);
    if (!w.too_many) now = next;
    next = none;
  }
  for (uint32_t i = 0; st == TESS_OK && i < now.s.n; i++)
    st = keep_schedule(k, now.s.v[i], p);
  space_list_drop(&now);
  space_list_drop(&next);
  return st;
}

static tess_status write_function(tess_space *s, tess_program *p,
                                  tess_target *t, space_sketches *k) {
  tess_schedule *sch;
  space_list made = {.c = k->c, .program = p};
  space_outcome o;
  tess_status st = tess_schedule_new(p, t, 0, &sch);
  if (st != TESS_OK) return st;
  st = space_apply(&s->module[0], sch, NULL, &made, &o);
  tess_schedule_free(sch);
  if (st == TESS_OK && o.status != TESS_OK)
    st = ctx_fail(k->c, o.status, "the scheduling function failed: %s",
                  *o.why ? o.why : no_reason);
  for (uint32_t i = 0; st == TESS_OK && i < made.s.n; i++)
    st = keep_schedule(k, made.s.v[i], p);
  space_list_drop(&made);
  return st;
}

static tess_status write_space(tess_space *s, tess_program *p, tess_target *t,
                               space_sketches *k);

/* The default postprocessors, for the time of a call. */
typedef struct default_work {
  tess_target *t;
  const ir_program *p;
  vm_trace made;
} default_work;
static tess_status make_default(void *ud) {
  default_work *w = ud;
  vm_trace_init(&w->made, w->made.heap);
  postproc_default(&w->made, w->t, w->p);
  return TESS_OK;
}

/* Modules get the target's postprocessors, unless the space says which. */
static tess_status write_with_default(tess_space *s, tess_program *p,
                                      tess_target *t, space_sketches *k) {
  default_work w = {t, &p->p, {.heap = &k->c->heap}};
  tess_status st = mem_protect(&k->c->heap, make_default, &w);
  k->postprocs = &w.made;
  if (st == TESS_OK) st = write_modules(s, p, t, k);
  k->postprocs = NULL;
  vm_trace_free(&w.made);
  return st;
}

static tess_status write_parts(tess_space *s, tess_program *p, tess_target *t,
                               space_sketches *k) {
  tess_status st = TESS_OK;
  switch (s->kind) {
  case SPACE_MODULES:
    return k->postprocess && !k->postprocs && s->n
               ? write_with_default(s, p, t, k)
               : write_modules(s, p, t, k);
  case SPACE_FUNCTION: return write_function(s, p, t, k);
  case SPACE_UNION:
    for (uint32_t i = 0; st == TESS_OK && i < s->n; i++)
      st = write_space(s->part[i], p, t, k);
    return st;
  case SPACE_TRACES:
    for (uint32_t i = 0; st == TESS_OK && i < s->n; i++)
      st = keep_trace(k, s->trace[i], p);
    return st;
  }
  return TESS_INTERNAL;
}

/* A space's own postprocessors are those of its parts, too. */
static tess_status write_space(tess_space *s, tess_program *p, tess_target *t,
                               space_sketches *k) {
  const vm_trace *outer = k->postprocs;
  if (!outer) k->postprocs = s->postprocs;
  tess_status st = write_parts(s, p, t, k);
  k->postprocs = outer;
  return st;
}

/* Sets a message where a failure has none. */
tess_status space_write(tess_space *s, tess_program *p, tess_target *t,
                        space_sketches *k) {
  tess_status st = write_space(s, p, t, k);
  if (st == TESS_OK || k->c->err.code == st) return st;
  return ctx_ran_out(k->c, st, "writing sketches");
}

void space_sketches_init(space_sketches *k, tess_context *c) {
  *k = (space_sketches){.c = c};
  str_init(&k->log, &c->heap);
}

void space_sketches_free(space_sketches *k) {
  for (uint32_t i = 0; i < k->trace.n; i++) tess_trace_free(k->trace.v[i]);
  vec_free(&k->c->heap, &k->trace);
  vec_free(&k->c->heap, &k->applied);
  str_free(&k->log);
}
