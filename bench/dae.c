/* SPDX-License-Identifier: Apache-2.0
 * Runs bench/dae.lua, which tunes ResNet-18's convolutions for access-execute
 * machines with and without latency hiding. */
#include <stdio.h>
#include <unistd.h>

enum { MOST_ARGUMENTS = 32 };

int main(int argc, char **argv) {
  static char command[] = BENCH_BINARY_DIR "/../bin/tessera";
  static char script[] = BENCH_SOURCE_DIR "/dae.lua";
  char *list[MOST_ARGUMENTS + 3] = {command, script};
  for (int i = 1; i < argc && i <= MOST_ARGUMENTS; i++) list[i + 1] = argv[i];
  execv(list[0], list);
  perror(list[0]);
  return 1;
}
