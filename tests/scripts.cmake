# SPDX-License-Identifier: Apache-2.0
# Every script of scripts/ answers --help with its usage, and an argument that
# it does not know with that and the status 2, before it does anything; but
# `coverage`, whose arguments are ctest's; and there is one list of packages.
# Run with -DROOT=...
cmake_minimum_required(VERSION 3.25)
file(GLOB scripts ${ROOT}/scripts/*)
list(FILTER scripts EXCLUDE REGEX "\\.(txt|sh)$|/gdb$")

function(expect script argument status)
  execute_process(COMMAND ${script} ${argument} TIMEOUT 10
                  RESULT_VARIABLE got OUTPUT_VARIABLE said ERROR_VARIABLE said)
  cmake_path(GET script FILENAME name)
  if(NOT got EQUAL status OR NOT said MATCHES "usage: scripts/${name}[ \n]")
    message(SEND_ERROR "scripts/${name} ${argument} ends with ${got}:\n${said}")
  endif()
endfunction()

foreach(script ${scripts})
  expect(${script} --help 0)
  if(NOT script MATCHES "/coverage$")
    expect(${script} --odd 2)
  endif()
endforeach()

# ---- the list of packages ---------------------------------------------------

# What the Debian packages are built with is in the one list that there is.
file(STRINGS ${ROOT}/scripts/packages.txt listed REGEX "^[a-z]")
file(READ ${ROOT}/debian/control control)
string(REGEX MATCH "Build-Depends:([^:]*)\nPackage" depends "${control}")
string(REGEX MATCHALL "[a-z][a-z0-9.+-]+" depends "${CMAKE_MATCH_1}")
list(LENGTH depends found)
if(found LESS 10)
  message(FATAL_ERROR "only ${found} packages are found in debian/control")
endif()
foreach(package ${depends})
  if(NOT package IN_LIST listed AND NOT package STREQUAL "debhelper-compat")
    message(SEND_ERROR "scripts/packages.txt lacks ${package}, which "
                       "debian/control builds with")
  endif()
endforeach()
