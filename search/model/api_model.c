/* SPDX-License-Identifier: Apache-2.0
 * The public header's part about cost models. */
#include "search/model/file.h"
#include "search/model/object.h"

tess_status tess_model_new(tess_context *c, const char *name,
                           tess_model **out) {
  ctx_clear(c);
  return model_new(c, name, out);
}

const char *tess_model_name(tess_model *m) { return m->name; }

uint32_t tess_model_samples(tess_model *m) { return m->data.sample.n; }

tess_status tess_model_save(tess_model *m, const char *path) {
  ctx_clear(m->c);
  return model_write(m, path);
}

tess_status tess_model_load(tess_context *c, const char *path,
                            tess_model **out) {
  ctx_clear(c);
  return model_read(c, path, out);
}

/* ---- importance --------------------------------------------------------- */

enum { MOST_COLUMNS = 512 };

/* Of all members over the columns of "per_store", each with an equal vote. */
static tess_status add_up(tess_model *m, uint32_t n, double *share) {
  const model_fits *x = m->now ? m->now : m->base;
  for (uint32_t i = 0; x && i < x->n; i++) {
    const learner *l = x->learner[i];
    double one[MOST_COLUMNS] = {0}, sum = 0;
    if (!l->importance || x->status[i] != TESS_OK) continue;
    tess_status st = l->importance(&x->member[i], n, one);
    if (st != TESS_OK)
      return ctx_fail(m->c, st, "cost model \"%s\" cannot tell what matters",
                      l->name);
    for (uint32_t k = 0; k < n; k++) sum += one[k];
    for (uint32_t k = 0; k < n && sum > 0; k++) share[k] += one[k] / sum;
  }
  return TESS_OK;
}

static bool tells_importance(const tess_model *m) {
  for (uint32_t i = 0; i < m->nmember; i++)
    if (m->member[i]->importance) return true;
  return false;
}

tess_status tess_model_importance(tess_model *m, uint32_t k,
                                  char name[TESS_MAX_COLUMN], double *share) {
  const feature_maker *f = feature_of(FEATURE_PER_STORE);
  double all[MOST_COLUMNS] = {0}, sum = 0;
  uint32_t best = 0;
  ctx_clear(m->c);
  if (!tells_importance(m))
    return ctx_fail(m->c, TESS_UNSUPPORTED,
                    "cost model \"%s\" does not tell what matters; \"xgb\", "
                    "\"xgb_rank\" and \"forest\" do",
                    m->name);
  model_train_due(m);
  tess_status st = add_up(m, f->width, all);
  if (st != TESS_OK) return st;
  for (uint32_t i = 0; i < f->width; i++) sum += all[i];
  for (uint32_t round = 0; round <= k; round++) {
    if (round) all[best] = 0;
    for (uint32_t i = best = 0; i < f->width; i++)
      if (all[i] > all[best]) best = i;
  }
  if (!(all[best] > 0)) return TESS_NOT_FOUND;
  f->name_of(best, name);
  *share = all[best] / sum;
  return TESS_OK;
}
