/* SPDX-License-Identifier: Apache-2.0
 * Conversion between index maps and TVM's node graphs,
 *
 *   {"root": 1, "nodes": [{"type_key": ""}, {"type_key": "tir.IndexMap",
 *    "attrs": {"initial_indices": "2", "final_indices": "9", ..}}, ..]}
 *
 * Attributes are strings: numbers, or indices of other nodes. */
#include "ir/edit.h"
#include "vm/text/lua_write.h"
#include "vm/text/map.h"
#include "vm/text/reader.h"
#include "vm/text/text.h"
#include "vm/text/tvm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { MAX_DEPTH = 48 };

/* Binary nodes, by the suffix of their type. */
static const struct {
  const char *name;
  ir_op op;
  const char *sign;
} ops[] = {{"Add", IR_ADD, " + "},      {"Sub", IR_SUB, " - "},
           {"Mul", IR_MUL, " * "},      {"FloorDiv", IR_DIV, " // "},
           {"FloorMod", IR_MOD, " % "}, {"Min", IR_MIN, ", "},
           {"Max", IR_MAX, ", "}};

enum { NOPS = sizeof ops / sizeof *ops };

/* ---- reading ------------------------------------------------------------ */

typedef struct reader {
  const json_t *nodes;
  strbuf *out;
  err_state *err;
  uint32_t nin, depth;
  size_t in[VM_MAP_MAX]; /* nodes of the parameters */
  tvm_given *given;
} reader;

static bool fail_map(const reader *r, const char *what) {
  err_set(r->err, TESS_PARSE, "this is no index map of TVM's: %s", what);
  return false;
}

/* The type without its namespace, which differs between versions. */
static const char *type_of(const reader *r, size_t node) {
  const json_t *n = json_array_get(r->nodes, node);
  const char *key = json_string_value(json_object_get(n, "type_key"));
  const char *dot = key ? strrchr(key, '.') : NULL;
  return dot ? dot + 1 : key ? key : "";
}

static const char *attr_of(const reader *r, size_t node, const char *name) {
  const json_t *n = json_array_get(r->nodes, node);
  return json_string_value(json_object_get(json_object_get(n, "attrs"), name));
}

static bool take_number(const char *text, int64_t *out) {
  char *end;
  errno = 0;
  *out = text ? strtoll(text, &end, 10) : 0;
  return text && *text && !*end && !errno;
}

/* The node that an attribute refers to. */
static bool follow(const reader *r, size_t node, const char *name,
                   size_t *out) {
  int64_t at;
  if (!take_number(attr_of(r, node, name), &at) || at < 0 ||
      (size_t)at >= json_array_size(r->nodes))
    return fail_map(r, "a node names one that is not there");
  *out = (size_t)at;
  return true;
}

/* The string that an attribute refers to. */
static const char *tvm_map_name_of(const reader *r, size_t node) {
  size_t at;
  if (!follow(r, node, "name", &at)) return NULL;
  return json_string_value(
      json_object_get(json_array_get(r->nodes, at), "repr_str"));
}

/* A free variable is a sampled integer, identified by its name. */
static bool put_given(reader *r, size_t node) {
  char letter;
  uint32_t number, i = 0;
  const char *name = tvm_map_name_of(r, node);
  if (!name || strlen(name) >= sizeof *r->given->name ||
      !vm_parse_rv_name(name, strlen(name), &letter, &number) || letter != 'v')
    return fail_map(r,
                    "a variable is none of its indices and no sampled integer");
  while (i < r->given->n && strcmp(r->given->name[i], name)) i++;
  if (i == VM_MAP_MAX) return fail_map(r, "it has too many sampled integers");
  if (i == r->given->n) strcpy(r->given->name[r->given->n++], name);
  str_printf(r->out, "$%" PRIu32, i + 1);
  return true;
}

/* i0, i1, ...: TVM's names need not be identifiers, nor distinct. */
static void put_param(reader *r, uint32_t i) {
  str_printf(r->out, "i%" PRIu32, i);
}

static bool put_expr(reader *r, size_t node);

static bool put_binary(reader *r, size_t node, uint32_t op) {
  size_t a, b;
  bool is_call = ops[op].op == IR_MIN || ops[op].op == IR_MAX;
  if (!follow(r, node, "a", &a) || !follow(r, node, "b", &b)) return false;
  if (is_call) str_puts(r->out, ops[op].op == IR_MIN ? "min" : "max");
  str_putc(r->out, '(');
  if (!put_expr(r, a)) return false;
  str_puts(r->out, ops[op].sign);
  if (!put_expr(r, b)) return false;
  str_putc(r->out, ')');
  return true;
}

