/* SPDX-License-Identifier: Apache-2.0
 * Kernels as files to deploy: an object by LLVM, a shared library by the
 * system's linker driver, and the C header of either; or, for any target, a
 * file that Tessera loads again (kernel_file.c). */
#include "base/file.h"
#include "ir/query.h"
#include "measure/context.h"
#include "measure/kernel.h"
#include "measure/kernel_file.h"
#include "measure/link.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct saving {
  tess_kernel *k;
  const char *path, *header; /* header NULL: beside path */
  bool shared, kernel;       /* NAME.so, NAME.kernel; else NAME.o */
  measure_build b;
  strbuf text, name, other;
} saving;

/* ---- the header --------------------------------------------------------- */

static const char *c_type_of(tess_dtype t) {
  static const char *const ints[] = {"int8_t", "int16_t", "int32_t", "int64_t"};
  static const char *const uints[] = {"uint8_t", "uint16_t", "uint32_t",
                                      "uint64_t"};
  int log = t.bits == 8 ? 0 : t.bits == 16 ? 1 : t.bits == 32 ? 2 : 3;
  if (t.code == TESS_DTYPE_INT) return ints[log];
  if (t.code == TESS_DTYPE_FLOAT && t.bits == 32) return "float";
  if (t.code == TESS_DTYPE_FLOAT && t.bits == 64) return "double";
  return uints[log]; /* bool; the bits of float16 and bfloat16 */
}

/* What an argument is: an output, an input, or an input that is changed. */
static const char *direction(const ir_program *p, ir_buf b) {
  if (p->buf.v[b].role == IR_ROLE_OUTPUT) return "output";
  return ir_is_stored(p, b) ? "inout" : "input";
}

/* Of the i-th parameter or, after those, size. */
static void put_described(const ir_program *p, uint32_t i, strbuf *out) {
  const ir_func *f = ir_entry(p);
  if (i < f->params.n)
    str_puts(out, ir_text(p, p->buf.v[p->arg.v[f->params.at + i]].name));
  else
    ir_var_name(p, p->arg.v[f->sizes.at + i - f->params.n], out);
}

static bool is_numbered(const char *name) {
  return !strncmp(name, "arg", 3) && name[3] >= '0' && name[3] <= '9';
}

/* Is that name one in C, and no other parameter's? */
static bool has_own_name(saving *w, const ir_program *p, uint32_t i,
                         const char *name) {
  uint32_t n = ir_entry(p)->params.n + ir_entry(p)->sizes.n;
  bool own = backend_is_c_name(name) && !is_numbered(name);
  for (uint32_t k = 0; k < n && own; k++) {
    str_clear(&w->other);
    put_described(p, k, &w->other);
    if (w->other.bad) str_spoil(&w->text);
    own = k == i || strcmp(name, str_or(&w->other, "")) != 0;
  }
  return own;
}

/* As it was described, or with a number. */
static void put_name(saving *w, const ir_program *p, uint32_t i) {
  str_clear(&w->name);
  put_described(p, i, &w->name);
  const char *name = str_get(&w->name);
  if (!name || has_own_name(w, p, i, name))
    str_puts(&w->text, name);
  else
    str_printf(&w->text, "arg%u", i);
}

static void put_shapes(saving *w, const ir_program *p, const ir_func *f) {
  strbuf *out = &w->text;
  for (uint32_t i = 0; i < f->params.n; i++) {
    ir_buf b = p->arg.v[f->params.at + i];
    char type[32];
    tess_dtype_text(p->buf.v[b].dtype, type);
    str_puts(out, " *   ");
    put_name(w, p, i);
    str_printf(out, ": %s, %s [", direction(p, b), type);
    for (uint32_t d = 0; d < ir_ndim(p, b); d++) {
      int64_t n;
      if (d) str_puts(out, ", ");
      if (ir_const_int(p, ir_dim(p, b, d), &n))
        str_printf(out, "%lld", (long long)n);
      else
        ir_print_expr(p, ir_dim(p, b, d), out);
    }
    str_puts(out, "]\n");
  }
}

static void put_params(saving *w, const ir_program *p, const ir_func *f) {
  strbuf *out = &w->text;
  const char *before = "";
  for (uint32_t i = 0; i < f->params.n; i++, before = ", ") {
    ir_buf b = p->arg.v[f->params.at + i];
    bool is_const = p->buf.v[b].role != IR_ROLE_OUTPUT && !ir_is_stored(p, b);
    str_printf(out, "%s%s%s *", before, is_const ? "const " : "",
               c_type_of(p->buf.v[b].dtype));
    put_name(w, p, i);
  }
  for (uint32_t i = 0; i < f->sizes.n; i++, before = ", ") {
    str_printf(out, "%sint64_t ", before);
    put_name(w, p, f->params.n + i);
  }
  if (!f->params.n && !f->sizes.n) str_puts(out, "void");
}

const char kernel_runtime_type[] =
    "#ifndef TESS_RUNTIME\n#define TESS_RUNTIME\n"
    "/* What kernels ask of their host: parallel_for calls fn(closure, begin, "
    "end)\n * over pieces of 0 .. n-1; NULL: the pool's. */\n"
    "typedef struct tess_runtime {\n"
    "  uint32_t struct_size;\n  void *ud;\n"
    "  int32_t (*parallel_for)(void *ud, int64_t n,\n"
    "      int32_t (*fn)(void *closure, int64_t begin, int64_t end),\n"
    "      void *closure);\n"
    "  void *(*alloc)(void *ud, uint64_t bytes, uint64_t align);\n"
    "  void (*free)(void *ud, void *ptr);\n"
    "} tess_runtime;\n#endif\n\n";

