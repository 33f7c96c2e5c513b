/* A list of a client's calls that wait for their reply; each may be dropped before it arrives. */
#ifndef RAYDBG_PROTO_INFLIGHT_H
#define RAYDBG_PROTO_INFLIGHT_H

#include <stdbool.h>

/* The first member of a call. The function that gets the reply frees the call, dropped or not. */
struct inflight {
    struct inflight *next, **link; /* NULL once it is in no list */
    void *arg;                     /* the caller's */
};

void inflight_add(struct inflight **list, struct inflight *call, void *arg);
/* Call when the reply has arrived: removes the call from its list. False if it was dropped: then do
 * not run the caller's callback. */
bool inflight_end(struct inflight *call);
/* Drop the calls with this `arg`, or all calls. */
void inflight_drop(struct inflight **list, const void *arg);
void inflight_drop_all(struct inflight **list);

#endif
