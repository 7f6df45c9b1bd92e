# SPDX-License-Identifier: Apache-2.0
# Refuses an include between layers that the table below does not allow.
#   cmake -DROOT=<source tree> -P check_layers.cmake
# Every quoted include names its file from the root of the tree
# ("ir/ir.h"); include/tessera/ is open to every layer; tests and bench may
# include anything and are not looked at.  An include that is written so that
# it could hide (a macro's name, a comment before it, a line that goes on) is
# refused, whatever it includes.  Of Lua files, every `require` of a name.
cmake_minimum_required(VERSION 3.25)

# allow_<layer>: the layers it may include, besides itself.
set(layers base ir lower schedule backends vm measure fleet search graph lua include)
set(allow_base)
set(allow_ir base)
set(allow_schedule base ir)
set(allow_lower base ir)
set(allow_backends base ir lower)
set(allow_vm base ir schedule)
set(allow_measure base ir lower vm backends)
set(allow_fleet base ir vm measure)
set(allow_search base ir schedule vm measure fleet)
set(allow_graph base ir lower backends vm measure search)
set(allow_lua)
set(allow_include)

# The rooms of a layer that has some, and allow_<layer>_<room>: those that each
# may include, besides itself.
set(rooms_search feature gsl postproc candidate mutator model strategy space
    database run tasks)
set(allow_search_feature)
set(allow_search_gsl)
set(allow_search_postproc)
set(allow_search_candidate feature postproc)
set(allow_search_mutator candidate)
set(allow_search_model candidate feature gsl)
set(allow_search_strategy candidate gsl model mutator)
set(allow_search_space postproc)
set(allow_search_database)
set(allow_search_run candidate database feature model space strategy)
set(allow_search_tasks candidate run)

# Headers that belong to one layer: pattern, then the layer.  Lua's are also
# included by the public header for hosts with a Lua state of their own.
set(owned_headers
  "(^|/)(lua|lauxlib|lualib|luaconf)\\.h(pp)?$" lua
  "^llvm-c/" backends
  "^gsl/" search
  "^(libpq-fe|sodium)\\.h$" fleet
  "^isl/" schedule
  "^(protobuf-c/|onnx\\.pb-c\\.h$)" graph)

set(bad "")
function(complain file line text)
  set(bad "${bad}${file}:${line}: ${text}\n" PARENT_SCOPE)
endfunction()

# A quoted include: from the root of the tree, on an allowed edge.
macro(check_quoted layer file line target)
  string(REGEX MATCH "^[^/]*" to "${target}")
  if("${layer}" STREQUAL "include" AND EXISTS "${ROOT}/include/tessera/${target}")
    # beside it, in the public header
  elseif(NOT to IN_LIST layers OR "${to}" STREQUAL "${target}")
    complain(${file} ${line} "\"${target}\" is not a path from the root of the tree, as \"ir/ir.h\" is")
  elseif(NOT EXISTS "${ROOT}/${target}")
    complain(${file} ${line} "there is no ${target}")
  elseif(NOT "${to}" STREQUAL "${layer}" AND NOT to IN_LIST allow_${layer})
    string(REPLACE ";" ", " may "${allow_${layer}}")
    if(may STREQUAL "")
      set(may "none but itself and include/tessera/")
    endif()
    complain(${file} ${line} "${layer}/ may not include ${target} (layers it may use: ${may})")
  endif()
endmacro()

# Within a layer that has rooms: from a room, on an allowed edge.
macro(check_rooms layer file line target)
  if(rooms_${layer} AND "${target}" MATCHES "^${layer}/")
    string(REGEX REPLACE "^${layer}/(([^/]*)/)?.*" "\\2" from_room "${file}")
    string(REGEX REPLACE "^${layer}/(([^/]*)/)?.*" "\\2" to_room "${target}")
    if(NOT to_room STREQUAL from_room AND
       NOT to_room IN_LIST allow_${layer}_${from_room})
      string(REPLACE ";" ", " may "${allow_${layer}_${from_room}}")
      if(may STREQUAL "")
        set(may "none but itself")
      endif()
      complain(${file} ${line} "${layer}/${from_room}/ may not include ${target} (rooms it may use: ${may})")
    endif()
  endif()
endmacro()

macro(check_angled layer file line target)
  if("${target}" MATCHES "^(base|ir|lower|schedule|backends|vm|measure|fleet|search|graph|lua)/")
    complain(${file} ${line} "write \"${target}\" in quotes: the layers' headers are quoted")
  endif()
  set(rest ${owned_headers})
  while(rest)
    list(POP_FRONT rest pattern owner)
    if("${target}" MATCHES "${pattern}" AND NOT "${layer}" STREQUAL "${owner}"
       AND NOT "${file}" STREQUAL "include/tessera/lua.h")
      complain(${file} ${line} "<${target}> may be included in ${owner}/ only")
    endif()
  endwhile()
endmacro()

macro(check_line layer file line text)
  if("${text}" MATCHES "^[ \t]*#[ \t]*include[ \t]*\"([^\"]*)\"")
    set(quoted "${CMAKE_MATCH_1}")
    check_quoted(${layer} ${file} ${line} "${quoted}")
    check_rooms(${layer} ${file} ${line} "${quoted}")
  elseif("${text}" MATCHES "^[ \t]*#[ \t]*include[ \t]*<([^>]*)>")
    check_angled(${layer} ${file} ${line} "${CMAKE_MATCH_1}")
  endif()
endmacro()

