#include "cli/help/command_completion.h"

#include "base/text.h"
#include "cli/common/options.h"

#include <string.h>

/* Lists ids and names of the paused tasks, a name as JSON escapes it. A bracket has the backslash,
 * which fish would take for an escape in front of another one. */
#define TASKS                                                                                      \
    "raydbg list --format json 2>/dev/null |\n"                                                    \
    "\t\tsed -nE 's/.*\"task_id\": \"([0-9a-f]{12})[^\"]*\", "                                     \
    "\"task_name\": \"(([^\"\\]|[\\].)*)\".*/"

/* A help up to its first ; : or . that ends a clause. */
static size_t brief_length(const char *help)
{
    size_t len = 0;
    while (help[len] && !(strchr(";:.", help[len]) && (!help[len + 1] || help[len + 1] == ' ')))
        len++;
    return len;
}

/* Appends text with a backslash before each of `special`, as it is to stand in single quotes. */
static void add_quoted(struct buf *out, const char *text, size_t len, const char *special)
{
    for (const char *end = text + len; text < end; text++) {
        if (*text == '\'') {
            buf_add_string(out, "'\\''");
            continue;
        }
        if (strchr(special, *text))
            buf_add_string(out, "\\");
        buf_add(out, text, 1);
    }
}

static const char *words_of(const struct option_row *row)
{
    return row->words ? row->words : row->samples;
}

/* --- bash --- */

/* A task's name is any text: it is not for compgen -W, which runs the $(commands) in its words.
 * `complete -o filenames` does not quote all of it either. */
static const char bash_tasks[] =
    "# Adds the tasks that begin like $1, quoted as the command line needs it: one word each.\n"
    "_raydbg_tasks() {\n"
    "\tlocal word=$1 quote= task\n"
    "\tcase $word in\n"
    "\t\\\"* | \\'*) quote=${word:0:1} word=${word:1} ;;\n"
    "\t*) word=${word//\\\\/} ;;\n"
    "\tesac\n"
    "\twhile IFS= read -r task; do\n"
    "\t\t[[ $task != *\\\\* && $task == \"$word\"* ]] || continue\n"
    "\t\tcase $quote in\n"
    "\t\t\\\") [[ $task != *[\\\"\\$\\`\\!]* ]] || continue ;;\n"
    "\t\t\\') [[ $task != *\\'* ]] || continue ;;\n"
    "\t\t*)\n"
    "\t\t\tprintf -v task %q \"$task\"\n"
    "\t\t\tif [[ $task != \\$\\'* ]]; then # words end at these, too: COMP_WORDBREAKS\n"
    "\t\t\t\ttask=${task//:/'\\:'} task=${task//=/'\\='} task=${task//@/'\\@'}\n"
    "\t\t\tfi\n"
    "\t\t\t;;\n"
    "\t\tesac\n"
    "\t\tCOMPREPLY+=(\"$task\")\n"
    "\tdone < <(" TASKS "\\1\\n\\2/p')\n}\n\n";

static void bash_add_values(struct buf *out, const struct option_row *row)
{
    const char *words = words_of(row);
    if (row->letter)
        buf_printf(out, "\t\t--%s | -%c)", row->name, row->letter);
    else
        buf_printf(out, "\t\t--%s)", row->name);
    if (words)
        buf_printf(out, " words='%s'", words);
    if (row->word == WORD_FILE)
        buf_printf(out, "%s files=1", words ? ";" : "");
    if (row->word == WORD_TASK)
        buf_add_string(out, " tasks=1");
    buf_add_string(out, " ;;\n");
}

static void bash_add_command(struct buf *out, const struct command_text *command)
{
    buf_printf(out, "\t%s)\n\t\tcase $before in\n", command->name);
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].value)
            bash_add_values(out, &command->options[i]);
    buf_printf(out, "\t\t*)\n\t\t\twords='--%s", options_help_row.name);
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].name)
            buf_printf(out, " --%s", command->options[i].name);
    buf_add_string(out, "'\n");
    if (command->operand == WORD_TASK)
        buf_add_string(out, "\t\t\t[[ $word == -* ]] || { words= tasks=1; }\n");
    if (command->operand == WORD_FILE)
        buf_add_string(out, "\t\t\t[[ $word == -* ]] || { words= files=1; }\n");
    if (command->operand == WORD_COMMAND)
        buf_add_string(out, "\t\t\t[[ $word == -* ]] || words=$commands\n");
    if (command->operands)
        buf_printf(out, "\t\t\t[[ $word == -* ]] || words='%s'\n", command->operands);
    buf_add_string(out, "\t\t\t;;\n\t\tesac\n\t\t;;\n");
}

