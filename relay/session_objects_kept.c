#include "relay/session_objects_kept.h"

#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* A message from its rows on, with room in front for any head; offsets count from the rows. */
struct text {
    char *room; /* NULL: there is none */
    size_t len;
    size_t body_end, whole_end;
};

struct kept {
    struct kept *next;
    struct kept_basis basis;
    struct text came, sent;
};

static size_t size_of(const struct kept *kept)
{
    return kept->came.len + kept->sent.len;
}

static void text_drop(struct text *text)
{
    free(text->room);
    *text = (struct text){0};
}

static void kept_free(struct kept *kept)
{
    text_drop(&kept->came);
    text_drop(&kept->sent);
    free(kept);
}

static void drop(struct kept_list *list, struct kept **at)
{
    struct kept *kept = *at;
    *at = kept->next;
    list->bytes -= size_of(kept);
    kept_free(kept);
}

void kept_clear(struct kept_list *list)
{
    while (list->first)
        drop(list, &list->first);
    free(list->prints);
    list->prints = NULL;
    list->next_print = 0;
}

/* --- what came before --- */

enum { PRINTS = 64, PRINT_STEP = 512 };

/* Of a word each so many bytes: what it takes two of for one costs a copy, no more. Never 0. */
static uint64_t print_of(const char *bytes, size_t len)
{
    uint64_t print = len, word;
    for (size_t at = 0; len - at >= sizeof word; at += PRINT_STEP) {
        memcpy(&word, bytes + at, sizeof word);
        print = (print ^ word) * UINT64_C(0x9e3779b97f4a7c15);
        print ^= print >> 32;
        if (len - at <= PRINT_STEP)
            break;
    }
    return print | 1;
}

bool kept_came_before(struct kept_list *list, const char *rows, size_t len)
{
    uint64_t print = print_of(rows, len);
    if (!list->prints)
        list->prints = mem_array(PRINTS, sizeof *list->prints);
    for (size_t i = 0; i < PRINTS; i++)
        if (list->prints[i] == print)
            return true;
    list->prints[list->next_print] = print;
    list->next_print = (list->next_print + 1) % PRINTS;
    return false;
}

/* --- what is there --- */

static bool stands_before(struct span span, size_t at)
{
    return span.len && span.at + span.len <= at;
}

/* Steps through the members of the body itself: to look at the rows is just what is not wanted. */
static size_t find_rows(const char *json, size_t len, size_t body)
{
    struct scan scan;
    struct span key, value;
    bool begun = false;
    scan_init(&scan, json, len < KEPT_HEAD_LIMIT ? len : KEPT_HEAD_LIMIT);
    scan.at = body;
    while (scan_step_key(&scan, &begun, &key)) {
        if (scan_key_is(json, key, "variables"))
            return scan_end(&scan) ? 0 : scan.at;
        if (!scan_value(&scan, &value))
            break;
    }
    return 0;
}

size_t kept_rows(const char *json, size_t len, const struct envelope *envelope)
{
    size_t body = envelope->body.at;
    bool fits = envelope->kind == DAP_RESPONSE && envelope->success && body &&
                stands_before(envelope->seq_at, body) &&
                stands_before(envelope->request_seq_at, body) && !envelope->message.len;
    return fits ? find_rows(json, len, body) : 0;
}

struct kept *kept_begins(const struct kept_list *list, const char *rows, size_t have, size_t total)
{
    for (struct kept *at = list->first; at; at = at->next)
        if (at->came.len == total && kept_goes_on(at, 0, rows, have))
            return at;
    return NULL;
}

struct kept *kept_find(const struct kept_list *list, const char *rows, size_t len)
{
    return kept_begins(list, rows, len, len);
}

bool kept_goes_on(const struct kept *kept, size_t at, const char *bytes, size_t len)
{
    const char *own = kept->came.room + KEPT_HEAD_LIMIT + at;
    return len <= kept->came.len - at && (own == bytes || memcmp(own, bytes, len) == 0);
}

bool kept_holds(const struct kept *kept, const struct kept_basis *basis)
{
    const struct kept_basis *own = &kept->basis;
    return own->reference == basis->reference && own->frame == basis->frame &&
           own->known == basis->known && (own->facts < 0 || own->facts == basis->facts);
}

/* --- with another head --- */

static const char *text_with(const struct text *text, const char *json, size_t head_len,
                             const struct envelope *head, size_t *len, struct envelope *out)
{
    char *start = text->room + KEPT_HEAD_LIMIT - head_len;
    memmove(start, json, head_len);
    *out = *head;
    out->body.len = head_len + text->body_end - out->body.at;
    out->whole.len = head_len + text->whole_end - out->whole.at;
    *len = head_len + text->len;
    return start;
}

const char *kept_came(struct kept *kept, const char *json, size_t head_len,
                      const struct envelope *head, size_t *len, struct envelope *out)
{
    return text_with(&kept->came, json, head_len, head, len, out);
}

const char *kept_sent(struct kept *kept, const char *json, size_t head_len,
                      const struct envelope *head, size_t *len, struct envelope *out)
{
    return kept->sent.room ? text_with(&kept->sent, json, head_len, head, len, out) : NULL;
}

/* --- keeping --- */

/* `grown`: the bytes that the body has more than in the message of that envelope. */
static struct text text_of(const char *json, size_t len, size_t rows,
                           const struct envelope *envelope, size_t grown, struct buf *room)
{
    struct text text = {.len = len - rows};
    if (room) {
        text.room = buf_take(room);
    } else {
        text.room = mem_resize(NULL, KEPT_HEAD_LIMIT + text.len, 1);
        memcpy(text.room + KEPT_HEAD_LIMIT, json + rows, text.len);
    }
    text.body_end = envelope->body.at + envelope->body.len + grown - rows;
    text.whole_end = envelope->whole.at + envelope->whole.len + grown - rows;
    return text;
}

static struct kept *append(struct kept_list *list, const char *json, size_t len, size_t rows,
                           const struct envelope *envelope, struct buf *room)
{
    struct kept *kept = mem_alloc(sizeof *kept), **last = &list->first;
    *kept = (struct kept){.came = text_of(json, len, rows, envelope, 0, room)};
    list->bytes += size_of(kept);
    while (*last)
        last = &(*last)->next;
    return *last = kept;
}

void kept_put(struct kept_list *list, const struct kept_basis *basis, const char *json, size_t len,
              const struct envelope *envelope, const struct buf *edited, struct buf *room)
{
    size_t rows = kept_rows(json, len, envelope);
    if (len < KEPT_LEAST || len + edited->len > KEPT_BYTES || !rows)
        return;
    struct kept *kept = kept_find(list, json + rows, len - rows);
    if (!kept)
        kept = append(list, json, len, rows, envelope, room);
    kept->basis = *basis;
    list->bytes -= kept->sent.len;
    text_drop(&kept->sent);
    if (edited->len)
        kept->sent = text_of(edited->data, edited->len, rows, envelope, edited->len - len, NULL);
    list->bytes += kept->sent.len;
    for (struct kept **at = &list->first; list->bytes > KEPT_BYTES && *at;)
        if (*at == kept)
            at = &kept->next;
        else
            drop(list, at);
    list->used = true;
}
