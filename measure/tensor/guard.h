/* SPDX-License-Identifier: Apache-2.0
 * Memory between guard pages: the first byte before it, or the first behind
 * it, cannot be touched.
 *
 *        page                                             page
 *   .....|####|                 room                 |####|.....
 *                [data, front]
 *                                      [data, back]
 *
 * Data whose size is a multiple of the page touches both guards at once.
 * Where alignment keeps data from the guard behind it, the few bytes in
 * between have a known content, which guard_check looks at. */
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

/* Zeroed memory, at the front; false: the system gives none. */
bool guard_open(guard *g, size_t bytes, size_t align);
void guard_close(guard *g);
/* Moves the data to the other end of the room, if need be. */
void guard_place(guard *g, guard_side side);
/* Whether data may be written. */
void guard_lock(guard *g, bool lock);
/* Were the bytes beside the data left alone? */
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
