#include "cli/why/why_ask.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/command_usage.h"
#include "cli/common/relay_ask.h"
#include "cli/common/relay_options.h"
#include "cli/common/terminal.h"
#include "cli/pauses/relay_pauses.h"
#include "relay/cluster/cluster.h"

#include <stdio.h>
#include <stdlib.h>

struct query {
    why_ask_fn fn;
    void *arg;
    const char *cluster;
    struct buf out;
    struct err err;
    bool done;
};

static void on_evidence(void *arg, const struct err *err, const struct why_records *records,
                        const struct why_subject *subject)
{
    struct query *query = arg;
    query->done = true;
    if (err)
        query->err = *err;
    else
        query->fn(query->arg, query->cluster, records, subject, &query->out);
}

static int take_look(struct query *query, struct loop *loop, struct cluster *cluster,
                     const struct evidence_query *wanted)
{
    char *note = mem_format("asking %s ...", query->cluster);
    struct evidence *evidence = evidence_ask(cluster, wanted, on_evidence, query, &query->err);
    if (evidence) {
        struct progress *progress = progress_start(note);
        loop_run_until(loop, &query->done, -1);
        progress_stop(&progress);
    }
    evidence_free(&evidence);
    free(note);
    if (query->err.code)
        return command_fail(&query->err);
    if (query->out.len)
        fwrite(query->out.data, 1, query->out.len, stdout);
    return ERR_NONE;
}

/* The pauses of a relay that runs here for this cluster: it knows who is attached. False if there
 * is none, or if it does not answer. */
static bool ask_relay(const char *address, struct relay_page *further, struct relay_pauses *pauses,
                      char **relay)
{
    struct relay_page pages[2] = {{.path = "/v1/pauses"}};
    struct err err;
    if (further)
        pages[1].path = further->path;
    bool answered = relay_ask_here(address, pages, further ? 2 : 1, relay) &&
                    relay_pauses_parse(pauses, pages[0].body.data, pages[0].body.len, &err) == 0;
    if (further)
        further->body = pages[1].body;
    buf_free(&pages[0].body);
    return answered;
}

static int ask_cluster(const struct relay_choice *choice, const struct evidence_query *wanted,
                       why_ask_fn fn, void *arg)
{
    struct err err;
    struct cluster *cluster = cluster_create(choice->loop, &choice->cluster, &err);
    struct query query = {.fn = fn, .arg = arg, .cluster = choice->cluster.text};
    int code = cluster ? take_look(&query, choice->loop, cluster, wanted) : command_fail(&err);
    buf_free(&query.out);
    cluster_destroy(&cluster);
    return code;
}

int why_ask(const char *address, const struct evidence_query *wanted, struct relay_page *further,
            why_ask_fn fn, void *arg)
{
    const struct relay_wish no_relay = {0};
    struct relay_choice choice;
    struct relay_pauses pauses;
    struct evidence_query asked = *wanted;
    char *relay = NULL;
    struct err err;
    int code;
    bool has_relay = ask_relay(address, further, &pauses, &relay);
    if (relay_choose(&choice, &no_relay, address, true, &err) != 0) {
        code = command_fail(&err);
    } else {
        bool is_its = has_relay && text_equal(pauses.cluster, choice.cluster.text);
        asked.pauses = is_its ? &pauses.pauses : NULL;
        asked.relay = relay;
        code = ask_cluster(&choice, &asked, fn, arg);
    }
    relay_choice_clear(&choice);
    if (has_relay)
        relay_pauses_clear(&pauses);
    free(relay);
    return code;
}
