/* SPDX-License-Identifier: Apache-2.0
 * What the times that a machine gives depend on, from the files of Linux. */
#include "measure/machine_facts.h"
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

/* The first line of a small file, or what stands behind `key` and a colon in
 * the line that begins with it; "" where there is none. */
static void read_line_of(const char *path, const char *key, char *out,
                         size_t n) {
  char line[512];
  FILE *f = fopen(path, "re");
  out[0] = '\0';
  while (f && !out[0] && fgets(line, sizeof line, f)) {
    const char *at = line;
    line[strcspn(line, "\n")] = '\0';
    if (key) {
      if (strncmp(line, key, strlen(key)) || !(at = strchr(line, ':')))
        continue;
      at += 1 + strspn(at + 1, " \t");
    }
    snprintf(out, n, "%s", at);
    if (!key) break;
  }
  if (f) fclose(f);
}

void machine_facts(strbuf *out) {
  static const struct {
    const char *name, *path, *key;
  } facts[] = {{"processor", "/proc/cpuinfo", "model name"},
               {"part", "/proc/cpuinfo", "CPU part"}, /* of Arm's */
               {"governor",
                "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", NULL},
               {"most_khz",
                "/sys/devices/system/cpu/cpu0/cpufreq/scaling_max_freq", NULL},
               {"driver", "/proc/driver/nvidia/version", NULL}};
  struct utsname u;
  if (!uname(&u)) str_printf(out, "machine\t%s\n", u.machine);
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    char text[256];
    read_line_of(facts[i].path, facts[i].key, text, sizeof text);
    if (*text) str_printf(out, "%s\t%s\n", facts[i].name, text);
  }
}
