/* SPDX-License-Identifier: Apache-2.0
 * A graph that runs as a shared library that needs nothing of Tessera: the
 * kernels' objects, the constants as they want them, and a C source that calls
 * one after the other. */
#include "base/file.h"
#include "graph/save.h"
#include "lower/lower.h"
#include "measure/link.h"
#include "measure/tensor/tensor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The text of workspace.h, NUL behind it. */
__asm__(".pushsection .rodata\n"
        "graph_workspace:\n"
        ".incbin \"" GRAPH_WORKSPACE "\"\n"
        ".byte 0\n"
        ".popsection");
extern const char graph_workspace[] __attribute__((visibility("hidden")));

/* ---- constants ---------------------------------------------------------- */

/* The memory of argument i of a step, as its kernel takes it, if it is a
 * constant; else NULL. */
static const void *constant_of(const network_step *s, uint32_t i,
                               uint64_t *bytes) {
  const bundle *b = &s->kernel->code;
  for (uint32_t k = 0; k < b->n; k++)
    if (b->param[k] == i) {
      *bytes = b->bytes[k];
      return s->made.made[k];
    }
  *bytes = s->bytes[i];
  return s->place[i]->where == NETWORK_CONSTANT ? s->place[i]->data : NULL;
}

static uint64_t add_weight(network_saving *w, const void *data,
                           uint64_t bytes) {
  for (uint32_t i = 0; i < w->weight.n; i++)
    if (w->weight.v[i].data == data) return w->weight.v[i].offset;
  uint64_t offset =
      (w->weight_bytes + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
  saved_weight x = {data, bytes, offset};
  vec_push(&w->net->c->heap, &w->weight, x);
  w->weight_bytes = offset + bytes;
  return offset;
}

static tess_status write_weights(network_saving *w) {
  static const char zeros[PLAN_ALIGN];
  err_state *e = &w->net->c->err;
  file_writer f;
  uint64_t at = 0;
  tess_status s = file_create(&f, w->weights, e);
  for (uint32_t i = 0; s == TESS_OK && i < w->weight.n; i++) {
    const saved_weight *x = &w->weight.v[i];
    s = file_append(&f, zeros, x->offset - at, e);
    if (s == TESS_OK) s = file_append(&f, x->data, x->bytes, e);
    at = x->offset + x->bytes;
  }
  if (s == TESS_OK) s = file_append(&f, zeros, 1, e); /* never empty */
  return file_commit(&f, s, e);
}

/* ---- kernels ------------------------------------------------------------ */

/* The program without the conversion of constants, which took place. */
static void split_conversion(network_saving *w, tess_program *p) {
  lower_prepared what;
  w->program = program_new(w->net->c, &p->p, p);
  w->convert = program_empty(w->net->c);
  lower_split_prepare(&w->program->p, &w->scratch, &w->convert->p, &what);
}

static void drop_program(network_saving *w) {
  measure_build_free(&w->build);
  tess_program_free(w->program);
  tess_program_free(w->convert);
  w->build = (measure_build){.status = TESS_OK};
  w->program = w->convert = NULL;
}

static tess_status build_object(network_saving *w, tess_kernel *k,
                                const char *path) {
  tess_context *c = w->net->c;
  split_conversion(w, k->program);
  tess_status s =
      kernel_build(c, w->program, k->target_text, BACKEND_OBJECT, &w->build);
  if (s == TESS_OK)
    s = file_write(path, w->build.code.v, w->build.code.n, &c->err);
  drop_program(w);
  return s;
}

static bool is_first(const tess_network *net, uint32_t k) {
  for (uint32_t i = 0; i < k; i++)
    if (net->step[i].kernel == net->step[k].kernel) return false;
  return true;
}

static tess_status build_objects(network_saving *w) {
  mem_heap *heap = &w->net->c->heap;
  for (uint32_t k = 0; k < w->net->nstep; k++) {
    if (!is_first(w->net, k)) continue;
    const char *path = arena_printf(&w->scratch, "%s/k%u.o", w->folder, k);
    vec_push(heap, &w->object, path);
    tess_status s = build_object(w, w->net->step[k].kernel, path);
    if (s != TESS_OK) return s;
  }
  return TESS_OK;
}

/* ---- the source --------------------------------------------------------- */

static void put_argument(network_saving *w, const network_step *s, uint32_t i) {
  const network_place *p = s->place[i];
  uint64_t bytes;
  const void *data = constant_of(s, i, &bytes);
  if (data)
    str_printf(&w->text, "(void *)(w + %" PRIu64 ")",
               add_weight(w, data, bytes));
  else if (p->where == NETWORK_ARENA)
    str_printf(&w->text, "a + %" PRIu64, p->offset);
  else if (p->where == NETWORK_INPUT)
    str_printf(&w->text, "(void *)(uintptr_t)in[%u]", p->index);
  else
    str_printf(&w->text, "out[%u]", p->index);
}

static void put_calls(network_saving *w) {
  char symbol[BACKEND_SYMBOL];
  for (uint32_t k = 0; k < w->net->nstep; k++) {
    const network_step *s = &w->net->step[k];
    backend_symbol(tess_kernel_name(s->kernel), symbol);
    str_puts(&w->text, "  if (!s) {\n    void *x[] = {");
    for (uint32_t i = 0; i < s->n; i++) {
      if (i) str_puts(&w->text, ", ");
      put_argument(w, s, i);
    }
    str_printf(&w->text,
               "};\n    s = %s_kernel(x, NULL, workspace_for(&run, a + %" PRIu64
               ", %" PRIu64 ", %" PRIu64 ", %u));\n  }\n",
               symbol, s->work.offset, s->work.own, s->work.thread, s->work.n);
  }
}

/* Outputs that no kernel writes. */
static void put_copies(network_saving *w) {
  const tess_graph *g = w->net->g;
  for (uint32_t i = 0; i < w->net->ncopy; i++) {
    const network_copy *c = &w->net->copy[i];
    uint64_t bytes = network_bytes(&g->value.v[g->outputs.v[c->output]].type);
    const network_place *p = c->from;
    str_printf(&w->text, "  memcpy(out[%u], ", c->output);
    if (p->where == NETWORK_CONSTANT)
      str_printf(&w->text, "w + %" PRIu64, add_weight(w, p->data, bytes));
    else
      str_printf(&w->text, "%s[%u]", p->where == NETWORK_INPUT ? "in" : "out",
                 p->index);
    str_printf(&w->text, ", %" PRIu64 ");\n", bytes);
  }
}

static void put_prototypes(network_saving *w) {
  char symbol[BACKEND_SYMBOL];
  for (uint32_t k = 0; k < w->net->nstep; k++) {
    if (!is_first(w->net, k)) continue;
    backend_symbol(tess_kernel_name(w->net->step[k].kernel), symbol);
    str_printf(&w->text,
               "int32_t %s_kernel(void **args, const int64_t *sizes,\n"
               "    const tess_runtime *rt);\n",
               symbol);
  }
}

static void put_source(network_saving *w) {
  str_printf(&w->text,
             "#include \"%s\"\n#include <stdlib.h>\n#include <string.h>\n\n"
             "%s\n",
             w->header, graph_workspace);
  put_prototypes(w);
  str_printf(&w->text,
             "\n__asm__(\".section .rodata\\n.balign 4096\\n\"\n"
             "        \"tess_weights: .incbin \\\"%s\\\"\\n.previous\\n\");\n"
             "extern const char tess_weights[]\n"
             "    __attribute__((visibility(\"hidden\")));\n\n",
             w->weights);
  save_put_tables(w);
  str_printf(&w->text,
             "\nint32_t %s(const void *const *in, void *const *out, void "
             "*memory,\n    const tess_runtime *rt) {\n"
             "  const char *const w = tess_weights;\n"
             "  char *own = memory ? NULL : aligned_alloc(64, "
             "%s_memory + 64);\n"
             "  char *const a = memory ? memory : own;\n"
             "  int32_t s = a ? 0 : %d;\n  workspace run;\n"
             "  workspace_init(&run, rt);\n  (void)w, (void)in;\n",
             w->name, w->name, TESS_NOMEM);
  put_calls(w);
  str_puts(&w->text, "  if (!s) {\n");
  put_copies(w);
  str_puts(&w->text, "  }\n  free(own);\n  return s;\n}\n");
}

/* ---- saving ------------------------------------------------------------- */

static tess_status write_text(network_saving *w, const char *path) {
  tess_status s = str_status(&w->text);
  if (s == TESS_OK) s = file_write(path, w->text.v, w->text.n, &w->net->c->err);
  str_clear(&w->text);
  return s;
}

static tess_status link_all(network_saving *w) {
  const char *source = arena_printf(&w->scratch, "%s/model.c", w->folder);
  put_source(w);
  vec_push(&w->net->c->heap, &w->object, source);
  tess_status s = write_text(w, source);
  if (s == TESS_OK) s = write_weights(w);
  if (s != TESS_OK) return s;
  return link_shared(w->net->c, w->path, w->object.n, w->object.v);
}

static tess_status save_in_folder(void *ud) {
  network_saving *w = ud;
  w->weights = arena_printf(&w->scratch, "%s/weights", w->folder);
  save_name(w);
  save_put_header(w);
  tess_status s = write_text(w, w->header);
  w->header = realpath(w->header, w->real);
  if (s == TESS_OK && !w->header)
    s = ctx_fail(w->net->c, TESS_IO, "the header: %s", strerror(errno));
  if (s == TESS_OK) s = build_objects(w);
  return s == TESS_OK ? link_all(w) : s;
}

static void remove_folder(network_saving *w) {
  for (uint32_t i = 0; i < w->object.n; i++) unlink(w->object.v[i]);
  if (w->weights) unlink(w->weights);
  rmdir(w->folder);
}

static tess_status check_path(tess_network *net, const char *path) {
  size_t n = strlen(path);
  if (net->c->in_process)
    return ctx_fail(net->c, TESS_UNSUPPORTED,
                    "'%s' needs the system's C compiler to link it, and with "
                    "the option in_process no process is started",
                    path);
  if (net->there)
    return ctx_fail(net->c, TESS_UNSUPPORTED,
                    "'%s': graph %s runs on a device, and only models of the "
                    "processor are saved",
                    path, net->g->name);
  if (n > 3 && !strcmp(path + n - 3, ".so")) return TESS_OK;
  return ctx_fail(net->c, TESS_INVALID,
                  "'%s': a model is saved as a shared library, NAME.so", path);
}

tess_status network_save(tess_network *net, const char *path,
                         const char *header) {
  tess_context *c = net->c;
  network_saving w = {.net = net,
                      .path = path,
                      .header = header,
                      .folder = "/tmp/tessera-model-XXXXXX"};
  tess_status s = check_path(net, path);
  if (s != TESS_OK) return s;
  if (!mkdtemp(w.folder))
    return ctx_fail(c, TESS_IO, "%s: %s", w.folder, strerror(errno));
  arena_init(&w.scratch, &c->heap);
  str_init(&w.text, &c->heap);
  ctx_begin_work(c);
  s = ctx_run(c, save_in_folder, &w);
  ctx_end_work(c);
  remove_folder(&w);
  drop_program(&w);
  str_free(&w.text);
  vec_free(&c->heap, &w.weight);
  vec_free(&c->heap, &w.object);
  arena_free(&w.scratch);
  return s;
}
