# What the proto layer links for grpc: RAYDBG_GRPC.
#
# Shared, grpc and Abseil are some 50 objects with C++ symbols, whose dynamic linking takes longer than `raydbg list`
# itself. Where all their archives are there (Debian's packages have them) they are linked in; what other programs share
# anyway, such as OpenSSL, never is.
option(RAYDBG_STATIC_GRPC "Link grpc statically where its archives are installed" ON)

# Appends to RAYDBG_GRPC the archives of grpc and all that it needs; `found` says whether they are complete.
function(find_grpc_archives found)
  set(archives)
  set(others)
  foreach(library ${grpc_STATIC_LIBRARIES})
    if(library MATCHES "^(grpc|gpr|upb|re2|cares|address_sorting|absl_.*)$")
      find_library(archive_${library} NAMES lib${library}.a PATHS ${grpc_STATIC_LIBRARY_DIRS})
      mark_as_advanced(archive_${library})
      list(APPEND archives ${archive_${library}})
    else()
      list(APPEND others ${library})
    endif()
  endforeach()
  if(RAYDBG_PORTABLE)
    list(APPEND archives ${RAYDBG_LIBSTDCXX})
  else()
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libstdc++.a
                    OUTPUT_VARIABLE libstdcxx OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND archives ${libstdcxx})
  endif()
  list(REMOVE_DUPLICATES archives)
  list(REMOVE_DUPLICATES others)
  foreach(archive ${archives})
    if(NOT EXISTS ${archive})
      set(${found} FALSE PARENT_SCOPE)
      return()
    endif()
  endforeach()
  set(${found} TRUE PARENT_SCOPE)
  if(RAYDBG_PORTABLE) # its linker knows no groups, and needs none
    set(RAYDBG_GRPC ${archives} ${others} m PARENT_SCOPE)
    return()
  endif()
  list(JOIN archives "," group)
  # One word, since CMake reorders and merges what is not. Unneeded shared libraries would be loaded for nothing.
  set(RAYDBG_GRPC "-Wl,--start-group,${group},--end-group" -static-libgcc -Wl,--as-needed ${others} m PARENT_SCOPE)
endfunction()

set(static_grpc FALSE)
if(RAYDBG_STATIC_GRPC AND CMAKE_SYSTEM_NAME STREQUAL "Linux")
  find_grpc_archives(static_grpc)
endif()
if(NOT static_grpc)
  set(RAYDBG_GRPC gpr grpc)
endif()
message(STATUS "grpc is linked statically: ${static_grpc}")
