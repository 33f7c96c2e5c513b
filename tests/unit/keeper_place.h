/* A directory for a keeper's socket, and the certainty that no keeper is left over: keepers become
 * children of the test (PR_SET_CHILD_SUBREAPER in main). */
#ifndef RAYDBG_TESTS_KEEPER_PLACE_H
#define RAYDBG_TESTS_KEEPER_PLACE_H

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>

static char directory[64];
static char path[256]; /* of the socket */

static inline void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

static inline int setup(void **state)
{
    (void)state;
    snprintf(directory, sizeof directory, "/tmp/raydbg-keeper-XXXXXX");
    if (!mkdtemp(directory))
        return -1;
    snprintf(path, sizeof path, "%s/keeper.sock", directory);
    return 0;
}

/* No keeper and no relay may be left; then the directory goes. */
static inline int teardown(void **state)
{
    (void)state;
    int left = 0;
    for (int tries = 0; tries < 300; tries++) {
        pid_t pid = waitpid(-1, NULL, WNOHANG);
        if (pid < 0)
            break;
        left = pid == 0;
        if (left)
            sleep_ms(10);
    }
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", directory);
    if (left)
        print_error("a process is left over\n");
    return left || system(command) != 0 ? -1 : 0;
}

#endif
