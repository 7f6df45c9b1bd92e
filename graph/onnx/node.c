/* SPDX-License-Identifier: Apache-2.0
 * Nodes of ONNX graphs; those that call a function of the model become its
 * body. */
#include "graph/onnx/read.h"
#include <string.h>

static const char *text_or_none(const char *s) { return s ? s : ""; }

/* ---- functions ---------------------------------------------------------- */

static const Onnx__FunctionProto *find_function(const onnx_reader *r,
                                                const Onnx__NodeProto *n) {
  for (size_t i = 0; i < r->model->n_functions; i++) {
    const Onnx__FunctionProto *f = r->model->functions[i];
    if (!strcmp(text_or_none(f->name), text_or_none(n->op_type)) &&
        !strcmp(text_or_none(f->domain), text_or_none(n->domain)) &&
        !strcmp(text_or_none(f->overload), text_or_none(n->overload)))
      return f;
  }
  return NULL;
}

/* The attributes of a call: what it gives, and the defaults of the function. */
static void gather_attributes(onnx_scope *s, const Onnx__NodeProto *n,
                              const Onnx__FunctionProto *f, onnx_call *call) {
  size_t most = n->n_attribute + f->n_attribute_proto;
  const Onnx__AttributeProto **list =
      arena_array(&s->r->memory, const Onnx__AttributeProto *, most);
  for (size_t i = 0; i < n->n_attribute; i++) {
    const Onnx__AttributeProto *a = onnx_attribute_of(s, n->attribute[i]);
    if (!a || !n->attribute[i]->name) continue;
    Onnx__AttributeProto *named = arena_alloc(&s->r->memory, sizeof *named);
    *named = *a; /* under the name that the function knows it by */
    named->name = n->attribute[i]->name;
    list[call->nattr++] = named;
  }
  for (size_t i = 0; i < f->n_attribute_proto; i++)
    if (f->attribute_proto[i]->name)
      list[call->nattr++] = f->attribute_proto[i];
  call->attr = list;
}

static tess_status pass_inputs(onnx_scope *s, const Onnx__NodeProto *n,
                               const Onnx__FunctionProto *f, onnx_scope *body) {
  tess_status st = TESS_OK;
  for (size_t i = 0; !st && i < f->n_input; i++) {
    tess_gvalue v = 0;
    if (i < n->n_input && *n->input[i]) st = onnx_find(s, n->input[i], n, &v);
    if (!st) st = onnx_define(body, f->input[i], v);
  }
  return st;
}

static tess_status pass_outputs(onnx_scope *s, const Onnx__NodeProto *n,
                                const Onnx__FunctionProto *f,
                                onnx_scope *body) {
  tess_status st = TESS_OK;
  for (size_t i = 0; !st && i < n->n_output && i < f->n_output; i++) {
    tess_gvalue v = 0;
    if (!*n->output[i]) continue;
    st = onnx_find(body, f->output[i], n, &v);
    if (!st) st = onnx_define(s, n->output[i], v);
  }
  return st;
}

static tess_status inline_call(onnx_scope *s, const Onnx__NodeProto *n,
                               const Onnx__FunctionProto *f) {
  onnx_call call = {.function = f, .depth = s->call ? s->call->depth + 1 : 1};
  if (call.depth > ONNX_MAX_CALLS)
    return ctx_fail(s->r->c, TESS_LIMIT,
                    "%s: functions call each other %d levels deep",
                    onnx_node_text(s->r, n), ONNX_MAX_CALLS);
  gather_attributes(s, n, f, &call);
  onnx_scope *body = onnx_scope_open(s->r, s->g);
  body->call = &call;
  body->prefix = arena_printf(
      &s->r->memory, "%s%s/", s->prefix,
      n->name && *n->name ? n->name : (n->n_output ? n->output[0] : f->name));
  tess_status st = pass_inputs(s, n, f, body);
  if (!st) st = onnx_read_nodes(body, f->n_node, f->node);
  if (!st) st = pass_outputs(s, n, f, body);
  onnx_scope_close(s->r);
  return st;
}

/* ---- one node ----------------------------------------------------------- */

static const char *operator_of(onnx_scope *s, const Onnx__NodeProto *n) {
  const char *domain = text_or_none(n->domain);
  if (!*domain || !strcmp(domain, "ai.onnx"))
    return arena_printf(&s->r->memory, "onnx.%s", n->op_type);
  return arena_printf(&s->r->memory, "onnx.%s.%s", domain, n->op_type);
}

