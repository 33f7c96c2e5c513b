/* The relay's HTTP for causes, logs and stacks: what `raydbg why --format json`, `raydbg logs` and
 * `raydbg stack` print. */
#include "relay/server/relay_state.h"

#include "base/invariant.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/evidence/evidence.h"
#include "relay/evidence/log_reader.h"
#include "relay/evidence/stack_request.h"
#include "relay/why/why_json.h"

#include <stdlib.h>
#include <string.h>

/* A query asks the GCS for all tasks; logs are as long as their programs like. */
enum {
    MOST_QUESTIONS = 8,
    WITHIN_MS = 3600000,
    LOG_LINES = 1000,
    LOG_BYTES = 16 << 20,
    READ_BYTES = 8 << 20 /* of each file */
};

/* A call that waits for its answer. Freed from the loop: the callbacks that answer are its own
 * parts'. */
struct relay_query {
    uint32_t magic;
    struct relay_query *next;
    struct relay *relay;
    struct http_call *call; /* NULL once it is answered */
    char *name;             /* NULL: the whole cluster */
    bool of_logs, is_text;
    struct stack_request *request;
    struct evidence *evidence;
    struct node_logs *logs;
    struct log_reader *reader;
    struct log_choice choice;
    struct buf text;
    struct timer *freeing;
};
INVARIANT_MAGIC(relay_query, 0x408ccec5)
#define relay_query_checked(object) relay_query_checked_at(INVARIANT_HERE, object)

static void query_free(struct relay_query *query)
{
    LIST_DROP(query->relay->queries, query);
    timer_cancel(&query->freeing);
    log_reader_destroy(&query->reader);
    node_logs_destroy(&query->logs);
    log_choice_clear(&query->choice);
    evidence_free(&query->evidence);
    stack_request_free(&query->request);
    buf_free(&query->text);
    free(query->name);
    relay_query_clear_magic(query);
    free(query);
}

static void free_later(void *arg)
{
    struct relay_query *query = relay_query_checked(arg);
    query->freeing = NULL;
    query_free(query);
}

static void answered(struct relay_query *query)
{
    query->call = NULL;
    if (!query->freeing)
        query->freeing = timer_start(query->relay->loop, 0, free_later, query);
}

static void refuse(struct relay_query *query, const struct err *err)
{
    static const struct {
        enum err_code code;
        int status;
    } rows[] = {{ERR_NOT_FOUND, 404}, {ERR_USAGE, 409}, {ERR_DENIED, 403}};
    int status = 502;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == err->code)
            status = rows[i].status;
    relay_answer_error(query->call, status, err);
    answered(query);
}

/* --- why --- */

static void answer_why(struct relay_query *query, const struct why_records *records,
                       const struct why_subject *subject)
{
    struct why_report report = {0};
    struct why_overview overview;
    if (subject) {
        why_judge(records, subject, &report);
        why_json_report(&report, &query->text);
        why_report_clear(&report);
    } else {
        why_overview_make(records, &overview);
        why_json_overview(records, &overview, &query->text);
        why_overview_clear(&overview);
    }
    http_call_answer(query->call, 200, "application/json", query->text.data, query->text.len);
    answered(query);
}

/* --- logs --- */

static void on_log_end(void *arg, const struct err *err)
{
    struct relay_query *query = relay_query_checked(arg);
    if (!query->call)
        return;
    if (err && !query->text.len) {
        refuse(query, err);
        return;
    }
    http_call_answer(query->call, 200, "text/plain; charset=utf-8",
                     query->text.data ? query->text.data : "", query->text.len);
    answered(query);
}

/* The reader, which is in a callback, is freed from the loop. */
static void on_log_text(void *arg, const char *bytes, size_t len)
{
    struct relay_query *query = relay_query_checked(arg);
    size_t room = LOG_BYTES - query->text.len;
    buf_add(&query->text, bytes, len < room ? len : room);
    if (query->text.len == LOG_BYTES)
        on_log_end(query, NULL);
}

static void read_logs(struct relay_query *query, const struct why_records *records,
                      const struct why_subject *subject)
{
    static const struct log_reader_calls calls = {on_log_text, on_log_end};
    const struct log_reader_options options = {.tail = LOG_LINES, .most_bytes = READ_BYTES};
    struct relay *relay = query->relay;
    struct err err;
    if (log_choice_make(records, query->name, subject, &query->choice, &err) != 0) {
        refuse(query, &err);
        return;
    }
    query->logs = node_logs_create(relay->options.cluster);
    query->reader = log_reader_create(relay->loop, query->logs, &options, &calls, query);
    log_reader_add(query->reader, &query->choice, 1);
}

