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

/* `threads` processing units; NULL: there are too few. */
static hwloc_bitmap_t choose_units(hwloc_topology_t t, uint32_t threads) {
  int units = hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_PU);
  hwloc_bitmap_t set = hwloc_bitmap_alloc();
  uint32_t left = threads;
  for (unsigned k = 0; set && left > 0 && (int)k < units; k++)
    take_units(t, k, &left, set);
  if (left == 0) return set;
  hwloc_bitmap_free(set);
  return NULL;
}

static bool pin(hwloc_topology_t t, uint32_t threads) {
  hwloc_bitmap_t set = choose_units(t, threads);
  bool done = set && hwloc_set_cpubind(t, set, HWLOC_CPUBIND_PROCESS) == 0;
  if (set) hwloc_bitmap_free(set);
  return done;
}

/* The topology of what this process may run on. */
static bool find_topology(hwloc_topology_t *t) {
  if (hwloc_topology_init(t) != 0) return false;
  hwloc_topology_set_flags(*t, HWLOC_TOPOLOGY_FLAG_IS_THISSYSTEM |
                                   HWLOC_TOPOLOGY_FLAG_RESTRICT_TO_CPUBINDING);
  if (hwloc_topology_load(*t) == 0) return true;
  hwloc_topology_destroy(*t);
  return false;
}

bool cores_pin(uint32_t threads, const cpu_set_t *allowed) {
  hwloc_topology_t t;
  sched_setaffinity(0, sizeof *allowed, allowed);
  if (!find_topology(&t)) return false;
  bool done = pin(t, threads);
  hwloc_topology_destroy(t);
  return done;
}

/* Adds the units of a core that may be used. */
static void add_core(hwloc_obj_t core, const cpu_set_t *allowed,
                     cpu_set_t *out) {
  int unit = -1;
  while ((unit = hwloc_bitmap_next(core->cpuset, unit)) >= 0)
    if (unit < CPU_SETSIZE && CPU_ISSET((unsigned)unit, allowed))
      CPU_SET((unsigned)unit, out);
}

uint32_t cores_left(uint32_t threads, const cpu_set_t *allowed,
                    cpu_set_t *others) {
  hwloc_topology_t t;
  hwloc_obj_t core = NULL;
  uint32_t n = 0;
  CPU_ZERO(others);
  if (!find_topology(&t)) return 0;
  hwloc_bitmap_t timed = choose_units(t, threads);
  while (timed &&
         (core = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_CORE, core))) {
    if (hwloc_bitmap_intersects(core->cpuset, timed)) continue;
    add_core(core, allowed, others);
    n++;
  }
  if (timed) hwloc_bitmap_free(timed);
  hwloc_topology_destroy(t);
  return n;
}
