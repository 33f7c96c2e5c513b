#include "cli/run/break_ask.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/command_usage.h"
#include "cli/common/relay_ask.h"
#include "dap/message.h"
#include "dap/scan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MOST = 10000000, CLEAR_MS = 5000 };

int break_location(const char *where, char **file, int64_t *line, struct err *err)
{
    const char *colon = strrchr(where, ':');
    if (!colon || colon == where || !text_to_int(colon + 1, 1, LINE_MOST, line)) {
        err_set(err, ERR_USAGE, "'%s' is not FILE:LINE", where);
        return err_hint(err, "such as train.py:57");
    }
    char *name = mem_string_n(where, (size_t)(colon - where));
    *file = realpath(name, NULL);
    if (!*file && name[0] == '/') /* on the nodes only */
        *file = mem_string(name);
    if (!*file) {
        err_set(err, ERR_NOT_FOUND, "there is no file '%s' here", name);
        err_hint(err, "give its absolute path, as it is on the nodes");
    }
    free(name);
    return *file ? 0 : -1;
}

static void add_text(struct buf *json, const char *name, const char *text)
{
    if (text_empty(text))
        return;
    buf_printf(json, ",\"%s\":", name);
    message_quote(json, text);
}

static void add_flag(struct buf *json, const char *name, bool flag)
{
    if (flag)
        buf_printf(json, ",\"%s\":true", name);
}

static int add_number(struct buf *json, const char *name, const char *text, int64_t least,
                      struct err *err)
{
    int64_t number;
    if (!text)
        return 0;
    if (!text_to_int(text, least, INT32_MAX, &number))
        return err_set(err, ERR_USAGE, "--%s is a number from %d on, not '%s'", name, (int)least,
                       text);
    buf_printf(json, ",\"%s\":%" PRId64, name, number);
    return 0;
}

int break_scope(struct buf *json, const struct break_wish *wish, struct err *err)
{
    add_text(json, "task", wish->task);
    add_text(json, "node", wish->node);
    return add_number(json, "rank", wish->rank, 0, err);
}

static int render(struct buf *json, const struct break_wish *wish, const char *where,
                  struct err *err)
{
    char *file = NULL;
    int64_t line = 0;
    if (wish->hit && wish->first)
        return err_set(err, ERR_USAGE, "--hit names the one hit that stops, as --first does");
    if (wish->log && wish->stop_all)
        return err_set(err, ERR_USAGE, "--stop-all needs a stop, and --log makes none");
    if (break_location(where, &file, &line, err) != 0)
        return -1;
    buf_printf(json, "{\"line\":%" PRId64, line);
    add_text(json, "file", file);
    free(file);
    add_text(json, "if", wish->condition);
    add_text(json, "log", wish->log);
    add_text(json, "run", wish->run);
    add_flag(json, "first", wish->first);
    add_flag(json, "stop_all", wish->stop_all);
    if (break_scope(json, wish, err) != 0 || add_number(json, "hit", wish->hit, 1, err) != 0 ||
        add_number(json, "skip", wish->skip, 1, err) != 0)
        return -1;
    buf_add_string(json, "}");
    return 0;
}

int break_set(struct loop *loop, const struct relay_address *relay, const struct break_wish *wish,
              const char *where, int64_t *id, struct err *err)
{
    struct buf json = {0}, body = {0};
    struct scan scan;
    struct span object;
    int rc = render(&json, wish, where, err);
    if (rc == 0)
        rc = relay_ask(loop, relay, "POST", "/v1/breakpoints", json.data, &body, err);
    scan_init(&scan, body.data ? body.data : "", body.len);
    if (rc == 0 && (!scan_value(&scan, &object) || !scan_integer_at(body.data, object, "id", id)))
        rc = err_set(err, ERR_FAILED, "the relay's answer has no breakpoint in it");
    buf_free(&json);
    buf_free(&body);
    return rc;
}

int break_clear(struct loop *loop, const struct relay_address *relay, int64_t id, struct err *err)
{
    struct buf body = {0};
    char *path = mem_format("/v1/breakpoints/%" PRId64 "/clear", id);
    int rc = relay_ask(loop, relay, "POST", path, NULL, &body, err);
    free(path);
    buf_free(&body);
    return rc;
}

struct clearing {
    const char *const *places;
    struct buf stay;
    struct err err; /* of the first that stays */
};

static void on_cleared(void *arg, size_t index, const struct buf *body, const struct err *err)
{
    struct clearing *clearing = arg;
    if (body || err->code == ERR_NOT_FOUND)
        return;
    if (!clearing->stay.len)
        clearing->err = *err;
    buf_printf(&clearing->stay, "%s%s", clearing->stay.len ? ", " : "", clearing->places[index]);
}

void break_clear_all(struct loop *loop, const struct relay_address *relay, const int64_t *ids,
                     const char *const *places, size_t count)
{
    struct clearing clearing = {.places = places};
    char **paths = mem_array(count + 1, sizeof *paths);
    for (size_t i = 0; i < count; i++)
        paths[i] = mem_format("/v1/breakpoints/%" PRId64 "/clear", ids[i]);
    relay_ask_each_within(loop, relay, paths, count, CLEAR_MS, on_cleared, &clearing);
    if (clearing.stay.len) {
        struct err err;
        err_set(&err, ERR_FAILED, "breakpoints may stay: %s", clearing.stay.data);
        err_why(&err, "%s", clearing.err.what);
        err_hint(&err, "raydbg break --list shows them, raydbg break --clear removes them");
        command_fail(&err);
    }
    for (size_t i = 0; i < count; i++)
        free(paths[i]);
    free(paths);
    buf_free(&clearing.stay);
}

bool break_say_price(const char *json, struct span all)
{
    int64_t slowed = 0;
    if (!scan_integer_at(json, all, "processes/slowed", &slowed) || slowed <= 0)
        return false;
    fprintf(stderr,
            "raydbg: calls take some 10 times longer in %" PRId64 " process%s with a Python before "
            "3.12, while there is a breakpoint for %s\n",
            slowed, slowed == 1 ? "" : "es", slowed == 1 ? "it" : "them");
    return true;
}

bool break_say_away(const char *json, struct span all)
{
    static const char way_round[] =
        "they can if it is started by raydbg relay --listen 0.0.0.0:4713 --tls-cert F --tls-key F "
        "(docs/run.md, Other nodes)";
    int64_t count = 0;
    char *first = scan_string_at(json, all, "processes/node_away");
    bool any = scan_integer_at(json, all, "processes/nodes_away", &count) && count > 0 && first;
    char *clean = any ? text_printable(first, strlen(first), "") : NULL;
    if (any && count == 1)
        fprintf(stderr, "raydbg: nothing stops on node %s: its workers cannot dial the relay; %s\n",
                clean, way_round);
    else if (any)
        fprintf(stderr,
                "raydbg: nothing stops on %" PRId64
                " other nodes (%s, ...): their workers cannot dial the relay; %s\n",
                count, clean, way_round);
    free(clean);
    free(first);
    return any;
}
