#include "relay/locate/relay_registration.h"

#include "base/file.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/wall_clock.h"
#include "dap/message.h"
#include "relay/access/auth.h"
#include "relay/access/proof.h"
#include "relay/cluster/ray_source.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FILE_MAX = 65536, GOODBYE_MS = 500 };

struct relay_registration {
    uint32_t magic;
    struct loop *loop;
    struct ray_source *source; /* NULL: no store */
    struct timer *timer;
    char *key;
    char *path;              /* NULL: no file was written */
    const struct auth *auth; /* or NULL */
    struct relay_registration_entry own;
    bool warned;
};
INVARIANT_MAGIC(relay_registration, 0x21b8c26b)
#define relay_registration_checked(object) relay_registration_checked_at(INVARIANT_HERE, object)

/* Field 22 of /proc/PID/stat; -1 if there is no such process. */
static int64_t start_ticks(int64_t pid)
{
    char path[64], line[1024];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    FILE *file = fopen(path, "re");
    size_t len = file ? fread(line, 1, sizeof line - 1, file) : 0;
    if (file)
        fclose(file);
    line[len] = '\0';
    char *at = strrchr(line, ')'); /* the name can contain any character */
    for (int field = 2; at && field < 22; field++)
        at = strchr(at + 1, ' ');
    return at ? strtoll(at + 1, NULL, 10) : -1;
}

/* --- JSON --- */

static void put_string(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, ",\"%s\":", name);
    message_quote(out, value ? value : "");
}

/* Writes everything except the proofs and the closing brace. */
static void put_facts(struct buf *out, const struct relay_registration_entry *entry)
{
    buf_add_string(out, "{\"addresses\":[");
    for (size_t i = 0; i < entry->address_count; i++) {
        buf_add_string(out, i ? "," : "");
        message_quote(out, entry->addresses[i]);
    }
    buf_printf(out, "],\"tls\":%s,\"pid\":%" PRId64, entry->tls ? "true" : "false", entry->pid);
    put_string(out, "id", entry->id);
    put_string(out, "cluster", entry->cluster);
    put_string(out, "fingerprint", entry->fingerprint);
    put_string(out, "host", entry->host_name);
    put_string(out, "machine", entry->machine);
    put_string(out, "version", entry->version);
    buf_printf(out, ",\"start_ticks\":%" PRId64 ",\"started\":%" PRId64 ",\"refreshed\":%" PRId64,
               entry->start_ticks, entry->started_ms, entry->refreshed_ms);
}

static void put_entry(struct buf *out, const struct relay_registration_entry *entry)
{
    put_facts(out, entry);
    buf_add_string(out, ",\"proofs\":[");
    for (size_t i = 0; i < 2 && entry->proofs[i]; i++)
        buf_printf(out, "%s\"%s\"", i ? "," : "", entry->proofs[i]);
    buf_add_string(out, "]}");
}

static char *string_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text_empty(text) ? NULL : mem_string(text);
}

static int64_t number_of(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    double number = cJSON_IsNumber(item) ? item->valuedouble : 0;
    return number >= 0 && number < 9e15 ? (int64_t)number : 0;
}

static void read_proofs(struct relay_registration_entry *out, const cJSON *list)
{
    for (int i = 0; i < 2 && cJSON_IsArray(list); i++) {
        const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(list, i));
        out->proofs[i] = text_empty(text) ? NULL : mem_string(text);
    }
}

/* The text that a proof covers: exactly what a client reads of an entry. */
static char *proven_text(const struct relay_registration_entry *entry)
{
    struct buf text = {0};
    buf_add_string(&text, "raydbg registration\n");
    put_facts(&text, entry);
    return buf_take(&text);
}

bool relay_registration_proves(const struct relay_registration_entry *entry, const char *token)
{
    char *text = proven_text(entry), *proof = auth_proof(token, text);
    bool proven = false;
    for (size_t i = 0; i < 2; i++)
        proven = proven || proof_equal(entry->proofs[i], proof);
    free(text);
    free(proof);
    return proven;
}

