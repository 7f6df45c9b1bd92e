/* SPDX-License-Identifier: Apache-2.0
 * What LLVM does not say of its intrinsics for the tiles of AMX: their memory
 * effects, so that loads of tiles are CSEd and sums stay in tile registers
 * through a loop, and the mark of code that uses tiles. */
#include "backends/llvm/emit_tensor.h"

#include <string.h>

#define X86 "llvm.x86."

static bool starts_with(const char *name, const char *prefix) {
  return strncmp(name, prefix, strlen(prefix)) == 0;
}

/* A function of vectors into tiles: LLVM's name has the vector's type only. */
LLVMTypeRef emit_tiles_cast_type(emit *m, const char *name, unsigned n,
                                 LLVMTypeRef *types) {
  if (!starts_with(name, X86 "cast.vector.to.tile.") || n != 1 ||
      LLVMGetTypeKind(types[0]) != LLVMVectorTypeKind)
    return NULL;
  unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
  return LLVMIntrinsicGetType(m->ctx, id, types, 1);
}

/* An attribute `memory`: what may be done to the memory that operands point to;
 * nothing to any other. */
static void set_effects(emit *m, LLVMValueRef call, uint64_t arguments) {
  static const char *const names[] = {"memory", "nounwind", "willreturn"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    unsigned kind = LLVMGetEnumAttributeKindForName(names[i], strlen(names[i]));
    LLVMAddCallSiteAttribute(
        call, LLVMAttributeFunctionIndex,
        LLVMCreateEnumAttribute(m->ctx, kind, i ? 0 : arguments));
  }
}

static void mark_module(emit *m) {
  if (LLVMGetNamedGlobal(m->module, EMIT_USES_TILES)) return;
  LLVMValueRef mark =
      LLVMAddGlobal(m->module, LLVMInt8TypeInContext(m->ctx), EMIT_USES_TILES);
  LLVMSetInitializer(mark, LLVMConstInt(LLVMInt8TypeInContext(m->ctx), 1, 0));
  LLVMSetLinkage(mark, LLVMWeakODRLinkage);
}

void emit_tiles_called(emit *m, const char *name, LLVMValueRef call) {
  enum { NONE = 0, READS = 1, WRITES = 2 }; /* of LLVM's MemoryEffects */
  if (!strstr(name, ".internal")) return;   /* on numbered tile registers */
  if (starts_with(name, X86 "tileload"))
    set_effects(m, call, READS);
  else if (starts_with(name, X86 "tilestore"))
    set_effects(m, call, WRITES);
  else if (starts_with(name, X86 "tdp") || starts_with(name, X86 "tilezero"))
    set_effects(m, call, NONE);
  else
    return;
  mark_module(m);
}
