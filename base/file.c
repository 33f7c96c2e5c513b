#include "base/file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int file_replace(const char *path, const struct buf *bytes)
{
    char *fresh = mem_format("%s.%ld", path, (long)getpid());
    unlink(fresh); /* of a process that died, and had this number */
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool good = fd >= 0 && write(fd, bytes->data, bytes->len) == (ssize_t)bytes->len;
    if (fd >= 0)
        good = close(fd) == 0 && good;
    good = good && rename(fresh, path) == 0;
    int code = errno;
    if (!good)
        unlink(fresh);
    free(fresh);
    errno = code;
    return good ? 0 : -1;
}
