#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# interrupt.sh PID N: interrupts a process when it and those that it started
# have computed for N hundredths of a second more.  So the signal comes in the
# midst of what the process has begun, however busy the machine is.
used() {
  cat /proc/[0-9]*/stat 2> /dev/null | sed 's/(.*)/-/' |
    awk -v pid="$1" '$1 == pid || $4 == pid { sum += $14 + $15 }
                     END { print sum + 0 }'
}

until=$(($(used "$1") + $2))
while kill -0 "$1" 2> /dev/null; do
  if [ "$(used "$1")" -ge "$until" ]; then
    exec kill -INT "$1"
  fi
  sleep 0.01
done
