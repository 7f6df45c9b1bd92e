/* SPDX-License-Identifier: Apache-2.0
 * Child processes: starting one with the descriptors that it is to have, a
 * socket to it, and its end. */
#ifndef BASE_SPAWN_H
#define BASE_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

enum {
  SPAWN_MOST = 8,            /* descriptors of a child */
  SPAWN_SAME = -1,           /* the caller's, if it is open */
  SPAWN_NULL = -2            /* /dev/null */
};

typedef struct spawn_order {
  const char *const *argv;   /* up to NULL; argv[0] is the program's path, */
  bool search;               /*   or also a name to be found in the PATH */
  bool leads;                /* a process group of its own, with default signal
                              * handling: the terminal does not interrupt it */
  int nfd, fd[SPAWN_MOST];   /* what its descriptors 0, 1, ... are; it has no
                              * others */
} spawn_order;

/* 0, or the errno that says why not.  Descriptors that are given are to be
 * above those that the child has (spawn_move_up). */
int spawn_start(const spawn_order *o, pid_t *pid);
/* Moves a descriptor above those that children have, as it may not be where a
 * host closed its standard streams; -1: errno says why not, or fd was -1. */
int spawn_move_up(int fd);
/* Two connected sockets, above those descriptors: the caller's end does not
 * block.  False: errno says why not, and what is open is not -1. */
bool spawn_socket(int *own, int *child);
/* Waits for its end: its wait status, or -1 where the host reaps itself. */
int spawn_reap(pid_t pid);

#endif
