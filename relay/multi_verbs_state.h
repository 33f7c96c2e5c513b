/* The inside of a multi's groups, for the files that make it up: multi_verbs.c (requests and lines
 * in, answers out), multi_look.c (a stopped thread's stack, a value in it), multi_inquiry.c
 * (compare, stacks), multi_run.c (steps, and which stops pass), multi_meeting.c (barriers). */
#ifndef RAYDBG_RELAY_MULTI_VERBS_STATE_H
#define RAYDBG_RELAY_MULTI_VERBS_STATE_H

#include "relay/crowd.h"
#include "relay/group.h"
#include "relay/many_verb.h"
#include "relay/multi_state.h"
#include "relay/stack_place.h"

struct look;
struct inquiry;
struct run;
struct plan;
struct judging;
struct passing;
struct survey_job;
struct meeting;

struct multi_verbs {
    struct multi *multi;
    struct groups *groups;
    struct look *looks;
    struct inquiry *inquiries;
    struct run *runs;
    struct plan *plans;
    struct judging *judgings; /* stops of which it is not known yet whether they pass */
    struct survey_job *surveys;
    struct meeting *meeting; /* the barrier that is under way, or NULL */
    struct passing *passing; /* stops that are over, from the loop */
    size_t passing_count;
    struct timer *wake;
    struct known_paths {
        char **items;
        size_t count;
    } known; /* files that have been in a stack */
};

/* Who asked. A line is answered with text, a custom request with a body. */
struct verbs_reply {
    int64_t seq;
    char command[DAP_NAME_MAX];
    bool line;
};

/* --- multi_verbs.c --- */

/* `text` without a newline at its end, for a line; `body` is JSON, for a request, and a member
 * `raydbg` of what answers a line. */
void verbs_answer(struct multi_verbs *verbs, const struct verbs_reply *reply, const char *text,
                  const char *body);
void verbs_refuse(struct multi_verbs *verbs, const struct verbs_reply *reply,
                  const struct err *err);
/* The session's threads that are in it (NULL: all). The caller frees `*ids`. -1 with `err` if it is
 * no group, or nobody is in it. */
int verbs_select(const struct multi_verbs *verbs, const char *subject, int64_t **ids, size_t *count,
                 struct err *err);
/* The name and rank of a thread; the name is borrowed. */
struct crowd_member verbs_member(const struct multi_target *target,
                                 const struct multi_thread *thread);
/* As a user says it: "train.py:41". The caller frees it. */
char *verbs_place(const char *file, int64_t line);

/* --- multi_look.c --- */

/* What was found; NULLs if nothing could be: then `problem` says why. Borrowed for the call. */
struct look_result {
    int64_t thread; /* the session's id */
    const char *problem;
    const char *json; /* the stackTrace response */
    struct span frames;
    struct stack_place top;   /* of look_value() and look_stack(); all zero: no stack */
    const char *value, *type; /* look_value() */
};
typedef void (*look_fn)(void *arg, const struct look_result *result);

/* fn runs once, perhaps from within; never after look_drop() with the same `arg`. `timeout_ms` is
 * for all of it. */
void look_stack(struct multi_verbs *verbs, int64_t thread, int64_t timeout_ms, look_fn fn,
                void *arg);
/* The same of a thread that runs: where it is just now. debugpy only. */
void look_running(struct multi_verbs *verbs, int64_t thread, int64_t timeout_ms, look_fn fn,
                  void *arg);
/* Evaluates in the topmost frame that is not Ray's. */
void look_value(struct multi_verbs *verbs, int64_t thread, const char *expression,
                int64_t timeout_ms, look_fn fn, void *arg);
void look_drop(struct multi_verbs *verbs, const void *arg);

/* --- multi_inquiry.c --- */
void inquiry_compare(struct multi_verbs *verbs, const struct many_verb *verb,
                     const struct verbs_reply *reply);
void inquiry_stacks(struct multi_verbs *verbs, const struct many_verb *verb,
                    const struct verbs_reply *reply);
void inquiry_drop(struct multi_verbs *verbs);

/* --- multi_survey.c --- */

/* Where the stopped threads are, and what `file` means in them. */
struct survey {
    struct survey_place {
        int64_t thread;
        char *file; /* NULL: unknown */
        int64_t line;
    } * places;
    size_t place_count;
    char **paths; /* the files in stacks, now or earlier, that `file` means; itself, if absolute */
    size_t path_count;
};
typedef void (*survey_fn)(void *arg, const struct survey *survey);
/* fn runs once, perhaps from within; never after survey_drop() with the same `arg`. */
void survey_take(struct multi_verbs *verbs, const char *file, survey_fn fn, void *arg);
void survey_drop(struct multi_verbs *verbs, const void *arg);
/* Forgets which files there are. */
void survey_forget(struct multi_verbs *verbs);
/* The error that `file` is in no stack. */
void survey_unknown(const char *file, struct err *err);

/* Breakpoints that the client has not set, at a line of all `paths`. All zero: none. */
struct stakes {
    int64_t *handles;
    char **paths;
    size_t count;
    int64_t line;
};
void stakes_set(struct multi_verbs *verbs, struct stakes *stakes, const struct survey *survey,
                int64_t line);
void stakes_pull(struct multi_verbs *verbs, struct stakes *stakes);
bool stakes_at(const struct stakes *stakes, const struct stack_place *place);

/* --- multi_run.c --- */
void run_step(struct multi_verbs *verbs, const struct many_verb *verb,
              const struct verbs_reply *reply);
/* What the thread was to do is forgotten: it does something else. */
void run_forget(struct multi_verbs *verbs, int64_t thread);
/* A stop that the client does not know of is over; from the loop. */
void run_pass(struct multi_verbs *verbs, const struct multi_thread *thread);
void run_drop(struct multi_verbs *verbs);

/* --- multi_meeting.c --- */
void meeting_verb(struct multi_verbs *verbs, const struct many_verb *verb,
                  const struct verbs_reply *reply);
/* As multi_verbs_stopped(). */
bool run_stopped(struct multi_verbs *verbs, struct multi_thread *thread);
bool meeting_stopped(struct multi_verbs *verbs, struct multi_thread *thread);
void meeting_left(struct multi_verbs *verbs, int64_t thread, const char *why);
/* Somebody lets the thread go on: one that is held is held no more, nor are the others. */
void meeting_resumed(struct multi_verbs *verbs, int64_t thread);
bool meeting_stake_at(const struct multi_verbs *verbs, const struct stack_place *place);
void meeting_drop(struct multi_verbs *verbs);

#endif
