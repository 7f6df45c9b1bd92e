/* SPDX-License-Identifier: Apache-2.0
 * The public objects of this layer, for the api.c of the layers above.  Traces
 * are immutable once returned, but for the program they are bound to, and
 * reference counted. */
#ifndef VM_OBJECT_H
#define VM_OBJECT_H

#include "ir/object.h"
#include "vm/vm.h"

struct tess_trace {
  tess_context *c;
  uint32_t refs;
  vm_trace t;
  tess_program *program;     /* NULL: not bound */
  arena view;                /* results of the last query */
};

struct tess_schedule {
  tess_context *c;
  vm_sched s;
  tess_program *program;     /* the initial program */
  tess_target *target;       /* held; NULL: none */
  strbuf name;               /* result of the last query */
  char place[256];           /* file of the next instructions */
};

/* A new trace that is a copy of t, bound to `program` (held; may be NULL);
 * unwinds. */
tess_trace *trace_new(tess_context *c, const vm_trace *t,
                      tess_program *program);
tess_trace *trace_hold(tess_trace *t);   /* tess_trace_free drops */

#endif
