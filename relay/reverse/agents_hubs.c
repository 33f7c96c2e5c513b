/* The hubs of the processes that have dialled: their breakpoints, and how long they have pydevd. */
#include "relay/reverse/agents_state.h"

#include "base/text.h"
#include "dap/message.h"

enum { GRANTED_AGAIN_MS = 500 };

struct hub *agent_hub(const struct agent *agent)
{
    return agent->hub && !hub_is_over(agent->hub) ? agent->hub : NULL;
}

/* NULL: it has not dialled again since the relay was restarted. */
static struct agent *find_agent(const struct agents *agents, const struct hub *hub)
{
    struct agent *at = agents->first;
    while (at && at->hub != hub)
        at = at->next;
    return at;
}

/* --- an agent that dials again --- */

/* True if the hub may be of the agent's process. Only the hub knows a driver's worker id; pids are
 * those of a node. */
static bool is_of(const struct pause *pause, const struct agent *agent)
{
    char host[AGENT_PEER_ROOM];
    if (pause->pid != agent->pause.pid)
        return false;
    if (*agent->pause.worker_id)
        return text_equal(pause->worker_id, agent->pause.worker_id);
    agent_endpoint(agent->peer, host);
    return text_equal(pause->host, host);
}

struct search {
    const struct agent *agent;
    struct hub *found;
    struct agent *owner; /* of `found`, or NULL */
};

/* A hub without an agent is more likely. */
static void consider(void *arg, struct hub *hub)
{
    struct search *search = arg;
    struct agent *owner = find_agent(search->agent->agents, hub);
    if (!is_of(hub_pause(hub), search->agent) || (search->found && (owner || !search->owner)))
        return;
    search->found = hub;
    search->owner = owner;
}

bool agent_take_hub(struct agent *agent)
{
    struct search search = {.agent = agent};
    hub_table_each_accepted(agent->agents->options.hubs, consider, &search);
    if (search.owner) /* its earlier connection, whose end is not known yet */
        search.owner->hub = NULL;
    agent->hub = search.found;
    return agent->hub != NULL;
}

/* --- which need pydevd --- */

static struct breakpoint_node node_of(const struct pause *pause)
{
    return (struct breakpoint_node){pause->node_id, pause->node_ip};
}

/* The id of the run's key; "": it is not known. `agent` may be NULL: it has not dialled this relay
 * yet. */
static const char *run_of(const struct agent *agent, const struct hub *hub)
{
    return agent ? agent->run : hub_pause(hub)->run;
}

/* True if there is a breakpoint for a process there, of this run. */
static bool is_reached(const struct agents *agents, const struct pause *pause, const char *run)
{
    const struct breakpoint_node node = node_of(pause);
    return breakpoint_store_reaches(agents->options.breakpoints, &node, run) ||
           session_breakpoints_concern(agents->options.session_breakpoints, run);
}

bool agent_needs_debugger(const struct agent *agent)
{
    return agent->wanted || is_reached(agent->agents, &agent->pause, agent->run);
}

static bool hub_needs_debugger(const struct agents *agents, const struct hub *hub)
{
    const struct agent *agent = find_agent(agents, hub);
    return agent ? agent_needs_debugger(agent)
                 : is_reached(agents, hub_pause(hub), run_of(NULL, hub));
}

/* --- setting breakpoints --- */

/* `agent` may be NULL. */
struct setting {
    const struct agents *agents;
    const struct agent *agent;
    struct hub *hub;
};

static void set_file(void *arg, const char *file)
{
    const struct setting *setting = arg;
    const struct agents_options *options = &setting->agents->options;
    const struct agent *agent = setting->agent;
    const char *run = run_of(agent, setting->hub);
    const struct breakpoint_node node = node_of(agent ? &agent->pause : hub_pause(setting->hub));
    struct buf arguments = {0};
    buf_add_string(&arguments, "{\"source\":{\"path\":");
    message_quote(&arguments, file);
    buf_add_string(&arguments, "},\"breakpoints\":[");
    breakpoint_store_dap(options->breakpoints, file, &node, run, &arguments);
    session_breakpoints_dap(options->session_breakpoints, run, file, &arguments);
    if (agent)
        agent_first_lines_dap(agent, file, &arguments);
    buf_add_string(&arguments, "]}");
    hub_set_own(setting->hub, arguments.data);
    buf_free(&arguments);
}

