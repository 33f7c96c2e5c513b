# The manual pages and the shells' completions: raydbg prints them itself, out of the tables that --help has. A build for
# another architecture cannot; the packages take those of a build for this one.
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL CMAKE_HOST_SYSTEM_PROCESSOR)
  return()
endif()
set(texts ${CMAKE_BINARY_DIR}/share)
set(bash ${texts}/bash-completion/completions/raydbg)
set(zsh ${texts}/zsh/site-functions/_raydbg)
set(fish ${texts}/fish/vendor_completions.d/raydbg.fish)
foreach(file ${bash} ${zsh} ${fish})
  cmake_path(GET file PARENT_PATH directory)
  file(MAKE_DIRECTORY ${directory})
endforeach()
file(MAKE_DIRECTORY ${texts}/man/man1 ${texts}/man/man8)
add_custom_command(
  OUTPUT ${texts}/man/man1/raydbg.1 ${bash} ${zsh} ${fish}
  COMMAND $<TARGET_FILE:raydbg> completions bash > ${bash}
  COMMAND $<TARGET_FILE:raydbg> completions zsh > ${zsh}
  COMMAND $<TARGET_FILE:raydbg> completions fish > ${fish}
  COMMAND $<TARGET_FILE:raydbg> help --man ${texts}/man/man1
  COMMAND ${CMAKE_COMMAND} -E rename ${texts}/man/man1/raydbg-relay.8 ${texts}/man/man8/raydbg-relay.8
  DEPENDS raydbg
  COMMENT "Writing manual pages and completions")
add_custom_target(texts ALL DEPENDS ${texts}/man/man1/raydbg.1)
set(RAYDBG_INSTALL_ROOT . CACHE STRING "Where share/ goes, below the installation's prefix")
install(DIRECTORY ${texts} DESTINATION ${RAYDBG_INSTALL_ROOT})
