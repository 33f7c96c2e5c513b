/* `raydbg env`: the runtime_env of a submitted job whose processes dial the relay. */
#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/relay_ask.h"
#include "cli/common/relay_options.h"
#include "cli/doctor/doctor_debugpy.h"
#include "cli/relay/run_relay.h"
#include "cli/run/break_ask.h"
#include "cli/run/env_merge.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/scan.h"
#include "relay/access/agent_key.h"
#include "relay/cluster/ray_source.h"
#include "relay/worker_agent/hook_entry.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STORE_MS = 5000 };

/* How long a relay that was started waits for a job to be submitted. */
static const char idle_time[] = "30m";

struct env_words {
    const char *address, *merge, *format;
    bool clear;
    struct option_list locations;
    struct break_wish wish;
    struct relay_wish relay;
};

static const struct option_row option_rows[] = {
    {"break", 'b', OPTION_LIST, offsetof(struct env_words, locations), .most = 64,
     .value = "FILE:LINE", .word = WORD_FILE,
     .help = "set a breakpoint as raydbg break does; may be repeated"},
    BREAK_OPTION_ROWS(struct env_words, wish),
    {"merge", 'm', OPTION_STRING, offsetof(struct env_words, merge), .value = "FILE|JSON",
     .word = WORD_FILE,
     .help = "the job's own runtime_env, to which raydbg's is added; JSON, or a file of it"},
    {"format", 'f', OPTION_STRING, offsetof(struct env_words, format), .value = "F",
     .words = "json", .help = "json (default), in one line, which YAML takes, too"},
    {"clear", 0, OPTION_FLAG, offsetof(struct env_words, clear),
     .help = "print nothing, and remove the entry that raydbg env has written here, with the same "
             "--merge; for when the jobs that have it have ended"},
    {"address", 'a', OPTION_STRING, offsetof(struct env_words, address), .value = "ADDRESS",
     .help = "the cluster that the job will run on, by its GCS"},
    RELAY_OPTION_ROWS(struct env_words, relay),
};

const struct command_text cmd_env_text = {
    .name = "env",
    .summary = "print the runtime_env for a job that stops at breakpoints",
    .synopsis = "env [--break FILE:LINE]... [--merge FILE|JSON] [OPTIONS]\n"
                "       raydbg env --clear [--merge FILE|JSON] [OPTIONS]",
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
    .exits = "0 done, 1 a conflict with the job's own runtime_env, or processes that may still "
             "need what --clear removes, 2 wrong usage, 4 not allowed, "
             "5 no relay, or the cluster does not answer",
};

/* --- the entry --- */

struct change {
    bool done;
    struct err err;
};

static void on_changed(void *arg, const struct err *err)
{
    struct change *change = arg;
    change->done = true;
    if (err)
        change->err = *err;
}

/* `entry`: NULL removes it. */
static int change_entry(struct loop *loop, const struct cluster_address *cluster, const char *key,
                        const char *entry, struct err *err)
{
    struct change change = {0};
    struct ray_source *source = ray_source_create(loop, cluster, err);
    if (!source)
        return -1;
    if (entry)
        ray_source_kv_put(source, HOOK_ENTRY_SPACE, key, entry, on_changed, &change);
    else
        ray_source_kv_del(source, HOOK_ENTRY_SPACE, key, on_changed, &change);
    bool answered = loop_run_until(loop, &change.done, STORE_MS);
    ray_source_destroy(&source);
    if (answered && !change.err.code)
        return 0;
    if (answered)
        *err = change.err;
    else
        err_set(err, ERR_UNREACHABLE, "the cluster at %s does not answer", cluster->text);
    return -1;
}

/* The id is the same for the same job, so that the store keeps one entry and not one for each
 * call. */
static void find_id(const struct run_relay *relay, const char *own, const char *root,
                    char id[AGENT_KEY_ID_ROOM])
{
    char *purpose = mem_format("env %s\n%s", own ? own : "", root);
    agent_key_id_for(relay->choice.relay.token, purpose, id);
    free(purpose);
}

