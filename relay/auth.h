/* Who may use the relay's port: a driver's token and an observer's. Compared in constant time;
 * never logged. */
#ifndef RAYDBG_RELAY_AUTH_H
#define RAYDBG_RELAY_AUTH_H

#include "base/err.h"

#include <stdbool.h>

/* What a client may do at most; a driver may choose to observe. */
enum auth_role { AUTH_NONE, AUTH_OBSERVER, AUTH_DRIVER };

struct auth;

/* All may be NULL. */
struct auth_options {
    const char *token_file;          /* --token-file; "none" is auth_create_open()'s */
    const char *observer_token_file; /* --observer-token-file */
};

/* The driver's token: token_file > $RAYDBG_TOKEN > <state>/token, which is made (64 hex digits,
 * file 0600, directory 0700) if it is not there. The observer's: observer_token_file >
 * $RAYDBG_OBSERVER_TOKEN > <state>/observer-token if it is there. <state> is auth_state_path("").
 * Refuses (NULL, `err` set): a file that others can read, that is empty, or that cannot be read;
 * a token of fewer than 16 characters or with others than visible ASCII; the same for both. */
struct auth *auth_create(const struct auth_options *options, struct err *err);
/* --token none: everybody drives. */
struct auth *auth_create_open(void);
void auth_destroy(struct auth **auth);

bool auth_is_open(const struct auth *auth);
enum auth_role auth_check(const struct auth *auth, const char *token /* NULL: none given */);
const char *auth_role_name(enum auth_role role); /* "none", "observer", "driver" */

/* That its writer knows a token, without showing it: HMAC-SHA-256 of the text under the token, in
 * hex. The caller frees. */
char *auth_proof(const char *token, const char *text);
/* The same with the driver's and, if there is one, the observer's token; NULL where there is none.
 */
void auth_proofs(const struct auth *auth, const char *text, char *out[2]);

/* For a client of a relay: $RAYDBG_TOKEN > the file (`token_file`, or <state>/token if that is
 * NULL). *token is the caller's to free; NULL if there is none, which is no error unless token_file
 * was given. */
int auth_client_token(const char *token_file, char **token, struct err *err);

/* $XDG_STATE_HOME/raydbg/NAME, or ~/.local/state/raydbg/NAME; the caller frees. NULL without a
 * home.
 */
char *auth_state_path(const char *name);
/* Makes the directory of auth_state_path(), 0700. */
int auth_make_state_directory(struct err *err);
/* Writes a new random token (64 hex digits and a newline) to `path`, 0600, atomically; an existing
 * file is an error. */
int auth_make_token_file(const char *path, struct err *err);

#endif
