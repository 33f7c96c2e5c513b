#include "relay/hub/hub_snapshot.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/json_record.h"
#include "dap/scan.h"
#include "relay/pause/pause_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { VERSION = 1, LONG_EVENT = 64 * 1024 };

/* zlib's preset dictionary: the text that most snapshots have. Do not change it: a relay reads what
 * an earlier one has written, and the snapshots of all earlier versions would become unreadable. */
static const char words[] =
    "{\"version\":1,\"generation\":0,\"held_since\":17,\"kept\":false,\"torn\":false,\"kept\":true,"
    "\"pause\":{\"task_id\": null, \"task_name\": null, \"actor_id\": null, \"actor_class\": null, "
    "\"actor_name\": null, \"job_id\": \"01000000\", \"node_id\": \"\", \"node_ip\": "
    "\"127.0.0.1\", "
    "\"pid\": , \"worker_id\": null, \"debugger\": \"debugpy\", \"endpoint\": \"127.0.0.1:\", "
    "\"state\": \"held\", \"paused_threads\": 1, \"ambiguous\": false, \"candidates\": [], "
    "\"location\": {\"file\": \"/\", \"line\": 1}, \"since\": null, \"since_source\": "
    "\"task_start\", "
    "\"reason\": \"breakpoint\", \"clients\": 1, \"driver\": \" @ 127.0.0.1:\", \"held_since\": "
    "17},"
    "\"capabilities\":{\"supportsCompletionsRequest\": true, "
    "\"supportsConditionalBreakpoints\": true, \"supportsConfigurationDoneRequest\": true, "
    "\"supportsDebuggerProperties\": true, \"supportsDelayedStackTraceLoading\": true, "
    "\"supportsEvaluateForHovers\": true, \"supportsExceptionInfoRequest\": true, "
    "\"supportsExceptionOptions\": true, \"supportsFunctionBreakpoints\": true, "
    "\"supportsHitConditionalBreakpoints\": true, \"supportsLogPoints\": true, "
    "\"supportsModulesRequest\": true, \"supportsSetExpression\": true, "
    "\"supportsSetVariable\": true, \"supportsValueFormattingOptions\": true, "
    "\"supportsTerminateDebuggee\": true, \"supportsTerminateRequest\": true, "
    "\"supportsGotoTargetsRequest\": true, \"supportsClipboardContext\": true, "
    "\"exceptionBreakpointFilters\": [{\"filter\": \"raised\", \"label\": \"Raised Exceptions\", "
    "\"default\": false, \"description\": \"Break whenever any exception is raised.\"}, "
    "{\"filter\": \"uncaught\", \"label\": \"Uncaught Exceptions\", \"default\": true, "
    "\"description\": \"Break when the process is exiting due to unhandled exception.\"}, "
    "{\"filter\": \"userUnhandled\", \"label\": \"User Uncaught Exceptions\", \"default\": false, "
    "\"description\": \"Break when exception escapes into library code.\"}], "
    "\"supportsStepInTargetsRequest\": true},\"events\":[{\"seq\": 1, \"type\": \"event\", "
    "\"event\": \"thread\", \"body\": {\"reason\": \"started\", \"threadId\": 1}},{\"seq\": 1, "
    "\"type\": \"event\", \"event\": \"stopped\", \"body\": {\"reason\": \"breakpoint\", "
    "\"threadId\": 1, \"preserveFocusHint\": false, \"allThreadsStopped\": true}}],\"clearing\":["
    "{\"command\":\"setBreakpoints\",\"arguments\":{\"source\":{\"path\":\"/"
    "\"},\"breakpoints\":[]}}]}";

/* The body of an answer may be empty, which alone is not JSON: null is written. */
static void put_json(struct buf *out, const char *name, const char *json)
{
    buf_printf(out, ",\"%s\":", name);
    buf_add_string(out, text_empty(json) ? "null" : json);
}

