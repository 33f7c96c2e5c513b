/* What a pdb says until it is an adapter: at once and in pieces the same is found, at the same
 * byte. "@" stands for the token; the first byte says how long the pieces are. */
#include "fuzz.h"

#include "relay/debuggee/pdb_install.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static void init(struct pdb_install *install)
{
    *install = (struct pdb_install){0};
    memcpy(install->token, TOKEN, sizeof TOKEN);
}

static void expand(const uint8_t *data, size_t size, struct buf *out)
{
    buf_add_string(out, "");
    for (size_t i = 0; i < size; i++) {
        if (data[i] == '@')
            buf_add_string(out, TOKEN);
        else
            buf_add(out, data + i, 1);
    }
}

static void check_found(const struct buf *text, enum pdb_install_status status, size_t used,
                        const char *problem)
{
    static const char marker[] = "\002" TOKEN;
    const char *at = memmem(text->data, text->len, marker, sizeof marker - 1);
    if (status == PDB_INSTALL_MORE) {
        check(used == text->len);
        return;
    }
    check(at && used > (size_t)(at - text->data) && text->data[used - 1] == '\003');
    check(status != PDB_INSTALL_FAILED || strlen(problem) < 256);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct pdb_install whole, pieces;
    struct buf text = {0};
    size_t used, used_pieces = 0, step, took;
    enum pdb_install_status in_pieces = PDB_INSTALL_MORE;
    if (size < 1)
        return 0;
    init(&whole);
    init(&pieces);
    expand(data + 1, size - 1, &text);
    enum pdb_install_status status = pdb_install_feed(&whole, text.data, text.len, &used);
    check_found(&text, status, used, pdb_install_problem(&whole));
    step = 1 + data[0] % 32;
    while (in_pieces == PDB_INSTALL_MORE && used_pieces < text.len) {
        size_t len = text.len - used_pieces < step ? text.len - used_pieces : step;
        in_pieces = pdb_install_feed(&pieces, text.data + used_pieces, len, &took);
        check(took <= len && (in_pieces != PDB_INSTALL_MORE || took == len));
        used_pieces += took;
    }
    check(in_pieces == status && used_pieces == used);
    check(strcmp(pdb_install_problem(&whole), pdb_install_problem(&pieces)) == 0);
    pdb_install_clear(&whole);
    pdb_install_clear(&pieces);
    buf_free(&text);
    return 0;
}
