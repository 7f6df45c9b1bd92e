/* SPDX-License-Identifier: Apache-2.0
 * The host side of device backends: a lowered program is partitioned into
 * kernels and a host program, which allocates workspace and launches them.
 *
 * The host program is the code around the kernels: serial loops, conditionals,
 * lets and allocations, over the function's sizes.  Statements that are bound
 * to no threads are grouped into kernels of a single thread, so that whatever
 * lowering gives runs, if slowly.
 *
 * As bytes (device_write) a header of 64-bit words in the machine's order, the
 * contents of constants, and whatever the backend appends: its kernels. */
#ifndef BACKENDS_DEVICE_DEVICE_H
#define BACKENDS_DEVICE_DEVICE_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"
#include "ir/ir.h"

/* ---- partitioning, when a program is compiled (split.c) ------------- */

typedef struct device_kernel {
  ir_stmt first, last;       /* siblings: its code, with its thread loops */
  bool is_single;            /* bound to no threads: one thread runs it */
  int64_t grid[3], block[3]; /* blocks, and threads of a block: .x, .y, .z;
                              * 0: as many blocks as `open` says */
  ir_expr open[3];           /* over the host program's variables */
  uint32_t nbuf, nvar;       /* its arguments */
  ir_buf *buf;               /* parameters, constants, workspace */
  bool *written;             /* by number in buf: it stores to it */
  ir_var *var;               /* integers: sizes, and variables of the host
                              * program around it */
} device_kernel;

typedef struct device_split {
  const ir_program *p;
  arena *scratch;
  VEC(device_kernel) kernel;
  uint8_t *is_workspace;     /* by ir_buf: the host program allocates it */
  uint32_t *slot, *place;    /* of buffers, of variables, plus 1; 0: none */
  uint32_t nslot, nplace;
  VEC(int64_t) code;         /* the host program: see host.c */
  uint64_t shared;           /* most bytes of shared memory of a kernel */
} device_split;

/* Partitions the entry function.  UNSUPPORTED names what the host program
 * would have to do and cannot: read data, allocate by it.  Unwinds; to be
 * freed in any case. */
tess_status device_split_program(device_split *d, const ir_program *p,
                                 arena *scratch, err_state *e);
void device_split_free(device_split *d);
/* Appends header and constants; the backend's part follows. */
void device_write(const device_split *d, strbuf *out);

/* The thread loop's axis as a number from 0 in its group (.x, .y, .z). */
/* ---- running (host.c, call.c) --------------------------------------- */

typedef void *device_memory; /* the driver's own */

typedef struct device_launch {
  uint32_t kernel; /* its number */
  const int64_t *grid, *block;
  uint32_t nbuf, nvar;
  const device_memory *buf;
  const int64_t *var;
} device_launch;

/* Of a grid along any axis, which lowering relies on. */
#define DEVICE_MOST_BLOCKS INT64_C(0x7fffffff)

/* What a device's driver does; results are 0 or a status.  Launches are
 * executed in the order of the calls, and copies wait for all of them. */
typedef struct device_driver {
  int64_t most_blocks; /* along .y and .z; 0: DEVICE_MOST_BLOCKS, as along .x */
  int32_t (*alloc)(void *ud, uint64_t bytes, device_memory *out);
  void (*release)(void *ud, device_memory m);
  int32_t (*to_device)(void *ud, device_memory to, const void *from,
                       uint64_t bytes);
  int32_t (*to_host)(void *ud, void *to, device_memory from, uint64_t bytes);
  int32_t (*launch)(void *ud, const device_launch *l);
  /* Around the launches of one run of a program.  The end waits for them;
   * *seconds: from the start of the first to the end of the last, by the
   * device's clock. */
  int32_t (*begin)(void *ud);
  int32_t (*end)(void *ud, double *seconds);
} device_driver;

/* A program as loaded: the header, and its memory on the device. */
typedef struct device_program {
  mem_heap *heap;
  const device_driver *driver;
  void *ud;                  /* the driver's */
  VEC(int64_t) word;         /* the header */
  uint32_t nparam, nconst, nkernel, nslot, nplace, nsizes;
  uint32_t params, consts, kernels, code, code_end; /* in word */
  const void *payload;       /* the backend's part of the bytes given */
  size_t npayload;
  device_memory *slot;       /* by buffer; parameters during a call only */
  uint64_t *bytes;           /* of each */
  int64_t *value;            /* of each variable */
  char why[128];             /* what the last run failed for, where it is known
                              * better than by its status; "" */
} device_program;

/* Parses what device_write wrote (copying the header) and copies constants to
 * the device.  PARSE: it is damaged.  Freed in any case. */
tess_status device_load(device_program *d, mem_heap *heap, const void *code,
                        size_t n, const device_driver *driver, void *ud,
                        err_state *e);
/* Releases its memory on the device. */
void device_unload(device_program *d);
/* Runs the host program once; the parameters are in d->slot (host.c). */
int32_t device_run_host(device_program *d);
/* The parameters' bytes with these values of the function's sizes, which it
 * keeps (host.c). */
int32_t device_measure_params(device_program *d, const int64_t *sizes,
                              uint64_t *bytes);
/* Memory of at least so many bytes for a buffer, kept until device_unload:
 * what it has, if that suffices (host.c). */
int32_t device_provide(device_program *d, uint32_t slot, uint64_t bytes);
enum { DEVICE_MOST_ARGS = 512 }; /* of a function, or a kernel */
/* Copies the arguments to the device, runs the program `runs` times and copies
 * what it writes back; where resident[i] is, that is the memory of parameter i,
 * and nothing is copied (resident NULL: none is).  args NULL: it runs on what
 * the call before has left on the device, and nothing is copied; INVALID: there
 * was none.  *seconds: of the runs alone.  0 or a status. */
int32_t device_call(device_program *d, void **args, void *const *resident,
                    const int64_t *sizes, uint64_t runs, double *seconds);

#endif
