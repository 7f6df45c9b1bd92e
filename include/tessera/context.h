/* SPDX-License-Identifier: Apache-2.0
 * Contexts, errors and logs.  Included by tessera.h, whose first page holds
 * for this part, too. */
#ifndef TESSERA_CONTEXT_H
#define TESSERA_CONTEXT_H

#include <tessera/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { TESS_LOG_ERROR, TESS_LOG_WARN, TESS_LOG_INFO, TESS_LOG_DEBUG };

typedef struct tess_options {
  uint32_t struct_size;         /* sizeof(tess_options) */
  const tess_allocator *allocator;  /* NULL: malloc and free */
  size_t memory_cap;            /* bytes of this context; 0: none.  What
                                 * would go over it is TESS_LIMIT */
  /* Receives diagnostics that are not errors, one line each, without the
   * newline; must not use the context.  NULL: silent. */
  void (*log)(void *ud, int level, const char *text);
  void *log_ud;
  int32_t in_process;           /* compile and run without worker processes */
  /* The executable tessera-worker.  NULL: what the environment variable
   * TESSERA_WORKER names, else ../libexec from the shared library, or from
   * the program that holds the static one, else the configured libexec.  A
   * worker that is missing is found when the first one is wanted: TESS_INFRA,
   * and the message names the paths that were tried. */
  const char *worker_path;
} tess_options;

/* NULL options: the defaults.  Fails with TESS_NOMEM, with TESS_LIMIT when
 * memory_cap has no room for a context, or with TESS_INVALID when struct_size
 * is no size of a tess_options or the allocator has no function (and *out
 * NULL). */
TESS_API tess_status tess_context_new(const tess_options *o,
                                      TESS_GIVE tess_context **out);
/* Everything that hangs from it must have been freed before. */
TESS_API void tess_context_free(TESS_TAKE tess_context *c);

typedef struct tess_error_info {
  uint32_t struct_size;         /* of this library */
  tess_status code;
  const char *message;          /* one line */
  const char *place;            /* "" when there is none */
  const char *primitive;        /* "" unless a schedule step failed */
  const char *reason;           /* "NOT_ONLY_CHILD", "" */
  uint64_t serial;              /* counts the failures of this context */
  const char *detail;           /* several lines: the program with the place
                                 * marked; made when read, "" when none */
} tess_error_info;
/* The last failure in this context; valid until its next call. */
TESS_API const tess_error_info *tess_error(tess_context *c);
/* In words ("out of memory") and by name ("NOMEM"); static. */
TESS_API const char *tess_status_text(tess_status s);
TESS_API const char *tess_status_name(tess_status s);
/* Replaces what the file holds by n bytes, at once, as all that the engine
 * writes: they are written beside it, and renamed over it when they are
 * complete.  INVALID for a database, whose records would be lost; IO. */
TESS_API tess_status tess_file_write(tess_context *c, const char *path,
                                     const void *data, size_t n);
/* Whether two paths lead to one file that is there: 1 or 0. */
TESS_API int tess_file_same(const char *a, const char *b);
/* "0.1.0"; and what was built in, with versions; static. */
TESS_API const char *tess_version(void);
TESS_API const char *tess_build_info(void);  /* LLVM, jansson, SQLite, ... */
/* The same and more, one by one, from 0: "llvm" and "19.1.7", "checked" and
 * "no", "libdir" and its path; NULL past the last; static. */
TESS_API const char *tess_build_option(uint32_t i, const char **value);
/* "float32" and so on to a dtype and back; false (0) when unknown. */
TESS_API int tess_dtype_parse(const char *text, tess_dtype *out);
TESS_API void tess_dtype_text(tess_dtype t, char out[32]);
/* Whether v is a value of t: within its range, for integers without a
 * fraction; a float is rounded, but what is finite does not become infinite.
 * (Of an integer v, one of uint64 is its 64 bits.) */
TESS_API int tess_dtype_holds(tess_dtype t, double v);
TESS_API int tess_dtype_holds_int(tess_dtype t, int64_t v);

/* Text handed to the caller; free with tess_text_free. */
TESS_API void tess_text_free(tess_context *c, TESS_TAKE char *text);

#ifdef __cplusplus
}
#endif

#endif
