# SPDX-License-Identifier: Apache-2.0
# Installs into a folder of its own, and builds and runs a host against it:
# by pkg-config, shared and static, and by find_package; and looks at what
# the libraries export.
#   cmake -DBUILD=.. -DSOURCE=<this folder> -DCC=.. -DNM=.. -P run.cmake
cmake_minimum_required(VERSION 3.25)
set(inst ${BUILD}/install_test/prefix)
set(work ${BUILD}/install_test/work)
file(REMOVE_RECURSE ${BUILD}/install_test)
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

function(pkg_config out)
  run(pkg-config ${ARGN} tessera)
  separate_arguments(said UNIX_COMMAND "${said}")
  set(${out} ${said} PARENT_SCOPE)
endfunction()

# It runs, with the further arguments, and says its version.
function(expect_version program)
  run(${program} ${ARGN})
  if(NOT said MATCHES "^tessera [0-9]+\\.[0-9]+\\.[0-9]+\n$")
    message(FATAL_ERROR "${program} said '${said}'")
  endif()
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${inst})
file(GLOB_RECURSE pc ${inst}/*/tessera.pc)
get_filename_component(pc_dir ${pc} DIRECTORY)
get_filename_component(lib_dir ${pc_dir} DIRECTORY)
set(ENV{PKG_CONFIG_PATH} ${pc_dir})
# What holds the static library looks beside itself, where the worker is not.
file(GLOB_RECURSE worker ${inst}/*/tessera-worker)

pkg_config(flags --cflags --libs)
run(${CC} ${SOURCE}/consumer.c -o shared ${flags} -Wl,-rpath,${lib_dir})
expect_version(${work}/shared)
run(${CC} -Wall -Wextra -Werror ${SOURCE}/../../examples/embed.c -o embed ${flags}
    -Wl,-rpath,${lib_dir})
run(${work}/embed 4)
if(NOT said MATCHES "C\\[3, 5\\] is right")
  message(FATAL_ERROR "embed said '${said}'")
endif()
run(${CC} -Wall -Wextra -Werror ${SOURCE}/../../examples/model.c -o model ${flags}
    -Wl,-rpath,${lib_dir})
run(${work}/model ${SOURCE}/../data/onnx/parts.onnx batch 2 4 ${work}/parts.so)
if(NOT said MATCHES "conv2d_nchw[a-z0-9_]*: [^\n]* after 4 trials\ny has 64 elements"
   OR NOT EXISTS ${work}/parts.h)
  message(FATAL_ERROR "model said '${said}'")
endif()

