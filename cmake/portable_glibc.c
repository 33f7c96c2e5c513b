/* Functions that Debian's static libraries use and glibc 2.28 does not have, hidden, so that no
 * other library binds to them; and the environment. Only in the portable build. */
#include <sys/stat.h>
#include <unistd.h>

#define HIDDEN __attribute__((visibility("hidden")))

/* glibc before 2.33 has stat() only as a static function around these. */
#ifdef __x86_64__
enum { STAT_VERSION = 1 };
#else
enum { STAT_VERSION = 0 };
#endif
int __xstat(int version, const char *path, struct stat *out);
int __lxstat(int version, const char *path, struct stat *out);
int __fxstat(int version, int fd, struct stat *out);

/* The same struct with and without 64, on both architectures. */
HIDDEN int stat(const char *path, struct stat *out)
{
    return __xstat(STAT_VERSION, path, out);
}

HIDDEN int lstat(const char *path, struct stat *out)
{
    return __lxstat(STAT_VERSION, path, out);
}

HIDDEN int fstat(int fd, struct stat *out)
{
    return __fxstat(STAT_VERSION, fd, out);
}

HIDDEN int stat64(const char *path, struct stat64 *out)
{
    return __xstat(STAT_VERSION, path, (struct stat *)out);
}

HIDDEN int lstat64(const char *path, struct stat64 *out)
{
    return __lxstat(STAT_VERSION, path, (struct stat *)out);
}

HIDDEN int fstat64(int fd, struct stat64 *out)
{
    return __fxstat(STAT_VERSION, fd, (struct stat *)out);
}

/* libstdc++ then always uses atomic reference counts. */
HIDDEN char __libc_single_threaded;

/* libgcc's unwinder then uses dl_iterate_phdr(). */
int _dl_find_object(void *address, void *result);
HIDDEN int _dl_find_object(void *address, void *result)
{
    (void)address, (void)result;
    return -1;
}

/* In glibc these are one variable, of which a program that is not all position-independent gets a
 * copy in its own memory. The linker has to give the copy all three names, so that glibc uses it,
 * too; but zig knows glibc's names without its addresses, and gives it only the one that is used:
 * NULL for ever. Defined here, it is glibc's as well. */
char **__environ;
extern char **environ __attribute__((alias("__environ")));
extern char **_environ __attribute__((alias("__environ")));