static void put_header(saving *w) {
  const ir_program *p = &w->k->program->p;
  const ir_func *f = ir_entry(p);
  strbuf *out = &w->text;
  char name[BACKEND_SYMBOL];
  backend_symbol(ir_text(p, f->name), name);
  str_puts(out, "/*");
  size_t comment = out->n;
  str_printf(out,
             " %s, made by Tessera %s for\n * %s.\n *\n"
             " * Tensors are row-major and at multiples of their elements' "
             "size; what is\n * written must not overlap anything else.  "
             "Functions\n * return 0, or another number where memory ran out "
             "or a size is less than 1.\n *\n",
             ir_text(p, f->name), tess_version(), w->k->target_text);
  put_shapes(w, p, f);
  str_close_comment(out, comment);
  str_printf(
      out,
      " */\n#ifndef TESS_SAVED_%s\n#define TESS_SAVED_%s\n\n"
      "#include <stdint.h>\n\n%s"
      "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
      "/* On a runtime of its own, a pool of OMP_NUM_THREADS threads, or "
      "as many as\n * there are cores. */\nint32_t %s(",
      name, name, kernel_runtime_type, name);
  put_params(w, p, f);
  str_printf(
      out,
      ");\n\n/* The same on a runtime of the host's; NULL: its own.  The "
      "parameters, and the\n * sizes that are known only now, in the "
      "order above. */\n"
      "int32_t %s_kernel(void **args, const int64_t *sizes,\n"
      "    const tess_runtime *rt);\n\n"
      "#ifdef __cplusplus\n}\n#endif\n#endif\n",
      name);
}

static tess_status write_header(saving *w) {
  tess_context *c = w->k->c;
  put_header(w);
  tess_status s = str_status(&w->text);
  str_clear(&w->name);
  if (w->header)
    str_puts(&w->name, w->header);
  else
    str_printf(&w->name, "%.*s.h", (int)strlen(w->path) - (w->shared ? 3 : 2),
               w->path);
  if (!s) s = str_status(&w->name);
  return s ? s : file_write(str_get(&w->name), w->text.v, w->text.n, &c->err);
}

/* ---- linking ------------------------------------------------------------ */

static tess_status save_shared(saving *w) {
  tess_context *c = w->k->c;
  char object[] = "/tmp/tessera-save-XXXXXX.o";
  const char *list = object;
  int fd = mkstemps(object, 2);
  if (fd < 0) return ctx_fail(c, TESS_IO, "%s: %s", object, strerror(errno));
  close(fd);
  tess_status s = file_write(object, w->b.code.v, w->b.code.n, &c->err);
  if (!s) s = link_shared(c, w->path, 1, &list);
  unlink(object);
  return s;
}

/* ---- saving ------------------------------------------------------------- */

static tess_status do_save(void *ud) {
  saving *w = ud;
  tess_kernel *k = w->k;
  if (w->kernel)
    return kernel_file_write(k, w->path, &w->b, &w->text, &w->other);
  tess_status s =
      kernel_build(k->c, k->program, k->target_text, BACKEND_OBJECT, &w->b);
  if (!s && w->shared) s = save_shared(w);
  if (!s && !w->shared)
    s = file_write(w->path, w->b.code.v, w->b.code.n, &k->c->err);
  return s ? s : write_header(w);
}

static bool ends_with(const char *path, const char *end) {
  size_t n = strlen(path), m = strlen(end);
  return n > m && !strcmp(path + n - m, end);
}

/* Which file is asked for by the path's ending, and can it be made? */
static tess_status choose_file(saving *w) {
  tess_context *c = w->k->c;
  const char *kind = w->k->target.kind;
  w->shared = ends_with(w->path, ".so");
  w->kernel = ends_with(w->path, ".kernel");
  if (!w->shared && !w->kernel && !ends_with(w->path, ".o"))
    return ctx_fail(c, TESS_INVALID,
                    "'%s': a kernel is saved as an object, NAME.o, a shared "
                    "library, NAME.so, or for Tessera to load again, "
                    "NAME.kernel",
                    w->path);
  if (w->kernel && w->header)
    return ctx_fail(c, TESS_INVALID,
                    "'%s': a NAME.kernel, which Tessera loads, has no C header",
                    w->path);
  if (!w->kernel && !(backend_find(kind)->forms & 1u << BACKEND_OBJECT))
    return ctx_fail(c, TESS_UNSUPPORTED,
                    "'%s': the kernel '%s' is for '%s', whose kernels are not "
                    "linked to programs but loaded by the device's driver: "
                    "save it as NAME.kernel, for Tessera to load again",
                    w->path, tess_kernel_name(w->k), kind);
  if (w->shared && c->in_process)
    return ctx_fail(c, TESS_UNSUPPORTED,
                    "'%s' needs the system's C compiler to link it, and with "
                    "the option in_process no process is started: save a .o",
                    w->path);
  return TESS_OK;
}

tess_status kernel_save(tess_kernel *k, const char *path, const char *header) {
  tess_context *c = k->c;
  saving w = {.k = k, .path = path, .header = header};
  tess_status s = choose_file(&w);
  if (s) return s;
  str_init(&w.text, &c->heap);
  str_init(&w.name, &c->heap);
  str_init(&w.other, &c->heap);
  ctx_begin_work(c);
  s = ctx_run(c, do_save, &w);
  ctx_end_work(c);
  measure_build_free(&w.b);
  str_free(&w.text);
  str_free(&w.name);
  str_free(&w.other);
  return s;
}
