#include "relay/verbs/compare.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct answer {
    enum compare_outcome outcome;
    char *text;
    char *type; /* or NULL */
    bool is_number;
    double number;
    bool outlier;
};

/* The tasks that gave the same answer. */
struct group {
    const struct answer *answer; /* one of them */
    struct task_set who;
    bool outlier;
};

struct compare {
    char *expression;
    struct task_list tasks;
    struct answer *answers; /* one for each of `tasks` */
    bool done;
    struct group *groups; /* in by_size() order; without the tasks that were not asked */
    size_t group_count;
    struct task_set order; /* all tasks, by rank */
    struct compare_numbers numbers;
};

struct compare *compare_create(const char *expression)
{
    struct compare *compare = mem_alloc(sizeof *compare);
    compare->expression = mem_string(expression);
    return compare;
}

void compare_destroy(struct compare **compare)
{
    struct compare *it = *compare;
    if (!it)
        return;
    for (size_t i = 0; i < it->tasks.count; i++) {
        free(it->answers[i].text);
        free(it->answers[i].type);
    }
    for (size_t i = 0; i < it->group_count; i++)
        task_set_clear(&it->groups[i].who);
    free(it->groups);
    free(it->answers);
    task_set_clear(&it->order);
    task_list_clear(&it->tasks);
    free(it->expression);
    free(it);
    *compare = NULL;
}

void compare_add(struct compare *compare, const struct task_list_item *who,
                 enum compare_outcome outcome, const char *text, const char *type)
{
    size_t at = task_list_add(&compare->tasks, who->thread, who->rank, who->name);
    compare->answers = mem_resize(compare->answers, at + 1, sizeof *compare->answers);
    struct answer *answer = &compare->answers[at];
    *answer =
        (struct answer){outcome, mem_string(text ? text : ""), mem_string(type), false, 0, false};
    answer->is_number = outcome == COMPARE_VALUE && compare_number(answer->text, &answer->number);
}

/* --- the result --- */

static void judge(struct compare *compare)
{
    size_t count = compare->tasks.count, n = 0;
    double *values = mem_array(count, sizeof *values);
    bool *outliers = mem_array(count, sizeof *outliers);
    for (size_t i = 0; i < count; i++)
        if (compare->answers[i].is_number)
            values[n++] = compare->answers[i].number;
    compare_judge(values, n, &compare->numbers, outliers);
    for (size_t i = n = 0; i < count; i++)
        if (compare->answers[i].is_number)
            compare->answers[i].outlier = outliers[n++];
    free(values);
    free(outliers);
}

static int by_text(const void *a, const void *b, void *arg)
{
    const struct compare *compare = arg;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    const struct answer *first = &compare->answers[x], *second = &compare->answers[y];
    if (first->outcome != second->outcome)
        return first->outcome < second->outcome ? -1 : 1;
    int order = strcmp(first->text, second->text);
    return order ? order : task_list_order(&compare->tasks, x, y);
}

/* Values before errors, the largest group first, then by the first task's rank. */
static int by_size(const void *a, const void *b, void *arg)
{
    const struct compare *compare = arg;
    const struct group *x = a, *y = b;
    if (x->answer->outcome != y->answer->outcome)
        return x->answer->outcome < y->answer->outcome ? -1 : 1;
    if (x->who.count != y->who.count)
        return x->who.count > y->who.count ? -1 : 1;
    return task_list_order(&compare->tasks, x->who.items[0], y->who.items[0]);
}

static void collect(struct compare *compare)
{
    struct task_set all = {0};
    for (size_t i = 0; i < compare->tasks.count; i++)
        task_set_add(&all, i);
    compare->groups = mem_array(all.count, sizeof *compare->groups);
    if (all.count)
        qsort_r(all.items, all.count, sizeof *all.items, by_text, compare);
    struct group *group = NULL;
    for (size_t i = 0; i < all.count; i++) {
        const struct answer *answer = &compare->answers[all.items[i]];
        if (answer->outcome == COMPARE_NOT_ASKED)
            continue;
        if (!group || group->answer->outcome != answer->outcome ||
            !text_equal(group->answer->text, answer->text)) {
            group = &compare->groups[compare->group_count++];
            group->answer = answer;
            group->outlier = answer->outlier;
        }
        task_set_add(&group->who, all.items[i]);
    }
    qsort_r(compare->groups, compare->group_count, sizeof *compare->groups, by_size, compare);
    task_set_sort(&compare->tasks, &all);
    compare->order = all;
}

