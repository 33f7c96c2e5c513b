#include "cli/doctor/doctor_ask.h"

#include "base/text.h"
#include "cli/doctor/doctor_cluster.h"
#include "cli/doctor/doctor_host.h"
#include "cli/doctor/doctor_ports.h"
#include "cli/doctor/doctor_relay.h"
#include "relay/access/auth.h"

#include <stdlib.h>

/* Limit for the cluster to name its relays, so that there is time left to ask one. */
enum { NAMES_MS = 1000 };

/* --- queries --- */

void doctor_facts_clear(struct doctor_facts *facts)
{
    doctor_ports_clear(&facts->cluster.raylets);
    doctor_ports_clear(&facts->cluster.debuggers);
    free(facts->cluster.ahead_ip);
    free(facts->relay.where);
    free(facts->relay.cluster);
    free(facts->here.ray_debug);
    free(facts->here.post_mortem);
    free(facts->here.debugpy.packages);
    free(facts->here.debugpy.version);
    free(facts->here.program);
    free(facts->here.namesake);
    free(facts->here.dead_registration);
    for (size_t i = 0; i < facts->here.extension_count; i++)
        free(facts->here.extensions[i]);
    free(facts->here.extensions);
    *facts = (struct doctor_facts){0};
}

/* --- one examination --- */

struct examination {
    struct doctor_queries queries;
    const struct relay_wish *wish;
    struct relay_address relay; /* if facts->relay.found */
    char *token;                /* the token for a relay, or NULL */
    struct doctor_query *query;
    struct doctor_visit *visit;
    int64_t until_us;
};

static void run_until(struct examination *exam, const bool *done, int64_t most_ms)
{
    int64_t left_ms = (exam->until_us - loop_now_us()) / 1000;
    if (left_ms > 0)
        loop_run_until(exam->queries.loop, done, left_ms < most_ms ? left_ms : most_ms);
}

/* True if the user named the cluster: only then does it select among relays of several clusters. */
static bool on_purpose(const struct cluster_address *address)
{
    return text_equal(address->source, "--address") || text_equal(address->source, "RAY_ADDRESS") ||
           text_equal(address->source, "RAY_API_SERVER_ADDRESS");
}

static void find_relay_here(struct examination *exam)
{
    struct doctor_relay *facts = &exam->queries.facts->relay;
    const struct doctor_cluster *cluster = &exam->queries.facts->cluster;
    bool named = !cluster->lookup.err.code && on_purpose(&cluster->address);
    struct err err;
    facts->wanted = exam->wish->wanted;
    facts->keeper = -1;
    if (relay_find_here(&exam->relay, &facts->found, exam->wish,
                        named ? cluster->address.text : NULL, &err) != 0) {
        facts->found = RELAY_NONE;
        doctor_answer_note(&facts->use, &err);
    } else if (facts->found != RELAY_NONE) {
        exam->visit = doctor_visit_start(&exam->queries, &exam->relay);
    }
}

/* Other answers continue to arrive meanwhile. */
static void find_relay_in_cluster(struct examination *exam)
{
    struct doctor_facts *facts = exam->queries.facts;
    if (exam->visit || !exam->query || !facts->relay.wanted || facts->relay.use.err.code)
        return;
    run_until(exam, doctor_query_relays_known(exam->query), NAMES_MS);
    if (!facts->cluster.relays_fresh || !relay_find_in_cluster(&exam->relay, exam->queries.loop,
                                                               exam->wish, &facts->cluster.address))
        return;
    facts->relay.found = RELAY_FOUND;
    facts->relay.in_cluster = true;
    exam->visit = doctor_visit_start(&exam->queries, &exam->relay);
}

static void examine(struct examination *exam)
{
    struct doctor_facts *facts = exam->queries.facts;
    struct err err;
    exam->until_us = loop_now_us() + (int64_t)DOCTOR_MS * 1000;
    find_relay_here(exam);
    if (auth_client_token(exam->wish->token_file, &exam->token, &err) != 0)
        exam->token = NULL; /* find_relay_here() has noted it, if it matters */
    if (!facts->cluster.lookup.err.code)
        exam->query = doctor_query_start(&exam->queries, exam->token);
    find_relay_in_cluster(exam);
    if (exam->queries.waiting)
        run_until(exam, &exam->queries.done, DOCTOR_MS);
}

int doctor_ask(struct doctor_facts *facts, const char *given, const struct relay_wish *wish,
               struct err *err)
{
    struct examination exam = {.queries.facts = facts, .wish = wish};
    struct err problem;
    bool found = cluster_address_find(&facts->cluster.address, given, &problem) == 0;
    doctor_answer_note(&facts->cluster.lookup, found ? NULL : &problem);
    doctor_host_look(&facts->here);
    exam.queries.loop = loop_create(true, err);
    if (!exam.queries.loop)
        return -1;
    examine(&exam);
    doctor_visit_stop(&exam.visit);
    doctor_query_stop(&exam.query);
    relay_address_clear(&exam.relay);
    free(exam.token);
    loop_destroy(&exam.queries.loop);
    return 0;
}
