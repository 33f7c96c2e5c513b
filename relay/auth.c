#include "relay/auth.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

enum { TOKEN_LEAST = 16, TOKEN_MOST = 4096, TOKEN_RANDOM_BYTES = 32 };

struct auth {
    bool open;
    char *driver;
    char *observer; /* or NULL: nobody can observe by token */
};

/* --- places --- */

char *auth_state_path(const char *name)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    const char *slash = text_empty(name) ? "" : "/";
    if (state && state[0] == '/') /* the XDG specification: a relative path is to be ignored */
        return mem_format("%s/raydbg%s%s", state, slash, name ? name : "");
    if (home && home[0] == '/')
        return mem_format("%s/.local/state/raydbg%s%s", home, slash, name ? name : "");
    return NULL;
}

static int no_home(struct err *err)
{
    err_set(err, ERR_FAILED, "there is no place to keep a token");
    err_why(err, "neither XDG_STATE_HOME nor HOME is set");
    return err_hint(err, "give one with --token-file or RAYDBG_TOKEN");
}

/* Each missing directory on the way is made 0700, as the XDG specification wants it. */
static int make_directories(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        int rc = mkdir(path, 0700);
        *slash = '/';
        if (rc != 0 && errno != EEXIST)
            return -1;
    }
    return mkdir(path, 0700) != 0 && errno != EEXIST ? -1 : 0;
}

int auth_make_state_directory(struct err *err)
{
    char *path = auth_state_path("");
    if (!path)
        return no_home(err);
    int rc = make_directories(path);
    if (rc != 0) {
        err_set(err, ERR_FAILED, "%s could not be made", path);
        err_why(err, "%s", strerror(errno));
    }
    free(path);
    return rc;
}

/* --- token files --- */

static int write_all(int fd, const char *bytes, size_t len)
{
    for (size_t at = 0; at < len;) {
        ssize_t put = write(fd, bytes + at, len - at);
        if (put < 0 && errno == EINTR)
            continue;
        if (put < 0)
            return -1;
        at += (size_t)put;
    }
    return fsync(fd);
}

/* link() does not replace what is there, so of two that start at once one makes the file. */
static int publish(int fd, const char *temporary, const char *path, const char *text)
{
    if (fchmod(fd, 0600) != 0 || write_all(fd, text, strlen(text)) != 0)
        return -1;
    return link(temporary, path);
}

