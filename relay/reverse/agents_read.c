/* Reads an agent's lines of JSON. They come from the user's process: all of it is checked. */
#include "relay/reverse/agents_state.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/pause/agent_facts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 64 * 1024 };

/* True if its process has pydevd from before, and its hub is here. */
static bool is_debugged_already(struct agent *agent, const char *json, struct span hello)
{
    bool debugging = false;
    scan_boolean_at(json, hello, "debugging", &debugging);
    return debugging && agent_take_hub(agent);
}

/* From 3.12 on pydevd uses sys.monitoring; before, a trace function that Python calls at each call.
 */
static bool is_slow_python(const char *json, struct span hello)
{
    int64_t minor = 0;
    char *version = scan_string_at(json, hello, "python");
    bool three = version && text_starts(version, "3.");
    if (three) {
        version[2 + strcspn(version + 2, ".")] = '\0';
        three = text_to_int(version + 2, 0, INT16_MAX, &minor);
    }
    free(version);
    return three && minor < 12;
}

static void note_cut(const struct agent *agent, bool cut)
{
    struct hub *hub = agent->state == AGENT_DEBUGGED ? agent_hub(agent) : NULL;
    if (hub)
        hub_table_note_cut(agent->agents->options.hubs, hub, cut);
}

/* False: the agent was refused, and freed. */
static bool read_proof(struct agent *agent, const char *json, struct span line)
{
    const struct agents *agents = agent->agents;
    const struct proof_exchange exchange = {auth_relay_id(agents->options.auth), agent->endpoint,
                                            agent->nonce, agent->relay_nonce};
    char *proof = scan_string_at(json, line, "proof");
    char *expected = proof_of_client(agent->key, &exchange, "AGENT", agent->key_id);
    bool proven = proof_equal(proof, expected);
    struct span hello;
    free(proof);
    free(expected);
    if (!proven || !scan_find(json, line, "hello", &hello) || json[hello.at] != '{') {
        agent_refuse(agent, "an agent without its key");
        return false;
    }
    agent_forget_key(agent);
    timer_cancel(&agent->timer);
    agent_facts_read(&agent->pause, json, hello);
    scan_boolean_at(json, hello, "wanted", &agent->wanted);
    agent->slow = is_slow_python(json, hello);
    agents->ops->on_act(agents->arg, "connect", agent->peer, "agent");
    char *cluster = scan_string_at(json, hello, "cluster");
    if (!text_empty(cluster))
        agents->ops->on_cluster(agents->arg, cluster);
    free(cluster);
    if (session_breakpoints_stops_failures(agents->options.session_breakpoints, agent->run))
        agent_say_failures(agent, true);
    if (is_debugged_already(agent, json, hello)) {
        agent_move(agent, AGENT_DEBUGGED);
        agent->traced = true;
        note_cut(agent, false);
        agent_say_verb(agent, "stay");
        agent_set_breakpoints(agent, NULL);
        return true;
    }
    agent_move(agent, AGENT_ASLEEP);
    agent_decide(agent);
    return true;
}

static void on_failed(struct agent *agent, const char *json, struct span line)
{
    char *why = scan_string_at(json, line, "why");
    timer_cancel(&agent->timer);
    agent->token[0] = '\0';
    agent->traced = false;
    free(agent->problem);
    agent->problem = mem_format("pid %" PRId64 " at %s: %.300s", agent->pause.pid, agent->peer,
                                why ? why : "it gave no reason");
    log_warn("a process cannot be debugged: %s", agent->problem);
    if (agent->state != AGENT_ASLEEP && agent->state != AGENT_FAILED)
        agent_move(agent, AGENT_FAILED);
    free(why);
}

static void on_debugging(struct agent *agent, const char *json, struct span line)
{
    (void)json, (void)line;
    agent->traced = agent->state == AGENT_DEBUGGED;
}

static void on_asleep(struct agent *agent, const char *json, struct span line)
{
    (void)json, (void)line;
    if (agent->state == AGENT_RETIRING)
        agent_move(agent, AGENT_ASLEEP);
    agents_decide_in(agent->agents, 0);
}

static void on_problem(struct agent *agent, const char *json, struct span line)
{
    int64_t breakpoint = 0;
    char *error = scan_string_at(json, line, "error");
    scan_integer_at(json, line, "breakpoint", &breakpoint);
    agent->agents->ops->on_problem(agent->agents->arg, breakpoint, error ? error : "");
    free(error);
}

static const struct {
    const char *name;
    void (*run)(struct agent *agent, const char *json, struct span line);
} events[] = {{"failed", on_failed},      {"debugging", on_debugging},
              {"asleep", on_asleep},      {"problem", on_problem},
              {"hit", agent_on_hit},      {"first_line", agent_on_first_line},
              {"wanted", agent_on_wanted}};

/* False: the agent was freed. */
static bool read_line(struct agent *agent, const char *json, size_t len)
{
    struct scan scan;
    struct span line;
    scan_init(&scan, json, len);
    if (!scan_value(&scan, &line) || !scan_end(&scan) || json[line.at] != '{') {
        agent_refuse(agent, "an agent that does not speak JSON");
        return false;
    }
    if (agent->state == AGENT_NEW)
        return read_proof(agent, json, line);
    char *event = scan_string_at(json, line, "event");
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (text_equal(event, events[i].name))
            events[i].run(agent, json, line);
    free(event);
    return true;
}

static void on_bytes(void *arg, const char *bytes, size_t len)
{
    struct agent *agent = agent_checked(arg);
    char *end;
    buf_add(&agent->in, bytes, len);
    while (agent->in.len && (end = memchr(agent->in.data, '\n', agent->in.len))) {
        size_t line = (size_t)(end - agent->in.data);
        if (!read_line(agent, agent->in.data, line))
            return;
        buf_consume(&agent->in, line + 1);
    }
    if (agent->in.len > LINE_MOST)
        agent_refuse(agent, "an agent whose line is too long");
    else if (!agent->in.len)
        buf_free(&agent->in);
}

static void on_close(void *arg, const char *why)
{
    struct agent *agent = agent_checked(arg);
    log_debug("%s: the agent is gone: %s", agent->peer, why ? why : "it has closed");
    if (why) /* not by its process */
        note_cut(agent, true);
    agent_end(agent);
}

const struct stream_ops agent_stream_ops = {.on_bytes = on_bytes, .on_close = on_close};
