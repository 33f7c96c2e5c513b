/* How a process of Ray ended: the one table of Ray's words, exit codes and signals. Pure. */
#ifndef RAYDBG_RELAY_WHY_RECORDS_PROCESS_END_H
#define RAYDBG_RELAY_WHY_RECORDS_PROCESS_END_H

#include "relay/why_records/why_records.h"
#include "relay/why_records/why_report.h"

/* The known facts about the end of a process; the strings are static. */
struct process_end {
    const char *code;  /* stable: "native_crash", "killed_or_exited", "exit_code", … */
    const char *words; /* for the sentence's end: "Ray's memory monitor killed it" */
    int exit_code;     /* -1 if unknown */
    bool needs_log;    /* the process's last words would tell more */
    bool by_intent;    /* a part of the program, or Ray in its ordinary course, ended it */
    bool ordinary;     /* the program had no more use for it, so that it is no failure */
};

/* The end of a process whose row says that it has ended. */
struct process_end process_end_of(const struct ray_worker *worker);
/* The same from Ray's words alone, such as those of a task's error; `code` is NULL if they tell
 * nothing. */
struct process_end process_end_of_text(const char *exit_type, const char *text);
/* "139: SIGSEGV, a crash in native code"; NULL for a code without a meaning of its own. */
const char *process_end_exit_code_words(int exit_code);

/* Sets the report's cause for a process that vanished: a crash if its last words tell one. */
void process_end_explain_lost(const struct why_records *records, const struct ray_worker *worker,
                              struct why_report *report);
/* Sets the report's cause to the end of this process, with the stack and everything that its
 * records and last words tell; false if the process lives. */
bool process_end_explain(const struct why_records *records, const struct ray_worker *worker,
                         struct why_report *report);

#endif
