/* SPDX-License-Identifier: Apache-2.0
 * The C header of a saved model, and the tables of its tensors. */
#include "graph/save.h"
#include "measure/kernel.h"

#include <inttypes.h>

void save_name(network_saving *w) {
  const char *slash = strrchr(w->path, '/'),
             *base = slash ? slash + 1 : w->path;
  char symbol[BACKEND_SYMBOL];
  const char *stem =
      arena_printf(&w->scratch, "%.*s", (int)strlen(base) - 3, base);
  backend_symbol(stem, symbol);
  w->name = arena_printf(&w->scratch, "%s", symbol);
  if (!w->header)
    w->header =
        arena_printf(&w->scratch, "%.*s.h", (int)strlen(w->path) - 3, w->path);
}

static void put_described(network_saving *w, const char *what, uint32_t i,
                          const char *name, const tess_gtype *t) {
  str_printf(&w->text, " *   %s[%u]  ", what, i);
  size_t comment = w->text.n;
  str_printf(&w->text, "%s: ", name);
  graph_put_type(t, &w->text);
  str_close_comment(&w->text, comment);
  str_puts(&w->text, "\n");
}

static void put_comment(network_saving *w) {
  const tess_graph *g = w->net->g;
  str_printf(&w->text,
             "/* Model %s, made by Tessera %s.\n *\n"
             " * Tensors are row-major, at multiples of their elements' size; "
             "outputs overlap\n * nothing.\n",
             w->name, tess_version());
  for (uint32_t i = 0; i < g->inputs.n; i++)
    put_described(w, "in", i, g->value.v[g->inputs.v[i]].name,
                  &g->value.v[g->inputs.v[i]].type);
  for (uint32_t i = 0; i < g->outputs.n; i++)
    put_described(w, "out", i, g->output_name.v[i],
                  &g->value.v[g->outputs.v[i]].type);
  str_puts(&w->text, " */\n");
}

static const char tensor_type[] =
    "#ifndef TESS_SAVED_TENSOR\n#define TESS_SAVED_TENSOR\n"
    "typedef struct tess_saved_tensor {\n"
    "  const char *name, *dtype;\n  int32_t ndim;\n  const int64_t *shape;\n"
    "  uint64_t bytes;\n"
    "} tess_saved_tensor;\n#endif\n\n";

void save_put_header(network_saving *w) {
  const tess_graph *g = w->net->g;
  const char *n = w->name;
  put_comment(w);
  str_printf(&w->text,
             "#ifndef TESS_MODEL_%s\n#define TESS_MODEL_%s\n\n"
             "#include <stdint.h>\n\n",
             n, n);
  str_puts(&w->text, kernel_runtime_type);
  str_puts(&w->text, tensor_type);
  str_printf(&w->text,
             "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
             "enum { %s_inputs = %u, %s_outputs = %u };\n"
             "/* After the last one is a row without a name. */\n"
             "extern const tess_saved_tensor %s_input[], %s_output[];\n"
             "/* Bytes that a run computes in. */\n"
             "extern const uint64_t %s_memory;\n\n",
             n, g->inputs.n, n, g->outputs.n, n, n, n);
  str_printf(
      &w->text,
      "/* Runs the model: 0, or another number where memory ran out.\n"
      " * memory: %s_memory bytes at a multiple of 64, of one run at a "
      "time; NULL: it is\n * allocated and freed.  rt: a runtime of the "
      "host's; NULL: a pool of\n * OMP_NUM_THREADS threads, or as many "
      "as there are cores.  Several threads may\n * run it at once, each "
      "in memory of its own. */\n"
      "int32_t %s(const void *const *in, void *const *out, void "
      "*memory,\n    const tess_runtime *rt);\n\n"
      "#ifdef __cplusplus\n}\n#endif\n#endif\n",
      n, n);
}

/* ---- tables ------------------------------------------------------------- */

static void put_shape(network_saving *w, const char *what, uint32_t i,
                      const tess_gtype *t) {
  str_printf(&w->text, "static const int64_t %s_shape%u[] = {", what, i);
  for (uint32_t d = 0; d < t->ndim; d++)
    str_printf(&w->text, "%s%" PRId64, d ? ", " : "", t->dim[d].extent);
  str_puts(&w->text, t->ndim ? "};\n" : "0};\n");
}

static void put_row(network_saving *w, const char *what, uint32_t i,
                    const char *name, const tess_gtype *t) {
  char dtype[32];
  tess_dtype_text(t->dtype, dtype);
  str_puts(&w->text, "  {");
  str_put_quoted(&w->text, '"', name, strlen(name));
  str_printf(&w->text, ", \"%s\", %u, %s_shape%u, %" PRIu64 "},\n", dtype,
             t->ndim, what, i, network_bytes(t));
}

static void put_table(network_saving *w, const char *what, uint32_t n,
                      const tess_gvalue *v, bool inputs) {
  const tess_graph *g = w->net->g;
  for (uint32_t i = 0; i < n; i++)
    put_shape(w, what, i, &g->value.v[v[i]].type);
  str_printf(&w->text, "const tess_saved_tensor %s_%s[] = {\n", w->name, what);
  for (uint32_t i = 0; i < n; i++)
    put_row(w, what, i, inputs ? g->value.v[v[i]].name : g->output_name.v[i],
            &g->value.v[v[i]].type);
  str_puts(&w->text, "  {0}};\n");
}

void save_put_tables(network_saving *w) {
  const tess_graph *g = w->net->g;
  put_table(w, "input", g->inputs.n, g->inputs.v, true);
  put_table(w, "output", g->outputs.n, g->outputs.v, false);
  str_printf(&w->text, "const uint64_t %s_memory = %" PRIu64 ";\n", w->name,
             (w->net->info.arena_bytes + 63) / 64 * 64);
}
