#include "relay/reverse/agents.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/access/agent_key.h"
#include "relay/access/proof.h"
#include "relay/reverse/agent_line.h"
#include "relay/reverse/agents_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* PROOF_MS: to prove itself. TOKEN_MS: for its pydevd to dial, after which it is asked again.
 * HOLD_S: how long a process that begins is held for its breakpoints. */
enum { PROOF_MS = 10000, TOKEN_MS = 60000, HOLD_S = 10 };
/* UNPROVEN_MOST: agents that have not proven themselves; UNPROVEN_OF_HOST: of them those of one
 * other machine, where anybody may begin as an agent does. */
enum { UNPROVEN_MOST = 1000, UNPROVEN_OF_HOST = 250 };

static const struct invariant_state states[] = {
    [AGENT_NEW] = {"new", INVARIANT_TO(AGENT_ASLEEP) | INVARIANT_TO(AGENT_DEBUGGED)},
    [AGENT_ASLEEP] = {"asleep", INVARIANT_TO(AGENT_WAKING) | INVARIANT_TO(AGENT_RETIRING)},
    [AGENT_WAKING] = {"waking", INVARIANT_TO(AGENT_DEBUGGED) | INVARIANT_TO(AGENT_FAILED) |
                                    INVARIANT_TO(AGENT_RETIRING)},
    [AGENT_DEBUGGED] = {"debugged", INVARIANT_TO(AGENT_RETIRING) | INVARIANT_TO(AGENT_FAILED)},
    [AGENT_RETIRING] = {"retiring", INVARIANT_TO(AGENT_ASLEEP) | INVARIANT_TO(AGENT_FAILED)},
    [AGENT_FAILED] = {"failed", INVARIANT_TO(AGENT_WAKING)},
};

void agent_move_at(struct invariant_location location, struct agent *agent, enum agent_state next)
{
    invariant_move(location, "agent", states, agent->state, next);
    agent->state = next;
}

/* --- life --- */

void agent_forget_key(struct agent *agent)
{
    if (agent->key)
        explicit_bzero(agent->key, strlen(agent->key));
    free(agent->key);
    free(agent->key_id);
    free(agent->endpoint);
    agent->key = agent->key_id = agent->endpoint = NULL;
}

static void agent_free(struct agent *agent)
{
    timer_cancel(&agent->timer);
    stream_destroy(&agent->stream);
    buf_free(&agent->in);
    agent_forget_key(agent);
    agent_forget_first_lines(agent);
    free(agent->problem);
    pause_clear(&agent->pause);
    agent_clear_magic(agent);
    free(agent);
}

void agent_end(struct agent *agent)
{
    struct agent **at = &agent->agents->first;
    while (*at != agent)
        at = &(*at)->next;
    *at = agent->next;
    agent_free(agent);
}

static void refuse(struct agents *agents, const char *peer, const char *why)
{
    log_info("%s: refused: %s", peer, why);
    agents->ops->on_act(agents->arg, "refused", peer, why);
}

void agent_refuse(struct agent *agent, const char *why)
{
    refuse(agent->agents, agent->peer, why);
    agent_end(agent);
}

/* --- what the relay says --- */

void agent_say(struct agent *agent, struct buf *line)
{
    buf_add_string(line, "\n");
    stream_write(agent->stream, "", 0, line->data, line->len);
    buf_free(line);
}

void agent_say_verb(struct agent *agent, const char *verb)
{
    struct buf line = {0};
    buf_printf(&line, "{\"verb\":\"%s\"}", verb);
    agent_say(agent, &line);
    agent->begun = true;
}

void agent_say_failures(struct agent *agent, bool stop)
{
    struct buf line = {0};
    buf_printf(&line, "{\"verb\":\"failures\",\"stop\":%s}", stop ? "true" : "false");
    agent_say(agent, &line);
}

void agent_retire(struct agent *agent)
{
    timer_cancel(&agent->timer);
    agent->traced = false;
    agent_move(agent, AGENT_RETIRING);
    agent_say_verb(agent, "sleep");
}

static void on_token_late(void *arg)
{
    struct agent *agent = agent_checked(arg);
    agent->timer = NULL;
    log_warn("%s: its pydevd has not dialled the relay within %d s", agent->peer, TOKEN_MS / 1000);
    agent_retire(agent);
}

