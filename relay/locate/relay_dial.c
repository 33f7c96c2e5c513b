#include "relay/locate/relay_dial.h"

#include "base/text.h"
#include "dap/scan.h"
#include "relay/io/socket.h"

#include <stdlib.h>

int relay_dial_check(const struct relay_address *relay, struct err *err)
{
    if (relay->token)
        return 0;
    err_set(err, ERR_DENIED, "the job's processes would have nothing to know the relay by");
    err_why(err, "their keys are made of the relay's token, and there is none here");
    return err_hint(err, "start the relay without --token none, and give its token by "
                         "--relay-token-file or RAYDBG_TOKEN");
}

bool relay_dial_is_asked(const struct relay_address *relay)
{
    return relay->tls || relay->is_unix;
}

static bool read_dial(struct relay_dial *out, const char *json, size_t len)
{
    struct scan scan;
    struct span all;
    scan_init(&scan, json, len);
    if (!scan_value(&scan, &all))
        return false;
    char *address = scan_string_at(json, all, "processes/dial/address");
    char *fingerprint = scan_string_at(json, all, "processes/dial/fingerprint");
    bool good = address && fingerprint &&
                text_split_host_port(address, out->host, sizeof out->host, &out->port) &&
                trust_fingerprint_parse(fingerprint, out->fingerprint);
    free(address);
    free(fingerprint);
    return good;
}

int relay_dial_read(struct relay_dial *out, const struct relay_address *relay, const char *json,
                    size_t len, struct err *err)
{
    *out = (struct relay_dial){.port = relay->port};
    if (!relay_dial_is_asked(relay)) {
        text_copy(out->host, sizeof out->host, socket_ipv4_host(relay->host));
        return 0;
    }
    if (json && read_dial(out, json, len))
        return 0;
    char *text = relay_address_text(relay);
    err_set(err, ERR_FAILED, "the workers cannot dial the relay at %s", text);
    err_why(err, "it takes no agents there: they dial 127.0.0.1, or TLS without a certificate of "
                 "their own");
    free(text);
    return err_hint(err, "raydbg relay --listen 0.0.0.0:4713 --tls-cert F --tls-key F, without "
                         "--tls-client-ca; for this machine alone: raydbg relay");
}
