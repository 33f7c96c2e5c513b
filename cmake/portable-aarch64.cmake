# CMake's toolchain file for build-portable-aarch64.
set(RAYDBG_PORTABLE aarch64)
include(${CMAKE_CURRENT_LIST_DIR}/portable.cmake)
