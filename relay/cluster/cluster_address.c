#include "relay/cluster/cluster_address.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_FILE = 256, MAX_COMMAND_LINE = 65536, GCS_PORT = 6379, DASHBOARD_PORT = 8265 };

/* Copies `text` without surrounding white space; false if nothing is left or it does not fit. */
static bool trim(char *out, size_t size, const char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    size_t len = strlen(text);
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    if (len == 0 || len >= size)
        return false;
    memcpy(out, text, len);
    out[len] = '\0';
    return true;
}

static int refuse(const struct cluster_address *address, struct err *err, const char *text,
                  const char *why)
{
    char *shown = text_printable(text, strlen(text), ""); /* any user may write to /tmp */
    err_set(err, ERR_USAGE, "%s: \"%s\" is not an address to reach a cluster by", address->source,
            shown);
    free(shown);
    err_why(err, "%s", why);
    err_hint(err, "give the GCS as HOST:%d, or the dashboard as http://HOST:%d", GCS_PORT,
             DASHBOARD_PORT);
    return -1;
}

static bool is_url(const char *text)
{
    return text_starts(text, "http://") || text_starts(text, "https://");
}

/* Accepts a URL copied from a browser's address bar: drops the fragment ("/#/overview") and
 * trailing slashes. */
static int set_dashboard(struct cluster_address *address, const char *text, struct err *err)
{
    address->kind = CLUSTER_ADDRESS_DASHBOARD;
    text_copy(address->text, sizeof address->text, text);
    address->text[strcspn(address->text, "#")] = '\0';
    char *host = strstr(address->text, "://") + 3;
    if (strchr(host, '?'))
        return refuse(address, err, text, "a dashboard's URL has no query (?…)");
    if (strchr(host, '@'))
        return refuse(address, err, text,
                      "a user or password in the URL is not supported; Ray's token is read from "
                      "RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token");
    size_t len = strlen(host);
    while (len && host[len - 1] == '/')
        host[--len] = '\0';
    for (const char *c = host; *c; c++)
        if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c))
            return refuse(address, err, text, "there is white space in it");
    char authority[512], name[512];
    uint16_t port;
    text_copy(authority, sizeof authority, host);
    authority[strcspn(authority, "/")] = '\0';
    bool bare = *authority && !strchr(authority, ':');
    if (!bare && !text_ends(authority, "]") &&
        !text_split_host_port(authority, name, sizeof name, &port))
        return refuse(address, err, text, "its host or port makes no sense");
    return 0;
}

/* `text` is trimmed, not "auto", and shorter than address->text. */
static int set_address(struct cluster_address *address, const char *text, struct err *err)
{
    char host[256];
    uint16_t port;
    if (is_url(text))
        return set_dashboard(address, text, err);
    if (text_starts(text, "ray://"))
        return refuse(address, err, text,
                      "ray:// is the port of Ray Client, which runs drivers and tells nothing of "
                      "workers");
    if (strstr(text, "://"))
        return refuse(address, err, text, "only http:// and https:// URLs are understood");
    if (text_equal(text, "local"))
        return refuse(address, err, text, "\"local\" asks Ray to start a new cluster");
    const char *colon = strrchr(text, ':');
    for (const char *c = text; colon && c < colon; c++)
        if (isspace((unsigned char)*c) || iscntrl((unsigned char)*c) || *c == '/')
            return refuse(address, err, text, "its host makes no sense");
    if (!text_split_host_port(text, host, sizeof host, &port))
        return refuse(address, err, text, "it is not HOST:PORT");
    address->kind = CLUSTER_ADDRESS_GCS;
    char *joined = text_join_host_port(host, port);
    text_copy(address->text, sizeof address->text, joined);
    free(joined);
    return 0;
}

/* Returns 1 if the value is set and valid, 0 if it gives no address (unset, empty or "auto"), -1
 * with `err`. */
static int try_value(struct cluster_address *address, const char *source, const char *value,
                     struct err *err)
{
    char text[sizeof address->text];
    text_copy(address->source, sizeof address->source, source);
    if (!value || value[strspn(value, " \t\r\n")] == '\0')
        return 0;
    if (!trim(text, sizeof text, value))
        return refuse(address, err, "…", "it is too long");
    if (text_equal(text, "auto"))
        return 0;
    return set_address(address, text, err) < 0 ? -1 : 1;
}

/* Reads at most size - 1 bytes; NUL-terminates. Negative if the file cannot be read. */
static ssize_t read_file(const char *path, char *out, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -1;
    size_t len = 0;
    ssize_t got;
    while (len < size - 1 && (got = read(fd, out + len, size - 1 - len)) != 0) {
        if (got < 0 && errno != EINTR)
            break;
        len += got > 0 ? (size_t)got : 0;
    }
    close(fd);
    out[len] = '\0';
    return (ssize_t)len;
}

