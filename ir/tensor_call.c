/* SPDX-License-Identifier: Apache-2.0
 * Parsing, printing and checking the call that implements a tensor intrinsic;
 * tensor_call.h has the grammar. */
#include "ir/tensor_call.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

typedef struct parser {
  const char *at, *why;
  uint32_t nparams;
  const char *const *name;
} parser;

static bool call_parse_fail(parser *p, const char *why) {
  if (!p->why) p->why = why;
  return false;
}

static void skip(parser *p) {
  while (*p->at == ' ' || *p->at == '\n' || *p->at == '\t') p->at++;
}

static bool take_token(parser *p, const char *sign) {
  skip(p);
  if (strncmp(p->at, sign, strlen(sign))) return false;
  p->at += strlen(sign);
  return true;
}

/* A dotted name, or a parameter's number; false: none, or too long. */
static bool take_word(parser *p, char *out, size_t size) {
  skip(p);
  size_t n = *p->at == '%';
  while (isalnum((unsigned char)p->at[n]) || p->at[n] == '_' || p->at[n] == '.')
    n++;
  if (n == 0 || n >= size) return call_parse_fail(p, "a name is expected");
  memcpy(out, p->at, n);
  out[n] = '\0';
  p->at += n;
  return true;
}

static bool find_param(parser *p, const char *word, uint32_t *out) {
  if (*word == '%') {
    char *end;
    unsigned long k = strtoul(word + 1, &end, 10);
    *out = (uint32_t)k;
    return (isdigit((unsigned char)word[1]) && !*end && k < p->nparams) ||
           call_parse_fail(p, "it has no parameter of that number");
  }
  for (uint32_t i = 0; p->name && i < p->nparams; i++)
    if (!strcmp(p->name[i], word)) {
      *out = i;
      return true;
    }
  return call_parse_fail(p, "it names no parameter of the intrinsic");
}

static bool take_int(parser *p, int64_t *out) {
  char *end;
  skip(p);
  errno = 0;
  *out = strtoll(p->at, &end, 10);
  if (errno || end == p->at) return call_parse_fail(p, "a number is expected");
  p->at = end;
  return true;
}

static bool take_operand(parser *p, ir_tensor_operand *o) {
  char word[160];
  *o = (ir_tensor_operand){.kind = IR_TENSOR_PARAM};
  skip(p);
  if (*p->at == '-' || isdigit((unsigned char)*p->at)) {
    o->kind = IR_TENSOR_INT;
    return take_int(p, &o->value);
  }
  if (!take_word(p, word, sizeof word)) return false;
  if (!strcmp(word, "true") || !strcmp(word, "false")) {
    o->kind = IR_TENSOR_BOOL;
    o->value = *word == 't';
    return true;
  }
  if (!take_token(p, "(")) return find_param(p, word, &o->param);
  o->is_view = true;
  if (!ir_dtype_parse(word, &o->as))
    return call_parse_fail(p, "it names no type");
  return take_word(p, word, sizeof word) && find_param(p, word, &o->param) &&
         (take_token(p, ")") || call_parse_fail(p, "a ')' is missing"));
}

static bool take_operands(parser *p, ir_tensor_call *c) {
  if (!take_token(p, "(")) return call_parse_fail(p, "a '(' is missing");
  for (c->n = 0; !take_token(p, ")"); c->n++) {
    if (c->n && !take_token(p, ","))
      return call_parse_fail(p, "a ',' or ')' is missing");
    if (c->n == IR_TENSOR_CALL_OPERANDS)
      return call_parse_fail(p, "it has too many operands");
    if (!take_operand(p, &c->operand[c->n])) return false;
  }
  skip(p);
  return !*p->at || call_parse_fail(p, "text follows the call");
}

static bool take_call(parser *p, ir_tensor_call *c) {
  if (!take_word(p, c->symbol, sizeof c->symbol)) return false;
  c->adds = take_token(p, "+=");
  if (c->adds || take_token(p, "=")) {
    c->is_llvm = true;
    if (!find_param(p, c->symbol, &c->result) ||
        !take_word(p, c->symbol, sizeof c->symbol))
      return false;
  }
  if (c->is_llvm != !strncmp(c->symbol, "llvm.", 5))
    return call_parse_fail(
        p, "LLVM's intrinsics, whose names start with \"llvm.\", give "
           "a parameter its value, and C functions do not");
  return take_operands(p, c);
}

