#include "cli/pauses/relay_pauses.h"

#include "base/text.h"
#include "relay/pause/pause_json.h"

#include <stdlib.h>

static int malformed(struct err *err)
{
    err_set(err, ERR_FAILED, "the relay's answer could not be read");
    return err_hint(err, "is that a raydbg relay, and as new as this raydbg?");
}

/* False unless the whole text is one object. */
static bool read_whole(const char *json, size_t len, struct span *out)
{
    struct scan scan;
    scan_init(&scan, json, len);
    return scan_value(&scan, out) && scan_end(&scan) && json[out->at] == '{';
}

static void copy_of(const char *json, struct span root, const char *path, char *out, size_t size)
{
    char *text = scan_string_at(json, root, path);
    text_copy(out, size, text ? text : "");
    free(text);
}

int relay_pauses_parse(struct relay_pauses *out, const char *json, size_t len, struct err *err)
{
    struct span root, list;
    *out = (struct relay_pauses){.facts.tasks_running = -1};
    if (!read_whole(json, len, &root) || !scan_find(json, root, "pauses", &list) ||
        !pauses_json_read(&out->pauses, json, list)) {
        pause_list_clear(&out->pauses);
        return malformed(err);
    }
    struct cluster_facts *facts = &out->facts;
    copy_of(json, root, "cluster/address", out->cluster, sizeof out->cluster);
    copy_of(json, root, "cluster/ray_version", facts->ray_version, sizeof facts->ray_version);
    facts->nodes_alive = (size_t)scan_count_at(json, root, "cluster/nodes_alive");
    facts->workers_alive = (size_t)scan_count_at(json, root, "cluster/workers_alive");
    return 0;
}

int relay_pause_parse(struct pause *out, const char *json, size_t len, struct err *err)
{
    struct span root;
    *out = (struct pause){0};
    if (read_whole(json, len, &root) && pause_json_read(out, json, root))
        return 0;
    pause_clear(out);
    return malformed(err);
}

void relay_pauses_clear(struct relay_pauses *pauses)
{
    pause_list_clear(&pauses->pauses);
    *pauses = (struct relay_pauses){0};
}
