/* Small files that are written as a whole. Any thread. */
#ifndef RAYDBG_BASE_FILE_H
#define RAYDBG_BASE_FILE_H

#include "base/buf.h"

/* Replaces the file by these bytes, readable by its owner alone, or makes it. If this process dies
 * in between, the older file is as it was. Returns 0, or -1 with errno; nothing is left behind. */
int file_replace(const char *path, const struct buf *bytes);

#endif
