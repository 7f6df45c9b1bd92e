/* SPDX-License-Identifier: Apache-2.0
 * Binding of graphs: what stdlib/graph.lua makes its objects of.  Values and
 * nodes are their numbers here. */
#include "lua/lgraph.h"

#define MAX_DIM 16

LT_GC(graph_gc, tess_graph, tess_graph_free)

static tess_graph *lt_graph(lua_State *L) { return lt_get(L, 1, LT_GRAPH); }

static int new_graph(lua_State *L) {
  const char *name = lt_opt_string(L, 1, "the name of a graph", "");
  tess_graph *g = NULL;
  void **box = lt_box(L, LT_GRAPH, 0);
  lt_check(L, tess_graph_new(lt_context(L), name, &g));
  *box = g;
  return 1;
}

/* ---- types -------------------------------------------------------------- */

/* The dimensions in the table at index i: extents, or sizes by name, which
 * live as long as the table. */
static uint32_t to_dims(lua_State *L, int i, tess_dim *dim) {
  lt_table(L, i, "the shape of a value");
  lua_Integer n = lt_list_len(L, i);
  if (n > MAX_DIM)
    lt_error(L, TESS_LIMIT, "a value has at most %d dimensions", MAX_DIM);
  for (lua_Integer d = 0; d < n; d++) {
    dim[d] = (tess_dim){.extent = 0};
    if (lua_geti(L, i, d + 1) == LUA_TSTRING)
      dim[d].size = lt_string(L, -1, "a size");
    else
      dim[d].extent = lt_integer(L, -1, "an extent");
    lua_pop(L, 1);
  }
  return (uint32_t)n;
}

/* The type whose dtype, nil where it is not known, is at index i and whose
 * dimensions are at index i + 1. */
static tess_gtype to_type(lua_State *L, int i, tess_dim *dim) {
  if (lua_isnoneornil(L, i)) return (tess_gtype){.ndim = 0};
  return (tess_gtype){.dtype = lt_to_dtype(L, i, NULL),
                      .ndim = to_dims(L, i + 1, dim),
                      .dim = dim};
}

/* g:add_input(name, dtype, shape [, outer]) */
static int add_input(lua_State *L) {
  tess_dim dim[MAX_DIM];
  tess_gvalue v;
  const char *name = lt_string(L, 2, "the name of an input");
  tess_gtype t = to_type(L, 3, dim);
  tess_gkind kind = lua_toboolean(L, 5) ? TESS_G_OUTER : TESS_G_INPUT;
  lt_check(L, tess_graph_input(lt_graph(L), name, &t, kind, &v));
  lua_pushinteger(L, v);
  return 1;
}

/* g:add_constant(name, tensor) */
static int add_constant(lua_State *L) {
  tess_gvalue v;
  const char *name = lt_string(L, 2, "the name of a constant");
  lt_check(L,
           tess_graph_constant(lt_graph(L), name, lt_get(L, 3, LT_TENSOR), &v));
  lua_pushinteger(L, v);
  return 1;
}

static int add_output(lua_State *L) {
  const char *name = lt_string(L, 2, "the name of an output");
  lua_Integer v = lt_integer(L, 3, "a value");
  lt_check(L, tess_graph_output(lt_graph(L), name, (tess_gvalue)v));
  return 0;
}

/* ---- nodes -------------------------------------------------------------- */

static const tess_gvalue *to_values(lua_State *L, int i, uint32_t *n) {
  lt_table(L, i, "the inputs of a node");
  *n = (uint32_t)lt_list_len(L, i);
  tess_gvalue *v = lt_room(L, *n, sizeof *v);
  for (uint32_t k = 0; k < *n; k++) {
    lua_geti(L, i, (lua_Integer)k + 1);
    v[k] = (tess_gvalue)lt_integer(L, -1, "a value");
    lua_pop(L, 1);
  }
  return v;
}

/* The results in the list at index i: { dtype, shape [, name] } each. */
static void to_results(lua_State *L, int i, tess_node_def *def) {
  lt_table(L, i, "the results of a node");
  def->nout = (uint32_t)lt_list_len(L, i);
  tess_gtype *type = lt_room(L, def->nout, sizeof *type);
  const char **name = lt_room(L, def->nout, sizeof *name);
  tess_dim *dim = lt_room(L, def->nout, MAX_DIM * sizeof *dim);
  for (uint32_t k = 0; k < def->nout; k++, dim += MAX_DIM) {
    lua_geti(L, i, (lua_Integer)k + 1);
    int t = lua_gettop(L);
    lt_table(L, t, "a result of a node");
    lua_geti(L, t, 1);
    lua_geti(L, t, 2);
    type[k] = to_type(L, t + 1, dim);
    lua_geti(L, t, 3);
    name[k] = lt_opt_string(L, t + 3, "the name of a result", "");
    lua_settop(L, t - 1);
  }
  def->type = type;
  def->result = name;
}

