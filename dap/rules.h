/* The relay's rule for each DAP message between a client and debugpy. Forward is the default for
 * what debugpy implements; the table holds the exceptions and their reasons. */
#ifndef RAYDBG_DAP_RULES_H
#define RAYDBG_DAP_RULES_H

#include "dap/envelope.h"

enum rule_action {
    RULE_FORWARD, /* forwarded unchanged, except for its seq */
    RULE_OBSERVE, /* forwarded, and the target notes its effect */
    RULE_REWRITE, /* forwarded with some of its bytes changed */
    RULE_ANSWER,  /* the relay answers it itself with success */
    RULE_REFUSE,  /* the relay answers it with success:false and `reason` */
    RULE_DROP,    /* discarded; no peer waits for a response */
};

enum rule_side { RULE_FROM_CLIENT, RULE_FROM_DEBUGGEE };

struct rule {
    enum rule_side side;
    enum dap_kind kind;
    const char *name;
    enum rule_action action;
    const char *reason; /* RULE_REFUSE: the response's message; others: why, for the reader */
};

/* Never NULL. A client's request that is not in the table is refused, because debugpy does not
 * implement it: debugpy 1.8 never answers some commands and is then dead for every later client.
 * A debuggee's request (a reverse request) is refused unless the table allows it. A client's events
 * and responses are dropped: DAP has no events from clients, and no reverse request reaches one. */
const struct rule *rules_find(enum rule_side side, enum dap_kind kind, const char *name);

/* The whole table, for the tests and the documentation. */
const struct rule *rules_all(size_t *count);

#endif
