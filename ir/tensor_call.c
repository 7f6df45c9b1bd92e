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

/* A parameter whose name, or whose type, is `word`. */
static bool take_view(parser *p, char word[160], ir_tensor_operand *o) {
  if (!take_token(p, "(")) return find_param(p, word, &o->param);
  o->is_view = true;
  if (!ir_dtype_parse(word, &o->as))
    return call_parse_fail(p, "it names no type");
  if (take_token(p, "&")) o->kind = IR_TENSOR_ADDRESS;
  return take_word(p, word, 160) && find_param(p, word, &o->param) &&
         (take_token(p, ")") || call_parse_fail(p, "a ')' is missing"));
}

static bool take_operand(parser *p, ir_tensor_operand *o) {
  char word[160];
  *o = (ir_tensor_operand){.kind = IR_TENSOR_PARAM};
  skip(p);
  if (*p->at == '-' || isdigit((unsigned char)*p->at)) {
    o->kind = IR_TENSOR_INT;
    return take_int(p, &o->value);
  }
  bool address = take_token(p, "&");
  if (address) o->kind = IR_TENSOR_ADDRESS;
  if (!take_word(p, word, sizeof word)) return false;
  if (address) return find_param(p, word, &o->param);
  if (!strcmp(word, "true") || !strcmp(word, "false")) {
    o->kind = IR_TENSOR_BOOL;
    o->value = *word == 't';
    return true;
  }
  return take_view(p, word, o);
}

/* The operands up to the closing parenthesis, and the end. */
static bool take_operands(parser *p, ir_tensor_call *c, bool follows) {
  for (c->n = 0; !take_token(p, ")"); c->n++) {
    if ((c->n || follows) && !take_token(p, ","))
      return call_parse_fail(p, "a ',' or ')' is missing");
    if (c->n == IR_TENSOR_CALL_OPERANDS)
      return call_parse_fail(p, "it has too many operands");
    if (!take_operand(p, &c->operand[c->n])) return false;
  }
  skip(p);
  return !*p->at || call_parse_fail(p, "text follows the call");
}

static bool take_text(parser *p, ir_tensor_text *out) {
  if (!take_token(p, "\"")) return call_parse_fail(p, "a '\"' is missing");
  const char *end = strchr(p->at, '"');
  if (!end) return call_parse_fail(p, "a '\"' is missing");
  *out = (ir_tensor_text){p->at, (size_t)(end - p->at)};
  p->at = end + 1;
  return true;
}

static bool take_asm(parser *p, ir_tensor_call *c) {
  c->kind = IR_TENSOR_ASM;
  if (c->adds) return call_parse_fail(p, "assembly does not add to a value");
  return take_text(p, &c->code) &&
         (take_token(p, ",") || call_parse_fail(p, "a ',' is missing")) &&
         take_text(p, &c->constraints) && take_operands(p, c, true);
}

/* Behind a type: does `(parameter) =` follow, a view that gets the value? */
static bool is_result_view(const parser *p) {
  parser q = *p;
  char word[160];
  return take_token(&q, "(") && take_word(&q, word, sizeof word) &&
         take_token(&q, ")") && take_token(&q, "=");
}

/* `view =` or `parameter +=`, after which the call's name follows. */
static bool take_result(parser *p, ir_tensor_call *c) {
  ir_tensor_operand *r = &c->result;
  *r = (ir_tensor_operand){.kind = IR_TENSOR_PARAM};
  if (is_result_view(p)) {
    if (!take_view(p, c->symbol, r)) return false;
    (void)take_token(p, "=");
  } else {
    c->adds = take_token(p, "+=");
    if (!c->adds && !take_token(p, "=")) return true;
    if (!find_param(p, c->symbol, &r->param)) return false;
  }
  c->has_result = true;
  return take_word(p, c->symbol, sizeof c->symbol);
}

static bool take_call(parser *p, ir_tensor_call *c) {
  if (!take_word(p, c->symbol, sizeof c->symbol) || !take_result(p, c))
    return false;
  bool is_llvm = !strncmp(c->symbol, "llvm.", 5);
  bool is_asm = !strcmp(c->symbol, "asm");
  if (!take_token(p, "(")) return call_parse_fail(p, "a '(' is missing");
  if (is_asm) return take_asm(p, c);
  if (c->has_result != is_llvm || c->result.is_view)
    return call_parse_fail(
        p, "LLVM's intrinsics, whose names start with \"llvm.\", give "
           "a parameter its value, and C functions do not");
  if (is_llvm) c->kind = IR_TENSOR_LLVM;
  return take_operands(p, c, false);
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
  const char *address = o->kind == IR_TENSOR_ADDRESS ? "&" : "";
  switch ((ir_tensor_operand_kind)o->kind) {
  case IR_TENSOR_INT: str_printf(out, "%" PRId64, o->value); break;
  case IR_TENSOR_BOOL: str_puts(out, o->value ? "true" : "false"); break;
  case IR_TENSOR_PARAM:
  case IR_TENSOR_ADDRESS:
    if (o->is_view) {
      ir_dtype_print(o->as, out);
      str_putc(out, '(');
    }
    str_printf(out, "%s%%%" PRIu32 "%s", address, o->param,
               o->is_view ? ")" : "");
    break;
  }
}

