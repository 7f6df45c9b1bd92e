# SPDX-License-Identifier: Apache-2.0
# The Lua module, the command, and the Lua files beside them.  The build
# tree's lib/lua is one folder for LUA_PATH and LUA_CPATH together:
#   lib/lua/tessera.so  lib/lua/tessera/: links to what is in stdlib/, and one
#   to modules/         lib/lua/modules/NAME.lua: "tessera.modules.NAME"
set(TESS_LUA_DIR ${CMAKE_BINARY_DIR}/lib/lua)
file(REMOVE_RECURSE ${TESS_LUA_DIR}/tessera ${TESS_LUA_DIR}/modules)
file(MAKE_DIRECTORY ${TESS_LUA_DIR}/tessera)
file(GLOB parts CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/stdlib
     ${CMAKE_SOURCE_DIR}/stdlib/*)
foreach(part ${parts})
  file(CREATE_LINK ${CMAKE_SOURCE_DIR}/stdlib/${part}
       ${TESS_LUA_DIR}/tessera/${part} SYMBOLIC)
endforeach()
file(CREATE_LINK ${CMAKE_SOURCE_DIR}/modules ${TESS_LUA_DIR}/tessera/modules
     SYMBOLIC)
file(GLOB modules CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}
     ${CMAKE_SOURCE_DIR}/modules/*.lua)
foreach(module ${modules})
  file(WRITE ${TESS_LUA_DIR}/${module}
       "return require(\"tessera.lang.names\").of_tessera(...)\n")
endforeach()

file(GLOB_RECURSE lua_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/lua/*.c)
set(main_sources ${lua_sources})
list(FILTER lua_sources EXCLUDE REGEX "/main[^/]*\\.c$")
list(FILTER main_sources INCLUDE REGEX "/main[^/]*\\.c$")
set(spaces_sources ${lua_sources})
list(FILTER lua_sources EXCLUDE REGEX "/lua/spaces/")
list(FILTER spaces_sources INCLUDE REGEX "/lua/spaces/")

if(lua_sources)
  add_library(tess_lua OBJECT ${lua_sources})
  target_include_directories(tess_lua PUBLIC
    ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include
    ${CMAKE_BINARY_DIR}/include)
  target_include_directories(tess_lua SYSTEM PUBLIC ${lua_INCLUDE_DIRS})
  add_dependencies(tess_lua layers)

  add_library(tessera_lua MODULE $<TARGET_OBJECTS:tess_lua>)
  set_target_properties(tessera_lua PROPERTIES
    OUTPUT_NAME tessera PREFIX "" LINKER_LANGUAGE C
    LIBRARY_OUTPUT_DIRECTORY ${TESS_LUA_DIR}
    INSTALL_RPATH "$ORIGIN/../..")
  target_link_libraries(tessera_lua PRIVATE tessera m)
endif()

# The default space for hosts without Lua, which libtessera loads when it is
# asked for it: the modules in a Lua state of its own.
if(spaces_sources AND lua_sources)
  add_library(tessera_spaces MODULE ${spaces_sources}
              $<TARGET_OBJECTS:tess_lua>)
  set_target_properties(tessera_spaces PROPERTIES
    OUTPUT_NAME tessera-spaces LINKER_LANGUAGE C INSTALL_RPATH "$ORIGIN")
  file(RELATIVE_PATH lua_from_lib
       ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_DATADIR}/lua/5.4)
  target_compile_definitions(tessera_spaces PRIVATE
    TESS_LUA_FROM_LIB="${lua_from_lib}")
  target_include_directories(tessera_spaces PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(tessera_spaces PRIVATE tessera PkgConfig::lua m)
endif()

if(main_sources AND lua_sources)
  add_executable(tessera_command ${main_sources} $<TARGET_OBJECTS:tess_lua>)
  set_target_properties(tessera_command PROPERTIES
    OUTPUT_NAME tessera ENABLE_EXPORTS OFF)
  file(RELATIVE_PATH lib_from_bin
       ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_property(TARGET tessera_command PROPERTY
               INSTALL_RPATH "$ORIGIN/${lib_from_bin}")
  target_include_directories(tessera_command PRIVATE ${CMAKE_SOURCE_DIR})
  target_link_libraries(tessera_command PRIVATE
    tessera PkgConfig::lua PkgConfig::edit m)
endif()

# What the command writes of its declarations and the reference: stubs of the
# schedule's methods for editors, the manual page, completion in shells.
set(TESS_SHARE ${CMAKE_BINARY_DIR}/share)
set(TESS_LUA_STUBS ${TESS_SHARE}/tessera/library/tessera.d.lua)
set(TESS_MAN ${TESS_SHARE}/man/man1/tessera.1)
set(TESS_BASH ${TESS_SHARE}/bash-completion/completions/tessera)
set(TESS_ZSH ${TESS_SHARE}/zsh/site-functions/_tessera)
function(tess_written file)
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  file(GLOB_RECURSE declarations CONFIGURE_DEPENDS
       ${CMAKE_SOURCE_DIR}/stdlib/command/*.lua)
  add_custom_command(
    OUTPUT ${file}
    COMMAND tessera_command doc ${ARGN} > ${file}
    DEPENDS tessera_command tessera_lua ${declarations}
    COMMENT "Writing ${file}" VERBATIM)
endfunction()
if(TARGET tessera_command)
  tess_written(${TESS_LUA_STUBS} --stubs)
  tess_written(${TESS_MAN} --man)
  tess_written(${TESS_BASH} --completion bash)
  tess_written(${TESS_ZSH} --completion zsh)
  add_custom_target(stubs ALL DEPENDS ${TESS_LUA_STUBS} ${TESS_MAN}
                    ${TESS_BASH} ${TESS_ZSH})
endif()
