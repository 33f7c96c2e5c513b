/* The inside of the agents, for its files: agents.c (life, what they are told, accepting),
 * agents_hubs.c (the breakpoints in their processes), agents_stops.c (what a process asks before it
 * stops) and agents_read.c (what they say). */
#ifndef RAYDBG_RELAY_REVERSE_AGENTS_STATE_H
#define RAYDBG_RELAY_REVERSE_AGENTS_STATE_H

#include "base/buf.h"
#include "base/invariant.h"
#include "relay/access/agent_key.h"
#include "relay/access/proof.h"
#include "relay/io/stream.h"
#include "relay/pause/pause.h"
#include "relay/reverse/agents.h"

enum { AGENT_PEER_ROOM = 64 };

/*   new ──▶ asleep ──▶ waking ──▶ debugged ──▶ retiring ──▶ asleep
 *    │                   └──▶ failed (until a breakpoint is set)
 *    └──▶ debugged (after a relay's restart)                                     */
enum agent_state {
    AGENT_NEW,      /* has not proven itself */
    AGENT_ASLEEP,   /* without pydevd */
    AGENT_WAKING,   /* its pydevd is to dial, with `token` */
    AGENT_DEBUGGED, /* its process has a hub */
    AGENT_RETIRING, /* takes pydevd out; says `asleep` when it has */
    AGENT_FAILED,   /* its process has no debugpy, or it does not work */
};

struct agent {
    uint32_t magic;
    struct agent *next;
    int64_t number; /* none has the same */
    struct agents *agents;
    struct stream *stream;
    struct timer *timer; /* of AGENT_NEW and AGENT_WAKING */
    struct buf in;
    char *key;      /* until it has proven itself */
    char *key_id;   /* the same */
    char *endpoint; /* the same */
    char nonce[PROOF_ROOM], relay_nonce[PROOF_ROOM];
    char token[PROOF_ROOM];
    char peer[AGENT_PEER_ROOM];
    char run[AGENT_KEY_ID_ROOM]; /* the id of its key: a run has a key of its own */
    enum agent_state state;
    bool begun;    /* it has had its first verb: its process is not held any longer */
    bool traced;   /* AGENT_DEBUGGED: all threads stop at breakpoints */
    bool slow;     /* pydevd slows each call: its Python is older than 3.12 */
    bool wanted;   /* its process needs pydevd, with or without a breakpoint */
    char *problem; /* why its process could not be debugged at its last failure; or NULL */
    int64_t
        stops_until_us; /* until then a thread may be about to stop, because the relay said so */
    struct first_line *first_lines;
    size_t first_line_count;
    struct pause pause;
    struct hub *hub; /* of its pydevd, until that hub is destroyed; or NULL */
};
INVARIANT_MAGIC(agent, 0x6f1c2ad7)
#define agent_checked(object) agent_checked_at(INVARIANT_HERE, object)

/* Where a function of its process begins: it stops there for --pause-all. */
struct first_line {
    char *file;
    int64_t line;
};

struct agents {
    uint32_t magic;
    int64_t number; /* of the last agent */
    struct agents_options options;
    const struct agents_ops *ops;
    void *arg;
    struct agent *first;
    struct first_line_wait *waits; /* agents_stops.c */
    struct timer *later;           /* decides about each */
    char machine[PROOF_MACHINE_ROOM];
};
INVARIANT_MAGIC(agents, 0x51d0be32)
#define agents_checked(object) agents_checked_at(INVARIANT_HERE, object)

/* agents.c */
void agent_move_at(struct invariant_location location, struct agent *agent, enum agent_state next);
#define agent_move(agent, next) agent_move_at(INVARIANT_HERE, agent, next)
/* Closes the connection and frees the agent. */
void agent_end(struct agent *agent);
/* The same, with a reason for the audit log. */
void agent_refuse(struct agent *agent, const char *why);
void agent_forget_key(struct agent *agent);
void agent_say_verb(struct agent *agent, const char *verb);
/* Tells it whether its tasks that fail are to stop. */
void agent_say_failures(struct agent *agent, bool stop);
/* Sends one line; frees it. */
void agent_say(struct agent *agent, struct buf *line);
/* Wakes a sleeping agent for the breakpoints, or gives it its first verb. */
void agent_decide(struct agent *agent);
/* The same for all, from the loop, in `ms`; and lets processes go that need no pydevd. */
void agents_decide_in(struct agents *agents, int64_t ms);
/* Starts pydevd in its process, whether it is asleep or has failed. */
void agent_wake(struct agent *agent);
/* Takes pydevd out of its process. */
void agent_retire(struct agent *agent);
/* The host and the port of a peer, as the pause of a pydevd has them. */
uint16_t agent_endpoint(const char *peer, char host[AGENT_PEER_ROOM]);

/* agents_hubs.c */
/* The live hub of its process, or NULL. */
struct hub *agent_hub(const struct agent *agent);
/* Finds that hub for an agent that dials again: its own earlier connection, or an earlier relay,
 * had it. False if there is none. */
bool agent_take_hub(struct agent *agent);
/* True if its process is to have pydevd. */
bool agent_needs_debugger(const struct agent *agent);
/* Sets the breakpoints and first lines of one file, or of all (NULL), in its process. */
void agent_set_breakpoints(const struct agent *agent, const char *file);
/* Lets those processes go that have no client and need no pydevd. */
void agents_release_unneeded(struct agents *agents);

/* agents_stops.c */
/* For the agent's events of these names; see docs/run.md. */
void agent_on_hit(struct agent *agent, const char *json, struct span line);
void agent_on_first_line(struct agent *agent, const char *json, struct span line);
void agent_on_wanted(struct agent *agent, const char *json, struct span line);
/* Appends the elements of setBreakpoints for the first lines in the file, each behind a comma,
 * except the first after a '['. */
void agent_first_lines_dap(const struct agent *agent, const char *file, struct buf *out);
void agent_forget_first_lines(struct agent *agent);
void agents_forget_waits(struct agents *agents);
/* The hub was not attached yet when tasks began to wait for their first lines; it has their
 * breakpoints now, or it has ended. */
void agents_waits_ready(struct agents *agents, struct hub *hub);
void agents_waits_end(struct agents *agents, const struct hub *hub);

/* agents_read.c */
extern const struct stream_ops agent_stream_ops;

#endif
