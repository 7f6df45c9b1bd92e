/* SPDX-License-Identifier: Apache-2.0
 * Default policy of timing, and its text, the key of comparable times. */
#include "measure/measure.h"

measure_policy measure_default_policy(uint32_t threads) {
  return (measure_policy){.min_time = 0.1,
                          .repeats = 3,
                          .timeout = 10,
                          .build_timeout = 15,
                          .cutoff = 4,
                          .margin = 0.3,
                          .threads = threads ? threads : 1,
                          .seed = 0};
}

/* Time-outs are not part of the text: they do not change a time. */
void measure_policy_text(const measure_policy *p, strbuf *out) {
  str_puts(out, "v2 min-time=");
  str_put_double(out, p->min_time);
  str_printf(out, " repeats=%u cutoff=", p->repeats);
  str_put_double(out, p->cutoff);
  str_puts(out, " margin=");
  str_put_double(out, p->margin);
  str_printf(out, " threads=%u seed=%llu", p->threads,
             (unsigned long long)p->seed);
  if (p->inputs)
    str_printf(out, " inputs=%016llx", (unsigned long long)p->inputs);
  if (p->warm_cache) str_puts(out, " cache=warm");
}
