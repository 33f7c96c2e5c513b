#include "cli/doctor/doctor_relay.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/pauses/relay_pauses.h"
#include "relay/locate/relay_call.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWER_MS = 1500 };

struct doctor_visit {
    struct doctor_queries *queries;
    const struct relay_address *address;
    int64_t asked_us;
    struct relay_call *health, *list, *metrics;
};

/* --- reading --- */

bool doctor_relay_read_metrics(struct doctor_relay *relay, const char *text)
{
    static const char build[] = "raydbg_build_info{version=\"", keeper[] = "\nraydbg_keeper_up ";
    const char *version = strstr(text, build), *up = strstr(text, keeper);
    if (!version)
        return false;
    version += sizeof build - 1;
    size_t len = strcspn(version, "\"\n");
    if (len < sizeof relay->version) {
        memcpy(relay->version, version, len);
        relay->version[len] = '\0';
    }
    relay->keeper = up ? up[sizeof keeper - 1] != '0' : -1;
    return true;
}

bool doctor_relay_read_list(struct doctor_relay *relay, const char *json, size_t len,
                            struct err *err)
{
    struct relay_pauses list;
    if (relay_pauses_parse(&list, json, len, err) != 0)
        return false;
    free(relay->cluster);
    relay->cluster = text_empty(list.cluster) ? NULL : mem_string(list.cluster);
    relay->nodes_alive = list.facts.nodes_alive;
    relay->pauses = list.pauses.count;
    relay->held = 0;
    for (size_t i = 0; i < list.pauses.count; i++)
        relay->held += list.pauses.items[i].state == PAUSE_HELD;
    relay_pauses_clear(&list);
    return true;
}

/* --- asking --- */

static struct doctor_relay *facts_of(const struct doctor_visit *visit)
{
    return &visit->queries->facts->relay;
}

static void on_health(void *arg, const struct http_reply *reply)
{
    struct doctor_visit *visit = arg;
    struct err err;
    visit->health = NULL;
    facts_of(visit)->took_us = loop_now_us() - visit->asked_us;
    bool good = relay_address_reply(visit->address, reply, &err) == 0;
    doctor_answer_note(&facts_of(visit)->health, good ? NULL : &err);
    doctor_queries_end(visit->queries);
}

static void on_list(void *arg, const struct http_reply *reply)
{
    struct doctor_visit *visit = arg;
    struct doctor_relay *facts = facts_of(visit);
    struct err err;
    visit->list = NULL;
    bool good = relay_address_reply(visit->address, reply, &err) == 0 &&
                doctor_relay_read_list(facts, reply->body, reply->len, &err);
    facts->denied =
        reply->result == HTTP_UNTRUSTED || (reply->result == HTTP_ANSWERED && reply->status == 401);
    doctor_answer_note(&facts->list, good ? NULL : &err);
    doctor_queries_end(visit->queries);
}

static void on_metrics(void *arg, const struct http_reply *reply)
{
    struct doctor_visit *visit = arg;
    struct doctor_relay *facts = facts_of(visit);
    struct err err;
    visit->metrics = NULL;
    bool good = relay_address_reply(visit->address, reply, &err) == 0;
    if (good && !doctor_relay_read_metrics(facts, reply->body)) {
        good = false;
        err_set(&err, ERR_FAILED, "the relay's metrics could not be read");
    }
    doctor_answer_note(&facts->metrics, good ? NULL : &err);
    doctor_queries_end(visit->queries);
}

struct doctor_visit *doctor_visit_start(struct doctor_queries *queries,
                                        const struct relay_address *relay)
{
    struct doctor_visit *visit = mem_alloc(sizeof *visit);
    *visit = (struct doctor_visit){.queries = queries, .address = relay, .asked_us = loop_now_us()};
    facts_of(visit)->where = relay_address_short(relay);
    facts_of(visit)->token = relay->token != NULL;
    for (int i = 0; i < 3; i++)
        doctor_queries_begin(queries);
    struct relay_address bare = *relay; /* /healthz answers a client without a token, too */
    bare.token = NULL;
    visit->health =
        relay_call(&bare, queries->loop, "GET", "/healthz", NULL, ANSWER_MS, on_health, visit);
    visit->list =
        relay_call(relay, queries->loop, "GET", "/v1/pauses", NULL, ANSWER_MS, on_list, visit);
    visit->metrics =
        relay_call(relay, queries->loop, "GET", "/metrics", NULL, ANSWER_MS, on_metrics, visit);
    return visit;
}

void doctor_visit_stop(struct doctor_visit **visit)
{
    struct doctor_visit *it = *visit;
    if (!it)
        return;
    *visit = NULL;
    relay_call_cancel(&it->health);
    relay_call_cancel(&it->list);
    relay_call_cancel(&it->metrics);
    free(it);
}
