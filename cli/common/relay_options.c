#include "cli/common/relay_options.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

enum { ANSWER_MS = 5000 };

static int need_loop(struct relay_choice *choice, struct err *err)
{
    bool tls = choice->found != RELAY_NONE ? choice->relay.tls
                                           : text_starts(choice->cluster.text, "https:");
    loop_destroy(&choice->loop);
    choice->loop = loop_create(tls, err);
    return choice->loop ? 0 : -1;
}

/* Sets `cluster` only if the user named it: otherwise a relay of any cluster will do. */
static int know_wanted(struct relay_choice *choice, const char *given, struct err *err)
{
    if (!given && text_empty(getenv("RAY_ADDRESS")) && text_empty(getenv("RAY_API_SERVER_ADDRESS")))
        return 0;
    if (cluster_address_find(&choice->cluster, given, err) != 0)
        return -1;
    choice->has_cluster = true;
    return 0;
}

/* Returns false, with a note, if the relay does not answer or is not trusted. */
static bool still_there(struct relay_choice *choice)
{
    struct err err;
    if (relay_answers(&choice->relay, choice->loop, ANSWER_MS, &err) == 0)
        return true;
    char *where = relay_address_short(&choice->relay);
    if (!choice->quiet && err.code == ERR_DENIED)
        fprintf(stderr, "raydbg: %s: going on without it\n  %s\n", err.what, err.why);
    else if (!choice->quiet)
        fprintf(stderr, "raydbg: the relay %s does not answer: going on without it\n", where);
    free(where);
    relay_address_clear(&choice->relay);
    choice->found = RELAY_NONE;
    return false;
}

static int choose_in_cluster(struct relay_choice *choice, const struct relay_wish *wish,
                             const char *given, bool needs_cluster, struct err *err)
{
    if (!choice->has_cluster) {
        choice->has_cluster = cluster_address_find(&choice->cluster, given, err) == 0;
        if (!choice->has_cluster && needs_cluster)
            return -1;
    }
    if (need_loop(choice, err) != 0)
        return -1;
    if (!wish->wanted || !choice->has_cluster ||
        !relay_find_in_cluster(&choice->relay, choice->loop, wish, &choice->cluster))
        return 0;
    choice->found = RELAY_FOUND;
    if (need_loop(choice, err) != 0)
        return -1;
    return still_there(choice) ? 0 : need_loop(choice, err);
}

static int choose(struct relay_choice *out, const struct relay_wish *wish, const char *given,
                  bool needs_cluster, struct err *err)
{
    bool is_judged = given || (needs_cluster && !relay_find_given(wish));
    if (know_wanted(out, given, err) != 0 && is_judged)
        return -1;
    if (relay_find_here(&out->relay, &out->found, wish, out->has_cluster ? out->cluster.text : NULL,
                        err) != 0)
        return -1;
    if (out->found != RELAY_NONE) {
        if (need_loop(out, err) != 0)
            return -1;
        if (out->found == RELAY_GIVEN || still_there(out))
            return 0;
    }
    return choose_in_cluster(out, wish, given, needs_cluster, err);
}

int relay_choose(struct relay_choice *out, const struct relay_wish *wish, const char *given,
                 bool needs_cluster, struct err *err)
{
    *out = (struct relay_choice){0};
    return choose(out, wish, given, needs_cluster, err);
}

bool relay_choose_quietly(struct relay_choice *out, const struct relay_wish *wish,
                          const char *given)
{
    struct err err;
    *out = (struct relay_choice){.quiet = true};
    return choose(out, wish, given, false, &err) == 0 && out->found != RELAY_NONE;
}

bool relay_is_here(const struct relay_wish *wish, const char *given)
{
    struct relay_choice choice = {0};
    struct err err;
    bool is_here = (relay_find_given(wish) || know_wanted(&choice, given, &err) == 0) &&
                   relay_find_here(&choice.relay, &choice.found, wish,
                                   choice.has_cluster ? choice.cluster.text : NULL, &err) == 0 &&
                   choice.found != RELAY_NONE;
    relay_choice_clear(&choice);
    return is_here;
}

void relay_choice_clear(struct relay_choice *choice)
{
    relay_address_clear(&choice->relay);
    loop_destroy(&choice->loop);
}
