/* SPDX-License-Identifier: Apache-2.0
 * Compilation targets: the text "llvm -mcpu=znver3 -num-cores=2" or
 * "cuda -arch=sm_80" and the facts that it stands for.  What the text leaves
 * open is detected on this machine (no -mcpu, -arch or -model) or derived from
 * the named processor or card. */
#ifndef BACKENDS_TARGET_H
#define BACKENDS_TARGET_H

#include "base/error.h"
#include "base/str.h"

enum {
  TARGET_CPU_MAX = 64,
  TARGET_FEATURES_MAX = 2048,
  TARGET_ATTR_MAX = 512,
  TARGET_MACHINE_MAX = 1024
};

typedef struct target {
  char kind[16];                     /* name of a backend: "llvm" */
  char triple[64], cpu[TARGET_CPU_MAX];
  char attr[TARGET_ATTR_MAX];        /* features the text gave: "+avx2,-fma" */
  char features[TARGET_FEATURES_MAX];/* those of this machine's processor,
                                      * followed by the given ones */
  char contract[8];                  /* "off": no fused multiply-add */
  int64_t num_cores;
  int64_t vector_bytes;              /* widest vector register */
  int64_t l1, l2, l3;                /* bytes of data cache; 0: not known */
  /* Limits of devices with threads; 0: not known, or no such device. */
  char model[32];                    /* a card by name: "a100" */
  char machine[TARGET_MACHINE_MAX];  /* an accelerator: dae/machine.h */
  char tensor_cores[8];              /* "wmma" or "mma": the instructions */
  int64_t max_threads;               /* of a block */
  int64_t shared_bytes;              /* of a block, without asking for more */
  int64_t shared_optin_bytes;        /* of a block, asked for at launch */
  int64_t registers;                 /* of 32 bits, of a block */
  int64_t max_registers;             /* of a thread; 0: the compiler's choice */
  int64_t warp_size;                 /* threads in lockstep */
  int64_t multiprocessors;
  int64_t device;                    /* of those here of the kind, from 0 */
  uint32_t given;                    /* bit i: the text gave option i */
  bool is_host;                      /* the processor is this machine's */
  bool implies;                      /* it has features that are not listed */
} target;

/* Parses and completes `text`.  PARSE: malformed; NOT_FOUND: no such backend or
 * option; INVALID: a value out of range, or an unknown processor or feature. */
tess_status target_parse(target *t, const char *text, err_state *e);
/* The completed text: parsing it again gives the same target, and records
 * made for equal texts are comparable. */
void target_print(const target *t, strbuf *out);
/* "num-cores", "vector-bytes", "l1", "l2", "l3"; of devices also
 * "max-threads-per-block", "shared-memory-per-block",
 * "max-shared-memory-per-block", "registers-per-block", "max-registers",
 * "thread-warp-size", "multiprocessors"; -1: no such field. */
int64_t target_int(const target *t, const char *field);
/* Does the processor have the feature ("avx512vnni")?  What -mcpu and -mattr
 * imply counts, but for features that only system code uses ("clwb"), which
 * are known of this machine's processor only. */
bool target_has(const target *t, const char *feature);
/* Whether get and has are asked for what there is: the name of a number or a
 * feature that targets have, of any kind.  NOT_FOUND, with the name that is
 * nearly this one; INVALID for an option that is a text. */
tess_status target_check_field(const char *field, err_state *e);
tess_status target_check_feature(const target *t, const char *feature,
                                 err_state *e);
/* Is it known which lane of a warp has which element of an accumulator? */
bool target_opens_fragments(const target *t);

#endif
