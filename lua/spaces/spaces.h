/* SPDX-License-Identifier: Apache-2.0
 * What libtessera loads of libtessera-spaces at run time.  Written against the
 * public header alone, since the two are libraries of their own. */
#ifndef LUA_SPACES_SPACES_H
#define LUA_SPACES_SPACES_H

#include <tessera/tessera.h>

/* What a script returns, called with a text (NULL: none), in a state of its
 * own: a space, which keeps the state, or, where `space` is NULL, a program.
 * Where that fails, why gets n bytes of one line. */
TESS_API tess_status tess_spaces_run(tess_context *c, const char *script,
                                     const char *argument, tess_space **space,
                                     tess_program **program, char *why,
                                     size_t n);

#endif