void hub_snapshot_write(const struct hub_snapshot *snapshot, struct buf *out)
{
    buf_printf(out, "{\"version\":%d,\"generation\":%" PRId64 ",\"held_since\":%" PRId64, VERSION,
               snapshot->generation, snapshot->held_since_ms);
    buf_printf(out, ",\"kept\":%s,\"torn\":%s,\"pause\":", snapshot->kept ? "true" : "false",
               snapshot->torn ? "true" : "false");
    pause_json(&snapshot->pause, out);
    put_json(out, "capabilities", snapshot->capabilities);
    put_json(out, "events", snapshot->events);
    put_json(out, "clearing", snapshot->clearing);
    if (!text_empty(snapshot->attach))
        put_json(out, "attach", snapshot->attach);
    if (!text_empty(snapshot->attached_by))
        json_member_text(out, "attached_by", snapshot->attached_by);
    if (snapshot->cut_s)
        buf_printf(out, ",\"cut_s\":%" PRId64, snapshot->cut_s);
    if (snapshot->adapter_pid)
        buf_printf(out, ",\"adapter_pid\":%" PRId64, snapshot->adapter_pid);
    buf_add_string(out, "}");
}

/* Gives 0 if there is none, or it is no such number. */
static int64_t get_count(const char *text, struct span all, const char *name)
{
    int64_t value;
    bool good = scan_integer_at(text, all, name, &value) && value > 0 && value <= INT32_MAX;
    return good ? value : 0;
}

/* Gives NULL for null. False if there is a NUL byte: hub_snapshot_write() writes none. */
static bool get_json(const char *text, struct span all, const char *name, char **out)
{
    struct span value;
    if (!scan_find(text, all, name, &value) || memchr(text + value.at, '\0', value.len))
        return false;
    if (text[value.at] != 'n')
        *out = mem_string_n(text + value.at, value.len);
    return true;
}

static bool get_array(const char *text, struct span all, const char *name, char **out)
{
    return get_json(text, all, name, out) && *out && **out == '[';
}

bool hub_snapshot_read(struct hub_snapshot *out, const char *text, size_t len)
{
    struct scan scan;
    struct span all, pause;
    int64_t version;
    *out = (struct hub_snapshot){0};
    scan_init(&scan, text, len);
    if (!scan_value(&scan, &all) || !scan_integer_at(text, all, "version", &version) ||
        version != VERSION)
        return false;
    bool good = scan_find(text, all, "pause", &pause) &&
                pause_json_read(&out->pause, text, pause) &&
                scan_integer_at(text, all, "generation", &out->generation) &&
                scan_integer_at(text, all, "held_since", &out->held_since_ms) &&
                scan_boolean_at(text, all, "kept", &out->kept) &&
                scan_boolean_at(text, all, "torn", &out->torn) &&
                get_json(text, all, "capabilities", &out->capabilities) &&
                get_array(text, all, "events", &out->events) &&
                get_array(text, all, "clearing", &out->clearing);
    if (!good) {
        hub_snapshot_clear(out);
        return false;
    }
    /* An earlier version of the relay has not written these. */
    get_json(text, all, "attach", &out->attach);
    out->attached_by = scan_string_at(text, all, "attached_by");
    out->cut_s = get_count(text, all, "cut_s");
    out->adapter_pid = get_count(text, all, "adapter_pid");
    return true;
}

void hub_snapshot_clear(struct hub_snapshot *snapshot)
{
    pause_clear(&snapshot->pause);
    free(snapshot->capabilities);
    free(snapshot->attach);
    free(snapshot->attached_by);
    free(snapshot->events);
    free(snapshot->clearing);
    *snapshot = (struct hub_snapshot){0};
}

/* Uses tables for a text of a few KiB: to clear the 256 KiB that zlib takes by default would be
 * most of the work, and a snapshot is written at each stop, before the clients get it. */
static bool deflate_small(const struct buf *text, struct buf *out)
{
    enum { WINDOW_BITS = 12, MEM_LEVEL = 5 };
    z_stream stream = {.next_in = (Bytef *)text->data, .avail_in = (uInt)text->len};
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS, MEM_LEVEL,
                     Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    deflateSetDictionary(&stream, (const Bytef *)words, sizeof words - 1);
    uLong room = deflateBound(&stream, text->len);
    stream.next_out = (Bytef *)buf_reserve(out, room);
    stream.avail_out = (uInt)room;
    bool whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
    if (whole)
        out->len += stream.total_out;
    deflateEnd(&stream);
    return whole;
}

