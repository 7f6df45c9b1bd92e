/* SPDX-License-Identifier: Apache-2.0
 * Threads: every item once, stopping, signals left to the host.
 * Labels: threads */
#include "support/test.h"
#include "base/thread.h"

#include <signal.h>

enum { ITEMS = 1000 };

typedef struct tally {
  atomic_uint done[ITEMS];
  uint32_t on_thread[8]; /* each written by its own thread only */
  uint32_t stop_at;
  atomic_uint unblocked;
  thread_mutex lock;
  uint64_t locked_sum;
  thread_flag flag;
} tally;

static bool count_item(void *ud, uint32_t item, uint32_t thread) {
  tally *t = ud;
  sigset_t blocked;
  pthread_sigmask(SIG_BLOCK, NULL, &blocked);
  if (thread > 0 && !sigismember(&blocked, SIGINT))
    atomic_fetch_add(&t->unblocked, 1);
  atomic_fetch_add(&t->done[item], 1);
  t->on_thread[thread]++;
  thread_lock(&t->lock);
  t->locked_sum += item;
  thread_unlock(&t->lock);
  return item != t->stop_at;
}

static void thread_start(tally *t) {
  memset(t, 0, sizeof *t);
  t->stop_at = ITEMS;
  thread_mutex_init(&t->lock);
}

static void test_each_item_once(void **state) {
  (void)state;
  static const uint32_t counts[] = {0, 1, 2, 3, 8};
  static tally t;
  for (uint32_t k = 0; k < sizeof counts / sizeof *counts; k++) {
    thread_start(&t);
    assert_true(thread_run(counts[k], ITEMS, count_item, &t));
    uint32_t sum = 0;
    for (uint32_t i = 0; i < ITEMS; i++) assert_int_equal(t.done[i], 1);
    for (uint32_t i = 0; i < 8; i++) sum += t.on_thread[i];
    assert_int_equal(sum, ITEMS);
    assert_int_equal(t.unblocked, 0);
    assert_int_equal(t.locked_sum, ITEMS * (ITEMS - 1) / 2);
    thread_mutex_free(&t.lock);
  }
}

static void test_no_items(void **state) {
  (void)state;
  assert_true(thread_run(4, 0, count_item, NULL));
}

static void test_stopping(void **state) {
  (void)state;
  static tally t;
  thread_start(&t);
  t.stop_at = 10;
  assert_false(thread_run(1, ITEMS, count_item, &t));
  assert_int_equal(t.done[10], 1);
  assert_int_equal(t.done[11], 0);
  thread_mutex_free(&t.lock);
  thread_start(&t);
  t.stop_at = 10;
  assert_false(thread_run(4, ITEMS, count_item, &t));
  for (uint32_t i = 0; i <= 10; i++) assert_int_equal(t.done[i], 1);
  thread_mutex_free(&t.lock);
}

/* The last item begun sees the flag that the first raises, whatever thread
 * does which. */
static bool raise_or_see(void *ud, uint32_t item, uint32_t thread) {
  tally *t = ud;
  (void)thread;
  if (item == 0)
    thread_flag_raise(&t->flag);
  else
    while (!thread_flag_is_raised(&t->flag)) sched_yield();
  return true;
}

static void test_flag_is_seen_by_others(void **state) {
  (void)state;
  static tally t;
  thread_start(&t);
  assert_true(thread_run(2, 8, raise_or_see, &t));
  assert_true(thread_flag_is_raised(&t.flag));
  thread_flag_clear(&t.flag);
  assert_false(thread_flag_is_raised(&t.flag));
  thread_mutex_free(&t.lock);
}

static void test_cpus(void **state) {
  (void)state;
  assert_true(thread_cpus() >= 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_item_once),
      cmocka_unit_test(test_no_items),
      cmocka_unit_test(test_stopping),
      cmocka_unit_test(test_flag_is_seen_by_others),
      cmocka_unit_test(test_cpus),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
