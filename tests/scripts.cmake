# SPDX-License-Identifier: Apache-2.0
# Every script of scripts/ answers --help with its usage, and an argument that
# it does not know with that and the status 2, before it does anything; but
# `coverage`, whose arguments are ctest's.
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
