# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of this folder, whose opening comment says what they
# do and, in lines "usage: ...", how they are called: --help prints it, and
# `usage` ends a script that is called otherwise.
case ${1:-} in
-h|--help)
  sed -n -e '1d' -e '/^# SPDX/d' -e '/^#/!q' -e 's/^# \{0,1\}//p' "$0"
  exit 0 ;;
esac

usage() {
  sed -n 's/^# \(usage: .*\)/\1/p' "$0" >&2
  exit 2
}
