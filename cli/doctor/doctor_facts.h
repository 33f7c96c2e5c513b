/* The facts that `raydbg doctor` collects, before they are judged. Data only. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_FACTS_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_FACTS_H

#include "base/err.h"
#include "proto/records.h"
#include "relay/cluster/cluster_address.h"
#include "relay/locate/relay_find.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum doctor_port_answer {
    DOCTOR_PENDING, /* not answered in time */
    DOCTOR_YES,     /* something listens there, and can be reached */
    DOCTOR_REFUSED, /* see `why` */
    DOCTOR_DEAF,    /* a debugger here that no longer accepts: connections wait for it */
};

/* A port that was tried from here: a raylet's, or that of a worker's debugpy. */
struct doctor_port {
    char *host;
    uint16_t port;
    int64_t pid; /* of the worker; 0 for a raylet */
    enum doctor_port_answer answer;
    char *why; /* one clause, or NULL */
};

struct doctor_ports {
    struct doctor_port *items;
    size_t count;
    size_t left_out; /* ports that were not tried */
};

/* The answer to a query, or its error. */
struct doctor_answer {
    bool answered;
    struct err err; /* code ERR_NONE: success */
};

struct doctor_cluster {
    struct doctor_answer lookup; /* of the address; answered at once */
    struct cluster_address address;
    struct doctor_answer credentials;
    bool has_token, has_tls;
    char token_source[256]; /* a variable or a file, never the token; "" without one */

    struct doctor_answer version; /* the first query: whether the cluster answers at all */
    int64_t took_us;
    struct ray_version ray;
    char ray_text[32], python_text[32]; /* "" if the cluster does not say */

    struct doctor_answer nodes, workers, pdbs;
    size_t nodes_alive, nodes_dead, workers_alive, workers_waiting;
    struct doctor_ports raylets, debuggers;
    size_t pdbs_waiting, pdbs_stale;
    int64_t ahead_ms; /* lower limit of how far a node's clock is ahead of ours; 0: no sign */
    char *ahead_ip;

    size_t refs, refs_with_site; /* in the processes that were asked */
    size_t refs_asked;           /* processes that answered */

    /* Jobs that run, by what their runtime_env says of their packages; those of Ray itself are not
     * counted. */
    size_t jobs[RUNTIME_PACKAGES_OWN + 1];

    size_t relays_fresh, relays_stale, relays_strange; /* in the store; strange: not our token */
};

struct doctor_relay {
    bool wanted; /* false: --no-relay */
    enum relay_found found;
    bool in_cluster;          /* it was found in the cluster's store */
    struct doctor_answer use; /* the options given are valid */
    char *where;              /* "127.0.0.1:4713", or NULL */
    struct doctor_answer health, list, metrics;
    int64_t took_us;
    bool denied;   /* the token is missing or wrong */
    bool token;    /* we have a token */
    char *cluster; /* the relay's cluster, or NULL */
    size_t nodes_alive, pauses, held, clients;
    char version[32]; /* "" if unknown */
    int keeper;       /* 1 lives, 0 not, -1 unknown */
};

/* debugpy beside a raylet of this machine. */
struct doctor_debugpy {
    char *packages; /* the directory that Ray's workers import from; NULL: unknown */
    char *version;  /* of debugpy there, "" if unknown; NULL: debugpy is missing */
};

/* This machine and this environment. */
struct doctor_here {
    char *ray_debug, *post_mortem; /* the variables, or NULL */
    struct doctor_debugpy debugpy;
    char *program;           /* the path of this program */
    char *namesake;          /* another program, if that is the first raydbg on PATH; or NULL */
    char *dead_registration; /* a file of a relay that is gone, or NULL */
    size_t dead_registrations, live_registrations;
    size_t keepers;    /* that accept connections */
    char **extensions; /* "0.1.0 (~/.vscode/extensions)" */
    size_t extension_count;
    bool extension_differs; /* from this raydbg's version */
};

struct doctor_facts {
    struct doctor_cluster cluster;
    struct doctor_relay relay;
    struct doctor_here here;
};

void doctor_facts_clear(struct doctor_facts *facts);

#endif