static bool is_twice(const tess_attr *list, uint32_t n, const char *name) {
  for (uint32_t i = 0; i < n; i++)
    if (!strcmp(list[i].name, name)) return true;
  return false;
}

static tess_status read_attributes(onnx_scope *s, const Onnx__NodeProto *n,
                                   tess_node_def *def) {
  tess_attr *list = arena_array(&s->r->memory, tess_attr, n->n_attribute + 1);
  tess_status st = TESS_OK;
  for (size_t i = 0; !st && i < n->n_attribute; i++) {
    const char *name = n->attribute[i]->name;
    const Onnx__AttributeProto *a = onnx_attribute_of(s, n->attribute[i]);
    if (!a) continue;
    if (!name || is_twice(list, def->nattr, name))
      return ctx_fail(s->r->c, TESS_INVALID,
                      name ? "%s has attribute '%s' twice"
                           : "%s has an attribute without a name",
                      onnx_node_text(s->r, n), text_or_none(name));
    st = onnx_read_attribute(s, n, a, &list[def->nattr]);
    if (!st) list[def->nattr++].name = name;
  }
  list[def->nattr++] = (tess_attr){.name = ".opset",
                                   .kind = TESS_ATTR_INT,
                                   .i = onnx_opset(s, text_or_none(n->domain))};
  def->attr = list;
  return st;
}

static tess_status read_inputs(onnx_scope *s, const Onnx__NodeProto *n,
                               tess_node_def *def) {
  tess_gvalue *in = arena_array(&s->r->memory, tess_gvalue, n->n_input);
  tess_status st = TESS_OK;
  for (size_t i = 0; !st && i < n->n_input; i++) {
    in[i] = 0;
    if (*n->input[i]) st = onnx_find(s, n->input[i], n, &in[i]);
  }
  def->nin = (uint32_t)n->n_input;
  def->in = in;
  return st;
}

/* Graphs of its attributes are the node's from here on. */
static void drop_graphs(onnx_reader *r, const tess_node_def *def) {
  for (uint32_t i = 0; i < def->nattr; i++)
    if (def->attr[i].kind == TESS_ATTR_GRAPH) r->graphs.n--;
}

static tess_status add_node(onnx_scope *s, const Onnx__NodeProto *n,
                            tess_node_def *def) {
  arena *memory = &s->r->memory;
  def->nout = (uint32_t)n->n_output;
  def->type = arena_zalloc(memory, (n->n_output + 1) * sizeof *def->type);
  const char **names = arena_array(memory, const char *, n->n_output);
  for (size_t i = 0; i < n->n_output; i++)
    names[i] = !*n->output[i] || !*s->prefix
                   ? n->output[i]
                   : arena_printf(memory, "%s%s", s->prefix, n->output[i]);
  def->result = names;
  tess_gnode made = graph_node_add(s->g, def);
  drop_graphs(s->r, def);
  tess_status st = TESS_OK;
  for (size_t i = 0; !st && i < n->n_output; i++)
    if (*n->output[i])
      st = onnx_define(s, n->output[i], s->g->node.v[made].out[i]);
  return st;
}

static tess_status read_node(onnx_scope *s, const Onnx__NodeProto *n) {
  tess_context *c = s->r->c;
  if (!n->op_type || !*n->op_type)
    return ctx_fail(c, TESS_INVALID, "%s has no operator",
                    onnx_node_text(s->r, n));
  if (n->n_input > ONNX_MAX_PARTS || n->n_output > ONNX_MAX_PARTS ||
      n->n_attribute > ONNX_MAX_ATTRIBUTES || ++s->r->nodes > ONNX_MAX_NODES)
    return ctx_fail(c, TESS_LIMIT, "%s: too many nodes, or parts of it",
                    onnx_node_text(s->r, n));
  const Onnx__FunctionProto *f = find_function(s->r, n);
  if (f) return inline_call(s, n, f);
  const char *name = text_or_none(n->name);
  tess_node_def def = {.struct_size = sizeof def, .op = operator_of(s, n)};
  def.name = *name ? arena_printf(&s->r->memory, "%s%s", s->prefix, name) : "";
  tess_status st = read_inputs(s, n, &def);
  if (!st) st = read_attributes(s, n, &def);
  return st ? st : add_node(s, n, &def);
}

tess_status onnx_read_nodes(onnx_scope *s, size_t n,
                            Onnx__NodeProto *const *nodes) {
  tess_status st = TESS_OK;
  for (size_t i = 0; !st && i < n; i++) st = read_node(s, nodes[i]);
  return st;
}
