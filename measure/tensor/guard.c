/* SPDX-License-Identifier: Apache-2.0
 * Allocates memory between guard pages and classifies faulting addresses. */
#include "measure/tensor/guard.h"
#include "base/mem.h"
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MARK = 0xa7, GUARD_BYTES = 1 << 20 };

static size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

/* The address of the data: as near to that guard as its alignment admits. */
static char *place_of(const guard *g, guard_side side) {
  char *room = g->map + g->page;
  size_t slack = g->room - g->bytes;
  return side == GUARD_FRONT ? room : room + slack / g->align * g->align;
}

static void mark_slack(guard *g) {
  char *room = g->map + g->page, *end = room + g->room;
  memset(room, MARK, (size_t)(g->data - room));
  memset(g->data + g->bytes, MARK, (size_t)(end - (g->data + g->bytes)));
}

bool guard_open(guard *g, size_t bytes, size_t align) {
  size_t page = round_up(GUARD_BYTES, (size_t)sysconf(_SC_PAGESIZE));
  size_t room = round_up(bytes, (size_t)sysconf(_SC_PAGESIZE));
  *g = (guard){.page = page, .room = room, .bytes = bytes, .align = align};
  if (bytes > SIZE_MAX / 2) return false;
  void *map = mmap(NULL, room + 2 * page, PROT_NONE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) return false;
  g->map = map;
  g->data = g->map + page;
  if (room && mprotect(g->data, room, PROT_READ | PROT_WRITE) != 0) {
    guard_close(g);
    return false;
  }
  mem_advise_huge(g->data, room);
  mark_slack(g);
  return true;
}

void guard_close(guard *g) {
  if (g->map) munmap(g->map, g->room + 2 * g->page);
  g->map = NULL;
}

void guard_lock(guard *g, bool lock) {
  if (g->is_locked == lock || !g->room) return;
  mprotect(g->map + g->page, g->room,
           lock ? PROT_READ : PROT_READ | PROT_WRITE);
  g->is_locked = lock;
}

void guard_place(guard *g, guard_side side) {
  char *to = place_of(g, side);
  bool locked = g->is_locked;
  g->side = side;
  if (to == g->data) return;
  guard_lock(g, false);
  memmove(to, g->data, g->bytes);
  g->data = to;
  mark_slack(g);
  guard_lock(g, locked);
}

static bool is_marked(const char *at, const char *end) {
  for (; at < end; at++)
    if ((unsigned char)*at != MARK) return false;
  return true;
}

bool guard_check(const guard *g) {
  const char *room = g->map + g->page;
  return is_marked(room, g->data) &&
         is_marked(g->data + g->bytes, room + g->room);
}

guard_hit guard_find(const guard *g, uintptr_t address, size_t *distance) {
  uintptr_t map = (uintptr_t)g->map, data = (uintptr_t)g->data;
  uintptr_t end = data + g->bytes;
  if (!map || address < map || address >= map + g->room + 2 * g->page)
    return GUARD_MISSED;
  if (address < data) return *distance = data - address, GUARD_BEFORE;
  if (address >= end) return *distance = address - end + 1, GUARD_BEHIND;
  return *distance = address - data, GUARD_INSIDE;
}
