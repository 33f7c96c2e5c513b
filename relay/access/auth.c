#include "relay/access/auth.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/access/proof.h"

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

/* FILE_MOST: the bytes of a token file, the token and white space around it. */
enum { FILE_MOST = 4096, TOKEN_RANDOM_BYTES = 32 };

struct auth {
    bool open;
    char *driver;
    char *observer; /* or NULL: there is no observer's token */
    char id[PROOF_ID_ROOM];
};

/* --- the state directory --- */

char *auth_state_path(const char *name)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    const char *slash = text_empty(name) ? "" : "/";
    if (state && state[0] == '/') /* the XDG specification: ignore a relative path */
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

/* Creates each missing directory of the path with mode 0700, as the XDG specification requires. */
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

/* link() does not replace an existing file: of two processes that start at once, one creates it. */
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
    if (len >= AUTH_TOKEN_LEAST && len <= AUTH_TOKEN_MOST)
        return 0;
    err_set(err, ERR_USAGE, "the token of %s cannot be used", source);
    if (len > AUTH_TOKEN_MOST)
        err_why(err, "it has more than %d characters", AUTH_TOKEN_MOST);
    else
        err_why(err, len ? "it has fewer than %d characters" : "it is empty", AUTH_TOKEN_LEAST);
    return err_hint(err, "openssl rand -hex 32 makes a good one");
}

static int refuse_file(const char *path, const char *why, const char *hint, struct err *err)
{
    err_set(err, ERR_USAGE, "the token file %s cannot be used", path);
    err_why(err, "%s", why);
    return hint[0] ? err_hint(err, "%s", hint) : -1;
}

bool auth_file_is_private(const struct stat *file, uid_t reader)
{
    mode_t others = S_IRWXG | S_IRWXO;
    if (file->st_uid == 0 && reader != 0)
        others = S_IWGRP | S_IXGRP | S_IRWXO;
    return !S_ISREG(file->st_mode) || !(file->st_mode & others);
}

/* Checks the open descriptor, so that the check applies to the file that is read. */
static int check_file(int fd, const char *path, struct err *err)
{
    struct stat info;
    char hint[300];
    if (fstat(fd, &info) != 0)
        return refuse_file(path, strerror(errno), "", err);
    snprintf(hint, sizeof hint, "chmod 600 %.250s", path);
    if (!auth_file_is_private(&info, geteuid()))
        return refuse_file(path, "others than its owner can read it", hint, err);
    return 0;
}

/* Strips white space around the token. */
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

/* Reads up to `size` bytes or the file's end: a pipe gives them in pieces. -1 with errno set. */
static ssize_t read_all(int fd, char *out, size_t size)
{
    size_t len = 0;
    while (len < size) {
        ssize_t got = read(fd, out + len, size - len);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -1 : (ssize_t)len;
        len += (size_t)got;
    }
    return (ssize_t)len;
}

/* Returns 0 with *token NULL if the file does not exist and is `optional`. */
static int read_token(const char *path, bool optional, char **token, struct err *err)
{
    char text[FILE_MOST + 2];
    *token = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    if (fd < 0 && errno == ENOENT && optional)
        return 0;
    if (fd < 0)
        return refuse_file(path, strerror(errno), "", err);
    int rc = check_file(fd, path, err);
    if (rc == 0) {
        ssize_t len = read_all(fd, text, FILE_MOST + 1);
        if (len < 0) {
            rc = refuse_file(path, strerror(errno), "", err);
        } else if (len > FILE_MOST) {
            rc = refuse_file(path, "it has more than 4096 bytes", "it holds the token alone", err);
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

/* Takes the first of: the file `file`, the environment, <state>/NAME if it exists. */
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
    /* Another relay may have just created the file: its token counts then. */
    if (rc == 0 && auth_make_token_file(path, err) != 0 && errno != EEXIST)
        rc = -1;
    if (rc == 0)
        rc = read_token(path, false, token, err);
    free(path);
    return rc;
}

/* --- roles --- */

static bool same_token(const char *a, const char *b)
{
    if (!a || !b)
        return false;
    size_t a_len = strlen(a), b_len = strlen(b);
    /* Takes the same time for all tokens of one length: the time reveals only the length. */
    unsigned char differ = a_len != b_len;
    for (size_t i = 0; i < b_len; i++)
        differ |= (unsigned char)(a[a_len ? i % a_len : 0] ^ b[i]);
    return differ == 0;
}

static struct auth *new_auth(void)
{
    struct auth *auth = mem_alloc(sizeof *auth);
    proof_random(auth->id, sizeof auth->id);
    return auth;
}

struct auth *auth_create(const struct auth_options *options, struct err *err)
{
    struct auth *auth = new_auth();
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
    struct auth *auth = new_auth();
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

const char *auth_relay_id(const struct auth *auth)
{
    return auth->id;
}

static bool proves(const char *token, const struct proof_exchange *exchange, const char *method,
                   const char *path, const char *proof)
{
    char *own = token ? proof_of_client(token, exchange, method, path) : NULL;
    bool same = proof_equal(own, proof);
    free(own);
    return same;
}

enum auth_role auth_check_proof(const struct auth *auth, const struct proof_exchange *exchange,
                                const char *method, const char *path, const char *proof)
{
    if (proves(auth->driver, exchange, method, path, proof))
        return AUTH_DRIVER;
    return proves(auth->observer, exchange, method, path, proof) ? AUTH_OBSERVER : AUTH_NONE;
}

void auth_relay_proofs(const struct auth *auth, const struct proof_exchange *exchange, char *out[2])
{
    out[0] = auth->driver ? proof_of_relay(auth->driver, exchange) : NULL;
    out[1] = auth->observer ? proof_of_relay(auth->observer, exchange) : NULL;
}

const char *auth_role_name(enum auth_role role)
{
    static const char *const names[] = {"none", "observer", "driver"};
    return names[role];
}
