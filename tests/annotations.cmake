# SPDX-License-Identifier: Apache-2.0
# Keys of annotations that code asks for, or writes, are among those of
# ir/annotations.def: one that is misspelt, or that nobody writes, is not found
# otherwise, since a key that is not there is no error.  Run with -DROOT=...
cmake_minimum_required(VERSION 3.25)

file(STRINGS ${ROOT}/ir/annotations.def rows REGEX "^ANNOTATION")
foreach(row IN LISTS rows)
  string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*" "\\1" key "${row}")
  list(APPEND keys ${key})
endforeach()

set(found 0)
function(check_uses pattern)
  foreach(file IN LISTS files)
    file(READ ${ROOT}/${file} text)
    string(REGEX MATCHALL "${pattern}" uses "${text}")
    foreach(use IN LISTS uses)
      string(REGEX REPLACE "^[^\"]*\"([^\"]*)\".*" "\\1" key "${use}")
      math(EXPR found "${found} + 1")
      if(NOT key IN_LIST keys)
        message(SEND_ERROR "${file}: the annotation \"${key}\" is not among "
                           "those of ir/annotations.def")
      endif()
    endforeach()
  endforeach()
  set(found ${found} PARENT_SCOPE)
endfunction()

file(GLOB_RECURSE files RELATIVE ${ROOT}
     ${ROOT}/ir/*.[ch] ${ROOT}/schedule/*.[ch] ${ROOT}/lower/*.[ch]
     ${ROOT}/vm/*.[ch] ${ROOT}/backends/*.[ch] ${ROOT}/search/*.[ch])
string(CONCAT asks "(ir_anno_get|ir_anno_remove|sch_anno_int|sch_anno_text|"
              "mutator_annotates|take_key)\\([^;\"{}]*\"[a-z_.]+\"")
check_uses("${asks}")
check_uses("ir_anno_set\\([^;\"{}]*\"[a-z_.]+\"")
check_uses("[a-z]_key\\[\\] = \"[a-z_.]+\"")
check_uses("#define [A-Z_]*KEY \"[a-z_.]+\"")
if(found LESS 30)
  message(FATAL_ERROR "only ${found} uses of keys are found in C")
endif()

set(found 0)
file(GLOB_RECURSE files RELATIVE ${ROOT}
     ${ROOT}/modules/*.lua ${ROOT}/stdlib/*.lua)
check_uses(":(annotate|annotation|unannotate)\\([^;\"\n]*, *\"[a-z_.]+\"")
if(found LESS 30)
  message(FATAL_ERROR "only ${found} uses of keys are found in Lua")
endif()
