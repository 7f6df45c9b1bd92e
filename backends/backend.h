/* SPDX-License-Identifier: Apache-2.0
 * The interface of a code generation backend: target completion, compilation
 * of lowered programs, loading and launching of the code.
 *
 * A backend is a folder that defines one `struct backend`, and a row in
 * table.c; nothing else names it.  Code is plain bytes, so that one
 * process may compile and another one run. */
#ifndef BACKENDS_BACKEND_H
#define BACKENDS_BACKEND_H

#include "backends/form.h"
#include "backends/target.h"
#include "base/error.h"
#include "base/nearest.h"
#include "ir/ir.h"
#include <tessera/tessera.h>

typedef struct backend_code backend_code;  /* loaded code; the backend's own */
/* Bytes that a kernel asks of its runtime in one call, at most, but for what
 * depends on sizes: first its own, once, then those of each thread that runs a
 * piece of a parallel loop. */
typedef struct backend_frame { uint64_t own, thread; } backend_frame;
struct device_driver;                      /* backends/device/device.h */

/* How code runs on a device, or in a simulator of one, which copies arguments
 * and has a clock.  Functions that may be NULL say so; all others are there. */
typedef struct backend_device {
  /* Runs it `runs` times on the same arguments, which are copied to the device
   * before and back after, but for those that are there: resident[i] is the
   * memory of argument i (resident or resident[i] NULL: args[i] is copied).
   * args NULL: it runs on those that the call before left, copying nothing.
   * A device's caches hold nothing of the run before, if it can see to that.
   * *seconds: of the runs alone, by the device's clock.  0, or the status. */
  int32_t (*time)(const backend_code *c, void **args, void *const *resident,
                  const int64_t *sizes, uint64_t runs, double *seconds);
  /* What the last run failed for, as a sentence; "" where its status says
   * all. */
  const char *(*why)(const backend_code *c);
  /* Whether what a run leaves in the device's caches stays there for the next
   * one, from now on in the process; false at first.  NULL: it makes no
   * difference. */
  void (*keep_caches)(bool keep);
  /* What is known of the device's clocks at this moment, and of what holds them
   * back, as a sentence; "" where nothing is.  NULL: nothing ever. */
  void (*clocks)(const backend_code *c, char *out, size_t n);
  /* The driver of a device for memory that outlives loaded code, opened once in
   * the process and kept: its alloc, release, to_device and to_host, with *ud.
   * UNSUPPORTED: there is no such device.  NULL: there is no such memory. */
  tess_status (*memory)(uint32_t device, const struct device_driver **out,
                        void **ud, err_state *e);
} backend_device;

/* How code is made and loaded.  Functions that may be NULL say so; all others
 * are there. */
