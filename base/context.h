/* SPDX-License-Identifier: Apache-2.0
 * The context, which owns every public object: a heap, the last error, the
 * host's options; and the frame that public functions run their work in. */
#ifndef BASE_CONTEXT_H
#define BASE_CONTEXT_H

#include "base/error.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include <tessera/tessera.h>

/* Writes the details of the last error; called at most once, when read. */
typedef void (*ctx_detail_fn)(void *ud, strbuf *out);

/* State of upper layers kept in a context, one slot a layer: made on first use,
 * freed with the context. */
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

/* Worker threads of a context have heaps of their own over the same allocator,
 * heap.alloc, which is behind the gate where it is the host's.  `heap` and the
 * error are for the calling thread alone. */
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
  uint64_t warned[CTX_WARNED];      /* keys of warnings; the oldest makes
                                     * room */
  uint32_t nwarned;
  bool in_process;
  char *worker_path;                /* own copy; NULL: beside the library */
  thread_flag stop;                 /* raised by tess_stop() */
  uint64_t draws;                   /* of primitives that sample, without a
                                     * decision given */
  uint32_t works;                   /* nesting depth of ctx_begin_work */
  ctx_part part[CTX_PARTS];
};

/* The frame of a public call: clears the last error, runs fn(ud) under
 * mem_protect and ensures that a failure has a message.  `call` names the
 * operation in the message when a memory cap is reached and no layer below
 * named one. */
tess_status ctx_run_in(const char *call, tess_context *c,
                       tess_status (*fn)(void *ud), void *ud);
#define ctx_run(...) ctx_run_in(__func__, __VA_ARGS__)

/* Public structs that begin with struct_size (tessera.h, "How structs grow").
 *
 * ctx_take copies a host's struct, T *in, to one of ours: members that the host
 * does not have keep their value, and members unknown here are dropped.
 * ctx_give copies one of ours to the host's `out`, up to the host's size, and
 * zeroes members unknown here.  A size that no version of the struct has is
 * INVALID, naming the struct; c may be NULL, then there is no message.
 * ctx_fits only checks the size, before work is done in vain. */
tess_status ctx_take_struct(tess_context *c, const char *name, const void *in,
                            void *out, uint32_t size);
tess_status ctx_give_struct(tess_context *c, const char *name,
                            const void *ours, void *out, uint32_t size);
tess_status ctx_fits_struct(tess_context *c, const char *name,
                            const void *host, uint32_t size);
#define ctx_take(c, T, in, out) ctx_take_struct(c, #T, in, out, sizeof(T))
#define ctx_give(c, T, ours, out) ctx_give_struct(c, #T, ours, out, sizeof(T))
#define ctx_fits(c, T, host) ctx_fits_struct(c, #T, host, sizeof(T))

/* Brackets work that tess_stop() can interrupt; calls nest.  The work polls
 * `stop`; a stop requested before the outermost bracket is dropped. */
void ctx_begin_work(tess_context *c);
void ctx_end_work(tess_context *c);

/* Sets the error whole (no primitive, no detail); returns the code. */
tess_status ctx_fail(tess_context *c, tess_status code, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));
/* The same for running out of memory with status s; fmt names what was being
 * made. */
tess_status ctx_ran_out(tess_context *c, tess_status s, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));
/* Adds to an error that was just set which step failed and why. */
void ctx_blame(tess_context *c, const char *primitive, const char *reason);
/* Adds details that are formatted only if the error is read before the next
 * public call; `ud` must live until then. */
void ctx_set_detail(tess_context *c, ctx_detail_fn fn, void *ud);
/* Forgets the last error. */
void ctx_clear(tess_context *c);
/* Clears it if its details would still be formatted from `ud`, which is about
 * to die. */
void ctx_forget(tess_context *c, const void *ud);

/* Logs a warning as one line, if the host installed a log; once per key (a
 * hash), however often it is issued. */
void ctx_warn(tess_context *c, uint64_t key, const char *fmt, ...)
  __attribute__((format(printf, 3, 4)));

/* A copy of `n` bytes of text, to be freed by tess_text_free(); unwinds. */
char *ctx_text(tess_context *c, const char *text, size_t n);
/* The content of `b`, likewise; unwinds where `b` ran out of memory. */
char *ctx_text_of(tess_context *c, const strbuf *b);

#endif
