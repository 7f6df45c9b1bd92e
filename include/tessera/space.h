/* SPDX-License-Identifier: Apache-2.0
 * Spaces of schedules, and the modules that make them.  Included by
 * tessera.h, whose first page holds for this part, too. */
#ifndef TESSERA_SPACE_H
#define TESSERA_SPACE_H

#include <tessera/schedule.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TESS_MAX_SKETCHES = 4096 };

/* A schedule module: called for each block.  Appends zero or more schedules
 * (TESS_TAKE) through `emit`: copies of `sch`, or itself.  Return TESS_OK,
 * with *why set where there is something to say of them;
 * TESS_NOT_FOUND with *why set: not applicable, the block stays as it is;
 * TESS_NOMEM (memory ran out, as it also has where it fails over the
 * memory_cap) and TESS_CANCELLED end the generation of sketches; anything else
 * (*why may stay NULL where a call failed with it: tess_error says why then):
 * it failed, which counts as not applicable, and a warning goes to the log,
 * once for each module and *why.  One that has drawn, and then sets *why or is
 * REFUSED, is called again, with other draws; where all are refused the first
 * says why.  A module that makes more than TESS_MAX_SKETCHES sketches over all
 * blocks fails at all of them.  With the on_error of tess_tune_options either
 * is an error of tess_tune. */
typedef struct tess_module {
  uint32_t struct_size;         /* sizeof(tess_module) */
  const char *name;
  tess_status (*apply)(void *ud, tess_schedule *sch, tess_rv block,
                       void (*emit)(void *sink, TESS_TAKE tess_schedule *s),
                       void *sink, const char **why);
  void (*free)(void *ud);
  void *ud;
} tess_module;
/* Modules one after the other, each on all blocks.  Names are copied; with
 * success `free` is the space's to call, and only then. */
TESS_API tess_status tess_space_compose(tess_context *c, uint32_t n,
    const tess_module *modules, TESS_GIVE tess_space **out);
/* One function that schedules the whole program by hand. */
TESS_API tess_status tess_space_function(tess_context *c,
    const tess_module *whole, TESS_GIVE tess_space **out);
/* The sketches of all of them. */
TESS_API tess_status tess_space_union(tess_context *c, uint32_t n,
    tess_space *const *spaces, TESS_GIVE tess_space **out);
/* A space of given sketches (traces). */
TESS_API tess_status tess_space_traces(tess_context *c, uint32_t n,
    tess_trace *const *traces, TESS_GIVE tess_space **out);
/* The default space of a target (NULL: "llvm"): the modules written in Lua that
 * come with Tessera.  libtessera-spaces, which links Lua, is loaded for it when
 * it is first asked for, from beside libtessera, or where the environment
 * variable TESSERA_SPACES says; UNSUPPORTED where it is not installed.  INVALID
 * for a target that has none.  The modules run in a Lua state of the space's
 * own. */
TESS_API tess_status tess_space_default(tess_context *c, tess_target *target,
                                        TESS_GIVE tess_space **out);
/* What a Lua script returns, a program or a space: "return require
 * 'tessera.ops'.matmul { m = 64, n = 64, k = 64 }".  It is run in a Lua state
 * of its own, as the modules of tess_space_default are, with the module
 * "tessera"; a space keeps that.  An error in it is CALLBACK, or what a call of
 * the engine's failed with, and the message is the script's; PARSE where it is
 * no Lua, TYPE where it returns something else; UNSUPPORTED as above. */
TESS_API tess_status tess_program_from_lua(tess_context *c, const char *script,
                                           TESS_GIVE tess_program **out);
TESS_API tess_status tess_space_from_lua(tess_context *c, const char *script,
                                         TESS_GIVE tess_space **out);
/* fn(ud) is called once, when the space is no more; of several the last. */
TESS_API void tess_space_on_free(tess_space *s, void (*fn)(void *ud),
                                 void *ud);
TESS_API void tess_space_free(TESS_TAKE tess_space *s);
/* The sketches: traces whose decisions are open.  LIMIT, and none are written,
 * where there are more than max. */
TESS_API tess_status tess_space_sketches(tess_space *s, tess_program *p,
    tess_target *t, uint32_t max, TESS_GIVE tess_trace **out, uint32_t *n);
/* Which postprocessors are appended to the space's sketches when it is tuned: a
 * trace that holds nothing else, as tess_trace_from_lua makes of their calls;
 * an empty one: none; NULL: again those of the target (of modules, where there
 * are any; none of functions and traces).  They are primitives, "rewrite_..."
 * and checks, and run whenever a candidate is replayed: what they do is part of
 * its trace.  Copied; INVALID where it holds another primitive. */
TESS_API tess_status tess_space_set_postprocs(tess_space *s,
                                              tess_trace *postprocs);
/* The sketches as they are tuned, with their postprocessors. */
TESS_API tess_status tess_space_postprocessed(tess_space *s, tess_program *p,
    tess_target *t, uint32_t max, TESS_GIVE tess_trace **out, uint32_t *n);
/* Which module did what at which block and why not, as text. */
TESS_API tess_status tess_space_explain(tess_space *s, tess_program *p,
                                        tess_target *t,
                                        TESS_GIVE char **out);

#ifdef __cplusplus
}
#endif

#endif
