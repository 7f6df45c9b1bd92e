/* SPDX-License-Identifier: Apache-2.0
 * Parser of index maps: builds expressions over the map's parameters directly,
 * so that nothing is kept between replays. */
#include "vm/text/map.h"
#include "ir/edit.h"
#include "vm/text/lua_write.h"

enum { MAX_DEPTH = 64 };

typedef struct name {
  const char *s;
  size_t n;
} name;

typedef struct parser {
  const char *at;
  uint32_t depth;
  ir_program *p; /* NULL: only checks */
  uint32_t ngiven;
  const int64_t *given;
  uint32_t nin, nout;
  name in[VM_MAP_MAX];
  ir_var var[VM_MAP_MAX];
  ir_expr out[VM_MAP_MAX];
} parser;

/* ---- words -------------------------------------------------------------- */

static void skip_blank(parser *r) {
  while (*r->at == ' ' || *r->at == '\t' || *r->at == '\n') r->at++;
}

static bool eat(parser *r, const char *word) {
  size_t n = strlen(word);
  skip_blank(r);
  if (strncmp(r->at, word, n) != 0) return false;
  r->at += n;
  return true;
}

static bool eat_name(parser *r, name *out) {
  skip_blank(r);
  *out = (name){r->at, 0};
  while (vm_is_name_char(out->s[out->n], out->n > 0)) out->n++;
  r->at += out->n;
  return out->n > 0;
}

static bool eat_int(parser *r, int64_t *out) {
  const char *from = r->at;
  for (*out = 0; *r->at >= '0' && *r->at <= '9'; r->at++)
    if (__builtin_mul_overflow(*out, 10, out) ||
        __builtin_add_overflow(*out, *r->at - '0', out))
      return false;
  return r->at > from;
}

static bool same_name(name a, name b) {
  return a.n == b.n && !memcmp(a.s, b.s, a.n);
}

static uint32_t find_name(const parser *r, name n) {
  uint32_t i = 0;
  while (i < r->nin && !same_name(r->in[i], n)) i++;
  return i;
}

/* ---- expressions -------------------------------------------------------- */

static bool read_sum(parser *r, ir_expr *out);

static ir_expr combine(parser *r, ir_op op, ir_expr a, ir_expr b) {
  return r->p ? ir_binary(r->p, op, a, b) : 0;
}

static ir_expr parse_constant(parser *r, int64_t v) {
  return r->p ? ir_index(r->p, v) : 0;
}

static bool read_pair(parser *r, ir_op op, ir_expr *out) {
  ir_expr a, b;
  if (!eat(r, "(") || !read_sum(r, &a) || !eat(r, ",") || !read_sum(r, &b) ||
      !eat(r, ")"))
    return false;
  *out = combine(r, op, a, b);
  return true;
}

/* A parameter, or a function of two sums. */
static bool read_name(parser *r, ir_expr *out) {
  name n;
  if (!eat_name(r, &n)) return false;
  uint32_t i = find_name(r, n);
  if (i < r->nin) {
    *out = r->p ? ir_ref(r->p, r->var[i]) : 0;
    return true;
  }
  if (same_name(n, (name){"min", 3})) return read_pair(r, IR_MIN, out);
  if (same_name(n, (name){"max", 3})) return read_pair(r, IR_MAX, out);
  r->at = n.s;
  return false;
}

static bool read_given(parser *r, ir_expr *out) {
  const char *from = r->at;
  int64_t k;
  if (eat_int(r, &k) && k >= 1 && k <= r->ngiven) {
    *out = r->p ? parse_constant(r, r->given[k - 1]) : 0;
    return true;
  }
  r->at = from;
  return false;
}

static bool read_atom(parser *r, ir_expr *out) {
  int64_t v;
  skip_blank(r);
  if (*r->at >= '0' && *r->at <= '9') {
    if (!eat_int(r, &v)) return false;
    *out = parse_constant(r, v);
    return true;
  }
  if (eat(r, "$")) return read_given(r, out);
  if (eat(r, "(")) return read_sum(r, out) && eat(r, ")");
  if (!eat(r, "-")) return read_name(r, out);
  if (r->depth == MAX_DEPTH) return false;
  r->depth++;
  if (!read_atom(r, out)) return false;
  r->depth--;
  *out = combine(r, IR_SUB, parse_constant(r, 0), *out);
  return true;
}

static bool read_product(parser *r, ir_expr *out) {
  if (!read_atom(r, out)) return false;
  for (;;) {
    ir_expr b;
    ir_op op = eat(r, "*")    ? IR_MUL
               : eat(r, "//") ? IR_DIV
               : eat(r, "%")  ? IR_MOD
                              : IR_NONE;
    if (op == IR_NONE) return true;
    if (!read_atom(r, &b)) return false;
    *out = combine(r, op, *out, b);
  }
}

static bool read_terms(parser *r, ir_expr *out) {
  if (!read_product(r, out)) return false;
  for (;;) {
    ir_expr b;
    ir_op op = eat(r, "+") ? IR_ADD : eat(r, "-") ? IR_SUB : IR_NONE;
    if (op == IR_NONE) return true;
    if (!read_product(r, &b)) return false;
    *out = combine(r, op, *out, b);
  }
}

/* All recursion goes through here, with a depth limit. */
static bool read_sum(parser *r, ir_expr *out) {
  if (r->depth == MAX_DEPTH) return false;
  r->depth++;
  bool ok = read_terms(r, out);
  r->depth--;
  return ok;
}

/* ---- the map ------------------------------------------------------------ */

static bool read_params(parser *r) {
  if (!eat(r, "(")) return false;
  if (eat(r, ")")) return true;
  do {
    name n;
    if (r->nin == VM_MAP_MAX || !eat_name(r, &n)) return false;
    if (find_name(r, n) < r->nin) {
      r->at = n.s;
      return false;
    }
    if (r->p)
      r->var[r->nin] =
          ir_var_new(r->p, IR_VAR_FORMAL, ir_name_n(r->p, n.s, n.n), IR_INDEX,
                     INT64_MIN, INT64_MAX);
    r->in[r->nin++] = n;
  } while (eat(r, ","));
  return eat(r, ")");
}

static bool read_results(parser *r) {
  if (!eat(r, "->") || !eat(r, "(")) return false;
  if (eat(r, ")")) return true;
  do
    if (r->nout == VM_MAP_MAX || !read_sum(r, &r->out[r->nout++])) return false;
  while (eat(r, ","));
  return eat(r, ")");
}

bool vm_read_map(const char *text, uint32_t ngiven, const int64_t *given,
                 ir_program *p, arena *scratch, sch_map *out, int64_t *at) {
  parser r = {.at = text, .p = p, .ngiven = ngiven, .given = given};
  bool ok = read_params(&r) && read_results(&r);
  skip_blank(&r);
  *at = r.at - text + 1;
  if (!ok || *r.at) return false;
  if (!p) return true;
  ir_var *in = arena_array(scratch, ir_var, r.nin);
  ir_expr *to = arena_array(scratch, ir_expr, r.nout);
  if (r.nin) memcpy(in, r.var, r.nin * sizeof *in);
  if (r.nout) memcpy(to, r.out, r.nout * sizeof *to);
  *out = (sch_map){true, r.nin, r.nout, in, to};
  return true;
}
