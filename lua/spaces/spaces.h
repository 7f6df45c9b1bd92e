/* SPDX-License-Identifier: Apache-2.0
 * What libtessera loads of libtessera-spaces at run time.  Written against the
 * public header alone, since the two are libraries of their own. */
#ifndef LUA_SPACES_SPACES_H
#define LUA_SPACES_SPACES_H

#include <tessera/tessera.h>

/* The default space of a target, written by the Lua modules of this library in
 * a state of their own, which ends with the space.  Where that fails, why gets
 * n bytes of one line. */
TESS_API tess_status tess_spaces_default(tess_context *c, tess_target *target,
                                         tess_space **out, char *why,
                                         size_t n);

#endif
