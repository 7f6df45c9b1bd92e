/* SPDX-License-Identifier: Apache-2.0
 * Frames: the message format between a pool and its workers.
 *
 *   0        4        6        8                16               24
 *   | magic  |version | type   | bytes of body  | hash of body   | body ...
 *
 * little-endian.  Readers validate every field; an invalid frame ends the
 * connection. */
#ifndef MEASURE_WORKER_FRAME_H
#define MEASURE_WORKER_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FRAME_HEAD = 24, FRAME_VERSION = 2 };
#define FRAME_MAGIC 0x53534554u       /* "TESS" */
#define FRAME_MAX ((uint64_t)2 << 30) /* bytes of a body */

typedef enum frame_type {
  FRAME_NONE,
  FRAME_PUT,
  FRAME_BUILD,
  FRAME_REFERENCE,
  FRAME_RUN,
  FRAME_CALL,
  FRAME_MEMORY, /* to a worker */
  FRAME_HELLO,  /* the handshake: version, status */
  FRAME_PHASE,  /* a job_phase begins */
  FRAME_BUILT,
  FRAME_REFERRED,
  FRAME_RAN,
  FRAME_CALLED, /* results */
  FRAME_CRASH,  /* a signal ends the worker */
  FRAME_FATAL,  /* a fatal error of LLVM ends the worker */
  FRAME_REFUSED, /* in place of a result that cannot be sent: why not */
  FRAME_TYPES
} frame_type;

typedef struct frame_head {
  frame_type type;
  uint64_t length, hash;
} frame_head;

/* Safe in a signal handler. */
void frame_put_head(unsigned char out[FRAME_HEAD], frame_type type,
                    const void *body, size_t n);
/* false: not a valid header. */
bool frame_get_head(const unsigned char in[FRAME_HEAD], frame_head *out);
bool frame_body_fits(const frame_head *h, const void *body);
/* Why a body of so many bytes, more than FRAME_MAX, is not sent. */
void frame_too_long(uint64_t bytes, char *out, size_t n);

#endif
