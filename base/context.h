/* SPDX-License-Identifier: Apache-2.0
 * What every public object hangs from: a heap, the last error, the host's
 * choices.  Each public function runs its work through ctx_run(). */
#ifndef BASE_CONTEXT_H
#define BASE_CONTEXT_H

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include <tessera/tessera.h>

/* Writes the details of the last error; called at most once, when read. */
typedef void (*ctx_detail_fn)(void *ud, strbuf *out);

/* What floors above keep in a context, each in a place of its own: made when
 * first needed, freed with the context. */
typedef enum ctx_part_id {
  CTX_PART_MEASURE,
  CTX_PART_SEARCH,
  CTX_PART_INTRINS,
  CTX_PARTS
} ctx_part_id;
typedef struct ctx_part {
  void *object;                     /* NULL: not made yet */
  void (*free)(void *object);
} ctx_part;

enum { CTX_WARNED = 64 };

/* Threads that work for a context have heaps of their own, over the same
 * allocator: heap.alloc, which is behind the gate where the host gave it.
 * `heap` and the error are for the calling thread alone. */
struct tess_context {
  mem_heap heap;
  mem_gate gate;
  err_state err;
  uint64_t serial;                  /* counts the failures */
  char primitive[64], reason[64];   /* of a refused schedule step, else "" */
  ctx_detail_fn detail_fn;          /* NULL: none, or already written */
  void *detail_ud;
  strbuf detail;
  tess_error_info info;             /* what tess_error() gives out */
  void (*log)(void *ud, int level, const char *text);
  void *log_ud;
  uint64_t warned[CTX_WARNED];      /* of; the oldest makes room */
  uint32_t nwarned;
  bool in_process;
  char *worker_path;                /* own copy; NULL: beside the library */
  thread_flag stop;                 /* raised by tess_stop() */
  uint32_t works;                   /* that are going on, one in another */
  ctx_part part[CTX_PARTS];
};

/* The frame of a public call: forgets the last error, runs fn(ud) under
 * mem_protect and sees to it that a failure has a message.  `call` is what a
 * memory cap was reached in where nothing below said more. */
tess_status ctx_run_in(const char *call, tess_context *c,
                       tess_status (*fn)(void *ud), void *ud);
#define ctx_run(...) ctx_run_in(__func__, __VA_ARGS__)

/* Public structs that begin with struct_size (tessera.h, "How structs grow").
 *
 * ctx_take copies one that the host made, T *in, to one of ours; what the host
 * does not know stays there as it is, and what is unknown here is left out.
 * ctx_give copies one of ours to the host's `out`, as much as it has room for;
 * what it knows beyond ours becomes 0.  Sizes that no version of the struct
 * can have are INVALID, naming the struct; c may be NULL, without a message
 * then.  ctx_fits only says that, before work is done for nothing. */
tess_status ctx_take_struct(tess_context *c, const char *name, const void *in,
                            void *out, uint32_t size);
tess_status ctx_give_struct(tess_context *c, const char *name,
                            const void *ours, void *out, uint32_t size);
tess_status ctx_fits_struct(tess_context *c, const char *name,
                            const void *host, uint32_t size);
#define ctx_take(c, T, in, out) ctx_take_struct(c, #T, in, out, sizeof(T))
#define ctx_give(c, T, ours, out) ctx_give_struct(c, #T, ours, out, sizeof(T))
#define ctx_fits(c, T, host) ctx_fits_struct(c, #T, host, sizeof(T))

/* Around what tess_stop() can end, in pairs: it looks at `stop`, and what was
 * raised before the outermost one began is forgotten. */
void ctx_begin_work(tess_context *c);
void ctx_end_work(tess_context *c);

/* Sets the error whole (no primitive, no detail); returns the code. */
tess_status ctx_fail(tess_context *c, tess_status code, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));
/* The same where memory ran out with s, after what was wanted, which fmt
 * says. */
tess_status ctx_ran_out(tess_context *c, tess_status s, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));
/* Adds to an error that was just set which step failed and why. */
void ctx_blame(tess_context *c, const char *primitive, const char *reason);
/* Adds details that are written only if somebody reads the error before the
 * next public call, until when `ud` must live. */
void ctx_set_detail(tess_context *c, ctx_detail_fn fn, void *ud);
/* Forgets the last error. */
void ctx_clear(tess_context *c);
/* Forgets it if its details are still to be written from `ud`, which goes. */
void ctx_forget(tess_context *c, const void *ud);

/* One line to the host's log, where it wants one; what has several becomes
 * one. */
void ctx_log(tess_context *c, int level, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));

/* A warning to it.  What is told again and again has the same key, a hash,
 * and is told once. */
void ctx_warn(tess_context *c, uint64_t key, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));

/* A copy of `n` bytes of text that tess_text_free() takes; unwinds. */
char *ctx_text(tess_context *c, const char *text, size_t n);
/* The content of `b`, likewise; unwinds where `b` ran out of memory. */
char *ctx_text_of(tess_context *c, const strbuf *b);

#endif
