/* The modules of all debuggees: a module that several have is one for the client. */
#include "relay/many/many_state.h"

#include "base/hash.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct module {
    uint64_t hash; /* of the key */
    char *key;     /* name, path and version as JSON: equal keys are one module */
    char *rest;    /* `,"name":"app",…`: all but the id */
    int64_t id;    /* the client's */
    bool told;     /* by an event: its end is announced, too */
    uint32_t *slots;
    size_t slot_count;
};

struct many_modules {
    struct many *many;
    struct module *all; /* in the order in which they turned up */
    size_t count;
};

struct many_modules *many_modules_create(struct many *many)
{
    struct many_modules *modules = mem_alloc(sizeof *modules);
    modules->many = many;
    return modules;
}

static void module_clear(struct module *module)
{
    free(module->key);
    free(module->rest);
    free(module->slots);
}

void many_modules_destroy(struct many_modules **modules)
{
    struct many_modules *it = *modules;
    if (!it)
        return;
    *modules = NULL;
    for (size_t i = 0; i < it->count; i++)
        module_clear(&it->all[i]);
    free(it->all);
    free(it);
}

/* --- the table --- */

static char *key_of(const char *json, struct span row)
{
    static const char *const members[] = {"name", "path", "version"};
    struct buf key = {0};
    struct span at;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        if (scan_find(json, row, members[i], &at))
            buf_add(&key, json + at.at, at.len);
        buf_add_string(&key, ",");
    }
    return buf_take(&key);
}

static char *rest_of(const char *json, struct span row)
{
    struct buf rest = {0};
    struct span key, value;
    size_t cursor = 0;
    while (scan_member(json, row, &cursor, &key, &value)) {
        if (scan_key_is(json, key, "id"))
            continue;
        buf_printf(&rest, ",%.*s:", (int)key.len, json + key.at);
        buf_add(&rest, json + value.at, value.len);
    }
    buf_add_string(&rest, "");
    return buf_take(&rest);
}

/* Takes ownership of the key. */
static struct module *module_for(struct many_modules *modules, char *key)
{
    uint64_t hash = hash_text(key, 0);
    for (size_t i = 0; i < modules->count; i++) {
        struct module *at = &modules->all[i];
        if (at->hash == hash && text_equal(at->key, key)) {
            free(key);
            return at;
        }
    }
    modules->all = mem_resize(modules->all, modules->count + 1, sizeof *modules->all);
    struct module *module = &modules->all[modules->count++];
    *module = (struct module){.hash = hash, .key = key};
    return module;
}

static bool has_slot(const struct module *module, uint32_t slot)
{
    for (size_t i = 0; i < module->slot_count; i++)
        if (module->slots[i] == slot)
            return true;
    return false;
}

/* The first debuggee that has the module gives it its id; other debuggees' ids are aliases of that.
 * NULL if the row is not a module. */
static struct module *note(struct many_modules *modules, const struct many_task *task,
                           const char *json, struct span row)
{
    struct idmap *ids = modules->many->ids;
    int64_t own;
    if (json[row.at] != '{' || !scan_integer_at(json, row, "id", &own))
        return NULL;
    struct module *module = module_for(modules, key_of(json, row));
    if (!module->id)
        module->id = idmap_out(ids, task->slot, ID_MODULE, own, 0);
    else
        idmap_alias(ids, task->slot, ID_MODULE, own, module->id);
    if (!module->rest)
        module->rest = rest_of(json, row);
    if (!has_slot(module, task->slot)) {
        module->slots = mem_resize(module->slots, module->slot_count + 1, sizeof *module->slots);
        module->slots[module->slot_count++] = task->slot;
    }
    return module;
}

/* --- events --- */

static void tell(const struct many_modules *modules, const struct module *module,
                 const char *reason)
{
    struct buf body = {0};
    buf_printf(&body, "{\"reason\":\"%s\",\"module\":{\"id\":%" PRId64 "%s}}", reason, module->id,
               module->rest);
    client_event(modules->many->client, "module", body.data);
    buf_free(&body);
}

/* The debuggee has the module no more; with the last debuggee the module is gone. */
static void leave(struct many_modules *modules, size_t index, uint32_t slot)
{
    struct module *module = &modules->all[index];
    for (size_t i = 0; i < module->slot_count; i++)
        if (module->slots[i] == slot)
            module->slots[i--] = module->slots[--module->slot_count];
    if (module->slot_count)
        return;
    struct module gone = *module;
    invariant(modules->count > 0);
    modules->count--;
    memmove(module, module + 1, (modules->count - index) * sizeof *module);
    if (gone.told && !modules->many->leaving)
        tell(modules, &gone, "removed");
    module_clear(&gone);
}

void many_modules_event(struct many_modules *modules, const struct many_task *task,
                        const char *json, const struct envelope *event)
{
    struct span row, at;
    if (!event->body.len || !scan_find(json, event->body, "module", &row))
        return;
    struct module *module = note(modules, task, json, row);
    bool removed =
        scan_find(json, event->body, "reason", &at) && scan_string_is(json, at, "removed");
    if (module && removed) {
        leave(modules, (size_t)(module - modules->all), task->slot);
    } else if (module && !module->told) {
        module->told = true;
        tell(modules, module, "new");
    }
}

void many_modules_answer(struct many_modules *modules, const struct many_task *task,
                         const char *json, const struct envelope *response)
{
    struct span list, row;
    size_t cursor = 0;
    if (!response->body.len || !scan_find(json, response->body, "modules", &list) ||
        json[list.at] != '[')
        return;
    while (scan_element(json, list, &cursor, &row))
        note(modules, task, json, row);
}

void many_modules_body(const struct many_modules *modules, int64_t start, int64_t count,
                       struct buf *out)
{
    bool any = false;
    buf_add_string(out, "{\"modules\":[");
    for (size_t i = start > 0 ? (size_t)start : 0; i < modules->count; i++) {
        if (count > 0 && (int64_t)i - start >= count)
            break;
        buf_printf(out, "%s{\"id\":%" PRId64 "%s}", any ? "," : "", modules->all[i].id,
                   modules->all[i].rest);
        any = true;
    }
    buf_printf(out, "],\"totalModules\":%zu}", modules->count);
}

void many_modules_gone(struct many_modules *modules, const struct many_task *task)
{
    for (size_t i = modules->count; i-- > 0;)
        if (has_slot(&modules->all[i], task->slot))
            leave(modules, i, task->slot);
}
