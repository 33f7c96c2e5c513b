#include "cli/run/run_session.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/run/run_directory.h"
#include "cli/run/run_driver.h"
#include "dap/scan.h"
#include "relay/access/agent_key.h"
#include "relay/io/loop.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

/* END_US: a program that goes on so long after SIGTERM is killed: one that is stopped at a
 * breakpoint, or whose handler waits, does not end by it. */
enum { FIRST_MS = 10000, LOOK_MS = 50, END_US = 5000000, LINE_MOST = 64 * 1024, READ_SIZE = 4096 };
enum { PIPE_SIZE = 64 * 1024 }; /* what a pipe holds, if nobody has changed it */
enum { OUTPUTS = 2 };

struct run_session {
    int fd;               /* -1: the other end is gone */
    int outputs[OUTPUTS]; /* read ends of stdout's and stderr's pipe, or -1 */
    struct buf in;
    pid_t pid;
    int64_t kill_us; /* of loop_now_us(); 0: it need not end */
};

/* --- the socket --- */

static int dial(struct run_session *session, const char *path, struct err *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    bool fits = text_copy(address.sun_path, sizeof address.sun_path, path);
    session->fd = fits ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (session->fd >= 0 &&
        connect(session->fd, (const struct sockaddr *)&address, sizeof address) == 0)
        return 0;
    err_set(err, ERR_UNREACHABLE, "the editor's session is not there");
    err_why(err, "%s: %s", path, fits ? strerror(errno) : "the path is too long");
    return err_hint(err, "--session is for raydbg dap; to run a program: raydbg run -- PROGRAM");
}

static void hang_up(struct run_session *session)
{
    if (session->fd >= 0)
        close(session->fd);
    session->fd = -1;
}

/* Waits for bytes, `ms` at most; false if none have come. */
static bool receive(struct run_session *session, int ms)
{
    struct pollfd wait = {.fd = session->fd, .events = POLLIN};
    if (poll(&wait, 1, ms) <= 0 || !wait.revents)
        return false;
    ssize_t len = recv(session->fd, buf_reserve(&session->in, READ_SIZE), READ_SIZE, 0);
    if (len > 0)
        session->in.len += (size_t)len;
    if (len == 0 || (len < 0 && errno != EINTR) || session->in.len > LINE_MOST)
        hang_up(session);
    return len > 0;
}

/* Takes the first line that is there, which the caller frees; NULL: none is. */
static char *take_line(struct run_session *session)
{
    const char *end = session->in.len ? memchr(session->in.data, '\n', session->in.len) : NULL;
    if (!end)
        return NULL;
    size_t len = (size_t)(end - session->in.data);
    char *line = mem_string_n(session->in.data, len);
    explicit_bzero(session->in.data, len);
    buf_consume(&session->in, len + 1);
    return line;
}

static char *first_line(struct run_session *session)
{
    char *line = NULL;
    while (!(line = take_line(session)) && receive(session, FIRST_MS))
        ;
    return line;
}

/* --- the start --- */

static int no_config(struct err *err)
{
    err_set(err, ERR_FAILED, "the editor's session does not say how to run the program");
    return err_hint(err, "is raydbg dap of another version?");
}

static int go_to(const char *directory, struct err *err)
{
    if (text_empty(directory) || chdir(directory) == 0)
        return 0;
    err_set(err, ERR_FAILED, "the program cannot be run in %s", directory);
    return err_why(err, "%s", strerror(errno));
}

/* Makes the agents' files as the first line says, in the directory that is returned. */
static char *make_directory(const char *line, struct err *err)
{
    struct span all = {0, strlen(line)};
    int64_t port = 0;
    bool post_mortem = false;
    char *directory = NULL, *host = scan_string_at(line, all, "host");
    char *id = scan_string_at(line, all, "key_id"), *key = scan_string_at(line, all, "key");
    char *cwd = scan_string_at(line, all, "cwd");
    char *fingerprint = scan_string_at(line, all, "fingerprint");
    scan_integer_at(line, all, "port", &port);
    scan_boolean_at(line, all, "post_mortem", &post_mortem);
    const struct agent_files_config config = {.host = host,
                                              .port = (uint16_t)port,
                                              .fingerprint = fingerprint,
                                              .key_id = id,
                                              .key = key,
                                              .stops =
                                                  post_mortem ? ",\"post_mortem\":true" : NULL};
    if (!host || !fingerprint || !id || !key || !agent_key_is_id(id) || port <= 0 ||
        port > UINT16_MAX)
        no_config(err);
    else if (go_to(cwd, err) == 0)
        directory = run_directory_make(&config, err);
    if (key)
        explicit_bzero(key, strlen(key));
    free(key);
    free(host);
    free(fingerprint);
    free(id);
    free(cwd);
    return directory;
}

