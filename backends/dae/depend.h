/* SPDX-License-Identifier: Apache-2.0
 * Dependences of a stream: what each instruction must wait for, the tokens that
 * make it wait, and the verifier of both. */
#ifndef BACKENDS_DAE_DEPEND_H
#define BACKENDS_DAE_DEPEND_H

#include "backends/dae/insn.h"
#include "base/arena.h"

enum { DAE_NO_INSN = UINT32_MAX };

/* The last instruction of each unit, before this one in the stream, that
 * accesses what this one does, one of them writing; DAE_NO_INSN: none. Units
 * execute in order, so the ones before that need not be known. */
typedef struct dae_needs { uint32_t on[DAE_NUNITS]; } dae_needs;

/* A vector clock: how many instructions of each unit are known to be done. */
typedef struct dae_clocks { uint32_t done[DAE_NUNITS]; } dae_clocks;

static inline void dae_join(dae_clocks *to, const dae_clocks *from) {
  for (int u = 0; u < DAE_NUNITS; u++)
    if (from->done[u] > to->done[u]) to->done[u] = from->done[u];
}

/* What each instruction of the stream needs, in the arena.  `bytes`: of the
 * memory that it addresses.  INVALID: an instruction exceeds a buffer or the
 * memory. */
tess_status dae_find_needs(const dae_machine *m, const dae_stream *s,
                           uint64_t bytes, arena *a, dae_needs **out,
                           err_state *e);

/* Sets the dep bits so that every need holds, and no more waits: an order that
 * others imply gets no token. Where load and store units depend on each other,
 * a nop of the compute unit, inserted before, passes the token on: needs must
 * be found again.  Nothing on machines without tokens.  Unwinds. */
void dae_insert_tokens(const dae_machine *m, dae_stream *s, mem_heap *heap,
                       const dae_needs *needs, arena *a);

/* Verifies a stream by vector clocks, and appends what is wrong, a line each: a
 * need that no token implies (a race), tokens that never come (a deadlock, with
 * its cycle), tokens that nobody takes, and tokens that order nothing.  true:
 * there are no races and no deadlock.  `idle`: also look for the last, which
 * takes a verification per token. */
bool dae_verify(const dae_machine *m, const dae_stream *s,
                const dae_needs *needs, bool idle, arena *a, strbuf *out);
/* Which dependence made which token: a line each. */
void dae_print_tokens(const dae_machine *m, const dae_stream *s,
                      const dae_needs *needs, arena *a, strbuf *out);

#endif
