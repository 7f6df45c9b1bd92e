/* SPDX-License-Identifier: Apache-2.0
 * Graphs as text: a line for each constant and node, groups as boxes. */
#include "graph/graph.h"
#include "measure/tensor/tensor.h"

#include <ctype.h>
#include <inttypes.h>

enum { SHOWN_ELEMENTS = 8 };

static bool is_bare_name(const char *name) {
  if (!*name || isdigit((unsigned char)*name)) return false;
  for (const char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("_./:-", *c)) return false;
  return true;
}

void graph_put_value(const tess_graph *g, tess_gvalue v, strbuf *out) {
  const char *name = g->value.v[v].name;
  if (!v)
    str_putc(out, '-');
  else if (is_bare_name(name))
    str_puts(out, name);
  else if (*name)
    str_put_quoted(out, '"', name, strlen(name));
  else
    str_printf(out, "%%%u", v);
}

void graph_put_type(const tess_gtype *t, strbuf *out) {
  if (!t->dtype.bits) {
    str_putc(out, '?');
    return;
  }
  char dtype[32];
  tess_dtype_text(t->dtype, dtype);
  str_printf(out, "%s[", dtype);
  for (uint32_t d = 0; d < t->ndim; d++) {
    if (d) str_puts(out, ", ");
    if (t->dim[d].size)
      str_puts(out, t->dim[d].size);
    else
      str_printf(out, "%" PRId64, t->dim[d].extent);
  }
  str_putc(out, ']');
}

/* ---- attributes --------------------------------------------------------- */

static void put_entry(const tess_attr *a, uint32_t i, strbuf *out) {
  if (a->kind == TESS_ATTR_INTS)
    str_printf(out, "%" PRId64, a->ints[i]);
  else if (a->kind == TESS_ATTR_REALS)
    str_put_double(out, a->reals[i]);
  else
    str_put_quoted(out, '"', a->strs[i], strlen(a->strs[i]));
}

static void put_list(const tess_attr *a, strbuf *out) {
  str_puts(out, "{");
  for (uint32_t i = 0; i < a->n; i++) {
    if (i) str_puts(out, ", ");
    put_entry(a, i, out);
  }
  str_puts(out, "}");
}

static void put_attr(const tess_graph *g, const tess_attr *a, strbuf *out) {
  str_printf(out, "%s = ", a->name);
  switch (a->kind) {
  case TESS_ATTR_BOOL: str_puts(out, a->i ? "true" : "false"); break;
  case TESS_ATTR_INT: str_printf(out, "%" PRId64, a->i); break;
  case TESS_ATTR_REAL: str_put_double(out, a->r); break;
  case TESS_ATTR_STR: str_put_quoted(out, '"', a->s, strlen(a->s)); break;
  case TESS_ATTR_TENSOR: graph_put_value(g, a->tensor, out); break;
  case TESS_ATTR_GRAPH: str_printf(out, "graph %s", a->graph->name); break;
  default: put_list(a, out);
  }
}

/* ---- lines -------------------------------------------------------------- */

static void put_values(const tess_graph *g, uint32_t n, const tess_gvalue *v,
                       strbuf *out) {
  for (uint32_t i = 0; i < n; i++) {
    if (i) str_puts(out, ", ");
    graph_put_value(g, v[i], out);
  }
}

static void put_graph_head(const tess_graph *g, strbuf *out) {
  str_printf(out, "graph %s(", g->name);
  for (uint32_t i = 0; i < g->inputs.n; i++) {
    str_puts(out, i ? ",\n    " : "\n    ");
    graph_put_value(g, g->inputs.v[i], out);
    str_puts(out, ": ");
    graph_put_type(&g->value.v[g->inputs.v[i]].type, out);
  }
  str_puts(out, ")\n");
}

static void put_constant(const tess_graph *g, tess_gvalue v, strbuf *out) {
  const tess_tensor *t = g->value.v[v].tensor;
  str_puts(out, "  const ");
  graph_put_value(g, v, out);
  str_puts(out, ": ");
  graph_put_type(&g->value.v[v].type, out);
  if (t->size <= SHOWN_ELEMENTS) {
    str_puts(out, " = {");
    for (int64_t i = 0; i < t->size; i++) {
      if (i) str_puts(out, ", ");
      str_put_double(out, tensor_element(t, i));
    }
    str_puts(out, "}");
  }
  str_puts(out, "\n");
}

/* Constants stand before the first node that takes them. */
static void put_constants(const tess_graph *g, const graph_node *n,
                          uint8_t *shown, strbuf *out) {
  for (uint32_t i = 0; i < n->nin; i++) {
    tess_gvalue v = n->in[i];
    if (g->value.v[v].kind != TESS_G_CONSTANT || shown[v]) continue;
    shown[v] = 1;
    put_constant(g, v, out);
  }
}

static void put_node(const tess_graph *g, const graph_node *n, strbuf *out) {
  str_puts(out, "  ");
  put_values(g, n->nout, n->out, out);
  str_printf(out, " = %s(", n->op);
  put_values(g, n->nin, n->in, out);
  if (n->nattr) str_puts(out, n->nin ? ", { " : "{ ");
  for (uint32_t i = 0; i < n->nattr; i++) {
    if (i) str_puts(out, ", ");
    put_attr(g, &n->attr[i], out);
  }
  str_puts(out, n->nattr ? " })" : ")");
  for (uint32_t i = 0; i < n->nout; i++) {
    str_puts(out, i ? ", " : ": ");
    graph_put_type(&g->value.v[n->out[i]].type, out);
  }
  str_puts(out, "\n");
}

static void put_outputs(const tess_graph *g, strbuf *out) {
  for (uint32_t i = 0; i < g->outputs.n; i++) {
    str_printf(out, "  output %s = ", g->output_name.v[i]);
    graph_put_value(g, g->outputs.v[i], out);
    str_puts(out, "\n");
  }
}

void graph_print(const tess_graph *g, strbuf *out) {
  uint8_t *shown = mem_resize(&g->c->heap, NULL, 0, g->value.n);
  memset(shown, 0, g->value.n);
  uint32_t group = 0;
  put_graph_head(g, out);
  for (uint32_t k = 0; k < g->order.n; k++) {
    const graph_node *n = &g->node.v[g->order.v[k]];
    put_constants(g, n, shown, out);
    if (n->group != group && n->group) str_printf(out, "  -- %u\n", n->group);
    group = n->group;
    put_node(g, n, out);
  }
  put_outputs(g, out);
  mem_free(&g->c->heap, shown, g->value.n);
}
