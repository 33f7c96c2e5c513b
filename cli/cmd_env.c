/* `raydbg env`: the runtime_env of a submitted job whose processes dial the relay. */
#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/relay_options.h"
#include "cli/doctor/doctor_debugpy.h"
#include "cli/relay/run_relay.h"
#include "cli/run/break_ask.h"
#include "cli/run/env_merge.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/access/agent_key.h"
#include "relay/cluster/ray_source.h"
#include "relay/worker_agent/hook_entry.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STORE_MS = 5000 };

/* How long a relay that was started waits for a job to be submitted. */
static const char idle_time[] = "30m";

struct env_words {
    const char *address, *merge, *format;
    struct option_list places;
    struct break_wish wish;
    struct relay_wish relay;
};

static const struct option_row option_rows[] = {
    {"break", 'b', OPTION_LIST, offsetof(struct env_words, places), .most = 64,
     .value = "FILE:LINE", .help = "set a breakpoint as raydbg break does; may be repeated"},
    BREAK_OPTION_ROWS(struct env_words, wish),
    {"merge", 'm', OPTION_STRING, offsetof(struct env_words, merge), .value = "FILE|JSON",
     .word = WORD_FILE,
     .help = "the job's own runtime_env, to which raydbg's is added; JSON, or a file of it"},
    {"format", 'f', OPTION_STRING, offsetof(struct env_words, format), .value = "F",
     .words = "json", .help = "json (default), in one line, which YAML takes, too"},
    {"address", 'a', OPTION_STRING, offsetof(struct env_words, address), .value = "ADDRESS",
     .help = "the cluster that the job will run on, by its GCS"},
    RELAY_OPTION_ROWS(struct env_words, relay),
};

const struct command_text cmd_env_text = {
    .name = "env",
    .summary = "print the runtime_env for a job that stops at breakpoints",
    .synopsis = "env [--break FILE:LINE]... [--merge FILE|JSON] [OPTIONS]",
    .intro = "Prints a runtime_env, in JSON, for ray job submit, Ray Serve and KubeRay. The job's "
             "driver, tasks and actors then stop at breakpoints by file: those of --break, and "
             "those that raydbg break sets before or meanwhile. There is no secret in it: it "
             "names an entry of the cluster's key-value store, which this command writes.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes = "The options of a breakpoint are for each --break. What would keep the job's "
             "processes from being debugged is an error, and nothing is printed. docs/run.md "
             "tells how it works.",
    .examples = "  ray job submit --runtime-env-json \"$(raydbg env)\" -- python train.py\n"
                "  raydbg env --merge runtime_env.json --break train.py:57",
    .exits = "0 done, 1 a conflict with the job's own runtime_env, 2 wrong usage, 4 not allowed, "
             "5 no relay, or the cluster does not answer",
};

/* --- the entry --- */

struct put {
    bool done;
    struct err err;
};

static void on_put(void *arg, const struct err *err)
{
    struct put *put = arg;
    put->done = true;
    if (err)
        put->err = *err;
}

static int put_entry(struct loop *loop, const struct cluster_address *cluster, const char *key,
                     const char *entry, struct err *err)
{
    struct put put = {0};
    struct ray_source *source = ray_source_create(loop, cluster, err);
    if (!source)
        return -1;
    ray_source_kv_put(source, HOOK_ENTRY_SPACE, key, entry, on_put, &put);
    bool answered = loop_run_until(loop, &put.done, STORE_MS);
    ray_source_destroy(&source);
    if (answered && !put.err.code)
        return 0;
    if (answered)
        *err = put.err;
    else
        err_set(err, ERR_UNREACHABLE, "the cluster at %s does not answer", cluster->text);
    return -1;
}

/* The id is the same for the same job, so that the store keeps one entry and not one for each
 * call. */
static char *store_hook(const struct run_relay *relay, const struct cluster_address *cluster,
                        const char *own, const char *root, struct err *err)
{
    char id[AGENT_KEY_ID_ROOM];
    char *purpose = mem_format("env %s\n%s", own ? own : "", root);
    agent_key_id_for(relay->choice.relay.token, purpose, id);
    struct agent_files_config config = run_relay_config(relay, id);
    config.root = root;
    char *key = hook_entry_key(id), *entry = hook_entry_make(&config, own), *name = NULL;
    if (put_entry(relay->choice.loop, cluster, key, entry, err) == 0)
        name = hook_entry_name(key);
    run_relay_forget(&config);
    explicit_bzero(entry, strlen(entry));
    free(entry);
    free(key);
    free(purpose);
    return name;
}

