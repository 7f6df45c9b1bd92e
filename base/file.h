/* SPDX-License-Identifier: Apache-2.0
 * File input and output: reading whole files up to a limit, or in pieces;
 * atomic replacement on writing. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/error.h"
#include "base/str.h"

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

/* Replaces the file's content by `data` atomically: written to a temporary file
 * in the same directory, synced and renamed over it, so that readers and a
 * crash see the old content or the new.  What is not a regular file (a pipe, a
 * terminal) is written to directly.  On failure IO, and the old file stays. */
tess_status file_write(const char *path, const void *data, size_t n,
                       err_state *err);

#endif
