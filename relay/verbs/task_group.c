#include "relay/verbs/task_group.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Says if the subject of a query is in a group. A group is looked through once in a query, however
 * often others name it. */
enum verdict { UNKNOWN, UNDER_WAY, OUT, IN };

struct group {
    char *name;
    char **filters;
    size_t filter_count;
    char *text; /* the filters in one line */
    enum verdict verdict;
};

struct groups {
    struct group *items;
    const char **names;
    size_t count;
};

/* A group may name groups: this depth bounds the recursion. */
enum { DEPTH = 64 };

struct groups *groups_create(void)
{
    return mem_alloc(sizeof(struct groups));
}

static void clear(struct group *group)
{
    for (size_t i = 0; i < group->filter_count; i++)
        free(group->filters[i]);
    free(group->filters);
    free(group->name);
    free(group->text);
}

void groups_destroy(struct groups **groups)
{
    struct groups *it = *groups;
    if (!it)
        return;
    for (size_t i = 0; i < it->count; i++)
        clear(&it->items[i]);
    free(it->items);
    free((void *)it->names);
    free(it);
    *groups = NULL;
}

static struct group *find(const struct groups *groups, const char *name)
{
    for (size_t i = 0; i < groups->count; i++)
        if (text_equal(groups->items[i].name, name))
            return &groups->items[i];
    return NULL;
}

/* --- filters --- */

/* `list` is "7" or "0-3,8": true if `number` is in it. *is_list is false for any other text. With
 * `number` NULL only *is_list counts. */
static bool in_list(const char *list, const int64_t *number, bool *is_list)
{
    bool found = false;
    const char *at = list;
    *is_list = false;
    do {
        char *end;
        if (!isdigit((unsigned char)*at))
            return false;
        int64_t from = strtoll(at, &end, 10), to = from;
        if (*end == '-') {
            if (!isdigit((unsigned char)end[1]))
                return false;
            to = strtoll(end + 1, &end, 10);
        }
        found = found || (number && *number >= from && *number <= to);
        at = end;
    } while (*at++ == ',');
    *is_list = at[-1] == '\0';
    return *is_list && found;
}

static bool fits(const char *pattern, const char *text)
{
    return !text_empty(text) && fnmatch(pattern, text, 0) == 0;
}

static bool fits_number(const char *list, int64_t number)
{
    bool is_list;
    return in_list(list, &number, &is_list);
}

static bool key_rank(const char *value, const struct task_group_subject *subject)
{
    return subject->rank >= 0 && fits_number(value, subject->rank);
}

static bool key_thread(const char *value, const struct task_group_subject *subject)
{
    return fits_number(value, subject->thread);
}

static bool key_pid(const char *value, const struct task_group_subject *subject)
{
    return fits_number(value, subject->pid);
}

static bool key_task(const char *value, const struct task_group_subject *subject)
{
    return fits(value, subject->task);
}

static bool key_actor(const char *value, const struct task_group_subject *subject)
{
    return fits(value, subject->actor_name) || fits(value, subject->actor_class);
}

static bool key_node(const char *value, const struct task_group_subject *subject)
{
    return fits(value, subject->node_ip) || fits(value, subject->node_name);
}

static bool key_job(const char *value, const struct task_group_subject *subject)
{
    return fits(value, subject->job);
}

static bool key_state(const char *value, const struct task_group_subject *subject)
{
    return text_equal(value, subject->stopped ? "stopped" : "running");
}

static const struct key {
    const char *name;
    bool list; /* its value is a list of numbers */
    bool (*fits)(const char *value, const struct task_group_subject *subject);
} keys[] = {
    {"rank", true, key_rank},  {"thread", true, key_thread}, {"pid", true, key_pid},
    {"task", false, key_task}, {"actor", false, key_actor},  {"node", false, key_node},
    {"job", false, key_job},   {"state", false, key_state},
};

/* `*value` is the text behind "KEY="; NULL if the filter does not begin with a known key. */
static const struct key *find_key(const char *filter, const char **value)
{
    const char *equals = strchr(filter, '=');
    for (size_t i = 0; equals && i < sizeof keys / sizeof *keys; i++)
        if (strlen(keys[i].name) == (size_t)(equals - filter) &&
            text_starts(filter, keys[i].name)) {
            *value = equals + 1;
            return &keys[i];
        }
    return NULL;
}

static bool is_name(const char *filter, const struct task_group_subject *subject)
{
    return fits(filter, subject->name) || fits(filter, subject->task) || key_actor(filter, subject);
}

static bool have(const struct groups *groups, const char *text,
                 const struct task_group_subject *subject, int depth);

static bool filter_fits(const struct groups *groups, const char *filter,
                        const struct task_group_subject *subject, int depth)
{
    const char *value;
    const struct key *key = find_key(filter, &value);
    bool is_list;
    if (key)
        return key->fits(value, subject);
    if (find(groups, filter) || text_equal(filter, "all"))
        return have(groups, filter, subject, depth + 1);
    in_list(filter, NULL, &is_list);
    if (is_list)
        return subject->ranked ? key_rank(filter, subject) : key_thread(filter, subject);
    return is_name(filter, subject);
}

