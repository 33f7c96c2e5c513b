/* A process that has used up its descriptors, and gives back as many as a test wants. */
#ifndef RAYDBG_TESTS_DESCRIPTORS_H
#define RAYDBG_TESTS_DESCRIPTORS_H

#include "cmocka_prelude.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

enum { DESCRIPTORS = 256 };

struct descriptors {
    rlim_t limit; /* as it was */
    int items[DESCRIPTORS];
    int count;
};

/* False if there is none. */
static inline bool descriptors_take_one(struct descriptors *taken)
{
    int fd = dup(STDERR_FILENO);
    if (fd < 0) {
        assert_int_equal(errno, EMFILE);
        return false;
    }
    taken->items[taken->count++] = fd;
    return true;
}

static inline void descriptors_set_limit(rlim_t count)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    limit.rlim_cur = count;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static inline void descriptors_take_all(struct descriptors *taken)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    *taken = (struct descriptors){.limit = limit.rlim_cur};
    descriptors_set_limit(DESCRIPTORS);
    while (descriptors_take_one(taken))
        continue;
}

static inline void descriptors_give_one(struct descriptors *taken)
{
    assert_true(taken->count > 0);
    close(taken->items[--taken->count]);
}

static inline void descriptors_give_all(struct descriptors *taken)
{
    descriptors_set_limit(taken->limit);
    while (taken->count)
        descriptors_give_one(taken);
}

#endif
