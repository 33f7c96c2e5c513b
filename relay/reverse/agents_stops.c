/* Answers the questions that a process asks before it stops. The relay decides for all processes,
 * one after the other, so hits are counted exactly. */
#include "relay/reverse/agents_state.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* STOP_MS: from the answer until pydevd says that the thread has stopped, at most. SET_MS: until a
 * breakpoint is set for which a thread waits; the agent waits for 20 s (ANSWER_S in agent.py). */
enum { STOP_MS = 10000, SET_MS = 18000, FIRST_LINES_MOST = 1000, FILE_MOST = 4096 };

static void answer(struct agent *agent, int64_t question, bool yes)
{
    struct buf line = {0};
    buf_printf(&line, "{\"verb\":\"answer\",\"question\":%" PRId64 ",\"yes\":%s}", question,
               yes ? "true" : "false");
    agent_say(agent, &line);
}

/* --- hits --- */

/* The others of its run that have pydevd stop where they run a task (pause_tasks() in
 * relay/worker_agent/agent_stops.py), and say when they need pydevd no longer. */
static void pause_others(const struct agent *agent)
{
    for (struct agent *at = agent->agents->first; at; at = at->next) {
        if (at == agent || at->state != AGENT_DEBUGGED || !at->traced ||
            !text_equal(at->run, agent->run))
            continue;
        at->wanted = true;
        agent_say_verb(at, "pause");
    }
}

void agent_on_hit(struct agent *agent, const char *json, struct span line)
{
    struct agents *agents = agent->agents;
    int64_t question = 0, id = 0;
    bool spent = false, logs = false;
    scan_integer_at(json, line, "question", &question);
    scan_integer_at(json, line, "breakpoint", &id);
    scan_boolean_at(json, line, "logs", &logs);
    const struct file_breakpoint *stops =
        breakpoint_store_count(agents->options.breakpoints, id, &spent);
    if (stops && !logs)
        agent->stops_until_us = loop_now_us() + STOP_MS * 1000L;
    answer(agent, question, stops);
    if (!stops)
        return;
    if (stops->stop_all)
        pause_others(agent);
    if (spent)
        agents_breakpoints_changed(agents, stops->file);
}

/* --- first lines --- */

/* pydevd takes one breakpoint for each line; check() of the relay's own also asks for this one's.
 */
void agent_first_lines_dap(const struct agent *agent, const char *file, struct buf *out)
{
    const struct breakpoint_store *store = agent->agents->options.breakpoints;
    const struct breakpoint_node node = {agent->pause.node_id, agent->pause.node_ip};
    for (size_t i = 0; i < agent->first_line_count; i++) {
        const struct first_line *at = &agent->first_lines[i];
        if (text_equal(at->file, file) &&
            !breakpoint_store_has(store, file, at->line, &node, agent->run))
            buf_printf(out,
                       "%s{\"line\":%" PRId64 ",\"condition\":"
                       "\"__import__('sys').modules['raydbg_agent'].is_first_line()\"}",
                       out->data[out->len - 1] == '[' ? "" : ",", at->line);
    }
}

void agent_forget_first_lines(struct agent *agent)
{
    for (size_t i = 0; i < agent->first_line_count; i++)
        free(agent->first_lines[i].file);
    free(agent->first_lines);
    agent->first_lines = NULL;
    agent->first_line_count = 0;
}

static bool has_first_line(const struct agent *agent, const char *file, int64_t line)
{
    for (size_t i = 0; i < agent->first_line_count; i++)
        if (agent->first_lines[i].line == line && text_equal(agent->first_lines[i].file, file))
            return true;
    return false;
}

/* The agent that waits until its breakpoint is set, by its number: it may have gone meanwhile. A
 * hub that is destroyed leaves it behind until agents_destroy(). */
struct first_line_wait {
    struct first_line_wait *next;
    struct agents *agents;
    int64_t agent, question;
    const struct hub *opening; /* sets the breakpoint when it is ready; NULL: has set it */
};

static void end_wait(struct first_line_wait *wait)
{
    struct first_line_wait **at = &wait->agents->waits;
    while (*at != wait)
        at = &(*at)->next;
    *at = wait->next;
    free(wait);
}

void agents_forget_waits(struct agents *agents)
{
    while (agents->waits)
        end_wait(agents->waits);
}

static void answer_wait(struct first_line_wait *wait, bool is_set)
{
    for (struct agent *at = wait->agents->first; at; at = at->next) {
        if (at->number != wait->agent)
            continue;
        if (!is_set)
            log_warn("%s: a task does not stop at its first line: its pydevd has not set the "
                     "breakpoint within %d s, or has ended",
                     at->peer, SET_MS / 1000);
        answer(at, wait->question, is_set);
    }
    end_wait(wait);
}

static void on_set(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    (void)len;
    answer_wait(arg, json && envelope->success);
}

void agents_waits_ready(struct agents *agents, struct hub *hub)
{
    for (struct first_line_wait *at = agents->waits, *next; at; at = next) {
        next = at->next;
        if (at->opening != hub)
            continue;
        at->opening = NULL;
        hub_sync(hub, SET_MS, on_set, at);
    }
}

void agents_waits_end(struct agents *agents, const struct hub *hub)
{
    for (struct first_line_wait *at = agents->waits, *next; at; at = next) {
        next = at->next;
        if (at->opening == hub)
            answer_wait(at, false);
    }
}

void agent_on_first_line(struct agent *agent, const char *json, struct span line)
{
    int64_t question = 0, at = 0;
    char *file = scan_string_at(json, line, "file");
    struct hub *hub = agent_hub(agent);
    scan_integer_at(json, line, "question", &question);
    scan_integer_at(json, line, "line", &at);
    if (!hub || !file || *file != '/' || strlen(file) > FILE_MOST || at < 1 ||
        agent->first_line_count >= FIRST_LINES_MOST) {
        answer(agent, question, false);
        free(file);
        return;
    }
    if (!has_first_line(agent, file, at)) {
        agent->first_lines =
            mem_resize(agent->first_lines, agent->first_line_count + 1, sizeof *agent->first_lines);
        agent->first_lines[agent->first_line_count++] = (struct first_line){mem_string(file), at};
    }
    struct first_line_wait *wait = mem_alloc(sizeof *wait);
    *wait = (struct first_line_wait){agent->agents->waits, agent->agents, agent->number, question,
                                     hub_is_held(hub) ? NULL : hub};
    agent->agents->waits = wait;
    agent_set_breakpoints(agent, file);
    if (!wait->opening)
        hub_sync(hub, SET_MS, on_set, wait);
    free(file);
}

/* --- pydevd itself --- */

void agent_on_wanted(struct agent *agent, const char *json, struct span line)
{
    int64_t question = 0;
    bool asks = scan_integer_at(json, line, "question", &question);
    struct hub *hub = agent_hub(agent);
    agent->wanted = false;
    scan_boolean_at(json, line, "wanted", &agent->wanted);
    if (asks) /* yes: pydevd is there, and stays */
        answer(agent, question, agent->traced && hub && hub_is_held(hub));
    if (agent->wanted && agent->state == AGENT_FAILED)
        agent_wake(agent);
    agents_decide_in(agent->agents, 0);
}
