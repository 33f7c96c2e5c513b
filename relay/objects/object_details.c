#include "relay/objects/object_details.h"

#include "base/mem.h"
#include "base/ray_path.h"
#include "base/text.h"
#include "proto/job_id.h"
#include "relay/objects/object_origin.h"
#include "relay/pause/pause.h"

#include <stdlib.h>
#include <string.h>

/* Bytes. An object up to this size Ray may keep in its owner's memory, and in no store. */
enum { INLINED_MAX = 100 * 1024 };

static bool is_finished(const struct object_facts *facts)
{
    return facts->ref->status == RAY_TASK_FINISHED || facts->ref->status == RAY_TASK_FAILED;
}

static int64_t size_of(const struct object_facts *facts)
{
    if (facts->ref && facts->ref->size >= 0)
        return facts->ref->size;
    if (facts->location && facts->location->known && !facts->location->pending)
        return facts->location->size;
    return -1;
}

static bool is_handle(const struct object_facts *facts)
{
    return object_origin_is_handle(facts->id);
}

/* --- its state --- */

/* The state by the location that the owner reports. */
static enum object_state located_state(const struct object_facts *facts, const char **status)
{
    const struct ray_object_location *at = facts->location;
    if (at->pending) {
        bool again = facts->ref && facts->mine && is_finished(facts);
        bool runs = facts->task && facts->task->running_ms;
        *status = again ? "RECONSTRUCTING" : runs ? "RUNNING" : "NOT_RUNNING";
        return OBJECT_STATE_PENDING;
    }
    if (at->node_count)
        return OBJECT_STATE_READY;
    if (!text_empty(at->spilled_url))
        return OBJECT_STATE_SPILLED;
    if (size_of(facts) > INLINED_MAX) {
        *status = "no copy left";
        return OBJECT_STATE_LOST;
    }
    return OBJECT_STATE_READY;
}

static enum object_state state_of(const struct object_facts *facts, const char **status)
{
    *status = "";
    if (is_handle(facts))
        /* An actor handle never becomes an object, and is not lost either. */
        return OBJECT_STATE_UNKNOWN;
    if (facts->owner == OBJECT_OWNER_DEAD || facts->owner == OBJECT_OWNER_NODE_DEAD) {
        *status = facts->owner == OBJECT_OWNER_DEAD ? "owner died" : "owner's node died";
        return OBJECT_STATE_LOST;
    }
    /* The worker's answer may be a little older than the owner's report of the location. */
    bool stored = facts->location && facts->location->known && facts->location->node_count;
    if (facts->mine && facts->ref && !is_finished(facts) && !stored) {
        *status = ray_task_status_name(facts->ref->status);
        return OBJECT_STATE_PENDING;
    }
    if (facts->location && facts->location->known)
        return located_state(facts, status);
    return facts->mine || size_of(facts) >= 0 ? OBJECT_STATE_READY : OBJECT_STATE_UNKNOWN;
}

bool object_facts_note(const struct object_facts *facts, struct object_note *out)
{
    bool owned = facts->owner != OBJECT_OWNER_UNKNOWN && facts->owner_pid;
    out->state = state_of(facts, &out->status);
    out->size = size_of(facts);
    out->owner_pid = owned ? facts->owner_pid : 0;
    out->owner_node = owned ? facts->owner_node : NULL;
    return out->state != OBJECT_STATE_UNKNOWN;
}

/* --- where it was made --- */

struct frames {
    const char *at[32];
    size_t len[32];
    size_t count;
};

static void trim(const char **at, size_t *len)
{
    while (*len && **at == ' ') {
        ++*at;
        --*len;
    }
    while (*len && (*at)[*len - 1] == ' ')
        --*len;
}

/* Splits all of the text into frames; past the room the rest is one frame. */
static void split(const char *text, struct frames *out)
{
    enum { ROOM = sizeof out->at / sizeof *out->at };
    while (*text) {
        size_t len = out->count + 1 < ROOM ? strcspn(text, "|") : strlen(text);
        const char *at = text;
        text += len + (text[len] == '|');
        trim(&at, &len);
        if (len) {
            out->at[out->count] = at;
            out->len[out->count++] = len;
        }
    }
}

static void add_frame(struct buf *out, const char *frame, size_t len)
{
    if (out->len)
        buf_add_string(out, " | ");
    buf_add(out, frame, len);
}

