#include "relay/registration.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/auth.h"
#include "relay/source.h"

#include <cjson/cJSON.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILE_MAX = 65536, GOODBYE_MS = 500 };

struct registration {
    struct loop *loop;
    struct source *source; /* NULL: no store */
    struct timer *timer;
    char *key;
    char *path; /* NULL: no file was written */
    struct registration_entry own;
    bool warned;
};

static int64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

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
    char *at = strrchr(line, ')'); /* the name may hold anything */
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

static void put_entry(struct buf *out, const struct registration_entry *entry)
{
    buf_add_string(out, "{\"addresses\":[");
    for (size_t i = 0; i < entry->address_count; i++) {
        buf_add_string(out, i ? "," : "");
        message_quote(out, entry->addresses[i]);
    }
    buf_printf(out, "],\"tls\":%s,\"pid\":%" PRId64, entry->tls ? "true" : "false", entry->pid);
    put_string(out, "cluster", entry->cluster);
    put_string(out, "fingerprint", entry->fingerprint);
    buf_add_string(out, ",\"proofs\":[");
    for (size_t i = 0; i < 2 && entry->proofs[i]; i++)
        buf_printf(out, "%s\"%s\"", i ? "," : "", entry->proofs[i]);
    buf_add_string(out, "]");
    put_string(out, "host", entry->host_name);
    put_string(out, "version", entry->version);
    buf_printf(out, ",\"start_ticks\":%" PRId64 ",\"started\":%" PRId64 ",\"refreshed\":%" PRId64,
               entry->start_ticks, entry->started_ms, entry->refreshed_ms);
    buf_add_string(out, "}");
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

static void read_proofs(struct registration_entry *out, const cJSON *list)
{
    for (int i = 0; i < 2 && cJSON_IsArray(list); i++) {
        const char *text = cJSON_GetStringValue(cJSON_GetArrayItem(list, i));
        out->proofs[i] = text_empty(text) ? NULL : mem_string(text);
    }
}

/* What a proof is made of: all that leads a client to an address. */
static char *proven_text(const struct registration_entry *entry)
{
    struct buf text = {0};
    buf_printf(&text, "raydbg-relay\n%s\n%s\n", entry->tls ? "tls" : "plain",
               entry->fingerprint ? entry->fingerprint : "");
    for (size_t i = 0; i < entry->address_count; i++)
        buf_printf(&text, "%s\n", entry->addresses[i]);
    return buf_take(&text);
}

bool registration_proves(const struct registration_entry *entry, const char *token)
{
    char *text = proven_text(entry), *proof = auth_proof(token, text);
    bool proven = false;
    for (size_t i = 0; i < 2; i++)
        proven = proven || text_equal(entry->proofs[i], proof);
    free(text);
    free(proof);
    return proven;
}

bool registration_parse(struct registration_entry *out, const char *json, size_t len)
{
    cJSON *root = cJSON_ParseWithLength(json, len);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "addresses"), *item;
    *out = (struct registration_entry){0};
    if (cJSON_IsArray(list))
        out->addresses = mem_array((size_t)cJSON_GetArraySize(list), sizeof *out->addresses);
    cJSON_ArrayForEach(item, list)
    {
        if (out->addresses && cJSON_IsString(item))
            out->addresses[out->address_count++] = mem_string(item->valuestring);
    }
    out->tls = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "tls"));
    out->cluster = string_of(root, "cluster");
    out->fingerprint = string_of(root, "fingerprint");
    read_proofs(out, cJSON_GetObjectItemCaseSensitive(root, "proofs"));
    out->host_name = string_of(root, "host");
    out->version = string_of(root, "version");
    out->pid = number_of(root, "pid");
    out->start_ticks = number_of(root, "start_ticks");
    out->started_ms = number_of(root, "started");
    out->refreshed_ms = number_of(root, "refreshed");
    cJSON_Delete(root);
    if (out->address_count && out->pid > 0)
        return true;
    registration_entry_clear(out);
    return false;
}

