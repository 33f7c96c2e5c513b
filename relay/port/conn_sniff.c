/* Finds a connection's protocol by its first bytes, which are peeked at: its reader gets them
 * all. */
#include "base/mem.h"
#include "relay/port/client_hello.h"
#include "relay/port/conn.h"
#include "relay/port/request_header.h"
#include "relay/port/tls_terminator.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

static const char dap_start[] = "content-"; /* -Length or -Type */

/* Delay before the next look at too few bytes: a watch would report them all the time. */
enum { PATIENCE_LEAST_MS = 2, PATIENCE_MOST_MS = 250 };

/* A process that dials the relay to be debugged begins with a line of words (relay/reverse). */
static const char debuggee_start[] = "raydbg ";
enum { DEBUGGEE_LINE = 256 };

enum verdict {
    NOTHING_YET,
    TOO_FEW,
    IS_DAP,
    IS_DEBUGGEE,
    IS_HTTP,
    IS_TLS,
    IS_AGENTS_TLS,
    IS_TOO_LONG,
    IS_MALFORMED,
    IS_NONSENSE
};

/* True if the bytes may begin with an HTTP method. CONNECT is not supported: libwebsockets would
 * make the connection a raw one. */
static bool may_be_http(const char *bytes, size_t len)
{
    static const char connect[] = "CONNECT ";
    for (size_t i = 0; i < len && bytes[i] != ' '; i++)
        if (bytes[i] < 'A' || bytes[i] > 'Z' || i > 16)
            return false;
    return len < sizeof connect - 1 || memcmp(bytes, connect, sizeof connect - 1) != 0;
}

/* Any header field may be the first of a DAP message. In HTTP a space precedes the first colon. */
static enum verdict judge_field(const char *bytes, size_t len)
{
    enum { NAME_MOST = 64 };
    size_t at = 0;
    while (at < len && at < NAME_MOST && (isalnum((unsigned char)bytes[at]) || bytes[at] == '-'))
        at++;
    if (at < len)
        return at && bytes[at] == ':' ? IS_DAP : IS_NONSENSE;
    return len < NAME_MOST ? TOO_FEW : IS_NONSENSE;
}

static bool begins(const char *bytes, size_t len, const char *start)
{
    size_t known = strlen(start);
    return memcmp(bytes, start, len < known ? len : known) == 0;
}

static enum verdict judge_debuggee(const char *bytes, size_t len)
{
    if (memchr(bytes, '\n', len < DEBUGGEE_LINE ? len : DEBUGGEE_LINE))
        return IS_DEBUGGEE;
    return len < DEBUGGEE_LINE ? TOO_FEW : IS_NONSENSE;
}

static enum verdict judge_tls(const struct conn *conn, const char *bytes, size_t len)
{
    enum client_hello hello = CLIENT_HELLO_OTHER;
    if (conn->listener->options.tls_terminator && !len)
        return NOTHING_YET;
    if (conn->listener->options.tls_terminator)
        hello = client_hello_read(bytes, len, CONN_HEADER_LIMIT);
    return hello == CLIENT_HELLO_PART    ? TOO_FEW
           : hello == CLIENT_HELLO_AGENT ? IS_AGENTS_TLS
                                         : IS_TLS;
}

static enum verdict judge(const struct conn *conn, const char *bytes, size_t len)
{
    size_t known = sizeof dap_start - 1, limit = conn->listener->options.max_header;
    if (conn->tls)
        return judge_tls(conn, bytes, len);
    if (!len)
        return NOTHING_YET;
    if (conn->dialled)
        return begins(bytes, len, debuggee_start) ? judge_debuggee(bytes, len) : IS_NONSENSE;
    if (strncasecmp(bytes, dap_start, len < known ? len : known) == 0)
        return len < known ? TOO_FEW : IS_DAP;
    if (begins(bytes, len, debuggee_start))
        return judge_debuggee(bytes, len);
    enum verdict field = judge_field(bytes, len);
    if (field == IS_DAP || !may_be_http(bytes, len))
        return field;
    size_t header = request_header_length(bytes, len);
    if ((header ? header : len) > limit)
        return IS_TOO_LONG;
    if (!header)
        return TOO_FEW;
    return request_header_is_sound(bytes, header) ? IS_HTTP : IS_MALFORMED;
}

static void stop_looking(struct conn *conn)
{
    watch_stop(&conn->watch);
    timer_cancel(&conn->patience);
}

static void become_dap(struct conn *conn)
{
    bool open = auth_is_open(conn->listener->options.auth);
    conn_move(conn, CONN_DAP);
    conn->kind = CONN_DAP_TCP;
    if (!listener_adopt(conn, false))
        return;
    if (conn->refusal)
        conn_refuse(conn, conn->refusal);
    else
        conn_open(conn, CONN_DAP_TCP, open ? AUTH_DRIVER : AUTH_NONE);
}

void conn_first_refuse(struct conn *conn, enum refusal refusal)
{
    struct buf json = {0}, text = {0};
    stop_looking(conn);
    if (conn->tls) { /* which has not begun: plain bytes would tell the client nothing */
        conn_free(conn);
        return;
    }
    if (!listener_adopt(conn, false))
        return;
    refusal_json(&json, refusal);
    http_answer_text(&text, refusal_status(refusal), "application/json", json.data, json.len,
                     false);
    conn_write(conn, text.data, text.len, "", 0);
    conn_finish(conn);
    buf_free(&json);
    buf_free(&text);
}

