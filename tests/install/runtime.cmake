# SPDX-License-Identifier: Apache-2.0
# Writes the runtime of saved kernels as one C file, compiles it as strictly as
# a host might, and runs a kernel with a parallel loop on it.
#   cmake -DBUILD=.. -DROOT=<source tree> -DCC=.. -P runtime.cmake
cmake_minimum_required(VERSION 3.25)
set(work ${BUILD}/runtime_test)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})

function(run)
  execute_process(COMMAND ${ARGV} OUTPUT_VARIABLE said ERROR_VARIABLE said
                  RESULT_VARIABLE result WORKING_DIRECTORY ${work})
  if(result)
    list(JOIN ARGV " " command)
    message(FATAL_ERROR "${command}: ${result}\n${said}")
  endif()
  set(said "${said}" PARENT_SCOPE)
endfunction()

run(${ROOT}/scripts/runtime ${work})
run(${BUILD}/bin/tessera ${ROOT}/tests/install/runtime.lua
    ${ROOT}/examples/deploy.lua matmul.o)
run(nm -u matmul.o)
if(said MATCHES "tess")
  message(FATAL_ERROR "a saved kernel wants of Tessera: ${said}")
endif()
find_program(CXX NAMES g++ clang++ clang++-14)
if(CXX)
  run(${CXX} -Wall -Wextra -Werror -fsyntax-only -x c++ tessera_runtime.h)
endif()
run(${CC} -Wall -Wextra -Wpedantic -Werror -std=c11 -O2 -I.
    ${ROOT}/examples/run_kernel.c tessera_runtime.c matmul.o -o run -pthread)
foreach(threads 1 3)
  run(${CMAKE_COMMAND} -E env OMP_NUM_THREADS=${threads} ./run)
  if(NOT said STREQUAL "C[3, 5] is right\n")
    message(FATAL_ERROR "with ${threads} threads run said '${said}'")
  endif()
endforeach()
file(REMOVE_RECURSE ${work})
