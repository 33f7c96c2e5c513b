/* `raydbg sessions`: lists the clients that are attached through the relay, and their tasks. */
#include "cli/commands.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/options.h"
#include "cli/common/relay_ask.h"
#include "cli/common/relay_options.h"
#include "cli/common/table.h"
#include "cli/common/terminal.h"
#include "cli/pauses/pause_table.h"
#include "dap/message.h"

#include <cjson/cJSON.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct sessions_words {
    const char *address, *format;
    struct relay_wish wish;
};

static const struct option_row option_rows[] = {
    {"format", 'f', OPTION_STRING, offsetof(struct sessions_words, format), .value = "F",
     .words = "table json", .help = "table (default), json"},
    {"address", 'a', OPTION_STRING, offsetof(struct sessions_words, address), .value = "ADDRESS",
     .help = "the cluster whose relay is meant"},
    RELAY_OPTION_ROWS(struct sessions_words, wish),
};

const struct command_text cmd_sessions_text = {
    .name = "sessions",
    .summary = "show who is attached to what through the relay",
    .synopsis = "sessions [--relay R] [--format F]",
    .intro = "Shows the relay's clients: who drives and who observes which task, and since when.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes = "JSON is an array of {id, role, client, peer, pause, task_name, tasks, since}; since "
             "is in seconds since 1970, tasks how many there are, and what is not known is null.",
    .exits = "0 done (nobody attached is done too), 2 wrong usage, 4 not allowed, 5 no relay, or "
             "it cannot be reached",
};

static void show_json(const cJSON *sessions)
{
    const char *between = "\n ";
    const cJSON *session;
    fputs("[", stdout);
    cJSON_ArrayForEach(session, sessions)
    {
        char *text = cJSON_PrintUnformatted(session);
        struct buf line = {0};
        message_escape(&line, text ? text : "null"); /* clients choose their names */
        printf("%s%s", between, line.data);
        buf_free(&line);
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

/* The session's task. For a session over many tasks: the task that its client looks at, and the
 * number of the others. */
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
    table_render(table, terminal_table_columns(stdout), terminal_colour(stdout), terminal_utf8(),
                 &out);
    fwrite(out.data, 1, out.len, stdout);
    buf_free(&out);
    table_free(&table);
}

static int show(const struct relay_choice *choice, bool json)
{
    struct buf body = {0};
    struct err err;
    if (relay_ask(choice->loop, &choice->relay, "GET", "/v1/sessions", NULL, &body, &err) != 0) {
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
    struct sessions_words words = {.format = "table", .wish = {.wanted = true}};
    struct relay_choice choice;
    struct err err;
    bool done = false;
    int operands, code;
    if (!options_parse(&cmd_sessions_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands)
        return command_usage(&cmd_sessions_text, "'%s' is no option: sessions takes no names",
                             argv[1]);
    if (relay_choose(&choice, &words.wish, words.address, false, &err) != 0)
        code = command_fail(&err);
    else if (choice.found == RELAY_NONE)
        code = relay_is_missing();
    else
        code = show(&choice, text_equal(words.format, "json"));
    relay_choice_clear(&choice);
    return code;
}
