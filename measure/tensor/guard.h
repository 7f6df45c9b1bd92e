/* SPDX-License-Identifier: Apache-2.0
 * Memory between guard pages: accessing the first byte before it, or the first
 * behind it, faults.
 *
 *        page                                             page
 *   .....|####|                 room                 |####|.....
 *                [data, front]
 *                                      [data, back]
 *
 * Data whose size is a multiple of the page is adjacent to both guards.  Where
 * alignment leaves a gap before the guard behind the data, its bytes have a
 * known content, which guard_check verifies. */
#ifndef MEASURE_TENSOR_GUARD_H
#define MEASURE_TENSOR_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum guard_side { GUARD_FRONT, GUARD_BACK } guard_side;

typedef struct guard {
  char *map;         /* NULL: none */
  size_t page, room; /* bytes of a guard, and between the two */
  char *data;
  size_t bytes, align;
  guard_side side;
  bool is_locked; /* the room may only be read */
} guard;

/* Allocates zeroed memory, data at the front; false: out of memory. */
bool guard_open(guard *g, size_t bytes, size_t align);
void guard_close(guard *g);
/* Moves the data to that end of the room. */
void guard_place(guard *g, guard_side side);
/* Write-protects the room, or lifts that. */
void guard_lock(guard *g, bool lock);
/* Whether the bytes beside the data are unchanged. */
bool guard_check(const guard *g);

typedef enum guard_hit {
  GUARD_MISSED, /* the address is none of this memory's */
  GUARD_BEFORE, /* *distance bytes before the data */
  GUARD_BEHIND, /* *distance bytes after its last, from 1 */
  GUARD_INSIDE  /* *distance bytes in: written while locked */
} guard_hit;
/* Safe in a signal handler. */
guard_hit guard_find(const guard *g, uintptr_t address, size_t *distance);

#endif
