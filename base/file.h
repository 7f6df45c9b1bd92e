/* SPDX-License-Identifier: Apache-2.0
 * File input and output: reading whole files up to a limit, or in pieces;
 * atomic replacement on writing. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/error.h"
#include "base/str.h"

#include <limits.h>

/* Appends the file's bytes to `out`.  NOT_FOUND, IO, NOMEM, or LIMIT when
 * the file has more than `limit` bytes; `out` is then as it was. */
tess_status file_read(const char *path, size_t limit, strbuf *out,
                      err_state *err);

/* A regular file read sequentially, in pieces. */
typedef struct file_reader {
  const char *path;
  int fd;
  uint64_t size;
} file_reader;

/* NOT_FOUND, IO; does not block (opening a FIFO would). */
tess_status file_open(file_reader *f, const char *path, err_state *err);
/* Up to n bytes; *got is less only at the end of the file.  IO. */
tess_status file_get(const file_reader *f, void *to, size_t n, size_t *got,
                     err_state *err);
void file_close(file_reader *f);

/* A file that is being written: to a temporary file in the same directory,
 * which is synced and renamed over it at the end, so that readers and a crash
 * see the old content or the new.  What is not a regular file (a pipe, a
 * terminal) is written to directly. */
typedef struct file_writer {
  const char *path;
  int fd;
  char real[PATH_MAX], temp[PATH_MAX]; /* temp "": directly */
} file_writer;

/* IO; INVALID where the file is a database, which nothing that is written here
 * is to replace.  file_commit follows, whatever this and the others return. */
tess_status file_create(file_writer *w, const char *path, err_state *err);
tess_status file_append(file_writer *w, const void *data, size_t n,
                     err_state *err);
/* Where it is written, for other programs that do so. */
const char *file_place(const file_writer *w);
/* s: how the writing went; other than OK: the old file stays.  s, or IO. */
tess_status file_commit(file_writer *w, tess_status s, err_state *err);

/* All of these for a file whose content is known. */
tess_status file_write(const char *path, const void *data, size_t n,
                       err_state *err);
/* Whether two paths lead to one file that is there. */
bool file_is_same(const char *a, const char *b);

#endif
