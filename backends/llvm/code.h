/* SPDX-License-Identifier: Apache-2.0
 * What whoever loads the code that this backend compiles must know of it;
 * without LLVM, so that programs that only run code (backends/elf/) see it,
 * too. */
#ifndef BACKENDS_LLVM_CODE_H
#define BACKENDS_LLVM_CODE_H

#include <stddef.h>

#define EMIT_KERNEL "tess_kernel"     /* the one name that code exports */
/* In code that uses the tiles of AMX, so that who loads it asks for them. */
#define EMIT_USES_TILES "tess_uses_tiles"

/* What a kernel asks of its runtime, in code that asks for any: two 64-bit
 * numbers, as backend_frame has them. */
#define EMIT_FRAME "tess_frame"

/* A function that code generation itself calls: memory functions, and on
 * processors without the instructions, conversions and roundings. */
typedef struct llvm_called {
  const char *name;
  void (*fn)(void);
} llvm_called;
enum { LLVM_NCALLED = 13 };
extern const llvm_called llvm_called_functions[LLVM_NCALLED];

/* Linux gives the tiles of AMX to a process that asks for them. */
void llvm_ask_for_tiles(const char *code, size_t n);

#endif