void ir_tensor_call_print(const ir_tensor_call *c, strbuf *out) {
  if (c->has_result) {
    print_operand(&c->result, out);
    str_puts(out, c->adds ? " += " : " = ");
  }
  str_printf(out, "%s(", c->symbol);
  if (c->kind == IR_TENSOR_ASM)
    str_printf(out, "\"%.*s\", \"%.*s\"", (int)c->code.n, c->code.at,
               (int)c->constraints.n, c->constraints.at);
  for (uint32_t i = 0; i < c->n; i++) {
    str_puts(out, i || c->kind == IR_TENSOR_ASM ? ", " : "");
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

uint32_t ir_tensor_registers(const ir_tensor_operand *o, tess_dtype t,
                             uint64_t bits) {
  if (o->kind != IR_TENSOR_PARAM) return 1;
  uint64_t each = o->is_view ? (uint64_t)o->as.bits * o->as.lanes : t.bits;
  return bits > MOST_BITS || each % t.bits || bits % each
             ? 0
             : (uint32_t)(bits / each);
}

static bool registers_fit(const ir_program *p, const ir_tensor_operand *o,
                          const ir_buf *param, uint32_t *sum,
                          const char **why) {
  ir_buf b = param[o->param];
  *why = "a parameter has other bits than the registers";
  uint32_t n = ir_tensor_registers(o, p->buf.v[b].dtype, vector_bits(p, b));
  if (!n) return false;
  *why = "registers are of integers and floats";
  if (p->buf.v[b].dtype.code == TESS_DTYPE_BOOL ||
      (o->is_view && !is_vector_type(o->as)))
    return false;
  *why = "an address is an integer of 32 or 64 bits";
  if (o->kind == IR_TENSOR_ADDRESS && o->is_view &&
      (ir_is_float(o->as) || o->as.lanes != 1 || o->as.bits < 32))
    return false;
  *why = "it has too many registers";
  return (*sum += n) <= IR_TENSOR_ASM_REGISTERS;
}

/* An input that is in the register of an output bears the output's number. */
static bool is_tie_of(const char *at, size_t n, uint32_t outputs) {
  uint64_t k = 0;
  for (size_t i = 0; i < n; i++) {
    if (!isdigit((unsigned char)at[i])) return i == 0;
    if ((k = 10 * k + (uint64_t)(at[i] - '0')) >= outputs) return false;
  }
  return n > 0;
}

bool ir_tensor_constraints_fit(const ir_tensor_call *c, uint32_t outputs,
                               uint32_t inputs, const char **why) {
  const char *at = c->constraints.at, *end = at + c->constraints.n;
  uint32_t in = 0, out = 0, clobbers = 0;
  *why = "the constraints are not \"=r,..,r,..,0,..,~{memory},..\", LLVM's";
  while (at < end) {
    const char *comma = memchr(at, ',', (size_t)(end - at));
    size_t n = (size_t)((comma ? comma : end) - at);
    if (!n || memchr(at, '*', n) || memchr(at, '+', n) || memchr(at, '!', n))
      return false;
    bool output = *at == '=', clobber = *at == '~';
    out += output;
    clobbers += clobber;
    in += !output && !clobber;
    if ((output && (in || n < 2)) || (!clobber && clobbers)) return false;
    if (!output && !clobber && !is_tie_of(at, n, out)) return false;
    at += n + 1;
    if (comma && at == end) return false;
  }
  *why = "there is not one constraint for each register";
  return out == outputs && in == inputs;
}

static bool asm_fits(const ir_program *p, const ir_tensor_call *c, uint32_t n,
                     const ir_buf *param, const char **why) {
  uint32_t in = 0, out = 0;
  for (uint32_t i = 0; i < c->n; i++) {
    const ir_tensor_operand *o = &c->operand[i];
    bool is_param = o->kind == IR_TENSOR_PARAM || o->kind == IR_TENSOR_ADDRESS;
    if (!is_param) in++;
    if (is_param && !registers_fit(p, o, param, &in, why)) return false;
  }
  *why = "the result is no parameter";
  if (c->has_result &&
      (c->result.param >= n || c->result.kind != IR_TENSOR_PARAM ||
       !registers_fit(p, &c->result, param, &out, why)))
    return false;
  return ir_tensor_constraints_fit(c, out, in, why);
}

static bool c_fits(const ir_tensor_call *c, const char **why) {
  *why = "a C function gets parameters and integers as they are";
  for (uint32_t i = 0; i < c->n; i++) {
    const ir_tensor_operand *o = &c->operand[i];
    if (o->is_view || (o->kind != IR_TENSOR_PARAM && o->kind != IR_TENSOR_INT))
      return false;
  }
  return true;
}

static bool llvm_fits(const ir_program *p, const ir_tensor_call *c, uint32_t n,
                      const ir_buf *param, const char **why) {
  for (uint32_t i = 0; i < c->n; i++) {
    const ir_tensor_operand *o = &c->operand[i];
    *why = "only assembly gets addresses";
    if (o->kind == IR_TENSOR_ADDRESS) return false;
    if (o->kind != IR_TENSOR_PARAM) continue;
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
  return c->result.param < n &&
         vector_bits(p, param[c->result.param]) <= MOST_BITS &&
         is_vector_type(p->buf.v[param[c->result.param]].dtype);
}

bool ir_tensor_call_fits(const ir_program *p, const ir_tensor_call *c,
                         uint32_t n, const ir_buf *param, const char **why) {
  *why = "a parameter has too many dimensions";
  for (uint32_t i = 0; i < n; i++)
    if (ir_ndim(p, param[i]) > IR_TENSOR_CALL_PARAMS) return false;
  return c->kind == IR_TENSOR_C     ? c_fits(c, why)
         : c->kind == IR_TENSOR_ASM ? asm_fits(p, c, n, param, why)
                                    : llvm_fits(p, c, n, param, why);
}
