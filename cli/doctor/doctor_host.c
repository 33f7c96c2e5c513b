#include "cli/doctor/doctor_host.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/spawn.h"
#include "cli/doctor/doctor_debugpy.h"
#include "relay/access/auth.h"
#include "relay/locate/relay_registration.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { FILE_MAX = 65536 };

/* --- the state directory --- */

static void look_at_registration(struct doctor_here *here, const char *path)
{
    struct relay_registration_entry entry;
    char *text = mem_alloc(FILE_MAX);
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    ssize_t len = fd >= 0 ? read(fd, text, FILE_MAX) : -1;
    if (fd >= 0)
        close(fd);
    char host[256] = "";
    gethostname(host, sizeof host - 1);
    if (len > 0 && relay_registration_parse(&entry, text, (size_t)len)) {
        if (relay_registration_lives(&entry)) {
            here->live_registrations++;
        } else if (text_equal(entry.host_name, host)) { /* a shared home has those of other hosts */
            here->dead_registrations++;
            if (!here->dead_registration)
                here->dead_registration = mem_string(path);
        }
        relay_registration_entry_clear(&entry);
    }
    free(text);
}

/* True if a keeper listens there; false if the path is too long for an address. Never waits: a
 * keeper's backlog is not full. */
static bool listens(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!text_copy(address.sun_path, sizeof address.sun_path, path))
        return false;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool good = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return good;
}

static void look_at_state(struct doctor_here *here)
{
    char *directory = auth_state_path("");
    DIR *files = directory ? opendir(directory) : NULL;
    const struct dirent *file;
    while (files && (file = readdir(files))) {
        char *path =
            mem_format("%s%s%s", directory, text_ends(directory, "/") ? "" : "/", file->d_name);
        if (text_starts(file->d_name, "relay") && text_ends(file->d_name, ".json"))
            look_at_registration(here, path);
        else if (text_starts(file->d_name, "keeper-") && text_ends(file->d_name, ".sock"))
            here->keepers += listens(path);
        free(path);
    }
    if (files)
        closedir(files);
    free(directory);
}

/* --- extensions --- */

bool doctor_extension_version(const char *directory, char version[32])
{
    static const char name[] = "raydbg.raydbg-";
    if (!text_starts(directory, name))
        return false;
    const char *from = directory + sizeof name - 1;
    size_t len = strspn(from, "0123456789.");
    if (len == 0 || len >= 32 || (from[len] && from[len] != '-'))
        return false;
    memcpy(version, from, len);
    version[len] = '\0';
    return true;
}

/* Directories below the home where editors keep extensions. */
static const char *const extension_directories[] = {
    ".vscode/extensions",
    ".vscode-server/extensions",
    ".vscode-insiders/extensions",
    ".vscode-server-insiders/extensions",
    ".vscode-remote/extensions",
    ".vscode-oss/extensions",
    ".cursor/extensions",
    ".cursor-server/extensions",
    ".windsurf/extensions",
    ".local/share/code-server/extensions",
    ".openvscode-server/extensions",
};

static void look_at_directory(struct doctor_here *here, const char *home, const char *directory)
{
    char *path = mem_format("%s/%s", home, directory);
    DIR *files = opendir(path);
    const struct dirent *file;
    char version[32];
    while (files && (file = readdir(files))) {
        if (!doctor_extension_version(file->d_name, version))
            continue;
        here->extensions =
            mem_resize(here->extensions, here->extension_count + 1, sizeof *here->extensions);
        here->extensions[here->extension_count++] = mem_format("%s (~/%s)", version, directory);
        here->extension_differs = here->extension_differs || !text_equal(version, RAYDBG_VERSION);
    }
    if (files)
        closedir(files);
    free(path);
}

/* --- the command --- */

/* Its module is raydbg.cli, which pip's script imports; an old pip's names the package and its
 * version. */
static bool is_namesake(const char *path)
{
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t len = fd >= 0 ? read(fd, text, sizeof text - 1) : -1;
    if (fd >= 0)
        close(fd);
    text[len > 0 ? len : 0] = '\0';
    return text_starts(text, "#!") && (strstr(text, "raydbg.cli") || strstr(text, "raydbg=="));
}

char *doctor_host_namesake(const char *search)
{
    char *path = spawn_find(search, "raydbg");
    if (path && is_namesake(path))
        return path;
    free(path);
    return NULL;
}

static void look_at_command(struct doctor_here *here)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof self);
    here->program = mem_string_n(self, len > 0 ? (size_t)len : 0);
    here->namesake = doctor_host_namesake(getenv("PATH"));
}

void doctor_host_look(struct doctor_here *here)
{
    const char *home = getenv("HOME");
    here->ray_debug = mem_string(getenv("RAY_DEBUG"));
    here->post_mortem = mem_string(getenv("RAY_DEBUG_POST_MORTEM"));
    doctor_debugpy_look(&here->debugpy, "/proc");
    look_at_command(here);
    look_at_state(here);
    for (size_t i = 0;
         !text_empty(home) && i < sizeof extension_directories / sizeof *extension_directories; i++)
        look_at_directory(here, home, extension_directories[i]);
}
