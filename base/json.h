/* SPDX-License-Identifier: Apache-2.0
 * Reading and writing JSON, over jansson. jansson's values come from malloc:
 * its allocation hook is global, and a library must not change global state. */
#ifndef BASE_JSON_H
#define BASE_JSON_H

#include "base/error.h"
#include "base/str.h"
#include <jansson.h>

typedef struct js_limits {
  size_t bytes;         /* maximum length of a text */
  uint32_t depth;       /* maximum nesting of arrays and objects, <= 1000 */
} js_limits;

/* For text from people and the network: 64 MiB, 100 deep. */
extern const js_limits js_default_limits;

/* Parses a text that is exactly one value (of any type); duplicate keys and NUL
 * bytes are refused.  NULL with PARSE or LIMIT and the place as "line 3, column
 * 7" in `err`; else a new reference, for json_decref. */
json_t *js_read(const char *text, size_t n, js_limits limits, err_state *err);

/* Appends the canonical text: keys sorted by bytes, no white space, reals by
 * the shortest decimal that round-trips, so that equal values give equal texts.
 * On failure (memory, a real that is not finite, a cyclic value) `out` turns
 * bad. */
void js_write(strbuf *out, const json_t *v);

/* Take over a new reference as a member of an object, or as the last of a list.
 * Where memory runs out, for v (NULL) or here, *to is NULL from then on, so
 * that js_write, or whoever tests it at the end, sees that something is
 * missing. */
void js_set(json_t **to, const char *key, json_t *v);
void js_add(json_t **to, json_t *v);

/* The member `key` of `object` with that type (JSON_REAL also takes an
 * integer); NULL with PARSE and a message that names the key. */
json_t *js_member(const json_t *object, const char *key, json_type type,
                  err_state *err);
/* The same for an integer within lo .. hi. */
bool js_int_member(const json_t *object, const char *key, int64_t lo,
                   int64_t hi, int64_t *value, err_state *err);
/* "an object", "a string", ... */
const char *js_type_name(json_type type);

#endif
