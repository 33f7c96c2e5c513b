/* Where a relay's client and its session have `ahead` between them. */
#include "relay/relay_state.h"

#include <string.h>

static void ask(void *arg, const char *json, size_t len)
{
    const struct relay_client *client = arg;
    session_receive(client->session, json, len);
}

static void send(void *arg, const char *json, size_t len)
{
    struct relay_client *client = arg;
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
    const struct relay_client *client = arg;
    return client->conn ? conn_queued(client->conn) : SIZE_MAX;
}

static bool drives(void *arg)
{
    const struct relay_client *client = arg;
    return session_drives(client->session);
}

static const struct ahead_ops ahead_ops = {
    .ask = ask,
    .send = send,
    .queued = queued,
    .drives = drives,
};

void relay_client_receive(struct relay_client *client, const char *json, size_t len)
{
    if (!client->heard && ahead_is_offered(json, len))
        client->ahead = ahead_create(client->relay->loop, &ahead_ops, client);
    client->heard = true;
    if (!ahead_from_client(client->ahead, json, len))
        session_receive(client->session, json, len);
}

bool relay_client_withholds(struct relay_client *client, const char *head, size_t head_len,
                            const char *rest, size_t rest_len)
{
    struct buf whole = {0};
    if (!rest_len)
        return ahead_to_client(client->ahead, head, head_len);
    if (!ahead_waits(client->ahead))
        return false;
    buf_add(&whole, head, head_len);
    buf_add(&whole, rest, rest_len);
    bool withholds = ahead_to_client(client->ahead, whole.data, whole.len);
    buf_free(&whole);
    return withholds;
}