/* --- */

static int check_debugpy(const cJSON *runtime_env, struct err *err)
{
    struct doctor_debugpy here = {0};
    doctor_debugpy_look(&here, "/proc");
    int result = env_merge_check_debugpy(runtime_env, here.packages && !here.version, err);
    free(here.packages);
    free(here.version);
    return result;
}

static int find_cluster(struct cluster_address *cluster, const char *address, struct err *err)
{
    if (cluster_address_find(cluster, address, err) != 0)
        return -1;
    if (cluster->kind == CLUSTER_ADDRESS_GCS)
        return 0;
    err_set(err, ERR_FAILED, "raydbg env cannot use the dashboard at %s", cluster->text);
    err_why(err, "the hook is put into the key-value store, which only the GCS serves");
    return err_hint(err, "give the GCS by --address HOST:PORT");
}

static int set_breakpoints(const struct relay_choice *choice, const struct env_words *words,
                           struct err *err)
{
    int64_t id;
    for (size_t i = 0; i < words->places.count; i++)
        if (break_set(choice->loop, &choice->relay, &words->wish, words->places.items[i], &id,
                      err) != 0)
            return -1;
    if (words->places.count)
        fputs("raydbg: the breakpoints stay until raydbg break --clear\n", stderr);
    return 0;
}

static int print(cJSON *runtime_env, const char *name)
{
    env_merge_add_hook(runtime_env, name);
    char *json = cJSON_PrintUnformatted(runtime_env);
    puts(json);
    cJSON_free(json);
    return fflush(stdout) == 0 ? ERR_NONE : ERR_FAILED;
}

/* The directory that Ray copies to the nodes, if the job has one: the runtime_env's, else that of
 * `ray job submit --working-dir .`. */
static char *find_root(const cJSON *runtime_env, struct err *err)
{
    const char *given =
        cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(runtime_env, "working_dir"));
    bool local = given && !strstr(given, "://");
    char *root = realpath(local ? given : ".", NULL);
    if (!root) {
        err_set(err, ERR_USAGE, "--merge: there is no working_dir %s here", local ? given : ".");
        err_why(err, "%s", strerror(errno));
    }
    return root;
}

static int run(const struct env_words *words, struct err *err)
{
    struct cluster_address cluster;
    struct run_relay relay = {0};
    char *own, *name, *root = NULL;
    int code = -1;
    cJSON *runtime_env = env_merge_read(words->merge, &own, err);
    if (!runtime_env)
        return -1;
    if (check_debugpy(runtime_env, err) == 0 && (root = find_root(runtime_env, err)) &&
        find_cluster(&cluster, words->address, err) == 0 &&
        run_relay_find(&relay, &words->relay, words->address, idle_time, err) == 0 &&
        (name = store_hook(&relay, &cluster, own, root, err))) {
        code = set_breakpoints(&relay.choice, words, err) == 0 ? print(runtime_env, name) : -1;
        free(name);
    }
    relay_choice_clear(&relay.choice);
    cJSON_Delete(runtime_env);
    free(own);
    free(root);
    return code;
}

int cmd_env(int argc, char **argv)
{
    struct env_words words = {.relay = {.wanted = true}};
    struct err err;
    bool done = false;
    int operands, code = ERR_USAGE;
    if (!options_parse(&cmd_env_text, &words, argc, argv, &operands, &done) || done) {
        code = done ? ERR_NONE : ERR_USAGE;
    } else if (operands) {
        command_usage(&cmd_env_text, "'%s': a place is given by --break", argv[1]);
    } else if (!words.relay.wanted) {
        command_usage(&cmd_env_text, "--no-relay does not go with env: the processes dial a relay");
    } else {
        code = run(&words, &err);
        code = code < 0 ? command_fail(&err) : code;
    }
    free(words.places.items);
    return code;
}
