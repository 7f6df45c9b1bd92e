/* SPDX-License-Identifier: Apache-2.0
 * Relocations of AArch64 that position-independent code has. */
#include "backends/elf/elf.h"
#include <elf.h>

static size_t width_aarch64(uint32_t type) {
  switch (type) {
  case R_AARCH64_ABS64:
  case R_AARCH64_PREL64: return 8;
  case R_AARCH64_PREL32:
  case R_AARCH64_ADR_PREL_LO21:
  case R_AARCH64_ADR_PREL_PG_HI21:
  case R_AARCH64_ADR_PREL_PG_HI21_NC:
  case R_AARCH64_ADD_ABS_LO12_NC:
  case R_AARCH64_LDST8_ABS_LO12_NC:
  case R_AARCH64_LDST16_ABS_LO12_NC:
  case R_AARCH64_LDST32_ABS_LO12_NC:
  case R_AARCH64_LDST64_ABS_LO12_NC:
  case R_AARCH64_LDST128_ABS_LO12_NC:
  case R_AARCH64_CALL26:
  case R_AARCH64_JUMP26:
  case R_AARCH64_ADR_GOT_PAGE:
  case R_AARCH64_LD64_GOT_LO12_NC: return 4;
  default: return 0;
  }
}

/* `bits` bits of v at bit `at` of an instruction. */
static void put_bits(unsigned char *code, uint64_t v, unsigned at,
                     unsigned bits) {
  uint32_t mask = ((1u << bits) - 1) << at;
  elf_put32(code, (elf_get32(code) & ~mask) | ((uint32_t)(v << at) & mask));
}

/* The 21 bits of ADR and ADRP: the low two at 29, the others at 5. */
static elf_fixed put_adr(unsigned char *code, int64_t v) {
  if (v < -(1 << 20) || v >= 1 << 20) return ELF_FAR;
  put_bits(code, (uint64_t)v, 29, 2);
  put_bits(code, (uint64_t)v >> 2, 5, 19);
  return ELF_FIXED;
}

static elf_fixed put_page(unsigned char *code, uint64_t to, uint64_t from) {
  return put_adr(code, (int64_t)((to & ~0xfffull) - (from & ~0xfffull)) >> 12);
}

/* The low 12 bits of an address, in units of what is loaded. */
static elf_fixed put_low(unsigned char *code, uint64_t v, unsigned shift) {
  if (v & ((1u << shift) - 1)) return ELF_ODD;
  put_bits(code, (v & 0xfff) >> shift, 10, 12);
  return ELF_FIXED;
}

static elf_fixed put_jump(unsigned char *code, int64_t distance) {
  if (distance < -(1 << 27) || distance >= 1 << 27) return ELF_FAR;
  if (distance & 3) return ELF_ODD;
  put_bits(code, (uint64_t)distance >> 2, 0, 26);
  return ELF_FIXED;
}

static elf_fixed put_distance(unsigned char *at, int64_t distance) {
  if (distance != (int32_t)distance) return ELF_FAR;
  elf_put32(at, (uint32_t)distance);
  return ELF_FIXED;
}

static elf_fixed fix_aarch64(unsigned char *at, const elf_fixup *f) {
  uint64_t to = f->symbol + (uint64_t)f->addend;
  int64_t near = (int64_t)(f->near + (uint64_t)f->addend - f->place);
  switch (f->type) {
  case R_AARCH64_ABS64: elf_put64(at, to); return ELF_FIXED;
  case R_AARCH64_PREL64: elf_put64(at, to - f->place); return ELF_FIXED;
  case R_AARCH64_PREL32: return put_distance(at, near);
  case R_AARCH64_ADR_PREL_LO21: return put_adr(at, near);
  case R_AARCH64_ADR_PREL_PG_HI21:
  case R_AARCH64_ADR_PREL_PG_HI21_NC:
    return put_page(at, f->near + (uint64_t)f->addend, f->place);
  case R_AARCH64_CALL26:
  case R_AARCH64_JUMP26: return put_jump(at, near);
  case R_AARCH64_ADR_GOT_PAGE: return put_page(at, f->got, f->place);
  case R_AARCH64_LD64_GOT_LO12_NC: return put_low(at, f->got, 3);
  default: break;
  }
  to = f->near + (uint64_t)f->addend;
  switch (f->type) {
  case R_AARCH64_LDST16_ABS_LO12_NC: return put_low(at, to, 1);
  case R_AARCH64_LDST32_ABS_LO12_NC: return put_low(at, to, 2);
  case R_AARCH64_LDST64_ABS_LO12_NC: return put_low(at, to, 3);
  case R_AARCH64_LDST128_ABS_LO12_NC: return put_low(at, to, 4);
  default: return put_low(at, to, 0); /* ADD, LDST8 */
  }
}

const elf_processor elf_aarch64 = {
    .name = "AArch64",
    .machine = EM_AARCH64,
    /* ldr x16, 8 bytes on; br x16 */
    .stub = {0x50, 0, 0, 0x58, 0, 0x02, 0x1f, 0xd6},
    .width = width_aarch64,
    .fix = fix_aarch64,
};
