#include "relay/libuv.h"

#include "base/log.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The part of libuv 1's interface that is needed, which is the same in all its versions. */
enum run { RUN_ONCE = 1, RUN_NOWAIT = 2 };

struct libuv {
    void *library;
    void *loop;
    size_t (*loop_size)(void);
    int (*loop_init)(void *loop);
    int (*run)(void *loop, enum run mode);
    int (*loop_close)(void *loop);
};

/* More rounds than closing takes, by far. */
enum { SETTLE_MOST = 10000 };

/* Only the plugin that lies beside the libwebsockets that is loaded belongs to it: another's takes
 * its structures for others. libwebsockets itself looks in the directory it was installed to. */
static bool has_plugin(void)
{
    Dl_info info;
    if (!dladdr((const void *)(uintptr_t)&lws_service, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/');
    if (!slash)
        return false;
    char *path =
        mem_format("%.*s/libwebsockets-evlib_uv.so", (int)(slash - info.dli_fname), info.dli_fname);
    bool found = access(path, R_OK) == 0;
    free(path);
    return found;
}

/* dlsym() gives a data pointer, which ISO C does not let one convert to a function's. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

static bool load(struct libuv *it)
{
    it->library = has_plugin() ? dlopen("libuv.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!it->library || !find(it->library, "uv_loop_size", &it->loop_size) ||
        !find(it->library, "uv_loop_init", &it->loop_init) ||
        !find(it->library, "uv_run", &it->run) ||
        !find(it->library, "uv_loop_close", &it->loop_close))
        return false;
    it->loop = mem_alloc(it->loop_size());
    if (it->loop_init(it->loop) == 0)
        return true;
    free(it->loop);
    it->loop = NULL;
    return false;
}

struct libuv *libuv_open(struct err *err)
{
    struct libuv *it = mem_alloc(sizeof *it);
    if (load(it))
        return it;
    libuv_close(&it);
    err_set(err, ERR_FAILED, "libwebsockets' plugin for libuv is not installed");
    return NULL;
}

void *libuv_loop(struct libuv *libuv)
{
    return libuv->loop;
}

void libuv_turn(struct libuv *libuv)
{
    libuv->run(libuv->loop, RUN_ONCE);
}

void libuv_settle(struct libuv *libuv)
{
    for (int i = 0; i < SETTLE_MOST && libuv->run(libuv->loop, RUN_NOWAIT); i++)
        ;
}

void libuv_close(struct libuv **libuv)
{
    struct libuv *it = *libuv;
    if (!it)
        return;
    *libuv = NULL;
    if (it->loop && it->loop_close(it->loop) != 0)
        log_debug("libuv's loop has handles left");
    free(it->loop);
    if (it->library)
        dlclose(it->library);
    free(it);
}