static bool put_node(reader *r, size_t node) {
  const char *type = type_of(r, node);
  int64_t v;
  for (uint32_t i = 0; i < r->nin; i++)
    if (r->in[i] == node) return put_param(r, i), true;
  if (!strcmp(type, "IntImm") && take_number(attr_of(r, node, "value"), &v)) {
    str_printf(r->out, v < 0 ? "(%" PRId64 ")" : "%" PRId64, v);
    return true;
  }
  for (uint32_t i = 0; i < NOPS; i++)
    if (!strcmp(type, ops[i].name)) return put_binary(r, node, i);
  if (!strcmp(type, "Var")) return put_given(r, node);
  return fail_map(r, "its results hold more than integer arithmetic over its "
                     "indices");
}

/* Nodes may be shared, even form cycles: the text's length is bounded. */
static bool put_expr(reader *r, size_t node) {
  if (r->depth == MAX_DEPTH || r->out->n > TVM_MAX_TEXT)
    return fail_map(r, "its results are too long");
  r->depth++;
  bool ok = put_node(r, node);
  r->depth--;
  return ok;
}

/* The nodes listed by an array attribute of the root. */
static bool list_nodes(const reader *r, size_t root, const char *name,
                       uint32_t *n, size_t *out) {
  size_t at;
  if (!follow(r, root, name, &at)) return false;
  const json_t *list = json_object_get(json_array_get(r->nodes, at), "data");
  *n = (uint32_t)json_array_size(list);
  if (!json_is_array(list) || *n > VM_MAP_MAX)
    return fail_map(r, "it has no list of indices, or a long one");
  for (uint32_t i = 0; i < *n; i++) {
    json_int_t k = json_integer_value(json_array_get(list, i));
    if (k < 1 || (size_t)k >= json_array_size(r->nodes))
      return fail_map(r, "a list names a node that is not there");
    out[i] = (size_t)k;
  }
  return true;
}

static bool is_constant_node(const reader *r, size_t node, vm_value *out) {
  const char *type = type_of(r, node), *text = attr_of(r, node, "value");
  int64_t i;
  char *end;
  if (!strcmp(type, "IntImm") && take_number(text, &i)) {
    *out = vm_int(i);
    return true;
  }
  if (strcmp(type, "FloatImm") || !text) return false;
  *out = vm_real(strtod(text, &end));
  return *text && !*end;
}

static bool put_map(reader *r, uint32_t n, const size_t *result) {
  str_putc(r->out, '(');
  for (uint32_t i = 0; i < r->nin; i++) {
    str_puts(r->out, i ? ", " : "");
    put_param(r, i);
  }
  str_puts(r->out, ") -> (");
  for (uint32_t i = 0; i < n; i++) {
    str_puts(r->out, i ? ", " : "");
    if (!put_expr(r, result[i])) return false;
  }
  str_putc(r->out, ')');
  return true;
}

bool vm_tvm_read_map(const json_t *graph, strbuf *out, vm_value *number,
                     tvm_given *given, err_state *err) {
  reader r = {.nodes = json_object_get(graph, "nodes"),
              .out = out,
              .given = given,
              .err = err};
  given->n = 0;
  size_t result[VM_MAP_MAX];
  uint32_t n;
  json_int_t root = json_integer_value(json_object_get(graph, "root"));
  if (root < 1 || (size_t)root >= json_array_size(r.nodes))
    return fail_map(&r, "it has no root");
  if (strcmp(type_of(&r, (size_t)root), "IndexMap"))
    return fail_map(&r, "its root is another thing");
  if (!list_nodes(&r, (size_t)root, "initial_indices", &r.nin, r.in) ||
      !list_nodes(&r, (size_t)root, "final_indices", &n, result))
    return false;
  if (number && n == 1 && is_constant_node(&r, result[0], number)) return true;
  return put_map(&r, n, result);
}

/* ---- writing ------------------------------------------------------------ */

