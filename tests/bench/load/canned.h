/* The bodies of `variables` responses, the same in fakeadapter and in dapload: what the one sends
 * the other compares byte by byte. A body is CANNED_FRONT, the request's tag, and the kind's own
 * text; in that of some kinds each row is new each time (load/stamps.h). */
#ifndef RAYDBG_LOAD_CANNED_H
#define RAYDBG_LOAD_CANNED_H

#include <stdbool.h>
#include <stddef.h>

#define CANNED_FRONT "{\"tag\": \""
enum { CANNED_TAG = 16, CANNED_FIRST_REFERENCE = 1001 };

enum canned {
    CANNED_200,
    CANNED_10K,
    CANNED_1M,
    CANNED_20M,
    CANNED_REFS_10K,
    CANNED_REFS_1M,
    CANNED_NEW_10K,
    CANNED_NEW_1M,
    CANNED_NEW_REFS_10K,
    CANNED_NEW_REFS_1M,
};
enum { CANNED_KINDS = CANNED_NEW_REFS_1M + 1 };

struct canned_text {
    const char *data;
    size_t len;
};

/* As scopes are called and dapload's --body names them: "200", "10K", "1M", "20M", and "refs10K",
 * "refs1M", whose rows are references to objects, and "new10K", "new1M", "newrefs10K",
 * "newrefs1M", whose rows are new each time. */
const char *canned_name(enum canned kind);
bool canned_find(const char *name, enum canned *out);
/* The text behind the tag. Made at the first call, and kept. */
struct canned_text canned_text(enum canned kind);

#endif
