#include "cli/run/run_console.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/spawn.h"
#include "cli/console/console.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

enum { LOOK_MS = 50 }; /* between two looks at its process: a pidfd does not tell that it stopped */

extern char **environ;

struct run_console {
    struct loop *loop;
    const struct relay_wish *wish;
    const struct relay_address *relay;
    pid_t pid;                /* 0: none is open */
    bool suspended;           /* stopped, until the shell gives this job the terminal */
    enum run_console_end end; /* of the last one */
    struct timer *look;
    struct termios usual; /* the terminal as the program has it */
};

/* True if a shell with job control has started this. Without one the program would get an error, in
 * place of being stopped, if it read from the terminal while the console has it. */
static bool has_shell(void)
{
    pid_t parent = getppid();
    return getsid(parent) == getsid(0) && getpgid(parent) != getpgrp();
}

static bool is_in_foreground(void)
{
    return tcgetpgrp(STDIN_FILENO) == getpgrp();
}

bool run_console_is_possible(void)
{
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && is_in_foreground() && has_shell();
}

struct run_console *run_console_create(struct loop *loop, const struct relay_wish *wish,
                                       const struct relay_address *relay)
{
    if (!run_console_is_possible())
        return NULL;
    struct run_console *console = mem_alloc(sizeof *console);
    *console = (struct run_console){.loop = loop, .wish = wish, .relay = relay};
    return console;
}

void run_console_destroy(struct run_console **console)
{
    if (*console)
        timer_cancel(&(*console)->look);
    free(*console);
    *console = NULL;
}

bool run_console_is_open(const struct run_console *console)
{
    return console && console->pid;
}

bool run_console_may_open(const struct run_console *console)
{
    return console && !console->pid && is_in_foreground();
}

bool run_console_is_suspended(const struct run_console *console)
{
    return console && console->pid && console->suspended && !is_in_foreground();
}

/* A suspended one that is let go stops anew where it sets the terminal's mode. */
void run_console_hang_up(const struct run_console *console)
{
    kill(-console->pid, console->suspended ? SIGKILL : SIGHUP);
}

enum run_console_end run_console_end(const struct run_console *console)
{
    return console->end;
}

/* --- the terminal --- */

/* Gives the terminal to a group of processes, in this mode unless NULL. A process of the background
 * may do so if it ignores the signal for what it does. The mode comes first: what is typed in
 * another one is not a line for the program. */
static void give_terminal(pid_t group, const struct termios *mode)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, usual;
    sigaction(SIGTTOU, &ignore, &usual);
    if (mode)
        tcsetattr(STDIN_FILENO, TCSADRAIN, mode);
    tcsetpgrp(STDIN_FILENO, group);
    sigaction(SIGTTOU, &usual, NULL);
    kill(-group, SIGCONT); /* it may have stopped because it was in the background */
}

/* A program that reads in the background stops its whole group: not this process, which is to bring
 * it to the foreground again when the console has ended. */
static void stay_awake(bool on)
{
    struct sigaction action = {.sa_handler = on ? SIG_IGN : SIG_DFL};
    sigaction(SIGTTIN, &action, NULL);
}

/* Takes the terminal from the console. False if the shell has it meanwhile. */
static bool take_terminal(const struct run_console *console)
{
    if (tcgetpgrp(STDIN_FILENO) != console->pid)
        return false;
    give_terminal(getpgrp(), &console->usual);
    return true;
}

/* --- its process --- */

/* ^Z is for all of `raydbg run`. Returns when the shell lets it go on, in the foreground or the
 * background, and at once where there is no shell that could. */
static void suspend(struct run_console *console)
{
    console->suspended = true;
    if (take_terminal(console))
        kill(0, SIGTSTP);
}

static enum run_console_end end_of(int status)
{
    if (!WIFEXITED(status))
        return RUN_CONSOLE_FAILED;
    return WEXITSTATUS(status) == ERR_NONE       ? RUN_CONSOLE_CONTINUED
           : WEXITSTATUS(status) == CONSOLE_LEFT ? RUN_CONSOLE_LEFT
                                                 : RUN_CONSOLE_FAILED;
}

static void on_look(void *arg)
{
    struct run_console *console = arg;
    int status;
    pid_t changed = waitpid(console->pid, &status, WNOHANG | WUNTRACED);
    if (changed > 0 && WIFSTOPPED(status)) {
        suspend(console);
    } else if (changed) {
        bool taken = take_terminal(console);
        stay_awake(false);
        if (!taken)
            kill(0, SIGCONT); /* a program that reads stops anew, and this process with it */
        console->pid = 0;
        console->end = changed > 0 ? end_of(status) : RUN_CONSOLE_FAILED;
        console->look = NULL;
        return;
    }
    if (console->suspended && is_in_foreground()) {
        console->suspended = false;
        give_terminal(console->pid, NULL);
    }
    console->look = timer_start(console->loop, LOOK_MS, on_look, console);
}

/* The relay knows the cluster: RAY_ADDRESS is the program's, and may be one of Ray Client. The
 * strings are borrowed. */
static char **without_address(void)
{
    static const char address[] = "RAY_ADDRESS=";
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **env = mem_array(count + 1, sizeof *env);
    for (size_t i = 0; i < count; i++)
        if (!text_starts(environ[i], address))
            env[kept++] = environ[i];
    return env;
}

static int spawn(struct run_console *console, const char *target)
{
    const struct relay_address *relay = console->relay;
    char *address = relay_address_text(relay);
    const struct {
        const char *option, *value;
    } options[] = {
        {"--relay", address},          {"--relay-token-file", console->wish->token_file},
        {"--relay-ca", relay->ca},     {"--relay-fingerprint", relay->fingerprint},
        {"--relay-cert", relay->cert}, {"--relay-key", relay->key},
    };
    enum { OPTIONS = sizeof options / sizeof *options };
    const char *argv[4 + 2 * OPTIONS + 1] = {"raydbg", "attach", "--one-stop", target};
    size_t end = 4;
    for (size_t i = 0; i < OPTIONS; i++) {
        if (!options[i].value)
            continue;
        argv[end++] = options[i].option;
        argv[end++] = options[i].value;
    }
    char **env = without_address();
    posix_spawnattr_t attributes;
    posix_spawn_file_actions_t files;
    /* Opened anew: what the console does to its open file does not hold for the program. */
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/tty", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
    spawn_attributes_init(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawnattr_setpgroup(&attributes, 0);
    int code =
        posix_spawn(&console->pid, "/proc/self/exe", &files, &attributes, (char *const *)argv, env);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    free(env);
    free(address);
    return code;
}

bool run_console_open(struct run_console *console, const struct pause *pause, struct err *err)
{
    char *target = mem_format("%" PRId64 "@%s", pause->pid, pause->node_ip ? pause->node_ip : "");
    console->suspended = false;
    stay_awake(true);
    tcgetattr(STDIN_FILENO, &console->usual);
    int code = spawn(console, target);
    free(target);
    if (code) {
        stay_awake(false);
        console->pid = 0;
        err_set(err, ERR_FAILED, "the console cannot be started");
        err_why(err, "%s", strerror(code));
        return false;
    }
    give_terminal(console->pid, NULL);
    console->look = timer_start(console->loop, LOOK_MS, on_look, console);
    return true;
}
