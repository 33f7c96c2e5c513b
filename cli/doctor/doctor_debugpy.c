#include "cli/doctor/doctor_debugpy.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The program of a process, its first argument; NULL if it cannot be read. The caller frees. */
static char *program_of(const char *proc, const char *pid)
{
    char *path = mem_format("%s/%s/cmdline", proc, pid), program[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, program, sizeof program - 1) : -1;
    if (fd >= 0)
        close(fd);
    free(path);
    if (len <= 0)
        return NULL;
    program[len] = '\0';
    return mem_string(program);
}

/* ".../site-packages" of a raylet's program; the caller frees. NULL: it is not a raylet. */
static char *packages_of(const char *program)
{
    static const char raylet[] = "/ray/core/src/ray/raylet/raylet";
    if (!text_ends(program, raylet))
        return NULL;
    return mem_string_n(program, strlen(program) - strlen(raylet));
}

/* Reads the names in the directory of packages below `root`; false if `ray` is not among them. The
 * caller frees `*version`: NULL without debugpy, "" if the version is unknown. */
static bool read_packages(const char *root, const char *packages, char **version)
{
    static const char name[] = "debugpy-", end[] = ".dist-info";
    char *path = mem_format("%s%s", root, packages);
    DIR *files = opendir(path);
    const struct dirent *file;
    bool has_ray = false;
    *version = NULL;
    free(path);
    while (files && (file = readdir(files))) {
        has_ray = has_ray || text_equal(file->d_name, "ray");
        if (text_equal(file->d_name, "debugpy") && !*version)
            *version = mem_string("");
        if (!text_starts(file->d_name, name) || !text_ends(file->d_name, end))
            continue;
        free(*version);
        *version = mem_string_n(file->d_name + strlen(name),
                                strlen(file->d_name) - strlen(name) - strlen(end));
    }
    if (files)
        closedir(files);
    return has_ray;
}

static void look_at(struct doctor_debugpy *debugpy, const char *proc, const char *pid)
{
    char *program = program_of(proc, pid), *packages = program ? packages_of(program) : NULL;
    char *root = mem_format("%s/%s/root", proc, pid), *version = NULL;
    bool seen = packages && (read_packages(root, packages, &version) ||
                             (free(version), read_packages("", packages, &version)));
    if (seen && (!debugpy->packages || !version)) {
        free(debugpy->packages);
        free(debugpy->version);
        debugpy->packages = packages;
        debugpy->version = version;
        packages = version = NULL;
    }
    free(version);
    free(root);
    free(packages);
    free(program);
}

void doctor_debugpy_look(struct doctor_debugpy *debugpy, const char *proc)
{
    DIR *processes = opendir(proc);
    const struct dirent *entry;
    while (processes && (entry = readdir(processes)) && !(debugpy->packages && !debugpy->version))
        if (isdigit((unsigned char)entry->d_name[0]))
            look_at(debugpy, proc, entry->d_name);
    if (processes)
        closedir(processes);
}
