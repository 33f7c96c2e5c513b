/* What `raydbg doctor` finds out, before anybody judges it. Data only. */
#ifndef RAYDBG_CLI_DOCTOR_FACTS_H
#define RAYDBG_CLI_DOCTOR_FACTS_H

#include "base/err.h"
#include "proto/records.h"
#include "relay/address.h"
#include "relay/relay_find.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum doctor_answer {
    DOCTOR_PENDING, /* not answered within the time there is */
    DOCTOR_YES,     /* something listens there, and can be reached */
    DOCTOR_REFUSED, /* `why` */
    DOCTOR_DEAF,    /* a debugger here that accepts nobody any more: connections wait for it */
};

/* A port that was tried from here: a raylet's, or that of a worker's debugpy. */
struct doctor_port {
    char *host;
    uint16_t port;
    int64_t pid; /* of the worker; 0 for a raylet */
    enum doctor_answer answer;
    char *why; /* one clause, or NULL */
};

struct doctor_ports {
    struct doctor_port *items;
    size_t count;
    size_t left_out; /* more than are asked */
};

/* A question that has one answer or one error. */
struct doctor_question {
    bool answered;
    struct err err; /* code ERR_NONE: it went well */
};

struct doctor_cluster {
    struct doctor_question address; /* answered at once */
    struct address place;
    struct doctor_question credentials;
    bool has_token, has_tls;
    char token_source[256]; /* a variable or a file, never the token; "" without one */

    struct doctor_question version; /* the first question: how the cluster answers at all */
    int64_t took_us;
    struct ray_version ray;
    char ray_text[32], python_text[32]; /* "" if the cluster does not say */

    struct doctor_question nodes, workers, pdbs;
    size_t nodes_alive, nodes_dead, workers_alive, workers_waiting;
    struct doctor_ports raylets, debuggers;
    size_t pdbs_waiting, pdbs_stale;
    int64_t ahead_ms; /* how far the clock of some node is ahead of ours at least; 0: no sign */
    char *ahead_ip;

    size_t refs, refs_with_site; /* in the processes that were asked */
    size_t refs_asked;           /* processes that answered */

    size_t relays_fresh, relays_stale, relays_strange; /* in its store: strange ones do not know
                                                          our token */
};

struct doctor_relay {
    bool wanted; /* false: --no-relay */
    enum relay_found found;
    bool in_cluster;            /* it was found in the cluster's store */
    struct doctor_question use; /* what was given makes sense */
    char *where;                /* "127.0.0.1:4713", or NULL */
    struct doctor_question health, list, metrics;
    int64_t took_us;
    bool denied;   /* the token is missing or wrong */
    bool token;    /* we have one to show */
    char *cluster; /* that it knows, or NULL */
    size_t nodes_alive, pauses, held, clients;
    char version[32]; /* "" if unknown */
    int keeper;       /* 1 lives, 0 not, -1 unknown */
};

/* This machine and this environment. */
struct doctor_here {
    char *ray_debug, *post_mortem; /* the variables, or NULL */
    char *dead_registration;       /* a file of a relay that is gone, or NULL */
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
