# SPDX-License-Identifier: Apache-2.0
# The check of the layers' edges can fail: each bad include below, alone in
# a small tree, must be refused with the given words; the good ones pass.
#   cmake -DCHECK=check_layers.cmake -DTREE=<folder to make> -P layers.cmake
cmake_minimum_required(VERSION 3.25)

function(fresh_tree)
  file(REMOVE_RECURSE ${TREE})
  foreach(header base/b.h ir/i.h schedule/s.h vm/v.h include/tessera/t.h
          search/feature/f.h search/candidate/c.h search/run/r.h)
    file(WRITE ${TREE}/${header} "\n")
  endforeach()
endfunction()

macro(check)
  execute_process(COMMAND ${CMAKE_COMMAND} -DROOT=${TREE} -P ${CHECK}
                  RESULT_VARIABLE result OUTPUT_QUIET ERROR_VARIABLE said)
  string(REGEX REPLACE "[ \n]+" " " said "${said}")
endmacro()

function(run_check line file)
  fresh_tree()
  file(WRITE ${TREE}/${file} "/* one\n * two */\n#include ${line}\n")
  check()
  set(result ${result} PARENT_SCOPE)
  set(said "${said}" PARENT_SCOPE)
endfunction()

function(accepts file line)
  run_check(${line} ${file})
  if(result)
    message(SEND_ERROR "${file}: #include ${line} was refused: ${said}")
  endif()
endfunction()

function(refuses file line words)
  run_check(${line} ${file})
  if(NOT result OR NOT said MATCHES "${file}:3: ${words}")
    message(SEND_ERROR "${file}: #include ${line}: expected '${words}', "
                       "said '${said}'")
  endif()
endfunction()

accepts(ir/a.c "\"base/b.h\"")
accepts(ir/deep/a.c "\"ir/i.h\"")
accepts(vm/a.c "\"schedule/s.h\"")
accepts(base/a.c "<tessera/t.h>")
accepts(include/tessera/a.h "\"t.h\"")
accepts(lua/a.c "<lua.h>")
accepts(include/tessera/lua.h "<lua.h>")
accepts(lua/a.c "<tessera/lua.h>")
accepts(backends/a.c "<llvm-c/Core.h>")
accepts(schedule/a.c "<isl/set.h>")
refuses(ir/a.c "\"schedule/s.h\"" "ir/ may not include schedule/s.h")
refuses(base/a.c "\"ir/i.h\"" "base/ may not include ir/i.h")
refuses(schedule/a.h "\"vm/v.h\"" "schedule/ may not include vm/v.h")
refuses(backends/a.c "\"schedule/s.h\"" "backends/ may not include")
refuses(lua/a.c "\"base/b.h\"" "lua/ may not include base/b.h")
refuses(include/tessera/a.h "\"base/b.h\"" "include/ may not include")

# Rooms of a layer.
accepts(search/candidate/a.c "\"search/feature/f.h\"")
accepts(search/run/a.c "\"search/candidate/c.h\"")
accepts(search/run/a.c "\"search/run/r.h\"")
accepts(search/feature/a.c "\"vm/v.h\"")
refuses(search/feature/a.c "\"search/candidate/c.h\""
        "search/feature/ may not include search/candidate/c.h")
refuses(search/candidate/a.h "\"search/run/r.h\""
        "search/candidate/ may not include search/run/r.h")
refuses(search/feature/a.c "\"schedule/none.h\"" "there is no")
refuses(ir/a.c "\"i.h\"" "\"i.h\" is not a path from the root")
refuses(ir/a.c "\"ir/none.h\"" "there is no ir/none.h")
refuses(vm/a.c "<lua.h>" "<lua.h> may be included in lua/ only")
refuses(search/run/a.c "<tessera/lua.h>" "<tessera/lua.h> may be included in lua/")
refuses(vm/a.c "<llvm-c/Core.h>" "<llvm-c/Core.h> may be included in backends")
refuses(ir/a.c "<isl/set.h>" "<isl/set.h> may be included in schedule")
refuses(vm/a.c "<ir/i.h>" "write \"ir/i.h\" in quotes")
refuses(vm/a.c "<lua5.4/lua.h>" "<lua5.4/lua.h> may be included in lua/ only")

# Lines that could hide an include, and Lua files.
function(refuses_line file line words)
  fresh_tree()
  file(WRITE ${TREE}/${file} "/* one\n * two */\n${line}\n")
  check()
  if(NOT result OR NOT said MATCHES "${file}:3: ${words}")
    message(SEND_ERROR "${file}: ${line}: expected '${words}', said '${said}'")
  endif()
endfunction()

# What stands in no room, or in one that the table has not.
foreach(file search/a.c search/other/a.c)
  fresh_tree()
  file(WRITE ${TREE}/${file} "\n")
  check()
  if(NOT result OR NOT said MATCHES "it is none of the rooms of search/")
    message(SEND_ERROR "${file}: expected a refusal, said '${said}'")
  endif()
endforeach()

set(from "\"schedule/s.h\"")
foreach(line "#/**/include ${from}" "/* x */ #include ${from}"
        "*/ #include ${from}" "#inc\\\nlude ${from}" "#\\\ninclude ${from}"
        "#import ${from}" "#include_next ${from}" "%:include ${from}"
        "#include HIDDEN_HEADER" "#include /**/ ${from}")
  refuses_line(ir/a.c "${line}" "write this directive plainly")
endforeach()
foreach(name modules.auto_inline tessera.modules.auto_inline modules.
        tessera.steps.nests tessera.tiling tessera.open)
  refuses_line(stdlib/lang/a.lua "local m = require(\"${name}\")"
               "lang/ may not require \"${name}\"")
endforeach()
refuses_line(stdlib/search/a.lua "require('tessera.reference.pages')"
             "search/ may not require \"tessera.reference.pages\"")
refuses_line(stdlib/tiling.lua "require 'tessera.search.tasks'"
             "steps/ may not require \"tessera.search.tasks\"")
refuses_line(modules/a.lua "local x = require(\"socket\")"
             "modules/ may not require \"socket\"")
refuses_line(modules/a.lua "local x = require \"tessera.graph\""
             "modules/ may not require \"tessera.graph\"")

# What lies at the top of stdlib/ belongs to a room.
foreach(pair "modules/a.lua:tessera.tiling" "modules/a.lua:tessera.modules.b"
        "stdlib/steps/a.lua:tessera.tiling" "stdlib/tensor.lua:tessera.lang.a"
        "stdlib/search/a.lua:tessera.modules.spaces" "stdlib/ops.lua:tessera")
  fresh_tree()
  string(REPLACE ":" ";" pair ${pair})
  list(POP_FRONT pair file name)
  file(WRITE ${TREE}/${file} "local a = require \"${name}\"\n")
  check()
  if(result)
    message(SEND_ERROR "${file}: require ${name} was refused: ${said}")
  endif()
endforeach()
fresh_tree()
file(WRITE ${TREE}/stdlib/other.lua "\n")
check()
if(NOT result OR NOT said MATCHES "in none of the rooms of stdlib/")
  message(SEND_ERROR "stdlib/other.lua: expected a refusal, said '${said}'")
endif()
file(REMOVE_RECURSE ${TREE})
