# SPDX-License-Identifier: Apache-2.0
# What Tessera links to: Debian packages of scripts/packages.txt.  Each
# becomes one imported target, linked only where it is used.
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(jansson REQUIRED IMPORTED_TARGET jansson)
pkg_check_modules(sqlite3 REQUIRED IMPORTED_TARGET sqlite3)
pkg_check_modules(hwloc REQUIRED IMPORTED_TARGET hwloc)
pkg_check_modules(xxhash REQUIRED IMPORTED_TARGET libxxhash)
pkg_check_modules(isl REQUIRED IMPORTED_TARGET isl)
pkg_check_modules(protobuf_c REQUIRED IMPORTED_TARGET libprotobuf-c)
find_program(PROTOC_C NAMES protoc-c REQUIRED)
pkg_check_modules(lua REQUIRED IMPORTED_TARGET lua5.4)
pkg_check_modules(edit REQUIRED IMPORTED_TARGET libedit)
find_path(PQ_INCLUDE libpq-fe.h PATH_SUFFIXES postgresql REQUIRED)
find_path(RANDOM123_INCLUDE Random123/philox.h REQUIRED)

# The C API of the distribution's one shared libLLVM.
find_program(LLVM_CONFIG NAMES llvm-config-19 REQUIRED)
function(llvm_config out what)
  execute_process(COMMAND ${LLVM_CONFIG} ${what} OUTPUT_VARIABLE text
                  OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  set(${out} "${text}" PARENT_SCOPE)
endfunction()
llvm_config(llvm_include --includedir)
llvm_config(llvm_libdir --libdir)
llvm_config(llvm_version --version)
if(NOT llvm_version MATCHES "^19\\.")
  message(FATAL_ERROR "Tessera needs LLVM 19; ${LLVM_CONFIG} is ${llvm_version}")
endif()
find_library(LLVM_LIBRARY NAMES LLVM-19 LLVM PATHS ${llvm_libdir}
             NO_DEFAULT_PATH REQUIRED)
add_library(deps_llvm INTERFACE)
target_include_directories(deps_llvm SYSTEM INTERFACE ${llvm_include})
target_link_libraries(deps_llvm INTERFACE ${LLVM_LIBRARY})

add_library(deps_core INTERFACE)
target_link_libraries(deps_core INTERFACE
  PkgConfig::jansson PkgConfig::xxhash Threads::Threads m)
target_include_directories(deps_core SYSTEM INTERFACE ${RANDOM123_INCLUDE})