static void bash_add(struct buf *out, const struct command_table *table)
{
    buf_add_string(out, "# bash completion for raydbg: raydbg completions bash\n\n");
    buf_add_string(out, bash_tasks);
    buf_add_string(out, "_raydbg() {\n"
                        "\tlocal word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - "
                        "1]} words= files= tasks=\n\tlocal commands='");
    for (size_t i = 0; i < table->count; i++)
        buf_printf(out, "%s%s", i ? " " : "", table->commands[i].text->name);
    buf_add_string(out, "'\n\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\twords=$commands\n"
                        "\t\t[[ $word != -* ]] || words='");
    for (size_t i = 0; i < table->option_count; i++)
        buf_printf(out, "%s--%s", i ? " " : "", table->options[i].name);
    buf_add_string(out, "'\n\telse\n\tcase ${COMP_WORDS[1]} in\n");
    for (size_t i = 0; i < table->count; i++)
        bash_add_command(out, table->commands[i].text);
    buf_add_string(out, "\tesac\n\tfi\n"
                        "\tmapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\"\n"
                        "\t\t[ -z \"$files\" ] || compgen -f -- \"$word\")\n"
                        "\t[ -z \"$files\" ] || compopt -o filenames 2>/dev/null\n"
                        "\t[ -z \"$tasks\" ] || _raydbg_tasks \"$word\"\n"
                        "}\n\ncomplete -F _raydbg raydbg\n");
}

/* --- zsh --- */

static void zsh_add_brief(struct buf *out, const char *help)
{
    add_quoted(out, help, brief_length(help), "[]:\\");
}

static void zsh_add_option(struct buf *out, const struct option_row *row)
{
    const char *words = words_of(row);
    buf_add_string(out, " \\\n\t\t\t");
    if (row->kind == OPTION_LIST)
        buf_add_string(out, "'*'");
    if (row->letter)
        buf_printf(out, "{-%c,--%s}", row->letter, row->name);
    else
        buf_printf(out, "--%s", row->name);
    buf_add_string(out, "'[");
    zsh_add_brief(out, row->help);
    buf_add_string(out, "]");
    if (row->value) {
        buf_add_string(out, ":");
        add_quoted(out, row->value, strlen(row->value), ":\\");
        if (row->word == WORD_FILE)
            buf_add_string(out, ":_files");
        else if (row->word == WORD_TASK)
            buf_add_string(out, ":_raydbg_tasks");
        else if (words)
            buf_printf(out, ":(%s)", words);
    }
    buf_add_string(out, "'");
}

static void zsh_add_command(struct buf *out, const struct command_text *command)
{
    buf_printf(out, "\t%s)\n\t\t_arguments", command->name);
    zsh_add_option(out, &options_help_row);
    for (size_t i = 0; i < command->option_count; i++)
        if (command->options[i].name)
            zsh_add_option(out, &command->options[i]);
    if (command->operand == WORD_TASK)
        buf_add_string(out, " \\\n\t\t\t'*:task:_raydbg_tasks'");
    if (command->operand == WORD_FILE)
        buf_add_string(out, " \\\n\t\t\t'*:file:_files'");
    if (command->operand == WORD_COMMAND)
        buf_add_string(out, " \\\n\t\t\t'1:command:_raydbg_commands'");
    if (command->operands)
        buf_printf(out, " \\\n\t\t\t'1:word:(%s)'", command->operands);
    buf_add_string(out, "\n\t\t;;\n");
}

