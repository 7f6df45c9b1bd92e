/* SPDX-License-Identifier: Apache-2.0
 * Child processes by posix_spawn. */
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int set_descriptor(posix_spawn_file_actions_t *a, int to, int from) {
  switch (from) {
  case SPAWN_SAME: return 0;
  case SPAWN_NULL:
    return posix_spawn_file_actions_addopen(a, to, "/dev/null", O_RDWR, 0);
  default: return posix_spawn_file_actions_adddup2(a, from, to);
  }
}

static int set_descriptors(posix_spawn_file_actions_t *a,
                           const spawn_order *o) {
  for (int k = 0; k < o->nfd; k++) {
    int bad = set_descriptor(a, k, o->fd[k]);
    if (bad) return bad;
  }
  return posix_spawn_file_actions_addclosefrom_np(a, o->nfd);
}

/* A group of its own, and default signal handling. */
static int set_group(posix_spawnattr_t *a) {
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setpgroup(a, 0);
  posix_spawnattr_setsigmask(a, &none);
  posix_spawnattr_setsigdefault(a, &all);
  return posix_spawnattr_setflags(a, POSIX_SPAWN_SETPGROUP |
                                         POSIX_SPAWN_SETSIGMASK |
                                         POSIX_SPAWN_SETSIGDEF);
}

static int start_by(const spawn_order *o, const posix_spawn_file_actions_t *a,
                    const posix_spawnattr_t *attributes, pid_t *pid) {
  char *const *argv = (char *const *)(uintptr_t)o->argv; /* not written to */
  return o->search ? posix_spawnp(pid, argv[0], a, attributes, argv, environ)
                   : posix_spawn(pid, argv[0], a, attributes, argv, environ);
}

int spawn_start(const spawn_order *o, pid_t *pid) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  int bad = posix_spawn_file_actions_init(&actions);
  if (bad) return bad;
  bad = posix_spawnattr_init(&attributes);
  if (!bad) {
    bad = set_descriptors(&actions, o);
    if (!bad && o->leads) bad = set_group(&attributes);
    if (!bad) bad = start_by(o, &actions, &attributes, pid);
    posix_spawnattr_destroy(&attributes);
  }
  posix_spawn_file_actions_destroy(&actions);
  return bad;
}

/* EINVAL means that the limit on descriptors is too low. */
int spawn_move_up(int fd) {
  if (fd < 0) return -1;
  int up = fcntl(fd, F_DUPFD_CLOEXEC, SPAWN_MOST), why = errno;
  close(fd);
  errno = why == EINVAL ? EMFILE : why;
  return up;
}

bool spawn_socket(int *own, int *child) {
  int pair[2] = {-1, -1};
  *own = *child = -1;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair)) return false;
  *own = spawn_move_up(pair[0]);
  if (*own < 0) {
    int why = errno;
    close(pair[1]);
    errno = why;
    return false;
  }
  *child = spawn_move_up(pair[1]);
  return *child >= 0 && !fcntl(*own, F_SETFL, O_NONBLOCK);
}

int spawn_reap(pid_t pid) {
  int status;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return status;
}
