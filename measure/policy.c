/* SPDX-License-Identifier: Apache-2.0
 * Default policy of timing, and its text, the key of comparable times. */
#include "measure/measure.h"

#include <string.h>

measure_policy measure_default_policy(uint32_t threads) {
  return (measure_policy){.min_time = 0.1,
                          .repeats = 3,
                          .timeout = 10,
                          .build_timeout = 15,
                          .cutoff = 4,
                          .margin = 0.3,
                          .threads = threads ? threads : 1,
                          .seed = 0};
}

/* Time-outs are not part of the text: they do not change a time. */
void measure_policy_text(const measure_policy *p, strbuf *out) {
  str_puts(out, "v2 min-time=");
  str_put_double(out, p->min_time);
  str_printf(out, " repeats=%u cutoff=", p->repeats);
  str_put_double(out, p->cutoff);
  str_puts(out, " margin=");
  str_put_double(out, p->margin);
  str_printf(out, " threads=%u seed=%llu", p->threads,
             (unsigned long long)p->seed);
  if (p->inputs)
    str_printf(out, " inputs=%016llx", (unsigned long long)p->inputs);
  if (p->warm_cache) str_puts(out, " cache=warm");
}

/* ---- reading ------------------------------------------------------------ */

/* What a fleet's key may consist of. */
#define POLICY_NAME \
  "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-"

/* The words of a policy's text, and what each may consist of; versions differ
 * in which of the others there are. */
static const struct {
  const char *name, *of;
  bool needed;
} policy_words[] = {{"min-time=", "0123456789.e+-", true},
                    {"repeats=", "0123456789", true},
                    {"cutoff=", "0123456789.e+-", false},
                    {"margin=", "0123456789.e+-", false},
                    {"threads=", "0123456789", true},
                    {"seed=", "0123456789", true},
                    {"inputs=", "0123456789abcdef", false},
                    {"cache=", "warm", false},
                    {"fleet=", POLICY_NAME, false}};
enum { POLICY_WORDS = sizeof policy_words / sizeof *policy_words };

/* The place behind the word that begins at `at`; NULL: it is none. */
static const char *skip_policy_word(const char *at, uint32_t *seen) {
  for (uint32_t i = 0; i < POLICY_WORDS; i++) {
    size_t name = strlen(policy_words[i].name);
    if (strncmp(at, policy_words[i].name, name)) continue;
    size_t n = strspn(at + name, policy_words[i].of);
    bool real = strchr(policy_words[i].of, '+') != NULL;
    if (!n || (*seen >> i & 1) || (real && strchr(".e+-", at[name])))
      return NULL;
    *seen |= 1u << i;
    return at + name + n;
  }
  return NULL;
}

bool measure_is_policy(const char *text) {
  uint32_t seen = 0;
  const char *at = text + (*text == 'v');
  size_t version = strspn(at, "0123456789");
  if (at == text || !version) return false;
  for (at += version; at && *at == ' ';) at = skip_policy_word(at + 1, &seen);
  if (!at || *at) return false;
  for (uint32_t i = 0; i < POLICY_WORDS; i++)
    if (policy_words[i].needed && !(seen >> i & 1)) return false;
  return true;
}
