/* The relay's HTTP for causes, logs and stacks: what `raydbg why --format json`, `raydbg logs` and
 * `raydbg stack` print. */
#include "relay/server/relay_state.h"

#include "base/invariant.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/evidence/evidence.h"
#include "relay/evidence/log_reader.h"
#include "relay/evidence/stack_look.h"
#include "relay/why/why_json.h"

#include <stdlib.h>
#include <string.h>

/* A question asks the GCS for all tasks; logs are as long as their programs like. */
enum { MOST_QUESTIONS = 8, WITHIN_MS = 3600000, LOG_LINES = 1000, LOG_BYTES = 8 << 20 };

/* A call that waits for its answer. Freed from the loop: the callbacks that answer are its own
 * parts'. */
struct relay_question {
    uint32_t magic;
    struct relay_question *next;
    struct relay *relay;
    struct http_call *call; /* NULL once it is answered */
    char *name;             /* NULL: the whole cluster */
    bool of_logs, is_text;
    struct stack_look *look;
    struct evidence *evidence;
    struct node_logs *logs;
    struct log_reader *reader;
    struct log_choice choice;
    struct buf text;
    struct timer *freeing;
};
INVARIANT_MAGIC(relay_question, 0x408ccec5)
#define relay_question_checked(object) relay_question_checked_at(INVARIANT_HERE, object)

static void question_free(struct relay_question *question)
{
    LIST_DROP(question->relay->questions, question);
    timer_cancel(&question->freeing);
    log_reader_destroy(&question->reader);
    node_logs_destroy(&question->logs);
    log_choice_clear(&question->choice);
    evidence_free(&question->evidence);
    stack_look_free(&question->look);
    buf_free(&question->text);
    free(question->name);
    relay_question_clear_magic(question);
    free(question);
}

static void free_later(void *arg)
{
    struct relay_question *question = relay_question_checked(arg);
    question->freeing = NULL;
    question_free(question);
}

static void answered(struct relay_question *question)
{
    question->call = NULL;
    if (!question->freeing)
        question->freeing = timer_start(question->relay->loop, 0, free_later, question);
}

static void refuse(struct relay_question *question, const struct err *err)
{
    static const struct {
        enum err_code code;
        int status;
    } rows[] = {{ERR_NOT_FOUND, 404}, {ERR_USAGE, 409}, {ERR_DENIED, 403}};
    int status = 502;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == err->code)
            status = rows[i].status;
    relay_answer_error(question->call, status, err);
    answered(question);
}

/* --- why --- */

static void answer_why(struct relay_question *question, const struct why_records *records,
                       const struct why_subject *subject)
{
    struct why_report report = {0};
    struct why_overview overview;
    if (subject) {
        why_judge(records, subject, &report);
        why_json_report(&report, &question->text);
        why_report_clear(&report);
    } else {
        why_overview_make(records, &overview);
        why_json_overview(&overview, &question->text);
        why_overview_clear(&overview);
    }
    http_call_answer(question->call, 200, "application/json", question->text.data,
                     question->text.len);
    answered(question);
}

/* --- logs --- */

static void on_log_text(void *arg, const char *bytes, size_t len)
{
    struct relay_question *question = relay_question_checked(arg);
    size_t room = LOG_BYTES - question->text.len;
    buf_add(&question->text, bytes, len < room ? len : room);
}

static void on_log_end(void *arg, const struct err *err)
{
    struct relay_question *question = relay_question_checked(arg);
    if (!question->call)
        return;
    if (err && !question->text.len) {
        refuse(question, err);
        return;
    }
    http_call_answer(question->call, 200, "text/plain; charset=utf-8",
                     question->text.data ? question->text.data : "", question->text.len);
    answered(question);
}

static void read_logs(struct relay_question *question, const struct why_records *records,
                      const struct why_subject *subject)
{
    static const struct log_reader_calls calls = {on_log_text, on_log_end};
    const struct log_reader_options options = {.tail = LOG_LINES};
    struct relay *relay = question->relay;
    struct err err;
    if (log_choice_make(records, question->name, subject, &question->choice, &err) != 0) {
        refuse(question, &err);
        return;
    }
    question->logs = node_logs_create(relay->options.cluster);
    question->reader = log_reader_create(relay->loop, question->logs, &options, &calls, question);
    log_reader_add(question->reader, &question->choice, 1);
}

