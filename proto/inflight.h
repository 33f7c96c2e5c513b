/* The calls of a client that wait for their reply, any of which may be dropped before. */
#ifndef RAYDBG_PROTO_INFLIGHT_H
#define RAYDBG_PROTO_INFLIGHT_H

#include <stdbool.h>

/* The first member of a call. Who gets the reply frees the call, dropped or not. */
struct inflight {
    struct inflight *next, **link; /* NULL once it is in no list */
    void *arg;                     /* of who asked */
};

void inflight_add(struct inflight **list, struct inflight *call, void *arg);
/* Its reply came: takes it out. False if it was dropped: then who asked is not told. */
bool inflight_end(struct inflight *call);
/* Drops those with this `arg`, or all. */
void inflight_drop(struct inflight **list, const void *arg);
void inflight_drop_all(struct inflight **list);

#endif
