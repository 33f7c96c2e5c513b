# CMake's toolchain file for build-portable-x86_64.
set(RAYDBG_PORTABLE x86_64)
include(${CMAKE_CURRENT_LIST_DIR}/portable.cmake)
