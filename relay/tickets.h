/* One-time secrets that let a connection in as a certain child session. Pure but for the kernel's
 * random bytes; compared in constant time. */
#ifndef RAYDBG_RELAY_TICKETS_H
#define RAYDBG_RELAY_TICKETS_H

#include <stddef.h>
#include <stdint.h>

struct tickets;

#define TICKET_ROOM 65 /* 64 hex digits: nothing that an editor would substitute */
#define TICKET_LIFE_MS 60000

enum ticket_verdict {
    TICKET_GOOD,
    TICKET_UNKNOWN,
    TICKET_USED,
    TICKET_EXPIRED,
    TICKET_REVOKED,
};

struct tickets *tickets_create(void);
void tickets_destroy(struct tickets **tickets);

/* A new one, good once and for TICKET_LIFE_MS: `bearer` is what tickets_use() gives for it. */
void tickets_issue(struct tickets *tickets, void *bearer, int64_t now_ms, char out[TICKET_ROOM]);
/* *bearer is set if it is good, and only then. What became of the last few hundred that are no
 * longer good is known. */
enum ticket_verdict tickets_use(struct tickets *tickets, const char *text, int64_t now_ms,
                                void **bearer);
/* All of this bearer's that are still good become TICKET_REVOKED. */
void tickets_revoke(struct tickets *tickets, const void *bearer);

/* "has been used", …: follows "this ticket". */
const char *ticket_verdict_text(enum ticket_verdict verdict);

size_t tickets_count(const struct tickets *tickets); /* those remembered, good or not */

#endif
