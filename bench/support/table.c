/* SPDX-License-Identifier: Apache-2.0
 * Reads recorded search spaces, and stands in for measuring with them. */
#include "bench/support/table.h"
#include "bench/support/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Noreturn void table_stop(const char *path, const char *what) {
  bench_say("%s: %s", path, what);
  exit(1);
}

/* ---- reading ------------------------------------------------------------ */

static tess_status begin_map(void *ud) {
  table *t = ud;
  map_init(&t->at, &t->heap);
  memo_init(&t->memo, &t->heap);
  return TESS_OK;
}

/* A program is loaded from a file only. */
static void load_program(table *t, const char *path, const char *hex) {
  char name[] = "/tmp/tessera-table-XXXXXX";
  int fd = mkstemp(name);
  FILE *f = fd < 0 ? NULL : fdopen(fd, "wb");
  unsigned byte;
  if (!f || !hex) table_stop(path, "a program cannot be unpacked");
  for (; sscanf(hex, "%2x", &byte) == 1; hex += 2) fputc((int)byte, f);
  fclose(f);
  if (tess_program_load(t->c, name, &t->p) != TESS_OK)
    table_stop(path, tess_error(t->c)->message);
  remove(name);
}

static void begin_table(table *t, tess_context *c, const char *path,
                        const json_t *line) {
  *t = (table){.c = c, .best = INFINITY};
  snprintf(t->name, sizeof t->name, "%s",
           json_string_value(json_object_get(line, "op")));
  mem_heap_init(&t->heap, mem_default_allocator, 0);
  if (mem_protect(&t->heap, begin_map, t)) table_stop(path, "no memory");
  load_program(t, path, json_string_value(json_object_get(line, "program")));
}

static void read_sketch(table *t, const char *path, const json_t *trace) {
  char *text = json_dumps(trace, 0);
  if (t->nsketch == TABLE_SKETCHES) table_stop(path, "too many sketches");
  if (!text || tess_trace_from_json(t->c, text, t->p,
                                    &t->sketch[t->nsketch++]) != TESS_OK)
    table_stop(path, tess_error(t->c)->message);
  free(text);
}

typedef struct table_entry {
  table *t;
  uint64_t hash;
} table_entry;

static tess_status enter_hash(void *ud) {
  table_entry *w = ud;
  map_put(&w->t->at, w->hash, w->t->n);
  return TESS_OK;
}

static void read_candidate(table *t, const char *path, const json_t *line) {
  const json_t *d = json_object_get(line, "d");
  const json_t *seconds = json_object_get(line, "seconds");
  uint32_t n = (uint32_t)json_array_size(d);
  json_int_t sketch = json_integer_value(json_object_get(line, "sketch"));
  int64_t *v = malloc((n + 1) * sizeof *v);
  if (t->n == t->room) {
    t->room = t->room ? 2 * t->room : 256;
    t->cand = realloc(t->cand, t->room * sizeof *t->cand);
    t->seconds = realloc(t->seconds, t->room * sizeof *t->seconds);
  }
  if (!v || !t->cand || !t->seconds) table_stop(path, "no memory");
  if (sketch < 0 || sketch >= t->nsketch)
    table_stop(path, "a candidate is of no sketch");
  for (uint32_t i = 0; i < n; i++)
    v[i] = json_integer_value(json_array_get(d, i));
  double time = json_is_number(seconds) ? json_number_value(seconds) : INFINITY;
  search_cand c = {(uint32_t)sketch, n, v, search_hash((uint32_t)sketch, n, v)};
  table_entry w = {t, c.hash};
  if (mem_protect(&t->heap, enter_hash, &w)) table_stop(path, "no memory");
  t->best = fmin(t->best, time);
  t->cand[t->n] = c;
  t->seconds[t->n++] = time;
}

static bool is_gzipped(const char *path) {
  const char *end = strrchr(path, '.');
  return end && !strcmp(end, ".gz");
}

static FILE *open_table(const char *path) {
  char line[4096];
  if (!is_gzipped(path)) return fopen(path, "r");
  snprintf(line, sizeof line, "gzip -dc '%s'", path);
  return access(path, R_OK) ? NULL : popen(line, "r");
}

static void close_table(const char *path, FILE *f) {
  if (is_gzipped(path))
    pclose(f);
  else
    fclose(f);
}

