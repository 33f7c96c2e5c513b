/* One DAP client of dapload: attaches, finds its variables, and asks for them again and again. */
#ifndef RAYDBG_LOAD_CLIENT_H
#define RAYDBG_LOAD_CLIENT_H

#include "load/canned.h"
#include "load/latency.h"
#include "load/view.h"
#include "load/wire.h"

#include <netinet/in.h>
#include <stdbool.h>

enum { CLIENT_DEPTH_MOST = 64 };

/* What all clients of a run share. */
struct load {
    int epoll;
    struct sockaddr_in to;
    enum canned body;
    unsigned depth;       /* requests that a client has open */
    unsigned threads;     /* stopped threads that a client waits for, and asks for in turn */
    bool learns;          /* the relay may change bodies: they are learned first */
    bool rewritten;       /* and it must */
    bool asks;            /* clients that are ready ask */
    bool measures;        /* answers' times are kept */
    unsigned ready;       /* clients */
    unsigned long open;   /* requests without an answer yet */
    unsigned long faults; /* each told on stderr, the first few */
    uint64_t bytes;       /* of checked bodies, while `measures` */
    struct latency latency;
};

struct client;

/* Connects; `attach` is the arguments, and stays. */
struct client *client_start(struct load *load, unsigned number, const char *attach);
void client_free(struct client *client);
/* To be called for what epoll tells of a client. */
void client_serve(struct client *client);
/* Asks, until `depth` requests are open. */
void client_fill(struct client *client);
/* A line for each request that has no answer. */
void client_tell_open(const struct client *client);

#endif
