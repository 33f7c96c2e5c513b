/* What is done with each DAP message between a client and debugpy. Forward is the default for what
 * debugpy implements; the table holds the exceptions and their reasons. */
#ifndef RAYDBG_DAP_RULES_H
#define RAYDBG_DAP_RULES_H

#include "dap/envelope.h"

enum rule_action {
    RULE_FORWARD, /* as it is, but for its seq */
    RULE_OBSERVE, /* forwarded, and the target notes what it means */
    RULE_REWRITE, /* forwarded with some of its bytes changed */
    RULE_ANSWER,  /* the relay answers it itself with success */
    RULE_REFUSE,  /* the relay answers it with success:false and `reason` */
    RULE_DROP,    /* nobody shall see it, and nobody waits for an answer */
};

enum rule_side { RULE_FROM_CLIENT, RULE_FROM_DEBUGGEE };

struct rule {
    enum rule_side side;
    enum dap_kind kind;
    const char *name;
    enum rule_action action;
    const char *reason; /* RULE_REFUSE: what the client is told; others: why, for the reader */
};

/* Never NULL. A request from a client that the table does not name and debugpy does not implement
 * is refused: debugpy 1.8 never answers some commands and is then dead for every later client.
 * A request from the debuggee (a reverse request) is refused unless the table allows it. A client
 * has neither events nor, as no reverse request reaches it, responses to send: dropped. */
const struct rule *rules_find(enum rule_side side, enum dap_kind kind, const char *name);

/* The whole table, for the tests and the documentation. */
const struct rule *rules_all(size_t *count);

#endif
