#include "proto/rpc_error.h"

#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The grpc status codes that have errors of their own. */
enum {
    ANY = -1,
    DEADLINE_EXCEEDED = 4,
    PERMISSION_DENIED = 7,
    RESOURCE_EXHAUSTED = 8,
    UNIMPLEMENTED = 12,
    UNAVAILABLE = 14,
    UNAUTHENTICATED = 16,
};

enum side { EITHER, YES, NO };

#define TLS_FILES "RAY_TLS_CA_CERT, RAY_TLS_SERVER_CERT and RAY_TLS_SERVER_KEY"
#define GCS_PORT "the GCS's port is 6379 by default"
#define NOT_TLS_HINT "this side uses TLS because RAY_USE_TLS is set: does the cluster use it too?"

/* The meaning of grpc 1.51's texts, as seen with real servers: Ray 2.60 with and without TLS and
 * tokens, an HTTP server, a debugpy port, sockets that close, reset or send garbage. The first row
 * that matches is used. Without a `why` the error shows the details. */
static const struct {
    const char *needle; /* text in the details; "" matches always */
    int status;
    enum side tls;      /* YES: we use TLS */
    enum side answered; /* YES: this address has answered before */
    enum err_code code;
    const char *before, *after; /* texts around the address */
    const char *why;
    const char *hint;
} rows[] = {
    {"", PERMISSION_DENIED, EITHER, EITHER, ERR_DENIED, "", " does not allow this", NULL, ""},
    {"WrongClusterID", UNAUTHENTICATED, EITHER, EITHER, ERR_UNREACHABLE, "", " was restarted", NULL,
     ""},
    {"http2 header", UNIMPLEMENTED, EITHER, EITHER, ERR_UNREACHABLE, "", " does not speak gRPC",
     NULL, GCS_PORT},
    {"", UNIMPLEMENTED, EITHER, EITHER, ERR_FAILED, "", " does not know this call", NULL, ""},
    {"http1.x server", UNAVAILABLE, EITHER, EITHER, ERR_UNREACHABLE, "",
     " is an HTTP server, not Ray's GCS", "",
     GCS_PORT "; if this is the dashboard (8265), give its address with http:// in front"},
    {"parsing HTTP/2", UNAVAILABLE, EITHER, EITHER, ERR_UNREACHABLE, "", " does not speak gRPC", "",
     GCS_PORT "; this is a port of something else"},
    {"certificate verify failed", UNAVAILABLE, YES, EITHER, ERR_DENIED, "the certificate of ",
     " is not trusted", "it was not issued by the authority that RAY_TLS_CA_CERT names",
     TLS_FILES " must be as on the cluster's nodes"},
    {"CERTIFICATE_VERIFY_FAILED", UNAVAILABLE, YES, EITHER, ERR_DENIED, "the certificate of ",
     " is not trusted", "it was not issued by the authority that RAY_TLS_CA_CERT names",
     TLS_FILES " must be as on the cluster's nodes"},
    {"peer certificate", UNAVAILABLE, YES, EITHER, ERR_DENIED, "the certificate of ",
     " is for another name", NULL,
     "give the address by a name or IP address that the certificate has"},
    {"wrong version number", UNAVAILABLE, YES, EITHER, ERR_UNREACHABLE, "", " does not speak TLS",
     "", NOT_TLS_HINT},
    {"andshake failed", UNAVAILABLE, YES, EITHER, ERR_DENIED, "no TLS connection with ", "", NULL,
     TLS_FILES " must be as on the cluster's nodes"},
    {"empty address list", UNAVAILABLE, YES, EITHER, ERR_DENIED, "no TLS connection with ", "",
     "our own certificate, key or CA is not usable: no valid PEM, or they do not belong together",
     "look at the files that " TLS_FILES " name"},
    {"DNS resolution failed", UNAVAILABLE, EITHER, EITHER, ERR_UNREACHABLE,
     "cannot find the host of ", "", NULL, "is its name right, and known on this machine?"},
    {"Socket closed", UNAVAILABLE, NO, NO, ERR_UNREACHABLE, "", " closed the connection at once",
     "", "if the cluster uses TLS, set RAY_USE_TLS=1 and " TLS_FILES " as on its nodes"},
    {"reset by peer", UNAVAILABLE, NO, NO, ERR_UNREACHABLE, "", " closed the connection at once",
     "", "if the cluster uses TLS, set RAY_USE_TLS=1 and " TLS_FILES " as on its nodes"},
    {"Socket closed", UNAVAILABLE, YES, NO, ERR_UNREACHABLE, "", " closed the TLS connection",
     "it may not accept our certificate, or not use TLS",
     TLS_FILES " must be as on the cluster's nodes; without TLS there, unset RAY_USE_TLS"},
    {"reset by peer", UNAVAILABLE, YES, NO, ERR_UNREACHABLE, "", " closed the TLS connection",
     "it may not accept our certificate, or not use TLS",
     TLS_FILES " must be as on the cluster's nodes; without TLS there, unset RAY_USE_TLS"},
    {"Socket closed", UNAVAILABLE, EITHER, YES, ERR_UNREACHABLE, "", " closed the connection",
     "the process there may have ended", ""},
    {"reset by peer", UNAVAILABLE, EITHER, YES, ERR_UNREACHABLE, "", " closed the connection",
     "the process there may have ended", ""},
    {"Channel Destroyed", ANY, EITHER, EITHER, ERR_UNREACHABLE, "cannot reach ", "",
     "the connection failed", ""},
    {"", UNAVAILABLE, EITHER, EITHER, ERR_UNREACHABLE, "cannot reach ", "", NULL, ""},
    {"", ANY, EITHER, EITHER, ERR_FAILED, "", " answered with an error", NULL, ""},
};

