# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where.  The Lua files go where stock lua5.4
# looks under the same prefix; docs/architecture.md lists the layout.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tessera)
set(lua_module_dir ${CMAKE_INSTALL_LIBDIR}/lua/5.4)
set(lua_script_dir ${CMAKE_INSTALL_DATADIR}/lua/5.4)

install(TARGETS tessera EXPORT tessera
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(FILES ${static_library} DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/tessera DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${primitives_header} ${options_header}
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tessera)
if(TARGET tessera_lua)
  install(TARGETS tessera_lua LIBRARY DESTINATION ${lua_module_dir})
endif()
if(TARGET tessera_spaces)
  install(TARGETS tessera_spaces LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET tessera_command)
  install(TARGETS tessera_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()
if(TARGET tessera_worker)
  install(TARGETS tessera_worker
          RUNTIME DESTINATION ${CMAKE_INSTALL_LIBEXECDIR})
endif()
get_property(runners GLOBAL PROPERTY TESS_RUNNERS)
install(PROGRAMS ${runners} DESTINATION ${CMAKE_INSTALL_LIBEXECDIR})
if(TARGET tessera_gsl)
  install(TARGETS tessera_gsl
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/tessera)
endif()
install(DIRECTORY stdlib/ DESTINATION ${lua_script_dir}/tessera
        FILES_MATCHING PATTERN "*.lua" PATTERN "*.html" PATTERN "*.css"
        PATTERN "*.js")
install(DIRECTORY modules DESTINATION ${lua_script_dir}/tessera
        FILES_MATCHING PATTERN "*.lua")
install(DIRECTORY ${TESS_LUA_DIR}/modules DESTINATION ${lua_script_dir}
        FILES_MATCHING PATTERN "*.lua")
install(FILES LICENSE NOTICE README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
if(TARGET tessera_command)
  install(FILES ${TESS_LUA_STUBS}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera/library)
  install(FILES ${TESS_MAN} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
  install(FILES ${TESS_BASH}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
  install(FILES ${TESS_ZSH}
          DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()

# All that is installed, for packages, which want no tests and benches.
add_custom_target(product)
foreach(target tessera tessera_static primitives tessera_lua tessera_spaces
        tessera_command tessera_worker tessera_gsl stubs)
  if(TARGET ${target})
    add_dependencies(product ${target})
  endif()
endforeach()
get_property(runner_targets GLOBAL PROPERTY TESS_RUNNER_TARGETS)
add_dependencies(product ${runner_targets})

# The runtime of saved kernels, for hosts that compile it in.
set(runtime_dir ${CMAKE_BINARY_DIR}/share/tessera/runtime)
set(runtime_files ${runtime_dir}/tessera_runtime.c
                  ${runtime_dir}/tessera_runtime.h)
add_custom_command(
  OUTPUT ${runtime_files}
  COMMAND ${CMAKE_SOURCE_DIR}/scripts/runtime ${runtime_dir}
  DEPENDS scripts/runtime backends/llvm/saved/pool.c include/tessera/kernel.h
          include/tessera/tessera.h
  VERBATIM COMMENT "Writing the runtime of saved kernels")
add_custom_target(runtime ALL DEPENDS ${runtime_files})
add_dependencies(product runtime)
install(FILES ${runtime_files}
        DESTINATION ${CMAKE_INSTALL_DATADIR}/tessera/runtime)

# For linking libtessera.a, which says nothing of what it needs itself.
set(TESS_STATIC_LIBS
    "-ljansson -lxxhash -lisl -lsqlite3 -lhwloc -lprotobuf-c ${LLVM_LIBRARY} -lpthread -ldl -lm")
file(RELATIVE_PATH prefix_from_pkgconfig
     ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
string(REGEX REPLACE "/$" "" prefix_from_pkgconfig ${prefix_from_pkgconfig})
configure_file(cmake/tessera.pc.in ${CMAKE_BINARY_DIR}/tessera.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/tessera.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# find_package finds tessera-config.cmake as "tessera" and as "Tessera".
install(EXPORT tessera NAMESPACE tessera:: FILE tessera-targets.cmake
        DESTINATION ${package_dir})
configure_package_config_file(
  cmake/tessera-config.cmake.in ${CMAKE_BINARY_DIR}/tessera-config.cmake
  INSTALL_DESTINATION ${package_dir} PATH_VARS CMAKE_INSTALL_LIBDIR
  CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(
  ${CMAKE_BINARY_DIR}/tessera-config-version.cmake
  COMPATIBILITY SameMajorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tessera-config.cmake
              ${CMAKE_BINARY_DIR}/tessera-config-version.cmake
        DESTINATION ${package_dir})