uint32_t table_read(tess_context *c, const char *path, table *list, uint32_t n,
                    uint32_t max) {
  FILE *f = open_table(path);
  char *text = NULL;
  size_t room = 0;
  uint32_t first = n;
  if (!f) table_stop(path, "cannot be opened");
  while (getline(&text, &room, f) > 0) {
    json_t *line = json_loads(text, 0, NULL);
    const json_t *trace = json_object_get(line, "trace");
    if (!line) table_stop(path, "a line is no JSON");
    if (json_object_get(line, "op")) {
      if (n == max) table_stop(path, "there are too many programs");
      begin_table(&list[n++], c, path, line);
    } else if (n == first) {
      table_stop(path, "the first line has no program");
    } else if (trace) {
      read_sketch(&list[n - 1], path, trace);
    } else {
      read_candidate(&list[n - 1], path, line);
    }
    json_decref(line);
  }
  free(text);
  close_table(path, f);
  return n;
}

void table_free(table *t) {
  for (uint32_t i = 0; i < t->n; i++) free((void *)t->cand[i].d);
  for (uint32_t i = 0; i < t->nsketch; i++) tess_trace_free(t->sketch[i]);
  free(t->cand);
  free(t->seconds);
  map_free(&t->at);
  memo_free(&t->memo);
  tess_program_free(t->p);
}

/* ---- instead of measuring ----------------------------------------------- */

/* `best` of the run, +inf while there is none. */
static void look_up(table *t, const search_cand *c, double best,
                    search_outcome *o) {
  uint64_t i = map_get(&t->at, c->hash);
  o->seconds = i == MAP_NONE ? INFINITY : t->seconds[i];
  o->status = isfinite(o->seconds) ? TESS_OK : TESS_BUILD_ERROR;
  if (o->status == TESS_OK && t->cut_off > 0 &&
      o->seconds > t->cut_off * best) {
    t->ran += t->cut_off * best;
    o->status = TESS_TIMEOUT;
    o->seconds = INFINITY;
  }
  if (o->status == TESS_OK) t->ran += o->seconds;
  o->checked = o->status == TESS_OK;
  o->program_hash = c->hash;
  if (i == MAP_NONE) t->missing++;
}

static tess_status table_measure(void *ud, tess_session *s, uint32_t n,
                                 const search_trial *trial, double best,
                                 search_outcome *out,
                                 int (*done)(void *ud, uint32_t i),
                                 void *done_ud) {
  double least = best > 0 ? best : INFINITY;
  (void)s;
  for (uint32_t i = 0; i < n; i++) {
    look_up(ud, &trial[i].c, least, &out[i]);
    if (out[i].status == TESS_OK) least = fmin(least, out[i].seconds);
    if (done(done_ud, i)) return TESS_OK;
  }
  return TESS_OK;
}

static tess_status table_compare(void *ud, const strbuf *code,
                                 search_outcome *out) {
  (void)ud, (void)code;
  out->status = TESS_OK;
  out->checked = true;
  return TESS_OK;
}

static tess_status table_rematch(void *ud, uint32_t n,
                                 const strbuf *const *code, double *seconds) {
  (void)ud, (void)n, (void)code, (void)seconds;
  return TESS_OK;
}

void table_measurer(table *t, search_measurer *out) {
  *out = (search_measurer){.measure = table_measure,
                           .compare = table_compare,
                           .rematch = table_rematch,
                           .ud = t};
}

/* ---- searches ----------------------------------------------------------- */

void table_search(table *t, const char *search, tess_tune_options o,
                  tess_result **out) {
  char name[128];
  search_measurer m;
  snprintf(name, sizeof name, "%s", search);
  char *slash = strchr(name, '/');
  if (slash) *slash = '\0';
  o.strategy = name;
  o.cost_model = slash ? slash + 1 : "random";
  table_measurer(t, &m);
  tune_setup set = {.c = t->c,
                    .program = t->p,
                    .nsketch = t->nsketch,
                    .sketch = t->sketch,
                    .o = o,
                    .policy = "recorded",
                    .memo = &t->memo,
                    .measurer = m};
  if (tune_run(&set, out) != TESS_OK)
    table_stop(search, tess_error(t->c)->message);
}
