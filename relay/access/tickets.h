/* One-time secrets that admit a connection as a certain child session. Pure except for the kernel's
 * random bytes; compared in constant time. */
#ifndef RAYDBG_RELAY_ACCESS_TICKETS_H
#define RAYDBG_RELAY_ACCESS_TICKETS_H

#include <stddef.h>
#include <stdint.h>

struct tickets;

#define TICKET_ROOM 65 /* 64 hex digits: an editor substitutes nothing in them */
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

/* Makes a ticket, good once and for TICKET_LIFE_MS; tickets_use() gives `bearer` for it. */
void tickets_issue(struct tickets *tickets, void *bearer, int64_t now_ms, char out[TICKET_ROOM]);
/* Uses up a ticket. Sets *bearer only if the ticket is good. The verdicts of the last few hundred
 * tickets that are no longer good are remembered. */
enum ticket_verdict tickets_use(struct tickets *tickets, const char *text, int64_t now_ms,
                                void **bearer);
/* Makes all good tickets of this bearer TICKET_REVOKED. */
void tickets_revoke(struct tickets *tickets, const void *bearer);

/* "has been used", …: follows "this ticket". */
const char *ticket_verdict_text(enum ticket_verdict verdict);

size_t tickets_count(const struct tickets *tickets); /* all remembered tickets, good or not */

#endif
