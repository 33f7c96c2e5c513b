#include "proto/credentials.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* In bytes. No token and no PEM file comes near it; a wrong path may name a very large file. */
enum { FILE_LIMIT = 1 << 20 };

static const char white_space[] = " \t\r\n\v\f";

/* Overwrites a secret before it is freed; the compiler may not leave this out. */
static void wipe(char *secret)
{
    if (secret)
        explicit_bzero(secret, strlen(secret));
    free(secret);
}

/* Reads from `fd` until its end or until more than FILE_LIMIT bytes came; -1 with errno set. */
static int read_all(int fd, struct buf *out)
{
    for (;;) {
        char *to = buf_reserve(out, 4096);
        ssize_t got = read(fd, to, 4096);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            return 0;
        out->len += (size_t)got;
        if (out->len > FILE_LIMIT) {
            errno = EFBIG;
            return -1;
        }
    }
}

/* The whole file, NUL-terminated, for the caller to free; NULL with errno set. O_NONBLOCK: a path
 * that is a pipe must not hang us. */
static char *read_file(const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return NULL;
    struct buf text = {0};
    int failed = read_all(fd, &text);
    int why = errno;
    close(fd);
    if (failed) {
        buf_free(&text);
        errno = why;
        return NULL;
    }
    return buf_take(&text);
}

/* The text without white space around it. */
static char *trimmed(const char *text)
{
    text += strspn(text, white_space);
    size_t len = strlen(text);
    while (len && strchr(white_space, text[len - 1]))
        len--;
    return mem_string_n(text, len);
}

/* Takes over `token`. A token that HTTP cannot carry in a header is refused here, where its source
 * is still known. */
static int set_token(struct credentials *credentials, char *token, const char *source,
                     struct err *err)
{
    for (const char *p = token; *p; p++) {
        if (*p >= 0x20 && *p < 0x7F)
            continue;
        err_set(err, ERR_DENIED, "the token of %s cannot be sent", source);
        err_why(err, "it has a character that is not printable ASCII, at position %zu",
                (size_t)(p - token) + 1);
        wipe(token);
        return err_hint(err, "`ray get-auth-token` prints a good one; was the file cut or edited?");
    }
    credentials->token = token;
    credentials->token_source = mem_string(source);
    return 0;
}

/* `must_exist`: the user named the file, so that its absence is an error. */
static int token_from_file(struct credentials *credentials, const char *path, bool must_exist,
                           struct err *err)
{
    char *text = read_file(path);
    int why = errno;
    char *token = text ? trimmed(text) : NULL;
    wipe(text);
    if (token && *token)
        return set_token(credentials, token, path, err);
    bool empty = token != NULL;
    free(token);
    if (!must_exist && (empty || why == ENOENT || why == ENOTDIR))
        return 0;
    err_set(err, ERR_DENIED, "no token could be read from %s", path);
    err_why(err, "%s", empty ? "the file is empty" : strerror(why));
    if (must_exist)
        err_hint(err, "RAY_AUTH_TOKEN_PATH names this file: correct it, or unset it to use "
                      "~/.ray/auth_token");
    return -1;
}

static int token_from_home(struct credentials *credentials, struct err *err)
{
    const char *home = getenv("HOME");
    if (!home || !*home) {
        const struct passwd *user = getpwuid(getuid());
        home = user ? user->pw_dir : NULL;
    }
    if (!home || !*home)
        return 0;
    char *path = mem_format("%s/.ray/auth_token", home);
    int failed = token_from_file(credentials, path, false, err);
    free(path);
    return failed;
}

static int load_token(struct credentials *credentials, struct err *err)
{
    const char *mode = getenv("RAY_AUTH_MODE");
    if (mode && strcasecmp(mode, "disabled") == 0)
        return 0;
    const char *text = getenv("RAY_AUTH_TOKEN");
    char *token = text ? trimmed(text) : NULL;
    if (token && *token)
        return set_token(credentials, token, "RAY_AUTH_TOKEN", err);
    free(token);
    const char *path = getenv("RAY_AUTH_TOKEN_PATH");
    if (path && *path)
        return token_from_file(credentials, path, true, err);
    return token_from_home(credentials, err);
}

static int load_pem(const char *variable, char **out, struct err *err)
{
    const char *path = getenv(variable);
    if (!path || !*path) {
        err_set(err, ERR_DENIED, "%s is not set, but RAY_USE_TLS is", variable);
        return err_hint(err, "Ray's TLS is mutual: set RAY_TLS_CA_CERT, RAY_TLS_SERVER_CERT and "
                             "RAY_TLS_SERVER_KEY as on the cluster's nodes");
    }
    *out = read_file(path);
    if (!*out) {
        err_set(err, ERR_DENIED, "%s could not be read", path);
        err_why(err, "%s", strerror(errno));
        return err_hint(err, "%s names this file", variable);
    }
    if (!strstr(*out, "-----BEGIN ")) {
        err_set(err, ERR_DENIED, "%s is no PEM file", path);
        return err_hint(err, "%s names this file", variable);
    }
    return 0;
}

/* Follows Ray's python/ray/_common/tls_utils.py: "1" and "true" turn TLS on, which needs all three
 * files. */
static int load_tls(struct credentials *credentials, struct err *err)
{
    const char *use = getenv("RAY_USE_TLS");
    if (!use || (strcmp(use, "1") != 0 && strcasecmp(use, "true") != 0))
        return 0;
    credentials->use_tls = true;
    if (load_pem("RAY_TLS_CA_CERT", &credentials->tls_ca, err) ||
        load_pem("RAY_TLS_SERVER_CERT", &credentials->tls_cert, err) ||
        load_pem("RAY_TLS_SERVER_KEY", &credentials->tls_key, err))
        return -1;
    return 0;
}

int credentials_load(struct credentials *credentials, struct err *err)
{
    *credentials = (struct credentials){0};
    if (load_token(credentials, err) || load_tls(credentials, err)) {
        credentials_clear(credentials);
        return -1;
    }
    return 0;
}

void credentials_clear(struct credentials *credentials)
{
    wipe(credentials->token);
    wipe(credentials->tls_key);
    free((void *)(uintptr_t)credentials->token_source);
    free(credentials->tls_ca);
    free(credentials->tls_cert);
    *credentials = (struct credentials){0};
}
