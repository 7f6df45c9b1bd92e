/* SPDX-License-Identifier: Apache-2.0
 * The options of tess_tune and tess_tune_tasks as tables, and the defaults and
 * ranges that are declared there. */
#include "search/run/options.h"

#include <math.h>
#include <stddef.h>

/* ---- the tables --------------------------------------------------------- */

#define OPTION_AS(KIND, FIELD, NAME, ...)           \
  {.kind = TESS_OPTION_##KIND,                      \
   .offset = (uint32_t)offsetof(OPTIONS_OF, FIELD), \
   .field = #FIELD,                                 \
   .name = NAME,                                    \
   __VA_ARGS__},
#define OPTION(KIND, FIELD, ...) OPTION_AS(KIND, FIELD, #FIELD, __VA_ARGS__)
#define VALUE(NAME, ...) {.name = #NAME, __VA_ARGS__},
#define FIELD(DECLARATION, COMMENT)

#define OPTIONS_OF tess_tune_options
static const tess_option tune_options[] = {
#include <tessera/tune_options.def>
};
#undef OPTIONS_OF

#define OPTIONS_OF tess_tasks_options
static const tess_option tasks_options[] = {
#include <tessera/tasks_options.def>
};
#undef OPTIONS_OF

const tess_option *tess_tune_option(uint32_t i) {
  return i < sizeof tune_options / sizeof *tune_options ? &tune_options[i]
                                                        : NULL;
}

const tess_option *tess_tasks_option(uint32_t i) {
  return i < sizeof tasks_options / sizeof *tasks_options ? &tasks_options[i]
                                                          : NULL;
}

/* ---- defaults and ranges ------------------------------------------------ */

static tess_status complete_count(tess_context *c, const tess_option *o,
                                  uint32_t *n) {
  if (!*n) *n = (uint32_t)o->initial;
  if (*n <= o->most) return TESS_OK;
  return ctx_fail(c, TESS_INVALID, "option '%s' is %u, outside of 1 .. %.0f",
                  o->name, *n, o->most);
}

static tess_status complete_seconds(tess_context *c, const tess_option *o,
                                    double *x) {
  if (*x == 0) *x = o->initial;
  if (*x >= 0 && isfinite(*x)) return TESS_OK;
  return ctx_fail(c, TESS_INVALID, "option '%s' is %g, not a time in seconds",
                  o->name, *x);
}

static tess_status complete_share(tess_context *c, const tess_option *o,
                                  double *x) {
  if (*x == 0) *x = o->initial;
  if (*x >= 0 && *x <= 1) return TESS_OK;
  return ctx_fail(c, TESS_INVALID, "option '%s' is %g, outside of 0 .. 1",
                  o->name, *x);
}

static int32_t count_words(const tess_option *o) {
  int32_t n = 1;
  for (const char *at = o->words; at && *at; at++) n += *at == '|';
  return o->words ? n : 2;
}

static tess_status check_word(tess_context *c, const tess_option *o,
                              int32_t x) {
  int32_t n = count_words(o);
  if (x >= 0 && x < n) return TESS_OK;
  if (n == 2)
    return ctx_fail(c, TESS_INVALID, "option '%s' is %d, neither 0 nor 1",
                    o->field, (int)x);
  return ctx_fail(c, TESS_INVALID, "option '%s' is %d, outside of 0 .. %d",
                  o->field, (int)x, (int)n - 1);
}

static tess_status complete_option(tess_context *c, const tess_option *o,
                                   void *options) {
  void *at = (char *)options + o->offset;
  switch (o->kind) {
  case TESS_OPTION_COUNT: return complete_count(c, o, at);
  case TESS_OPTION_SECONDS: return complete_seconds(c, o, at);
  case TESS_OPTION_SHARE: return complete_share(c, o, at);
  case TESS_OPTION_WORD:
  case TESS_OPTION_SWITCH:
  case TESS_OPTION_OFF: return check_word(c, o, *(const int32_t *)at);
  default: return TESS_OK;
  }
}

static tess_status complete_all(tess_context *c, size_t n,
                                const tess_option *of, void *options) {
  tess_status s = TESS_OK;
  for (size_t i = 0; s == TESS_OK && i < n; i++)
    s = complete_option(c, &of[i], options);
  return s;
}

tess_status options_complete(tess_context *c, tess_tune_options *o) {
  return complete_all(c, sizeof tune_options / sizeof *tune_options,
                      tune_options, o);
}

tess_status options_complete_tasks(tess_context *c, tess_tasks_options *o) {
  return complete_all(c, sizeof tasks_options / sizeof *tasks_options,
                      tasks_options, o);
}