bool ir_tensor_call_parse(const char *text, uint32_t nparams,
                          const char *const *name, ir_tensor_call *out,
                          const char **why) {
  parser p = {.at = text, .nparams = nparams, .name = name};
  *out = (ir_tensor_call){.n = 0};
  bool ok = take_call(&p, out);
  *why = p.why;
  return ok;
}

static void print_operand(const ir_tensor_operand *o, strbuf *out) {
  switch ((ir_tensor_operand_kind)o->kind) {
  case IR_TENSOR_INT: str_printf(out, "%" PRId64, o->value); break;
  case IR_TENSOR_BOOL: str_puts(out, o->value ? "true" : "false"); break;
  case IR_TENSOR_PARAM:
    if (o->is_view) {
      ir_dtype_print(o->as, out);
      str_putc(out, '(');
    }
    str_printf(out, "%%%" PRIu32 "%s", o->param, o->is_view ? ")" : "");
    break;
  }
}

void ir_tensor_call_print(const ir_tensor_call *c, strbuf *out) {
  if (c->is_llvm)
    str_printf(out, "%%%" PRIu32 " %s ", c->result, c->adds ? "+=" : "=");
  str_printf(out, "%s(", c->symbol);
  for (uint32_t i = 0; i < c->n; i++) {
    str_puts(out, i ? ", " : "");
    print_operand(&c->operand[i], out);
  }
  str_putc(out, ')');
}

/* ---- checking operands -------------------------------------------------- */

enum { MOST_BITS = 1 << 16 }; /* of one vector */

static uint64_t vector_bits(const ir_program *p, ir_buf b) {
  uint64_t n = p->buf.v[b].dtype.bits;
  for (uint32_t d = 0; d < ir_ndim(p, b) && n <= MOST_BITS; d++) {
    int64_t extent;
    if (!ir_const_int(p, ir_dim(p, b, d), &extent) || extent < 1 ||
        extent > MOST_BITS)
      return MOST_BITS + 1;
    n *= (uint64_t)extent;
  }
  return n;
}

uint32_t ir_tensor_view_lanes(tess_dtype as, uint64_t bits) {
  if (as.lanes > 1)
    return bits == as.bits || bits == (uint64_t)as.bits * as.lanes ? as.lanes
                                                                   : 0;
  return bits % as.bits ? 0 : (uint32_t)(bits / as.bits);
}

/* LLVM's bfloat is a type distinct from its bits, and a bool is a byte in
 * memory. */
static bool is_vector_type(tess_dtype t) {
  return t.code == TESS_DTYPE_INT || t.code == TESS_DTYPE_UINT ||
         t.code == TESS_DTYPE_FLOAT;
}

bool ir_tensor_call_fits(const ir_program *p, const ir_tensor_call *c,
                         uint32_t n, const ir_buf *param, const char **why) {
  *why = "a parameter has too many dimensions";
  for (uint32_t i = 0; i < n; i++)
    if (ir_ndim(p, param[i]) > IR_TENSOR_CALL_PARAMS) return false;
  for (uint32_t i = 0; i < c->n; i++) {
    const ir_tensor_operand *o = &c->operand[i];
    *why = "a C function gets parameters and integers as they are";
    if (!c->is_llvm && (o->is_view || o->kind == IR_TENSOR_BOOL)) return false;
    if (o->kind != IR_TENSOR_PARAM || !c->is_llvm) continue;
    uint64_t bits = vector_bits(p, param[o->param]);
    *why = "a parameter has another number of bits than the vector";
    if (bits > MOST_BITS || (o->is_view && !ir_tensor_view_lanes(o->as, bits)))
      return false;
    *why = "vectors are of integers and floats";
    if (!is_vector_type(p->buf.v[param[o->param]].dtype) ||
        (o->is_view && !is_vector_type(o->as)))
      return false;
  }
  *why = "the result must be a vector of integers or floats";
  return !c->is_llvm ||
         (c->result < n && vector_bits(p, param[c->result]) <= MOST_BITS &&
          is_vector_type(p->buf.v[param[c->result]].dtype));
}
