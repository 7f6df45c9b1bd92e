/* SPDX-License-Identifier: Apache-2.0
 * What the times that a machine gives depend on. */
#ifndef MEASURE_MACHINE_FACTS_H
#define MEASURE_MACHINE_FACTS_H

#include "base/str.h"

/* Appends lines of a name, a tab and a text, of what this system tells:
 * processor, governor, greatest clock, driver. */
void machine_facts(strbuf *out);

#endif
