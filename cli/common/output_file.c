#include "cli/common/output_file.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/command_usage.h"

#include <errno.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_stdout(const char *path)
{
    return text_equal(path, "-");
}

static int fail(const char *path)
{
    struct err err;
    err_set(&err, ERR_FAILED, "cannot write %s", is_stdout(path) ? "standard output" : path);
    err_why(&err, "%s", strerror(errno));
    return command_fail(&err);
}

bool output_file_check(const char *path)
{
    bool possible = is_stdout(path) || access(path, W_OK) == 0;
    if (!possible && errno == ENOENT) {
        char *copy = mem_string(path);
        possible = access(dirname(copy), W_OK) == 0;
        free(copy);
    }
    if (!possible)
        fail(path);
    return possible;
}

FILE *output_file_open(const char *path)
{
    FILE *file = is_stdout(path) ? stdout : fopen(path, "w");
    if (!file)
        fail(path);
    return file;
}

int output_file_close(FILE *file, const char *path)
{
    bool failed = fflush(file) != 0 || ferror(file);
    if (!is_stdout(path) && fclose(file) != 0)
        failed = true;
    return failed ? fail(path) : ERR_NONE;
}
