# SPDX-License-Identifier: Apache-2.0
# What is loaded at run time: lib/tessera/gsl.so, linked with GSL (GPL-3), so
# that libtessera is not.  Where GSL is not installed it is left out, and what
# needs it is refused by name.
set(TESS_PLUGIN_DIR ${CMAKE_INSTALL_FULL_LIBDIR}/tessera)
target_compile_definitions(tess_search PRIVATE
  TESS_PLUGINS="${TESS_PLUGIN_DIR}")
pkg_check_modules(gsl IMPORTED_TARGET gsl)
if(gsl_FOUND)
  file(GLOB gsl_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/search/gsl/*.c)
  add_library(tessera_gsl MODULE ${gsl_sources})
  set_target_properties(tessera_gsl PROPERTIES
    OUTPUT_NAME gsl PREFIX ""
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/tessera)
  target_include_directories(tessera_gsl PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(tessera_gsl PRIVATE PkgConfig::gsl m)
  add_dependencies(tessera_gsl layers)
else()
  message(STATUS "GSL is not there: lib/tessera/gsl.so is left out")
endif()