/* The last filter that matches decides: "* !readers" leaves readers out, "!readers *" does not. A
 * group that names itself adds nothing there. */
static bool group_has(const struct groups *groups, struct group *group,
                      const struct task_group_subject *subject, int depth)
{
    if (group->verdict != UNKNOWN)
        return group->verdict == IN;
    bool in = false;
    group->verdict = UNDER_WAY;
    for (size_t i = 0; i < group->filter_count; i++) {
        const char *filter = group->filters[i];
        bool negated = *filter == '!';
        if (filter_fits(groups, filter + negated, subject, depth))
            in = !negated;
    }
    group->verdict = in ? IN : OUT;
    return in;
}

static bool have(const struct groups *groups, const char *text,
                 const struct task_group_subject *subject, int depth)
{
    struct group *group = find(groups, text);
    if (!text || text_equal(text, "all"))
        return true;
    if (depth > DEPTH)
        return false;
    if (group)
        return group_has(groups, group, subject, depth);
    return *text == '!' ? !filter_fits(groups, text + 1, subject, depth)
                        : filter_fits(groups, text, subject, depth);
}

bool groups_have(const struct groups *groups, const char *text,
                 const struct task_group_subject *subject)
{
    for (size_t i = 0; i < groups->count; i++)
        groups->items[i].verdict = UNKNOWN;
    return have(groups, text, subject, 0);
}

static int check_filter(const char *filter, struct err *err)
{
    const char *value, *text = filter + (*filter == '!');
    const struct key *key = find_key(text, &value);
    bool is_list = true;
    if (key && key->list)
        in_list(value, NULL, &is_list);
    if (key && is_list && *value &&
        (!text_equal(key->name, "state") || text_equal(value, "stopped") ||
         text_equal(value, "running")))
        return 0;
    if (key) {
        err_set(err, ERR_USAGE, "'%s' is no filter", filter);
        return err_hint(err,
                        key->list                        ? "%s=7 or %s=0-3,8"
                        : text_equal(key->name, "state") ? "%s=stopped or %s=running"
                                                         : "%s=NAME or %s=PREFIX*",
                        key->name, key->name);
    }
    if (*text && !strchr(text, '='))
        return 0;
    err_set(err, ERR_USAGE, "'%s' is no filter", filter);
    return err_hint(err, "a name with * and ?, ranks (0-3,8), or rank=, task=, actor=, node=, pid=,"
                         " job=, thread=, state=");
}

int groups_check(const struct groups *groups, const char *text, struct err *err)
{
    return !text || find(groups, text) ? 0 : check_filter(text, err);
}

/* --- the groups --- */

static char *join(char **words, size_t count)
{
    struct buf out = {0};
    for (size_t i = 0; i < count; i++) {
        buf_add_string(&out, i ? " " : "");
        buf_add_string(&out, words[i]);
    }
    return out.data ? buf_take(&out) : mem_string("");
}

static void rename_all(struct groups *groups)
{
    groups->names = mem_resize((void *)groups->names, groups->count, sizeof *groups->names);
    for (size_t i = 0; i < groups->count; i++)
        groups->names[i] = groups->items[i].name;
}

int groups_set(struct groups *groups, const char *name, const char *const *filters, size_t count,
               struct err *err)
{
    if (!verb_group_name(name)) {
        err_set(err, ERR_USAGE, "'%s' is no name for a group", name);
        return err_hint(err, "a word of letters and digits, no verb (/help) and not \"all\"");
    }
    for (size_t i = 0; i < count; i++)
        if (check_filter(filters[i], err) != 0)
            return -1;
    struct group made = {.name = mem_string(name), .filter_count = count};
    made.filters = mem_array(count, sizeof *made.filters);
    for (size_t i = 0; i < count; i++)
        made.filters[i] = mem_string(filters[i]);
    made.text = join(made.filters, count);
    struct group *old = find(groups, name);
    if (old) {
        clear(old);
        *old = made;
    } else {
        groups->items = mem_resize(groups->items, groups->count + 1, sizeof *groups->items);
        groups->items[groups->count++] = made;
    }
    rename_all(groups);
    return 0;
}

bool groups_remove(struct groups *groups, const char *name)
{
    struct group *group = find(groups, name);
    if (!group)
        return false;
    clear(group);
    size_t after = groups->count - (size_t)(group - groups->items) - 1;
    memmove(group, group + 1, after * sizeof *group);
    invariant(groups->count > 0);
    groups->count--;
    rename_all(groups);
    return true;
}

struct verb_groups groups_names(const struct groups *groups)
{
    return (struct verb_groups){groups->names, groups->count};
}

const char *groups_filters(const struct groups *groups, const char *name)
{
    const struct group *group = find(groups, name);
    return group ? group->text : NULL;
}
