# SPDX-License-Identifier: Apache-2.0
# Makes the rock, offline, against a library that pkg-config finds, and runs
# the example of docs/installing.md with it.
#   cmake -DBUILD=.. -DROOT=<source tree> -DCC=.. -P rock.cmake
cmake_minimum_required(VERSION 3.25)
set(work ${BUILD}/rock_test)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work}/source)

function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE said ERROR_VARIABLE said
                  RESULT_VARIABLE result WORKING_DIRECTORY ${work}/source
                  OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(result)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}: ${result}\n${said}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
file(GLOB_RECURSE pc ${work}/prefix/*/tessera.pc)
get_filename_component(pc_dir ${pc} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${pc_dir})
run(pkg-config --variable=includedir tessera)
set(incdir ${said})
run(pkg-config --variable=libdir tessera)
set(libdir ${said})

# LuaRocks leaves objects beside their sources.
file(COPY ${ROOT}/lua ${ROOT}/stdlib ${ROOT}/modules DESTINATION ${work}/source)
file(COPY ${ROOT}/scripts/rockspec DESTINATION ${work}/source/scripts)
run(scripts/rockspec)
find_program(CCACHE ccache)
if(CCACHE)
  set(CC "${CCACHE} ${CC}")
endif()
run(luarocks --lua-version=5.4 --tree=${work}/tree make --deps-mode=none
    "CC=${CC}" TESSERA_INCDIR=${incdir} TESSERA_LIBDIR=${libdir})

# Nothing but the rock's own files.
file(REMOVE_RECURSE ${work}/source ${work}/prefix/lib/lua
     ${work}/prefix/share/lua)
file(MAKE_DIRECTORY ${work}/source)
run(${CMAKE_COMMAND} -E env LUA_PATH=${work}/tree/share/lua/5.4/?.lua
    LUA_CPATH=${work}/tree/lib/lua/5.4/?.so lua5.4
    ${ROOT}/tests/install/block.lua ${ROOT}/docs/installing.md
    "Ten lines of Lua")
if(NOT said MATCHES "GFLOP/s after 16 trials")
  message(FATAL_ERROR "the rock said '${said}'")
endif()
file(REMOVE_RECURSE ${work})