bool relay_registration_parse(struct relay_registration_entry *out, const char *json, size_t len)
{
    cJSON *root = cJSON_ParseWithLength(json, len);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "addresses"), *item;
    *out = (struct relay_registration_entry){0};
    if (cJSON_IsArray(list))
        out->addresses = mem_array((size_t)cJSON_GetArraySize(list), sizeof *out->addresses);
    cJSON_ArrayForEach(item, list)
    {
        if (out->addresses && cJSON_IsString(item))
            out->addresses[out->address_count++] = mem_string(item->valuestring);
    }
    out->tls = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "tls"));
    out->id = string_of(root, "id");
    out->cluster = string_of(root, "cluster");
    out->fingerprint = string_of(root, "fingerprint");
    read_proofs(out, cJSON_GetObjectItemCaseSensitive(root, "proofs"));
    out->host_name = string_of(root, "host");
    out->machine = string_of(root, "machine");
    out->version = string_of(root, "version");
    out->pid = number_of(root, "pid");
    out->start_ticks = number_of(root, "start_ticks");
    out->started_ms = number_of(root, "started");
    out->refreshed_ms = number_of(root, "refreshed");
    cJSON_Delete(root);
    if (out->address_count && out->pid > 0)
        return true;
    relay_registration_entry_clear(out);
    return false;
}

void relay_registration_entry_clear(struct relay_registration_entry *entry)
{
    for (size_t i = 0; i < entry->address_count; i++)
        free(entry->addresses[i]);
    free(entry->addresses);
    free(entry->id);
    free(entry->cluster);
    free(entry->proofs[0]);
    free(entry->proofs[1]);
    free(entry->fingerprint);
    free(entry->host_name);
    free(entry->machine);
    free(entry->version);
    *entry = (struct relay_registration_entry){0};
}

/* --- files --- */

/* Reads only a file that no other user can write: such a user could have our token sent
 * anywhere. */
static bool read_file(struct relay_registration_entry *out, const char *path)
{
    char text[FILE_MAX];
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool ours = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() &&
                !(status.st_mode & (S_IWGRP | S_IWOTH));
    ssize_t len = ours ? read(fd, text, sizeof text) : -1;
    close(fd);
    return len > 0 && relay_registration_parse(out, text, (size_t)len);
}

bool relay_registration_is_here(const struct relay_registration_entry *entry)
{
    char machine[PROOF_MACHINE_ROOM];
    proof_machine(machine);
    return *machine && text_equal(entry->machine, machine);
}

bool relay_registration_lives(const struct relay_registration_entry *entry)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1); /* a home directory may be shared */
    return entry->start_ticks > 0 && text_equal(entry->host_name, host) &&
           start_ticks(entry->pid) == entry->start_ticks;
}

static bool write_file(const char *path, const struct relay_registration_entry *entry)
{
    struct buf text = {0};
    put_entry(&text, entry);
    buf_add_string(&text, "\n");
    bool good = file_replace(path, &text) == 0;
    if (!good)
        log_warn("clients on this machine will not find the relay by themselves: %s: %s", path,
                 strerror(errno));
    buf_free(&text);
    return good;
}

/* relay.json, or relay-PORT.json if relay.json belongs to another live relay. */
static char *choose_path(const struct relay_registration_entry *own)
{
    struct relay_registration_entry other;
    char *path = auth_state_path("relay.json");
    if (!path || !read_file(&other, path))
        return path;
    bool taken = relay_registration_lives(&other) && other.pid != own->pid;
    relay_registration_entry_clear(&other);
    if (!taken)
        return path;
    free(path);
    const char *colon = strrchr(own->addresses[0], ':');
    int64_t port;
    if (!colon || !text_to_int(colon + 1, 1, 65535, &port))
        port = own->pid; /* a unix socket */
    char name[64];
    snprintf(name, sizeof name, "relay-%" PRId64 ".json", port);
    return auth_state_path(name);
}