void registration_entry_clear(struct registration_entry *entry)
{
    for (size_t i = 0; i < entry->address_count; i++)
        free(entry->addresses[i]);
    free(entry->addresses);
    free(entry->cluster);
    free(entry->proofs[0]);
    free(entry->proofs[1]);
    free(entry->fingerprint);
    free(entry->host_name);
    free(entry->version);
    *entry = (struct registration_entry){0};
}

/* --- files --- */

/* A file that somebody else could have written would send our token to whom they like. */
static bool read_file(struct registration_entry *out, const char *path)
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
    return len > 0 && registration_parse(out, text, (size_t)len);
}

bool registration_lives(const struct registration_entry *entry)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1); /* a home may be shared */
    return entry->start_ticks > 0 && text_equal(entry->host_name, host) &&
           start_ticks(entry->pid) == entry->start_ticks;
}

static bool write_file(const char *path, const struct registration_entry *entry)
{
    struct buf text = {0};
    char *fresh = mem_format("%s.%ld", path, (long)getpid());
    put_entry(&text, entry);
    buf_add_string(&text, "\n");
    unlink(fresh);
    int fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    bool good = fd >= 0 && write(fd, text.data, text.len) == (ssize_t)text.len;
    int code = errno;
    if (fd >= 0)
        close(fd);
    if (good && rename(fresh, path) != 0) {
        good = false;
        code = errno;
    }
    if (!good) {
        log_warn("clients on this machine will not find the relay by themselves: %s: %s", path,
                 strerror(code));
        unlink(fresh);
    }
    free(fresh);
    buf_free(&text);
    return good;
}

