/* The arguments of a client's `attach` and `initialize`: what debugpy gets is JSON that its Python
 * reads, as the client's was (a session refuses any other), and holds no member that is raydbg's.
 */
#include "fuzz.h"

#include "relay/debuggee/debugpy_arguments.h"
#include "relay/session/attach_arguments.h"

static void check_object(const char *text)
{
    struct scan scan;
    struct span value;
    const char *problem;
    scan_init(&scan, text, strlen(text));
    check(scan_value(&scan, &value) && text[value.at] == '{');
    check(scan_strict(text, strlen(text), &problem));
}

static void check_upstream(const char *upstream)
{
    static const char *const own[] = {"task",  "tasks", "token",  "address",   "connect",
                                      "relay", "host",  "listen", "processId", "objectStore"};
    struct span all = {0, strlen(upstream)}, value;
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        check(!scan_find(upstream, all, own[i], &value));
    check(scan_find(upstream, all, "justMyCode", &value));
    check(value.len == strlen("false") && memcmp(upstream + value.at, "false", value.len) == 0);
}

static void check_arguments(struct attach_arguments *arguments)
{
    check(arguments->max_sessions > 0);
    check_object(arguments->upstream);
    check_object(arguments->each);
    check_upstream(arguments->upstream);
    attach_arguments_default_task(arguments, "Trainer.*");
    if (!arguments->connect_host && !arguments->ticket)
        check(arguments->task || attach_arguments_many(arguments));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct attach_arguments arguments;
    struct scan scan;
    struct span all = {0};
    struct err err = {0};
    const char *problem;
    char *json = copy_exact(data, size);
    scan_init(&scan, json, size);
    if (size == 0 || (scan_strict(json, size, &problem) && scan_value(&scan, &all))) {
        if (attach_arguments_read(&arguments, json, all, &err) == 0)
            check_arguments(&arguments);
        else
            check(err.what[0] && err.code == ERR_USAGE);
        attach_arguments_clear(&arguments);
        if (!all.len || json[all.at] == '{')
            for (int sub_process = 0; sub_process < 2; sub_process++) {
                char *upstream = debugpy_arguments_initialize(json, all, sub_process);
                check_object(upstream);
                free(upstream);
            }
    }
    free(json);
    return 0;
}
