#include "cli/relay/run_relay.h"

#include "base/buf.h"
#include "base/mem.h"
#include "cli/common/relay_ask.h"
#include "cli/relay/relay_own.h"
#include "relay/access/agent_key.h"

#include <stdlib.h>
#include <string.h>

enum { ANSWER_MS = 5000 };

static int find_dial(struct run_relay *out, struct err *err)
{
    const struct relay_choice *choice = &out->choice;
    struct buf look = {0}, body = {0};
    int result = relay_dial_check(&choice->relay, err);
    if (result == 0 && !relay_dial_is_asked(&choice->relay))
        result = relay_answers(&choice->relay, choice->loop, ANSWER_MS, err);
    else if (result == 0 &&
             (relay_ask(choice->loop, &choice->relay, "GET", RELAY_DIAL_LOOK, NULL, &look, err) ||
              relay_ask(choice->loop, &choice->relay, "GET", RELAY_DIAL_PATH, NULL, &body, err)))
        result = -1;
    if (result == 0)
        result = relay_dial_read(&out->dial, &choice->relay, body.data, body.len, err);
    buf_free(&look);
    buf_free(&body);
    return result;
}

int run_relay_find(struct run_relay *out, const struct relay_wish *wish, const char *address,
                   const char *idle, struct err *err)
{
    struct relay_choice *choice = &out->choice;
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
    return find_dial(out, err);
}

struct agent_files_config run_relay_config(const struct run_relay *relay, const char *key_id)
{
    return (struct agent_files_config){
        .host = relay->dial.host,
        .port = relay->dial.port,
        .fingerprint = relay->dial.fingerprint,
        .key_id = key_id,
        .key = agent_key_make(relay->choice.relay.token, key_id),
    };
}

void run_relay_forget(struct agent_files_config *config)
{
    explicit_bzero(config->key, strlen(config->key));
    free(config->key);
    config->key = NULL;
}
