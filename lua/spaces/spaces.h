/* SPDX-License-Identifier: Apache-2.0
 * What libtessera loads of libtessera-spaces at run time.  Written against the
 * public header alone, since the two are libraries of their own.  Where a
 * function fails, why gets n bytes of one line. */
#ifndef LUA_SPACES_SPACES_H
#define LUA_SPACES_SPACES_H

#include <tessera/tessera.h>

/* What a script returns, called with a text (NULL: none), in a state of its
 * own: a space, which keeps the state, or, where `space` is NULL, a program. */
TESS_API tess_status tess_spaces_run(tess_context *c, const char *script,
                                     const char *argument, tess_space **space,
                                     tess_program **program, char *why,
                                     size_t n);

/* As tess_graph_import, where path is not NULL, and tess_graph_import_bytes;
 * `given` has this library's size. */
TESS_API tess_status tess_spaces_import(tess_context *c, const char *path,
                                        const void *bytes, size_t size,
                                        uint32_t count, const tess_given *given,
                                        tess_graph **out, char *why, size_t n);

/* As tess_graph_compile, but where tasks is not NULL; o has this library's
 * size, as has o->tune. */
TESS_API tess_status tess_spaces_compile(tess_context *c, tess_graph *g,
                                         tess_target *target,
                                         const tess_tasks_options *o,
                                         tess_tasks **tasks, tess_network **out,
                                         char *why, size_t n);

#endif