/* `ray start` writes the GCS's address to this file; a missing or empty file is not an error. */
static int try_file(struct cluster_address *address, struct err *err)
{
    static const char *const bases[] = {"RAY_TMPDIR", "TMPDIR"};
    const char *base = NULL;
    for (size_t i = 0; i < sizeof bases / sizeof *bases && text_empty(base); i++)
        base = getenv(bases[i]);
    char *path = mem_format("%s/ray/ray_current_cluster", text_empty(base) ? "/tmp" : base);
    char text[MAX_FILE];
    int result = 0;
    if (read_file(path, text, sizeof text) >= 0)
        result = try_value(address, path, text, err);
    free(path);
    return result;
}

/* The value of --gcs-address= if the command line (NUL between arguments) is a raylet's. */
static const char *raylet_gcs(const char *command, size_t len)
{
    static const char option[] = "--gcs-address=";
    if (!text_equal(text_basename(command), "raylet"))
        return NULL;
    for (size_t at = 0; at < len; at += strlen(command + at) + 1)
        if (text_starts(command + at, option))
            return command + at + sizeof option - 1;
    return NULL;
}

struct found {
    char **items;
    size_t count;
};

static void found_add(struct found *found, const char *text)
{
    for (size_t i = 0; i < found->count; i++)
        if (text_equal(found->items[i], text))
            return;
    found->items = mem_resize(found->items, found->count + 1, sizeof *found->items);
    found->items[found->count++] = mem_string(text);
}

static void find_raylets(struct found *found, const char *proc)
{
    DIR *dir = opendir(proc);
    char *command = mem_alloc(MAX_COMMAND_LINE);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        if (!isdigit((unsigned char)entry->d_name[0]))
            continue;
        char *path = mem_format("%s/%s/cmdline", proc, entry->d_name);
        ssize_t len = read_file(path, command, MAX_COMMAND_LINE);
        free(path);
        const char *gcs = len > 0 ? raylet_gcs(command, (size_t)len) : NULL;
        if (!text_empty(gcs))
            found_add(found, gcs);
    }
    free(command);
    if (dir)
        closedir(dir);
}

static int several(const struct found *found, struct err *err)
{
    struct buf list = {0};
    for (size_t i = 0; i < found->count; i++) {
        char *text = text_printable(found->items[i], strlen(found->items[i]), "");
        buf_printf(&list, "%s%s", i ? ", " : "", text);
        free(text);
    }
    err_set(err, ERR_USAGE, "there are raylets of %zu Ray clusters on this machine", found->count);
    err_why(err, "%s", list.data);
    err_hint(err, "say which with --address, or with an editor's attach argument \"address\"");
    buf_free(&list);
    return -1;
}

int cluster_address_from_raylets(struct cluster_address *address, const char *proc, struct err *err)
{
    struct found found = {0};
    find_raylets(&found, proc);
    int result;
    if (found.count > 1) {
        result = several(&found, err);
    } else if (found.count == 1) {
        result = try_value(address, "a raylet's command line", found.items[0], err);
        if (result == 0)
            result = refuse(address, err, found.items[0], "it names no cluster");
        result = result < 0 ? -1 : 0;
    } else {
        result = err_set(err, ERR_UNREACHABLE, "no Ray cluster was found");
        err_why(err,
                "there is no --address, RAY_ADDRESS or ray_current_cluster file, and no raylet "
                "runs on this machine");
        err_hint(err,
                 "give --address HOST:%d (the GCS) or http://HOST:%d (the dashboard); in an editor "
                 "the attach argument \"address\", in VS Code \"Add Cluster\"",
                 GCS_PORT, DASHBOARD_PORT);
    }
    for (size_t i = 0; i < found.count; i++)
        free(found.items[i]);
    free(found.items);
    return result;
}

int cluster_address_find(struct cluster_address *address, const char *given, struct err *err)
{
    *address = (struct cluster_address){0};
    bool automatic = false;
    const struct {
        const char *source, *value;
    } said[] = {
        {"--address", given},
        {"RAY_ADDRESS", getenv("RAY_ADDRESS")},
        {"RAY_API_SERVER_ADDRESS", getenv("RAY_API_SERVER_ADDRESS")},
    };
    for (size_t i = 0; i < sizeof said / sizeof *said && !automatic; i++) {
        int result = try_value(address, said[i].source, said[i].value, err);
        if (result)
            return result < 0 ? -1 : 0;
        automatic = !text_empty(said[i].value); /* "auto", or blank */
    }
    int result = try_file(address, err);
    return result ? (result < 0 ? -1 : 0) : cluster_address_from_raylets(address, "/proc", err);
}
