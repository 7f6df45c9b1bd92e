/* SPDX-License-Identifier: Apache-2.0
 * JSON: limits on untrusted text, canonical writing, typed members. */
#include "base/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const js_limits js_default_limits = {64u << 20, 100};

/* Bounds the nesting before jansson's recursive parser sees the text: NULL,
 * or where it first goes too deep.  Brackets in strings do not count. */
static const char *too_deep(const char *text, size_t n, uint32_t limit) {
  uint32_t depth = 0;
  bool quoted = false;
  for (const char *s = text; s < text + n; s++) {
    if (quoted && *s == '\\')
      s++;
    else if (*s == '"')
      quoted = !quoted;
    else if (!quoted && (*s == '[' || *s == '{') && ++depth > limit)
      return s;
    else if (!quoted && (*s == ']' || *s == '}') && depth > 0)
      depth--;
  }
  return NULL;
}

static void place_at(const char *text, const char *at, err_state *err) {
  uint64_t line = 1, column = 1;
  for (; text < at; text++) {
    column = *text == '\n' ? 1 : column + 1;
    line += *text == '\n';
  }
  err_place(err, "line %llu, column %llu", (unsigned long long)line,
            (unsigned long long)column);
}

/* jansson's message, except where it refers to jansson's own options. */
static const char *why_malformed(const json_error_t *e) {
  enum json_error_code code = json_error_code(e);
  bool nul =
      code == json_error_null_character || code == json_error_null_byte_in_key;
  return nul ? "a text may not hold \\u0000" : e->text;
}

json_t *js_read(const char *text, size_t n, js_limits limits, err_state *err) {
  if (n > limits.bytes) {
    err_set(err, TESS_LIMIT, "JSON text of %zu bytes is longer than %zu", n,
            limits.bytes);
    return NULL;
  }
  const char *deep = too_deep(text, n, limits.depth);
  if (deep) {
    err_set(err, TESS_LIMIT, "JSON nested more than %u deep", limits.depth);
    place_at(text, deep, err);
    return NULL;
  }
  json_error_t e;
  json_t *v = json_loadb(text, n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &e);
  if (!v) {
    bool memory = json_error_code(&e) == json_error_out_of_memory;
    err_set(err, memory ? TESS_NOMEM : TESS_PARSE, "malformed JSON: %s",
            why_malformed(&e));
    err_place(err, "line %d, column %d", e.line, e.column);
  }
  return v;
}

typedef struct keyed {
  const char *key;
  const json_t *v;
} keyed;

static int by_key(const void *a, const void *b) {
  return strcmp(((const keyed *)a)->key, ((const keyed *)b)->key);
}

static void write_value(strbuf *out, const json_t *v, uint32_t depth);

/* jansson 2.14 wants non-const values where it only looks. */
static json_t *looked_at(const json_t *v) { return (json_t *)(uintptr_t)v; }

static void put_object(strbuf *out, const json_t *v, uint32_t depth) {
  size_t n = json_object_size(v), i = 0;
  keyed *members = mem_try_resize(out->heap, NULL, 0, n * sizeof *members);
  if (!members && n) {
    out->bad = true;
    return;
  }
  const char *key;
  json_t *value;
  json_object_foreach (looked_at(v), key, value)
    members[i++] = (keyed){key, value};
  if (n) qsort(members, n, sizeof *members, by_key);
  str_putc(out, '{');
  for (i = 0; i < n; i++) {
    json_t *name = json_string_nocheck(members[i].key);
    str_puts(out, i ? "," : "");
    write_value(out, name, depth);
    str_putc(out, ':');
    write_value(out, members[i].v, depth);
    json_decref(name);
  }
  str_putc(out, '}');
  mem_free(out->heap, members, n * sizeof *members);
}

static void put_array(strbuf *out, const json_t *v, uint32_t depth) {
  str_putc(out, '[');
  for (size_t i = 0; i < json_array_size(v); i++) {
    str_puts(out, i ? "," : "");
    write_value(out, json_array_get(v, i), depth);
  }
  str_putc(out, ']');
}

/* A whole number keeps a fraction, so that it reads back as a real. */
static void write_real(strbuf *out, double x) {
  size_t before = out->n;
  if (!isfinite(x)) out->bad = true;
  str_put_double(out, x);
  if (!out->bad && !strpbrk(out->v + before, ".e")) str_puts(out, ".0");
}

static int put_bytes(const char *text, size_t n, void *ud) {
  str_write(ud, text, n);
  return 0;
}

static void write_value(strbuf *out, const json_t *v, uint32_t depth) {
  enum { DEEPEST = 1000 };
  if (!v || depth > DEEPEST) {
    out->bad = true;
    return;
  }
  switch (json_typeof(v)) {
  case JSON_OBJECT: put_object(out, v, depth + 1); break;
  case JSON_ARRAY: put_array(out, v, depth + 1); break;
  case JSON_REAL: write_real(out, json_real_value(v)); break;
  default:
    if (json_dump_callback(v, put_bytes, out, JSON_ENCODE_ANY) != 0)
      out->bad = true;
  }
}

void js_write(strbuf *out, const json_t *v) {
  write_value(out, v, 0);
  if (out->bad) str_spoil(out);
}

static void lose(json_t **to) {
  json_decref(*to);
  *to = NULL;
}

void js_set(json_t **to, const char *key, json_t *v) {
  if (json_object_set_new(*to, key, v)) lose(to);
}

void js_add(json_t **to, json_t *v) {
  if (json_array_append_new(*to, v)) lose(to);
}

const char *js_type_name(json_type type) {
  switch (type) {
  case JSON_OBJECT: return "an object";
  case JSON_ARRAY: return "an array";
  case JSON_STRING: return "a string";
  case JSON_INTEGER: return "an integer";
  case JSON_REAL: return "a number";
  case JSON_TRUE: return "true";
  case JSON_FALSE: return "false";
  case JSON_NULL: return "null";
  }
  return "unknown";
}

json_t *js_member(const json_t *object, const char *key, json_type type,
                  err_state *err) {
  if (!json_is_object(object)) {
    err_set(err, TESS_PARSE, "expected an object with '%s', not %s", key,
            object ? js_type_name(json_typeof(object)) : "nothing");
    return NULL;
  }
  json_t *v = json_object_get(object, key);
  if (!v) {
    err_set(err, TESS_PARSE, "'%s' is missing", key);
    return NULL;
  }
  if (json_typeof(v) != type && !(type == JSON_REAL && json_is_integer(v))) {
    err_set(err, TESS_PARSE, "'%s' must be %s, not %s", key, js_type_name(type),
            js_type_name(json_typeof(v)));
    return NULL;
  }
  return v;
}

bool js_int_member(const json_t *object, const char *key, int64_t lo,
                   int64_t hi, int64_t *value, err_state *err) {
  const json_t *v = js_member(object, key, JSON_INTEGER, err);
  if (!v) return false;
  int64_t x = json_integer_value(v);
  if (x < lo || x > hi) {
    err_set(err, TESS_PARSE, "'%s' is %lld, not within %lld to %lld", key,
            (long long)x, (long long)lo, (long long)hi);
    return false;
  }
  *value = x;
  return true;
}
