/* Judges the relay, and this machine. */
#include "cli/doctor/doctor_judge_parts.h"

#include "base/buf.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void no_relay(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_relay *relay = &facts->relay;
    const struct doctor_cluster *cluster = &facts->cluster;
    if (!relay->wanted) {
        err_set(doctor_report_add(report, "relay", DOCTOR_OK), ERR_NONE, "not asked: --no-relay");
    } else if (cluster->relays_strange) {
        struct err *words = doctor_report_add(report, "relay", DOCTOR_WARNING);
        err_set(words, ERR_NONE,
                "the cluster names a relay that does not know this machine's "
                "token: it is not used");
        err_hint(words, "give its token with RAYDBG_TOKEN or --relay-token-file; it is in "
                        "~/.local/state/raydbg/token where the relay runs");
    } else if (cluster->relays_fresh) {
        struct err *words = doctor_report_add(report, "relay", DOCTOR_WARNING);
        err_set(words, ERR_NONE, "the cluster names a relay that cannot be used from here");
        err_why(words, "it listens for its own machine only, or without TLS");
        err_hint(words, "start it with --listen, --tls-cert and --tls-key (docs/relay.md)");
    } else {
        struct err *words = doctor_report_add(report, "relay", DOCTOR_OK);
        err_set(words, ERR_NONE, "none runs");
        err_hint(words, "with one (raydbg relay, on the head node) a task stays stopped when its "
                        "client leaves");
    }
}

static const char *how_found(const struct doctor_relay *relay)
{
    if (relay->found == RELAY_GIVEN)
        return "given";
    return relay->in_cluster ? "named by the cluster" : "running here";
}

static void judge_health(const struct doctor_relay *relay, struct doctor_report *report)
{
    const struct doctor_answer *health = &relay->health;
    if (health->answered && !health->err.code) {
        err_set(doctor_report_add(report, "relay", DOCTOR_OK), ERR_NONE,
                "%s (%s) answers in %" PRId64 ".%" PRId64 " ms", relay->where, how_found(relay),
                relay->took_us / 1000, relay->took_us / 100 % 10);
        return;
    }
    struct err *words = doctor_report_add(report, "relay", DOCTOR_PROBLEM);
    if (health->answered)
        *words = health->err;
    else
        err_set(words, ERR_UNREACHABLE, "the relay %s (%s) does not answer in time", relay->where,
                how_found(relay));
    if (!words->hint[0])
        err_hint(words, "raydbg relay starts one, --no-relay goes without");
}

static void judge_token(const struct doctor_relay *relay, struct doctor_report *report)
{
    if (relay->denied) {
        struct err *words = doctor_report_add(report, "relay-token", DOCTOR_PROBLEM);
        err_set(words, ERR_DENIED,
                relay->token ? "the relay does not accept this machine's token"
                             : "the relay wants a token, and there is none here");
        err_hint(words, "give it with RAYDBG_TOKEN or --relay-token-file; it is in "
                        "~/.local/state/raydbg/token where the relay runs");
        return;
    }
    if (!relay->list.answered || relay->list.err.code)
        return;
    err_set(doctor_report_add(report, "relay-token", DOCTOR_OK), ERR_NONE,
            relay->token ? "the relay accepts it" : "the relay wants none");
}

static void judge_list(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_relay *relay = &facts->relay;
    if (relay->denied)
        return;
    if (!relay->list.answered || relay->list.err.code) {
        struct err *words = doctor_report_add(report, "relay-pauses", DOCTOR_PROBLEM);
        if (relay->list.answered)
            *words = relay->list.err;
        else
            err_set(words, ERR_UNREACHABLE, "the relay does not say in time what is paused");
        if (!words->hint[0])
            err_hint(words, "does the relay reach the cluster? its stderr tells");
        return;
    }
    const char *ours = facts->cluster.lookup.err.code ? NULL : facts->cluster.address.text;
    bool other = ours && relay->cluster && !text_equal(ours, relay->cluster);
    struct err *words =
        doctor_report_add(report, "relay-pauses", other ? DOCTOR_WARNING : DOCTOR_OK);
    err_set(words, ERR_NONE, "it sees %zu pause%s and holds %zu", relay->pauses,
            relay->pauses == 1 ? "" : "s", relay->held);
    if (other) {
        err_why(words, "it calls its cluster %.200s, not %.200s", relay->cluster, ours);
        err_hint(words, "if that is another cluster, say which relay with --relay");
    }
}

