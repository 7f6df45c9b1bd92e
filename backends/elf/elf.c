/* SPDX-License-Identifier: Apache-2.0
 * Links a relocatable object into this process.
 *
 * Its sections go to three runs of pages, of code, of constants and of data.
 * Behind the code are stubs, a symbol each, which jump to functions of this
 * program wherever these are; behind the constants words with the symbols'
 * addresses (the global offset table).  Nothing of the object is trusted: every
 * offset is checked against its end. */
#include "backends/elf/elf.h"
#include "backends/llvm/code.h"
#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef enum run { RUN_CODE, RUN_CONSTANT, RUN_DATA, RUNS } run;

typedef struct loading {
  const elf_processor *by;
  const unsigned char *code;
  size_t n;
  Elf64_Shdr *section;
  uint64_t *address; /* of each section; 0: it is not loaded */
  uint32_t nsections;
  Elf64_Sym *symbol;
  uint32_t nsymbols;
  const char *names;
  size_t nnames;
  size_t at[RUNS], size[RUNS]; /* in the image */
  size_t stubs, got;           /* places in it */
  elf_image *out;
  err_state *e;
} loading;

static const elf_processor *const processors[] = {&elf_x86_64, &elf_aarch64};

static const elf_processor *own_processor(void) {
#if defined __x86_64__
  return &elf_x86_64;
#elif defined __aarch64__
  return &elf_aarch64;
#else
  return NULL;
#endif
}

static tess_status is_malformed(const loading *w) {
  return err_set(w->e, TESS_BUILD_ERROR, "the object code is malformed");
}

/* Bytes of the object; NULL: it ends before. */
static const unsigned char *bytes_at(const loading *w, uint64_t at,
                                     uint64_t n) {
  return at <= w->n && n <= w->n - at ? w->code + at : NULL;
}

/* A copy of n records, which in the object may be anywhere. */
static void *copy_records(const loading *w, uint64_t at, uint64_t n,
                          size_t size) {
  const unsigned char *from =
      n <= w->n / size ? bytes_at(w, at, n * size) : NULL;
  void *to = from ? malloc(n * size + 1) : NULL;
  if (to) memcpy(to, from, n * size);
  return to;
}

/* ---- reading ------------------------------------------------------------ */

static tess_status check_processor(loading *w, uint16_t machine) {
  const char *other = "another processor";
  w->by = own_processor();
  if (w->by && machine == w->by->machine) return TESS_OK;
  for (size_t i = 0; i < sizeof processors / sizeof *processors; i++)
    if (processors[i]->machine == machine) other = processors[i]->name;
  return err_set(w->e, TESS_BUILD_ERROR, "the code is for %s, and this is %s",
                 other, w->by ? w->by->name : "none that code is loaded on");
}

static tess_status read_sections(loading *w) {
  Elf64_Ehdr h;
  const unsigned char *head = bytes_at(w, 0, sizeof h);
  if (!head || memcmp(head, ELFMAG, SELFMAG)) return is_malformed(w);
  memcpy(&h, head, sizeof h);
  if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_ident[EI_DATA] != ELFDATA2LSB ||
      h.e_type != ET_REL || h.e_shentsize != sizeof(Elf64_Shdr))
    return is_malformed(w);
  tess_status s = check_processor(w, h.e_machine);
  if (s != TESS_OK) return s;
  w->nsections = h.e_shnum;
  w->section = copy_records(w, h.e_shoff, h.e_shnum, sizeof *w->section);
  w->address = calloc(h.e_shnum + 1u, sizeof *w->address);
  return w->section && w->address ? TESS_OK : is_malformed(w);
}

static tess_status read_symbols(loading *w) {
  const Elf64_Shdr *table = NULL;
  for (uint32_t i = 0; i < w->nsections; i++)
    if (w->section[i].sh_type == SHT_SYMTAB) table = &w->section[i];
  if (!table || table->sh_link >= w->nsections) return is_malformed(w);
  const Elf64_Shdr *names = &w->section[table->sh_link];
  w->names = (const char *)bytes_at(w, names->sh_offset, names->sh_size);
  w->nnames = (size_t)names->sh_size;
  if (!w->names || !w->nnames || w->names[w->nnames - 1])
    return is_malformed(w);
  w->nsymbols = (uint32_t)(table->sh_size / sizeof *w->symbol);
  w->symbol = copy_records(w, table->sh_offset, w->nsymbols, sizeof *w->symbol);
  return w->symbol ? TESS_OK : is_malformed(w);
}

static const char *symbol_name(const loading *w, const Elf64_Sym *s) {
  return s->st_name < w->nnames ? w->names + s->st_name : "";
}

/* ---- where it goes ------------------------------------------------------ */

