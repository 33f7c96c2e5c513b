/* The inside of owners, for the files that make it up: object_owners.c (asking),
 * object_candidates.c (whom to ask). */
#ifndef RAYDBG_RELAY_OBJECT_OWNERS_STATE_H
#define RAYDBG_RELAY_OBJECT_OWNERS_STATE_H

#include "relay/object_owners.h"
#include "relay/object_table.h"

/* A process that may own an object. */
struct candidate {
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *address; /* of a live one */
    int64_t pid;
    bool is_driver;
    enum object_owner how;
    enum { TO_ASK, ASKED, TELLS, DENIES, SILENT } state;
};

enum { CANDIDATES_MAX = 3 }; /* by its id, one that the raylets name, by a guess */

struct search {
    struct finding finding;
    bool gathered; /* the candidates are known */
    bool mine;
    bool guessed;
    struct candidate candidates[CANDIDATES_MAX];
    size_t count;
    struct candidate *owner; /* who has told; NULL: nobody has */
    bool renew;              /* ask it again */
};

/* One question about several objects to one process. */
struct question {
    struct question *next;
    struct owners *owners;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *address;
    struct object_id *ids;
    size_t count;
};

struct owners {
    struct object_client *client;
    struct directory *directory;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    loop_fn changed;
    void *arg;
    struct search **searches;
    size_t count;
    struct object_table by_id;
    struct question *building, *questions; /* to be sent; in flight */
    size_t raylets;                        /* that have yet to answer */
    bool raylets_asked;
    size_t came_late; /* directory_came_late(), as of the last time that it was looked at */
};

/* object_candidates.c. All give false when something has to be waited for, and add nothing twice,
 * so that they can be called again. */

/* A process as one that may own it. */
bool owners_add_process(struct owners *owners, struct search *search,
                        const struct ray_worker *worker);
/* The process that owns an object by its id, if that tells. */
bool owners_gather(struct owners *owners, struct search *search);
/* The last resort for what a task has put: whoever ran that task, alive or not. */
bool owners_guess(struct owners *owners, struct search *search);

#endif
