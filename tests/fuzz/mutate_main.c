/* SPDX-License-Identifier: Apache-2.0
 * A driver for compilers without libFuzzer: runs a target on each file of a
 * folder, and on mutants of it from a fixed seed. */
#include "fuzz/fuzz.h"

#include "base/file.h"
#include "base/rng.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MUTANTS = 2000, LONGEST = 1 << 16 };

static const char *const tokens[] = {
    "{",       "}", "[", "]", "\"", ",", "-1", "99999999999999999999",
    "\\u0000", "\n"};

static uint32_t mutate_main_below(rng *r, size_t n) {
  return (uint32_t)rng_below(r, n);
}

/* One small mutation: a byte, a cut, a repeated stretch, an inserted token. */
static size_t mutate_once(rng *r, char *text, size_t n) {
  const char *token =
      tokens[mutate_main_below(r, sizeof tokens / sizeof *tokens)];
  size_t at = mutate_main_below(r, n + 1), rest = n - at,
         k = mutate_main_below(r, rest + 1);
  k = k > 64 ? mutate_main_below(r, 64) : k;
  switch (mutate_main_below(r, 5)) {
  case 0:
    if (rest) text[at] = (char)rng_u32(r);
    return n;
  case 1: memmove(text + at, text + at + k, rest - k); return n - k;
  case 2: memmove(text + at + k, text + at, rest); return n + k;
  case 3:
    k = strlen(token);
    memmove(text + at + k, text + at, rest);
    memcpy(text + at, token, k);
    return n + k;
  default: return mutate_main_below(r, 8) ? n : at;
  }
}

static void run_seed(const char *text, size_t n, uint64_t seed) {
  static char mutant[LONGEST];
  LLVMFuzzerTestOneInput((const uint8_t *)text, n);
  for (uint64_t i = 0; i < MUTANTS; i++) {
    rng r;
    rng_init(&r, seed, i);
    size_t m = n < LONGEST / 2 ? n : LONGEST / 2;
    memcpy(mutant, text, m);
    for (uint32_t k = 1 + mutate_main_below(&r, 6); k > 0; k--)
      m = mutate_once(&r, mutant, m);
    LLVMFuzzerTestOneInput((const uint8_t *)mutant, m);
  }
}

int main(int argc, char **argv) {
  mem_heap heap;
  strbuf text;
  err_state err;
  struct dirent **entries;
  mem_heap_init(&heap, mem_default_allocator, 0);
  str_init(&text, &heap);
  int n = argc == 2 ? scandir(argv[1], &entries, NULL, alphasort) : -1;
  int seeds = 0;
  for (int i = 0; i < n; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", argv[1], entries[i]->d_name);
    str_clear(&text);
    if (entries[i]->d_name[0] != '.' &&
        file_read(path, LONGEST, &text, &err) == TESS_OK)
      run_seed(str_get(&text), text.n, (uint64_t)++seeds);
    free(entries[i]);
  }
  if (n >= 0) free(entries);
  str_free(&text);
  if (!seeds)
    fprintf(stderr, "usage: %s FOLDER with at least one seed\n", argv[0]);
  return seeds ? 0 : 2;
}
