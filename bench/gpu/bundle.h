/* SPDX-License-Identifier: Apache-2.0
 * Programs compiled for a CUDA device that is elsewhere. */
#ifndef BENCH_GPU_BUNDLE_H
#define BENCH_GPU_BUNDLE_H

/* Candidates of products for the target `text` into the new folder `to`: their
 * PTX, what is launched, and the program that launches it, which needs libc and
 * libcuda only; `sh to/run.sh` compiles and runs that.  0, or an exit status.
 */
int gpu_bundle(const char *to, const char *text, unsigned count);

/* The programs in the folder `to` likewise, as PTX and what is launched. */
int gpu_bundle_folder(const char *to, const char *text);

#endif
