/* SPDX-License-Identifier: Apache-2.0
 * String interning: every distinct name is stored once, so that equal names are
 * equal offsets.  `names` is an open-addressing hash table over them: element 0
 * counts the names, the rest is a power of two of slots, 0 where empty. */
#include "base/hash.h"
#include "ir/ir.h"
#include "ir/pool.h"
#include <stdio.h>

/* The slot that holds the name, or the empty one where it would be inserted. */
static uint32_t *find_slot(const ir_program *p, const char *s, size_t n) {
  uint32_t mask = p->names.n - 2;
  uint32_t at = (uint32_t)hash_bytes(s, n) & mask;
  for (;; at = (at + 1) & mask) {
    uint32_t *slot = &p->names.v[1 + at];
    const char *t = p->text.v + *slot;
    if (!*slot || (!strncmp(t, s, n) && !t[n])) return slot;
  }
}

/* Doubles the table and rehashes the names in the first `end` bytes. */
static void grow_slots(ir_program *p, uint32_t end) {
  uint32_t count = p->names.v[0], n = 2 * (p->names.n - 1);
  vec_reserve(p->heap, &p->names, n + 1 - p->names.n);
  p->names.n = n + 1;
  memset(p->names.v, 0, p->names.n * sizeof *p->names.v);
  p->names.v[0] = count;
  for (uint32_t at = 1; at < end;) {
    size_t len = strlen(p->text.v + at);
    *find_slot(p, p->text.v + at, len) = at;
    at += (uint32_t)len + 1;
  }
}

/* Appends n characters and a NUL; s may be part of the text itself. */
static ir_str text_append(ir_program *p, const char *s, size_t n) {
  size_t off = pool_offset(p->text.v, p->text.n, s);
  uint32_t at = vec_extend(p->heap, &p->text, n + 1);
  memcpy(p->text.v + at, off == SIZE_MAX ? s : p->text.v + off, n);
  p->text.v[at + n] = '\0';
  return at;
}

ir_str ir_name_n(ir_program *p, const char *s, size_t n) {
  if (!n) return 0;
  uint32_t *slot = find_slot(p, s, n);
  if (*slot) return *slot;
  if (2 * p->names.v[0] >= p->names.n - 1) {
    grow_slots(p, p->text.n);
    slot = find_slot(p, s, n);
  }
  uint32_t at = text_append(p, s, n);
  p->names.v[0]++;
  return *slot = at;
}

bool ir_reintern_names(ir_program *p) {
  memset(p->names.v, 0, p->names.n * sizeof *p->names.v);
  for (uint32_t at = 1; at < p->text.n;) {
    size_t len = strlen(p->text.v + at);
    if (2 * p->names.v[0] >= p->names.n - 1) grow_slots(p, at);
    uint32_t *slot = find_slot(p, p->text.v + at, len);
    if (*slot || !len) return false;
    *slot = at;
    p->names.v[0]++;
    at += (uint32_t)len + 1;
  }
  return true;
}

ir_str ir_name(ir_program *p, const char *s) {
  return ir_name_n(p, s, strlen(s));
}

/* The concatenation is written at the end of the text; if the name exists
 * already, that space is released. */
ir_str ir_name_cat(ir_program *p, ir_str a, const char *suffix) {
  size_t na = strlen(ir_text(p, a)), ns = strlen(suffix);
  if (!(na + ns)) return 0;
  if (2 * p->names.v[0] >= p->names.n - 1) grow_slots(p, p->text.n);
  vec_reserve(p->heap, &p->text, na + ns + 1);
  char *v = p->text.v + p->text.n;
  memcpy(v, ir_text(p, a), na);
  memcpy(v + na, suffix, ns + 1);
  uint32_t *slot = find_slot(p, v, na + ns);
  if (!*slot) {
    *slot = p->text.n;
    p->names.v[0]++;
    p->text.n += (uint32_t)(na + ns + 1);
  }
  return *slot;
}

/* ---- names of variables ------------------------------------------------- */

/* Long names are truncated: repeated splitting and fusing doubles them each
 * time. */
enum { NAME_LENGTH = 48, NAME_DEPTH = 24, NAME_MAX = 256 };

typedef struct spelling {
  size_t n;
  char v[NAME_MAX];
} spelling;

/* Appends s, unless the name has reached its limit. */
static void spell_append(spelling *x, const char *s) {
  if (x->n >= NAME_LENGTH) return;
  size_t n = strnlen(s, NAME_MAX - 1 - x->n);
  memcpy(x->v + x->n, s, n);
  x->n += n;
}

static void put_number(spelling *x, const char *before, unsigned k) {
  char text[24];
  snprintf(text, sizeof text, "%s%u", before, k);
  spell_append(x, text);
}

static void spell(const ir_program *p, ir_var v, int depth, spelling *x) {
  const ir_var_rec *r = &p->var.v[v];
  if (x->n >= NAME_LENGTH) return;
  if (depth > NAME_DEPTH || (r->form == IR_NAME_PLAIN && !r->name)) {
    spell_append(x, "v");
    return;
  }
  switch ((ir_name_form)r->form) {
  case IR_NAME_PLAIN: spell_append(x, ir_text(p, r->name)); break;
  case IR_NAME_SPLIT:
    spell(p, r->from[0], depth + 1, x);
    put_number(x, "_", r->part);
    break;
  case IR_NAME_FUSED:
    spell(p, r->from[0], depth + 1, x);
    spell_append(x, "_");
    spell(p, r->from[1], depth + 1, x);
    spell_append(x, r->part ? "" : "_fused");
    break;
  case IR_NAME_AX: put_number(x, "ax", r->part); break;
  case IR_NAME_INIT:
    spell(p, r->from[0], depth + 1, x);
    spell_append(x, "_init");
    break;
  case IR_NAME_OUTER:
    spell(p, r->from[0], depth + 1, x);
    spell_append(x, "_o");
    break;
  case IR_NAME_INNER:
    spell(p, r->from[0], depth + 1, x);
    spell_append(x, "_i");
    break;
  }
}

void ir_var_name(const ir_program *p, ir_var v, strbuf *out) {
  spelling x = {.n = 0};
  spell(p, v, 0, &x);
  str_write(out, x.v, x.n);
}

const char *ir_var_text(const ir_program *p, ir_var v, arena *scratch) {
  spelling x = {.n = 0};
  spell(p, v, 0, &x);
  return arena_printf(scratch, "%.*s", (int)x.n, x.v);
}
