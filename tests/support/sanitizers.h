/* SPDX-License-Identifier: Apache-2.0
 * Tells AddressSanitizer that another stack is used from here. */
#ifndef SUPPORT_SANITIZERS_H
#define SUPPORT_SANITIZERS_H

#include <stddef.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
static _Thread_local const void *fiber_home;
static _Thread_local size_t fiber_home_bytes;

/* From the scheduler to a stack; from a stack back (mine NULL: for ever); and
 * behind each switch, with what was kept before it. */
static inline void fiber_switch(void **mine, const void *at, size_t bytes) {
  __sanitizer_start_switch_fiber(mine, at, bytes);
}
static inline void fiber_leaving(void **mine) {
  __sanitizer_start_switch_fiber(mine, fiber_home, fiber_home_bytes);
}
static inline void fiber_arrived(void *mine) {
  const void *from;
  size_t bytes;
  __sanitizer_finish_switch_fiber(mine, &from, &bytes);
  /* The scheduler's stack is the one that is no fibre's: what a fibre comes
   * from. */
  fiber_home = from;
  fiber_home_bytes = bytes;
}
#else
static inline void fiber_switch(void **mine, const void *at, size_t bytes) {
  *mine = NULL;
  (void)at, (void)bytes;
}
static inline void fiber_leaving(void **mine) {
  if (mine) *mine = NULL;
}
static inline void fiber_arrived(void *mine) { (void)mine; }
#endif

#endif
