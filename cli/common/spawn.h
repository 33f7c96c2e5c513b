/* Programs that this one starts, and where they are. */
#ifndef RAYDBG_CLI_COMMON_SPAWN_H
#define RAYDBG_CLI_COMMON_SPAWN_H

#include <spawn.h>

/* The program gets default signals, none of them blocked. `flags`: more of
 * posix_spawnattr_setflags(), such as POSIX_SPAWN_SETSID. The caller destroys the attributes. */
void spawn_attributes_init(posix_spawnattr_t *attributes, short flags);

/* The path of the program that execvp() would find: of the first directory of `search`, a value of
 * PATH or NULL, that has an executable file of this name. An empty directory is the working one.
 * NULL if there is none; the caller frees. */
char *spawn_find(const char *search, const char *name);

#endif