static run run_of(const Elf64_Shdr *h) {
  return h->sh_flags & SHF_EXECINSTR ? RUN_CODE
         : h->sh_flags & SHF_WRITE   ? RUN_DATA
                                     : RUN_CONSTANT;
}

/* What nobody unwinds through needs no tables. */
static bool is_loaded(const Elf64_Shdr *h) {
  enum { SHT_OF_UNWINDING = 0x70000001 }; /* of x86-64 */
  return h->sh_flags & SHF_ALLOC && h->sh_type != SHT_OF_UNWINDING &&
         (h->sh_type == SHT_PROGBITS || h->sh_type == SHT_NOBITS);
}

static size_t rounded(size_t at, size_t to) { return (at + to - 1) / to * to; }

/* Gives every section its place, from the beginning of its run. */
static tess_status place_sections(loading *w) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  for (uint32_t i = 0; i < w->nsections; i++) {
    const Elf64_Shdr *h = &w->section[i];
    if (!is_loaded(h)) continue;
    run r = run_of(h);
    uint64_t align = h->sh_addralign ? h->sh_addralign : 1;
    bool there = h->sh_type == SHT_NOBITS ||
                 bytes_at(w, h->sh_offset, h->sh_size) != NULL;
    if (!there || align > page || align & (align - 1) ||
        h->sh_size > (uint64_t)1 << 30 || h->sh_flags & SHF_TLS)
      return is_malformed(w);
    w->size[r] = rounded(w->size[r], (size_t)align);
    w->address[i] = w->size[r];
    w->size[r] += (size_t)h->sh_size;
  }
  w->stubs = rounded(w->size[RUN_CODE], ELF_STUB);
  w->size[RUN_CODE] = w->stubs + (size_t)w->nsymbols * ELF_STUB;
  w->got = rounded(w->size[RUN_CONSTANT], 8);
  w->size[RUN_CONSTANT] = w->got + (size_t)w->nsymbols * 8;
  for (int r = 0; r < RUNS; r++) {
    w->at[r] = w->out->bytes;
    w->out->bytes += w->size[r] = rounded(w->size[r], page);
  }
  w->got += w->at[RUN_CONSTANT];
  return TESS_OK;
}

static tess_status map_image(loading *w) {
  void *at = mmap(NULL, w->out->bytes, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED)
    return err_set(w->e, TESS_NOMEM, "no memory for a kernel's code");
  w->out->map = at;
  for (uint32_t i = 0; i < w->nsections; i++) {
    const Elf64_Shdr *h = &w->section[i];
    if (!is_loaded(h)) continue;
    unsigned char *to = (unsigned char *)at + w->at[run_of(h)] + w->address[i];
    w->address[i] = (uint64_t)(uintptr_t)to;
    if (h->sh_type == SHT_PROGBITS)
      memcpy(to, w->code + h->sh_offset, (size_t)h->sh_size);
  }
  return TESS_OK;
}

/* ---- symbols ------------------------------------------------------------ */

static uint64_t find_called(const char *name) {
  for (int i = 0; i < LLVM_NCALLED; i++)
    if (!strcmp(llvm_called_functions[i].name, name))
      return (uint64_t)(uintptr_t)llvm_called_functions[i].fn;
  return 0;
}

/* The symbol's address; 0 of one that is not loaded. */
static tess_status find_symbol(const loading *w, const Elf64_Sym *s,
                               uint64_t *out) {
  *out = 0;
  if (s->st_shndx == SHN_UNDEF) {
    const char *name = symbol_name(w, s);
    *out = find_called(name);
    if (*out || !*name || ELF64_ST_BIND(s->st_info) == STB_WEAK) return TESS_OK;
    return err_set(w->e, TESS_BUILD_ERROR,
                   "the kernel calls '%.100s', which programs that only run "
                   "kernels do not have",
                   name);
  }
  if (s->st_shndx == SHN_ABS) return *out = s->st_value, TESS_OK;
  if (s->st_shndx >= w->nsections) return is_malformed(w);
  if (w->address[s->st_shndx]) *out = w->address[s->st_shndx] + s->st_value;
  return TESS_OK;
}

static unsigned char *image_at(const loading *w, size_t at) {
  return (unsigned char *)w->out->map + at;
}

/* Fills the symbols' stubs and words, and finds the entry. */
static tess_status resolve(loading *w) {
  for (uint32_t i = 0; i < w->nsymbols; i++) {
    const Elf64_Sym *s = &w->symbol[i];
    unsigned char *stub = image_at(w, w->stubs + (size_t)i * ELF_STUB);
    uint64_t to;
    tess_status found = find_symbol(w, s, &to);
    if (found != TESS_OK) return found;
    memcpy(stub, w->by->stub, sizeof w->by->stub);
    elf_put64(stub + sizeof w->by->stub, to);
    elf_put64(image_at(w, w->got + (size_t)i * 8), to);
    if (s->st_shndx != SHN_UNDEF && !strcmp(symbol_name(w, s), EMIT_KERNEL))
      w->out->entry = (tess_kernel_fn)(uintptr_t)to;
  }
  return w->out->entry ? TESS_OK : is_malformed(w);
}

