/* `raydbg sessions`: who is attached to what, as the relay tells it. */
#include "cli/command.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/options.h"
#include "cli/pause_output.h"
#include "cli/relay_ask.h"
#include "cli/relay_options.h"
#include "cli/table.h"
#include "cli/terminal.h"

#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

const char cmd_sessions_synopsis[] = "sessions [--relay R] [--format F]";
const char cmd_sessions_details[] =
    "Shows the relay's clients: who drives and who observes which task, and since when.\n"
    "\n"
    "  --format F              table (default), json\n"
    "  --address ADDRESS       the cluster whose relay is meant\n" RELAY_OPTION_HELP "\n"
    "JSON is an array of {id, role, client, peer, pause, task_name, tasks, since}; since is\n"
    "in seconds since 1970, tasks how many there are, and what is not known is null.\n"
    "\n"
    "exit codes: 0 done (nobody attached is done too), 2 wrong usage, 4 not allowed,\n"
    "            5 no relay, or it cannot be reached\n";

static void show_json(const cJSON *sessions)
{
    const char *between = "\n ";
    const cJSON *session;
    fputs("[", stdout);
    cJSON_ArrayForEach(session, sessions)
    {
        char *text = cJSON_PrintUnformatted(session);
        printf("%s%s", between, text ? text : "null");
        between = ",\n ";
        cJSON_free(text);
    }
    puts("\n]");
}

static void add_text(struct table *table, const cJSON *session, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(session, name));
    table_cell(table, text_empty(text) ? "-" : text);
}

/* Of a session over many, the one that its client looks at, and how many more. */
static void add_task(struct table *table, const cJSON *session)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(session, "task_name"));
    const cJSON *tasks = cJSON_GetObjectItemCaseSensitive(session, "tasks");
    int more = cJSON_IsNumber(tasks) ? tasks->valueint - 1 : 0;
    if (more <= 0) {
        add_text(table, session, "task_name");
        return;
    }
    char *text = mem_format("%s + %d", text_empty(name) ? "?" : name, more);
    table_cell(table, text);
    free(text);
}

static void show_table(const cJSON *sessions)
{
    static const struct table_column columns[] = {{"TASK", false, true},
                                                  {"ROLE", false, false},
                                                  {"CLIENT", false, true},
                                                  {"PEER", false, true},
                                                  {"SINCE", true, false}};
    struct table *table = table_create(columns, sizeof columns / sizeof *columns);
    struct buf out = {0};
    const cJSON *session;
    int64_t now_ms = (int64_t)time(NULL) * 1000;
    cJSON_ArrayForEach(session, sessions)
    {
        char age[24];
        const cJSON *since = cJSON_GetObjectItemCaseSensitive(session, "since");
        pause_age(cJSON_IsNumber(since) ? (int64_t)(since->valuedouble * 1000) : 0, now_ms, age);
        add_task(table, session);
        add_text(table, session, "role");
        add_text(table, session, "client");
        add_text(table, session, "peer");
        table_cell(table, age);
    }
    table_render(table, terminal_columns(stdout), terminal_colour(stdout), terminal_utf8(), &out);
    fwrite(out.data, 1, out.len, stdout);
    buf_free(&out);
    table_free(&table);
}

static int show(const struct relay_choice *choice, bool json)
{
    struct buf body = {0};
    struct err err;
    if (relay_ask(choice->loop, &choice->relay, "GET", "/v1/sessions", &body, &err) != 0) {
        buf_free(&body);
        return command_fail(&err);
    }
    cJSON *root = cJSON_ParseWithLength(body.data ? body.data : "", body.len);
    const cJSON *sessions = cJSON_GetObjectItemCaseSensitive(root, "sessions");
    int code = ERR_NONE;
    if (!cJSON_IsArray(sessions)) {
        err_set(&err, ERR_FAILED, "the relay's answer has no sessions");
        code = command_fail(&err);
    } else if (json) {
        show_json(sessions);
    } else if (cJSON_GetArraySize(sessions) == 0) {
        fputs("Nobody is attached through the relay.\n", stderr);
    } else {
        show_table(sessions);
    }
    cJSON_Delete(root);
    buf_free(&body);
    return code;
}

int cmd_sessions(int argc, char **argv)
{
    const char *address = NULL, *format = "table";
    struct relay_wish wish = {.wanted = true};
    struct relay_choice choice;
    struct err err;
    bool done = false;
    int operands, code;
    const struct option_spec specs[] = {
        {"address", 'a', OPTION_STRING, NULL, &address},
        {"format", 'f', OPTION_STRING, NULL, &format},
        RELAY_OPTION_SPECS(wish),
    };
    if (!options_parse("sessions", specs, sizeof specs / sizeof *specs, argc, argv, &operands,
                       &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands)
        return command_usage("sessions", "'%s' is no option: sessions takes no names", argv[1]);
    if (!text_equal(format, "table") && !text_equal(format, "json"))
        return command_usage("sessions", "--format is table or json, not '%s'", format);
    if (relay_choose(&choice, &wish, address, false, &err) != 0)
        code = command_fail(&err);
    else if (choice.found == RELAY_NONE)
        code = relay_is_missing();
    else
        code = show(&choice, text_equal(format, "json"));
    relay_choice_clear(&choice);
    return code;
}
