/* Pauses as a relay's HTTP gives them: what is read is written and read again as the same. */
#include "fuzz.h"

#include "base/mem.h"
#include "cli/pauses/relay_pauses.h"
#include "relay/pause/pause_json.h"

static void check_pause(const struct pause *pause)
{
    check_hex(pause->task_id, ID_TASK_BYTES);
    check_hex(pause->actor_id, ID_ACTOR_BYTES);
    check_hex(pause->worker_id, ID_UNIQUE_BYTES);
    check(pause->host && pause_state_name(pause->state));
    for (size_t i = 0; i < pause->candidate_count; i++)
        check_hex(pause->candidates[i], ID_TASK_BYTES);
}

static void check_again(const struct pause *pause)
{
    struct buf once = {0}, twice = {0};
    struct pause again = {0};
    const char *problem;
    pause_json(pause, &once);
    check(scan_strict(once.data, once.len, &problem));
    check(pause_json_read(&again, once.data, (struct span){0, once.len}));
    pause_json(&again, &twice);
    check(once.len == twice.len && memcmp(once.data, twice.data, once.len) == 0);
    pause_clear(&again);
    buf_free(&once);
    buf_free(&twice);
}

static void check_list(const struct pause_list *list)
{
    struct buf yaml = {0};
    size_t *matches, count;
    for (size_t i = 0; i < list->count; i++) {
        check_pause(&list->items[i]);
        check_again(&list->items[i]);
    }
    pauses_yaml(list, &yaml);
    buf_free(&yaml);
    pause_find(list, "c8ef", &matches, &count);
    check(count <= list->count);
    free(matches);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct relay_pauses pauses;
    struct pause pause;
    struct err err = {0};
    char *json = copy_exact(data, size);
    if (relay_pauses_parse(&pauses, json, size, &err) == 0)
        check_list(&pauses.pauses);
    else
        check(err.what[0]);
    relay_pauses_clear(&pauses);
    if (relay_pause_parse(&pause, json, size, &err) == 0) {
        check_pause(&pause);
        check_again(&pause);
        pause_clear(&pause);
    }
    free(json);
    return 0;
}
