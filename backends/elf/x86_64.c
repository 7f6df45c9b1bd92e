/* SPDX-License-Identifier: Apache-2.0
 * Relocations of x86-64 that position-independent code has. */
#include "backends/elf/elf.h"
#include <elf.h>

static size_t width_x86_64(uint32_t type) {
  switch (type) {
  case R_X86_64_64:
  case R_X86_64_PC64: return 8;
  case R_X86_64_PC32:
  case R_X86_64_PLT32:
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX: return 4;
  default: return 0;
  }
}

static elf_fixed fix_x86_64(unsigned char *at, const elf_fixup *f) {
  uint64_t a = (uint64_t)f->addend, to = f->near;
  switch (f->type) {
  case R_X86_64_64: elf_put64(at, f->symbol + a); return ELF_FIXED;
  case R_X86_64_PC64: elf_put64(at, f->symbol + a - f->place); return ELF_FIXED;
  case R_X86_64_GOTPCREL:
  case R_X86_64_GOTPCRELX:
  case R_X86_64_REX_GOTPCRELX: to = f->got; break;
  default: break;
  }
  int64_t distance = (int64_t)(to + a - f->place);
  if (distance != (int32_t)distance) return ELF_FAR;
  elf_put32(at, (uint32_t)distance);
  return ELF_FIXED;
}

const elf_processor elf_x86_64 = {
    .name = "x86-64",
    .machine = EM_X86_64,
    /* jmp *0(%rip), which is 6 bytes; the address is 8 behind its beginning */
    .stub = {0xff, 0x25, 2, 0, 0, 0, 0x0f, 0x0b},
    .width = width_x86_64,
    .fix = fix_x86_64,
};
