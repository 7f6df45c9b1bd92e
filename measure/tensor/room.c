/* SPDX-License-Identifier: Apache-2.0
 * The memory limit of this machine or container, from sysconf and cgroups. */
#include "measure/tensor/room.h"
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* The number in a file, or UINT64_MAX: "max", or no such file. */
static uint64_t number_in(const char *path) {
  FILE *f = fopen(path, "re");
  uint64_t n;
  if (!f) return UINT64_MAX;
  if (fscanf(f, "%" SCNu64, &n) != 1) n = UINT64_MAX;
  fclose(f);
  return n;
}

/* Control groups of version 2 and 1, as a container sees its own. */
static const char *const limits[] = {
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
};

uint64_t room_of_machine(void) {
  uint64_t room = (uint64_t)sysconf(_SC_PHYS_PAGES);
  room *= (uint64_t)sysconf(_SC_PAGESIZE);
  for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
    uint64_t limit = number_in(limits[i]);
    if (limit < room) room = limit;
  }
  return room;
}
