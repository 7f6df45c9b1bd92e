/* SPDX-License-Identifier: Apache-2.0
 * Reads the text of a machine. */
#include "backends/dae/machine.h"
#include "base/nearest.h"
#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct field {
  const char *key;
  size_t at, size; /* size 0: a number */
  int64_t least, most;
} field;

static const field fields[] = {
#define FIELD(key, member, least, most) \
  {key, offsetof(dae_machine, member), 0, least, most},
#include "backends/dae/machine.def"
#undef FIELD
#define NAME(key, member) \
  {key, offsetof(dae_machine, member), sizeof((dae_machine *)0)->member, 0, 0},
    NAME("name", name) NAME("matrix.call", call)
        NAME("word.load", word[DAE_WORD_LOAD])
            NAME("word.store", word[DAE_WORD_STORE])
                NAME("word.gemm", word[DAE_WORD_GEMM])
                    NAME("word.finish", word[DAE_WORD_FINISH])
                        NAME("word.alu", word[DAE_WORD_ALU])
                            NAME("word.preload", word[DAE_WORD_PRELOAD])
#undef NAME
};
enum { NFIELDS = sizeof fields / sizeof *fields };
_Static_assert(NFIELDS <= 32, "parse_fields marks those it saw in 32 bits");

const char *dae_memory_name(uint32_t mem) {
  static const char *const name[] = {"uop", "wgt", "inp", "acc", "out", "acc8"};
  return mem < DAE_NMEM ? name[mem] : "?";
}

const char *dae_unit_name(uint32_t unit) {
  static const char *const name[] = {"load", "compute", "store"};
  return unit < DAE_NUNITS ? name[unit] : "?";
}

static tess_status unknown_key(const char *key, int n, err_state *e) {
  char word[64];
  snprintf(word, sizeof word, "%.*s", n, key);
  nearest near = {.word = word};
  for (size_t i = 0; i < NFIELDS; i++) nearest_try(&near, fields[i].key);
  return err_set(e, TESS_NOT_FOUND, "machine: there is no field '%s'%s%s%s",
                 word, near.best ? "; did you mean '" : "",
                 near.best ? near.best : "", near.best ? "'?" : "");
}

static tess_status set_field(dae_machine *m, const field *f, const char *value,
                             size_t n, err_state *e) {
  char *at = (char *)m + f->at, digits[24] = "", *end;
  if (f->size) {
    if (!n || n >= f->size)
      return err_set(e, TESS_INVALID,
                     "machine: '%s' is a name of 1 to %d characters", f->key,
                     (int)f->size - 1);
    memcpy(at, value, n);
    return TESS_OK;
  }
  if (n < sizeof digits) memcpy(digits, value, n);
  errno = 0;
  long long v = strtoll(digits, &end, 10);
  if (!n || n >= sizeof digits || *end || errno || v < f->least || v > f->most)
    return err_set(e, TESS_INVALID,
                   "machine: '%s' is a number from %lld to %lld, not '%.*s'",
                   f->key, (long long)f->least, (long long)f->most, (int)n,
                   value);
  *(int64_t *)(void *)at = v;
  return TESS_OK;
}

static tess_status parse_fields(dae_machine *m, const char *text,
                                uint32_t *seen, err_state *e) {
  for (const char *at = text; *at; at += *at == ',') {
    size_t n = strcspn(at, ",");
    const char *eq = memchr(at, '=', n);
    size_t key = eq ? (size_t)(eq - at) : n, i = 0;
    while (i < NFIELDS && (strlen(fields[i].key) != key ||
                           memcmp(fields[i].key, at, key) != 0))
      i++;
    if (i == NFIELDS) return unknown_key(at, (int)key, e);
    tess_status s =
        set_field(m, &fields[i], eq ? eq + 1 : at + n, eq ? n - key - 1 : 0, e);
    if (s) return s;
    *seen |= 1u << i;
    at += n;
  }
  return TESS_OK;
}

static bool is_power_of_two(int64_t n) { return n > 0 && !(n & (n - 1)); }

/* Encodings have the logarithms of depths as widths of fields. */
static tess_status check_depths(const dae_machine *m, err_state *e) {
  if (!is_power_of_two(m->k) || !is_power_of_two(m->n))
    return err_set(e, TESS_INVALID,
                   "machine: 'matrix.k' and 'matrix.n' are powers of two");
  for (uint32_t b = 0; b < DAE_NBUFFERS; b++) {
    int64_t depth = dae_depth(m, b);
    if (!is_power_of_two(depth) || depth * dae_entry(m, b) != m->bytes[b] ||
        depth > 1 << 16)
      return err_set(e, TESS_INVALID,
                     "machine: 'buffer.%s' is a power of two of entries of "
                     "%lld bytes, at most 65536",
                     dae_memory_name(b), (long long)dae_entry(m, b));
  }
  return TESS_OK;
}

tess_status dae_machine_parse(dae_machine *m, const char *text, err_state *e) {
  uint32_t seen = 0;
  *m = (dae_machine){.clock = 0};
  tess_status s = parse_fields(m, text, &seen, e);
  for (size_t i = 0; !s && i < NFIELDS; i++)
    if (!(seen & 1u << i))
      s = err_set(e, TESS_INVALID, "machine: there is no '%s'", fields[i].key);
  return s ? s : check_depths(m, e);
}