/* --- asking --- */

static void on_evidence(void *arg, const struct err *err, const struct why_records *records,
                        const struct why_subject *subject)
{
    struct relay_query *query = relay_query_checked(arg);
    if (!query->call)
        return;
    if (err)
        refuse(query, err);
    else if (query->of_logs)
        read_logs(query, records, subject);
    else
        answer_why(query, records, subject);
}

static void on_looked(void *arg, const struct err *problem, const struct pause_list *pauses)
{
    struct relay_query *query = relay_query_checked(arg);
    struct relay *relay = query->relay;
    bool of_ray = query->of_logs && log_choice_is_ray(query->name);
    const struct evidence_query asked = {.name = of_ray ? NULL : query->name,
                                         .within_ms = WITHIN_MS,
                                         .tables_only = query->of_logs,
                                         .looks_twice = true,
                                         .pauses = pauses,
                                         .relay = listener_address(relay->listener, 0)};
    struct err err;
    (void)problem; /* if the cluster does not answer, the evidence says so */
    query->evidence = evidence_ask(relay->options.cluster, &asked, on_evidence, query, &err);
    if (!query->evidence)
        refuse(query, &err);
}

/* NULL if the call is refused. */
static struct relay_query *query_open(struct relay *relay, struct http_call *call, const char *name)
{
    size_t count = 0;
    for (const struct relay_query *it = relay->queries; it; it = it->next)
        count++;
    if (!relay->options.cluster) {
        relay_refuse(call, 409, "this relay has no cluster", "start it with --address HOST:6379");
        return NULL;
    }
    if (count >= MOST_QUESTIONS) {
        relay_refuse(call, 503, "too many questions wait for their answers", "ask again soon");
        return NULL;
    }
    struct relay_query *query = mem_alloc(sizeof *query);
    *query = (struct relay_query){
        .next = relay->queries, .relay = relay, .call = call, .name = mem_string(name)};
    relay_query_set_magic(query);
    relay->queries = query;
    return query;
}

void relay_get_why(struct relay *relay, struct http_call *call, const char *name)
{
    struct relay_query *query = query_open(relay, call, name);
    if (query)
        relay_refresh(relay, on_looked, query);
}

void relay_get_logs(struct relay *relay, struct http_call *call, const char *name)
{
    struct relay_query *query = query_open(relay, call, name);
    if (!query)
        return;
    query->of_logs = true;
    relay_refresh(relay, on_looked, query);
}

/* --- stacks --- */

static void on_stacks(void *arg, const struct err *err, const struct stack_answer *answer)
{
    struct relay_query *query = relay_query_checked(arg);
    if (err) {
        refuse(query, err);
        return;
    }
    if (query->is_text)
        stack_answer_text(answer, &query->text);
    else
        live_stacks_json(answer->stacks, &query->text);
    http_call_answer(query->call, 200,
                     query->is_text ? "text/plain; charset=utf-8" : "application/json",
                     query->text.data, query->text.len);
    answered(query);
}

static void ask_stacks(struct relay *relay, struct http_call *call, const char *name, bool is_text)
{
    static const struct stack_request_calls calls = {.on_end = on_stacks};
    const struct stack_query asked = {.select = {.name = name}};
    struct relay_query *query = query_open(relay, call, name);
    struct err err;
    if (!query)
        return;
    query->is_text = is_text;
    query->request = stack_request_begin(relay->options.cluster, &asked, &calls, query, &err);
    if (!query->request)
        refuse(query, &err);
}

void relay_get_stack(struct relay *relay, struct http_call *call, const char *name)
{
    ask_stacks(relay, call, name, false);
}

void relay_get_stack_text(struct relay *relay, struct http_call *call, const char *name)
{
    ask_stacks(relay, call, name, true);
}

void relay_why_stop(struct relay *relay)
{
    struct relay_query *next;
    for (struct relay_query *it = relay->queries; it; it = next) {
        next = it->next;
        if (it->call)
            relay_refuse(it->call, 503, "the relay is ending", "");
        query_free(it);
    }
}
