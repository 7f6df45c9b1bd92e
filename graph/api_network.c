/* SPDX-License-Identifier: Apache-2.0
 * The public functions of graphs that run. */
#include "graph/network.h"

tess_status tess_network_new(tess_graph *g, uint32_t n, const tess_gstep *step,
                             tess_network **out) {
  return network_new(g, n, step, out);
}

tess_status tess_network_run(tess_network *net, uint32_t n,
                             tess_tensor *const *tensor, double *seconds) {
  ctx_clear(net->c);
  return network_run_steps(net, n, tensor, seconds);
}

void tess_network_set_threads(tess_network *net, uint32_t threads) {
  net->threads = threads;
}

tess_status tess_network_get(tess_network *net, tess_network_info *out) {
  tess_network_info info = net->info;
  info.struct_size = sizeof info;
  return ctx_give(net->c, tess_network_info, &info, out);
}

const char *tess_network_kernel(tess_network *net, uint32_t k) {
  return k < net->nstep ? tess_kernel_name(net->step[k].kernel) : NULL;
}

tess_status tess_network_save(tess_network *net, const char *path,
                              const char *header) {
  return network_save(net, path, header);
}
