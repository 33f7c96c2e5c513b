#include "relay/verbs/verb_table.h"

#include "base/text.h"

const struct verb_row verb_rows[VERB_ROWS] = {
    {"help", "h", VERB_HELP, NULL, VERB_TAKES_REST, "/help [VERB]",
     "this list, or one verb in full", NULL},
    {"threads", NULL, VERB_THREADS, NULL, VERB_TAKES_GROUP, "/threads [GROUP]",
     "the session's tasks, and where they are", NULL},
    {"group", NULL, VERB_GROUP, NULL, 0, "/group NAME FILTER… | /group NAME [-]",
     "make a group, show it, or delete it (-)",
     "A filter is a name with * and ? (of the task, its actor, its class or its thread), a rank "
     "or\n"
     "ranks (7, 0-3,8), or KEY=VALUE with KEY one of rank, task, actor, node, pid, job, thread,\n"
     "state (stopped, running). A task is in the group if any of the filters fits, and "
     "\"!FILTER\"\n"
     "takes away. Tasks that come later are in it, too.\n"
     "  /group readers Reader.*      /group odd 1 3 5 7      /group rest * !readers\n"},
    {"groups", NULL, VERB_GROUPS, NULL, 0, "/groups", "all groups", NULL},
    {"next", "n", VERB_STEP, "next", VERB_TAKES_GROUP, "/next [GROUP]",
     "step over, each of the group's stopped tasks", NULL},
    {"step", "s", VERB_STEP, "stepIn", VERB_TAKES_GROUP, "/step [GROUP]", "step into", NULL},
    {"out", "finish", VERB_STEP, "stepOut", VERB_TAKES_GROUP, "/out [GROUP]", "step out", NULL},
    {"continue", "c", VERB_STEP, "continue",
     VERB_TAKES_GROUP | VERB_TAKES_SKIP | VERB_TAKES_UNTIL | VERB_TAKES_IF,
     "/continue [GROUP] [--skip N] [--until FILE:LINE] [--if EXPR]", "let go on",
     "  --skip N            each task's next N stops pass\n"
     "  --until FILE:LINE   stop at that line, too\n"
     "  --if EXPR           stops at which EXPR is true pass; it is evaluated in the task, and "
     "takes\n"
     "                      the rest of the line\n"
     "The first stop that does not pass ends this for its task.\n"
     "  /continue all --skip 10      /continue workers --if step < 1000\n"},
    {"until", "u", VERB_STEP, "continue", VERB_TAKES_GROUP | VERB_TAKES_LOCATION,
     "/until FILE:LINE [GROUP]", "run to a line, or to any stop before it", NULL},
    {"barrier", "b", VERB_BARRIER, NULL,
     VERB_TAKES_GROUP | VERB_TAKES_LOCATION | VERB_TAKES_TIMEOUT,
     "/barrier FILE:LINE [GROUP] [--timeout S] | /barrier [-]",
     "run to a line and hold each until all are there",
     "Those that are at the line already have arrived, unless all are: then all go round once "
     "more.\n"
     "A breakpoint() on the way passes; a breakpoint of yours, and an exception, stops.\n"
     "Without a location: who has arrived and who is missing. With -: hold nobody any more.\n"
     "--timeout S gives up after S seconds; all stay where they are. Without it, it waits.\n"
     "  /barrier train.py:57      /barrier train.py:57 workers --timeout 60\n"},
    {"compare", "cmp", VERB_COMPARE, NULL, VERB_TAKES_GROUP | VERB_TAKES_FORMAT,
     "/compare EXPR [GROUP] [--format text|json|csv]", "one expression's value in each task",
     "EXPR is evaluated in each stopped task's topmost frame that is not Ray's, at most 5 s each.\n"
     "  /compare loss      /compare self.model.norm() workers      /all compare loss --format "
     "csv\n"},
    {"stacks", "bt", VERB_STACKS, NULL, VERB_TAKES_GROUP | VERB_TAKES_FULL | VERB_TAKES_FORMAT,
     "/stacks [GROUP] [--full] [--format text|json]", "the tasks' stacks, equal ones merged",
     "--full shows Ray's and libraries' frames, too.\n"},
    {"focus", "f", VERB_FOCUS, NULL, VERB_TAKES_REST, "/focus THREAD",
     "show this task: a rank, or its name's beginning", NULL},
};

const struct verb_row *verb_row_find(const char *name)
{
    for (size_t i = 0; name && i < VERB_ROWS; i++)
        if (text_equal(name, verb_rows[i].name) || text_equal(name, verb_rows[i].alias))
            return &verb_rows[i];
    return NULL;
}

/* The width in columns, not bytes: usages have "…". */
static int width_of(const char *text)
{
    int width = 0;
    for (; *text; text++)
        width += ((unsigned char)*text & 0xC0) != 0x80;
    return width;
}

static void help_row(const struct verb_row *row, struct buf *out)
{
    int width = width_of(row->usage);
    if (width > 36)
        buf_printf(out, "%s\n%38s%s\n", row->usage, "", row->help);
    else
        buf_printf(out, "%s%*s%s\n", row->usage, 38 - width, "", row->help);
}

bool verb_help(const char *name, struct buf *out)
{
    if (!name) {
        for (size_t i = 0; i < VERB_ROWS; i++)
            help_row(&verb_rows[i], out);
        buf_add_string(out,
                       "GROUP is a group's name, \"all\", or a filter (/help group); without it,"
                       " all tasks.\n\"/GROUP VERB …\" works as well: /workers next\n");
        return true;
    }
    const struct verb_row *row = verb_row_find(*name == '/' ? name + 1 : name);
    if (!row)
        return false;
    buf_printf(out, "%s\n%s", row->usage, row->help);
    if (row->alias)
        buf_printf(out, " (short: /%s)", row->alias);
    buf_printf(out, "\n%s", row->more ? row->more : "");
    return true;
}
