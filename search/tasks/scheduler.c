/* SPDX-License-Identifier: Apache-2.0
 * Which task gets the next batch: round-robin, or by gradient, MetaSchedule's
 * formula (Ansor's task scheduler without similarity between tasks). */
#include "search/tasks/tasks.h"

#include <math.h>

static uint32_t next_in_turn(task_set *s) {
  uint32_t i = s->last;
  do i = (i + 1) % s->n;
  while (!s->run[i].live);
  return i;
}

/* With best[k] the best seconds after batch k of n, and w the window:
 *   g1 = (best[n-1-w] - best[n-1]) / w, what the last w batches gained each,
 *   g2 = best[n-1] / n, what is left to gain, optimistically,
 *   weight (alpha g1 + (1 - alpha) g2).
 * A task without a valid candidate comes last. */
static double gradient_of(const task_set *s, const task_run *r) {
  static const double hopeless = -1e9;
  uint32_t n = r->round.n, w = s->o.window_size;
  const task_round *v = r->round.v;
  if (!n || !isfinite(v[n - 1].best)) return hopeless;
  double recent = 0, ahead = v[n - 1].best / n;
  if (n > w && isfinite(v[n - 1 - w].best))
    recent = (v[n - 1 - w].best - v[n - 1].best) / w;
  return r->weight * (s->o.alpha * recent + (1 - s->o.alpha) * ahead);
}

static uint32_t pick_at_random(task_set *s, uint32_t nlive) {
  uint64_t k = rng_below(&s->random, nlive);
  for (uint32_t i = 0;; i++)
    if (s->run[i].live && k-- == 0) return i;
}

static uint32_t next_by_gradient(task_set *s) {
  uint32_t best = 0, nlive = 0;
  double most = -INFINITY, least = INFINITY;
  for (uint32_t i = 0; i < s->n; i++) {
    if (!s->run[i].live) continue;
    double g = gradient_of(s, &s->run[i]);
    if (g > most) best = i;
    most = fmax(most, g);
    least = fmin(least, g);
    nlive++;
  }
  return nlive > 1 && most == least ? pick_at_random(s, nlive) : best;
}

static const task_scheduler gradient = {"gradient", next_by_gradient};
static const task_scheduler round_robin = {"round_robin", next_in_turn};

const task_scheduler *const task_schedulers[] = {&gradient, &round_robin};
const uint32_t task_nschedulers =
    sizeof task_schedulers / sizeof *task_schedulers;

/* What had no batch yet comes first, in the order of the tasks. */
uint32_t task_scheduler_next(task_set *s) {
  for (uint32_t i = 0; i < s->n; i++)
    if (s->run[i].live && !s->run[i].round.n) return i;
  return s->scheduler->next(s);
}

const task_scheduler *task_scheduler_find(const char *name) {
  for (uint32_t i = 0; i < task_nschedulers; i++)
    if (!strcmp(task_schedulers[i]->name, name)) return task_schedulers[i];
  return NULL;
}
