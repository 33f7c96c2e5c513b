#include "cli/relay/relay_own.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/common/spawn.h"
#include "relay/access/auth.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum { START_MS = 20000, AGAIN_MS = 20, ANSWER_MS = 5000, TRIES = 3 };

/* How long an idle relay stays, so that the next command in a row finds it. */
static const char idle_time[] = "10s";

extern char **environ;

struct start {
    const char *idle; /* or NULL */
    struct relay_address *out;
    struct loop *loop;
    const struct relay_wish *wish;
    const char *cluster; /* the cluster's address, or "" */
    char *name;          /* the relay's: one for each cluster */
    char *log;           /* path of the relay's log */
    int64_t until_us;
};

/* Finds a relay that answers and serves this cluster. */
static bool find(const struct start *start)
{
    enum relay_found found;
    struct err err;
    const struct relay_wish wish = {.wanted = true, .token_file = start->wish->token_file};
    if (relay_find_here(start->out, &found, &wish, start->cluster, &err) != 0 ||
        found != RELAY_FOUND)
        return false;
    if (relay_answers(start->out, start->loop, ANSWER_MS, &err) == 0)
        return true;
    relay_address_clear(start->out);
    return false;
}

static bool is_late(const struct start *start)
{
    return loop_now_us() > start->until_us;
}

/* Takes the lock: one command starts a relay, the others wait. Returns its fd, or -1, also when
 * late. */
static int lock(const struct start *start, const char *path, struct err *err)
{
    const bool never = false;
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    while (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno == EWOULDBLOCK && !is_late(start)) {
            loop_run_until(start->loop, &never, AGAIN_MS);
            continue;
        }
        close(fd);
        fd = -1;
    }
    if (fd < 0) {
        err_set(err, ERR_FAILED, "no relay could be started");
        err_why(err, "%s: %s", path, strerror(errno));
    }
    return fd;
}

/* --- its process --- */

/* Returns 0 and the pid, or an errno. */
static int spawn(const struct start *start, pid_t *pid)
{
    const char *argv[] = {"raydbg",
                          "relay",
                          "--listen",
                          "127.0.0.1:0",
                          "--no-register",
                          "--kill",
                          "--hold",
                          "on-loss",
                          "--until-idle",
                          start->idle ? start->idle : idle_time,
                          "--allow-connect",
                          "--name",
                          start->name,
                          NULL,
                          NULL,
                          NULL,
                          NULL,
                          NULL};
    size_t end = sizeof argv / sizeof *argv - 5;
    if (!text_empty(start->cluster)) {
        argv[end++] = "--address";
        argv[end++] = start->cluster;
    }
    char *token_file = start->wish->token_file ? realpath(start->wish->token_file, NULL) : NULL;
    if (token_file) {
        argv[end++] = "--token-file";
        argv[end++] = token_file;
    }
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    spawn_attributes_init(&attributes, POSIX_SPAWN_SETSID); /* not of this terminal */
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&files, STDERR_FILENO, start->log,
                                     O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW, 0600);
    int code =
        posix_spawn(pid, "/proc/self/exe", &files, &attributes, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    free(token_file);
    return code;
}

/* The first line of the relay's log says why it did not start. */
static int explain(const struct start *start, struct err *err)
{
    char line[300] = "";
    FILE *log = fopen(start->log, "re");
    if (log && fgets(line, sizeof line, log))
        line[strcspn(line, "\n")] = '\0';
    if (log)
        fclose(log);
    err_set(err, ERR_FAILED, "no relay could be started");
    return err_why(err, "%s",
                   text_starts(line, "raydbg: ") ? line + strlen("raydbg: ") : start->log);
}

/* Returns 0 if the relay answers; 1 if it has ended, perhaps because an earlier relay of this name
 * was just ending; -1 on any other failure. */
static int start_once(const struct start *start, struct err *err)
{
    const bool never = false;
    pid_t pid;
    int code = spawn(start, &pid), status;
    if (code) {
        err_set(err, ERR_FAILED, "no relay could be started");
        return err_why(err, "%s", strerror(code));
    }
    while (!find(start)) {
        if (waitpid(pid, &status, WNOHANG) == pid) {
            explain(start, err);
            return 1;
        }
        if (is_late(start)) {
            kill(pid, SIGTERM);
            err_set(err, ERR_FAILED, "no relay could be started");
            return err_why(err, "it does not answer within %d s", START_MS / 1000);
        }
        loop_run_until(start->loop, &never, AGAIN_MS);
    }
    return 0;
}

static int start_locked(const struct start *start, bool *started, struct err *err)
{
    int result = 1;
    if (find(start))
        return 0;
    for (int tries = 0; tries < TRIES && result > 0 && !is_late(start); tries++)
        result = start_once(start, err);
    *started = result == 0;
    return result ? -1 : 0;
}

static int get(struct relay_address *out, struct loop *loop, const struct relay_wish *wish,
               const struct cluster_address *cluster, const char *idle, bool *started,
               struct err *err)
{
    struct start start = {
        .idle = idle,
        .out = out,
        .loop = loop,
        .wish = wish,
        .cluster = cluster->text,
        .until_us = loop_now_us() + START_MS * 1000L,
    };
    *started = false;
    if (auth_make_state_directory(err) != 0)
        return -1;
    start.name = mem_format("own-%08" PRIx32, (uint32_t)hash_text(cluster->text, 0));
    char *log = mem_format("%s.log", start.name), *file = mem_format("%s.lock", start.name);
    char *path = auth_state_path(file);
    start.log = auth_state_path(log);
    int fd = lock(&start, path, err);
    int result = fd < 0 ? -1 : start_locked(&start, started, err);
    if (fd >= 0)
        close(fd);
    free(path);
    free(log);
    free(file);
    free(start.log);
    free(start.name);
    return result;
}

bool relay_own_use(struct relay_address *out, struct loop *loop, const struct relay_wish *wish,
                   const struct cluster_address *cluster, const struct relay_own_options *options)
{
    struct err err;
    char why[600];
    bool started;
    *out = (struct relay_address){0};
    if (!wish->wanted || text_equal(getenv("RAYDBG_START_RELAY"), "0"))
        return false;
    if (get(out, loop, wish, cluster, options->idle, &started, &err) != 0) {
        err_line(&err, why, sizeof why);
        if (options->left)
            fprintf(stderr, "raydbg: without a relay the task goes on when %s: %s\n", options->left,
                    why);
        else
            fprintf(stderr, "raydbg: %s\n", why);
        return false;
    }
    char *name = relay_address_short(out);
    if (started && !options->quiet)
        fprintf(stderr,
                "raydbg: started relay %s, which keeps what you look at stopped and ends "
                "by itself (--no-relay goes without)\n",
                name);
    free(name);
    return true;
}
