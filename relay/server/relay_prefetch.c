/* Puts `prefetch` between a relay's client and its session. */
#include "relay/server/relay_state.h"

#include <string.h>

static void ask(void *arg, const char *json, size_t len)
{
    const struct relay_client *client = relay_client_checked(arg);
    session_receive(client->session, json, len);
}

static void send(void *arg, const char *json, size_t len)
{
    struct relay_client *client = relay_client_checked(arg);
    if (client->part_left) {
        buf_add(&client->late, &len, sizeof len);
        buf_add(&client->late, json, len);
    } else {
        relay_client_send(client, json, len);
    }
}

void relay_client_part(struct relay_client *client, size_t len)
{
    client->part_left -= len < client->part_left ? len : client->part_left;
    if (client->part_left || !client->late.len)
        return;
    struct buf late = client->late;
    client->late = (struct buf){0};
    for (size_t at = 0, size; at < late.len; at += size) {
        memcpy(&size, late.data + at, sizeof size);
        at += sizeof size;
        relay_client_send(client, late.data + at, size);
    }
    buf_free(&late);
}

static size_t queued(void *arg)
{
    const struct relay_client *client = relay_client_checked(arg);
    return client->conn ? conn_queued(client->conn) : SIZE_MAX;
}

static bool drives(void *arg)
{
    const struct relay_client *client = relay_client_checked(arg);
    return session_drives(client->session);
}

static const struct prefetch_ops prefetch_ops = {
    .ask = ask,
    .send = send,
    .queued = queued,
    .drives = drives,
};

void relay_client_receive(struct relay_client *client, const char *json, size_t len)
{
    if (!client->heard && prefetch_is_offered(json, len))
        client->prefetch = prefetch_create(client->relay->loop, &prefetch_ops, client);
    client->heard = true;
    if (!prefetch_from_client(client->prefetch, json, len))
        session_receive(client->session, json, len);
}

bool relay_client_withholds(struct relay_client *client, const char *head, size_t head_len,
                            const char *rest, size_t rest_len)
{
    struct buf whole = {0};
    if (!rest_len)
        return prefetch_to_client(client->prefetch, head, head_len);
    if (!prefetch_waits(client->prefetch))
        return false;
    buf_add(&whole, head, head_len);
    buf_add(&whole, rest, rest_len);
    bool withholds = prefetch_to_client(client->prefetch, whole.data, whole.len);
    buf_free(&whole);
    return withholds;
}