/* g:add_node(op, name, inputs, attributes, results): a list of values. */
static int add_node(lua_State *L) {
  lua_settop(L, 6);
  tess_node_def def = {.struct_size = sizeof def,
                       .op = lt_string(L, 2, "an operator"),
                       .name = lt_opt_string(L, 3, "the name of a node", "")};
  def.in = to_values(L, 4, &def.nin);
  to_results(L, 6, &def);
  tess_gvalue *out = lt_room(L, def.nout, sizeof *out);
  def.attr = lt_to_attrs(L, 5, &def.nattr);
  lt_check(L, tess_graph_node(lt_graph(L), &def, out));
  lua_createtable(L, (int)def.nout, 0);
  for (uint32_t k = 0; k < def.nout; k++) {
    lua_pushinteger(L, out[k]);
    lua_seti(L, -2, (lua_Integer)k + 1);
  }
  return 1;
}

/* ---- asking ------------------------------------------------------------- */

static void push_numbers(lua_State *L, uint32_t n, const uint32_t *v) {
  lua_createtable(L, (int)n, 0);
  for (uint32_t k = 0; k < n; k++) {
    lua_pushinteger(L, v[k]);
    lua_seti(L, -2, (lua_Integer)k + 1);
  }
}

static void push_dims(lua_State *L, const tess_gtype *t) {
  lua_createtable(L, (int)t->ndim, 0);
  for (uint32_t d = 0; d < t->ndim; d++) {
    if (t->dim[d].size)
      lua_pushstring(L, t->dim[d].size);
    else
      lua_pushinteger(L, t->dim[d].extent);
    lua_seti(L, -2, (lua_Integer)d + 1);
  }
}

/* g:value_info(v): { name =, kind =, dtype =, shape =, node =, result = } */
static int value_info(lua_State *L) {
  static const char *const kinds[] = {"input", "constant", "result", "outer"};
  tess_gvalue_info x = TESS_INIT(tess_gvalue_info);
  lua_Integer v = lt_integer(L, 2, "a value");
  lt_check(L, tess_graph_value(lt_graph(L), (tess_gvalue)v, &x));
  lua_createtable(L, 0, 6);
  lt_set_string(L, "name", x.name);
  lt_set_string(L, "kind", kinds[x.kind]);
  if (x.kind == TESS_G_RESULT) {
    lt_set_integer(L, "node", x.node);
    lt_set_integer(L, "result", (lua_Integer)x.result + 1);
  }
  if (!x.type.dtype.bits) return 1;
  char dtype[32];
  tess_dtype_text(x.type.dtype, dtype);
  lt_set_string(L, "dtype", dtype);
  push_dims(L, &x.type);
  lua_setfield(L, -2, "shape");
  return 1;
}

static int value_tensor(lua_State *L) {
  lua_Integer v = lt_integer(L, 2, "a value");
  tess_tensor *t = NULL;
  void **box = lt_box(L, LT_TENSOR, 0);
  lt_check(L, tess_graph_tensor(lt_graph(L), (tess_gvalue)v, &t));
  *box = t;
  return 1;
}

/* g:node_info(n): { op =, name =, group =, inputs =, outputs =, attrs = } */
static int node_info(lua_State *L) {
  tess_gnode_info x = TESS_INIT(tess_gnode_info);
  lua_Integer n = lt_integer(L, 2, "a node");
  lt_check(L, tess_graph_node_get(lt_graph(L), (tess_gnode)n, &x));
  lua_createtable(L, 0, 6);
  lt_set_string(L, "op", x.op);
  lt_set_string(L, "name", x.name);
  lt_set_integer(L, "group", x.group);
  push_numbers(L, x.nin, x.in);
  lua_setfield(L, -2, "inputs");
  push_numbers(L, x.nout, x.out);
  lua_setfield(L, -2, "outputs");
  lua_createtable(L, 0, (int)x.nattr);
  for (uint32_t i = 0; i < x.nattr; i++) {
    lt_push_attr(L, &x.attr[i]);
    lua_setfield(L, -2, x.attr[i].name);
  }
  lua_setfield(L, -2, "attrs");
  return 1;
}

