#include "relay/evidence/node_agent.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/cluster/ray_source.h"

#include <stdlib.h>
#include <string.h>

/* A search in the cluster's key-value store. */
struct node_agent {
    struct cluster *cluster;
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char *ip;
    const char *purpose;
    node_agent_fn fn;
    void *arg;
    bool older; /* the key of Ray before 2.44 was asked for */
};

static void agent_free(struct node_agent *agent)
{
    free(agent->ip);
    free(agent);
}

void node_agent_cancel(struct node_agent **agent)
{
    struct node_agent *it = *agent;
    if (!it)
        return;
    *agent = NULL;
    ray_source_kv_forget(cluster_source(it->cluster), it);
    agent_free(it);
}

static void found(struct node_agent *agent, uint16_t port)
{
    char *address = text_join_host_port(agent->ip, port);
    node_agent_fn fn = agent->fn;
    void *arg = agent->arg;
    agent_free(agent);
    fn(arg, NULL, address);
    free(address);
}

static void failed(struct node_agent *agent, const struct err *cause)
{
    struct err err;
    node_agent_fn fn = agent->fn;
    void *arg = agent->arg;
    err_set(&err, ERR_NOT_FOUND, "the agent of node %s, which gives %s, is not known", agent->ip,
            agent->purpose);
    err_why(&err, "%s",
            cause ? cause->what
                  : "the cluster has no address of it; Ray without the extra [default] has none");
    agent_free(agent);
    fn(arg, &err, NULL);
}

static void ask_store(struct node_agent *agent, bool older);

static void on_entries(void *arg, const struct err *err, const struct gcs_kv *entries, size_t count)
{
    struct node_agent *agent = arg;
    uint16_t port = count ? agent_client_port(entries[0].value, entries[0].len) : 0;
    if (port)
        found(agent, port);
    else if (!err && !agent->older)
        ask_store(agent, true);
    else
        failed(agent, err);
}

static void ask_store(struct node_agent *agent, bool older)
{
    char keys[2][AGENT_KEY_TEXT];
    agent_client_keys(agent->node_id, keys[0], keys[1]);
    agent->older = older;
    ray_source_kv_get_all(cluster_source(agent->cluster), "dashboard", keys[older], on_entries,
                          agent);
}

struct node_agent *node_agent_find(struct cluster *cluster, const struct ray_node *node,
                                   const char *purpose, node_agent_fn fn, void *arg)
{
    struct err err;
    if (!node->is_alive) {
        err_set(&err, ERR_UNREACHABLE,
                "node %s cannot be asked for %s: it is dead, and its agent with it", node->ip,
                purpose);
        fn(arg, &err, NULL);
        return NULL;
    }
    if (node->agent_port) {
        char *address = text_join_host_port(node->ip, node->agent_port);
        fn(arg, NULL, address);
        free(address);
        return NULL;
    }
    struct node_agent *agent = mem_alloc(sizeof *agent);
    *agent = (struct node_agent){
        .cluster = cluster, .ip = mem_string(node->ip), .purpose = purpose, .fn = fn, .arg = arg};
    text_copy(agent->node_id, sizeof agent->node_id, node->node_id);
    ask_store(agent, false);
    return agent;
}