static void become_http(struct conn *conn)
{
    if (conn->refusal == REFUSAL_PLAIN) {
        conn_refuse(conn, conn->refusal);
        return;
    }
    conn_move(conn, CONN_HTTP);
    listener_adopt(conn, true);
}

static void become_debuggee(struct conn *conn)
{
    struct listener *listener = conn->listener;
    char line[DEBUGGEE_LINE];
    ssize_t len = recv(conn->fd, line, sizeof line, MSG_PEEK | MSG_DONTWAIT);
    const char *end = len > 0 ? memchr(line, '\n', (size_t)len) : NULL;
    if (conn->refusal || !listener->ops->on_debuggee || !end) {
        conn_refuse(conn, conn->refusal ? conn->refusal : REFUSAL_NOT_HTTP);
        return;
    }
    size_t whole = (size_t)(end - line) + 1;
    char *peer = mem_string(conn->peer), *dialled = conn->dialled;
    const struct listener_debuggee debuggee = {
        .fd = conn->fd,
        .line = line,
        .peer = peer,
        .address = dialled ? dialled : conn_port(conn)->text,
        .tls = dialled != NULL,
    };
    recv(conn->fd, line, whole, MSG_DONTWAIT);
    line[whole - 1] = '\0';
    conn->fd = -1;
    conn->dialled = NULL;
    conn_free(conn);
    listener->ops->on_debuggee(listener->arg, &debuggee);
    free(dialled);
    free(peer);
}

static void become_tls(struct conn *conn)
{
    conn_move(conn, CONN_HTTP);
    listener_adopt(conn, true);
}

/* Its bytes come in plain from the TLS terminator, as soon as TLS is agreed on. */
static void go_through_terminator(struct conn *conn)
{
    if (conn->refusal) {
        conn_refuse(conn, conn->refusal);
        return;
    }
    conn->dialled = listen_socket_local(conn->fd);
    conn->fd = tls_terminator_pass(conn->listener->options.tls_terminator, conn->fd);
    conn->patience_ms = 0;
    if (conn->fd < 0) {
        conn_refuse(conn, REFUSAL_NO_DOOR);
        return;
    }
    conn->tls = false;
    conn_first_look(conn);
}

static void act(struct conn *conn, enum verdict verdict)
{
    switch (verdict) {
    case IS_DEBUGGEE:
        become_debuggee(conn);
        break;
    case IS_DAP:
        become_dap(conn);
        break;
    case IS_HTTP:
        become_http(conn);
        break;
    case IS_TLS:
        become_tls(conn);
        break;
    case IS_AGENTS_TLS:
        go_through_terminator(conn);
        break;
    case IS_TOO_LONG:
        conn_refuse(conn, REFUSAL_HEADER);
        break;
    case IS_MALFORMED:
        conn_refuse(conn, conn->refusal ? conn->refusal : REFUSAL_HEADER_FORM);
        break;
    default:
        conn_refuse(conn, conn->refusal   ? conn->refusal
                          : conn->dialled ? REFUSAL_NO_AGENT
                                          : REFUSAL_NOT_HTTP);
        break;
    }
}

static void on_readable(void *arg)
{
    conn_first_look(arg);
}

static void on_patience(void *arg)
{
    struct conn *conn = conn_checked(arg);
    conn->patience = NULL;
    conn_first_look(conn);
}

/* The client has closed its side: no more bytes will come. */
static bool is_over(const struct conn *conn)
{
    struct pollfd end = {.fd = conn->fd, .events = POLLRDHUP};
    return poll(&end, 1, 0) == 1;
}

static void look_later(struct conn *conn, enum verdict verdict)
{
    struct loop *loop = conn->listener->options.loop;
    if (verdict == NOTHING_YET && !conn->watch)
        conn->watch = watch_start(loop, conn->fd, on_readable, conn);
    if (verdict == NOTHING_YET && conn->watch)
        return;
    watch_stop(&conn->watch);
    conn->patience_ms = conn->patience_ms ? 2 * conn->patience_ms : PATIENCE_LEAST_MS;
    if (conn->patience_ms > PATIENCE_MOST_MS)
        conn->patience_ms = PATIENCE_MOST_MS;
    conn->patience = timer_start(loop, conn->patience_ms, on_patience, conn);
}

void conn_first_look(struct conn *conn)
{
    char bytes[CONN_HEADER_LIMIT + 1];
    ssize_t len = recv(conn->fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    bool over = len == 0 || (len < 0 && errno != EAGAIN && errno != EINTR);
    enum verdict verdict = over ? TOO_FEW : judge(conn, bytes, len > 0 ? (size_t)len : 0);
    if (over || (verdict == TOO_FEW && is_over(conn))) {
        if (conn->dialled)
            conn_tell_refusal(conn, REFUSAL_SILENT);
        conn_free(conn);
        return;
    }
    if (verdict <= TOO_FEW) {
        look_later(conn, verdict);
        return;
    }
    stop_looking(conn);
    act(conn, verdict);
}

void conn_first_end(struct conn *conn)
{
    stop_looking(conn);
    if (conn->fd >= 0)
        close(conn->fd);
    conn->fd = -1;
}
