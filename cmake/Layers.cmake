# SPDX-License-Identifier: Apache-2.0
# The layers: every .c below a layer's folder, less the programs' mains and
# what only tests link, and what is compiled to IR (scripts/saved-pool).

# The public header that is made from the options' declarations, before all
# else.
set(options_header ${CMAKE_BINARY_DIR}/include/tessera/options.h)
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include/tessera)
add_executable(tess_options search/run/options_main.c)
set_target_properties(tess_options PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/internal)
target_include_directories(tess_options PRIVATE ${CMAKE_SOURCE_DIR}/include)
add_custom_command(
  OUTPUT ${options_header}
  COMMAND tess_options ${options_header}
  DEPENDS tess_options VERBATIM COMMENT "Writing tessera/options.h")
add_custom_target(options ALL DEPENDS ${options_header})
add_dependencies(layers options)

# tess_layer(NAME [LIB...]): object library tess_NAME that sees LIB's headers.
function(tess_layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
       ${CMAKE_SOURCE_DIR}/${name}/*.c)
  list(FILTER sources EXCLUDE REGEX "(^|/|_)main[^/]*\\.c$|^base/fault\\.c$|^search/gsl/|^backends/llvm/saved/")
  if(NOT sources)
    return()
  endif()
  add_library(tess_${name} OBJECT ${sources})
  target_include_directories(tess_${name} PRIVATE
    ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include
    ${CMAKE_BINARY_DIR}/include)
  target_link_libraries(tess_${name} PRIVATE ${ARGN})
  add_dependencies(tess_${name} layers)
  set_property(GLOBAL APPEND PROPERTY TESS_LAYERS tess_${name})
endfunction()

tess_layer(base deps_core)
# What tess_build_info() and tess_build_option() say.
string(CONCAT build_info
  "tessera ${PROJECT_VERSION}, LLVM ${llvm_version}, "
  "hwloc ${hwloc_VERSION}, isl ${isl_VERSION}, jansson ${jansson_VERSION}, "
  "SQLite ${sqlite3_VERSION}, xxHash ${xxhash_VERSION}, "
  "${CMAKE_C_COMPILER_ID} ${CMAKE_C_COMPILER_VERSION}, ${CMAKE_BUILD_TYPE}")
set(checked no)
if(TESS_CHECKED)
  set(checked yes)
endif()
set(sanitizer none)
if(TESS_SANITIZE)
  set(sanitizer ${TESS_SANITIZE})
endif()
configure_file(cmake/build_options.inc.in
               ${CMAKE_BINARY_DIR}/include/build_options.inc @ONLY)
tess_layer(ir deps_core)
tess_layer(lower deps_core)
tess_layer(schedule deps_core PkgConfig::isl)
tess_layer(backends deps_core deps_llvm)
tess_layer(vm deps_core)
tess_layer(measure deps_core PkgConfig::hwloc)
# libpq and libsodium are loaded when a fleet is used; their headers alone are
# needed here.
tess_layer(fleet deps_core)
target_include_directories(tess_fleet SYSTEM PRIVATE ${PQ_INCLUDE})
set(fleet_sql ${CMAKE_SOURCE_DIR}/fleet/schema.sql)
set_property(SOURCE ${CMAKE_SOURCE_DIR}/fleet/schema.c APPEND PROPERTY
             COMPILE_DEFINITIONS "FLEET_SCHEMA_SQL=\"${fleet_sql}\"")
set_property(SOURCE ${CMAKE_SOURCE_DIR}/fleet/schema.c APPEND PROPERTY
             OBJECT_DEPENDS ${fleet_sql})
tess_layer(search deps_core PkgConfig::sqlite3 PkgConfig::hwloc)
tess_layer(graph deps_core PkgConfig::protobuf_c)
# Structs of ONNX files, made of its schema.
set(onnx_dir ${CMAKE_BINARY_DIR}/onnx)
file(MAKE_DIRECTORY ${onnx_dir})
add_custom_command(
  OUTPUT ${onnx_dir}/onnx.pb-c.c ${onnx_dir}/onnx.pb-c.h
  COMMAND ${PROTOC_C} --proto_path=${CMAKE_SOURCE_DIR}/graph/onnx
          --c_out=${onnx_dir} onnx.proto
  DEPENDS ${CMAKE_SOURCE_DIR}/graph/onnx/onnx.proto
  COMMENT "Writing the structs of ONNX files" VERBATIM)
target_sources(tess_graph PRIVATE ${onnx_dir}/onnx.pb-c.c)
set_property(SOURCE ${onnx_dir}/onnx.pb-c.c PROPERTY COMPILE_OPTIONS -w)
target_include_directories(tess_graph PRIVATE ${onnx_dir})
# A part of the source of saved models.
set(workspace ${CMAKE_SOURCE_DIR}/graph/workspace.h)
set_property(SOURCE ${CMAKE_SOURCE_DIR}/graph/save.c APPEND PROPERTY
             COMPILE_DEFINITIONS "GRAPH_WORKSPACE=\"${workspace}\"")
set_property(SOURCE ${CMAKE_SOURCE_DIR}/graph/save.c APPEND PROPERTY
             OBJECT_DEPENDS ${workspace})
get_property(TESS_LAYERS GLOBAL PROPERTY TESS_LAYERS)

# Where libexec is, seen from the folder of libtessera.so, and by itself.
if(TARGET tess_measure)
  file(RELATIVE_PATH libexec_from_lib
       ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_LIBEXECDIR})
  target_compile_definitions(tess_measure PRIVATE
    TESS_LIBEXEC_FROM_LIB="${libexec_from_lib}"
    TESS_LIBEXEC="${CMAKE_INSTALL_FULL_LIBEXECDIR}")
endif()
if(TARGET tess_search)
  target_compile_definitions(tess_search PRIVATE
    TESS_LIBDIR="${CMAKE_INSTALL_FULL_LIBDIR}")
endif()

# What whoever holds the layers' objects links; --as-needed, so that a
# program that never compiles does not load libLLVM.
add_library(deps_all INTERFACE)
target_link_libraries(deps_all INTERFACE -Wl,--as-needed
  deps_core PkgConfig::isl PkgConfig::sqlite3 PkgConfig::hwloc
  PkgConfig::protobuf_c ${LLVM_LIBRARY}
  ${CMAKE_DL_LIBS})
