/* SPDX-License-Identifier: Apache-2.0
 * Maps an ONNX file, and files beside it, into memory. */
#include "graph/onnx/mapping.h"
#include "base/file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static tess_status new_mapping(tess_context *c, const char *name, size_t n,
                               int fd, onnx_mapping **out) {
  size_t length = strlen(name) + 1;
  int flags = MAP_PRIVATE | (fd < 0 ? MAP_ANONYMOUS : 0);
  void *at = n ? mmap(NULL, n, PROT_READ | PROT_WRITE, flags, fd, 0) : NULL;
  if (at == MAP_FAILED)
    return ctx_fail(c, TESS_IO, "cannot map %zu bytes: %m", n);
  onnx_mapping *m = mem_try_resize(&c->heap, NULL, 0, sizeof *m + length);
  if (!m) {
    if (n) munmap(at, n);
    return ctx_ran_out(c, mem_refusal(&c->heap), "reading an ONNX file");
  }
  *m = (onnx_mapping){
      .c = c, .refs = 1, .data = at, .n = n, .name = (char *)(m + 1)};
  memcpy(m->name, name, length);
  *out = m;
  return TESS_OK;
}

void onnx_release(onnx_mapping *m) {
  if (!m || --m->refs) return;
  if (m->n) munmap(m->data, m->n);
  mem_free(&m->c->heap, m, sizeof *m + strlen(m->name) + 1);
}

tess_status onnx_map(tess_context *c, const char *path, const char *name,
                     onnx_mapping **out) {
  file_reader f;
  tess_status s = file_open(&f, path, &c->err);
  if (s) return s;
  s = new_mapping(c, name, (size_t)f.size, f.fd, out);
  file_close(&f);
  return s;
}

tess_status onnx_map_bytes(tess_context *c, const void *bytes, size_t n,
                           onnx_mapping **out) {
  tess_status s = new_mapping(c, "", n, -1, out);
  if (!s && n) memcpy((*out)->data, bytes, n);
  return s;
}

/* ---- beside the model --------------------------------------------------- */

/* Whether a name stays in its folder, as far as it can be read off. */
static bool stays_inside(const char *name) {
  if (!*name || *name == '/') return false;
  for (const char *at = name; at; at = strchr(at, '/'), at += at != NULL)
    if (!strncmp(at, "..", 2) && (at[2] == '/' || !at[2])) return false;
  return true;
}

/* The folder that a path is in, with the slash; "" for the working one. */
static void folder_of(const char *path, char *folder, size_t room) {
  const char *slash = strrchr(path, '/');
  snprintf(folder, room, "%.*s", slash ? (int)(slash - path + 1) : 0, path);
}

/* Whether `path`, without links, is in the folder of `other`, both resolved. */
static bool is_inside(const char *path, const char *other) {
  char folder[PATH_MAX];
  folder_of(other, folder, sizeof folder);
  return !strncmp(path, folder, strlen(folder));
}

static bool may_be_read(const char *path, const char *model,
                        const char *folder) {
  char real[PATH_MAX], real_model[PATH_MAX], real_folder[PATH_MAX + 2];
  if (!realpath(path, real)) return true; /* opening it says why */
  if (!realpath(model, real_model) ||
      !realpath(*folder ? folder : ".", real_folder))
    return false;
  strcat(real_folder, "/");
  return is_inside(real, real_model) || is_inside(real, real_folder);
}

tess_status onnx_map_beside(tess_context *c, const char *path, const char *name,
                            onnx_mapping **out) {
  char folder[PATH_MAX], whole[PATH_MAX];
  folder_of(path, folder, sizeof folder);
  int n = snprintf(whole, sizeof whole, "%s%s", folder, name);
  if (!stays_inside(name) || n < 0 || (size_t)n >= sizeof whole ||
      !may_be_read(whole, path, folder))
    return ctx_fail(c, TESS_INVALID,
                    "its data is in '%s', which is not in the model's folder",
                    name);
  return onnx_map(c, whole, name, out);
}
