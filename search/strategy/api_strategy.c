/* SPDX-License-Identifier: Apache-2.0
 * The public functions that say which strategies there are, and their options.
 */
#include "search/strategy/strategy.h"

const char *tess_strategy_name(uint32_t i) {
  return i < search_nstrategies ? search_strategies[i]->name : NULL;
}

const char *tess_strategy_summary(uint32_t i) {
  return i < search_nstrategies ? search_strategies[i]->summary : NULL;
}

tess_status tess_strategy_option_get(tess_context *c, uint32_t i, uint32_t k,
                                     tess_strategy_option *out) {
  if (i >= search_nstrategies || k >= search_strategies[i]->noption)
    return TESS_NOT_FOUND;
  const search_option *o = &search_strategies[i]->option[k];
  tess_strategy_option x = {.integer = o->kind == SEARCH_COUNT,
                            .name = o->name,
                            .help = o->help,
                            .words = o->words,
                            .initial = o->initial,
                            .least = o->least,
                            .most = o->most};
  return ctx_give(c, tess_strategy_option, &x, out);
}
