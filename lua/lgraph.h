/* SPDX-License-Identifier: Apache-2.0
 * What the files of the binding of graphs share. */
#ifndef LUA_LGRAPH_H
#define LUA_LGRAPH_H

#include "lua/lt.h"

/* The attributes in the table at index i; what they need stays on the
 * stack. */
const tess_attr *lt_to_attrs(lua_State *L, int i, uint32_t *n);
/* Constants as { value = number }, branches of control flow as "graph". */
void lt_push_attr(lua_State *L, const tess_attr *a);
/* g:make_network({ { kernel or false, { value, .. } }, .. }) */
int lt_make_network(lua_State *L);
void lt_open_network(lua_State *L);

#endif