static void set_all(struct setting *setting)
{
    const struct agent *agent = setting->agent;
    const struct agents_options *options = &setting->agents->options;
    breakpoint_store_each_file(options->breakpoints, set_file, setting);
    session_breakpoints_each_file(options->session_breakpoints, run_of(agent, setting->hub),
                                  set_file, setting);
    for (size_t i = 0; agent && i < agent->first_line_count; i++)
        set_file(setting, agent->first_lines[i].file);
}

void agent_set_breakpoints(const struct agent *agent, const char *file)
{
    struct setting setting = {agent->agents, agent, agent_hub(agent)};
    if (setting.hub && file)
        set_file(&setting, file);
    else if (setting.hub)
        set_all(&setting);
}

void agents_hub_ready(struct agents *agents, struct hub *hub)
{
    struct setting setting = {agents, find_agent(agents, hub), hub};
    set_all(&setting);
    agents_waits_ready(agents, hub);
}

void agents_hub_set(struct agents *agents, const struct hub *hub, const char *json,
                    const struct envelope *response)
{
    session_breakpoints_note(agents->options.session_breakpoints,
                             run_of(find_agent(agents, hub), hub), json, response->body);
}

struct changed_file {
    const struct agents *agents;
    const char *run, *file;
};

static void set_changed_file(void *arg, struct hub *hub)
{
    const struct changed_file *changed = arg;
    struct setting setting = {changed->agents, find_agent(changed->agents, hub), hub};
    if (!changed->run || text_equal(changed->run, run_of(setting.agent, setting.hub)))
        set_file(&setting, changed->file);
}

/* `run`: only in the processes of this one; NULL: in all. */
static void change_file(struct agents *agents, const char *run, const char *file)
{
    struct changed_file changed = {agents, run, file};
    hub_table_each_accepted(agents->options.hubs, set_changed_file, &changed);
    for (struct agent *at = agents->first; at; at = at->next)
        if (at->state == AGENT_FAILED && agent_needs_debugger(at))
            agent_wake(at);
    agents_decide_in(agents, 0);
}

void agents_breakpoints_changed(struct agents *agents, const char *file)
{
    change_file(agents, NULL, file);
}

void agents_session_changed(struct agents *agents, const char *run, const char *file)
{
    change_file(agents, run, file);
}

/* --- life --- */

void agents_hub_changed(struct agents *agents, const struct hub *hub)
{
    if (!hub_needs_debugger(agents, hub))
        agents_decide_in(agents, 0);
}

void agents_hub_end(struct agents *agents, const struct hub *hub)
{
    struct agent *agent = find_agent(agents, hub);
    agents_waits_end(agents, hub);
    if (!agent)
        return;
    agent->hub = NULL;
    if (agent->state == AGENT_DEBUGGED)
        agent_retire(agent);
}

/* A thread that the relay has told to stop has not said yet that it has. */
static bool is_about_to_stop(struct agents *agents, const struct hub *hub)
{
    const struct agent *agent = find_agent(agents, hub);
    return agent && agent->stops_until_us > loop_now_us();
}

static void release_unneeded(void *arg, struct hub *hub)
{
    struct agents *agents = arg;
    if (!hub_is_held(hub) || !hub_is_hidden(hub) || hub_needs_debugger(agents, hub))
        return;
    if (is_about_to_stop(agents, hub))
        agents_decide_in(agents, GRANTED_AGAIN_MS);
    else
        hub_release(hub, "the relay");
}

void agents_release_unneeded(struct agents *agents)
{
    hub_table_each_accepted(agents->options.hubs, release_unneeded, agents);
}
