/* SPDX-License-Identifier: Apache-2.0
 * What workers that run strangers' code may not do, and what they still can:
 * measure. */
#include "measure/worker/pool.h"
#include "measure/worker/sandbox.h"
#include "support/measured.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static void *make_socket(void *ud) {
  *(int *)ud = socket(AF_INET, SOCK_STREAM, 0);
  return NULL;
}

/* The number of the first thing that was possible; 0: none. */
static int try_all(const char *path) {
  char word[] = "true", *const argv[] = {word, NULL};
  pthread_t other;
  const char *why;
  int fd = 0;
  if (!sandbox_enter(&why)) return 1;
  if (socket(AF_INET, SOCK_STREAM, 0) >= 0 || errno != EPERM) return 2;
  if (execv("/bin/true", argv) == 0 || errno != EPERM) return 3;
  if (unlink(path) == 0 || errno != EPERM) return 4;
  if (pthread_create(&other, NULL, make_socket, &fd)) return 5;
  pthread_join(other, NULL);
  return fd >= 0 ? 6 : 0;
}

static void test_refused_calls(void **state) {
  char path[] = "/tmp/tessera-sandbox-XXXXXX";
  int status, fd = mkstemp(path);
  (void)state;
  assert_true(fd >= 0);
  close(fd);
  pid_t pid = fork();
  if (pid == 0) _exit(try_all(path));
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_int_equal(unlink(path), 0);
}

static void test_measures(void **state) {
  measured m;
  measure_result r;
  (void)state;
  measured_start(&m, false, NULL);
  m.pool->config.sandboxed = true;
  tess_program *p = measured_matmul(m.c, 32);
  measured_task(&m, p);
  if (measured_run(&m, NULL, MEASURE_CHECK_ALWAYS, &r))
    fail_msg("%s", str_get(&r.message));
  assert_true(r.checked && r.median > 0);
  measure_result_free(&r);
  tess_program_free(p);
  measured_end(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_refused_calls),
                                     cmocka_unit_test(test_measures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
