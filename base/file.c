#include "base/file.h"

#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A disk that becomes full takes a part: only the next write says why. */
static bool write_all(int fd, const struct buf *bytes)
{
    for (size_t done = 0; done < bytes->len;) {
        ssize_t more = write(fd, bytes->data + done, bytes->len - done);
        if (more < 0)
            return false;
        done += (size_t)more;
    }
    return true;
}

int file_replace(const char *path, const struct buf *bytes)
{
    char *fresh = mem_format("%s.%ld", path, (long)getpid());
    unlink(fresh); /* of a process that died, and had this number */
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool good = fd >= 0 && write_all(fd, bytes);
    int code = errno;
    if (fd >= 0 && close(fd) != 0 && good) {
        good = false;
        code = errno;
    }
    if (good && rename(fresh, path) != 0) {
        good = false;
        code = errno;
    }
    if (!good)
        unlink(fresh);
    free(fresh);
    errno = code;
    return good ? 0 : -1;
}
