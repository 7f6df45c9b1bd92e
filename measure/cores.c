/* SPDX-License-Identifier: Apache-2.0
 * Pins the measuring process to cores, one hardware thread a core, by hwloc. */
#include "measure/cores.h"
#include <hwloc.h>

/* Adds to `set` the k-th processing unit of each core, cores in order, until
 * `left` is 0. */
static void take_units(hwloc_topology_t t, unsigned k, uint32_t *left,
                       hwloc_bitmap_t set) {
  hwloc_obj_t core = NULL;
  while (*left > 0 &&
         (core = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, core))) {
    int at = -1;
    for (unsigned i = 0; i <= k; i++)
      if ((at = hwloc_bitmap_next(core->cpuset, at)) < 0) break;
    if (at < 0) continue;
    hwloc_bitmap_set(set, (unsigned)at);
    --*left;
  }
}

static bool pin(hwloc_topology_t t, uint32_t threads) {
  int units = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU);
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  if (!set) return false;
  uint32_t left = threads;
  for (unsigned k = 0; left > 0 && (int)k < units; k++)
    take_units(t, k, &left, set);
  bool done =
      left == 0 && hwloc_set_cpubind(t, set, HWLOC_CPUBIND_PROCESS) == 0;
  hwloc_bitmap_free(set);
  return done;
}

bool cores_pin(uint32_t threads, const cpu_set_t *allowed) {
  hwloc_topology_t t;
  sched_setaffinity(0, sizeof *allowed, allowed);
  if (hwloc_topology_init(&t) != 0) return false;
  hwloc_topology_set_flags(t, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM |
                                  HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
  bool done = hwloc_topology_load(t) == 0 && pin(t, threads);
  hwloc_topology_destroy(t);
  return done;
}
