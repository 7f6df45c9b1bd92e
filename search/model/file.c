/* SPDX-License-Identifier: Apache-2.0
 * Writing and reading cost models. */
#include "search/model/file.h"

#include "base/file.h"
#include "base/hash.h"
#include <math.h>

#define FILE_VERSION 3u
#define LARGEST ((size_t)2 << 30)
static const char magic[8] = {'t', 'e', 's', 's', 'm', 'o', 'd', 'l'};

typedef struct stored_sample {
  uint32_t group, status;
  double seconds;
} stored_sample;

/* ---- writing ------------------------------------------------------------ */

static void file_put(strbuf *b, const void *p, size_t n) {
  if (n) str_write(b, p, n);
}

static void put_u32(strbuf *b, uint32_t x) { file_put(b, &x, sizeof x); }

static void put_data(const model_data *d, strbuf *b) {
  for (int k = 0; k < FEATURE_KINDS; k++) {
    bool kept = d->kinds >> k & 1;
    put_u32(b, kept ? session_version(k) : 0);
    put_u32(b, kept ? d->rows[k].width : 0);
  }
  put_u32(b, d->group.n);
  put_u32(b, d->sample.n);
  file_put(b, d->group.v, d->group.n * sizeof *d->group.v);
  for (uint32_t i = 0; i < d->sample.n; i++) {
    const model_sample *s = &d->sample.v[i];
    stored_sample x = {s->group, (uint32_t)s->status, s->seconds};
    file_put(b, &x, sizeof x);
  }
  for (int k = 0; k < FEATURE_KINDS; k++) {
    if (!(d->kinds >> k & 1)) continue;
    const model_rows *r = &d->rows[k];
    file_put(b, r->first.v, r->first.n * sizeof *r->first.v);
    file_put(b, r->v.v, r->v.n * sizeof *r->v.v);
  }
}

tess_status model_write(tess_model *m, const char *path) {
  strbuf b;
  str_init(&b, &m->c->heap);
  file_put(&b, magic, sizeof magic);
  put_u32(&b, FILE_VERSION);
  put_u32(&b, (uint32_t)strlen(m->name));
  file_put(&b, m->name, strlen(m->name));
  file_put(&b, &m->seed, sizeof m->seed);
  put_data(&m->data, &b);
  uint64_t hash = b.bad ? 0 : hash_bytes(b.v, b.n);
  file_put(&b, &hash, sizeof hash);
  tess_status st = str_status(&b);
  if (st != TESS_OK)
    ctx_ran_out(m->c, st, "a cost model's file");
  else
    st = file_write(path, b.v, b.n, &m->c->err);
  str_free(&b);
  return st;
}

/* ---- reading ------------------------------------------------------------ */

typedef struct reading {
  tess_context *c;
  const char *path, *at, *end;
  tess_model *m;
  const char *wrong; /* what is; NULL: nothing yet */
} reading;

static bool take(reading *r, void *to, size_t n) {
  if (r->wrong || (size_t)(r->end - r->at) < n) {
    if (!r->wrong) r->wrong = "it ends too early";
    return false;
  }
  if (n) memcpy(to, r->at, n);
  r->at += n;
  return true;
}

static uint32_t take_u32(reading *r) {
  uint32_t x = 0;
  take(r, &x, sizeof x);
  return x;
}

/* Not more elements than the rest of the file can hold. */
static bool file_fits(reading *r, uint64_t n, size_t each) {
  if (n <= (size_t)(r->end - r->at) / each) return true;
  if (!r->wrong) r->wrong = "it ends too early";
  return false;
}

static void read_samples(reading *r, uint32_t ngroup, uint32_t n) {
  model_data *d = &r->m->data;
  mem_heap *h = d->heap;
  if (!file_fits(r, ngroup, sizeof(uint64_t))) return;
  for (uint32_t i = 0; i < ngroup; i++) {
    uint64_t hash = 0;
    take(r, &hash, sizeof hash);
    if (data_group(d, hash) != i && !r->wrong) r->wrong = "a group comes twice";
  }
  if (!file_fits(r, n, sizeof(stored_sample))) return;
  vec_reserve(h, &d->sample, n);
  for (uint32_t i = 0; i < n && !r->wrong; i++) {
    stored_sample x = {0};
    take(r, &x, sizeof x);
    bool ok = x.status == TESS_OK;
    if (x.group >= ngroup || x.status > 1000 ||
        (ok ? !(x.seconds > 0 && isfinite(x.seconds))
            : !(isinf(x.seconds) && x.seconds > 0)))
      r->wrong = "a sample is none";
    else
      vec_push(h, &d->sample,
               ((model_sample){x.group, (tess_status)x.status, x.seconds}));
    if (!r->wrong && ok)
      d->best.v[x.group] = fmin(d->best.v[x.group], x.seconds);
  }
}