char *object_call_site(const char *call_site)
{
    struct frames frames = {0};
    struct buf out = {0};
    size_t prefix = *call_site == '(' ? strcspn(call_site, ")") + 1 : 0;
    if (prefix > strlen(call_site))
        prefix = 0;
    split(call_site + prefix, &frames);
    size_t own = 0;
    while (own < frames.count && ray_path_is(frames.at[own], frames.len[own]))
        own++;
    if (own < frames.count)
        add_frame(&out, frames.at[own], frames.len[own]);
    for (size_t i = 0; i < frames.count; i++)
        if (i != own)
            add_frame(&out, frames.at[i], frames.len[i]);
    if (prefix && out.len)
        buf_add_string(&out, " ");
    buf_add(&out, call_site, prefix);
    buf_add(&out, "", 0);
    return buf_take(&out);
}

/* --- the rows --- */

static const char no_bytes[] = "none: it is an actor's handle";

static char *unknown(const char *why)
{
    return mem_format("unknown: %s", text_empty(why) ? "Ray does not say" : why);
}

static char *describe_size(const struct object_facts *facts, const struct annotate_options *options)
{
    struct buf out = {0};
    const char *status;
    int64_t size = size_of(facts);
    if (is_handle(facts))
        return mem_string(no_bytes);
    if (size < 0 && state_of(facts, &status) == OBJECT_STATE_PENDING)
        return unknown("it is not made yet");
    if (size < 0)
        return unknown(facts->ref ? facts->location_why : facts->ref_why);
    annotate_size(size, options ? options->unit : ANNOTATE_AUTO, &out);
    buf_printf(&out, " (%lld bytes)", (long long)size);
    return buf_take(&out);
}

/* The row "nodes", or else "copies", of an object without a copy in any store. */
static char *no_copies(const struct object_facts *facts, bool nodes)
{
    const char *status;
    if (is_handle(facts))
        return mem_string(no_bytes);
    switch (state_of(facts, &status)) {
    case OBJECT_STATE_PENDING:
        return mem_format("none yet: %s", status);
    case OBJECT_STATE_LOST:
        return mem_format("none: %s", status);
    case OBJECT_STATE_SPILLED:
        return mem_string("none: it is spilled");
    default:
        break;
    }
    if (!facts->location || !facts->location->known)
        return unknown(facts->location_why);
    if (!nodes)
        return mem_string("1, in its owner's memory");
    return mem_format("%s (in its owner's memory)", facts->owner_node ? facts->owner_node : "?");
}

static char *describe_nodes(const struct object_facts *facts)
{
    struct buf out = {0};
    if (!facts->location || !facts->location->node_count)
        return no_copies(facts, true);
    for (size_t i = 0; i < facts->location->node_count; i++)
        buf_printf(&out, "%s%s", i ? ", " : "",
                   facts->node_name(facts->arg, facts->location->node_ids[i]));
    return buf_take(&out);
}

static char *describe_copies(const struct object_facts *facts)
{
    if (!facts->location || !facts->location->node_count)
        return no_copies(facts, false);
    return mem_format("%zu", facts->location->node_count);
}

static char *describe_owner(const struct object_facts *facts)
{
    static const char *const ends[] = {
        [OBJECT_OWNER_DEAD] = " (it died)",
        [OBJECT_OWNER_NODE_DEAD] = " (its node died)",
    };
    if (facts->owner == OBJECT_OWNER_UNKNOWN || !facts->owner_pid)
        return unknown(facts->owner_why);
    const char *end = facts->mine                          ? " (this worker)"
                      : facts->owner != OBJECT_OWNER_ALIVE ? ends[facts->owner]
                      : facts->owner_is_driver             ? " (driver)"
                                                           : "";
    return mem_format("pid %lld@%s%s", (long long)facts->owner_pid, facts->owner_node, end);
}

static char *describe_call_site(const struct object_facts *facts)
{
    if (!facts->ref)
        return unknown(facts->ref_why);
    if (text_empty(facts->ref->call_site))
        return unknown("Ray records none (start it with RAY_record_ref_creation_sites=1)");
    if (text_equal(facts->ref->call_site, "<unknown>"))
        return unknown("Ray says none for what came within another object");
    char *site = object_call_site(facts->ref->call_site);
    char *shown = text_printable(site, strlen(site), "");
    free(site);
    return shown;
}

