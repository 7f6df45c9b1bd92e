/* SPDX-License-Identifier: Apache-2.0
 * What the parts of the emulator of devices share. */
#ifndef SUPPORT_GPU_PARTS_H
#define SUPPORT_GPU_PARTS_H

#include "support/gpu.h"
#include <llvm-c/LLJIT.h>
#include <ucontext.h>

typedef enum gpu_state {
  GPU_READY, GPU_AT_WARP, GPU_AT_BLOCK, GPU_DONE
} gpu_state;

/* An intrinsic, by its name without "llvm.nvvm.". */
typedef struct gpu_op {
  char name[96];
  uint32_t site;                /* of what it reads; the next: writes */
  struct gpu_op *next;
} gpu_op;

typedef struct gpu_copy {
  void *to;
  const void *from;
  uint32_t bytes, group;
} gpu_copy;

enum { GPU_COPIES = 512, GPU_SHARED_BLOCKS = 256 };

typedef struct gpu_thread {
  ucontext_t context;
  gpu_state state;
  uint32_t index[3];
  const gpu_op *op;             /* that it waits at */
  void *result, **args;
  uint32_t groups, ncopies;     /* committed; in flight */
  gpu_copy *copy;
} gpu_thread;

/* An access, until the warp's next point of waiting. */
typedef struct gpu_access {
  uint32_t site, times, lane, bytes;
  bool shared;
  uintptr_t at;
} gpu_access;

struct gpu_module {
  LLVMOrcLLJITRef jit;
  gpu_op *ops;
  char *dynamic;                /* shared memory of the launch's size */
  uint32_t nshared, nsites;
  gpu_span shared[GPU_SHARED_BLOCKS]; /* static ones, of all kernels */
  /* Of a run: */
  const gpu_launch *l;
  gpu_counts *counts;
  char *why;
  bool failed;
  uint32_t block[3], nthreads;
  gpu_thread *thread, *current;
  char *stacks;
  ucontext_t scheduler;
  void (*entry)(void **args);
  uint32_t naccesses, room;
  gpu_access *access;
  uint32_t *times;              /* by site and lane */
};

enum { GPU_STACK = 128 << 10, GPU_DYNAMIC = 256 << 10, GPU_POISON = 0xff };

/* The first fault counts. */
void gpu_fault(gpu_module *m, const char *fmt, ...)
  __attribute__((format(printf, 2, 3)));
/* The thread waits; returns when it goes on. */
void gpu_wait(gpu_module *m, gpu_state s);
/* What the collective of these lanes does (gpu_ops.c); false: a fault. */
bool gpu_collective(gpu_module *m, gpu_thread *first, uint32_t lanes);
/* The lanes that it waits for. */
uint32_t gpu_mask(const gpu_thread *t);
/* A call of an intrinsic (gpu_ops.c). */
void gpu_call(const gpu_op *op, void *result, void **args);
/* Checks and counts an access of the current thread (gpu_count.c). */
void gpu_note(const void *at, uint32_t bytes, uint32_t flags, uint32_t site);
/* Keeps it until the warp's next point of waiting; one of a site is an access
 * of the warp together with the other lanes' as many-th of that site. */
void gpu_keep_access(gpu_module *m, const void *at, uint32_t bytes, bool shared,
                     uint32_t site);
bool gpu_check(gpu_module *m, const void *at, size_t bytes, bool shared);
void gpu_flush_accesses(gpu_module *m);
/* How often a shared access of these lanes is repeated. */
uint32_t gpu_conflicts(const gpu_access *v, uint32_t n);
enum { GPU_SHARED = 1, GPU_WRITES = 2 };
/* The one that runs, for calls out of compiled code; one at a time. */
extern _Thread_local gpu_module *gpu_running;

#endif
