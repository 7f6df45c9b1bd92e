/* SPDX-License-Identifier: Apache-2.0
 * Opens a strategy by a text, NAME or NAME:OPTION=VALUE,...: parses and checks
 * its options. */
#include "search/strategy/strategy.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAMES_BYTES = 1024 };

/* ---- names -------------------------------------------------------------- */

/* Appends to a list of names, separated by commas. */
static void list_name(char *list, const char *name) {
  size_t n = strlen(list);
  snprintf(list + n, NAMES_BYTES - n, "%s%s", n ? ", " : "", name);
}

static tess_status no_such_strategy(tess_context *c, size_t n,
                                    const char *name) {
  char known[NAMES_BYTES] = "";
  for (uint32_t i = 0; i < search_nstrategies; i++)
    list_name(known, search_strategies[i]->name);
  return ctx_fail(c, TESS_NOT_FOUND,
                  "there is no strategy '%.*s'; the built-in ones are %s",
                  (int)n, name, known);
}

static tess_status no_such_option(tess_context *c, const search_strategy *x,
                                  size_t n, const char *name) {
  char known[NAMES_BYTES] = "";
  for (uint32_t i = 0; i < x->noption; i++) list_name(known, x->option[i].name);
  return ctx_fail(c, TESS_INVALID,
                  "strategy '%s' has no option '%.*s'; it has %s", x->name,
                  (int)n, name, x->noption ? known : "none");
}

static bool names_it(const char *name, size_t n, const char *text) {
  return strlen(name) == n && !strncmp(name, text, n);
}

/* ---- values ------------------------------------------------------------- */

typedef struct setting {
  tess_context *c;
  const search_strategy *strategy;
  const search_option *option;
  size_t n; /* of the value's text */
  const char *text;
} setting;

static tess_status wrong_value(const setting *x, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static tess_status wrong_value(const setting *x, const char *fmt, ...) {
  char what[256];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  return ctx_fail(x->c, TESS_INVALID,
                  "option '%s' of strategy '%s' is '%.*s', %s", x->option->name,
                  x->strategy->name, (int)x->n, x->text, what);
}

/* "ei|lcb": the number of the word. */
static tess_status read_word(const setting *x, double *out) {
  const char *at = x->option->words;
  for (int k = 0;; k++) {
    size_t n = strcspn(at, "|");
    if (n == x->n && !strncmp(at, x->text, n)) {
      *out = k;
      return TESS_OK;
    }
    if (!at[n]) break;
    at += n + 1;
  }
  return wrong_value(x, "none of %s", x->option->words);
}

static tess_status read_value(const setting *x, double *out) {
  const search_option *o = x->option;
  char text[64], *end;
  if (o->kind == SEARCH_WORD) return read_word(x, out);
  if (!x->n || x->n >= sizeof text || strchr(" \t\n", x->text[0]))
    return wrong_value(x, "not a number");
  memcpy(text, x->text, x->n);
  text[x->n] = '\0';
  double v = strtod(text, &end);
  if (*end || !isfinite(v)) return wrong_value(x, "not a number");
  if (o->kind == SEARCH_COUNT && v != floor(v))
    return wrong_value(x, "not an integer");
  if (v < o->least || v > o->most)
    return wrong_value(x, "outside of %.10g .. %.10g", o->least, o->most);
  *out = v;
  return TESS_OK;
}

/* "chains=64".  *given: bit i of option i. */
static tess_status read_setting(tess_context *c, const search_strategy *x,
                                size_t n, const char *text, double *value,
                                uint64_t *given) {
  size_t name = strcspn(text, "=,");
  if (name > n) name = n;
  for (uint32_t i = 0; i < x->noption; i++) {
    if (!names_it(x->option[i].name, name, text)) continue;
    if (name == n)
      return ctx_fail(c, TESS_INVALID,
                      "option '%s' of strategy '%s' has no "
                      "value: write %s=VALUE",
                      x->option[i].name, x->name, x->option[i].name);
    if (*given >> i & 1)
      return ctx_fail(c, TESS_INVALID,
                      "option '%s' of strategy '%s' is given twice",
                      x->option[i].name, x->name);
    *given |= 1ull << i;
    setting s = {c, x, &x->option[i], n - name - 1, text + name + 1};
    return read_value(&s, &value[i]);
  }
  return no_such_option(c, x, name, text);
}

/* Behind "command=" all is the text. */
static const char *text_behind(const search_strategy *x, const char *settings) {
  const search_option *o = x->noption ? &x->option[x->noption - 1] : NULL;
  size_t n = o ? strlen(o->name) : 0;
  bool is_it = o && o->kind == SEARCH_TEXT && !strncmp(settings, o->name, n) &&
               settings[n] == '=';
  return is_it ? settings + n + 1 : NULL;
}

bool strategy_takes_text(const search_strategy *of) {
  return of->noption && of->option[of->noption - 1].kind == SEARCH_TEXT;
}

static tess_status lacks_text(tess_context *c, const search_strategy *x) {
  const char *name = x->option[x->noption - 1].name;
  return ctx_fail(c, TESS_INVALID,
                  "strategy '%s' needs its option '%s', the last one: "
                  "%s:%s=TEXT",
                  x->name, name, x->name, name);
}

static tess_status open_it(tess_session *s, const search_strategy *x,
                           const char *settings, tess_strategy *out) {
  double value[SEARCH_MOST_OPTIONS];
  tess_status st = TESS_OK;
  const char *text = NULL;
  uint64_t given = 0;
  for (uint32_t i = 0; i < x->noption; i++) value[i] = x->option[i].initial;
  while (st == TESS_OK && *settings && !(text = text_behind(x, settings))) {
    size_t n = strcspn(settings, ",");
    st = read_setting(s->c, x, n, settings, value, &given);
    settings += n + (settings[n] == ',');
  }
  if (st == TESS_OK && strategy_takes_text(x) && !(text && *text))
    return lacks_text(s->c, x);
  return st == TESS_OK ? strategy_start(s, x, value, text, out) : st;
}

tess_status strategy_open(tess_session *s, const char *text,
                          tess_strategy *out) {
  size_t n = strcspn(text, ":");
  for (uint32_t i = 0; i < search_nstrategies; i++)
    if (names_it(search_strategies[i]->name, n, text))
      return open_it(s, search_strategies[i], text + n + (text[n] == ':'), out);
  return no_such_strategy(s->c, n, text);
}
