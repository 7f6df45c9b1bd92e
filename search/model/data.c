/* SPDX-License-Identifier: Apache-2.0
 * What cost models learn from. */
#include "search/model/model.h"

#include "base/hash.h"
#include <math.h>

void data_init(model_data *d, mem_heap *heap, uint32_t kinds) {
  *d = (model_data){.heap = heap, .kinds = kinds};
  for (int k = 0; k < FEATURE_KINDS; k++)
    if (kinds >> k & 1) vec_push(heap, &d->rows[k].first, 0);
}

void data_free(model_data *d) {
  if (!d->heap) return;
  for (int k = 0; k < FEATURE_KINDS; k++) {
    vec_free(d->heap, &d->rows[k].first);
    vec_free(d->heap, &d->rows[k].v);
  }
  vec_free(d->heap, &d->sample);
  vec_free(d->heap, &d->group);
  vec_free(d->heap, &d->best);
}

uint32_t data_group(model_data *d, uint64_t hash) {
  for (uint32_t i = 0; i < d->group.n; i++)
    if (d->group.v[i] == hash) return i;
  vec_reserve(d->heap, &d->best, 1);
  vec_push(d->heap, &d->group, hash);
  vec_push(d->heap, &d->best, INFINITY);
  return d->group.n - 1;
}

/* Decisions of another space have other columns: those of before go. */
static void forget_rows(model_rows *r, uint32_t width) {
  memset(r->first.v, 0, r->first.n * sizeof *r->first.v);
  r->v.n = 0;
  r->width = width;
}

/* Room first, so that what memory runs out for is not there at all. */
static void reserve(model_data *d, const search_rows *rows, uint32_t at) {
  for (int k = 0; k < FEATURE_KINDS; k++) {
    if (!(d->kinds >> k & 1)) continue;
    uint32_t n = rows[k].first[at + 1] - rows[k].first[at];
    vec_reserve(d->heap, &d->rows[k].first, 1);
    vec_reserve(d->heap, &d->rows[k].v, n * rows[k].width);
  }
  vec_reserve(d->heap, &d->sample, 1);
}

static void add_rows(model_data *d, feature_kind k, const search_rows *rows,
                     uint32_t at) {
  model_rows *r = &d->rows[k];
  uint32_t first = rows->first[at], n = rows->first[at + 1] - first;
  if (r->width != rows->width) forget_rows(r, rows->width);
  size_t numbers = (size_t)n * r->width;
  if (numbers)
    memcpy(r->v.v + r->v.n, rows->v + (size_t)first * r->width,
           numbers * sizeof(float));
  r->v.n += (uint32_t)numbers;
  vec_push(d->heap, &r->first, r->first.v[r->first.n - 1] + n);
}

void data_add(model_data *d, model_sample s, const search_rows *rows,
              uint32_t at) {
  reserve(d, rows, at);
  for (int k = 0; k < FEATURE_KINDS; k++)
    if (d->kinds >> k & 1) add_rows(d, k, &rows[k], at);
  vec_push(d->heap, &d->sample, s);
  if (s.status == TESS_OK && s.seconds < d->best.v[s.group])
    d->best.v[s.group] = s.seconds;
}

static bool is_of_group(const model_data *d, uint32_t i, uint64_t group) {
  return d->group.v[d->sample.v[i].group] == group;
}

void data_pick(model_data *to, const model_data *from, uint64_t group,
               bool others) {
  search_rows rows[FEATURE_KINDS] = {0};
  for (int k = 0; k < FEATURE_KINDS; k++)
    rows[k] = (search_rows){.kind = k,
                            .n = from->sample.n,
                            .width = from->rows[k].width,
                            .first = from->rows[k].first.v,
                            .v = from->rows[k].v.v};
  vec_copy(to->heap, &to->group, &from->group);
  vec_copy(to->heap, &to->best, &from->best);
  for (uint32_t i = 0; i < from->sample.n; i++)
    if (is_of_group(from, i, group) != others)
      data_add(to, from->sample.v[i], rows, i);
}

uint32_t data_count(const model_data *d, uint64_t group) {
  uint32_t n = 0;
  for (uint32_t i = 0; i < d->sample.n; i++) n += is_of_group(d, i, group);
  return n;
}

double data_label(const model_data *d, uint32_t i) {
  const model_sample *s = &d->sample.v[i];
  return s->status == TESS_OK ? d->best.v[s->group] / s->seconds : 0;
}

bool data_is_held_out(uint32_t i) { return hash_mix(0x68656c64, i) % 5 == 0; }
