/* The options that select a relay, the same for every command, and the resulting choice. */
#ifndef RAYDBG_CLI_COMMON_RELAY_OPTIONS_H
#define RAYDBG_CLI_COMMON_RELAY_OPTIONS_H

#include "cli/common/options.h"
#include "relay/cluster/cluster_address.h"
#include "relay/locate/relay_find.h"

/* Rows for a command's option table; `type` is the command's struct, and `wish` its struct
 * relay_wish, in which `wanted` is set at first. */
#define RELAY_OPTION_ROWS(type, wish)                                                              \
    {"relay",                                                                                      \
     0,                                                                                            \
     OPTION_STRING,                                                                                \
     offsetof(type, wish.address),                                                                 \
     .value = "ADDRESS",                                                                           \
     .help = "HOST:PORT, https://HOST:PORT or unix:PATH of a relay; else RAYDBG_RELAY, else one "  \
             "that runs here or in the cluster"},                                                  \
        {"no-relay", 0, OPTION_FLAG, offsetof(type, wish.wanted), .help = "go without a relay"},   \
        {"relay-token-file",                                                                       \
         0,                                                                                        \
         OPTION_STRING,                                                                            \
         offsetof(type, wish.token_file),                                                          \
         .value = "F",                                                                             \
         .word = WORD_FILE,                                                                        \
         .help = "the relay's token; else RAYDBG_TOKEN, else the one made here"},                  \
        {"relay-ca",                                                                               \
         0,                                                                                        \
         OPTION_STRING,                                                                            \
         offsetof(type, wish.ca),                                                                  \
         .value = "F",                                                                             \
         .word = WORD_FILE,                                                                        \
         .help = "the CA whose certificates to trust"},                                            \
        {"relay-fingerprint",   0,                                                                 \
         OPTION_STRING,         offsetof(type, wish.fingerprint),                                  \
         .value = "SHA256:...", .help = "the relay's certificate to trust"},                       \
        {"relay-cert",                                                                             \
         0,                                                                                        \
         OPTION_STRING,                                                                            \
         offsetof(type, wish.cert),                                                                \
         .value = "F",                                                                             \
         .word = WORD_FILE,                                                                        \
         .help = "what to show a relay that asks for a certificate"},                              \
    {                                                                                              \
        "relay-key", 0, OPTION_STRING, offsetof(type, wish.key), .value = "F", .word = WORD_FILE,  \
                                                                 .help = "its key"                 \
    }

struct relay_choice {
    struct loop *loop; /* speaks to the relay, or to the cluster */
    enum relay_found found;
    struct relay_address relay;
    bool has_cluster; /* `cluster` is known; false only with a relay */
    struct cluster_address cluster;
    bool quiet; /* no note on a relay that does not answer */
};

/* Chooses a relay, or else the cluster. `given` is --address. Skips a relay that was found but does
 * not answer within a second, with a note on stderr. `needs_cluster`: without a relay, an unknown
 * cluster is an error. An invalid `given` always is; an invalid RAY_ADDRESS only if it is needed.
 * The caller clears `out`, also after an error. Runs the loop. */
int relay_choose(struct relay_choice *out, const struct relay_wish *wish, const char *given,
                 bool needs_cluster, struct err *err);
/* The same without notes, for a command that can go on without a relay. True if a relay was given,
 * or if one was found that answers. */
bool relay_choose_quietly(struct relay_choice *out, const struct relay_wish *wish,
                          const char *given);
void relay_choice_clear(struct relay_choice *choice);

/* True if a running relay for that --address has registered in the state directory, or if one is
 * given. Sends no request. */
bool relay_is_here(const struct relay_wish *wish, const char *given);

#endif
