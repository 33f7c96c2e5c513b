/* The options on which relay to use, the same for every command, and the choice they lead to. */
#ifndef RAYDBG_CLI_RELAY_OPTIONS_H
#define RAYDBG_CLI_RELAY_OPTIONS_H

#include "cli/options.h"
#include "relay/address.h"
#include "relay/relay_find.h"

/* Rows for a command's table of options; `wish` is a struct relay_wish that is wanted. */
#define RELAY_OPTION_SPECS(wish)                                                                   \
    {"relay", 0, OPTION_STRING, NULL, &(wish).address},                                            \
        {"no-relay", 0, OPTION_FLAG, &(wish).wanted, NULL},                                        \
        {"relay-token-file", 0, OPTION_STRING, NULL, &(wish).token_file},                          \
        {"relay-ca", 0, OPTION_STRING, NULL, &(wish).ca},                                          \
        {"relay-fingerprint", 0, OPTION_STRING, NULL, &(wish).fingerprint},                        \
        {"relay-cert", 0, OPTION_STRING, NULL, &(wish).cert},                                      \
    {                                                                                              \
        "relay-key", 0, OPTION_STRING, NULL, &(wish).key                                           \
    }

/* Their lines in a command's help. */
#define RELAY_OPTION_HELP                                                                          \
    "  --relay ADDRESS         HOST:PORT, https://HOST:PORT or unix:PATH of a relay; else\n"       \
    "                          RAYDBG_RELAY, else one that runs here or in the cluster\n"          \
    "  --no-relay              go without a relay\n"                                               \
    "  --relay-token-file F    the relay's token; else RAYDBG_TOKEN, else the one made here\n"     \
    "  --relay-ca F, --relay-fingerprint SHA256:...\n"                                             \
    "                          which certificate of the relay's to trust\n"                        \
    "  --relay-cert F, --relay-key F\n"                                                            \
    "                          what to show a relay that asks for a certificate\n"

struct relay_choice {
    struct loop *loop; /* can speak to the relay, or to the cluster */
    enum relay_found found;
    struct relay_address relay;
    bool has_cluster; /* `cluster` is known: always, but for a relay that needs none */
    struct address cluster;
};

/* `given` is --address. A relay that was found but does not answer within a second is passed over,
 * with a note on stderr. `needs_cluster`: without a relay, not to know the cluster is an error.
 * Clear it, also after an error. Turns the loop. */
int relay_choose(struct relay_choice *out, const struct relay_wish *wish, const char *given,
                 bool needs_cluster, struct err *err);
void relay_choice_clear(struct relay_choice *choice);

#endif
