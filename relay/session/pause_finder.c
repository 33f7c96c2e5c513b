#include "relay/session/pause_finder.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/pause/pause_nearest.h"
#include "relay/pause/pause_reach.h"

#include <stdlib.h>
#include <string.h>

struct pause_finder {
    uint32_t magic;
    const struct session_options *options;
    struct cluster *own; /* made here; NULL if the options gave one */
    struct cluster *cluster;
    const struct attach_arguments *arguments;
    pause_finder_fn fn;
    void *arg;
    struct timer *again;
    int64_t until_us; /* until when the task's name may still appear */
};
INVARIANT_MAGIC(pause_finder, 0x5728e6be)
#define pause_finder_checked(object) pause_finder_checked_at(INVARIANT_HERE, object)

enum { AGAIN_MS = 100 };

struct pause_finder *pause_finder_create(const struct session_options *options)
{
    struct pause_finder *finder = mem_alloc(sizeof *finder);
    pause_finder_set_magic(finder);
    finder->options = options;
    finder->cluster = options->cluster;
    return finder;
}

void pause_finder_destroy(struct pause_finder **finder)
{
    if (!*finder)
        return;
    timer_cancel(&(*finder)->again);
    if ((*finder)->cluster)
        cluster_refresh_cancel((*finder)->cluster, *finder);
    cluster_destroy(&(*finder)->own);
    pause_finder_clear_magic(*finder);
    free(*finder);
    *finder = NULL;
}

void pause_finder_cancel(struct pause_finder *finder)
{
    finder->fn = NULL;
    timer_cancel(&finder->again);
}

struct cluster *pause_finder_cluster(const struct pause_finder *finder)
{
    return finder->cluster;
}

static void answer(struct pause_finder *finder, const struct err *err, const struct pause *pause)
{
    pause_finder_fn fn = finder->fn;
    finder->fn = NULL;
    if (fn)
        fn(finder->arg, err, pause);
}

/* Appends "square (c2668a), Trainer.step (32d950), …", at most SHOWN of them. */
static void list_names(const struct pause_list *list, const size_t *indices, size_t count,
                       struct buf *out)
{
    enum { SHOWN = 5 };
    char id[ID_TEXT(ID_UNIQUE_BYTES)];
    for (size_t i = 0; i < count && i < SHOWN; i++) {
        size_t at = indices ? indices[i] : i;
        const struct pause *pause = &list->items[at];
        pause_short_id(list, at, id);
        const char *name = pause->task_name ? pause->task_name : "?";
        char *shown = text_printable(name, strlen(name), "");
        buf_printf(out, "%s%s (%s)", i ? ", " : "", shown, id);
        free(shown);
    }
    if (count > SHOWN)
        buf_printf(out, ", and %zu more", count - SHOWN);
}

static int none_found(const struct pause_list *list, const char *task,
                      const struct cluster_address *address, struct err *err)
{
    if (list->count == 0) {
        err_set(err, ERR_NOT_FOUND, "no task is paused on %s", address->text);
        return err_hint(err, "a breakpoint() that does not show up: is debugpy installed on the "
                             "workers, and RAY_DEBUG unset or 1?");
    }
    return pause_unknown(list, task, err);
}

static int several_found(const struct pause_list *list, const char *task, const size_t *indices,
                         size_t count, struct err *err)
{
    struct buf names = {0};
    list_names(list, indices, count, &names);
    if (task)
        err_set(err, ERR_NOT_FOUND, "'%s' names %zu paused tasks", task, count);
    else
        err_set(err, ERR_NOT_FOUND, "%zu tasks are paused: which one?", count);
    err_why(err, "%s", names.data);
    buf_free(&names);
    return err_hint(err, "name one by its id, or as PID@NODE");
}

static int none_waits(const struct pause_list *list, const struct cluster_address *address,
                      struct err *err)
{
    struct buf names = {0};
    list_names(list, NULL, list->count, &names);
    err_set(err, ERR_NOT_FOUND, "no task waits for a debugger on %s", address->text);
    err_why(err, "others are, or were, attached to %s", names.data);
    buf_free(&names);
    return err_hint(err, "name one by its id, or as PID@NODE");
}

int pause_finder_choose(const struct pause_list *list, const char *task,
                        const struct cluster_address *address, const struct pause **out,
                        struct err *err)
{
    size_t *indices = NULL, count = 0;
    int rc;
    if (task) {
        pause_find(list, task, &indices, &count);
    } else {
        indices = mem_array(list->count, sizeof *indices);
        for (size_t i = 0; i < list->count; i++)
            if (list->items[i].state == PAUSE_WAITING || list->items[i].state == PAUSE_HELD)
                indices[count++] = i;
    }
    if (count == 0 && !task && list->count)
        rc = none_waits(list, address, err);
    else if (count == 0)
        rc = none_found(list, task, address, err);
    else if (count > 1)
        rc = several_found(list, task, indices, count, err);
    else
        rc = pause_reach_check(&list->items[indices[0]], err);
    if (rc == 0)
        *out = &list->items[indices[0]];
    free(indices);
    return rc;
}

