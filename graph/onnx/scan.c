/* SPDX-License-Identifier: Apache-2.0
 * Scans the wire format of an ONNX file by the descriptors that protoc-c makes
 * of onnx.proto. */
#include "graph/onnx/scan.h"
#include <onnx.pb-c.h>
#include <stdio.h>
#include <string.h>

typedef ProtobufCMessageDescriptor descriptor;
typedef ProtobufCFieldDescriptor field;

enum { VARINT = 0, BITS64 = 1, BYTES = 2, BITS32 = 5, RAW_DATA = 9 };

typedef struct scanning {
  const uint8_t *data;
  size_t at;
  strbuf *out;
  err_state *err;
  const char *path[ONNX_MAX_DEPTH]; /* the fields around `at`, from outside */
  uint32_t depth;
  uint32_t messages, values;
} scanning;

/* ---- errors ------------------------------------------------------------- */

/* Always false: `what` is wrong at that byte. */
static bool fail_at(scanning *s, size_t at, tess_status code,
                    const char *what) {
  char where[300] = "";
  size_t n = 0;
  for (uint32_t d = 0; d < s->depth && n < 200; d++)
    n += (size_t)snprintf(where + n, sizeof where - n, "%s%s", d ? "." : "",
                          s->path[d]);
  err_set(s->err, code, "byte %zu%s%s: %s", at, n ? ", in " : "", where, what);
  return false;
}

static bool malformed(scanning *s, size_t at, const char *what) {
  return fail_at(s, at, TESS_PARSE, what);
}

static bool count_one(scanning *s, uint32_t *count, uint32_t most) {
  static const char *const what[] = {"more than 1048576 messages",
                                     "more than 4194304 values"};
  if (++*count <= most) return true;
  return fail_at(s, s->at, TESS_LIMIT, what[count == &s->values]);
}

/* ---- numbers ------------------------------------------------------------ */

static bool take_varint(scanning *s, size_t end, uint64_t *v) {
  size_t from = s->at;
  *v = 0;
  for (uint32_t shift = 0; s->at < end && shift < 70; shift += 7) {
    uint8_t b = s->data[s->at++];
    *v |= shift < 64 ? (uint64_t)(b & 0x7f) << shift : 0;
    if (!(b & 0x80)) return true;
  }
  return malformed(s, from, "a number does not end");
}

/* A length of at most so many bytes, in as many as protobuf allows for one. */
static void put_length(char to[5], size_t n) {
  for (int i = 0; i < 5; i++)
    to[i] = (char)((n >> 7 * i & 0x7f) | (i < 4 ? 0x80 : 0));
}

/* ---- fields ------------------------------------------------------------- */

static int wire_type(const field *f) {
  switch (f->type) {
  case PROTOBUF_C_TYPE_STRING:
  case PROTOBUF_C_TYPE_BYTES:
  case PROTOBUF_C_TYPE_MESSAGE: return BYTES;
  case PROTOBUF_C_TYPE_FLOAT: return BITS32;
  case PROTOBUF_C_TYPE_DOUBLE: return BITS64;
  default: return VARINT;
  }
}

/* The numbers of a list that is packed in the bytes up to `end`. */
static bool check_packed(scanning *s, const field *f, size_t end) {
  size_t n = end - s->at;
  int kind = wire_type(f);
  if (kind == BITS32 || kind == BITS64) {
    if (n % (kind == BITS32 ? 4 : 8))
      return malformed(s, s->at, "a list of numbers ends within one");
  } else if (n && s->data[end - 1] & 0x80) {
    return malformed(s, s->at, "a list of numbers ends within one");
  } else {
    for (uint64_t v; s->at < end;)
      if (!take_varint(s, end, &v)) return false;
  }
  s->at = end;
  return true;
}

static bool scan_message(scanning *s, const descriptor *d, size_t end);

/* The message in the bytes up to `end`, whose tag begins at `from`. */
static bool scan_child(scanning *s, const field *f, size_t from, size_t tag_end,
                       size_t end) {
  char length[5] = {0};
  str_write(s->out, (const char *)s->data + from, tag_end - from);
  size_t begins = s->out->n + sizeof length;
  str_write(s->out, length, sizeof length);
  if (!scan_message(s, f->descriptor, end)) return false;
  if (s->out->bad) return true;
  put_length(length, s->out->n - begins);
  memcpy(s->out->v + begins - sizeof length, length, sizeof length);
  return true;
}

/* In place of raw data, where it lies. */
static void put_place(scanning *s, size_t from, size_t tag_end, size_t end) {
  onnx_place place = {s->at, end - s->at};
  str_write(s->out, (const char *)s->data + from, tag_end - from);
  str_putc(s->out, sizeof place);
  str_write(s->out, (const char *)&place, sizeof place);
}

