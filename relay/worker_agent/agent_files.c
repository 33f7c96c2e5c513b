#include "relay/worker_agent/agent_files.h"

#include "base/buf.h"
#include "base/mem.h"
#include "relay/worker_agent/agent_sources.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_file(const char *directory, const char *name, const char *text, struct err *err)
{
    char *path = mem_format("%s/%s", directory, name);
    size_t len = strlen(text);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int failed = fd < 0 || write(fd, text, len) != (ssize_t)len || close(fd) != 0;
    if (failed) {
        err_set(err, ERR_FAILED, "%s cannot be written", path);
        err_why(err, "%s", strerror(errno));
    }
    free(path);
    return failed ? -1 : 0;
}

int agent_files_write(const char *directory, const struct agent_files_config *config,
                      struct err *err)
{
    struct buf json = {0};
    if (mkdir(directory, 0700) != 0) {
        err_set(err, ERR_FAILED, "%s cannot be made", directory);
        return err_why(err, "%s", strerror(errno));
    }
    buf_printf(&json,
               "{\"host\":\"%s\",\"port\":%u,\"fingerprint\":\"%s\",\"key_id\":\"%s\","
               "\"key\":\"%s\"%s}\n",
               config->host, (unsigned)config->port, config->fingerprint, config->key_id,
               config->key, config->stops ? config->stops : "");
    int failed = write_file(directory, "raydbg_agent.py", worker_agent_agent, err) ||
                 write_file(directory, "raydbg_run.py", worker_agent_run_hook, err) ||
                 write_file(directory, "sitecustomize.py", worker_agent_site_hook, err) ||
                 write_file(directory, "run.json", json.data, err);
    explicit_bzero(json.data, json.len);
    buf_free(&json);
    if (failed)
        agent_files_remove(directory);
    return failed ? -1 : 0;
}

static void remove_all(const char *directory, int depth)
{
    DIR *files = opendir(directory);
    const struct dirent *file;
    while (files && (file = readdir(files))) {
        if (strcmp(file->d_name, ".") == 0 || strcmp(file->d_name, "..") == 0)
            continue;
        char *path = mem_format("%s/%s", directory, file->d_name);
        if (unlink(path) != 0 && depth > 0) /* __pycache__ */
            remove_all(path, depth - 1);
        free(path);
    }
    if (files)
        closedir(files);
    rmdir(directory);
}

void agent_files_remove(const char *directory)
{
    remove_all(directory, 1);
}