void agent_wake(struct agent *agent)
{
    struct buf line = {0};
    agent_move(agent, AGENT_WAKING);
    proof_random(agent->token, sizeof agent->token);
    buf_printf(&line, "{\"verb\":\"debug\",\"token\":\"%s\",\"hold\":%d}", agent->token,
               agent->begun ? 0 : HOLD_S);
    agent_say(agent, &line);
    agent->begun = true;
    agent->timer = timer_start(agent->agents->options.loop, TOKEN_MS, on_token_late, agent);
}

void agent_decide(struct agent *agent)
{
    if (agent->state == AGENT_ASLEEP && agent_needs_debugger(agent))
        agent_wake(agent);
    else if (agent->state == AGENT_ASLEEP && !agent->begun)
        agent_retire(agent);
}

static void decide_all(void *arg)
{
    struct agents *agents = agents_checked(arg);
    agents->later = NULL;
    for (struct agent *at = agents->first, *next; at; at = next) {
        next = at->next;
        agent_decide(at);
    }
    agents_release_unneeded(agents);
}

void agents_decide_in(struct agents *agents, int64_t ms)
{
    if (!ms)
        timer_cancel(&agents->later);
    if (!agents->later)
        agents->later = timer_start(agents->options.loop, ms, decide_all, agents);
}

/* --- accepting --- */

static void on_unproven(void *arg)
{
    struct agent *agent = agent_checked(arg);
    agent->timer = NULL;
    agent_refuse(agent, "an agent that has not proven itself in time");
}

/* Of `HOST:PORT`, or of all that it is. */
static size_t host_length(const char *address)
{
    const char *port = strrchr(address, ':');
    return port ? (size_t)(port - address) : strlen(address);
}

static bool is_of_host(const char *peer, const char *other)
{
    size_t len = host_length(peer);
    return host_length(other) == len && memcmp(peer, other, len) == 0;
}

/* Why no further agent may begin to prove itself, or NULL. */
static const char *too_many(const struct agents *agents, const struct agents_call *call)
{
    size_t count = 0, of_host = 0;
    for (const struct agent *at = agents->first; at; at = at->next) {
        count += at->state == AGENT_NEW;
        of_host += at->state == AGENT_NEW && call->fingerprint && is_of_host(call->peer, at->peer);
    }
    if (of_host >= UNPROVEN_OF_HOST)
        return "too many agents of this address that have not proven themselves";
    return count >= UNPROVEN_MOST ? "too many agents that have not proven themselves" : NULL;
}

static void challenge(struct agent *agent)
{
    const struct proof_exchange exchange = {auth_relay_id(agent->agents->options.auth),
                                            agent->endpoint, agent->nonce, agent->relay_nonce};
    struct buf line = {0};
    char *proof = proof_of_relay(agent->key, &exchange);
    buf_printf(&line, "{\"relay\":\"%s\",\"nonce\":\"%s\",\"proof\":\"%s\"}", exchange.relay_id,
               agent->relay_nonce, proof);
    agent_say(agent, &line);
    free(proof);
}

static void accept_agent(struct agents *agents, const struct agents_call *call,
                         const struct agent_line *line)
{
    char *key = agent_key_of(agents->options.auth, line->key_id);
    const char *why = too_many(agents, call);
    if (!key)
        why = "an agent, but this relay has no token (--token none)";
    else if (!*agents->machine && !call->fingerprint)
        why = "an agent, but this system does not identify its machine";
    if (why) {
        refuse(agents, call->peer, why);
        free(key);
        close(call->fd);
        return;
    }
    struct agent *agent = mem_alloc(sizeof *agent);
    agent_set_magic(agent);
    agent->agents = agents;
    agent->number = ++agents->number;
    agent->next = agents->first;
    agents->first = agent;
    agent->key = key;
    agent->key_id = mem_string(line->key_id);
    agent->endpoint = call->fingerprint ? proof_endpoint_tls(call->address, call->fingerprint)
                                        : proof_endpoint(agents->machine, call->address);
    text_copy(agent->nonce, sizeof agent->nonce, line->secret);
    text_copy(agent->peer, sizeof agent->peer, call->peer);
    text_copy(agent->run, sizeof agent->run, line->key_id);
    proof_random(agent->relay_nonce, sizeof agent->relay_nonce);
    agent->stream = stream_adopt(agents->options.loop, call->fd, false, &agent_stream_ops, agent);
    agent->timer = timer_start(agents->options.loop, PROOF_MS, on_unproven, agent);
    challenge(agent);
}