static char *store_hook(const struct run_relay *relay, const struct cluster_address *cluster,
                        const char *own, const char *root, struct err *err)
{
    char id[AGENT_KEY_ID_ROOM];
    find_id(relay, own, root, id);
    struct agent_files_config config = run_relay_config(relay, id);
    config.root = root;
    char *key = hook_entry_key(id), *entry = hook_entry_make(&config, own), *name = NULL;
    if (change_entry(relay->choice.loop, cluster, key, entry, err) == 0)
        name = hook_entry_name(key);
    run_relay_forget(&config);
    explicit_bzero(entry, strlen(entry));
    free(entry);
    free(key);
    return name;
}

/* Ray starts no worker of a job whose runtime_env names an entry that is not there. */
static int check_unused(const struct relay_choice *choice, struct err *err)
{
    struct buf body = {0};
    struct scan scan;
    struct span all;
    int64_t connected = 0;
    int rc = relay_ask(choice->loop, &choice->relay, "GET", "/v1/breakpoints", NULL, &body, err);
    scan_init(&scan, body.data ? body.data : "", body.len);
    if (rc == 0 && scan_value(&scan, &all) &&
        scan_integer_at(body.data, all, "processes/connected", &connected) && connected > 0) {
        rc = err_set(err, ERR_FAILED, "%" PRId64 " process%s of jobs or of raydbg run %s connected",
                     connected, connected == 1 ? "" : "es", connected == 1 ? "is" : "are");
        err_why(err, "Ray starts no more workers of a job whose entry is removed");
        err_hint(err, "do it once the jobs have ended");
    }
    buf_free(&body);
    return rc;
}

static int clear_hook(const struct run_relay *relay, const struct cluster_address *cluster,
                      const char *own, const char *root, struct err *err)
{
    char id[AGENT_KEY_ID_ROOM];
    if (check_unused(&relay->choice, err) != 0)
        return -1;
    find_id(relay, own, root, id);
    char *key = hook_entry_key(id);
    int rc = change_entry(relay->choice.loop, cluster, key, NULL, err);
    if (rc == 0)
        fputs("raydbg: the entry is removed: submit no job with a runtime_env that was printed "
              "before\n",
              stderr);
    free(key);
    return rc;
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
    for (size_t i = 0; i < words->locations.count; i++)
        if (break_set(choice->loop, &choice->relay, &words->wish, words->locations.items[i], &id,
                      err) != 0)
            return -1;
    if (words->locations.count)
        fputs("raydbg: the breakpoints stay until raydbg break --clear\n", stderr);
    return 0;
}

static void print(cJSON *runtime_env, const char *name)
{
    env_merge_add_hook(runtime_env, name);
    char *json = cJSON_PrintUnformatted(runtime_env);
    puts(json);
    cJSON_free(json);
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

/* Writes or removes the entry, and prints. */
static int apply(const struct env_words *words, const struct run_relay *relay,
                 const struct cluster_address *cluster, cJSON *runtime_env, const char *own,
                 const char *root, struct err *err)
{
    if (words->clear)
        return clear_hook(relay, cluster, own, root, err);
    char *name = store_hook(relay, cluster, own, root, err);
    int code = -1;
    if (name && set_breakpoints(&relay->choice, words, err) == 0) {
        print(runtime_env, name);
        code = ERR_NONE;
    }
    free(name);
    return code;
}

static int run(const struct env_words *words, struct err *err)
{
    struct cluster_address cluster;
    struct run_relay relay = {0};
    char *own, *root = NULL;
    int code = -1;
    cJSON *runtime_env = env_merge_read(words->merge, &own, err);
    if (!runtime_env)
        return -1;
    if ((words->clear || check_debugpy(runtime_env, err) == 0) &&
        (root = find_root(runtime_env, err)) && find_cluster(&cluster, words->address, err) == 0 &&
        run_relay_find(&relay, &words->relay, words->address,
                       words->clear ? RUN_RELAY_IDLE : idle_time, err) == 0)
        code = apply(words, &relay, &cluster, runtime_env, own, root, err);
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
        command_usage(&cmd_env_text, "'%s': a location is given by --break", argv[1]);
    } else if (words.clear && words.locations.count) {
        command_usage(&cmd_env_text, "--clear goes without --break: raydbg break --clear removes "
                                     "breakpoints");
    } else if (!words.relay.wanted) {
        command_usage(&cmd_env_text, "--no-relay does not go with env: the processes dial a relay");
    } else {
        code = run(&words, &err);
        code = code < 0 ? command_fail(&err) : code;
    }
    free(words.locations.items);
    return code;
}