static void finish(struct compare *compare)
{
    if (compare->done)
        return;
    compare->done = true;
    judge(compare);
    collect(compare);
}

static size_t count_of(const struct compare *compare, enum compare_outcome outcome)
{
    size_t count = 0;
    for (size_t i = 0; i < compare->tasks.count; i++)
        count += compare->answers[i].outcome == outcome;
    return count;
}

/* --- the sparkline --- */

static bool has_sparkline(const struct compare *compare)
{
    return compare->numbers.count > 1 &&
           compare->numbers.count > compare->numbers.nan + compare->numbers.inf;
}

/* The character for one answer: eight levels from near_min to near_max, "×" for NaN, "·" for an
 * answer that is not a number. */
static const char *spark(const struct compare *compare, const struct answer *answer)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    const struct compare_numbers *numbers = &compare->numbers;
    double width = numbers->near_max - numbers->near_min;
    if (!answer->is_number)
        return "·";
    if (isnan(answer->number))
        return "×";
    if (answer->number < numbers->near_min)
        return bars[0];
    if (answer->number > numbers->near_max)
        return bars[7];
    double part = width > 0 ? (answer->number - numbers->near_min) / width : 0;
    int level = (int)(part * 7.999);
    return bars[level < 0 ? 0 : level > 7 ? 7 : level];
}

/* With more than LINE tasks several share a character: it shows their first outlier, if any. */
static void add_sparkline(const struct compare *compare, struct buf *out)
{
    enum { LINE = 72 };
    size_t count = compare->order.count, columns = count < LINE ? count : LINE;
    for (size_t column = 0; column < columns; column++) {
        size_t from = column * count / columns, to = (column + 1) * count / columns;
        const struct answer *shown = &compare->answers[compare->order.items[from]];
        for (size_t i = from + 1; i < to && !shown->outlier; i++)
            if (compare->answers[compare->order.items[i]].outlier)
                shown = &compare->answers[compare->order.items[i]];
        buf_add_string(out, spark(compare, shown));
    }
}

/* --- text --- */

enum { ROWS = 32, VALUE_WIDTH = 48, BAR_WIDTH = 20, NAMES = 6 };

/* Appends the text as one line, cut to VALUE_WIDTH columns; gives its columns. A wide character
 * counts as one. */
static size_t add_value(const char *text, struct buf *out)
{
    char *clean = text_printable(text, strlen(text), "");
    size_t len = strlen(clean), columns = 0, at = 0;
    while (at < len && columns < VALUE_WIDTH - 1) {
        at += text_utf8(clean + at, len - at);
        columns++;
    }
    buf_add(out, clean, at);
    if (at < len) {
        buf_add_string(out, "…");
        columns++;
    }
    free(clean);
    return columns;
}

static void pad(struct buf *out, size_t from, size_t to)
{
    buf_printf(out, "%*s", from < to ? (int)(to - from) : 0, "");
}

static size_t value_width(const struct compare *compare)
{
    size_t width = 0;
    struct buf scratch = {0};
    for (size_t i = 0; i < compare->group_count && i < ROWS; i++) {
        buf_clear(&scratch, 512);
        size_t columns = add_value(compare->groups[i].answer->text, &scratch);
        width = columns > width ? columns : width;
    }
    buf_free(&scratch);
    return width;
}

static void add_row(const struct compare *compare, const struct group *group, size_t width,
                    struct buf *out)
{
    size_t largest = compare->groups[0].who.count;
    for (size_t i = 0; i < compare->group_count; i++)
        if (compare->groups[i].who.count > largest)
            largest = compare->groups[i].who.count;
    size_t bar = (group->who.count * BAR_WIDTH + largest - 1) / largest;
    buf_add_string(out, "  ");
    pad(out, add_value(group->answer->text, out), width);
    buf_add_string(out, "  ");
    for (size_t i = 0; i < bar; i++)
        buf_add_string(out, "█");
    pad(out, bar, largest > 1 ? BAR_WIDTH : 1);
    buf_printf(out, " %4zu  ", group->who.count);
    task_set_text(&compare->tasks, &group->who, NAMES, out);
    buf_add_string(out, group->answer->outcome == COMPARE_ERROR ? "  (error)\n"
                        : group->outlier                        ? "  ← outlier\n"
                                                                : "\n");
}

