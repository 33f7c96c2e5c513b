/* Finds the object that an array shows if its memory is the object store's: the worker itself is
 * asked, when a client expands the array. No code of the user's runs for it, except what pydevd
 * evaluates to show the same row: a path of names, subscripts and attributes. No object is fetched,
 * either: only those in the worker's own store already are looked at, and only their addresses. */
#include "relay/variables/variables_state.h"

#include "base/list.h"
#include "base/mem.h"
#include "dap/message.h"
#include "relay/hub/roles.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The worker looks at each of its references, which takes some 5 us each. */
enum { REFERENCES_LIMIT = 1000, ANSWER_MS = 2000 };

/* An expression for the ids, in hex, of the objects whose memory an array has; f gives the array's
 * addresses. Only these libraries' own types are asked for addresses: no code of the user's. One of
 * their values that is no array raises: that request fails. */
static const char before[] =
    "(lambda x,f,np,ray,w:','.join(k.decode() for A in [f(f,x,np)] if A"
    " for k in list(w.core_worker.get_all_reference_counts())"
    " for R in [ray.ObjectRef(bytes.fromhex(k.decode()))] if w.core_worker.object_exists(R)"
    " for o in w.core_worker.get_objects([R],1)"
    " if o is not None and getattr(o,'data',None) is not None"
    " for b in [np.frombuffer(o.data,'u1')] for s in [b.__array_interface__['data'][0]]"
    " if any(s<=a<s+b.size for a in A)))(";
static const char after[] =
    ",lambda f,x,np:[x.__array_interface__['data'][0]] if isinstance(x,np.ndarray) else"
    " [a for m in [type(x).__module__.split('.')[0]] if m in ('pandas','pyarrow')"
    " for a in ([b.address for b in x.buffers() if b] if m=='pyarrow' and hasattr(x,'buffers') else"
    " [a for y in (x._mgr.arrays if hasattr(x,'_mgr') else [x._ndarray] if hasattr(x,'_ndarray')"
    " else [x._pa_array] if m=='pandas' else x.chunks if hasattr(x,'chunks') else x.columns)"
    " for a in f(f,y,np)])]"
    ",__import__('numpy'),__import__('ray'),__import__('ray')._private.worker.global_worker)";

struct view_request {
    struct view_request *next;
    struct variables *it;
    int64_t generation, reference;
};

static void request_free(struct view_request *request)
{
    LIST_REMOVE(request->it->view_requests, request);
    free(request);
}

void variables_drop_views(struct variables *it)
{
    const struct member *member = it->context->member;
    while (it->view_requests) {
        if (member->hub)
            hub_drop_requests(member, it->view_requests);
        request_free(it->view_requests);
    }
}

bool array_views_pending(const struct variables *it, int64_t reference)
{
    const struct known_row *row = known_find(&it->known, reference);
    return row && row->view == VIEW_ASKED;
}

/* The first id in an answer like `'00ab…,00cd…'`. */
static bool read_answer(const char *json, const struct envelope *envelope, struct object_id *id)
{
    char *text = envelope_result(json, envelope);
    bool found = text && *text && object_id_parse(text + 1, strlen(text + 1), id);
    free(text);
    return found;
}

static void on_answer(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct view_request request = *(struct view_request *)arg;
    struct object_id id;
    struct variables *it = request.it;
    struct worker_objects *objects = variables_of(it->context);
    (void)len;
    request_free(arg);
    if (request.generation != it->generation || !objects)
        return;
    bool found = json && read_answer(json, envelope, &id);
    bool waits = false;
    for (const struct held *at = it->held; at; at = at->next)
        waits = waits || at->awaited.reference == request.reference;
    if (json && envelope->success)
        known_set_view(&it->known, request.reference, found ? &id : NULL);
    else
        known_forget_view(&it->known,
                          request.reference); /* it is asked again when it is expanded again */
    if (found)
        worker_objects_want(objects, &id);
    it->view_late = it->view_late || (found && !waits);
    variables_release(it);
    variables_announce(it, objects);
}

void variables_ask_view(struct variables *it, struct worker_objects *objects, int64_t reference)
{
    struct known_row *row = known_find(&it->known, reference);
    size_t count;
    if (!row || !row->is_array || row->view != VIEW_NOT_ASKED || !row->frame ||
        !worker_objects_count(objects, &count) || count > REFERENCES_LIMIT ||
        !roles_only_looks(row->evaluate_name))
        return;
    const struct known_row *same = known_view(&it->known, row->frame, row->evaluate_name);
    if (same) {
        struct object_id id = same->id;
        known_set_view(&it->known, reference, &id);
        return;
    }
    struct buf arguments = {0};
    char *text = mem_format("%s%s%s", before, row->evaluate_name, after);
    struct view_request *request = mem_alloc(sizeof *request);
    *request = (struct view_request){it->view_requests, it, it->generation, reference};
    it->view_requests = request;
    row->view = VIEW_ASKED;
    buf_add_string(&arguments, "{\"context\":\"watch\",\"expression\":");
    message_quote(&arguments, text);
    buf_printf(&arguments, ",\"frameId\":%" PRId64 "}", row->frame);
    hub_ask(it->context->member, "evaluate", arguments.data, ANSWER_MS, on_answer, request);
    buf_free(&arguments);
    free(text);
}