# Every header by itself, for strict C and, where there is one, for C++.
pkg_config(flags --cflags)
find_program(CXX NAMES g++ clang++ clang++-14)
file(GLOB headers RELATIVE ${inst}/include ${inst}/include/tessera/*.h)
# options.h is the part of tune.h that the build writes.
list(REMOVE_ITEM headers tessera/lua.h tessera/options.h)
foreach(header ${headers})
  file(WRITE ${work}/header.c "#include <${header}>\nint main(void);\n")
  run(${CC} -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only ${flags}
      header.c)
  if(CXX)
    run(${CXX} -Wall -Wextra -Werror -fsyntax-only ${flags} -x c++ header.c)
  endif()
endforeach()
if(CXX)
  file(WRITE ${work}/init.cc "extern \"C\" {\n#include <tessera/tessera.h>\n}\n"
    "int main() {\n  tess_timing t = TESS_INIT(tess_timing);\n"
    "  return t.runs != 0 || t.struct_size != sizeof t;\n}\n")
  run(${CXX} -Wall -Wextra -Werror -fsyntax-only ${flags} init.cc)
endif()
pkg_config(flags --cflags --libs --static)
list(TRANSFORM flags REPLACE "^-ltessera$" "${lib_dir}/libtessera.a")
run(${CC} ${SOURCE}/consumer.c -o static ${flags})
set(ENV{TESSERA_SPACES} ${lib_dir}/libtessera-spaces.so)
expect_version(${work}/static ${worker})
set(ENV{TESSERA_WORKER} ${worker})
expect_version(${work}/static)
set(ENV{TESSERA_WORKER})
set(ENV{TESSERA_SPACES})
file(REAL_PATH ${work} beside)
execute_process(COMMAND ${work}/static OUTPUT_VARIABLE said
                ERROR_VARIABLE said RESULT_VARIABLE result)
if(NOT EXISTS /usr/local/libexec/tessera-worker AND
   (NOT result OR NOT said MATCHES "there is no worker: no executable file"
    OR NOT said MATCHES "'${beside}/../libexec/tessera-worker'"))
  message(FATAL_ERROR "without a worker static said '${said}'")
endif()

run(${CMAKE_COMMAND} -S ${SOURCE} -B ${work}/cmake
    -DCMAKE_PREFIX_PATH=${inst} -DCMAKE_C_COMPILER=${CC})
run(${CMAKE_COMMAND} --build ${work}/cmake)
expect_version(${work}/cmake/with_shared)
set(ENV{TESSERA_SPACES} ${lib_dir}/libtessera-spaces.so)
expect_version(${work}/cmake/with_static ${worker})
set(ENV{TESSERA_SPACES})

# What documents say is there.
foreach(file share/tessera/library/tessera.d.lua share/doc/tessera/README.md
        share/doc/tessera/docs/embedding.md)
  if(NOT EXISTS ${inst}/${file})
    message(FATAL_ERROR "there is no ${file}")
  endif()
endforeach()

run(${inst}/bin/tessera doc libexec)
if(NOT said MATCHES "docs/measuring.md, line ")
  message(FATAL_ERROR "the chapters are not found: '${said}'")
endif()

# Only tess_* may be seen, in both.
foreach(args "-D;--defined-only;${lib_dir}/libtessera.so"
             "-g;--defined-only;${lib_dir}/libtessera.a")
  run(${NM} ${args})
  string(REGEX MATCHALL "[0-9a-f]+ [A-Z] [^\n]+" symbols "${said}")
  list(FILTER symbols EXCLUDE REGEX " [A-Z] (tess_|TESSERA_1)")
  if(symbols)
    list(JOIN symbols "\n" symbols)
    message(FATAL_ERROR "exported and not tess_*:\n${symbols}")
  endif()
endforeach()

# The Lua module, by stock Lua and by the command, with every Lua file.
file(GLOB_RECURSE module ${inst}/*/lua/5.4/tessera.so)
set(scripts ${inst}/share/lua/5.4)
file(GLOB_RECURSE names RELATIVE ${scripts} ${scripts}/*.lua)
list(TRANSFORM names REPLACE "\\.lua$" "")
list(TRANSFORM names REPLACE "/" ".")
if(module)
  get_filename_component(module_dir ${module} DIRECTORY)
  run(${CMAKE_COMMAND} -E env LUA_PATH=${scripts}/?.lua
      LUA_CPATH=${module_dir}/?.so lua5.4 ${SOURCE}/stock.lua ${names})
endif()
# A host that opens it in a Lua state of its own.
if(module)
  run(pkg-config --cflags --libs lua5.4)
  separate_arguments(lua UNIX_COMMAND "${said}")
  pkg_config(flags --cflags --libs)
  run(${CC} ${SOURCE}/host.c -o host ${module} ${flags} ${lua}
      -Wl,-rpath,${lib_dir} -Wl,-rpath,${module_dir})
  run(${work}/host)
endif()
if(EXISTS ${inst}/bin/tessera)
  run(${inst}/bin/tessera ${SOURCE}/stock.lua ${names})
endif()

# With DESTDIR, and nothing but PATH and LD_LIBRARY_PATH: the example of
# docs/installing.md, and one of those that are installed.
if(EXISTS ${inst}/bin/tessera)
  file(REMOVE_RECURSE ${inst})
  run(${CMAKE_COMMAND} -E env DESTDIR=${work}/destdir
      ${CMAKE_COMMAND} --install ${BUILD})
  file(GLOB_RECURSE command ${work}/destdir/tessera)
  list(FILTER command INCLUDE REGEX "/bin/tessera$")
  file(GLOB_RECURSE library ${work}/destdir/libtessera.so)
  file(GLOB_RECURSE example ${work}/destdir/matmul.lua)
  cmake_path(GET command PARENT_PATH bin)
  cmake_path(GET library PARENT_PATH lib)
  set(bare env -i PATH=${bin}:$ENV{PATH} LD_LIBRARY_PATH=${lib})
  run(${bare} tessera ${SOURCE}/block.lua ${SOURCE}/../../docs/installing.md
      "Ten lines of Lua")
  if(NOT said MATCHES "GFLOP/s after 16 trials")
    message(FATAL_ERROR "the example said '${said}'")
  endif()
  run(${bare} tessera ${example} 2)
endif()
file(REMOVE_RECURSE ${BUILD}/install_test)
