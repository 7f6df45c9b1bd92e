/* SPDX-License-Identifier: Apache-2.0
 * Search spaces: generators of sketches, and the sketches they give. */
#ifndef SEARCH_SPACE_SPACE_H
#define SEARCH_SPACE_SPACE_H

#include "vm/object.h"

typedef enum space_kind {
  SPACE_MODULES,  /* module by module over the blocks */
  SPACE_FUNCTION, /* one call for the whole program */
  SPACE_UNION,
  SPACE_TRACES
} space_kind;

struct tess_space {
  tess_context *c;
  uint32_t refs;
  space_kind kind;
  uint32_t n;
  tess_module *module;       /* MODULES, FUNCTION: n */
  char **name;               /* their names, own copies */
  tess_space **part;         /* UNION: n */
  tess_trace **trace;        /* TRACES: n */
  vm_trace *postprocs;       /* appended to sketches; NULL: the default */
  void (*on_free)(void *ud); /* NULL: nothing more to do */
  void *on_free_ud;
};

/* The sketches of a space: traces without decisions, bound to the program, each
 * once. */
typedef struct space_applied { /* a module at a block of one sketch */
  uint32_t before;             /* the one applied before, from 1; 0: none */
  const char *module;          /* the space's */
  uint64_t block;              /* hash of the block's name */
} space_applied;

typedef struct space_sketches {
  tess_context *c;
  VEC(space_applied) applied;
  VEC(tess_trace *) trace;
  strbuf log;              /* which module did what, where and why not */
  const thread_flag *stop; /* raised: TESS_CANCELLED; NULL: none */
  bool composes;           /* modules were asked, wherever they applied */
  bool explain;            /* the log says who shadows whom */
  bool strict;             /* a module that fails ends the generation */
  bool postprocess;        /* sketches end with postprocessors */
  bool cut;                /* but not with what those of a host did */
  const vm_trace *postprocs; /* of the space at work; NULL: the default */
} space_sketches;

void space_sketches_init(space_sketches *k, tess_context *c);
void space_sketches_free(space_sketches *k);
/* Appends the sketches of `s`.  A module that fails is not applied to that
 * block, with a warning, or ends the generation (strict). */
tess_status space_write(tess_space *s, tess_program *p, tess_target *t,
                        space_sketches *k);
/* A function of libtessera-spaces (lua/spaces/spaces.h says which there are)
 * into *fn, a pointer to a function; loads the library. */
tess_status space_lua_function(tess_context *c, const char *name, void *fn);
/* Runs a script of Lua, which gives a space or a program (the other is NULL).
 * `what` begins the message of a failure. */
tess_status space_run_script(tess_context *c, const char *what,
                             const char *script, const char *argument,
                             tess_space **space, tess_program **program);

#endif