/* Without the cluster a relay still has what it holds. `problem`: why there is no cluster. */
static void choose_held(struct pause_finder *finder, const struct err *problem)
{
    static const struct cluster_address nowhere = {.text = "this relay"};
    static const struct pause_list none;
    const char *task = finder->arguments->task ? finder->arguments->task : finder->options->task;
    const struct pause *pause = NULL;
    struct pause_list held = {0};
    struct err err;
    if (finder->options->hubs)
        hub_table_list(finder->options->hubs, &none, &held);
    if (held.count == 0 || pause_finder_choose(&held, task, &nowhere, &pause, &err) != 0)
        answer(finder, held.count ? &err : problem, NULL);
    else
        answer(finder, NULL, pause);
    pause_list_clear(&held);
}

/* True if the one that was chosen may yet come to listen. */
static bool is_early(const struct pause_list *list, const struct err *err)
{
    for (size_t i = 0; err->code == ERR_UNREACHABLE && i < list->count; i++)
        if (pause_reach_is_early(&list->items[i]))
            return true;
    return false;
}

static void ask(void *arg);

static void on_refreshed(void *arg, const struct err *err)
{
    struct pause_finder *finder = pause_finder_checked(arg);
    if (!finder->fn)
        return;
    if (err) {
        choose_held(finder, err);
        return;
    }
    const char *task = finder->arguments->task ? finder->arguments->task : finder->options->task;
    const struct pause *pause = NULL;
    struct err own;
    struct pause_list joined = {0};
    const struct pause_list *list = cluster_pauses(finder->cluster);
    if (finder->options->hubs) {
        hub_table_list(finder->options->hubs, list, &joined);
        list = &joined;
    }
    int rc = pause_finder_choose(list, task, cluster_address(finder->cluster), &pause, &own);
    if (rc == 0)
        answer(finder, NULL, pause);
    else if (is_early(list, &own) ||
             (cluster_names_pending(finder->cluster) && loop_now_us() < finder->until_us))
        finder->again = timer_start(finder->options->loop, AGAIN_MS, ask, finder);
    else
        answer(finder, &own, NULL);
    pause_list_clear(&joined);
}

static void ask(void *arg)
{
    struct pause_finder *finder = pause_finder_checked(arg);
    finder->again = NULL;
    cluster_refresh(finder->cluster, on_refreshed, finder);
}

static void connect_directly(struct pause_finder *finder, const char *host, uint16_t port)
{
    struct pause pause = {.host = mem_string(host), .port = port, .paused_threads = -1};
    answer(finder, NULL, &pause);
    free(pause.host);
}

static int use_cluster(struct pause_finder *finder, struct err *err)
{
    const char *given =
        finder->arguments->address ? finder->arguments->address : finder->options->address;
    struct cluster_address address;
    if (finder->options->cluster)
        return 0;
    if (finder->options->hubs && (finder->cluster = hub_table_cluster(finder->options->hubs)))
        return 0; /* it has become known since the session began */
    if (finder->options->hubs) {
        err_set(err, ERR_UNREACHABLE, "this relay serves no cluster");
        return err_hint(err, "it was started without one: give it --address");
    }
    if (cluster_address_find(&address, given, err) != 0)
        return -1;
    cluster_destroy(&finder->own);
    finder->cluster = finder->own = cluster_create(finder->options->loop, &address, err);
    return finder->own ? 0 : -1;
}

struct cluster *pause_finder_use_cluster(struct pause_finder *finder,
                                         const struct attach_arguments *arguments, struct err *err)
{
    finder->arguments = arguments;
    return use_cluster(finder, err) == 0 ? finder->cluster : NULL;
}

void pause_finder_find(struct pause_finder *finder, const struct attach_arguments *arguments,
                       pause_finder_fn fn, void *arg)
{
    char host[256];
    uint16_t port;
    struct err err;
    finder->arguments = arguments;
    finder->fn = fn;
    finder->arg = arg;
    if (arguments->connect_host) {
        connect_directly(finder, arguments->connect_host, arguments->connect_port);
    } else if (finder->options->pause) {
        answer(finder, NULL, finder->options->pause);
    } else if (finder->options->connect) {
        if (text_split_host_port(finder->options->connect, host, sizeof host, &port)) {
            connect_directly(finder, host, port);
            return;
        }
        err_set(&err, ERR_USAGE, "--connect '%s' is not HOST:PORT", finder->options->connect);
        answer(finder, &err, NULL);
    } else if (use_cluster(finder, &err) != 0) {
        choose_held(finder, &err);
    } else {
        finder->until_us = loop_now_us() + (int64_t)CLUSTER_NAMES_BUSY_MS * 1000;
        ask(finder);
    }
}
