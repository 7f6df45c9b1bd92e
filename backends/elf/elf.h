/* SPDX-License-Identifier: Apache-2.0
 * Loads object code without LLVM: a linker of ELF's relocatable objects, for
 * programs on devices that only run what others compiled. */
#ifndef BACKENDS_ELF_ELF_H
#define BACKENDS_ELF_ELF_H

#include "backends/backend.h"

/* The kernels of the backend "llvm", which it loads and launches; it compiles
 * nothing. */
extern const backend elf_backend;

/* An object in memory: code, constants and data, each on pages of its own. */
typedef struct elf_image {
  void *map;
  size_t bytes;
  tess_kernel_fn entry;
} elf_image;

/* BUILD_ERROR: it is no object of this processor, refers to something that is
 * not there, or is malformed; NOMEM.  elf_unload it in any case. */
tess_status elf_load(const void *code, size_t n, elf_image *out, err_state *e);
void elf_unload(elf_image *x);

/* ---- processors --------------------------------------------------------- */

/* What a relocation's value is made of. */
typedef struct elf_fixup {
  uint32_t type;
  uint64_t symbol; /* the symbol's address */
  uint64_t near;   /* the same, but of a stub that jumps there if it is not in
                    * the object, and so may be far */
  uint64_t got;    /* of the word that holds `symbol` */
  int64_t addend;
  uint64_t place;  /* what is changed will be at this address */
} elf_fixup;

/* ODD: an instruction that counts in its own units cannot say the address. */
typedef enum elf_fixed { ELF_FIXED, ELF_FAR, ELF_ODD } elf_fixed;

/* A stub, which ends with the address that it jumps to. */
enum { ELF_STUB = 16 };

typedef struct elf_processor {
  const char *name;
  uint16_t machine; /* EM_* */
  unsigned char stub[ELF_STUB - 8];
  /* How many bytes a relocation of the type changes; 0: it is not known. */
  size_t (*width)(uint32_t type);
  elf_fixed (*fix)(unsigned char *at, const elf_fixup *f);
} elf_processor;

extern const elf_processor elf_x86_64, elf_aarch64;

static inline uint32_t elf_get32(const unsigned char *at) {
  return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
         (uint32_t)at[3] << 24;
}
static inline void elf_put32(unsigned char *at, uint32_t v) {
  for (int i = 0; i < 4; i++) at[i] = (unsigned char)(v >> 8 * i);
}
static inline void elf_put64(unsigned char *at, uint64_t v) {
  for (int i = 0; i < 8; i++) at[i] = (unsigned char)(v >> 8 * i);
}

#endif