static bool is_ours_name(const char *name)
{
    return text_starts(name, "relay") && text_ends(name, ".json");
}

bool relay_registration_find_local(struct relay_registration_entry *out, const char *cluster)
{
    char *directory = auth_state_path("");
    DIR *files = directory ? opendir(directory) : NULL;
    bool found = false;
    const struct dirent *file;
    while (files && (file = readdir(files))) {
        struct relay_registration_entry entry;
        if (!is_ours_name(file->d_name))
            continue;
        char *path = mem_format("%s/%s", directory, file->d_name);
        bool there = read_file(&entry, path);
        free(path);
        if (!there)
            continue;
        bool fits = relay_registration_lives(&entry) &&
                    (!cluster || text_equal(cluster, entry.cluster ? entry.cluster : "")) &&
                    (!found || entry.started_ms > out->started_ms);
        if (fits && found)
            relay_registration_entry_clear(out);
        if (fits)
            *out = entry;
        else
            relay_registration_entry_clear(&entry);
        found = found || fits;
    }
    if (files)
        closedir(files);
    free(directory);
    return found;
}

/* --- the store --- */

static void on_put(void *arg, const struct err *err)
{
    struct relay_registration *registration = relay_registration_checked(arg);
    if (err && !registration->warned)
        log_warn("clients on other machines do not find the relay for now: %s; it is tried again "
                 "every %d s",
                 err->what, RELAY_REGISTRATION_REFRESH_MS / 1000);
    else if (!err && registration->warned)
        log_warn("clients on other machines find the relay again: the cluster answers");
    registration->warned = err != NULL;
}

static void prove(struct relay_registration *registration)
{
    struct relay_registration_entry *own = &registration->own;
    free(own->proofs[0]);
    free(own->proofs[1]);
    own->proofs[0] = own->proofs[1] = NULL;
    char *text = proven_text(own);
    if (registration->auth)
        auth_proofs(registration->auth, text, own->proofs);
    free(text);
}

static void refresh(void *arg)
{
    struct relay_registration *registration = relay_registration_checked(arg);
    struct buf value = {0};
    registration->own.refreshed_ms = wall_clock_ms();
    prove(registration);
    put_entry(&value, &registration->own);
    ray_source_kv_put(registration->source, RELAY_REGISTRATION_SPACE, registration->key, value.data,
                      on_put, registration);
    buf_free(&value);
    registration->timer =
        timer_start(registration->loop, RELAY_REGISTRATION_REFRESH_MS, refresh, registration);
}

static void on_cleaned(void *arg, const struct err *err)
{
    (void)arg, (void)err; /* the entry is stale anyway */
}

static bool has_address(const struct relay_registration_entry *entry, const char *address)
{
    for (size_t i = 0; i < entry->address_count; i++)
        if (text_equal(entry->addresses[i], address))
            return true;
    return false;
}

/* True for the entry of a killed relay: it was not refreshed, or this relay listens at its
 * address. */
static bool is_left_over(const struct relay_registration_entry *own,
                         const struct relay_registration_entry *entry)
{
    bool replaced = false;
    for (size_t i = 0; i < own->address_count; i++)
        replaced = replaced || has_address(entry, own->addresses[i]);
    return wall_clock_ms() - entry->refreshed_ms > RELAY_REGISTRATION_STALE_MS ||
           (replaced && text_equal(entry->host_name, own->host_name));
}

static void on_others(void *arg, const struct err *err, const struct gcs_kv *entries, size_t count)
{
    struct relay_registration *registration = relay_registration_checked(arg);
    for (size_t i = 0; !err && i < count; i++) {
        struct relay_registration_entry entry;
        if (text_equal(entries[i].key, registration->key) ||
            !relay_registration_parse(&entry, entries[i].value, entries[i].len))
            continue;
        if (is_left_over(&registration->own, &entry))
            ray_source_kv_del(registration->source, RELAY_REGISTRATION_SPACE, entries[i].key,
                              on_cleaned, registration);
        relay_registration_entry_clear(&entry);
    }
}