int auth_make_token_file(const char *path, struct err *err)
{
    uint8_t bytes[TOKEN_RANDOM_BYTES];
    char text[2 * TOKEN_RANDOM_BYTES + 2];
    char *temporary = mem_format("%s.XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC), rc = -1, problem;
    if (fd >= 0 && getrandom(bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes) {
        text_hex(bytes, sizeof bytes, text);
        memcpy(text + sizeof text - 2, "\n", 2);
        rc = publish(fd, temporary, path, text);
    }
    problem = errno;
    explicit_bzero(bytes, sizeof bytes);
    explicit_bzero(text, sizeof text);
    if (fd >= 0) {
        close(fd);
        unlink(temporary);
    }
    free(temporary);
    if (rc != 0) {
        err_set(err, ERR_FAILED, "the token file %s could not be made", path);
        err_why(err, "%s", strerror(problem));
        errno = problem;
    }
    return rc;
}

static int check_token(const char *token, size_t len, const char *source, struct err *err)
{
    for (size_t i = 0; i < len; i++)
        if (token[i] < '!' || token[i] > '~') {
            err_set(err, ERR_USAGE, "the token of %s cannot be used", source);
            return err_why(err, "it has other characters than visible ASCII");
        }
    if (len < TOKEN_LEAST) {
        err_set(err, ERR_USAGE, "the token of %s cannot be used", source);
        err_why(err, len ? "it has fewer than %d characters" : "it is empty", TOKEN_LEAST);
        return err_hint(err, "openssl rand -hex 32 makes a good one");
    }
    return 0;
}

static int refuse_file(const char *path, const char *why, const char *hint, struct err *err)
{
    err_set(err, ERR_USAGE, "the token file %s cannot be used", path);
    err_why(err, "%s", why);
    return hint[0] ? err_hint(err, "%s", hint) : -1;
}

/* Asked of the open file, so that it is about the file that is read. */
static int check_file(int fd, const char *path, struct err *err)
{
    struct stat info;
    char hint[300];
    if (fstat(fd, &info) != 0)
        return refuse_file(path, strerror(errno), "", err);
    snprintf(hint, sizeof hint, "chmod 600 %.250s", path);
    if (S_ISREG(info.st_mode) && (info.st_mode & (S_IRWXG | S_IRWXO)))
        return refuse_file(path, "others than its owner can read it", hint, err);
    return 0;
}

/* White space around the token is no part of it. */
static int take_token(char *text, size_t len, const char *path, char **token, struct err *err)
{
    while (len && strchr(" \t\r\n", text[len - 1]))
        len--;
    size_t start = strspn(text, " \t\r\n");
    if (start > len)
        start = len;
    if (check_token(text + start, len - start, path, err) != 0)
        return -1;
    *token = mem_string_n(text + start, len - start);
    return 0;
}

/* 0 with *token NULL if there is no such file and `optional`. */
static int read_token(const char *path, bool optional, char **token, struct err *err)
{
    char text[TOKEN_MOST + 1];
    *token = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && errno == ENOENT && optional)
        return 0;
    if (fd < 0)
        return refuse_file(path, strerror(errno), "", err);
    int rc = check_file(fd, path, err);
    if (rc == 0) {
        ssize_t len = read(fd, text, TOKEN_MOST);
        if (len < 0) {
            rc = refuse_file(path, strerror(errno), "", err);
        } else {
            text[len] = '\0';
            rc = take_token(text, (size_t)len, path, token, err);
        }
    }
    close(fd);
    explicit_bzero(text, sizeof text);
    return rc;
}

static int from_environment(const char *name, char **token, struct err *err)
{
    const char *value = getenv(name);
    *token = NULL;
    if (!value || !value[0])
        return 0;
    if (check_token(value, strlen(value), name, err) != 0)
        return -1;
    *token = mem_string(value);
    return 0;
}

/* The first of: the file that was named, the environment, <state>/NAME if it is there. */
static int find_token(const char *file, const char *variable, const char *name, char **token,
                      struct err *err)
{
    if (file)
        return read_token(file, false, token, err);
    if (from_environment(variable, token, err) != 0)
        return -1;
    char *path = *token ? NULL : auth_state_path(name);
    int rc = path ? read_token(path, true, token, err) : 0;
    free(path);
    return rc;
}

int auth_client_token(const char *token_file, char **token, struct err *err)
{
    *token = NULL;
    if (from_environment("RAYDBG_TOKEN", token, err) != 0)
        return -1;
    if (*token)
        return 0;
    return find_token(token_file, "RAYDBG_TOKEN", "token", token, err);
}

static int make_driver_token(char **token, struct err *err)
{
    char *path = auth_state_path("token");
    if (!path)
        return no_home(err);
    int rc = auth_make_state_directory(err);
    /* Another relay may have made it a moment ago: then that one counts. */
    if (rc == 0 && auth_make_token_file(path, err) != 0 && errno != EEXIST)
        rc = -1;
    if (rc == 0)
        rc = read_token(path, false, token, err);
    free(path);
    return rc;
}

/* --- who may --- */

static bool same_token(const char *a, const char *b)
{
    if (!a || !b)
        return false;
    size_t a_len = strlen(a), b_len = strlen(b);
    /* Takes as long for every token of one length, and tells no more than that length. */
    unsigned char differ = a_len != b_len;
    for (size_t i = 0; i < b_len; i++)
        differ |= (unsigned char)(a[a_len ? i % a_len : 0] ^ b[i]);
    return differ == 0;
}

struct auth *auth_create(const struct auth_options *options, struct err *err)
{
    struct auth *auth = mem_alloc(sizeof *auth);
    struct err discarded = {0};
    if (!err)
        err = &discarded;
    int rc = find_token(options->token_file, "RAYDBG_TOKEN", "token", &auth->driver, err);
    if (rc == 0 && !auth->driver)
        rc = make_driver_token(&auth->driver, err);
    if (rc == 0)
        rc = find_token(options->observer_token_file, "RAYDBG_OBSERVER_TOKEN", "observer-token",
                        &auth->observer, err);
    if (rc == 0 && same_token(auth->observer, auth->driver)) {
        err_set(err, ERR_USAGE, "the observer's token is the driver's");
        err_hint(err, "give observers one of their own: raydbg relay --make-observer-token");
        rc = -1;
    }
    if (rc != 0) {
        auth_destroy(&auth);
        return NULL;
    }
    *err = (struct err){0};
    return auth;
}

struct auth *auth_create_open(void)
{
    struct auth *auth = mem_alloc(sizeof *auth);
    auth->open = true;
    return auth;
}

static void forget(char *token)
{
    if (token)
        explicit_bzero(token, strlen(token));
    free(token);
}

void auth_destroy(struct auth **auth)
{
    struct auth *it = *auth;
    if (!it)
        return;
    *auth = NULL;
    forget(it->driver);
    forget(it->observer);
    free(it);
}

char *auth_proof(const char *token, const char *text)
{
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned int len = 0;
    char hex[2 * EVP_MAX_MD_SIZE + 1] = "";
    if (HMAC(EVP_sha256(), token, (int)strlen(token), (const unsigned char *)text, strlen(text),
             digest, &len))
        text_hex(digest, len, hex);
    return mem_string(hex);
}

void auth_proofs(const struct auth *auth, const char *text, char *out[2])
{
    out[0] = auth->driver ? auth_proof(auth->driver, text) : NULL;
    out[1] = auth->observer ? auth_proof(auth->observer, text) : NULL;
}

bool auth_is_open(const struct auth *auth)
{
    return auth->open;
}

enum auth_role auth_check(const struct auth *auth, const char *token)
{
    if (auth->open)
        return AUTH_DRIVER;
    bool driver = same_token(token, auth->driver), observer = same_token(token, auth->observer);
    if (driver)
        return AUTH_DRIVER;
    return observer ? AUTH_OBSERVER : AUTH_NONE;
}

const char *auth_role_name(enum auth_role role)
{
    static const char *const names[] = {"none", "observer", "driver"};
    return names[role];
}