typedef struct scribe {
  const char *text; /* of the map; NULL: all is `number` */
  uint32_t nin;
  vm_value number;
  const tvm_given *given; /* NULL: none; further parameters of the map */
  strbuf *out;            /* NULL: dry run */
  ir_program p;
  arena scratch;
  sch_map map;
  /* The used ones, in the order of their first occurrence. */
  uint32_t nused, used[VM_MAP_MAX];
  const char *dtype;
  uint32_t nodes; /* nodes written so far */
  uint32_t first; /* the first parameter's node */
} scribe;

/* Operands come before their users; the root is the last. */
static uint32_t begin_node(scribe *s, const char *type) {
  str_printf(s->out, ", {\"type_key\": \"%s\"", type);
  return s->nodes++;
}

static uint32_t add_leaf(scribe *s, const char *type, const char *dtype,
                         const char *value) {
  uint32_t k = begin_node(s, type);
  str_printf(s->out, ", \"attrs\": {\"dtype\": \"%s\", \"span\": \"0\"", dtype);
  if (value) str_printf(s->out, ", \"value\": \"%s\"", value);
  str_puts(s->out, "}}");
  return k;
}

static uint32_t add_int(scribe *s, int64_t v) {
  char text[24];
  snprintf(text, sizeof text, "%" PRId64, v);
  return add_leaf(s, "IntImm", s->dtype, text);
}

static uint32_t add_number(scribe *s, vm_value v) {
  if (v.tag == VM_INT) return add_int(s, v.i);
  strbuf text;
  str_init(&text, s->out->heap);
  str_put_double(&text, v.f);
  uint32_t k =
      add_leaf(s, "FloatImm", "float32", str_get(&text) ? text.v : "0");
  str_free(&text);
  return k;
}

/* Three nodes each: the name, the type, the variable. */
static void add_param(scribe *s, uint32_t i) {
  uint32_t name = begin_node(s, "runtime.String");
  if (i < s->nin)
    str_printf(s->out, ", \"repr_str\": \"i%" PRIu32 "\"}", i);
  else
    str_printf(s->out, ", \"repr_str\": \"%s\"}",
               s->given->name[s->used[i - s->nin]]);
  uint32_t type = add_leaf(s, "PrimType", s->dtype, NULL);
  begin_node(s, "tir.Var");
  str_printf(s->out,
             ", \"attrs\": {\"dtype\": \"%s\", \"name\": \"%" PRIu32
             "\", \"span\": \"0\", \"type_annotation\": \"%" PRIu32 "\"}}",
             s->dtype, name, type);
}

static uint32_t param_node(const scribe *s, uint32_t i) {
  return s->first + 3 * i + 2;
}

/* The parameter of the map's text that a variable is. */
static uint32_t find_param(const scribe *s, ir_var v) {
  uint32_t i = 0;
  while (s->map.in[i] != v) i++;
  return i;
}

/* false: the expression is nested too deeply. */
static bool find_used(scribe *s, ir_expr e, uint32_t depth) {
  const ir_node x = *ir_at(&s->p, e);
  if (depth == MAX_DEPTH) return false;
  if (x.op == IR_INT) return true;
  if (x.op != IR_VAR)
    return find_used(s, x.a, depth + 1) && find_used(s, x.b, depth + 1);
  uint32_t i = find_param(s, x.a), u = 0;
  if (i < s->nin) return true;
  while (u < s->nused && s->used[u] != i - s->nin) u++;
  if (u == s->nused) s->used[s->nused++] = i - s->nin;
  return true;
}

/* The node of the variable. */
static uint32_t var_node(const scribe *s, ir_var v) {
  uint32_t i = find_param(s, v), u = 0;
  if (i < s->nin) return param_node(s, i);
  while (s->used[u] != i - s->nin) u++;
  return param_node(s, s->nin + u);
}

static uint32_t add_expr(scribe *s, ir_expr e) {
  const ir_node x = *ir_at(&s->p, e);
  if (x.op == IR_INT) return add_int(s, x.i);
  if (x.op == IR_VAR) return var_node(s, x.a);
  uint32_t a = add_expr(s, x.a), b = add_expr(s, x.b), i = 0;
  while (ops[i].op != x.op) i++;
  char type[24];
  snprintf(type, sizeof type, "tir.%s", ops[i].name);
  uint32_t k = begin_node(s, type);
  str_printf(s->out,
             ", \"attrs\": {\"a\": \"%" PRIu32 "\", \"b\": \"%" PRIu32
             "\", \"dtype\": \"%s\", \"span\": \"0\"}}",
             a, b, s->dtype);
  return k;
}

