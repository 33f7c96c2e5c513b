#include "load/proc_tree.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 300 };

typedef void (*visit_fn)(int pid, void *arg);

static void visit_tree(int pid, visit_fn visit, void *arg);

static void visit_children(int pid, const char *thread, visit_fn visit, void *arg)
{
    char path[PATH_SIZE];
    int child;
    snprintf(path, sizeof path, "/proc/%d/task/%s/children", pid, thread);
    FILE *file = fopen(path, "re");
    while (file && fscanf(file, "%d", &child) == 1)
        visit_tree(child, visit, arg);
    if (file)
        fclose(file);
}

/* Calls `each` for every thread of a process. */
static void each_thread(int pid, void (*each)(int pid, const char *thread, visit_fn, void *),
                        visit_fn visit, void *arg)
{
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    for (struct dirent *entry; threads && (entry = readdir(threads));)
        if (entry->d_name[0] != '.')
            each(pid, entry->d_name, visit, arg);
    if (threads)
        closedir(threads);
}

static void visit_tree(int pid, visit_fn visit, void *arg)
{
    visit(pid, arg);
    each_thread(pid, visit_children, visit, arg);
}

static void add_cpu(int pid, const char *thread, visit_fn unused, void *arg)
{
    struct proc_use *use = arg;
    char path[PATH_SIZE];
    unsigned long long ran;
    (void)unused;
    snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", pid, thread);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%llu", &ran) == 1)
        use->cpu_ns += ran;
    if (file)
        fclose(file);
}

static void add_memory(int pid, struct proc_use *use)
{
    size_t shared = 0;
    const struct {
        const char *name;
        size_t *to;
    } fields[] = {{"RssAnon:", &use->own},
                  {"RssShmem:", &shared},
                  {"VmRSS:", &use->resident},
                  {"VmHWM:", &use->peak}};
    char path[PATH_SIZE], line[PATH_SIZE];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
            if (strncmp(line, fields[i].name, strlen(fields[i].name)) == 0)
                *fields[i].to += strtoul(line + strlen(fields[i].name), NULL, 10) * 1024;
    if (file)
        fclose(file);
    if (shared > use->shared) {
        use->own += shared - use->shared;
        use->shared = shared;
    }
}

static void add_use(int pid, void *arg)
{
    struct proc_use *use = arg;
    use->processes++;
    each_thread(pid, add_cpu, NULL, use);
    add_memory(pid, use);
}

static void reset(int pid, void *arg)
{
    char path[PATH_SIZE];
    (void)arg;
    snprintf(path, sizeof path, "/proc/%d/clear_refs", pid);
    FILE *file = fopen(path, "we");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
}

struct proc_use proc_tree_use(const int *pids, size_t count)
{
    struct proc_use use = {0};
    for (size_t i = 0; i < count; i++)
        visit_tree(pids[i], add_use, &use);
    return use;
}

void proc_tree_reset_peak(const int *pids, size_t count)
{
    for (size_t i = 0; i < count; i++)
        visit_tree(pids[i], reset, NULL);
}
