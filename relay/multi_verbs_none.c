/* A multi without groups. */
#include "relay/multi_state.h"

struct multi_verbs *multi_verbs_create(struct multi *multi)
{
    (void)multi;
    return NULL;
}

void multi_verbs_destroy(struct multi_verbs **verbs)
{
    *verbs = NULL;
}

bool multi_verbs_request(struct multi_verbs *verbs, const char *json, size_t len,
                         const struct envelope *envelope)
{
    (void)verbs, (void)json, (void)len, (void)envelope;
    return false;
}

bool multi_verbs_stopped(struct multi_verbs *verbs, struct multi_target *target,
                         struct multi_thread *thread)
{
    (void)verbs, (void)target, (void)thread;
    return false;
}

void multi_verbs_joined(struct multi_verbs *verbs, struct multi_target *target)
{
    (void)verbs, (void)target;
}

void multi_verbs_gone(struct multi_verbs *verbs, struct multi_target *target)
{
    (void)verbs, (void)target;
}