static void read_rows(reading *r, feature_kind k, uint32_t n) {
  model_rows *rows = &r->m->data.rows[k];
  mem_heap *h = r->m->data.heap;
  if (!file_fits(r, (uint64_t)n + 1, sizeof(uint32_t))) return;
  vec_clear(&rows->first);
  (void)vec_extend(h, &rows->first, n + 1);
  take(r, rows->first.v, (n + 1) * sizeof *rows->first.v);
  const uint32_t *first = rows->first.v;
  for (uint32_t i = 0; i < n; i++)
    if (first[i] > first[i + 1] && !r->wrong) r->wrong = "rows go backwards";
  if (first[0] && !r->wrong) r->wrong = "rows do not begin at the first";
  if (first[n] && !rows->width && !r->wrong) r->wrong = "rows have no columns";
  uint64_t numbers = (uint64_t)first[n] * rows->width;
  if (r->wrong || !file_fits(r, numbers, sizeof(float))) return;
  (void)vec_extend(h, &rows->v, numbers);
  take(r, rows->v.v, numbers * sizeof(float));
  for (uint64_t i = 0; i < numbers && !r->wrong; i++)
    if (!isfinite(rows->v.v[i])) r->wrong = "a feature is no number";
}

/* Those that its name needs, in the version that is made here. */
static void read_kinds(reading *r) {
  model_data *d = &r->m->data;
  for (int k = 0; k < FEATURE_KINDS; k++) {
    uint32_t version = take_u32(r), width = take_u32(r);
    bool kept = d->kinds >> k & 1;
    const feature_maker *f = feature_of(k);
    if (r->wrong) return;
    if (version != (kept ? session_version(k) : 0))
      r->wrong = "its features are of another version";
    else if (kept && f && width != f->width && width)
      r->wrong = "its features have other columns";
    else if (width > 1 << 16)
      r->wrong = "it has too many columns";
    d->rows[k].width = width;
  }
}

static tess_status read_data(void *ud) {
  reading *r = ud;
  take(r, &r->m->seed, sizeof r->m->seed);
  read_kinds(r);
  uint32_t ngroup = take_u32(r), n = take_u32(r);
  if (!r->wrong) read_samples(r, ngroup, n);
  for (int k = 0; k < FEATURE_KINDS && !r->wrong; k++)
    if (r->m->data.kinds >> k & 1) read_rows(r, k, n);
  /* While it is attached to no session its own are those of the last. */
  const model_data *d = &r->m->data;
  if (n && !r->wrong) model_join(r->m, d->group.v[d->sample.v[n - 1].group]);
  if (!r->wrong && r->at != r->end) r->wrong = "more follows than it has";
  return TESS_OK;
}

/* Up to the data: what kind of model it is. */
static tess_status read_head(reading *r) {
  char start[sizeof magic], name[MODEL_NAME] = "";
  uint64_t hash = 0;
  if (!take(r, start, sizeof start) || memcmp(start, magic, sizeof magic)) {
    r->wrong = "it is no cost model";
    return TESS_OK;
  }
  if (take_u32(r) != FILE_VERSION) {
    r->wrong = "it is of another version";
    return TESS_OK;
  }
  if ((size_t)(r->end - r->at) >= sizeof hash) {
    r->end -= sizeof hash;
    memcpy(&hash, r->end, sizeof hash);
  }
  const char *whole = r->at - sizeof magic - sizeof(uint32_t);
  if (hash != hash_bytes(whole, (size_t)(r->end - whole))) {
    r->wrong = "it is damaged";
    return TESS_OK;
  }
  uint32_t n = take_u32(r);
  if (n >= sizeof name || !take(r, name, n)) r->wrong = "it has no name";
  return r->wrong ? TESS_OK : model_new(r->c, name, &r->m);
}

tess_status model_read(tess_context *c, const char *path, tess_model **out) {
  strbuf b;
  *out = NULL;
  str_init(&b, &c->heap);
  tess_status st = file_read(path, LARGEST, &b, &c->err);
  reading r = {.c = c, .path = path, .at = b.v, .end = b.v + b.n};
  if (st == TESS_OK && !b.n) r.wrong = "it is empty";
  if (st == TESS_OK && !r.wrong) st = read_head(&r);
  if (st == TESS_OK && !r.wrong) {
    st = mem_protect(&c->heap, read_data, &r);
    if (st != TESS_OK) ctx_ran_out(c, st, "a cost model");
  }
  str_free(&b);
  if (st == TESS_OK && r.wrong)
    st = ctx_fail(c, TESS_INVALID, "%s is no cost model of this version: %s",
                  path, r.wrong);
  if (st == TESS_OK)
    *out = r.m;
  else
    tess_model_free(r.m);
  return st;
}
