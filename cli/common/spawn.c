#include "cli/common/spawn.h"

#include "base/mem.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void spawn_attributes_init(posix_spawnattr_t *attributes, short flags)
{
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(attributes);
    posix_spawnattr_setsigmask(attributes, &none);
    posix_spawnattr_setsigdefault(attributes, &all);
    posix_spawnattr_setflags(attributes,
                             (short)(flags | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF));
}

static bool is_program(const char *path)
{
    struct stat file;
    return stat(path, &file) == 0 && S_ISREG(file.st_mode) && access(path, X_OK) == 0;
}

char *spawn_find(const char *search, const char *name)
{
    while (search) {
        size_t len = strcspn(search, ":");
        char *path = mem_format("%.*s%s%s", (int)len, search, len ? "/" : "", name);
        if (is_program(path))
            return path;
        free(path);
        search = search[len] ? search + len + 1 : NULL;
    }
    return NULL;
}
