# SPDX-License-Identifier: Apache-2.0
# The rules that divide a source file, "/* ---- what follows --- */", are one
# line of at most 79 columns: longer ones are broken in two by clang-format.
# The opening comment of every source says in its second line what the file is
# for.  No name of a static function is defined in more than three files, so
# that a breakpoint, a profile or grep names one place.  A source of the product
# in C has at most 600 lines, one in Lua 400, but lists of data.  Functions of
# the public header are defined in files api*.c, but those that free, and those
# that give rows of the tables of options.
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

# ---- opening comments -------------------------------------------------------

foreach(source ${sources})
  file(STRINGS ${ROOT}/${source} lines LIMIT_COUNT 2 LIMIT_INPUT 400)
  list(APPEND lines "" "")
  list(GET lines 1 said)
  if(NOT source MATCHES "^tests/fuzz/" AND NOT said MATCHES "^( \\*|--) ...")
    message(SEND_ERROR "${source}: the second line does not say what it is for")
  endif()
endforeach()

# ---- names ------------------------------------------------------------------

# name_<function>: the files that define it.  A definition begins a line with
# `static` and has its name before the first parenthesis.
set(names)
foreach(source ${sources})
  if(NOT source MATCHES "[.]c$")
    continue()
  endif()
  file(STRINGS ${ROOT}/${source} lines REGEX "^static [^=;(]*[ *][a-z_0-9]+[(]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE "^static [^=;(]*[ *]([a-z_0-9]+)[(].*" "\\1" name
           "${line}")
    list(APPEND names ${name})
    list(APPEND name_${name} ${source})
  endforeach()
endforeach()
list(REMOVE_DUPLICATES names)
list(LENGTH names distinct)
foreach(name IN LISTS names)
  list(REMOVE_DUPLICATES name_${name})
  list(LENGTH name_${name} files)
  if(files GREATER 3)
    list(JOIN name_${name} " " where)
    message(SEND_ERROR "static ${name} is defined in ${files} files: ${where}")
  endif()
endforeach()
if(distinct LESS 3000)
  message(FATAL_ERROR "only ${distinct} static functions are found in ${ROOT}")
endif()

# ---- length -----------------------------------------------------------------

# Lists of data: rows, and next to nothing else.
set(lists stdlib/reference/calls.lua tests/support/op_rows.lua)
foreach(source ${sources})
  if(source MATCHES "[.]lua$" AND NOT source IN_LIST lists)
    set(most 400)
  elseif(source MATCHES "[.][ch]$" AND NOT source MATCHES "^(tests|bench)/")
    set(most 600)
  else()
    continue()
  endif()
  file(READ ${ROOT}/${source} text)
  string(REGEX REPLACE "[^\n]+" "" text "${text}")
  string(LENGTH "${text}" length)
  if(length GREATER most)
    message(SEND_ERROR "${source} has ${length} lines, more than ${most}")
  endif()
endforeach()

# ---- public functions -------------------------------------------------------

foreach(source ${sources})
  if(NOT source MATCHES "^(ir|lower|backends|vm|measure|fleet|search|graph)/.*[.]c$" OR
     source MATCHES "/api[^/]*$|_main[.]c$|^backends/llvm/saved/|^search/gsl/")
    continue()
  endif()
  file(STRINGS ${ROOT}/${source} lines REGEX "^[a-z][a-z_0-9 ]*[ *]tess_[a-z_0-9]+[(]")
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "tess_[a-z_]+_free[(]|tess_in_parallel[(]|tess_[a-z]+_option[(]")
      message(SEND_ERROR "${source}: a public function that is in no api*.c: "
                         "${line}")
    endif()
  endforeach()
endforeach()
