/* SPDX-License-Identifier: Apache-2.0
 * Index maps as text:
 *
 *   map     ::= "(" [ name {"," name} ] ")" "->" "(" [ sum {"," sum} ] ")"
 *   sum     ::= product {("+" | "-") product}
 *   product ::= atom {("*" | "//" | "%") atom}
 *   atom    ::= INT | name | "$" INT | "-" atom | "(" sum ")"
 *             | ("min" | "max") "(" sum "," sum ")"
 *
 * $1, $2, ... are values passed with the text: sampled integers, which a text
 * cannot name. */
#ifndef VM_TEXT_MAP_H
#define VM_TEXT_MAP_H

#include "vm/vm.h"

enum { VM_MAP_MAX = 32 };  /* parameters, results; values passed */

/* Parses the text; given: the values of $1 to $ngiven.  p NULL: only checks the
 * syntax, without access to `given` and `out`.  false: *at is the place of the
 * error (a byte, from 1). */
bool vm_read_map(const char *text, uint32_t ngiven, const int64_t *given,
                 ir_program *p, arena *scratch, sch_map *out, int64_t *at);

#endif
