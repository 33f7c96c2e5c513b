/* What a relay's registration says, from the cluster's store or from a file, and the addresses in
 * it: an entry that is taken is whole, and an address that is taken is written as it is read. */
#include "fuzz.h"

#include "base/mem.h"
#include "proto/proxy.h"
#include "relay/locate/relay_address.h"
#include "relay/locate/relay_registration.h"

static void try_address(const char *text)
{
    struct relay_address address, again;
    struct err err = {0};
    if (relay_address_parse(&address, text, &err) != 0) {
        check(err.what[0] && err.code == ERR_USAGE);
        relay_address_clear(&address);
        return;
    }
    check(address.host[0] && (address.is_unix || address.port));
    check(address.is_unix || address.tls || proxy_is_loopback(address.host));
    char *written = relay_address_text(&address);
    check(relay_address_parse(&again, written, &err) == 0);
    check(strcmp(again.host, address.host) == 0 && again.port == address.port);
    check(again.tls == address.tls && again.is_unix == address.is_unix);
    free(written);
    relay_address_clear(&address);
    relay_address_clear(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct relay_registration_entry entry;
    char *json = copy_exact(data, size), *text = mem_string_n(json, size);
    try_address(text);
    if (relay_registration_parse(&entry, json, size)) {
        check(entry.address_count && entry.pid > 0);
        for (size_t i = 0; i < entry.address_count; i++)
            try_address(entry.addresses[i]);
        relay_registration_lives(&entry);
        relay_registration_proves(&entry, "0123456789abcdef");
        relay_registration_entry_clear(&entry);
    }
    free(text);
    free(json);
    return 0;
}