static char *describe_reference(const struct object_facts *facts)
{
    char hex[ID_TEXT(ID_OBJECT_BYTES)];
    object_id_hex(facts->id, hex);
    return mem_format("ObjectRef(%s)", hex);
}

static void add_kind(struct buf *out, const char *format, int64_t count, const char *plural)
{
    if (count <= 0)
        return;
    if (out->len)
        buf_add_string(out, ", ");
    buf_printf(out, "%s", format);
    if (plural && count > 1)
        buf_printf(out, "%s", plural);
    if (plural)
        buf_printf(out, " (%lld)", (long long)count);
}

static char *describe_kinds(const struct object_facts *facts)
{
    struct buf out = {0};
    const struct ray_object_ref *ref = facts->ref;
    if (!ref)
        return unknown(facts->ref_why);
    add_kind(&out, "actor handle", is_handle(facts), NULL);
    add_kind(&out, "local", ref->local, "");
    add_kind(&out, "pinned in memory", ref->pinned, NULL);
    add_kind(&out, "used by pending task", ref->submitted, "s");
    add_kind(&out, "captured in object", ref->contained_in, "s");
    if (!out.len)
        buf_add_string(&out, "none: nothing in this worker holds it");
    return buf_take(&out);
}

static char *describe_spilled(const struct object_facts *facts)
{
    const struct ray_object_location *at = facts->location;
    const char *status;
    if (is_handle(facts))
        return mem_string(no_bytes);
    if (state_of(facts, &status) == OBJECT_STATE_PENDING)
        return mem_string("no: it is not made yet");
    if (!at || !at->known)
        return unknown(facts->location_why);
    if (!text_empty(at->spilled_url)) {
        char *url = text_printable(at->spilled_url, strlen(at->spilled_url), "");
        const char *node = *at->spilled_node_id ? facts->node_name(facts->arg, at->spilled_node_id)
                                                : "external storage";
        char *text = mem_format("%s: %s", node, url);
        free(url);
        return text;
    }
    return mem_string(at->did_spill ? "no (it was)" : "no");
}

static char *describe_creator(const struct object_facts *facts)
{
    char job[ID_TEXT(ID_JOB_BYTES)];
    struct object_origin origin;
    object_origin_read(facts->id, &origin);
    const char *put = origin.put ? ", by ray.put" : "";
    if (origin.kind == ORIGIN_DRIVER) {
        job_id_brief(origin.job_id, job);
        return mem_format("the driver of job %s%s", job, put);
    }
    if (facts->task || facts->actor) {
        const char *name = facts->task ? facts->task->name : facts->actor->class_name;
        name = text_empty(name) ? "?" : name;
        char *shown = text_printable(name, strlen(name), "");
        char *text =
            facts->task ? mem_format("%s (%.8s)%s", shown, facts->task->task_id, put)
                        : mem_format("a method of %s (%.8s)%s", shown, facts->actor->actor_id, put);
        free(shown);
        return text;
    }
    if (origin.kind == ORIGIN_PUT && facts->owner != OBJECT_OWNER_UNKNOWN && facts->owner_pid)
        return mem_format("a task of pid %lld@%s%s", (long long)facts->owner_pid, facts->owner_node,
                          put);
    return unknown(facts->task_why);
}

void object_facts_describe(const struct object_facts *facts, const struct annotate_options *options,
                           struct object_property out[OBJECT_DETAILS])
{
    const struct object_property all[OBJECT_DETAILS] = {
        {"size", describe_size(facts, options)},  {"nodes", describe_nodes(facts)},
        {"owner", describe_owner(facts)},         {"call site", describe_call_site(facts)},
        {"reference", describe_reference(facts)}, {"kinds", describe_kinds(facts)},
        {"copies", describe_copies(facts)},       {"spilled", describe_spilled(facts)},
        {"created by", describe_creator(facts)},
    };
    memcpy(out, all, sizeof all);
}

void object_details_clear(struct object_property properties[OBJECT_DETAILS])
{
    for (size_t i = 0; i < OBJECT_DETAILS; i++) {
        free(properties[i].value);
        properties[i].value = NULL;
    }
}
