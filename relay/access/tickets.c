#include "relay/access/tickets.h"

#include "base/invariant.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"

#include <openssl/crypto.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

enum { RANDOM_BYTES = (TICKET_ROOM - 1) / 2, REMEMBERED = 256 };

struct ticket {
    struct ticket *next; /* newest first */
    char text[TICKET_ROOM];
    enum ticket_verdict verdict; /* for its next use, unless it expires before */
    void *bearer;                /* NULL unless the ticket is good */
    int64_t until_ms;
};

struct tickets {
    struct ticket *first;
    size_t count;
};

struct tickets *tickets_create(void)
{
    return mem_alloc(sizeof(struct tickets));
}

static void ticket_free(struct ticket *ticket)
{
    explicit_bzero(ticket->text, sizeof ticket->text);
    free(ticket);
}

void tickets_destroy(struct tickets **tickets)
{
    struct tickets *it = *tickets;
    if (!it)
        return;
    *tickets = NULL;
    LIST_FREE(it->first, ticket_free);
    free(it);
}

static void expire(struct tickets *tickets, int64_t now_ms)
{
    for (struct ticket *at = tickets->first; at; at = at->next) {
        if (at->verdict != TICKET_GOOD || now_ms < at->until_ms)
            continue;
        at->verdict = TICKET_EXPIRED;
        at->bearer = NULL;
    }
}

/* Keeps the newest of the tickets that are no longer good, so that their verdicts are known. */
static void trim(struct tickets *tickets)
{
    size_t dead = 0;
    for (struct ticket **at = &tickets->first; *at;) {
        struct ticket *ticket = *at;
        if (ticket->verdict == TICKET_GOOD || ++dead <= REMEMBERED) {
            at = &ticket->next;
            continue;
        }
        *at = ticket->next;
        invariant(tickets->count > 0);
        tickets->count--;
        ticket_free(ticket);
    }
}

void tickets_issue(struct tickets *tickets, void *bearer, int64_t now_ms, char out[TICKET_ROOM])
{
    uint8_t bytes[RANDOM_BYTES];
    struct ticket *ticket = mem_alloc(sizeof *ticket);
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes) /* does not happen below 256 bytes */
        abort();
    expire(tickets, now_ms);
    trim(tickets);
    text_hex(bytes, sizeof bytes, ticket->text);
    explicit_bzero(bytes, sizeof bytes);
    ticket->bearer = bearer;
    ticket->until_ms = now_ms + TICKET_LIFE_MS;
    ticket->next = tickets->first;
    tickets->first = ticket;
    tickets->count++;
    memcpy(out, ticket->text, TICKET_ROOM);
}

enum ticket_verdict tickets_use(struct tickets *tickets, const char *text, int64_t now_ms,
                                void **bearer)
{
    struct ticket *found = NULL;
    char given[TICKET_ROOM] = "";
    bool fits = text_copy(given, sizeof given, text);
    expire(tickets, now_ms);
    for (struct ticket *at = tickets->first; at; at = at->next)
        if (CRYPTO_memcmp(at->text, given, sizeof given) == 0)
            found = at;
    explicit_bzero(given, sizeof given);
    if (!found || !fits)
        return TICKET_UNKNOWN;
    if (found->verdict != TICKET_GOOD)
        return found->verdict;
    *bearer = found->bearer;
    found->verdict = TICKET_USED;
    found->bearer = NULL;
    return TICKET_GOOD;
}

void tickets_revoke(struct tickets *tickets, const void *bearer)
{
    for (struct ticket *at = tickets->first; at; at = at->next) {
        if (at->verdict != TICKET_GOOD || at->bearer != bearer)
            continue;
        at->verdict = TICKET_REVOKED;
        at->bearer = NULL;
    }
}

const char *ticket_verdict_text(enum ticket_verdict verdict)
{
    static const char *const texts[] = {
        [TICKET_GOOD] = "is good",
        [TICKET_UNKNOWN] = "is none of this relay's",
        [TICKET_USED] = "has been used: it is good for one session",
        [TICKET_EXPIRED] = "has expired: it is good for one minute",
        [TICKET_REVOKED] = "is no longer good: the session that it was made for has ended",
    };
    return texts[verdict];
}

size_t tickets_count(const struct tickets *tickets)
{
    return tickets->count;
}
