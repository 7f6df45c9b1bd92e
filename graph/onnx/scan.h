/* SPDX-License-Identifier: Apache-2.0
 * The wire format of an ONNX file, checked before anything is unpacked. */
#ifndef GRAPH_ONNX_SCAN_H
#define GRAPH_ONNX_SCAN_H

#include "base/error.h"
#include "base/str.h"

/* What a file may have: levels of messages, messages, other values that are not
 * packed, and bytes besides raw data. */
enum {
  ONNX_MAX_DEPTH = 100,
  ONNX_MAX_MESSAGES = 1 << 20,
  ONNX_MAX_VALUES = 1 << 22,
  ONNX_MAX_BYTES = 1 << 30
};

/* Where raw data lies in the file.  Stands in `raw_data` in place of it. */
typedef struct onnx_place {
  uint64_t at, n;
} onnx_place;

/* Appends to `out` the file without its raw data, for which there are places,
 * and without fields that onnx.proto does not have: every length in it lies
 * within its message, every field is of the kind that onnx.proto says, strings
 * have no NUL, and a message that cannot repeat is there once, so that none are
 * merged.  PARSE, LIMIT, with the field and the byte. */
tess_status onnx_scan(const void *bytes, size_t n, strbuf *out, err_state *e);

#endif
