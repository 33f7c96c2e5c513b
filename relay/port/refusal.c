#include "relay/port/refusal.h"

#include "base/err.h"
#include "dap/message.h"
#include "relay/port/client_hello.h"

static const struct row {
    int status;
    const char *what, *why, *hint;
} rows[REFUSAL_COUNT] = {
    [REFUSAL_NONE] = {200, "", "", ""},
    [REFUSAL_CONNECTIONS] = {503, "the relay has as many connections as it may",
                             "the limit is --max-sessions", "close some, or raise the limit"},
    [REFUSAL_ADDRESS] = {429, "too many connections of this address wait to be authenticated",
                         "the limit is --max-per-address", "try again in a few seconds"},
    [REFUSAL_SLOW] = {408, "the request took too long",
                      "a connection that is not authenticated "
                      "may wait only some seconds",
                      "send the whole request at once, each header as NAME: VALUE on one line"},
    [REFUSAL_HEADER] = {431, "the request's header is too long", "the limit is --max-header",
                        "send fewer or shorter headers"},
    [REFUSAL_HEADER_FORM] = {400, "the request's header is malformed",
                             "a line is folded, or lacks its name, colon or value",
                             "send each header as NAME: VALUE on one line"},
    [REFUSAL_BODY] = {413, "the request's body is too long", "the limit is --max-body",
                      "send less, or raise the limit"},
    [REFUSAL_CHUNKED] = {411, "the request has no Content-Length",
                         "the relay does not read chunked bodies", "send a Content-Length"},
    [REFUSAL_LENGTH] = {400, "the request's Content-Length is no number of up to 20 digits", "",
                        ""},
    [REFUSAL_NOT_HTTP] = {400, "these bytes are neither HTTP nor DAP", "",
                          "does the client speak TLS to a port that does not?"},
    [REFUSAL_PLAIN] = {400, "this port speaks TLS, and these bytes are plain",
                       "off loopback plain bytes would show the token to others",
                       "use https:// or wss://; for DAP: raydbg dap --relay HOST:PORT"},
    [REFUSAL_NO_AGENT] = {400, "these bytes do not begin with an agent's line",
                          "a connection whose TLS names " CLIENT_HELLO_RAYDBG " is an agent's",
                          "is the process's raydbg of another version?"},
    [REFUSAL_SILENT] = {400, "an agent that dialled with TLS and said nothing",
                        "TLS failed, or it expects another certificate",
                        "start the job again if the relay has a new certificate"},
    [REFUSAL_NO_DOOR] = {503, "an agent's TLS connection cannot be served",
                         "the relay's process for them does not take it",
                         "it dials again; if that does not help, start the relay again"},
    [REFUSAL_HOST] = {403, "the Host header names no address of the relay's",
                      "a web page could reach the relay under a name of its own",
                      "start the relay with --allow-host NAME"},
    [REFUSAL_ORIGIN] = {403, "requests of this Origin are not allowed",
                        "a web page must not reach the relay by itself",
                        "start the relay with --allow-origin ORIGIN"},
    [REFUSAL_URL_TOKEN] = {400, "a token must not be part of a URL",
                           "URLs end up in logs and histories",
                           "send it as a header, Authorization: Bearer TOKEN"},
    [REFUSAL_NO_TOKEN] = {401, "a token is needed", "the request has none",
                          "raydbg takes it from RAYDBG_TOKEN or --relay-token-file, scripts send "
                          "Authorization: Bearer TOKEN, DAP clients the attach argument token; it "
                          "is in ~/.local/state/raydbg/token of the relay's user"},
    [REFUSAL_WRONG_TOKEN] = {401, "the token is wrong",
                             "it is neither a driver's nor an observer's",
                             "is it another relay's? RAYDBG_TOKEN comes before the token file"},
    [REFUSAL_PATH] = {404, "there is no WebSocket at this path", "", "use /dap or /events"},
    [REFUSAL_PROTOCOL] = {400, "the WebSocket subprotocol does not fit the path", "",
                          "/dap speaks dap, /events speaks raydbg.events; none is fine, too"},
    [REFUSAL_UPGRADE] = {426, "this path is for WebSockets",
                         "the request is no WebSocket handshake "
                         "of version 13",
                         "scripts use /v1/pauses and /v1/sessions"},
    [REFUSAL_CHALLENGE] = {400, "the challenge cannot be answered",
                           "it needs nonce=, 64 lower-case hex digits, and place=here or "
                           "place=anywhere",
                           ""},
};

int refusal_status(enum refusal refusal)
{
    return rows[refusal].status;
}

const char *refusal_what(enum refusal refusal)
{
    return rows[refusal].what;
}

void refusal_json(struct buf *out, enum refusal refusal)
{
    const struct row *row = &rows[refusal];
    buf_add_string(out, "{\"error\":{\"what\":");
    message_quote(out, row->what);
    buf_add_string(out, ",\"why\":");
    message_quote(out, row->why);
    buf_add_string(out, ",\"hint\":");
    message_quote(out, row->hint);
    buf_add_string(out, "}}");
}

void refusal_dap_text(struct buf *out, const char *text)
{
    message_failure(out, 0, 0, "", text, ERR_DENIED, true);
}

void refusal_dap(struct buf *out, enum refusal refusal)
{
    struct err err;
    char line[1024];
    err_set(&err, ERR_DENIED, "%s", rows[refusal].what);
    err_why(&err, "%s", rows[refusal].why);
    err_hint(&err, "%s", rows[refusal].hint);
    err_line(&err, line, sizeof line);
    refusal_dap_text(out, line);
}

const char *refusal_phrase(int status)
{
    static const struct {
        int status;
        const char *phrase;
    } phrases[] = {
        {200, "OK"},
        {202, "Accepted"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {426, "Upgrade Required"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
    };
    for (size_t i = 0; i < sizeof phrases / sizeof *phrases; i++)
        if (phrases[i].status == status)
            return phrases[i].phrase;
    return "Other";
}
