/* SPDX-License-Identifier: Apache-2.0
 * Types that every part of the public header shares. */
#ifndef TESSERA_TYPES_H
#define TESSERA_TYPES_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define TESS_API __attribute__((visibility("default")))
#else
#define TESS_API
#endif

/* Ownership marks on pointers: TAKE consumes the argument even on failure,
 * GIVE hands the result to the caller; others are borrowed for the call. */
#define TESS_TAKE
#define TESS_GIVE

typedef enum tess_status {
#define STATUS(name, value, text) TESS_##name = value,
#include "status.def"
#undef STATUS
} tess_status;

/* A struct of a type that begins with struct_size, with that set and all else
 * zero: tess_timing t = TESS_INIT(tess_timing);
 * In C its members can be named just as well:
 * tess_tune_options o = {.struct_size = sizeof o, .seed = 1}; */
#ifdef __cplusplus
extern "C++" {  /* also where a host includes this in extern "C" */
template <class T> inline T tess_init() {
  T t = T();
  t.struct_size = (uint32_t)sizeof(T);
  return t;
}
}
#define TESS_INIT(type) tess_init<type>()
#else
#define TESS_INIT(type) {.struct_size = (uint32_t)sizeof(type)}
#endif

/* The one way Tessera gets memory.  `ptr` NULL: allocate `nsize` bytes;
 * `nsize` 0: free `ptr`; else resize.  `osize` is always the size that `ptr`
 * was given.  Returns NULL when memory is out (never when shrinking).
 *
 * Tessera's own threads call it too, but for one context never two at a time;
 * it must not call back into Tessera.  Contexts that are used at once and have
 * the same allocator may call it at once. */
typedef struct tess_allocator {
  void *(*fn)(void *ud, void *ptr, size_t osize, size_t nsize);
  void *ud;
} tess_allocator;

/* Element type of a value: DLPack's triple.  `bits` counts one lane. */
typedef struct tess_dtype {
  uint8_t code;   /* TESS_DTYPE_INT ... */
  uint8_t bits;
  uint16_t lanes;
} tess_dtype;

/* Type codes, numbered as in DLPack 1.1. */
enum {
  TESS_DTYPE_INT = 0, TESS_DTYPE_UINT = 1, TESS_DTYPE_FLOAT = 2,
  TESS_DTYPE_HANDLE = 3, TESS_DTYPE_BFLOAT = 4, TESS_DTYPE_BOOL = 6
};

/* The objects of the interface. */
typedef struct tess_context tess_context;
typedef struct tess_builder tess_builder;
typedef struct tess_program tess_program;
typedef struct tess_schedule tess_schedule;
typedef struct tess_trace tess_trace;
typedef struct tess_stepper tess_stepper;
typedef struct tess_target tess_target;
typedef struct tess_kernel tess_kernel;
typedef struct tess_tensor tess_tensor;
typedef struct tess_space tess_space;
typedef struct tess_database tess_database;
typedef struct tess_result tess_result;

#endif
