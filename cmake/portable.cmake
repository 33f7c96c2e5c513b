# What the toolchain files of the portable builds share (docs/portable.md): zig compiles and links for glibc 2.28,
# against static libraries of Debian's in a sysroot, which `tools/portable` makes. RAYDBG_PORTABLE is the architecture.
get_filename_component(root ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
set(triple ${RAYDBG_PORTABLE}-linux-gnu)
set(sysroot ${root}/.cache/portable/sysroot-${RAYDBG_PORTABLE})
set(libraries ${sysroot}/usr/lib/${triple})
set(gcc ${sysroot}/usr/lib/gcc/${triple}/12)

set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR ${RAYDBG_PORTABLE})
set(CMAKE_LIBRARY_ARCHITECTURE ${triple})
set(CMAKE_C_COMPILER ${CMAKE_CURRENT_LIST_DIR}/zig/cc)
set(CMAKE_C_COMPILER_TARGET ${triple}.2.28)
set(CMAKE_AR ${CMAKE_CURRENT_LIST_DIR}/zig/ar)
set(CMAKE_RANLIB ${CMAKE_CURRENT_LIST_DIR}/zig/ranlib)

set(CMAKE_FIND_ROOT_PATH ${sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${sysroot})
set(ENV{PKG_CONFIG_LIBDIR} ${libraries}/pkgconfig:${sysroot}/usr/share/pkgconfig)

# zig looks into no directory of the system's. It adds UBSan to what is not optimized. The prefix map keeps the
# checkout's place out of the binary.
set(CMAKE_C_FLAGS_INIT "-isystem ${sysroot}/usr/include -isystem ${sysroot}/usr/include/${triple} \
-fno-sanitize=undefined -ffunction-sections -fdata-sections -ffile-prefix-map=${root}=.")
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXE_LINKER_FLAGS_INIT "-L${libraries} -pie -s -Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack -Wl,--gc-sections")

# What the static libraries need besides those that CMakeLists.txt names.
set(RAYDBG_LIBSTDCXX ${gcc}/libstdc++.a)
set(RAYDBG_PORTABLE_LIBRARIES ${libraries}/libuv_a.a ${libraries}/libcap.a ${libraries}/libbsd.a ${libraries}/libmd.a
    ${libraries}/libtinfo.a ${gcc}/libgcc_eh.a ${gcc}/libgcc.a pthread dl m rt)