static uint32_t add_array(scribe *s, uint32_t n, const uint32_t *node) {
  uint32_t k = begin_node(s, "Array");
  str_puts(s->out, ", \"data\": [");
  for (uint32_t i = 0; i < n; i++)
    str_printf(s->out, "%s%" PRIu32, i ? ", " : "", node[i]);
  str_puts(s->out, "]}");
  return k;
}

static bool is_narrow(const scribe *s) {
  for (uint32_t i = 1; i < s->p.node.n; i++) {
    const ir_node *x = &s->p.node.v[i];
    if (x->op == IR_INT && (x->i < INT32_MIN || x->i > INT32_MAX)) return false;
  }
  return true;
}

static void add_map(scribe *s) {
  uint32_t in[VM_MAP_MAX], result[VM_MAP_MAX], n = 1;
  str_puts(s->out, "{\"nodes\": [{\"type_key\": \"\"}");
  for (uint32_t i = 0; i < s->nin + s->nused; i++) add_param(s, i);
  for (uint32_t i = 0; i < s->nin; i++) in[i] = param_node(s, i);
  if (s->text)
    for (n = 0; n < s->map.nout; n++) result[n] = add_expr(s, s->map.out[n]);
  else
    result[0] = add_number(s, s->number);
  uint32_t from = add_array(s, s->nin, in), to = add_array(s, n, result);
  uint32_t root = begin_node(s, "tir.IndexMap");
  str_printf(s->out,
             ", \"attrs\": {\"final_indices\": \"%" PRIu32
             "\", \"initial_indices\": \"%" PRIu32
             "\", \"inverse_index_map\": \"0\"}}], \"root\": %" PRIu32
             ", \"b64ndarrays\": [], \"attrs\": {\"tvm_version\": "
             "\"0.18.0\"}}",
             to, from, root);
}

/* The text with its sampled integers as additional parameters; their names are
 * fresh, since the text has no $ in names. */
static const char *name_given(scribe *s) {
  char *out = arena_alloc(&s->scratch, 6 * strlen(s->text) + 8 * VM_MAP_MAX);
  char *to = out;
  const char *from = s->text;
  bool first = true;
  for (; *from && *from != ')'; from++) {
    first = first && (*from == '(' || *from == ' ');
    *to++ = *from;
  }
  for (uint32_t i = 0; i < s->given->n; i++, first = false)
    to += sprintf(to, "%sgiven_%" PRIu32, first ? "" : ", ", i + 1);
  for (; *from; from++) {
    if (*from == '$')
      to += sprintf(to, "given_");
    else
      *to++ = *from;
  }
  *to = '\0';
  return out;
}

static tess_status work(void *ud) {
  scribe *s = ud;
  int64_t at;
  ir_program_init(&s->p, s->scratch.heap);
  if (s->text) {
    uint32_t more = s->given ? s->given->n : 0;
    const char *text = more ? name_given(s) : s->text;
    if (!vm_read_map(text, 0, NULL, &s->p, &s->scratch, &s->map, &at))
      return TESS_UNSUPPORTED;
    s->nin = s->map.nin - more;
    for (uint32_t i = 0; i < s->map.nout; i++)
      if (!find_used(s, s->map.out[i], 0)) return TESS_UNSUPPORTED;
  }
  s->dtype = is_narrow(s) ? "int32" : "int64";
  if (s->out) add_map(s);
  return TESS_OK;
}

/* Frees its work in any case.  false: a name conflict with the map's own, or
 * too large. */
static bool write_graph_of(scribe *s, mem_heap *heap) {
  s->nodes = s->first = 1;
  arena_init(&s->scratch, heap);
  tess_status st = mem_protect(heap, work, s);
  ir_program_free(&s->p);
  arena_free(&s->scratch);
  if (st && st != TESS_UNSUPPORTED) mem_unwind(heap, st);
  return st == TESS_OK;
}

bool vm_tvm_write_map(mem_heap *heap, const char *map, uint32_t nin,
                      vm_value number, const tvm_given *given, strbuf *out) {
  scribe s = {.text = map,
              .nin = nin,
              .number = number,
              .given = given,
              .out = out,
              .p.heap = heap};
  return write_graph_of(&s, heap);
}

uint32_t vm_tvm_count_results(mem_heap *heap, const char *map,
                              const tvm_given *given) {
  scribe s = {.text = map, .given = given, .p.heap = heap};
  write_graph_of(&s, heap);
  return s.map.nout;
}
