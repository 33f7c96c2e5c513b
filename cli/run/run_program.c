#include "cli/run/run_program.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/spawn.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const char *path)
{
    struct stat found;
    return stat(path, &found) == 0 && S_ISREG(found.st_mode);
}

static bool is_script(const char *word)
{
    static const char suffix[] = ".py";
    size_t len = strlen(word), end = sizeof suffix - 1;
    return len > end && text_equal(word + len - end, suffix) && is_file(word) &&
           (!strchr(word, '/') || access(word, X_OK) != 0);
}

static bool is_in_path(const char *name)
{
    char *path = spawn_find(getenv("PATH"), name);
    bool found = path != NULL;
    free(path);
    return found;
}

static const char *find_python(void)
{
    static const char *const names[] = {"python", "python3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (is_in_path(names[i]))
            return names[i];
    return NULL;
}

char **run_program_command(char **words, size_t count, struct err *err)
{
    bool script = is_script(words[0]);
    const char *python = script ? find_python() : NULL;
    if (script && !python) {
        err_set(err, ERR_FAILED, "there is no python in PATH to run %s", words[0]);
        err_hint(err, "raydbg run -- /path/to/python %s", words[0]);
        return NULL;
    }
    char **command = mem_array(count + 2, sizeof *command);
    command[0] = (char *)python;
    memcpy(command + script, words, count * sizeof *command);
    return command;
}
