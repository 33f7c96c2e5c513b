#include "cli/relay/run_relay.h"

#include "base/mem.h"
#include "cli/relay/relay_own.h"
#include "relay/access/agent_key.h"
#include "relay/io/socket.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWER_MS = 5000 };

int run_relay_find(struct relay_choice *choice, const struct relay_wish *wish, const char *address,
                   const char *idle, struct err *err)
{
    struct cluster_address cluster = {0};
    bool given = wish->address || getenv("RAYDBG_RELAY");
    if (cluster_address_find(&cluster, address, err) != 0) {
        if (address)
            return -1;
        cluster.text[0] = '\0';
    }
    if ((given || *cluster.text) && relay_choose(choice, wish, address, false, err) != 0)
        return -1;
    if (!choice->loop && !(choice->loop = loop_create(false, err)))
        return -1;
    if (choice->found == RELAY_NONE && !relay_own_use(&choice->relay, choice->loop, wish, &cluster,
                                                      &(struct relay_own_options){.idle = idle}))
        return err_set(err, ERR_UNREACHABLE, "there is no relay for the program's processes");
    if (relay_address_takes_agents(&choice->relay, err) != 0)
        return -1;
    return relay_answers(&choice->relay, choice->loop, ANSWER_MS, err);
}

struct agent_files_config run_relay_config(const struct relay_address *relay, const char *key_id)
{
    return (struct agent_files_config){
        .host = socket_ipv4_host(relay->host),
        .port = relay->port,
        .key_id = key_id,
        .key = agent_key_make(relay->token, key_id),
    };
}

void run_relay_forget(struct agent_files_config *config)
{
    explicit_bzero(config->key, strlen(config->key));
    free(config->key);
    config->key = NULL;
}