/* --- asking --- */

static void on_evidence(void *arg, const struct err *err, const struct why_records *records,
                        const struct why_subject *subject)
{
    struct relay_question *question = relay_question_checked(arg);
    if (!question->call)
        return;
    if (err)
        refuse(question, err);
    else if (question->of_logs)
        read_logs(question, records, subject);
    else
        answer_why(question, records, subject);
}

static void on_looked(void *arg, const struct err *problem, const struct pause_list *pauses)
{
    struct relay_question *question = relay_question_checked(arg);
    struct relay *relay = question->relay;
    bool of_ray = question->of_logs && log_choice_is_ray(question->name);
    const struct evidence_question asked = {.name = of_ray ? NULL : question->name,
                                            .within_ms = WITHIN_MS,
                                            .tables_only = question->of_logs,
                                            .looks_twice = true,
                                            .pauses = pauses,
                                            .relay = listener_address(relay->listener, 0)};
    struct err err;
    (void)problem; /* if the cluster does not answer, the evidence says so */
    question->evidence = evidence_ask(relay->options.cluster, &asked, on_evidence, question, &err);
    if (!question->evidence)
        refuse(question, &err);
}

/* NULL if the call is refused. */
static struct relay_question *question_open(struct relay *relay, struct http_call *call,
                                            const char *name)
{
    size_t count = 0;
    for (const struct relay_question *it = relay->questions; it; it = it->next)
        count++;
    if (!relay->options.cluster) {
        relay_refuse(call, 409, "this relay has no cluster", "start it with --address HOST:6379");
        return NULL;
    }
    if (count >= MOST_QUESTIONS) {
        relay_refuse(call, 503, "too many questions wait for their answers", "ask again soon");
        return NULL;
    }
    struct relay_question *question = mem_alloc(sizeof *question);
    *question = (struct relay_question){
        .next = relay->questions, .relay = relay, .call = call, .name = mem_string(name)};
    relay_question_set_magic(question);
    relay->questions = question;
    return question;
}

void relay_get_why(struct relay *relay, struct http_call *call, const char *name)
{
    struct relay_question *question = question_open(relay, call, name);
    if (question)
        relay_look(relay, on_looked, question);
}

void relay_get_logs(struct relay *relay, struct http_call *call, const char *name)
{
    struct relay_question *question = question_open(relay, call, name);
    if (!question)
        return;
    question->of_logs = true;
    relay_look(relay, on_looked, question);
}

/* --- stacks --- */

static void on_stacks(void *arg, const struct err *err, const struct stack_look_answer *answer)
{
    struct relay_question *question = relay_question_checked(arg);
    if (err) {
        refuse(question, err);
        return;
    }
    if (question->is_text)
        stack_look_text(answer, &question->text);
    else
        live_stacks_json(answer->stacks, &question->text);
    http_call_answer(question->call, 200,
                     question->is_text ? "text/plain; charset=utf-8" : "application/json",
                     question->text.data, question->text.len);
    answered(question);
}

static void ask_stacks(struct relay *relay, struct http_call *call, const char *name, bool is_text)
{
    static const struct stack_look_calls calls = {.on_end = on_stacks};
    const struct stack_look_question asked = {.select = {.name = name}};
    struct relay_question *question = question_open(relay, call, name);
    struct err err;
    if (!question)
        return;
    question->is_text = is_text;
    question->look = stack_look_ask(relay->options.cluster, &asked, &calls, question, &err);
    if (!question->look)
        refuse(question, &err);
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
    struct relay_question *next;
    for (struct relay_question *it = relay->questions; it; it = next) {
        next = it->next;
        if (it->call)
            relay_refuse(it->call, 503, "the relay is ending", "");
        question_free(it);
    }
}
