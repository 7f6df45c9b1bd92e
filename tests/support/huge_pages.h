/* SPDX-License-Identifier: Apache-2.0
 * Whether the system was asked for huge pages at an address. */
#ifndef TESTS_SUPPORT_HUGE_PAGES_H
#define TESTS_SUPPORT_HUGE_PAGES_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* By the flag "hg" of its mapping; true, too, where the kernel does not tell or
 * has none, as in some containers. */
static inline bool has_huge_pages(const void *at) {
  FILE *f = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
  char line[512];
  bool found = true, here = false;
  if (!f) return true;
  fclose(f);
  f = fopen("/proc/self/smaps", "re");
  while (f && fgets(line, sizeof line, f)) {
    uintptr_t first, end;
    if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &first, &end) == 2)
      here = first <= (uintptr_t)at && (uintptr_t)at < end;
    else if (here && !strncmp(line, "VmFlags:", 8))
      found = strstr(line, " hg") != NULL;
  }
  if (f) fclose(f);
  return found;
}

#endif
