/* SPDX-License-Identifier: Apache-2.0
 * Public API (include/tessera): contexts, errors and status codes. */
#include "base/context.h"
#include "base/file.h"

#include <build_options.inc>
#include <string.h>

static tess_status copy_worker_path(tess_context *c, const char *path) {
  if (!path) return TESS_OK;
  size_t size = strlen(path) + 1;
  c->worker_path = mem_try_resize(&c->heap, NULL, 0, size);
  if (!c->worker_path) return mem_refusal(&c->heap);
  memcpy(c->worker_path, path, size);
  return TESS_OK;
}

tess_status tess_context_new(const tess_options *options, tess_context **out) {
  tess_options o = {.struct_size = sizeof o};
  *out = NULL;
  if (options && ctx_take(NULL, tess_options, options, &o) != TESS_OK)
    return TESS_INVALID;
  if (o.allocator && !o.allocator->fn) return TESS_INVALID;
  mem_heap heap;
  mem_heap_init(&heap, o.allocator ? *o.allocator : mem_default_allocator,
                o.memory_cap);
  heap.owner = "option memory_cap of the context";
  tess_context *c = mem_try_resize(&heap, NULL, 0, sizeof *c);
  if (!c) return mem_refusal(&heap);
  memset(c, 0, sizeof *c);
  c->heap = heap;
  tess_allocator gated = mem_gate_init(&c->gate, heap.alloc);
  if (o.allocator) c->heap.alloc = gated;
  c->log = o.log;
  c->log_ud = o.log_ud;
  c->in_process = o.in_process != 0;
  str_init(&c->detail, &c->heap);
  thread_flag_clear(&c->stop);
  tess_status s = copy_worker_path(c, o.worker_path);
  if (s == TESS_OK)
    *out = c;
  else
    tess_context_free(c);
  return s;
}

void tess_context_free(tess_context *c) {
  if (!c) return;
  for (int i = CTX_PARTS; i-- > 0;)
    if (c->part[i].object) c->part[i].free(c->part[i].object);
  str_free(&c->detail);
  if (c->worker_path)
    mem_free(&c->heap, c->worker_path, strlen(c->worker_path) + 1);
  mem_heap heap = c->heap;
  heap.alloc = c->gate.host;
  mem_gate_free(&c->gate);
  mem_free(&heap, c, sizeof *c);
}

const tess_error_info *tess_error(tess_context *c) {
  if (c->detail_fn) c->detail_fn(c->detail_ud, &c->detail);
  c->detail_fn = NULL;
  const char *detail = str_get(&c->detail);
  c->info = (tess_error_info){.struct_size = sizeof c->info,
                              .code = c->err.code,
                              .message = c->err.message,
                              .place = c->err.place,
                              .primitive = c->primitive,
                              .reason = c->reason,
                              .serial = c->serial,
                              .detail = detail ? detail : ""};
  return &c->info;
}

tess_status tess_file_write(tess_context *c, const char *path, const void *data,
                            size_t n) {
  if (!path || (!data && n))
    return ctx_fail(c, TESS_INVALID, "a file that is written needs %s",
                    path ? "data" : "a path");
  ctx_clear(c);
  return file_write(path, data, n, &c->err);
}

int tess_file_same(const char *a, const char *b) {
  return a && b && file_is_same(a, b);
}

void tess_stop(tess_context *c) { thread_flag_raise(&c->stop); }

const char *tess_status_text(tess_status s) { return err_status_text(s); }

const char *tess_status_name(tess_status s) { return err_status_name(s); }

#define TEXT_OF(x) #x
#define VERSION(a, b, c) TEXT_OF(a) "." TEXT_OF(b) "." TEXT_OF(c)
const char *tess_version(void) {
  return VERSION(TESS_VERSION_MAJOR, TESS_VERSION_MINOR, TESS_VERSION_PATCH);
}

const char *tess_build_info(void) { return BUILD_INFO; }

const char *tess_build_option(uint32_t i, const char **value) {
  static const char *const options[][2] = {BUILD_OPTIONS};
  bool known = i < sizeof options / sizeof *options;
  *value = known ? options[i][1] : NULL;
  return known ? options[i][0] : NULL;
}
