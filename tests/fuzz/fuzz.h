/* SPDX-License-Identifier: Apache-2.0
 * The entry of a fuzz target: takes any bytes, returns 0, and aborts when a
 * property is violated. */
#ifndef FUZZ_FUZZ_H
#define FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* In a fuzz target, where an assertion must hold in release builds too. */
#define FUZZ_ASSERT(x) ((x) ? (void)0 : __builtin_trap())

#endif