/* g:branch(n, attribute): the graph that an attribute of a node is */
static int branch(lua_State *L) {
  lua_Integer n = lt_integer(L, 2, "a node");
  const char *attr = lt_string(L, 3, "the name of an attribute");
  tess_graph *g = NULL;
  void **box = lt_box(L, LT_GRAPH, 0);
  lt_check(L, tess_graph_branch(lt_graph(L), (tess_gnode)n, attr, &g));
  *box = g;
  return 1;
}

static int graph_order(lua_State *L) {
  const tess_gnode *v;
  uint32_t n = tess_graph_order(lt_graph(L), &v);
  push_numbers(L, n, v);
  return 1;
}

static int graph_inputs(lua_State *L) {
  const tess_gvalue *v;
  uint32_t n = tess_graph_inputs(lt_graph(L), &v);
  push_numbers(L, n, v);
  return 1;
}

/* The values, and their names. */
static int graph_outputs(lua_State *L) {
  const tess_gvalue *v;
  uint32_t n = tess_graph_outputs(lt_graph(L), &v);
  push_numbers(L, n, v);
  lua_createtable(L, (int)n, 0);
  for (uint32_t i = 0; i < n; i++) {
    lua_pushstring(L, tess_graph_output_name(lt_graph(L), i));
    lua_seti(L, -2, (lua_Integer)i + 1);
  }
  return 2;
}

static int graph_name(lua_State *L) {
  lua_pushstring(L, tess_graph_name(lt_graph(L)));
  return 1;
}

static int graph_tostring(lua_State *L) {
  char *text = NULL;
  lt_check(L, tess_graph_text(lt_graph(L), &text));
  lt_push_text(L, text);
  return 1;
}

static int graph_dot(lua_State *L) {
  char *text = NULL;
  lt_check(L, tess_graph_dot(lt_graph(L), &text));
  lt_push_text(L, text);
  return 1;
}

/* ---- changing ----------------------------------------------------------- */

static int graph_verify(lua_State *L) {
  lt_check(L, tess_graph_verify(lt_graph(L)));
  lua_pushboolean(L, 1);
  return 1;
}

static int replace_value(lua_State *L) {
  lua_Integer old = lt_integer(L, 2, "a value");
  lua_Integer by = lt_integer(L, 3, "a value");
  lt_check(L,
           tess_graph_replace(lt_graph(L), (tess_gvalue)old, (tess_gvalue)by));
  return 0;
}

static int graph_sweep(lua_State *L) {
  lt_check(L, tess_graph_sweep(lt_graph(L)));
  return 0;
}

static int set_group(lua_State *L) {
  lua_Integer n = lt_integer(L, 2, "a node");
  lua_Integer group = lt_integer(L, 3, "a group");
  lt_check(L,
           tess_graph_set_group(lt_graph(L), (tess_gnode)n, (uint32_t)group));
  return 0;
}

/* g:fuse_nodes(categories): numbers, one a node in order. */
static int fuse_nodes(lua_State *L) {
  lt_table(L, 2, "the categories of nodes");
  uint32_t n = (uint32_t)lt_list_len(L, 2);
  tess_category *category = lt_room(L, n, sizeof *category);
  for (uint32_t i = 0; i < n; i++) {
    lua_geti(L, 2, (lua_Integer)i + 1);
    lua_Integer x = lt_integer(L, -1, "a category");
    category[i] =
        x < 0 || x > TESS_FUSE_OPAQUE ? TESS_FUSE_OPAQUE : (tess_category)x;
    lua_pop(L, 1);
  }
  lt_check(L, tess_graph_fuse(lt_graph(L), n, category));
  return 0;
}

void lt_open_graph(lua_State *L) {
  static const luaL_Reg meta[] = {{"__tostring", graph_tostring}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"add_input", add_input},
                                     {"add_constant", add_constant},
                                     {"add_output", add_output},
                                     {"add_node", add_node},
                                     {"value_info", value_info},
                                     {"value_tensor", value_tensor},
                                     {"node_info", node_info},
                                     {"branch", branch},
                                     {"order", graph_order},
                                     {"input_values", graph_inputs},
                                     {"output_values", graph_outputs},
                                     {"name", graph_name},
                                     {"dot", graph_dot},
                                     {"verify", graph_verify},
                                     {"replace_value", replace_value},
                                     {"sweep", graph_sweep},
                                     {"set_group", set_group},
                                     {"fuse_nodes", fuse_nodes},
                                     {"make_network", lt_make_network},
                                     {NULL, NULL}};
  static const luaL_Reg functions[] = {{"graph", new_graph}, {NULL, NULL}};
  lt_class(L, LT_GRAPH, meta, methods, graph_gc);
  luaL_setfuncs(L, functions, 0);
  lt_open_network(L);
}
