/* SPDX-License-Identifier: Apache-2.0
 * Encodes and validates the headers of frames. */
#include "measure/worker/frame.h"
#include "base/hash.h"
#include <stdio.h>

static void put_le(unsigned char *at, uint64_t v, int bytes) {
  for (int i = 0; i < bytes; i++) at[i] = (unsigned char)(v >> 8 * i);
}

static uint64_t get_le(const unsigned char *at, int bytes) {
  uint64_t v = 0;
  for (int i = 0; i < bytes; i++) v |= (uint64_t)at[i] << 8 * i;
  return v;
}

void frame_put_head(unsigned char out[FRAME_HEAD], frame_type type,
                    const void *body, size_t n) {
  put_le(out, FRAME_MAGIC, 4);
  put_le(out + 4, FRAME_VERSION, 2);
  put_le(out + 6, type, 2);
  put_le(out + 8, n, 8);
  put_le(out + 16, hash_bytes(body, n), 8);
}

bool frame_get_head(const unsigned char in[FRAME_HEAD], frame_head *out) {
  uint64_t type = get_le(in + 6, 2);
  if (get_le(in, 4) != FRAME_MAGIC || get_le(in + 4, 2) != FRAME_VERSION ||
      type == FRAME_NONE || type >= FRAME_TYPES)
    return false;
  *out = (frame_head){(frame_type)type, get_le(in + 8, 8), get_le(in + 16, 8)};
  return out->length <= FRAME_MAX;
}

bool frame_body_fits(const frame_head *h, const void *body) {
  return hash_bytes(body, (size_t)h->length) == h->hash;
}

void frame_too_long(uint64_t bytes, char *out, size_t n) {
  snprintf(out, n,
           "a message of %llu bytes is more than a worker is sent or sends at "
           "once, %llu: what goes there and comes back must be less, but for "
           "tensors that stay on a device",
           (unsigned long long)bytes, (unsigned long long)FRAME_MAX);
}