/* relay.json, or relay-PORT.json if that belongs to another one that lives. */
static char *choose_path(const struct registration_entry *own)
{
    struct registration_entry other;
    char *path = auth_state_path("relay.json");
    if (!path || !read_file(&other, path))
        return path;
    bool taken = registration_lives(&other) && other.pid != own->pid;
    registration_entry_clear(&other);
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

bool registration_find_local(struct registration_entry *out, const char *cluster)
{
    char *directory = auth_state_path("");
    DIR *files = directory ? opendir(directory) : NULL;
    bool found = false;
    const struct dirent *file;
    while (files && (file = readdir(files))) {
        struct registration_entry entry;
        if (!is_ours_name(file->d_name))
            continue;
        char *path = mem_format("%s/%s", directory, file->d_name);
        bool there = read_file(&entry, path);
        free(path);
        if (!there)
            continue;
        bool fits = registration_lives(&entry) &&
                    (!cluster || text_equal(cluster, entry.cluster)) &&
                    (!found || entry.started_ms > out->started_ms);
        if (fits && found)
            registration_entry_clear(out);
        if (fits)
            *out = entry;
        else
            registration_entry_clear(&entry);
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
    struct registration *registration = arg;
    if (err && !registration->warned)
        log_warn("clients will not find the relay in the cluster: %s", err->what);
    registration->warned = err != NULL;
}

static void refresh(void *arg)
{
    struct registration *registration = arg;
    struct buf value = {0};
    registration->own.refreshed_ms = wall_ms();
    put_entry(&value, &registration->own);
    source_kv_put(registration->source, REGISTRATION_SPACE, registration->key, value.data, on_put,
                  registration);
    buf_free(&value);
    registration->timer =
        timer_start(registration->loop, REGISTRATION_REFRESH_MS, refresh, registration);
}

static void on_cleaned(void *arg, const struct err *err)
{
    (void)arg, (void)err; /* it is stale anyway */
}

static bool has_address(const struct registration_entry *entry, const char *address)
{
    for (size_t i = 0; i < entry->address_count; i++)
        if (text_equal(entry->addresses[i], address))
            return true;
    return false;
}

/* Of a relay that was killed: nobody has refreshed it, or this one listens where it did. */
static bool is_left_over(const struct registration_entry *own,
                         const struct registration_entry *entry)
{
    bool replaced = false;
    for (size_t i = 0; i < own->address_count; i++)
        replaced = replaced || has_address(entry, own->addresses[i]);
    return wall_ms() - entry->refreshed_ms > REGISTRATION_STALE_MS ||
           (replaced && text_equal(entry->host_name, own->host_name));
}

static void on_others(void *arg, const struct err *err, const struct gcs_kv *entries, size_t count)
{
    struct registration *registration = arg;
    for (size_t i = 0; !err && i < count; i++) {
        struct registration_entry entry;
        if (text_equal(entries[i].key, registration->key) ||
            !registration_parse(&entry, entries[i].value, entries[i].len))
            continue;
        if (is_left_over(&registration->own, &entry))
            source_kv_del(registration->source, REGISTRATION_SPACE, entries[i].key, on_cleaned,
                          registration);
        registration_entry_clear(&entry);
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

static void fill(struct registration_entry *own, const struct registration_facts *facts)
{
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    own->cluster = mem_string(facts->cluster);
    own->addresses = mem_array(facts->address_count, sizeof *own->addresses);
    own->address_count = facts->address_count;
    for (size_t i = 0; i < facts->address_count; i++)
        own->addresses[i] = reachable(facts->addresses[i], facts->node_ip ? facts->node_ip : host);
    own->tls = facts->tls;
    own->fingerprint = mem_string(facts->fingerprint);
    char *text = proven_text(own);
    if (facts->auth)
        auth_proofs(facts->auth, text, own->proofs);
    free(text);
    own->host_name = mem_string(host);
    own->version = mem_string(RAYDBG_VERSION);
    own->pid = getpid();
    own->start_ticks = start_ticks(getpid());
    own->started_ms = own->refreshed_ms = wall_ms();
}

struct registration *registration_start(struct loop *loop, struct cluster *cluster,
                                        const struct registration_facts *facts)
{
    struct registration *registration = mem_alloc(sizeof *registration);
    uint8_t id[8] = {0};
    char hex[2 * sizeof id + 1];
    struct err err;
    registration->loop = loop;
    fill(&registration->own, facts);
    if (getrandom(id, sizeof id, 0) < 0)
        log_warn("no random id: %s", strerror(errno));
    text_hex(id, sizeof id, hex);
    registration->key = mem_format(REGISTRATION_PREFIX "%s", hex);
    if (auth_make_state_directory(&err) == 0)
        registration->path = choose_path(&registration->own);
    if (registration->path && !write_file(registration->path, &registration->own)) {
        free(registration->path);
        registration->path = NULL;
    }
    if (cluster) {
        registration->source = cluster_source(cluster);
        refresh(registration);
        source_kv_get_all(registration->source, REGISTRATION_SPACE, REGISTRATION_PREFIX, on_others,
                          registration);
    }
    return registration;
}

static void on_deleted(void *arg, const struct err *err)
{
    (void)err; /* it is stale soon anyway */
    *(bool *)arg = true;
}

/* Another relay may have taken the file over meanwhile. */
static void remove_file(const struct registration *registration)
{
    struct registration_entry entry;
    if (!registration->path || !read_file(&entry, registration->path))
        return;
    if (entry.pid == registration->own.pid && entry.start_ticks == registration->own.start_ticks)
        unlink(registration->path);
    registration_entry_clear(&entry);
}

void registration_stop(struct registration **registration)
{
    struct registration *it = *registration;
    if (!it)
        return;
    *registration = NULL;
    timer_cancel(&it->timer);
    remove_file(it);
    if (it->source) {
        /* Not on the stack: the answer may come when the half second is over. */
        bool *done = mem_alloc(sizeof *done);
        source_kv_forget(it->source, it);
        source_kv_del(it->source, REGISTRATION_SPACE, it->key, on_deleted, done);
        loop_run_until(it->loop, done, GOODBYE_MS);
        source_kv_forget(it->source, done);
        free(done);
    }
    registration_entry_clear(&it->own);
    free(it->key);
    free(it->path);
    free(it);
}