/* ---- relocations -------------------------------------------------------- */

static tess_status apply_one(const loading *w, uint32_t section,
                             const Elf64_Rela *r) {
  uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
  uint64_t symbol = ELF64_R_SYM(r->r_info), to;
  size_t width = w->by->width(type);
  const Elf64_Shdr *h = &w->section[section];
  if (!width)
    return err_set(w->e, TESS_BUILD_ERROR,
                   "the object code has relocations of type %u, which are not "
                   "known for %s",
                   type, w->by->name);
  if (symbol >= w->nsymbols || r->r_offset > h->sh_size ||
      width > h->sh_size - r->r_offset)
    return is_malformed(w);
  const Elf64_Sym *s = &w->symbol[symbol];
  tess_status found = find_symbol(w, s, &to);
  if (found != TESS_OK) return found;
  bool far = s->st_shndx == SHN_UNDEF;
  uint64_t place = w->address[section] + r->r_offset,
           stub = (uint64_t)(uintptr_t)image_at(w, w->stubs + (size_t)symbol *
                                                                  ELF_STUB);
  elf_fixup f = {
      .type = type,
      .symbol = to,
      .near = far ? stub : to,
      .got = (uint64_t)(uintptr_t)image_at(w, w->got + (size_t)symbol * 8),
      .addend = r->r_addend,
      .place = place};
  elf_fixed fixed = w->by->fix((unsigned char *)(uintptr_t)place, &f);
  if (fixed == ELF_FIXED) return TESS_OK;
  return err_set(w->e, TESS_BUILD_ERROR, "'%.100s' is %s for a relocation",
                 symbol_name(w, s),
                 fixed == ELF_FAR ? "too far" : "not aligned");
}

static tess_status apply_section(const loading *w, const Elf64_Shdr *h) {
  if (h->sh_info >= w->nsections) return is_malformed(w);
  if (!w->address[h->sh_info]) return TESS_OK; /* of what is not loaded */
  uint64_t n = h->sh_size / sizeof(Elf64_Rela);
  const unsigned char *at = bytes_at(w, h->sh_offset, h->sh_size);
  tess_status s = at ? TESS_OK : is_malformed(w);
  for (uint64_t i = 0; i < n && s == TESS_OK; i++) {
    Elf64_Rela r;
    memcpy(&r, at + i * sizeof r, sizeof r);
    s = apply_one(w, h->sh_info, &r);
  }
  return s;
}

static tess_status apply_all(const loading *w) {
  tess_status s = TESS_OK;
  for (uint32_t i = 0; i < w->nsections && s == TESS_OK; i++) {
    const Elf64_Shdr *h = &w->section[i];
    if (h->sh_type == SHT_RELA) s = apply_section(w, h);
    if (h->sh_type == SHT_REL) s = is_malformed(w);
  }
  return s;
}

static tess_status protect(const loading *w) {
  static const int access[RUNS] = {PROT_READ | PROT_EXEC, PROT_READ,
                                   PROT_READ | PROT_WRITE};
  char *begin = (char *)w->out->map;
  __builtin___clear_cache(begin, begin + w->size[RUN_CODE]);
  for (int r = 0; r < RUNS; r++)
    if (w->size[r] && mprotect(begin + w->at[r], w->size[r], access[r]))
      return err_set(w->e, TESS_BUILD_ERROR,
                     "this system lets no program make code executable");
  return TESS_OK;
}

/* ---- the whole ---------------------------------------------------------- */

tess_status elf_load(const void *code, size_t n, elf_image *out, err_state *e) {
  loading w = {.code = code, .n = n, .out = out, .e = e};
  *out = (elf_image){.map = NULL};
  llvm_ask_for_tiles(code, n);
  tess_status s = read_sections(&w);
  if (s == TESS_OK) s = read_symbols(&w);
  if (s == TESS_OK) s = place_sections(&w);
  if (s == TESS_OK) s = map_image(&w);
  if (s == TESS_OK) s = resolve(&w);
  if (s == TESS_OK) s = apply_all(&w);
  if (s == TESS_OK) s = protect(&w);
  free(w.section);
  free(w.address);
  free(w.symbol);
  return s;
}

void elf_unload(elf_image *x) {
  if (x->map) munmap(x->map, x->bytes);
  x->map = NULL;
}
