# SPDX-License-Identifier: Apache-2.0
# What a preset chooses, and the flags that every file is compiled with.

set(TESS_SANITIZE "" CACHE STRING "address | thread | empty")
option(TESS_CHECKED "Verify the program and every cached fact after each edit"
       OFF)
# Off while layers are being built: what is declared may come later than its
# first use, and a program that does not call it links and runs.
option(TESS_NO_UNDEFINED "Refuse programs with undefined symbols" ON)
option(TESS_FUZZ "Build tests/fuzz as libFuzzer targets (clang)" OFF)

# The ABI's; what the test api.abi refuses wants another (CONTRIBUTING.md).
set(TESS_SOVERSION 1)

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -DNDEBUG")
set(TESS_DEBUG_FLAGS "-Og -g3" CACHE STRING "How debug builds are compiled")
set(CMAKE_C_FLAGS_DEBUG "${TESS_DEBUG_FLAGS}")

# Contraction is off so that the oracle's arithmetic is the one written.
add_compile_options(-fno-math-errno -ffp-contract=off -fno-omit-frame-pointer)
add_compile_definitions(_GNU_SOURCE TESS_CHECKED=$<BOOL:${TESS_CHECKED}>)
set(THREADS_PREFER_PTHREAD_FLAG ON)

# Some 250 programs are linked from the same objects, which a faster linker
# does in a fraction of the time.
find_program(TESS_MOLD mold)
if(TESS_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

if(TESS_SANITIZE STREQUAL "address")
  set(sanitize -fsanitize=address,undefined -fno-sanitize-recover=all)
elseif(TESS_SANITIZE STREQUAL "thread")
  set(sanitize -fsanitize=thread)
elseif(TESS_SANITIZE)
  message(FATAL_ERROR "TESS_SANITIZE is '${TESS_SANITIZE}', "
                      "not 'address', 'thread' or empty")
endif()
if(TESS_FUZZ)
  list(APPEND sanitize -fsanitize=fuzzer-no-link)
endif()
add_compile_options(${sanitize})
add_link_options(${sanitize})
if(NOT TESS_NO_UNDEFINED)
  string(APPEND CMAKE_EXE_LINKER_FLAGS
         " -no-pie -Wl,--unresolved-symbols=ignore-all")
endif()
