/* The requests that a session answers itself: the rows of the object store, and raydbg/objects. */
#include "relay/variables/variables_state.h"

#include "base/text.h"
#include "dap/message.h"
#include "relay/variables/objects_body.h"

#include <stdlib.h>

static void on_shown(void *arg, const struct object_id *id)
{
    render_object(arg, id);
}

/* --- variables --- */

static bool row_below(struct render *render, size_t number, struct buf *rows)
{
    const struct object_id *found = known_numbered(&render->it->known, number);
    if (!found)
        return false;
    struct object_id id = *found;
    render_object(render, &id);
    render_shows(render, TOLD_ALL_OF_OBJECT, &id, NULL);
    rows_describe(&render->rows, &id, rows);
    return true;
}

static void scope_rows(struct render *render, const struct row_page *page, struct buf *rows)
{
    if (!worker_objects_store(render->objects))
        render->wants |= WANTS_STORE;
    render_shows(render, TOLD_STORE, NULL, NULL);
    rows_of_scope(&render->rows, page, on_shown, render, rows);
}

/* False: there is no such row at this stop. */
static bool make_variables(struct render *render, const struct held *held, struct buf *body)
{
    struct envelope envelope;
    const char *problem;
    size_t number;
    bool found = true;
    buf_add_string(body, "{\"variables\":[");
    if (envelope_read(&envelope, held->json, held->len, &problem) != 0 ||
        !rows_read_own(held->awaited.reference, worker_objects_generation(render->objects),
                       &number)) {
        found = false;
    } else if (number) {
        found = row_below(render, number, body);
    } else {
        struct row_page page = row_page_read(held->json, envelope.arguments);
        scope_rows(render, &page, body);
    }
    buf_add_string(body, "]}");
    return found;
}

/* --- both --- */

static bool make(struct render *render, const struct held *held, struct buf *body)
{
    struct envelope envelope;
    const char *problem;
    if (held->kind == HELD_VARIABLES)
        return make_variables(render, held, body);
    if (envelope_read(&envelope, held->json, held->len, &problem) != 0)
        return false;
    struct object_list list = object_list_read(held->json, envelope.arguments);
    object_list_write(&list, &render->rows, on_shown, render, body);
    return true;
}

void variables_answer(struct variables *it, const struct held *held)
{
    struct worker_objects *objects = variables_of(it->context);
    struct client *client = it->context->client;
    struct buf body = {0};
    if (!objects) {
        client_refuse(client, held->awaited.seq, held->command, "the session has ended", false);
        return;
    }
    struct render render = variables_render(it, objects, 0);
    bool found = make(&render, held, &body);
    bool pending = variables_pending(objects) || (worker_objects_worker(objects) && render.wants);
    bool waits = found && pending && !it->flushing;
    render_end(&render, found && !waits);
    if (waits) {
        struct held copy = *held;
        copy.wants = render.wants;
        variables_hold(it, &copy);
    } else if (found) {
        client_respond(client, held->awaited.seq, held->command, body.data);
    } else {
        client_refuse(client, held->awaited.seq, held->command,
                      "this row is of an earlier stop of the worker", false);
    }
    buf_free(&body);
}