static void add_statistics(const struct compare *compare, struct buf *out)
{
    const struct compare_numbers *numbers = &compare->numbers;
    if (!numbers->count)
        return;
    buf_add_string(out, " ");
    if (numbers->count > numbers->nan + numbers->inf)
        buf_printf(out, " min %.6g · max %.6g · mean %.6g", numbers->min, numbers->max,
                   numbers->mean);
    if (numbers->nan)
        buf_printf(out, " · NaN %zu", numbers->nan);
    if (numbers->inf)
        buf_printf(out, " · Inf %zu", numbers->inf);
    buf_add_string(out, "\n");
    if (!has_sparkline(compare))
        return;
    buf_add_string(out, "  ");
    add_sparkline(compare, out);
    buf_add_string(out, "\n");
}

static void add_not_asked(const struct compare *compare, struct buf *out)
{
    for (size_t i = 0; i < compare->order.count; i++) {
        size_t member = compare->order.items[i];
        const struct answer *answer = &compare->answers[member];
        if (answer->outcome == COMPARE_NOT_ASKED)
            buf_printf(out, "  not asked: %s (%s)\n", compare->tasks.items[member].name,
                       answer->text);
    }
}

void compare_text(struct compare *compare, struct buf *out)
{
    finish(compare);
    size_t asked = compare->tasks.count - count_of(compare, COMPARE_NOT_ASKED);
    buf_printf(out, "%s · %zu task%s, %zu different\n", compare->expression, asked,
               asked == 1 ? "" : "s", compare->group_count);
    size_t width = value_width(compare), shown = 0;
    for (; shown < compare->group_count && shown < ROWS; shown++)
        add_row(compare, &compare->groups[shown], width, out);
    if (shown < compare->group_count)
        buf_printf(out, "  … and %zu more; --format csv has all\n", compare->group_count - shown);
    add_statistics(compare, out);
    add_not_asked(compare, out);
}

/* --- JSON --- */

static void add_number(struct buf *out, const char *key, double number)
{
    if (isfinite(number))
        buf_printf(out, ",\"%s\":%.17g", key, number);
    else
        buf_printf(out, ",\"%s\":null", key);
}

static void add_quoted(struct buf *out, const char *key, const char *text)
{
    buf_printf(out, ",\"%s\":", key);
    if (text)
        message_quote(out, text);
    else
        buf_add_string(out, "null");
}

static void add_group(const struct compare *compare, const struct group *group, struct buf *out)
{
    struct buf who = {0};
    const struct answer *answer = group->answer;
    task_set_text(&compare->tasks, &group->who, NAMES, &who);
    buf_printf(out, "{\"count\":%zu", group->who.count);
    add_quoted(out, "value", answer->outcome == COMPARE_VALUE ? answer->text : NULL);
    add_quoted(out, "error", answer->outcome == COMPARE_ERROR ? answer->text : NULL);
    add_quoted(out, "type", answer->type);
    add_number(out, "number", answer->is_number ? answer->number : (double)NAN);
    add_quoted(out, "tasks", who.data);
    buf_printf(out, ",\"outlier\":%s,\"threadIds\":", group->outlier ? "true" : "false");
    task_set_json(&compare->tasks, &group->who, out);
    buf_add_string(out, "}");
    buf_free(&who);
}

static void add_member(const struct task_list_item *member, struct buf *out)
{
    buf_printf(out, "{\"threadId\":%" PRId64 ",\"rank\":", member->thread);
    buf_printf(out, member->rank < 0 ? "null" : "%" PRId64, member->rank);
    add_quoted(out, "name", member->name);
}

