#include "cli/pauses/attach_pick.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/command_usage.h"
#include "cli/common/terminal.h"
#include "cli/pauses/pause_source_wait.h"
#include "relay/pause/pause_nearest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shortest interval between two polls while the user waits for a pause. */
enum { WAIT_MS = 200 };

static bool is_paused(const struct pause *pause)
{
    return pause->state == PAUSE_WAITING || pause->state == PAUSE_HELD;
}

/* --- candidates --- */

static void print_candidates(FILE *stream, const struct pause_list *list, const size_t *matches,
                             size_t count, bool numbered)
{
    for (size_t i = 0; i < count; i++) {
        char id[ID_TEXT(ID_UNIQUE_BYTES)], title[256];
        const struct pause *pause = &list->items[matches[i]];
        pause_short_id(list, matches[i], id);
        pause_title(pause, title, sizeof title);
        char *clean = text_printable(title, strlen(title), "");
        if (numbered)
            fprintf(stream, "  %zu  %s  %s\n", i + 1, clean, pause_state_name(pause->state));
        else
            fprintf(stream, "  %-12s %s  %s\n", id, clean, pause_state_name(pause->state));
        free(clean);
    }
}

/* Asks on the terminal; returns the index within `matches`, or -1. */
static int64_t ask_which(const struct pause_list *list, const size_t *matches, size_t count)
{
    char answer[64];
    int64_t number;
    print_candidates(stdout, list, matches, count, true);
    for (;;) {
        printf("which? [1-%zu] ", count);
        fflush(stdout);
        if (!fgets(answer, sizeof answer, stdin))
            return -1;
        answer[strcspn(answer, "\r\n")] = '\0';
        if (!*answer || text_equal(answer, "q"))
            return -1;
        if (text_to_int(answer, 1, (int64_t)count, &number))
            return number - 1;
    }
}

/* The error if no name, a pattern or several names were given. */
static void none_matches(const struct attach_pick *pick, const struct pause_list *list,
                         struct err *err)
{
    char what[200];
    size_t others = 0;
    for (size_t i = 0; i < list->count; i++)
        others += is_paused(&list->items[i]);
    if (pick->many)
        pause_filter_describe(pick->many, what, sizeof what);
    if (pick->many && !text_equal(what, "*"))
        err_set(err, ERR_NOT_FOUND, "no paused task is named '%s'", what);
    else
        err_set(err, ERR_NOT_FOUND, "no task is paused");
    if (others)
        err_why(err, "%zu other%s paused", others, others == 1 ? " is" : "s are");
    err_hint(err, "raydbg list shows what is paused; attach --wait waits for it");
}

static int none_found(const struct attach_pick *pick, const struct pause_list *list)
{
    struct err err;
    const struct pause_filter *many = pick->many;
    bool has_name = many && many->task_count == 1 && !pause_filter_is_glob(many->tasks[0]);
    if (pick->task || has_name)
        pause_unknown(list, pick->task ? pick->task : many->tasks[0], &err);
    else
        none_matches(pick, list, &err);
    return command_fail(&err);
}

static int several_found(const struct attach_pick *pick, const struct pause_list *list,
                         const size_t *matches, size_t count)
{
    struct err err;
    if (pick->task)
        err_set(&err, ERR_NOT_FOUND, "'%s' is %zu paused tasks:", pick->task, count);
    else
        err_set(&err, ERR_NOT_FOUND, "%zu tasks are paused: which?", count);
    int code = command_fail(&err);
    print_candidates(stderr, list, matches, count, false);
    fputs("  give more of the id, or PID@NODE; --all attaches to all\n", stderr);
    return code;
}

/* --- what matches --- */

static size_t count_many(const struct attach_pick *pick, const struct pause_list *list)
{
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++)
        count += is_paused(&list->items[i]) && pause_filter_matches(pick->many, &list->items[i]);
    return count;
}

/* The caller frees `*matches`. Without TASK every paused task matches, as in a DAP attach that
 * names none. */
static void find_matches(const struct attach_pick *pick, const struct pause_list *list,
                         size_t **matches, size_t *count)
{
    if (pick->task) {
        pause_find(list, pick->task, matches, count);
        return;
    }
    *matches = mem_array(list->count + 1, sizeof **matches);
    *count = 0;
    for (size_t i = 0; i < list->count; i++)
        if (is_paused(&list->items[i]))
            (*matches)[(*count)++] = i;
}

/* Ends the wait early: once a task is found, the names of others do not matter. */
static bool is_found(void *arg, const struct pause_list *list)
{
    const struct attach_pick *pick = arg;
    size_t *matches = NULL, count = 0;
    if (pick->many)
        return count_many(pick, list) > 0;
    if (pick->task)
        find_matches(pick, list, &matches, &count);
    free(matches);
    return count > 0;
}

/* True if a task that matches is paused. */
static bool has_paused(const struct attach_pick *pick, const struct pause_list *list)
{
    size_t *matches = NULL, count = 0, paused = 0;
    if (pick->many)
        return count_many(pick, list) > 0;
    find_matches(pick, list, &matches, &count);
    for (size_t i = 0; i < count; i++)
        paused += is_paused(&list->items[matches[i]]);
    free(matches);
    return paused > 0;
}

/* --- entry --- */

/* Waits until a match is paused. ^C ends the process: nothing is attached yet. */
static int await(struct loop *loop, struct pause_source *origin, const struct attach_pick *pick,
                 struct err *err)
{
    const bool never = false;
    char what[200] = "a task to pause";
    if (pick->many)
        pause_filter_describe(pick->many, what, sizeof what);
    else if (pick->task)
        text_copy(what, sizeof what, pick->task);
    char *clean = text_printable(what, strlen(what), "");
    fprintf(stderr, "waiting for %s %s\n", clean, terminal_utf8() ? "…" : "...");
    free(clean);
    int result = 0;
    while (result == 0 && !has_paused(pick, pause_source_pauses(origin))) {
        int64_t rest_ms = pause_source_rest_ms(origin);
        loop_run_until(loop, &never, rest_ms > WAIT_MS ? rest_ms : WAIT_MS);
        result = pause_source_wait_once(loop, origin, err);
    }
    return result;
}

static int choose(const struct attach_pick *pick, const struct pause_list *list,
                  const size_t *matches, size_t count, struct pause *pause)
{
    int64_t index = 0;
    if (count == 0)
        return none_found(pick, list);
    if (count > 1 && !pick->may_ask)
        return several_found(pick, list, matches, count);
    if (count > 1)
        index = ask_which(list, matches, count);
    if (index < 0)
        return ERR_NOT_FOUND;
    pause_copy(pause, &list->items[matches[index]]);
    return ERR_NONE;
}

int attach_pick(struct loop *loop, struct pause_source *origin, const struct attach_pick *pick,
                struct pause *pause)
{
    struct err err;
    size_t *matches = NULL, count = 0;
    struct attach_pick own = *pick;
    if (pause_source_wait(loop, origin, is_found, &own, &err) != 0)
        return command_fail(&err);
    const struct pause_list *list = pause_source_pauses(origin);
    if (pick->wait && !has_paused(pick, list) && await(loop, origin, pick, &err) != 0)
        return command_fail(&err);
    list = pause_source_pauses(origin);
    if (pick->many)
        return count_many(pick, list) ? ERR_NONE : none_found(pick, list);
    find_matches(pick, list, &matches, &count);
    int code = choose(pick, list, matches, count, pause);
    free(matches);
    return code;
}