typedef struct backend {
  const char *name;       /* the first word of a target's text */
  uint32_t forms;         /* bit 1 << f: compile can give form f */
  uint32_t passes;        /* of lowering that compile wants; 0: all */
  bool marks_vthreads;    /* lower_options.mark_vthreads */
  /* Loading brings libraries into the process that a host must not share (a
   * driver with an LLVM of its own): only workers load and launch. */
  bool own_process;
  /* The target that computes the outputs which those of kernels are compared
   * with, from the unscheduled program.  NULL: the kernels' own; a device's
   * would run it in one thread. */
  const char *reference;
  /* Completes the facts that the text of a target left open (processor,
   * features, limits), and checks their values: INVALID, UNSUPPORTED. */
  tess_status (*complete)(target *t, err_state *e);
  /* Has the processor of a target that `implies` features this one? */
  bool (*has)(const target *t, const char *feature);
  /* Is there a feature of that name, which targets like `t`, or others, may
   * have?  Where not, tries the names that there are.  NULL: not known. */
  bool (*knows)(const target *t, const char *feature, nearest *near);
  /* Can this machine run what is compiled for `t`?  UNSUPPORTED names the
   * triple or the features, or the device, that are missing here. */
  tess_status (*runs_here)(const target *t, err_state *e);
  /* Appends the entry function of `p`, which must be lowered for `t` (by
   * `passes`), in the given form (one of `forms`) to `out`.  The program is
   * only read.
   * UNSUPPORTED names what the backend cannot do; BUILD_ERROR has the
   * compiler's own message. */
  tess_status (*compile)(ir_program *p, arena *scratch, const target *t,
                         backend_form form, strbuf *out, err_state *e);
  /* Makes code (as compile gave it, for this machine) runnable. */
  tess_status (*load)(mem_heap *heap, const void *code, size_t n,
                      backend_code **out, err_state *e);
  /* NULL: code works on the caller's memory, and has `launch`. */
  const backend_device *device;
  /* Runs loaded code once and waits for its end: 0, or the kernel's status.
   * args, sizes: as those of tess_kernel_fn.  NULL where there is a device. */
  int32_t (*launch)(const backend_code *c, void **args, const int64_t *sizes,
                    const tess_runtime *rt);
  /* Appends a device's limits as options of a target, " -num-cores=2 ...".
   * UNSUPPORTED: there is no such device.  NULL: completing finds them. */
  tess_status (*facts)(uint32_t device, strbuf *out, err_state *e);
  /* The function behind launch, which lives as long as `c`.  NULL where
   * there is none to call without `c`, as for a device's kernels. */
  tess_kernel_fn (*entry)(const backend_code *c);
  /* What it asks of its runtime.  NULL: not known, or nothing. */
  backend_frame (*frame)(const backend_code *c);
  void (*unload)(backend_code *c);
  /* Calls fn(message) before the backend's compiler ends the process on an
   * error; for a worker's main.  NULL: it never ends the process. */
  void (*on_fatal)(void (*fn)(const char *message));
} backend;

/* All of them, and NULL: table.c's, or what a program has instead that does not
 * link that file. */
extern const backend *const backend_table[];

/* NULL: no such backend. */
const backend *backend_find(const char *name);
/* Runs loaded code of `b` once, on the caller's memory, and waits. */
int32_t backend_launch(const backend *b, const backend_code *c, void **args,
                       const int64_t *sizes, const tess_runtime *rt);
/* Runs it `runs` times, or until one fails, as a device's `time` does; what has
 * none is timed from outside, and has no resident arguments. */
int32_t backend_time(const backend *b, const backend_code *c, void **args,
                     void *const *resident, const int64_t *sizes,
                     const tess_runtime *rt, uint64_t runs, double *seconds);
/* Why a run of loaded code gave this status, as a sentence, in `out` or of as
 * long as `c` is loaded. */
enum { BACKEND_WHY = 128 };
const char *backend_why(const backend *b, const backend_code *c,
                        int32_t status, char out[BACKEND_WHY]);
/* Writes the names of all, commas between; gives out. */
const char *backend_names(char *out, size_t n);
/* Installs the handler in every backend whose compiler may end the process. */
void backend_on_fatal(void (*fn)(const char *message));
/* May a host load code of `b` into its own process?  UNSUPPORTED: no, only
 * a worker may. */
tess_status backend_check_host(const backend *b, err_state *e);
/* The source text that is called so; NOT_FOUND lists those that `b` has. */
tess_status backend_find_source(const backend *b, const char *name,
                                backend_form *out, err_state *e);
/* For `compile` of backend `name`: f(ud), which appends to `out`, in a frame of
 * the program's heap; running out of memory is said of the program. */
tess_status backend_generate(ir_program *p, const char *name,
                             tess_status (*f)(void *ud), void *ud,
                             const strbuf *out, err_state *e);
/* The C symbol of an OBJECT's entry: the program's name, or what is left of
 * that in C, after "kernel_" where C, C++ or the C library have another use for
 * it.  NAME takes each parameter and size, NAME_kernel is a tess_kernel_fn
 * whose runtime may be NULL. */
enum { BACKEND_SYMBOL = 256 };
void backend_symbol(const char *name, char *out);
/* May a parameter have that name in C and C++? */
bool backend_is_c_name(const char *name);
/* UNSUPPORTED: compile cannot give this form. */
tess_status backend_check_form(const backend *b, uint32_t form, err_state *e);

#endif