/* The part of `text` behind `marker`, or all of it if it has no `marker`. */
static const char *behind(const char *text, const char *marker)
{
    const char *found = strstr(text, marker);
    return found ? found + strlen(marker) : text;
}

/* The informative part of grpc's text: "Connection refused" in "failed to connect to all addresses;
 * last error: UNKNOWN: ipv4:127.0.0.1:9: Failed to connect to remote host: Connection refused". */
static const char *telling_part(const char *details)
{
    const char *part = behind(details, "last error: ");
    if (part != details)
        part = behind(part, ": "); /* the name of a status */
    if (text_starts(part, "ipv4:") || text_starts(part, "ipv6:"))
        part = behind(part, ": ");
    if (text_starts(part, "DNS resolution failed"))
        part = behind(part, "UNKNOWN: ");
    return behind(part, "remote host: ");
}

static void set_details(const char *details, struct err *err)
{
    const char *part = telling_part(details);
    char *text = text_printable(part, strlen(part), "");
    /* "Connection refused" reads better in lower case, "InvalidAuthToken: …" does not. */
    if (isupper((unsigned char)text[0]) && strchr(text, ' ') && !strchr(text, ':'))
        text[0] = (char)tolower((unsigned char)text[0]);
    err_why(err, "%s", text);
    free(text);
}

static bool side_fits(enum side side, bool value)
{
    return side == EITHER || (side == YES) == value;
}

static void from_table(const struct rpc_failure *failure, struct err *err)
{
    bool tls = failure->credentials && failure->credentials->use_tls;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if ((rows[i].status != ANY && rows[i].status != failure->status) ||
            !strstr(failure->details, rows[i].needle) || !side_fits(rows[i].tls, tls) ||
            !side_fits(rows[i].answered, failure->answered))
            continue;
        err_set(err, rows[i].code, "%s%s%s", rows[i].before, failure->address, rows[i].after);
        err_hint(err, "%s", rows[i].hint);
        if (rows[i].why)
            err_why(err, "%s", rows[i].why);
        else
            set_details(failure->details, err);
        return;
    }
}

/* Ray 2.52 to 2.60 give the same error for a missing and a wrong token, but we know which it is. */
static void token_error(const struct rpc_failure *failure, struct err *err)
{
    const struct credentials *credentials = failure->credentials;
    bool sent = credentials && credentials->token;
    err_set(err, ERR_DENIED, "%s wants a token", failure->address);
    if (sent) {
        err_why(err, "it does not accept the one from %s", credentials->token_source);
        err_hint(err, "`ray get-auth-token` on the head node prints the right one; set "
                      "RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token");
    } else {
        err_why(err, "none was found in RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH and ~/.ray/auth_token, "
                     "or RAY_AUTH_MODE=disabled");
        err_hint(err, "`ray get-auth-token` on the head node prints it");
    }
}

static void deadline_error(const struct rpc_failure *failure, struct err *err)
{
    err_set(err, ERR_UNREACHABLE, "no answer from %s within %.1f s", failure->address,
            (double)failure->deadline_ms / 1000);
    if (failure->answered)
        err_why(err, "it has answered before: it is busy, or the way to it is cut");
    else
        err_hint(err, "is the address right, and does no firewall drop what goes there?");
}

static void size_error(const struct rpc_failure *failure, struct err *err)
{
    err_set(err, ERR_FAILED, "the answer of %s is larger than %zu MiB", failure->address,
            failure->max_reply >> 20);
    set_details(failure->details, err);
}

/* Errors that need more than the table's fixed texts. */
static const struct {
    int status;
    const char *needle;
    void (*explain)(const struct rpc_failure *failure, struct err *err);
} special[] = {
    {UNAUTHENTICATED, "AuthToken", token_error},
    {DEADLINE_EXCEEDED, "", deadline_error},
    {RESOURCE_EXHAUSTED, "larger than max", size_error},
};

void rpc_error(const struct rpc_failure *failure, struct err *err)
{
    for (size_t i = 0; i < sizeof special / sizeof *special; i++) {
        if (special[i].status == failure->status && strstr(failure->details, special[i].needle)) {
            special[i].explain(failure, err);
            return;
        }
    }
    from_table(failure, err);
}
