/* The tokens for the relay's port: the driver's and the observer's. They are compared in constant
 * time and never logged. */
#ifndef RAYDBG_RELAY_ACCESS_AUTH_H
#define RAYDBG_RELAY_ACCESS_AUTH_H

#include "base/err.h"

#include <stdbool.h>
#include <sys/stat.h>

struct proof_exchange;

/* Characters of a token: a longer one would not fit into the request's header (http_access.c). */
enum { AUTH_TOKEN_LEAST = 16, AUTH_TOKEN_MOST = 1000 };

/* A client's highest role; a driver may choose to observe. */
enum auth_role { AUTH_NONE, AUTH_OBSERVER, AUTH_DRIVER };

struct auth;

/* All may be NULL. */
struct auth_options {
    const char *token_file;          /* --token-file; for --token none: auth_create_open() */
    const char *observer_token_file; /* --observer-token-file */
};

/* The driver's token: token_file > $RAYDBG_TOKEN > <state>/token, which is created (64 hex digits,
 * file 0600, directory 0700) if it does not exist. The observer's: observer_token_file >
 * $RAYDBG_OBSERVER_TOKEN > <state>/observer-token if it exists. <state> is auth_state_path("").
 * Refuses (NULL, `err` set): a file that is not private (auth_file_is_private()), that is empty, or
 * that cannot be read; a token of fewer than 16 or more than 1,000 characters, or with characters
 * other than visible ASCII; the same token for both. */
struct auth *auth_create(const struct auth_options *options, struct err *err);
/* For --token none: every client may drive. */
struct auth *auth_create_open(void);
void auth_destroy(struct auth **auth);

bool auth_is_open(const struct auth *auth);
enum auth_role auth_check(const struct auth *auth, const char *token /* NULL: none given */);
const char *auth_role_name(enum auth_role role); /* "none", "observer", "driver" */

/* Names this relay: 32 hex digits, random at each start. */
const char *auth_relay_id(const struct auth *auth);
/* The role of the client that made this proof for its request; AUTH_NONE if no token matches. */
enum auth_role auth_check_proof(const struct auth *auth, const struct proof_exchange *exchange,
                                const char *method, const char *path, const char *proof);
/* The relay's own proofs, with the driver's and the observer's token; NULL where there is none. */
void auth_relay_proofs(const struct auth *auth, const struct proof_exchange *exchange,
                       char *out[2]);

/* A proof that its writer knows a token, without showing it: HMAC-SHA-256 of the text under the
 * token, in hex. The caller frees. */
char *auth_proof(const char *token, const char *text);
/* The same with the driver's and, if there is one, the observer's token; NULL where there is none.
 */
void auth_proofs(const struct auth *auth, const char *text, char *out[2]);

/* For a client of a relay: $RAYDBG_TOKEN > the file (`token_file`, or <state>/token if that is
 * NULL). The caller frees *token, which is NULL if there is none; that is an error only if
 * token_file was given. */
int auth_client_token(const char *token_file, char **token, struct err *err);

/* True if only the owner can read or change a file with a token. The group may read a file of
 * root's that another user is to read: so a Kubernetes Secret comes to a container that does not
 * run as root (0440, by fsGroup). Pipes and devices are private. */
bool auth_file_is_private(const struct stat *file, uid_t reader);

/* $XDG_STATE_HOME/raydbg/NAME, or ~/.local/state/raydbg/NAME; the caller frees. NULL if neither
 * variable is an absolute path. */
char *auth_state_path(const char *name);
/* Makes the directory of auth_state_path(), 0700. */
int auth_make_state_directory(struct err *err);
/* Writes a new random token (64 hex digits and a newline) to `path`, 0600, atomically; an existing
 * file is an error. */
int auth_make_token_file(const char *path, struct err *err);

#endif
