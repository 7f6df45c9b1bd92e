/* SPDX-License-Identifier: Apache-2.0
 * Index maps as text:
 *
 *   map     ::= "(" [ name {"," name} ] ")" "->" "(" [ sum {"," sum} ] ")"
 *   sum     ::= product {("+" | "-") product}
 *   product ::= atom {("*" | "//" | "%") atom}
 *   atom    ::= INT | name | "$" INT | "-" atom | "(" sum ")"
 *             | ("min" | "max") "(" sum "," sum ")"
 *
 * $1, $2, ... are values that come with the text: sampled integers, which a
 * text cannot name. */
#ifndef VM_TEXT_MAP_H
#define VM_TEXT_MAP_H

#include "vm/vm.h"

enum { VM_MAP_MAX = 32 };  /* parameters, results; values that come along */

/* Reads the text; given: what $1 to $ngiven are.  p NULL: only looks whether
 * it is a map, and `given` and `out` are not touched.  false: *at is where
 * it is none (a byte, from 1). */
bool vm_read_map(const char *text, uint32_t ngiven, const int64_t *given,
                 ir_program *p, arena *scratch, sch_map *out, int64_t *at);

#endif
