# SPDX-License-Identifier: Apache-2.0
# The rules that divide a source file, "/* ---- what follows --- */", are one
# line of at most 79 columns: longer ones are broken in two by clang-format.
# Run with -DROOT=...
cmake_minimum_required(VERSION 3.25)
file(GLOB_RECURSE sources RELATIVE ${ROOT}
     ${ROOT}/*/*.c ${ROOT}/*/*.h ${ROOT}/*/*.lua)
list(FILTER sources EXCLUDE REGEX "^(build|shared|out)[^/]*/")
set(found 0)
foreach(source ${sources})
  file(STRINGS ${ROOT}/${source} rules REGEX "^ *(/\\*|--) ---- ")
  foreach(rule IN LISTS rules)
    math(EXPR found "${found} + 1")
    string(LENGTH "${rule}" length)
    if(length GREATER 79 OR NOT rule MATCHES
       "^ *(/\\* ---- .* -+ \\*/|-- ---- .* -+)$")
      message(SEND_ERROR "${source}: no rule on one line: ${rule}")
    endif()
  endforeach()
endforeach()
if(found LESS 100)
  message(FATAL_ERROR "only ${found} rules are found in ${ROOT}")
endif()
