/* The hubs' descriptors and logs at the keeper: left there, and taken over from an earlier relay.
 */
#include "base/log.h"
#include "base/mem.h"
#include "relay/hub/hub_table_state.h"
#include "relay/io/socket.h"

#include <stdlib.h>
#include <unistd.h>

/* False if the state cannot be restored, which is logged. */
static bool is_usable(struct hub_log *log, int fd, const char *text, size_t len)
{
    char title[256];
    int64_t written;
    if (!hub_log_read(log, text, len)) {
        log_warn("a pause of the relay before could not be taken over: its notes are of another "
                 "version, or incomplete; its task goes on");
        return false;
    }
    bool whole =
        !log->snapshot.torn &&
        (!log->requests.len || (socket_written(fd, &written) && hub_log_rest(log, written)));
    if (whole)
        return true;
    pause_title(&log->snapshot.pause, title, sizeof title);
    log_warn(
        "%s could not be taken over: the relay before died in the middle of a request, and the "
        "rest of that is not known; the task goes on",
        title);
    hub_log_clear(log);
    return false;
}

static void adopt(void *arg, struct kept *kept, int fd, const char *text, size_t len)
{
    struct hub_table *hubs = hub_table_checked(arg);
    struct hub_log log;
    struct hub_options options = hub_table_options_for(hubs);
    bool usable = is_usable(&log, fd, text, len);
    /* A keeper whose connection was lost gives back what this relay itself has put there. */
    if (!usable || hub_table_entry(hubs, &log.snapshot.pause)) {
        if (usable)
            hub_log_clear(&log);
        kept_drop(&kept);
        close(fd);
        return;
    }
    options.target.loop = hubs->options.loop;
    options.target.tune = hubs->options.tune;
    struct entry *entry = hub_table_add_entry(hubs);
    entry->hub = hub_adopt(&options, kept, fd, &log, &hub_table_hub_ops, entry);
    hub_table_set_endpoint(entry);
    hub_log_clear(&log);
}

size_t hub_table_take_over(struct hub_table *hubs)
{
    if (hubs->options.keeper)
        keeper_take_over(hubs->options.keeper, adopt, hubs);
    return hub_table_count(hubs);
}

static void on_keeper_lost(void *arg)
{
    struct hub_table *hubs = hub_table_checked(arg);
    for (struct entry *entry = hubs->first; entry; entry = entry->next)
        hub_keeper_lost(entry->hub);
}

static void on_keeper_renewed(void *arg, bool failed)
{
    struct hub_table *hubs = hub_table_checked(arg);
    keeper_take_over(hubs->options.keeper, adopt, hubs);
    for (struct entry *entry = hubs->first; entry; entry = entry->next)
        hub_keeper_renewed(entry->hub);
    if (failed)
        hub_table_tell(hubs, "important",
                       "raydbg: a new keeper runs: this pause outlives the relay again\n");
}

static void on_keeper_missed(void *arg)
{
    struct hub_table *hubs = hub_table_checked(arg);
    for (struct entry *entry = hubs->first; entry; entry = entry->next)
        hub_keeper_renewed(entry->hub);
}

static void on_keeper_failed(void *arg, const struct err *err)
{
    char *text = mem_format("raydbg: the keeper died and cannot be replaced (%s): if the relay "
                            "dies, too, this task goes on\n",
                            err->why[0] ? err->why : err->what);
    hub_table_tell(arg, "important", text);
    free(text);
}

const struct keeper_watch_ops hub_table_keeper_ops = {
    .on_lost = on_keeper_lost,
    .on_renewed = on_keeper_renewed,
    .on_missed = on_keeper_missed,
    .on_failed = on_keeper_failed,
};