static void add_answers(const struct compare *compare, struct buf *out)
{
    bool first = true;
    buf_add_string(out, ",\"values\":[");
    for (size_t i = 0; i < compare->order.count; i++) {
        size_t member = compare->order.items[i];
        const struct answer *answer = &compare->answers[member];
        if (answer->outcome == COMPARE_NOT_ASKED)
            continue;
        buf_add_string(out, first ? "" : ",");
        add_member(&compare->tasks.items[member], out);
        add_quoted(out, "value", answer->outcome == COMPARE_VALUE ? answer->text : NULL);
        add_quoted(out, "error", answer->outcome == COMPARE_ERROR ? answer->text : NULL);
        buf_printf(out, ",\"outlier\":%s}", answer->outlier ? "true" : "false");
        first = false;
    }
    first = true;
    buf_add_string(out, "],\"notAsked\":[");
    for (size_t i = 0; i < compare->order.count; i++) {
        size_t member = compare->order.items[i];
        if (compare->answers[member].outcome != COMPARE_NOT_ASKED)
            continue;
        buf_add_string(out, first ? "" : ",");
        add_member(&compare->tasks.items[member], out);
        add_quoted(out, "why", compare->answers[member].text);
        buf_add_string(out, "}");
        first = false;
    }
    buf_add_string(out, "]");
}

static void add_numbers(const struct compare *compare, struct buf *out)
{
    const struct compare_numbers *numbers = &compare->numbers;
    bool finite = numbers->count > numbers->nan + numbers->inf;
    if (!numbers->count) {
        buf_add_string(out, ",\"statistics\":null,\"sparkline\":null");
        return;
    }
    buf_printf(out, ",\"statistics\":{\"count\":%zu,\"nan\":%zu,\"inf\":%zu", numbers->count,
               numbers->nan, numbers->inf);
    add_number(out, "min", finite ? numbers->min : (double)NAN);
    add_number(out, "max", finite ? numbers->max : (double)NAN);
    add_number(out, "mean", finite ? numbers->mean : (double)NAN);
    add_number(out, "median", finite ? numbers->median : (double)NAN);
    buf_add_string(out, "},\"sparkline\":");
    struct buf line = {0};
    if (has_sparkline(compare))
        add_sparkline(compare, &line);
    if (line.data)
        message_quote(out, line.data);
    else
        buf_add_string(out, "null");
    buf_free(&line);
}

void compare_json(struct compare *compare, struct buf *out)
{
    finish(compare);
    buf_add_string(out, "{\"expression\":");
    message_quote(out, compare->expression);
    buf_printf(out, ",\"asked\":%zu,\"groups\":[",
               compare->tasks.count - count_of(compare, COMPARE_NOT_ASKED));
    for (size_t i = 0; i < compare->group_count; i++) {
        buf_add_string(out, i ? "," : "");
        add_group(compare, &compare->groups[i], out);
    }
    buf_add_string(out, "]");
    add_numbers(compare, out);
    add_answers(compare, out);
    buf_add_string(out, "}");
}

/* --- CSV --- */

static void add_cell(struct buf *out, const char *text, const char *end)
{
    if (text && strpbrk(text, ",\"\r\n")) {
        buf_add_string(out, "\"");
        for (; *text; text++)
            buf_add(out, *text == '"' ? "\"\"" : text, *text == '"' ? 2 : 1);
        buf_add_string(out, "\"");
    } else if (text) {
        buf_add_string(out, text);
    }
    buf_add_string(out, end);
}

void compare_csv(struct compare *compare, struct buf *out)
{
    static const char *const outcomes[] = {"value", "error", "not asked"};
    finish(compare);
    buf_add_string(out, "thread,rank,task,outcome,value,type,outlier\n");
    for (size_t i = 0; i < compare->order.count; i++) {
        size_t at = compare->order.items[i];
        const struct task_list_item *member = &compare->tasks.items[at];
        const struct answer *answer = &compare->answers[at];
        buf_printf(out, "%" PRId64 ",", member->thread);
        if (member->rank >= 0)
            buf_printf(out, "%" PRId64, member->rank);
        buf_add_string(out, ",");
        add_cell(out, member->name, ",");
        add_cell(out, outcomes[answer->outcome], ",");
        add_cell(out, answer->text, ",");
        add_cell(out, answer->type, ",");
        buf_add_string(out, answer->outlier ? "yes\n" : "no\n");
    }
}