/* --- life --- */

static char *reachable(const char *address, const char *host)
{
    bool all4 = text_starts(address, "0.0.0.0:"), all6 = text_starts(address, "[::]:");
    if (!all4 && !all6)
        return mem_string(address);
    return mem_format(strchr(host, ':') ? "[%s]%s" : "%s%s", host, strrchr(address, ':'));
}

static void fill(struct relay_registration_entry *own, const struct relay_registration_facts *facts)
{
    char host[256] = "", machine[PROOF_MACHINE_ROOM], id[PROOF_ID_ROOM];
    gethostname(host, sizeof host - 1);
    proof_machine(machine);
    proof_random(id, sizeof id);
    own->id = mem_string(facts->auth ? auth_relay_id(facts->auth) : id);
    own->machine = mem_string(machine);
    own->cluster = mem_string(facts->cluster);
    own->addresses = mem_array(facts->address_count, sizeof *own->addresses);
    own->address_count = facts->address_count;
    for (size_t i = 0; i < facts->address_count; i++)
        own->addresses[i] = reachable(facts->addresses[i], facts->node_ip ? facts->node_ip : host);
    own->tls = facts->tls;
    own->fingerprint = mem_string(facts->fingerprint);
    own->host_name = mem_string(host);
    own->version = mem_string(RAYDBG_VERSION);
    own->pid = getpid();
    own->start_ticks = start_ticks(getpid());
    own->started_ms = own->refreshed_ms = wall_clock_ms();
}

struct relay_registration *relay_registration_start(struct loop *loop, struct cluster *cluster,
                                                    const struct relay_registration_facts *facts)
{
    struct relay_registration *registration = mem_alloc(sizeof *registration);
    relay_registration_set_magic(registration);
    struct err err;
    registration->loop = loop;
    registration->auth = facts->auth;
    fill(&registration->own, facts);
    prove(registration);
    registration->key = mem_format(RELAY_REGISTRATION_PREFIX "%s", registration->own.id);
    if (auth_make_state_directory(&err) == 0)
        registration->path = choose_path(&registration->own);
    if (registration->path && !write_file(registration->path, &registration->own)) {
        free(registration->path);
        registration->path = NULL;
    }
    if (cluster) {
        registration->source = cluster_source(cluster);
        refresh(registration);
        ray_source_kv_get_all(registration->source, RELAY_REGISTRATION_SPACE,
                              RELAY_REGISTRATION_PREFIX, on_others, registration);
    }
    return registration;
}

static void on_deleted(void *arg, const struct err *err)
{
    (void)err; /* the entry will be stale soon */
    *(bool *)arg = true;
}

/* Removes only our own file: another relay may have taken it over. */
static void remove_file(const struct relay_registration *registration)
{
    struct relay_registration_entry entry;
    if (!registration->path || !read_file(&entry, registration->path))
        return;
    if (entry.pid == registration->own.pid && entry.start_ticks == registration->own.start_ticks)
        unlink(registration->path);
    relay_registration_entry_clear(&entry);
}

void relay_registration_stop(struct relay_registration **registration)
{
    struct relay_registration *it = *registration;
    if (!it)
        return;
    *registration = NULL;
    timer_cancel(&it->timer);
    remove_file(it);
    if (it->source) {
        /* Allocated because the answer may come after the half second; it is dropped then. */
        bool *done = mem_alloc(sizeof *done);
        ray_source_kv_forget(it->source, it);
        ray_source_kv_del(it->source, RELAY_REGISTRATION_SPACE, it->key, on_deleted, done);
        loop_run_until(it->loop, done, GOODBYE_MS);
        ray_source_kv_forget(it->source, done);
        free(done);
    }
    relay_registration_entry_clear(&it->own);
    free(it->key);
    free(it->path);
    relay_registration_clear_magic(it);
    free(it);
}
