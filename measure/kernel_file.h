/* SPDX-License-Identifier: Apache-2.0
 * Kernels as files that Tessera loads again (tess_kernel_load). */
#ifndef MEASURE_KERNEL_FILE_H
#define MEASURE_KERNEL_FILE_H

#include "measure/kernel.h"

/* Writes it; b, body and file are the caller's to initialise (b to zeros) and
 * to free.  Errors of kernel_build and file_write. */
tess_status kernel_file_write(tess_kernel *k, const char *path,
                              measure_build *b, strbuf *body, strbuf *file);
/* tess_kernel_save to a path (save.c). */
tess_status kernel_save(tess_kernel *k, const char *path, const char *header);
/* tess_kernel_load of a path. */
tess_status kernel_file_read(tess_context *c, const char *path,
                             tess_kernel **out);

#endif