/* --- its output --- */

/* Without a terminal raydbg dap reads the program's output from two pipes. The program outlives
 * that session: a second read end of each keeps them open. */
static void keep_outputs(struct run_session *session, const char *line)
{
    static const char *const ends[OUTPUTS] = {"/proc/self/fd/1", "/proc/self/fd/2"};
    bool piped = false;
    scan_boolean_at(line, (struct span){0, strlen(line)}, "piped", &piped);
    for (size_t i = 0; i < OUTPUTS && piped; i++)
        session->outputs[i] = open(ends[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);
}

static void close_output(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Reads what nobody else does any more, so that the program does not wait: once, or not at all if
 * nothing comes for `ms`. */
static void drop_output(struct run_session *session, int ms)
{
    char bytes[PIPE_SIZE];
    struct pollfd waits[OUTPUTS];
    for (size_t i = 0; i < OUTPUTS; i++)
        waits[i] = (struct pollfd){.fd = session->outputs[i], .events = POLLIN};
    if (poll(waits, OUTPUTS, ms) <= 0)
        return;
    for (size_t i = 0; i < OUTPUTS; i++) {
        ssize_t len = waits[i].revents ? read(waits[i].fd, bytes, sizeof bytes) : 1;
        /* The session that has ended may still be reading, and have taken what was there. */
        if (len == 0 || (len < 0 && errno != EINTR && errno != EAGAIN))
            close_output(&session->outputs[i]);
    }
}

/* --- while it runs --- */

static void end_program(struct run_session *session)
{
    if (!session->kill_us)
        kill(session->pid, SIGTERM);
    session->kill_us = loop_now_us() + END_US;
}

static void obey(struct run_session *session)
{
    char *line;
    while ((line = take_line(session))) {
        char *verb = scan_string_at(line, (struct span){0, strlen(line)}, "verb");
        if (text_equal(verb, "terminate"))
            end_program(session);
        free(verb);
        free(line);
    }
}

static int wait_for_end(struct run_session *session)
{
    int status = 0;
    while (waitpid(session->pid, &status, WNOHANG) == 0) {
        if (session->fd < 0)
            drop_output(session, LOOK_MS);
        else if (receive(session, LOOK_MS))
            obey(session);
        if (session->kill_us && loop_now_us() >= session->kill_us)
            kill(session->pid, SIGKILL);
    }
    return run_driver_code(status);
}

static void tell_exit(struct run_session *session, int code)
{
    char line[64];
    int len = snprintf(line, sizeof line, "{\"event\":\"exited\",\"code\":%d}\n", code);
    if (session->fd >= 0 && send(session->fd, line, (size_t)len, MSG_NOSIGNAL) != len)
        hang_up(session);
}

static int run(struct run_session *session, char **command, struct err *err)
{
    int code = -1;
    char *line = first_line(session);
    char *directory = line && line[0] == '{' ? make_directory(line, err) : NULL;
    if (!line || line[0] != '{')
        no_config(err);
    else
        keep_outputs(session, line);
    if (line)
        explicit_bzero(line, strlen(line));
    free(line);
    if (directory && run_driver_start(directory, command, &session->pid, err) == 0)
        code = wait_for_end(session);
    if (directory)
        agent_files_remove(directory);
    free(directory);
    tell_exit(session, code < 0 ? (int)err->code : code);
    return code;
}

int run_session(const char *path, char **command, struct err *err)
{
    struct run_session session = {.fd = -1, .outputs = {-1, -1}};
    int code = dial(&session, path, err) == 0 ? run(&session, command, err) : -1;
    hang_up(&session);
    for (size_t i = 0; i < OUTPUTS; i++)
        close_output(&session.outputs[i]);
    buf_free(&session.in);
    return code;
}