static void judge_metrics(const struct doctor_relay *relay, struct doctor_report *report)
{
    if (relay->version[0]) {
        bool same = text_equal(relay->version, RAYDBG_VERSION);
        struct err *words =
            doctor_report_add(report, "relay-version", same ? DOCTOR_OK : DOCTOR_WARNING);
        err_set(words, ERR_NONE, "raydbg %s", relay->version);
        if (!same) {
            err_why(words, "this raydbg is " RAYDBG_VERSION);
            err_hint(words, "install one version; raydbg relay --upgrade keeps what is held");
        }
    }
    if (relay->keeper == 1) {
        err_set(doctor_report_add(report, "keeper", DOCTOR_OK), ERR_NONE,
                "lives: pauses outlive the relay");
    } else if (relay->keeper == 0) {
        struct err *words = doctor_report_add(report, "keeper", DOCTOR_WARNING);
        err_set(words, ERR_NONE, "none: what is held ends with the relay");
        err_hint(words, "a relay with --hold never has none; else its log says why none can be "
                        "started: it tries again every 10 s");
    }
}

void doctor_judge_relay(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_relay *relay = &facts->relay;
    if (relay->use.err.code) {
        *doctor_report_add(report, "relay", DOCTOR_PROBLEM) = relay->use.err;
        return;
    }
    if (relay->found == RELAY_NONE) {
        no_relay(facts, report);
        return;
    }
    judge_health(relay, report);
    if (!relay->health.answered || relay->health.err.code)
        return;
    judge_token(relay, report);
    judge_list(facts, report);
    judge_metrics(relay, report);
}

/* --- this machine --- */

static void judge_leftovers(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_here *here = &facts->here;
    if (here->keepers > here->live_registrations) {
        struct err *words = doctor_report_add(report, "leftovers", DOCTOR_WARNING);
        err_set(words, ERR_NONE,
                "a keeper here has no relay: it may hold pauses of a relay that "
                "died");
        err_hint(words, "raydbg relay, with the options of the old one, takes them over");
    } else if (here->dead_registrations) {
        struct err *words = doctor_report_add(report, "leftovers", DOCTOR_WARNING);
        err_set(words, ERR_NONE, "%s is of a relay that died", here->dead_registration);
        err_hint(words, "harmless; the next raydbg relay replaces it");
    } else if (facts->cluster.relays_stale) {
        struct err *words = doctor_report_add(report, "leftovers", DOCTOR_WARNING);
        err_set(words, ERR_NONE, "the cluster names %zu relay%s that died",
                facts->cluster.relays_stale, facts->cluster.relays_stale == 1 ? "" : "s");
        err_hint(words, "harmless; the next raydbg relay clears that");
    }
}

static void judge_command(const struct doctor_here *here, struct doctor_report *report)
{
    if (!here->namesake)
        return;
    const char *slash = strrchr(here->program, '/');
    struct err *words = doctor_report_add(report, "command", DOCTOR_WARNING);
    err_set(words, ERR_NONE, "raydbg on PATH is another program: %s", here->namesake);
    err_why(words, "it is of PyPI's package raydbg; this one, of raydbg-bridge, is %s",
            here->program);
    err_hint(words,
             "put %.*s before it on PATH; or pip uninstall raydbg, and if both were in one "
             "environment pip install --force-reinstall raydbg-bridge",
             slash ? (int)(slash - here->program) : 0, here->program);
}

static void judge_programs(const struct doctor_here *here, struct doctor_report *report)
{
    struct buf text = {0};
    err_set(doctor_report_add(report, "raydbg", DOCTOR_OK), ERR_NONE, "%s", RAYDBG_VERSION);
    if (here->extension_count == 0)
        return;
    for (size_t i = 0; i < here->extension_count; i++)
        buf_printf(&text, "%s%s", i ? ", " : "", here->extensions[i]);
    struct err *words = doctor_report_add(report, "extension",
                                          here->extension_differs ? DOCTOR_WARNING : DOCTOR_OK);
    err_set(words, ERR_NONE, "%s", text.data);
    if (here->extension_differs)
        err_hint(words, "this raydbg is " RAYDBG_VERSION ": install the same version of both");
    buf_free(&text);
}

void doctor_judge_here(const struct doctor_facts *facts, struct doctor_report *report)
{
    judge_leftovers(facts, report);
    judge_command(&facts->here, report);
    judge_programs(&facts->here, report);
}