# Directives that are neither plain ones nor plain includes.
set(directive "^[ \t]*(.*\\*/[ \t]*)?(#|%:|\\?\\?=)")
string(CONCAT plain "^[ \t]*#[ \t]*(define|undef|if|ifdef|ifndef|elif|else|"
              "endif|pragma|error|include[ \t]*(\"[^\"]*\"|<[^>]*>))([^a-z_]|$)")

macro(check_hidden file)
  file(STRINGS "${ROOT}/${file}" lines REGEX "${directive}")
  list(FILTER lines EXCLUDE REGEX "${plain}")
  foreach(text IN LISTS lines)
    number_of(line ${file} "${text}")
    complain(${file} ${line} "write this directive plainly: ${text}")
  endforeach()
endmacro()

# Lua: the rooms of stdlib/, and what each may require, besides "tessera" and
# itself.  "tessera.ROOM.NAME" is of a room, and so is the file that users
# require, "tessera.ROOM", which lies beside it, or one of door_NAME.  "modules"
# is the folder modules/ but for its list and its default spaces, and "open"
# what `require "tessera"` loads.
set(lua_rooms lang ops intrin machines steps template search graph page step
    report records reference command open modules)
set(door_tensor intrin)
set(door_tiling steps)
set(allow_lua_lang list)
set(allow_lua_ops lang)
set(allow_lua_intrin lang)
set(allow_lua_machines lang)
set(allow_lua_steps lang intrin)
set(allow_lua_template lang steps)
set(allow_lua_search lang spaces)
set(allow_lua_graph lang ops)
set(allow_lua_page lang)
set(allow_lua_step lang page)
set(allow_lua_report lang page step)
set(allow_lua_records lang)
set(allow_lua_reference lang ops intrin step spaces)
set(allow_lua_command lang intrin graph step report records reference)
set(allow_lua_open lang search step graph)
set(allow_lua_modules lang intrin machines steps list)

# The room of a part of stdlib/, given as "ROOM/..." or "ROOM": "" for none.
macro(lua_room_of out part)
  string(REGEX MATCH "^[^/]*" ${out} "${part}")
  if(DEFINED door_${${out}})
    set(${out} ${door_${${out}}})
  endif()
  if("${part}" MATCHES "^modules/(list|spaces)$")
    set(${out} ${CMAKE_MATCH_1})
  endif()
endmacro()

macro(check_required room file name)
  string(REGEX REPLACE "^tessera\\." "" part "${name}")
  string(REPLACE "." "/" part "${part}")
  lua_room_of(to "${part}")
  if(NOT "${name}" STREQUAL "tessera" AND NOT "${to}" STREQUAL "${room}" AND
     NOT ("${name}" MATCHES "^tessera\\." AND
          "${to}" IN_LIST allow_lua_${room}))
    string(REPLACE ";" ", " may "${allow_lua_${room}}")
    number_of(line ${file} "${text}")
    complain(${file} ${line} "${room}/ may not require \"${name}\" (rooms it may use: ${may})")
  endif()
endmacro()

macro(check_requires room file)
  file(STRINGS "${ROOT}/${file}" lines REGEX "^[^-]*require *\\(?[\"'][^\"']*[\"']")
  foreach(text IN LISTS lines)
    string(REGEX MATCH "require *\\(?[\"']([^\"']*)[\"']" found "${text}")
    check_required(${room} ${file} "${CMAKE_MATCH_1}")
  endforeach()
endmacro()

# CMake can tell the number of a line only by reading every line, so files
# are first asked for their includes, and only a bad one is searched.
function(number_of out file text)
  file(READ "${ROOT}/${file}" whole)
  string(FIND "${whole}" "${text}" at)
  string(SUBSTRING "${whole}" 0 ${at} before)
  string(REGEX MATCHALL "\n" newlines "${before}")
  list(LENGTH newlines n)
  math(EXPR n "${n} + 1")
  set(${out} ${n} PARENT_SCOPE)
endfunction()

foreach(layer ${layers})
  if(rooms_${layer})
    file(GLOB there RELATIVE "${ROOT}/${layer}" "${ROOT}/${layer}/*")
    foreach(room ${there})
      if(NOT room IN_LIST rooms_${layer})
        complain(${layer}/${room} 1 "it is none of the rooms of ${layer}/")
      endif()
    endforeach()
  endif()
  file(GLOB_RECURSE files RELATIVE "${ROOT}"
       "${ROOT}/${layer}/*.c" "${ROOT}/${layer}/*.h" "${ROOT}/${layer}/*.def")
  foreach(file ${files})
    check_hidden(${file})
    file(STRINGS "${ROOT}/${file}" lines REGEX "^[ \t]*#[ \t]*include")
    foreach(text IN LISTS lines)
      set(before_bad "${bad}")
      check_line(${layer} ${file} 0 "${text}")
      if(NOT "${bad}" STREQUAL "${before_bad}")
        set(bad "${before_bad}")
        number_of(line ${file} "${text}")
        check_line(${layer} ${file} ${line} "${text}")
      endif()
    endforeach()
  endforeach()
endforeach()

file(GLOB_RECURSE files RELATIVE "${ROOT}"
     "${ROOT}/stdlib/*.lua" "${ROOT}/modules/*.lua")
foreach(file ${files})
  string(REGEX REPLACE "^stdlib/|\\.lua$" "" part "${file}")
  lua_room_of(room "${part}")
  if(NOT room IN_LIST lua_rooms)
    set(room modules)
    if(NOT file MATCHES "^modules/")
      complain(${file} 1 "it is in none of the rooms of stdlib/")
    endif()
  endif()
  check_requires(${room} ${file})
endforeach()

if(bad)
  message(FATAL_ERROR "An include goes against the order of the layers "
                      "(docs/architecture.md):\n${bad}")
endif()