static void zsh_add(struct buf *out, const struct command_table *table)
{
    buf_add_string(
        out, "#compdef raydbg\n# zsh completion for raydbg: raydbg completions zsh\n\n"
             "_raydbg_tasks() {\n\tlocal -a tasks\n\ttasks=(${(f)\"$(" TASKS "\\1:\\2/p')\"})\n"
             "\t_describe task tasks\n}\n\n_raydbg_commands() {\n\tlocal -a commands=(\n");
    for (size_t i = 0; i < table->count; i++) {
        const struct command_text *command = table->commands[i].text;
        buf_printf(out, "\t\t'%s:", command->name);
        add_quoted(out, command->summary, strlen(command->summary), ":\\");
        buf_add_string(out, "'\n");
    }
    buf_add_string(out, "\t)\n\t_describe command commands\n}\n\n_raydbg() {\n"
                        "\tif ((CURRENT == 2)) && [[ $words[2] == -* ]]; then\n\t\t_arguments");
    for (size_t i = 0; i < table->option_count; i++)
        zsh_add_option(out, &table->options[i]);
    buf_add_string(out, "\n\t\treturn\n\telif ((CURRENT == 2)); then\n"
                        "\t\t_raydbg_commands\n\t\treturn\n\tfi\n"
                        "\tlocal command=$words[2]\n\tshift words\n\t((CURRENT--))\n"
                        "\tcase $command in\n");
    for (size_t i = 0; i < table->count; i++)
        zsh_add_command(out, table->commands[i].text);
    buf_add_string(out, "\tesac\n}\n\n"
                        "if [ \"$funcstack[1]\" = _raydbg ]; then\n\t_raydbg \"$@\"\n"
                        "else\n\tcompdef _raydbg raydbg\nfi\n");
}

/* --- fish --- */

static void fish_begin(struct buf *out, const char *command)
{
    buf_printf(out, "complete -c raydbg -n '__fish_seen_subcommand_from %s'", command);
}

static void fish_add_option(struct buf *out, const struct option_row *row)
{
    const char *words = words_of(row);
    if (row->letter)
        buf_printf(out, " -s %c", row->letter);
    buf_printf(out, " -l %s", row->name);
    if (row->word == WORD_FILE)
        buf_add_string(out, " -rF");
    else if (row->value)
        buf_add_string(out, " -x");
    if (row->word == WORD_TASK)
        buf_add_string(out, " -a '(__raydbg_tasks)'");
    else if (words)
        buf_printf(out, " -a '%s'", words);
    buf_add_string(out, " -d '");
    add_quoted(out, row->help, brief_length(row->help), "\\");
    buf_add_string(out, "'\n");
}

static void fish_add_command(struct buf *out, const struct command_text *command)
{
    buf_printf(out, "complete -c raydbg -n __fish_use_subcommand -a %s -d '", command->name);
    add_quoted(out, command->summary, strlen(command->summary), "\\");
    buf_add_string(out, "'\n");
    fish_begin(out, command->name);
    fish_add_option(out, &options_help_row);
    if (command->operand == WORD_TASK) {
        fish_begin(out, command->name);
        buf_add_string(out, " -a '(__raydbg_tasks)'\n");
    }
    if (command->operand == WORD_FILE) {
        fish_begin(out, command->name);
        buf_add_string(out, " -F\n");
    }
    if (command->operands) {
        fish_begin(out, command->name);
        buf_printf(out, " -a '%s'\n", command->operands);
    }
    for (size_t i = 0; i < command->option_count; i++) {
        if (!command->options[i].name)
            continue;
        fish_begin(out, command->name);
        fish_add_option(out, &command->options[i]);
    }
}

static void fish_add(struct buf *out, const struct command_table *table)
{
    buf_add_string(out, "# fish completion for raydbg: raydbg completions fish\n\n"
                        "function __raydbg_tasks\n\t" TASKS "\\1\\t\\2/p'\nend\n\n"
                        "complete -c raydbg -f\n");
    for (size_t i = 0; i < table->option_count; i++) {
        buf_add_string(out, "complete -c raydbg -n __fish_use_subcommand");
        fish_add_option(out, &table->options[i]);
    }
    for (size_t i = 0; i < table->count; i++)
        fish_add_command(out, table->commands[i].text);
    fish_begin(out, "help");
    buf_add_string(out, " -a '");
    for (size_t i = 0; i < table->count; i++)
        buf_printf(out, "%s%s", i ? " " : "", table->commands[i].text->name);
    buf_add_string(out, "'\n");
}

static const struct {
    const char *name;
    void (*add)(struct buf *out, const struct command_table *table);
} shells[] = {{"bash", bash_add}, {"zsh", zsh_add}, {"fish", fish_add}};

bool command_completion(const struct command_table *table, const char *shell, struct buf *out)
{
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        if (text_equal(shell, shells[i].name)) {
            shells[i].add(out, table);
            return true;
        }
    }
    return false;
}
