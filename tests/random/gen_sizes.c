/* SPDX-License-Identifier: Apache-2.0
 * Random programs: extents that are known only when a program is called. */
#include "random/gen_program.h"

#include <string.h>

gen_expr gen_len(gen *g, int64_t extent) {
  gen_expr e = 0;
  for (uint32_t k = 0; k < g->nsizes; k++)
    if (g->size[k].value == extent) {
      if (!g->failed) gen_check(g, describe_var(&g->b, g->size[k].var, &e));
      gen_say(g, e, "%s", g->size[k].name);
      return e;
    }
  return gen_num(g, extent);
}

void gen_name_sizes(gen *g, uint32_t ndim, const int64_t *shape) {
  if (!g->o.sizes || !gen_once_in(g, 5)) return;
  for (uint32_t d = 0; d < ndim && g->nsizes < GEN_MAX_SIZES; d++) {
    gen_size *s = &g->size[g->nsizes];
    if (gen_once_in(g, 3) || (g->nsizes && s[-1].value == shape[d])) continue;
    s->value = shape[d];
    gen_name(g, "n", s->name, sizeof s->name);
    if (!g->failed) gen_check(g, describe_size(&g->b, s->name, &s->var));
    if (g->o.lua)
      str_printf(&g->inputs, "local %s = ts.size(\"%s\") -- %lld\n", s->name,
                 s->name, (long long)s->value);
    g->nsizes++;
    g->o.only_computes = true;
  }
}

void gen_tell_sizes(const gen *g, const ir_program *p) {
  ir_span sizes = ir_entry(p)->sizes;
  for (uint32_t i = 0; i < sizes.n; i++) {
    const char *name = ir_text(p, p->var.v[p->arg.v[sizes.at + i]].name);
    for (uint32_t k = 0; k < g->nsizes; k++)
      if (!strcmp(g->size[k].name, name)) g->o.sizes[i] = g->size[k].value;
  }
}
