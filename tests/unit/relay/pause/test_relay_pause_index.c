/* An index of pauses finds what pause_same() does, and the ids of a list are cut as one by one. */
#include "cmocka_prelude.h"
#include "sample_ids.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/pause/pause_index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY = 400 };

/* Few different workers, endpoints and ids, so that there are rows of all kinds. */
static struct pause_list sample(uint64_t seed)
{
    struct pause_list list = {.items = mem_array(MANY, sizeof *list.items), .count = MANY};
    for (size_t i = 0; i < MANY; i++) {
        struct pause *pause = &list.items[i];
        uint64_t random = hash_number(seed + i);
        pause->debugger = random & 1 ? PAUSE_PDB : PAUSE_DEBUGPY;
        pause->port = (uint16_t)(random >> 8 & 3);
        pause->host = mem_string(random & 2 ? "10.0.0.7" : "10.0.0.8");
        if (random & 4)
            snprintf(pause->worker_id, sizeof pause->worker_id, "%08x",
                     (unsigned)(random >> 16 & 63));
        if (random & 8)
            snprintf(pause->task_id, sizeof pause->task_id, "%012llx",
                     (unsigned long long)(random >> 24 & 0xF0F00F));
    }
    return list;
}

static const struct pause *find_slowly(const struct pause_list *list, const struct pause *pause)
{
    for (size_t i = 0; i < list->count; i++)
        if (pause_same(&list->items[i], pause))
            return &list->items[i];
    return NULL;
}

static void finds_what_is_the_same(void **state)
{
    (void)state;
    struct pause_list here = sample(1), there = sample(1000);
    struct pause_index index;
    size_t found = 0;
    pause_index_make(&index, &here);
    for (size_t i = 0; i < MANY; i++) {
        const struct pause *row = pause_index_find(&index, &there.items[i]);
        const struct pause *want = find_slowly(&here, &there.items[i]);
        assert_int_equal(row != NULL, want != NULL);
        assert_true(!row || pause_same(row, &there.items[i]));
        found += row != NULL;
    }
    assert_in_range(found, MANY / 4, MANY - 1);
    pause_index_clear(&index);
    pause_list_clear(&here);
    pause_list_clear(&there);
}

static void ids_are_as_long_as_they_have_to_be(void **state)
{
    (void)state;
    struct pause_list list = sample(7);
    size_t *lengths = pause_short_lengths(&list), longest = 0;
    for (size_t i = 0; i < MANY; i++) {
        char id[ID_TEXT(ID_UNIQUE_BYTES)], cut[ID_TEXT(ID_UNIQUE_BYTES)];
        const struct pause *pause = &list.items[i];
        pause_short_id(&list, i, id);
        snprintf(cut, sizeof cut, "%.*s", (int)lengths[i],
                 *pause->task_id ? pause->task_id : pause->worker_id);
        assert_string_equal(cut, id);
        longest = strlen(id) > longest ? strlen(id) : longest;
    }
    assert_true(longest > 6);
    free(lengths);
    pause_list_clear(&list);
}

static void every_difference_counts(void **state)
{
    (void)state;
    struct pause_list list = sample(3);
    struct pause copy;
    for (size_t i = 0; i < 20; i++) {
        pause_copy(&copy, &list.items[i]);
        assert_true(pause_equal(&copy, &list.items[i]));
        copy.since_ms++;
        assert_false(pause_equal(&copy, &list.items[i]));
        copy.since_ms--;
        copy.file = mem_string("a.py");
        assert_false(pause_equal(&copy, &list.items[i]));
        free(copy.file);
        copy.file = NULL;
        copy.task_id[0] = 'x';
        assert_false(pause_equal(&copy, &list.items[i]));
        pause_clear(&copy);
    }
    pause_list_clear(&list);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_what_is_the_same),
        cmocka_unit_test(ids_are_as_long_as_they_have_to_be),
        cmocka_unit_test(every_difference_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
