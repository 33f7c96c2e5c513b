#include "cli/dap/launch_process.h"

#include "base/mem.h"
#include "cli/common/spawn.h"
#include "dap/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A line without an end is sent when it has so many bytes. */
enum { LINE_MOST = 8192, READ_SIZE = 16384 };

extern char **environ;

struct outlet {
    struct launch_process *process;
    const char *category;
    struct watch *watch;
    struct buf text;
    int fd; /* -1: it has ended */
};

struct launch_process {
    struct client *client;
    struct outlet outlets[2];
    loop_fn on_end;
    void *arg;
};

/* --- its output --- */

static void send(struct outlet *outlet, bool all)
{
    size_t len = outlet->text.len;
    while (!all && len && outlet->text.data[len - 1] != '\n')
        len--;
    if (!len && outlet->text.len >= LINE_MOST)
        len = outlet->text.len;
    if (!len)
        return;
    char *text = mem_string_n(outlet->text.data, len);
    client_say(outlet->process->client, outlet->category, text);
    free(text);
    buf_consume(&outlet->text, len);
}

static void close_outlet(struct outlet *outlet)
{
    watch_stop(&outlet->watch);
    if (outlet->fd >= 0)
        close(outlet->fd);
    outlet->fd = -1;
    buf_free(&outlet->text);
}

/* False if the stream has ended. */
static bool drain(struct outlet *outlet)
{
    ssize_t len = -1;
    while (outlet->fd >= 0 &&
           (len = read(outlet->fd, buf_reserve(&outlet->text, READ_SIZE), READ_SIZE)) > 0) {
        outlet->text.len += (size_t)len;
        send(outlet, false);
    }
    return outlet->fd >= 0 && len < 0 && (errno == EAGAIN || errno == EINTR);
}

static void on_readable(void *arg)
{
    struct outlet *outlet = arg;
    struct launch_process *process = outlet->process;
    if (drain(outlet))
        return;
    send(outlet, true);
    close_outlet(outlet);
    if (process->outlets[0].fd < 0 && process->outlets[1].fd < 0)
        process->on_end(process->arg);
}

void launch_process_drain(struct launch_process *process)
{
    for (size_t i = 0; i < 2; i++) {
        drain(&process->outlets[i]);
        send(&process->outlets[i], true);
    }
}

/* --- its start --- */

static char **words_of(const char *json, struct span arguments)
{
    char **words = mem_array(1, sizeof *words);
    struct span list, item;
    size_t cursor = 0, count = 0;
    bool given = scan_find(json, arguments, "args", &list);
    while (given && scan_element(json, list, &cursor, &item)) {
        words = mem_resize(words, count + 2, sizeof *words);
        words[count++] = scan_string(json, item);
        words[count] = NULL;
    }
    return words;
}

static void words_free(char **words)
{
    for (char **at = words; *at; at++)
        free(*at);
    free(words);
}

static bool is_named(const char *entry, const char *name)
{
    size_t len = strlen(name);
    return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

/* Replaces a variable of the environment, or removes it. */
static void put(char **env, size_t *count, const char *name, const char *value)
{
    for (size_t i = 0; i < *count; i++) {
        if (is_named(env[i], name)) {
            free(env[i]);
            env[i] = env[--*count];
            break;
        }
    }
    if (value)
        env[(*count)++] = mem_format("%s=%s", name, value);
    env[*count] = NULL;
}

static char **environment_of(const char *json, struct span arguments)
{
    struct span object, key, value;
    size_t count = 0, more = 2, cursor = 0;
    bool given = scan_find(json, arguments, "env", &object);
    while (given && scan_member(json, object, &cursor, &key, &value))
        more++;
    while (environ[count])
        count++;
    char **env = mem_array(count + more, sizeof *env);
    for (size_t i = 0; i < count; i++)
        env[i] = mem_string(environ[i]);
    put(env, &count, "PYTHONUNBUFFERED", "1"); /* a pipe's output would come in the end only */
    cursor = 0;
    while (given && scan_member(json, object, &cursor, &key, &value)) {
        char *name = scan_string(json, key), *text = scan_string(json, value);
        put(env, &count, name, text);
        free(name);
        free(text);
    }
    return env;
}

static int spawn(int out, int errors, const char *json, struct err *err)
{
    struct span all = {0, strlen(json)};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    pid_t pid;
    char **argv = words_of(json, all), **env = environment_of(json, all);
    spawn_attributes_init(&attributes, POSIX_SPAWN_SETSID);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    int code = posix_spawn(&pid, "/proc/self/exe", &files, &attributes, argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    words_free(argv);
    words_free(env);
    if (code) {
        err_set(err, ERR_FAILED, "the program cannot be started");
        err_why(err, "%s", strerror(code));
    }
    return code ? -1 : 0;
}

static void open_outlet(struct launch_process *process, struct loop *loop, size_t i, int fd)
{
    struct outlet *outlet = &process->outlets[i];
    outlet->process = process;
    outlet->category = i ? "stderr" : "stdout";
    outlet->fd = fd;
    fcntl(fd, F_SETFL, O_NONBLOCK);
    outlet->watch = watch_start(loop, fd, on_readable, outlet);
}

struct launch_process *launch_process_start(struct loop *loop, struct client *client,
                                            const char *terminal, loop_fn on_end, void *arg,
                                            struct err *err)
{
    int out[2], errors[2];
    if (pipe2(out, O_CLOEXEC) != 0)
        goto failed;
    if (pipe2(errors, O_CLOEXEC) != 0)
        goto failed_errors;
    if (spawn(out[1], errors[1], terminal, err) != 0) {
        for (size_t i = 0; i < 2; i++) {
            close(out[i]);
            close(errors[i]);
        }
        return NULL;
    }
    close(out[1]);
    close(errors[1]);
    struct launch_process *process = mem_alloc(sizeof *process);
    *process = (struct launch_process){.client = client, .on_end = on_end, .arg = arg};
    open_outlet(process, loop, 0, out[0]);
    open_outlet(process, loop, 1, errors[0]);
    return process;

failed_errors:
    close(out[0]);
    close(out[1]);
failed:
    err_set(err, ERR_FAILED, "the program cannot be started");
    err_why(err, "%s", strerror(errno));
    return NULL;
}

void launch_process_destroy(struct launch_process **process)
{
    struct launch_process *it = *process;
    if (!it)
        return;
    *process = NULL;
    close_outlet(&it->outlets[0]);
    close_outlet(&it->outlets[1]);
    free(it);
}
