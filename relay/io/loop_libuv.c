#include "relay/io/loop_libuv.h"

#include "base/log.h"
#include "base/mem.h"

#include <dlfcn.h>
#include <libwebsockets.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The part of libuv's interface that is used here, the same in all versions 1.x. */
enum run { RUN_ONCE = 1, RUN_NOWAIT = 2 };

struct loop_libuv {
    void *library; /* or NULL: linked into this program */
    void *loop;
    size_t (*loop_size)(void);
    int (*loop_init)(void *loop);
    int (*run)(void *loop, enum run mode);
    int (*loop_close)(void *loop);
};

/* Far more rounds than closing takes. */
enum { SETTLE_MOST = 10000 };

#ifdef RAYDBG_LIBUV_LINKED

/* libwebsockets is linked with its part for libuv (tools/portable). */
size_t uv_loop_size(void);
int uv_loop_init(void *loop);
int uv_run(void *loop, enum run mode);
int uv_loop_close(void *loop);

static bool find_functions(struct loop_libuv *it)
{
    it->loop_size = uv_loop_size;
    it->loop_init = uv_loop_init;
    it->run = uv_run;
    it->loop_close = uv_loop_close;
    return true;
}

#else

/* Accepts only a plugin in the directory of the loaded libwebsockets: a plugin of another build
 * expects other struct layouts. libwebsockets itself looks in its installation directory. */
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

/* Copies the pointer: ISO C has no conversion from dlsym()'s data pointer to a function pointer. */
static bool find(void *library, const char *name, void *function)
{
    void *symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol;
}

static bool find_functions(struct loop_libuv *it)
{
    it->library = has_plugin() ? dlopen("libuv.so.1", RTLD_NOW | RTLD_LOCAL) : NULL;
    return it->library && find(it->library, "uv_loop_size", &it->loop_size) &&
           find(it->library, "uv_loop_init", &it->loop_init) &&
           find(it->library, "uv_run", &it->run) &&
           find(it->library, "uv_loop_close", &it->loop_close);
}

#endif

static bool load(struct loop_libuv *it)
{
    if (!find_functions(it))
        return false;
    it->loop = mem_alloc(it->loop_size());
    if (it->loop_init(it->loop) == 0)
        return true;
    free(it->loop);
    it->loop = NULL;
    return false;
}

struct loop_libuv *loop_libuv_open(struct err *err)
{
    struct loop_libuv *it = mem_alloc(sizeof *it);
    if (load(it))
        return it;
    loop_libuv_close(&it);
    err_set(err, ERR_FAILED, "libwebsockets' plugin for libuv is not installed");
    return NULL;
}

void *loop_libuv_loop(struct loop_libuv *libuv)
{
    return libuv->loop;
}

void loop_libuv_turn(struct loop_libuv *libuv)
{
    libuv->run(libuv->loop, RUN_ONCE);
}

void loop_libuv_settle(struct loop_libuv *libuv)
{
    for (int i = 0; i < SETTLE_MOST && libuv->run(libuv->loop, RUN_NOWAIT); i++)
        ;
}

void loop_libuv_close(struct loop_libuv **libuv)
{
    struct loop_libuv *it = *libuv;
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
