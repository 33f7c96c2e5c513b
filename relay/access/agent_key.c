#include "relay/access/agent_key.h"

#include "base/mem.h"
#include "relay/access/proof.h"

#include <stdlib.h>
#include <string.h>

/* No proof under the token begins like this (relay/access/proof.c). */
static char *text_of(const char *id)
{
    return mem_format("raydbg agent key\n%s\n", id);
}

bool agent_key_is_id(const char *id)
{
    return proof_is_hex(id, AGENT_KEY_ID_ROOM - 1);
}

void agent_key_id_for(const char *token, const char *purpose, char id[AGENT_KEY_ID_ROOM])
{
    char *text = mem_format("raydbg agent key id\n%s\n", purpose), *proof = auth_proof(token, text);
    memcpy(id, proof, AGENT_KEY_ID_ROOM - 1);
    id[AGENT_KEY_ID_ROOM - 1] = '\0';
    free(proof);
    free(text);
}

char *agent_key_make(const char *token, const char *id)
{
    char *text = text_of(id), *key = auth_proof(token, text);
    free(text);
    return key;
}

char *agent_key_of(const struct auth *auth, const char *id)
{
    char *keys[2];
    if (auth_is_open(auth) || !agent_key_is_id(id))
        return NULL;
    char *text = text_of(id);
    auth_proofs(auth, text, keys);
    free(text);
    free(keys[1]);
    return keys[0];
}
