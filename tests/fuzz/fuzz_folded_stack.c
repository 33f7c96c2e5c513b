/* py-spy's folded stacks: any text is refused, or read to its end and added up. The profile's
 * folded stacks are a text that gives the same profile, and its other formats are whole. */
#include "fuzz.h"

#include "base/mem.h"
#include "cli/profile/profile_export.h"
#include "cli/profile/profile_text.h"
#include "relay/python_stack/folded_stack.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static struct cpu_profile *profile_of(const struct why_records *records, const char *text,
                                      bool full)
{
    struct cpu_profile *profile = cpu_profile_create(records, full);
    cpu_profile_add(profile, records->workers, text, NULL);
    return profile;
}

static void check_tree(const struct cpu_profile *profile)
{
    uint64_t self = 0, functions = 0;
    for (size_t i = 0; i < profile->node_count; i++) {
        const struct cpu_node *node = &profile->nodes[i];
        self += node->self;
        check(node->self <= node->total && node->total <= profile->samples);
        check(i == 0 || (node->parent < i && node->total <= profile->nodes[node->parent].total));
    }
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct cpu_function *function = &profile->functions[i];
        functions += function->self;
        check(function->self <= function->total && function->total <= profile->samples);
        check(profile->frames[function->frame].function_position == i);
    }
    check(self == profile->samples && functions == profile->samples);
}

static void check_json(struct buf *text)
{
    cJSON *json = cJSON_ParseWithLength(text->data, text->len);
    check(json);
    cJSON_Delete(json);
    buf_free(text);
}

static void check_formats(const struct cpu_profile *profile)
{
    struct buf out = {0};
    profile_export_speedscope(profile, "t", &out);
    check_json(&out);
    profile_text_json(profile, 5, &out);
    check_json(&out);
    profile_export_svg(profile, "t", &out);
    check(!strstr(out.data, "\033") && strlen(out.data) == out.len);
    buf_free(&out);
}

static void try_text(const struct why_records *records, const char *text, bool full)
{
    struct buf folded = {0}, again = {0};
    struct cpu_profile *profile = profile_of(records, text, full);
    check(folded_stack_is_text(text) || !profile->samples);
    check_tree(profile);
    if (profile->samples) {
        check_formats(profile);
        profile_export_folded(profile, &folded);
        struct cpu_profile *second = profile_of(records, folded.data, true);
        check(!folded_stack_is_text(folded.data) || second->samples == profile->samples);
        profile_export_folded(second, &again);
        cpu_profile_destroy(&second);
    }
    buf_free(&folded);
    buf_free(&again);
    cpu_profile_destroy(&profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ray_node node = {.ip = (char *)"10.0.0.7", .is_alive = true};
    static struct ray_worker worker = {.pid = 762};
    const struct why_records records = {
        .nodes = &node, .node_count = 1, .workers = &worker, .worker_count = 1};
    char *text = mem_string_n((const char *)data, size);
    try_text(&records, text, false);
    try_text(&records, text, true);
    free(text);
    return 0;
}
