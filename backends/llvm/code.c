/* SPDX-License-Identifier: Apache-2.0
 * What compiled code needs of the process that loads it. */
#include "backends/llvm/code.h"
#include <math.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined __x86_64__
/* libgcc's; no header declares them. */
void __extendhfsf2(void);
void __truncsfhf2(void);
#else /* there are instructions, and no such functions */
#define __extendhfsf2 NULL
#define __truncsfhf2 NULL
#endif

#define SYMBOL(f) \
  { #f, (void (*)(void))(f) }
const llvm_called llvm_called_functions[LLVM_NCALLED] = {
    SYMBOL(memcpy),
    SYMBOL(memmove),
    SYMBOL(memset),
    SYMBOL(fmaf),
    SYMBOL(fma),
    SYMBOL(floorf),
    SYMBOL(floor),
    SYMBOL(ceilf),
    SYMBOL(ceil),
    SYMBOL(roundevenf),
    SYMBOL(roundeven),
    {"__extendhfsf2", __extendhfsf2},
    {"__truncsfhf2", __truncsfhf2},
};

/* Whether the system gave them is not checked: those that give them to all know
 * no such request. */
void llvm_ask_for_tiles(const char *code, size_t n) {
#if defined __linux__ && defined __x86_64__
  enum { REQ_XCOMP_PERM = 0x1023, XTILEDATA = 18 };
  static const char mark[] = EMIT_USES_TILES;
  for (const char *end = code + n; code < end; code++) {
    code = memchr(code, *mark, (size_t)(end - code));
    if (!code || (size_t)(end - code) < sizeof mark) return;
    if (memcmp(code, mark, sizeof mark) == 0) {
      syscall(SYS_arch_prctl, REQ_XCOMP_PERM, XTILEDATA);
      return;
    }
  }
#else
  (void)code, (void)n;
#endif
}