/* Takes the time of all agents, whichever has the token. */
static struct agent *find_token(struct agents *agents, const char *token)
{
    struct agent *found = NULL;
    for (struct agent *at = agents->first; at; at = at->next)
        if (at->state == AGENT_WAKING && proof_equal(at->token, token))
            found = at;
    return found;
}

uint16_t agent_endpoint(const char *peer, char host[AGENT_PEER_ROOM])
{
    uint16_t port;
    if (text_split_host_port(peer, host, AGENT_PEER_ROOM, &port))
        return port;
    text_copy(host, AGENT_PEER_ROOM, "localhost");
    return 0;
}

static void accept_pydevd(struct agents *agents, const struct agents_call *call, const char *token)
{
    char host[AGENT_PEER_ROOM];
    struct agent *agent = find_token(agents, token);
    if (!agent) {
        refuse(agents, call->peer, "a pydevd whose token is none, or was used");
        close(call->fd);
        return;
    }
    explicit_bzero(agent->token, sizeof agent->token);
    timer_cancel(&agent->timer);
    agent_move(agent, AGENT_DEBUGGED);
    struct pause pause;
    pause_copy(&pause, &agent->pause);
    pause.debugger = PAUSE_PYDEVD;
    pause.state = PAUSE_HELD;
    pause.paused_threads = -1;
    text_copy(pause.run, sizeof pause.run, agent->run);
    pause.port = agent_endpoint(call->peer, host);
    pause.host = mem_string(host);
    if (!pause.node_ip)
        pause.node_ip = mem_string(pause.host);
    agents->ops->on_act(agents->arg, "debug", call->peer, "pydevd");
    agent->hub = hub_table_accept(agents->options.hubs, &pause, call->fd);
    pause_clear(&pause);
}

void agents_accept(struct agents *agents, const struct agents_call *call)
{
    struct agent_line words;
    if (!agent_line_read(&words, call->line)) {
        refuse(agents, call->peer, "a first line of another version, or none");
        close(call->fd);
    } else if (words.kind == AGENT_LINE_AGENT) {
        accept_agent(agents, call, &words);
    } else {
        accept_pydevd(agents, call, words.secret);
    }
    explicit_bzero(&words, sizeof words);
}

/* --- runs --- */

void agents_failures_changed(const struct agents *agents, const char *run)
{
    bool stop = session_breakpoints_stops_failures(agents->options.session_breakpoints, run);
    for (struct agent *at = agents->first; at; at = at->next)
        if (at->state != AGENT_NEW && text_equal(at->run, run))
            agent_say_failures(at, stop);
}

bool agents_run_has(const struct agents *agents, const char *run, const struct pause *pause)
{
    for (const struct agent *at = agents->first; at; at = at->next) {
        const struct pause *own = &at->pause;
        if (at->state == AGENT_NEW || !text_equal(at->run, run))
            continue;
        const struct hub *hub = agent_hub(at);
        if (hub && pause_same(hub_pause(hub), pause))
            return true;
        if (*own->job_id && text_equal(own->job_id, pause->job_id))
            return true;
    }
    return false;
}

/* --- */

void agents_count(const struct agents *agents, struct agents_count *out)
{
    *out = (struct agents_count){0};
    for (const struct agent *at = agents->first; at; at = at->next) {
        out->connected += at->state != AGENT_NEW;
        out->debugged += at->traced;
        if (at->state == AGENT_FAILED && !out->problem)
            out->problem = at->problem;
        out->slowed +=
            at->slow && at->state != AGENT_FAILED && (at->traced || agent_needs_debugger(at));
    }
}

struct agents *agents_create(const struct agents_options *options, const struct agents_ops *ops,
                             void *arg)
{
    struct agents *agents = mem_alloc(sizeof *agents);
    agents_set_magic(agents);
    agents->options = *options;
    agents->ops = ops;
    agents->arg = arg;
    proof_machine(agents->machine);
    return agents;
}

void agents_destroy(struct agents **agents)
{
    struct agents *it = *agents;
    if (!it)
        return;
    *agents = NULL;
    timer_cancel(&it->later);
    agents_forget_waits(it);
    while (it->first) {
        struct agent *next = it->first->next;
        agent_free(it->first);
        it->first = next;
    }
    agents_clear_magic(it);
    free(it);
}
