/* Where commands may write: refused before any work, not after it. */
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = cli_copy(slash ? path : ".");
    if (slash)
        folder[slash == path ? 1 : slash - path] = '\0';
    return folder;
}

int cli_check_output_of(cli_call *call, const char *path, const char *const *inputs, size_t count) {
    if (!path || strcmp(path, "-") == 0)
        return CLI_OK;
    if (!*path)
        return cli_error(call, PV_ERR_USAGE, NULL, "--output needs the name of a file");
    struct stat about, other;
    if (stat(path, &about) == 0) {
        for (size_t i = 0; i < count; i++)
            if (inputs[i] && stat(inputs[i], &other) == 0 && S_ISREG(other.st_mode) && about.st_dev == other.st_dev &&
                about.st_ino == other.st_ino)
                return cli_error(call, PV_ERR_USAGE, path,
                                 "is %s input; it would be replaced: give the output another name",
                                 count == 1 ? "the" : "an");
        if (S_ISDIR(about.st_mode))
            return cli_error(call, PV_ERR_PATH, path, "is a directory; name a file in it");
        if (!S_ISREG(about.st_mode))
            return CLI_OK; /* a device or pipe: only writing tells */
    }
    char *folder = folder_of(path);
    int cause = 0;
    if (stat(folder, &about) == 0 && !S_ISDIR(about.st_mode))
        cause = ENOTDIR;
    else if (access(folder, W_OK | X_OK) != 0)
        cause = errno;
    free(folder);
    if (cause)
        return cli_error(call, PV_ERR_PATH, path, "cannot be written: %s; choose another folder or make it first",
                         strerror(cause));
    return CLI_OK;
}

static bool same_file(const char *one, const char *other) {
    struct stat a, b;
    return stat(one, &a) == 0 && stat(other, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* The same file, or what would be: one name in one folder, however that is written. */
int cli_check_two_outputs(cli_call *call, const char *one, const char *other) {
    if (!one || !other || strcmp(one, "-") == 0 || strcmp(other, "-") == 0)
        return CLI_OK;
    const char *a = strrchr(one, '/'), *b = strrchr(other, '/');
    char *folder = folder_of(one), *second = folder_of(other);
    bool same = strcmp(a ? a + 1 : one, b ? b + 1 : other) == 0 && same_file(folder, second);
    free(folder);
    free(second);
    if (!same && !same_file(one, other))
        return CLI_OK;
    return cli_error(call, PV_ERR_PATH, one, "is named for two outputs; give each a name of its own");
}

bool cli_is_in(const char *path, const char *folder) {
    char *own = folder_of(path);
    bool same = same_file(own, folder);
    free(own);
    return same;
}

int cli_make_folder(cli_call *call, const char *folder) {
    if (!*folder)
        return cli_error(call, PV_ERR_USAGE, NULL, "--output needs the name of a folder");
    struct stat about;
    if (mkdir(folder, 0777) == 0)
        return CLI_OK;
    int cause = errno;
    if (cause == EEXIST && stat(folder, &about) == 0 && S_ISDIR(about.st_mode))
        return CLI_OK;
    if (cause == EEXIST)
        return cli_error(call, PV_ERR_PATH, folder, "is a file; name a folder");
    return cli_error(call, PV_ERR_PATH, folder,
                     "cannot be made: %s; name a folder in one that exists and can be written", strerror(cause));
}