/* Adds the members of a stop that the next relay needs, without the texts that make it long. */
static void add_short_event(const char *event, size_t len, struct buf *out)
{
    static const char *const needed[] = {"reason", "threadId", "allThreadsStopped"};
    struct span all = {0, len}, body, name, value;
    buf_add_string(out, "{\"seq\":0,\"type\":\"event\",\"event\":");
    bool named = scan_find(event, all, "event", &name) && name.len < LONG_EVENT;
    buf_add(out, named ? event + name.at : "\"\"", named ? name.len : 2);
    buf_add_string(out, ",\"body\":{\"preserveFocusHint\":false");
    bool has_body = scan_find(event, all, "body", &body);
    for (size_t i = 0; has_body && i < sizeof needed / sizeof *needed; i++)
        if (scan_find(event, body, needed[i], &value) && value.len < LONG_EVENT)
            buf_printf(out, ",\"%s\":%.*s", needed[i], (int)value.len, event + value.at);
    buf_add_string(out, "}}");
}

static void shorten_events(const char *events, struct buf *out)
{
    struct span all = {0, strlen(events)}, element;
    size_t cursor = 0;
    buf_add_string(out, "[");
    while (scan_element(events, all, &cursor, &element)) {
        if (out->len > 1)
            buf_add_string(out, ",");
        if (element.len < LONG_EVENT)
            buf_add(out, events + element.at, element.len);
        else
            add_short_event(events + element.at, element.len, out);
    }
    buf_add_string(out, "]");
}

/* Writes as much as the limit allows. */
static void write_within(const struct hub_snapshot *snapshot, struct buf *out)
{
    struct hub_snapshot less = *snapshot;
    struct buf events = {0};
    hub_snapshot_write(&less, out);
    if (out->len <= HUB_SNAPSHOT_MAX)
        return;
    shorten_events(snapshot->events, &events);
    less.events = events.data;
    for (int step = 0; step < 3; step++) {
        if (step == 1)
            less.clearing = (char *)(uintptr_t) "[]";
        else if (step == 2)
            less.capabilities = less.attach = NULL;
        buf_clear(out, SIZE_MAX);
        hub_snapshot_write(&less, out);
        if (out->len <= HUB_SNAPSHOT_MAX)
            break;
    }
    log_warn("a pause's notes are longer than %zu MiB: a relay that takes it over will not know %s",
             HUB_SNAPSHOT_MAX >> 20,
             !less.capabilities                    ? "its breakpoints and capabilities"
             : less.clearing != snapshot->clearing ? "its breakpoints"
                                                   : "its stops' texts");
    buf_free(&events);
}

void hub_snapshot_pack(const struct hub_snapshot *snapshot, struct buf *out)
{
    struct buf text = {0};
    write_within(snapshot, &text);
    uint32_t plain = (uint32_t)text.len;
    buf_add(out, &plain, sizeof plain);
    if (!deflate_small(&text, out))
        log_warn("a snapshot could not be made: a relay that comes after will not know this pause");
    buf_free(&text);
}

/* Inflates to exactly `plain` bytes; also data that was compressed without the dictionary. */
static bool inflate_whole(const char *bytes, size_t len, char *text, uint32_t plain)
{
    z_stream zip = {.next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)len};
    if (inflateInit(&zip) != Z_OK)
        return false;
    zip.next_out = (Bytef *)text;
    zip.avail_out = plain;
    int status = inflate(&zip, Z_FINISH);
    if (status == Z_NEED_DICT &&
        inflateSetDictionary(&zip, (const Bytef *)words, sizeof words - 1) == Z_OK)
        status = inflate(&zip, Z_FINISH);
    bool whole = status == Z_STREAM_END && zip.total_out == plain;
    inflateEnd(&zip);
    return whole;
}

bool hub_snapshot_unpack(struct hub_snapshot *out, const char *bytes, size_t len)
{
    uint32_t plain = 0;
    *out = (struct hub_snapshot){0};
    if (len <= sizeof plain)
        return false;
    memcpy(&plain, bytes, sizeof plain);
    if (plain == 0 || plain > HUB_SNAPSHOT_MAX)
        return false;
    char *text = mem_alloc(plain + 1);
    bool good = inflate_whole(bytes + sizeof plain, len - sizeof plain, text, plain) &&
                hub_snapshot_read(out, text, plain);
    free(text);
    return good;
}
