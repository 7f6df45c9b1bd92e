/* SPDX-License-Identifier: Apache-2.0
 * Whole files: reading with a limit, writing that never leaves half a
 * file. */
#ifndef BASE_FILE_H
#define BASE_FILE_H

#include "base/error.h"
#include "base/str.h"

/* Appends the file's bytes to `out`.  NOT_FOUND, IO, NOMEM, or LIMIT when
 * the file has more than `limit` bytes; `out` is then as it was. */
tess_status file_read(const char *path, size_t limit, strbuf *out,
                      err_state *err);

/* Makes the file's content exactly `data`: written beside it, synced and
 * renamed over it, so that readers and a crash see the old file or the new.
 * What is not a regular file (a pipe, a terminal) is written to directly.
 * IO, and the old file stays, when anything fails. */
tess_status file_write(const char *path, const void *data, size_t n,
                       err_state *err);

#endif
