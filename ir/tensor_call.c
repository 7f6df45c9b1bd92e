/* SPDX-License-Identifier: Apache-2.0
 * Parsing, printing and checking the call that implements a tensor intrinsic;
 * tensor_call.h has the grammar. */
#include "ir/tensor_call.h"
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

typedef struct parser {
  ir_tensor_call *call;
  const char *at, *why;
  uint32_t nparams, depth; /* of parentheses of sums */
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

/* A new node; 0: there are too many. */
static uint32_t add_node(parser *p, ir_tensor_kind kind) {
  ir_tensor_call *c = p->call;
  if (c->n + 1 >= IR_TENSOR_CALL_NODES) {
    call_parse_fail(p, "it has too many operands");
    return 0;
  }
  c->node[++c->n] = (ir_tensor_node){.kind = kind};
  return c->n;
}

static bool add_text(parser *p, const char *text, size_t n, uint32_t *at) {
  ir_tensor_call *c = p->call;
  if (c->used + n >= sizeof c->text)
    return call_parse_fail(p, "its names are too long");
  *at = c->used;
  memcpy(c->text + c->used, text, n);
  c->text[c->used + n] = '\0';
  c->used += (uint32_t)n + 1;
  return true;
}

static bool add_symbol(parser *p, uint32_t node, const char *name) {
  return add_text(p, name, strlen(name), &p->call->node[node].symbol);
}

static uint32_t take_value(parser *p);

static bool close_parenthesis(parser *p) {
  return take_token(p, ")") || call_parse_fail(p, "a ')' is missing");
}

/* The operands of node k, up to the ')'; `follow`: behind others. */
static bool take_operands(parser *p, uint32_t k, bool follow) {
  uint32_t last = 0, n = 0;
  for (; !take_token(p, ")"); n++) {
    if ((n || follow) && !take_token(p, ","))
      return call_parse_fail(p, "a ',' or ')' is missing");
    if (n == IR_TENSOR_CALL_OPERANDS)
      return call_parse_fail(p, "it has too many operands");
    uint32_t v = take_value(p);
    if (!v) return false;
    *(last ? &p->call->node[last].next : &p->call->node[k].first) = v;
    last = v;
  }
  return true;
}

static uint32_t take_called(parser *p, const char *name) {
  uint32_t k = add_node(p, IR_TENSOR_CALLED);
  return k && add_symbol(p, k, name) && take_operands(p, k, false) ? k : 0;
}

static bool take_text(parser *p, uint32_t *at) {
  const char *end = take_token(p, "\"") ? strchr(p->at, '"') : NULL;
  if (!end) return call_parse_fail(p, "a '\"' is missing");
  if (!add_text(p, p->at, (size_t)(end - p->at), at)) return false;
  p->at = end + 1;
  return true;
}

/* Behind `asm(`. */
static uint32_t take_asm(parser *p) {
  ir_tensor_call *c = p->call;
  c->is_llvm = false;
  uint32_t k = add_node(p, IR_TENSOR_ASM);
  if (!k || !take_text(p, &c->node[k].symbol)) return 0;
  if (!take_token(p, ",")) {
    call_parse_fail(p, "a ',' is missing");
    return 0;
  }
  return take_text(p, &c->node[k].constraints) && take_operands(p, k, true) ? k
                                                                            : 0;
}

static uint32_t take_number(parser *p) {
  uint32_t k = add_node(p, IR_TENSOR_INT);
  return k && take_int(p, &p->call->node[k].value) ? k : 0;
}

/* address(P) or bytes(P, d), behind the '('. */
static uint32_t take_location(parser *p, ir_tensor_kind kind) {
  char word[160];
  uint32_t k = add_node(p, kind);
  ir_tensor_node *o = &p->call->node[k];
  if (!k || !take_word(p, word, sizeof word) || !find_param(p, word, &o->param))
    return 0;
  if (kind == IR_TENSOR_BYTES &&
      ((!take_token(p, ",") && !call_parse_fail(p, "a ',' is missing")) ||
       !take_int(p, &o->value)))
    return 0;
  return close_parenthesis(p) ? k : 0;
}

static uint32_t take_view(parser *p, const char *type) {
  uint32_t k = add_node(p, IR_TENSOR_VIEW);
  if (!k) return 0;
  if (!ir_dtype_parse(type, &p->call->node[k].as)) {
    call_parse_fail(p, "it names no type");
    return 0;
  }
  uint32_t v = take_value(p);
  p->call->node[k].first = v;
  return v && close_parenthesis(p) ? k : 0;
}

static bool is_intrinsic(const char *name) {
  return !strncmp(name, "llvm.", 5);
}

/* Behind a word and its '('. */
static uint32_t take_applied(parser *p, const char *word) {
  if (is_intrinsic(word)) return take_called(p, word);
  if (!strcmp(word, "address")) return take_location(p, IR_TENSOR_ADDRESS);
  if (!strcmp(word, "bytes")) return take_location(p, IR_TENSOR_BYTES);
  return take_view(p, word);
}

static uint32_t take_sum(parser *p);

/* Behind the '('. */
static uint32_t take_parenthesized(parser *p) {
  if (p->depth == IR_TENSOR_CALL_NODES) {
    call_parse_fail(p, "it has too many parentheses");
    return 0;
  }
  p->depth++;
  uint32_t k = take_sum(p);
  p->depth--;
  return k && close_parenthesis(p) ? k : 0;
}

static uint32_t take_value(parser *p) {
  char word[160];
  if (take_token(p, "(")) return take_parenthesized(p);
  skip(p);
  if (*p->at == '-' || isdigit((unsigned char)*p->at)) return take_number(p);
  if (!take_word(p, word, sizeof word)) return 0;
  if (take_token(p, "(")) return take_applied(p, word);
  bool is_bool = !strcmp(word, "true") || !strcmp(word, "false");
  uint32_t k = add_node(p, is_bool ? IR_TENSOR_BOOL : IR_TENSOR_PARAM);
  if (!k) return 0;
  if (is_bool) p->call->node[k].value = *word == 't';
  return is_bool || find_param(p, word, &p->call->node[k].param) ? k : 0;
}

static bool take_sign(parser *p, bool *minus) {
  *minus = take_token(p, "-");
  return *minus || take_token(p, "+");
}

/* A value, or the sum of several, of which some are subtracted. */
static uint32_t take_sum(parser *p) {
  bool minus;
  uint32_t first = take_value(p), last = first;
  if (!first || !take_sign(p, &minus)) return first;
  uint32_t k = add_node(p, IR_TENSOR_SUM);
  if (!k) return 0;
  p->call->node[k].first = first;
  do {
    uint32_t v = take_value(p);
    if (!v) return 0;
    p->call->node[v].minus = minus;
    p->call->node[last].next = v;
    last = v;
  } while (take_sign(p, &minus));
  return k;
}

static uint32_t take_assigned(parser *p, const char *word) {
  static const char why[] =
      "LLVM's intrinsics, whose names start with \"llvm.\", give "
      "a parameter its value, and C functions do not";
  char next[160];
  const char *at;
  p->call->is_llvm = true;
  if (!find_param(p, word, &p->call->result)) return 0;
  skip(p);
  at = p->at;
  while (take_token(p, "("))
    ;
  if (!take_word(p, next, sizeof next)) return 0;
  bool is_applied = take_token(p, "(");
  tess_dtype as;
  uint32_t operand;
  if (is_applied && *at != '(' && !strcmp(next, "asm")) {
    if (!p->call->adds) return take_asm(p);
    call_parse_fail(p, "assembly does not add to a value");
    return 0;
  }
  if (!is_applied && !find_param(p, next, &operand)) return 0;
  if (is_applied && !is_intrinsic(next) && !ir_dtype_parse(next, &as)) {
    call_parse_fail(p, why);
    return 0;
  }
  p->at = at;
  return take_sum(p);
}

/* Behind a word: does `(parameter) =` follow, whose registers get a value? */
static bool is_register_view(const parser *p) {
  parser q = *p;
  char word[160];
  return take_token(&q, "(") && take_word(&q, word, sizeof word) &&
         take_token(&q, ")") && take_token(&q, "=");
}

static uint32_t take_viewed(parser *p, const char *type) {
  ir_tensor_call *c = p->call;
  char word[160];
  if (!ir_dtype_parse(type, &c->result_as)) {
    call_parse_fail(p, "it names no type");
    return 0;
  }
  (void)take_token(p, "(");
  if (!take_word(p, word, sizeof word) || !find_param(p, word, &c->result))
    return 0;
  (void)(take_token(p, ")") && take_token(p, "="));
  if (take_word(p, word, sizeof word) && !strcmp(word, "asm") &&
      take_token(p, "("))
    return take_asm(p);
  call_parse_fail(p, "only assembly gives registers of another type");
  return 0;
}

static bool take_call(parser *p) {
  ir_tensor_call *c = p->call;
  char word[160];
  c->result = IR_TENSOR_NO_RESULT;
  if (!take_word(p, word, sizeof word)) return false;
  if (is_register_view(p)) {
    c->root = take_viewed(p, word);
    skip(p);
    return c->root && (!*p->at || call_parse_fail(p, "text follows the call"));
  }
  c->adds = take_token(p, "+=");
  if (c->adds || take_token(p, "="))
    c->root = take_assigned(p, word);
  else if (!take_token(p, "("))
    return call_parse_fail(p, "a '(' is missing");
  else {
    c->is_llvm = is_intrinsic(word);
    c->root = strcmp(word, "asm") ? take_called(p, word) : take_asm(p);
  }
  skip(p);
  return c->root && (!*p->at || call_parse_fail(p, "text follows the call"));
}

bool ir_tensor_call_parse(const char *text, uint32_t nparams,
                          const char *const *name, ir_tensor_call *out,
                          const char **why) {
  parser p = {.at = text, .nparams = nparams, .name = name, .call = out};
  *out = (ir_tensor_call){.n = 0};
  bool ok = take_call(&p);
  *why = p.why;
  return ok;
}

/* ---- printing ----------------------------------------------------------- */

static void print_value(const ir_tensor_call *c, uint32_t k, strbuf *out);

static void print_operands(const ir_tensor_call *c, uint32_t first,
                           strbuf *out) {
  for (uint32_t k = first; k; k = c->node[k].next) {
    str_puts(out, k == first ? "" : ", ");
    print_value(c, k, out);
  }
}

static void print_sum(const ir_tensor_call *c, uint32_t first, strbuf *out) {
  for (uint32_t k = first; k; k = c->node[k].next) {
    str_puts(out, k == first ? "" : c->node[k].minus ? " - " : " + ");
    print_value(c, k, out);
  }
}

static void print_value(const ir_tensor_call *c, uint32_t k, strbuf *out) {
  const ir_tensor_node *o = &c->node[k];
  switch ((ir_tensor_kind)o->kind) {
  case IR_TENSOR_INT: str_printf(out, "%" PRId64, o->value); return;
  case IR_TENSOR_BOOL: str_puts(out, o->value ? "true" : "false"); return;
  case IR_TENSOR_PARAM: str_printf(out, "%%%" PRIu32, o->param); return;
  case IR_TENSOR_ADDRESS:
    str_printf(out, "address(%%%" PRIu32 ")", o->param);
    return;
  case IR_TENSOR_BYTES:
    str_printf(out, "bytes(%%%" PRIu32 ", %" PRId64 ")", o->param, o->value);
    return;
  case IR_TENSOR_SUM:
    if (k != c->root) str_putc(out, '(');
    print_sum(c, o->first, out);
    if (k != c->root) str_putc(out, ')');
    return;
  case IR_TENSOR_VIEW: ir_dtype_print(o->as, out); break;
  case IR_TENSOR_CALLED: str_puts(out, c->text + o->symbol); break;
  case IR_TENSOR_ASM: str_puts(out, "asm"); break;
  }
  str_putc(out, '(');
  if (o->kind == IR_TENSOR_ASM)
    str_printf(out, "\"%s\", \"%s\"%s", c->text + o->symbol,
               c->text + o->constraints, o->first ? ", " : "");
  print_operands(c, o->first, out);
  str_putc(out, ')');
}

void ir_tensor_call_print(const ir_tensor_call *c, strbuf *out) {
  bool view = c->result_as.bits != 0;
  if (view) ir_dtype_print(c->result_as, out);
  if (c->result != IR_TENSOR_NO_RESULT)
    str_printf(out, "%s%%%" PRIu32 "%s %s ", view ? "(" : "", c->result,
               view ? ")" : "", c->adds ? "+=" : "=");
  print_value(c, c->root, out);
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

/* Vectors of the bits of bfloats may be moved, and viewed as integers. */
static bool is_bits_type(tess_dtype t) {
  return is_vector_type(t) || t.code == TESS_DTYPE_BFLOAT;
}

bool ir_tensor_call_views(const ir_tensor_call *c, uint32_t k) {
  for (uint32_t i = 1; i <= c->n; i++)
    if (c->node[i].kind == IR_TENSOR_VIEW && c->node[i].first == k) return true;
  return false;
}

bool ir_tensor_call_addresses(const ir_tensor_call *c, uint32_t param) {
  for (uint32_t k = 1; k <= c->n; k++)
    if (c->node[k].kind == IR_TENSOR_ADDRESS && c->node[k].param == param)
      return true;
  return false;
}

/* The values of an LLVM intrinsic. */
static bool value_fits(const ir_program *p, const ir_tensor_call *c,
                       const ir_tensor_node *o, const ir_buf *param,
                       const char **why) {
  const ir_tensor_node *in = &c->node[o->first];
  bool is_view = o->kind == IR_TENSOR_VIEW;
  *why = "a parameter has fewer dimensions";
  if (o->kind == IR_TENSOR_BYTES)
    return o->value >= 0 && o->value < ir_ndim(p, param[o->param]);
  *why = "vectors are of integers and floats";
  if (is_view && !is_vector_type(o->as)) return false;
  if (!is_view && o->kind != IR_TENSOR_PARAM) return true;
  if (is_view && in->kind != IR_TENSOR_PARAM) return true;
  ir_buf b = param[is_view ? in->param : o->param];
  bool as_bits = is_view || ir_tensor_call_views(c, (uint32_t)(o - c->node));
  tess_dtype t = p->buf.v[b].dtype;
  if (!(as_bits ? is_bits_type(t) : is_vector_type(t))) return false;
  *why = "a parameter has another number of bits than the vector";
  uint64_t bits = vector_bits(p, b);
  return bits <= MOST_BITS && (!is_view || ir_tensor_view_lanes(o->as, bits));
}

/* ---- checking assembly -------------------------------------------------- */

uint32_t ir_tensor_registers(tess_dtype as, tess_dtype t, uint64_t bits) {
  uint64_t each = as.bits ? (uint64_t)as.bits * as.lanes : t.bits;
  bool is_odd = t.code == TESS_DTYPE_BOOL || (as.bits && !is_vector_type(as));
  return is_odd || bits > MOST_BITS || each % t.bits || bits % each
             ? 0
             : (uint32_t)(bits / each);
}

/* An input that is in the register of an output has the output's number. */
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
  const char *at = c->text + c->node[c->root].constraints;
  uint32_t in = 0, out = 0, clobbers = 0;
  *why = "the constraints are not \"=r,..,r,..,0,..,~{memory},..\", LLVM's";
  while (*at) {
    size_t n = strcspn(at, ",");
    bool output = *at == '=', clobber = *at == '~';
    if (!n || memchr(at, '*', n) || memchr(at, '+', n) || memchr(at, '!', n))
      return false;
    out += output;
    clobbers += clobber;
    in += !output && !clobber;
    if ((output && (in || n < 2)) || (!clobber && clobbers)) return false;
    if (!output && !clobber && !is_tie_of(at, n, out)) return false;
    at += n;
    if (*at == ',' && !*++at) return false;
  }
  *why = "there is not one constraint for each register";
  return out == outputs && in == inputs;
}

static bool register_fits(const ir_program *p, tess_dtype as, ir_buf b,
                          uint32_t *sum, const char **why) {
  uint32_t n = ir_tensor_registers(as, p->buf.v[b].dtype, vector_bits(p, b));
  *why = "a parameter cannot be divided into such registers";
  *sum += n;
  if (!n) return false;
  *why = "it has too many registers";
  return *sum <= IR_TENSOR_REGISTERS;
}

static bool operand_fits(const ir_program *p, const ir_tensor_call *c,
                         const ir_tensor_node *o, const ir_buf *param,
                         uint32_t *sum, const char **why) {
  const ir_tensor_node *in = &c->node[o->first];
  bool is_view = o->kind == IR_TENSOR_VIEW;
  *why = "assembly gets parameters, addresses, strides and integers";
  if (o->kind == IR_TENSOR_PARAM)
    return register_fits(p, (tess_dtype){.bits = 0}, param[o->param], sum, why);
  if (is_view && in->kind == IR_TENSOR_PARAM)
    return register_fits(p, o->as, param[in->param], sum, why);
  if (o->kind == IR_TENSOR_CALLED ||
      (is_view && in->kind != IR_TENSOR_INT && in->kind != IR_TENSOR_ADDRESS))
    return false;
  *why = "an address is an integer of 32 or 64 bits";
  if (is_view && in->kind == IR_TENSOR_ADDRESS &&
      (ir_is_float(o->as) || o->as.lanes != 1 || o->as.bits < 32))
    return false;
  ++*sum;
  return value_fits(p, c, o, param, why);
}

static bool asm_fits(const ir_program *p, const ir_tensor_call *c, uint32_t n,
                     const ir_buf *param, const char **why) {
  uint32_t in = 0, out = 0;
  for (uint32_t k = c->node[c->root].first; k; k = c->node[k].next)
    if (!operand_fits(p, c, &c->node[k], param, &in, why)) return false;
  if (c->result != IR_TENSOR_NO_RESULT &&
      (c->result >= n ||
       !register_fits(p, c->result_as, param[c->result], &out, why)))
    return false;
  return ir_tensor_constraints_fit(c, out, in, why);
}

/* ---- checking ----------------------------------------------------------- */

bool ir_tensor_call_fits(const ir_program *p, const ir_tensor_call *c,
                         uint32_t n, const ir_buf *param, const char **why) {
  *why = "a parameter has too many dimensions";
  for (uint32_t i = 0; i < n; i++)
    if (ir_ndim(p, param[i]) > IR_TENSOR_CALL_PARAMS) return false;
  if (ir_tensor_call_is_asm(c)) return asm_fits(p, c, n, param, why);
  for (uint32_t k = 1; k <= c->n; k++) {
    const ir_tensor_node *o = &c->node[k];
    *why = "a C function gets parameters and integers as they are";
    if (!c->is_llvm && k != c->root && o->kind != IR_TENSOR_PARAM &&
        o->kind != IR_TENSOR_INT)
      return false;
    if (c->is_llvm && !value_fits(p, c, o, param, why)) return false;
  }
  *why = "the result must be a vector of integers or floats";
  if (c->result == IR_TENSOR_NO_RESULT) return true;
  if (c->result >= n) return false;
  tess_dtype t = p->buf.v[param[c->result]].dtype;
  return vector_bits(p, param[c->result]) <= MOST_BITS &&
         (c->adds ? is_vector_type(t) : is_bits_type(t));
}