/* What is in the bytes from `at` to `end`, of a field whose tag begins at
 * `from`. */
static bool scan_bytes(scanning *s, const descriptor *d, const field *f,
                       size_t from, size_t tag_end, size_t end) {
  bool is_text = f->type == PROTOBUF_C_TYPE_STRING;
  if (f->type == PROTOBUF_C_TYPE_MESSAGE)
    return scan_child(s, f, from, tag_end, end);
  if (d == &onnx__tensor_proto__descriptor && f->id == RAW_DATA) {
    put_place(s, from, tag_end, end);
  } else {
    if (is_text && memchr(s->data + s->at, 0, end - s->at))
      return malformed(s, s->at, "a name with a NUL byte");
    if (wire_type(f) != BYTES && !check_packed(s, f, end)) return false;
    str_write(s->out, (const char *)s->data + from, end - from);
  }
  s->at = end;
  return true;
}

static bool is_list(const field *f) {
  return f->label == PROTOBUF_C_LABEL_REPEATED;
}

static bool check_kind(scanning *s, const field *f, int wire, size_t at) {
  int wanted = wire_type(f);
  if (wire == wanted || (wire == BYTES && is_list(f))) return true;
  return malformed(s, at, "the field is of another kind");
}

/* A message that cannot repeat, again; *seen has a bit for each field. */
static bool check_once(scanning *s, const descriptor *d, const field *f,
                       uint64_t *seen, size_t at) {
  uint64_t bit = UINT64_C(1) << (f - d->fields);
  if (is_list(f) || f->type != PROTOBUF_C_TYPE_MESSAGE) return true;
  if (*seen & bit) return malformed(s, at, "the field is there twice");
  *seen |= bit;
  return true;
}

/* The end of a field's payload, which begins at `at`. */
static bool find_end(scanning *s, int wire, size_t end, size_t *payload) {
  uint64_t v;
  size_t from = s->at, left = end - s->at;
  switch (wire) {
  case VARINT: {
    bool ok = take_varint(s, end, &v);
    *payload = s->at;
    s->at = from;
    return ok;
  }
  case BITS64:
  case BITS32: v = wire == BITS64 ? 8 : 4; break;
  case BYTES:
    if (!take_varint(s, end, &v)) return false;
    left = end - s->at;
    break;
  default: return malformed(s, from, "no such kind of field");
  }
  if (v > left)
    return malformed(s, from,
                     wire == BYTES ? "a length reaches beyond its message"
                                   : "a number does not end");
  *payload = s->at + (size_t)v;
  return true;
}

static bool scan_known(scanning *s, const descriptor *d, const field *f,
                       int wire, size_t from, size_t tag_end, size_t end) {
  bool is_message = f->type == PROTOBUF_C_TYPE_MESSAGE;
  if (s->depth == ONNX_MAX_DEPTH)
    return fail_at(s, from, TESS_LIMIT, "more than 100 levels");
  s->path[s->depth++] = f->name;
  bool ok = check_kind(s, f, wire, from) &&
            count_one(s, is_message ? &s->messages : &s->values,
                      is_message ? ONNX_MAX_MESSAGES : ONNX_MAX_VALUES);
  if (ok && wire == BYTES) {
    ok = scan_bytes(s, d, f, from, tag_end, end);
  } else if (ok) {
    str_write(s->out, (const char *)s->data + from, end - from);
  }
  s->depth--;
  return ok;
}

static bool scan_field(scanning *s, const descriptor *d, uint64_t *seen,
                       size_t end) {
  size_t from = s->at, payload = 0;
  uint64_t tag;
  if (!take_varint(s, end, &tag)) return false;
  size_t tag_end = s->at;
  uint64_t id = tag >> 3;
  int wire = (int)(tag & 7);
  if (!id || id >= 1 << 29) return malformed(s, from, "no number of a field");
  if (!find_end(s, wire, end, &payload)) return false;
  const field *f = protobuf_c_message_descriptor_get_field(d, (unsigned)id);
  if (f && (!check_once(s, d, f, seen, from) ||
            !scan_known(s, d, f, wire, from, tag_end, payload)))
    return false;
  s->at = payload;
  if (s->out->n <= ONNX_MAX_BYTES) return true;
  return fail_at(s, from, TESS_LIMIT, "more than 1 GiB that is not raw data");
}

static bool scan_message(scanning *s, const descriptor *d, size_t end) {
  uint64_t seen = 0;
  while (s->at < end && !s->out->bad)
    if (!scan_field(s, d, &seen, end)) return false;
  return true;
}

tess_status onnx_scan(const void *bytes, size_t n, strbuf *out, err_state *e) {
  scanning s = {.data = bytes, .out = out, .err = e};
  if (!scan_message(&s, &onnx__model_proto__descriptor, n)) return e->code;
  return str_status(out);
}
