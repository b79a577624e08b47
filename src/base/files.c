/* Records which files a piece of work reads and writes, so that it overwrites neither its own inputs nor files that
 * prevail did not write.
 *
 * Two files are the same if any of these match: device and inode, if the file exists; device and inode of its folder,
 * and its name in it; its path with all links resolved.
 */
#include "base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- names ------------------------------------------------------------------------------------------------------- */

static pv_status no_memory(pv_ctx *ctx, const char *path) {
    return pv__fail_at(ctx, PV_ERR_MEMORY, path, 0, 0, "out of memory: it could not be opened");
}

#ifndef PV_FOLDER_ENDS /* src/base/windows has more */
#define PV_FOLDER_ENDS "/"
#endif

static size_t folder_length(const char *path) {
    size_t length = strlen(path);
    while (length > 0 && !strchr(PV_FOLDER_ENDS, path[length - 1]))
        length--;
    return length;
}

const char *pv__base_name(const char *path) {
    return path + folder_length(path);
}

pv_status pv__folder_name(pv_ctx *ctx, const char *path, char **folder) {
    size_t length = folder_length(path);
    PV_TRY(pv__strdup(ctx, length ? path : ".", folder));
    if (length > 1)
        (*folder)[length - 1] = '\0';
    else if (length)
        (*folder)[1] = '\0';
    return PV_OK;
}

static pv_status join(pv_ctx *ctx, const char *folder, size_t length, const char *name, char **joined) {
    bool slash = length && folder[length - 1] != '/';
    size_t size = length + slash + strlen(name) + 1;
    PV_TRY(pv__alloc(ctx, size, 1, joined));
    pv__format(*joined, size, "%.*s%s%s", (int)length, folder, slash ? "/" : "", name);
    return PV_OK;
}

/* For a file that does not exist yet: its folder with all links resolved, and its name. If the folder does not exist
 * either, the path as given. */
static pv_status resolve_new(pv_ctx *ctx, const char *path, char **resolved) {
    char *folder;
    PV_TRY(pv__folder_name(ctx, path, &folder));
    char *real = realpath(folder, NULL);
    bool lacking = !real && errno == ENOMEM;
    pv__free(ctx, folder);
    pv_status status = lacking ? no_memory(ctx, path)
                       : real  ? join(ctx, real, strlen(real), pv__base_name(path), resolved)
                               : pv__strdup(ctx, path, resolved);
    free(real);
    return status;
}

enum { MOST_LINKS = 40 }; /* the limit of the system */

pv_status pv__resolve(pv_ctx *ctx, const char *path, char **resolved) {
    char *at, target[4096];
    PV_TRY(pv__strdup(ctx, path, &at));
    pv_status status = PV_OK;
    *resolved = NULL;
    for (int links = 0; status == PV_OK && !*resolved; links++) {
        char *real = realpath(at, NULL), *next = NULL;
        int cause = real ? 0 : errno;
        ssize_t length = real ? -1 : readlink(at, target, sizeof target - 1);
        if (real) {
            status = pv__strdup(ctx, real, resolved);
            free(real);
        } else if (cause == ENOMEM) {
            status = no_memory(ctx, path);
        } else if (cause == ELOOP || links > MOST_LINKS) {
            status = pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0, "is a symbolic link that leads nowhere;\nremove it");
        } else if (length < 0) {
            status = resolve_new(ctx, at, resolved);
        } else { /* a link to a file that does not exist yet */
            target[length] = '\0';
            status = join(ctx, at, target[0] == '/' ? 0 : folder_length(at), target, &next);
            if (status == PV_OK) {
                pv__free(ctx, at);
                at = next;
            }
        }
    }
    pv__free(ctx, at);
    return status;
}

size_t pv__name_most(const char *folder) {
    long most = pathconf(folder, _PC_NAME_MAX);
    return most > 0 ? (size_t)most : 255;
}

/* ---- known files ------------------------------------------------------------------------------------------------- */

typedef enum kind { INPUT, OUTPUT, FOLDER } kind; /* FOLDER: a folder of outputs */

typedef struct place {
    bool there;
    dev_t device;
    ino_t inode;
} place;

struct pv__known {
    pv__known *next;
    kind kind;
    bool written; /* this work has written the file */
    place file, folder;
    const pv_files_pattern *patterns; /* for a folder: names of files that may be written in it */
    char what[32];
    char *path; /* with links resolved */
    char given[];
};

static place place_of(const char *path) {
    struct stat about;
    if (stat(path, &about) != 0)
        return (place){0};
    return (place){true, about.st_dev, about.st_ino};
}

static bool same_place(const place *a, const place *b) {
    return a->there && b->there && a->device == b->device && a->inode == b->inode;
}

static void known_free(pv_ctx *ctx, pv__known *k) {
    if (k)
        pv__free(ctx, k->path);
    pv__free(ctx, k);
}

static pv_status known_new(pv_ctx *ctx, kind what_kind, const char *what, const char *path, pv__known **made) {
    pv__known *k;
    char *folder;
    size_t length = strlen(path);
    while (what_kind == FOLDER && length > 1 && path[length - 1] == '/')
        length--;
    *made = NULL;
    PV_TRY(pv__alloc(ctx, sizeof *k + length + 1, 1, &k));
    k->kind = what_kind;
    memcpy(k->given, path, length);
    pv__format(k->what, sizeof k->what, "%s", what);
    pv_status status;
    PV_GOTO(fail, pv__resolve(ctx, k->given, &k->path));
    PV_GOTO(fail, pv__folder_name(ctx, k->path, &folder));
    k->file = place_of(k->path);
    k->folder = place_of(folder);
    pv__free(ctx, folder);
    *made = k;
    return PV_OK;
fail:
    known_free(ctx, k);
    return status;
}

static bool same_file(const pv__known *a, const pv__known *b) {
    return same_place(&a->file, &b->file) || strcmp(a->path, b->path) == 0 ||
           (same_place(&a->folder, &b->folder) && strcmp(pv__base_name(a->path), pv__base_name(b->path)) == 0);
}

static bool is_in(const pv__known *file, const pv__known *folder) {
    size_t length = strlen(folder->path);
    return same_place(&file->folder, &folder->file) ||
           (strncmp(file->path, folder->path, length) == 0 && folder_length(file->path) == length + 1);
}

static bool matches(const char *pattern, const char *name) {
    size_t ending = strlen(pattern) - 1, length = strlen(name);
    return pattern[0] == '*' ? length >= ending && strcmp(name + length - ending, pattern + 1) == 0
                             : strcmp(pattern, name) == 0;
}

static bool may_write(const pv__known *folder, const char *name) {
    for (const pv_files_pattern *p = folder->patterns; p->name; p++)
        if (matches(p->name, name))
            return true;
    return false;
}

/* ---- error messages ---------------------------------------------------------------------------------------------- */

static const char *gap(const pv__known *k) {
    return k->what[0] ? " " : "";
}

static pv_status refuse_replacing(pv_ctx *ctx, const pv__known *output, const pv__known *input) {
    return pv__fail_at(
        ctx, PV_ERR_USAGE, output->given, 0, 0,
        "is both an output (%s) and an input (%s%s%.200s), which would be replaced;\ngive the output another name",
        output->what, input->what, gap(input), input->given);
}

static pv_status refuse_two(pv_ctx *ctx, const pv__known *one, const pv__known *other) {
    return pv__fail_at(ctx, PV_ERR_USAGE, one->given, 0, 0,
                       "is the name of two outputs, %s%s%.200s and %s;\ngive each its own name", other->what,
                       gap(other), other->given, one->what);
}

static pv_status refuse_inside(pv_ctx *ctx, const pv__known *file, const pv__known *folder) {
    return pv__fail_at(ctx, PV_ERR_USAGE, file->given, 0, 0,
                       "is an %s%s%s%s in the folder of %s, which may write a file of that name; %s",
                       file->kind == INPUT ? "input" : "output", file->what[0] ? " (" : "", file->what,
                       file->what[0] ? ")" : "", folder->what,
                       file->kind == INPUT ? "name another folder" : "give it another name or another folder");
}

static pv_status refuse_shared(pv_ctx *ctx, const pv__known *one, const pv__known *other) {
    for (const pv_files_pattern *p = one->patterns; p->name; p++)
        for (const pv_files_pattern *q = other->patterns; q->name; q++)
            if (matches(p->name, q->name) || matches(q->name, p->name))
                return pv__fail_at(
                    ctx, PV_ERR_USAGE, one->given, 0, 0,
                    "is the folder of both %s and %s, which may each write a file %s;\ngive each its own folder",
                    other->what, one->what, p->name);
    return PV_OK;
}

static pv_status compare(pv_ctx *ctx, const pv__known *k, const pv__known *other) {
    if (k->kind == FOLDER && other->kind == FOLDER)
        return same_file(k, other) ? refuse_shared(ctx, k, other) : PV_OK;
    if (k->kind == FOLDER || other->kind == FOLDER) {
        const pv__known *folder = k->kind == FOLDER ? k : other, *file = k->kind == FOLDER ? other : k;
        bool inside = is_in(file, folder) && may_write(folder, pv__base_name(file->path));
        return inside ? refuse_inside(ctx, file, folder) : PV_OK;
    }
    if ((k->kind == INPUT && other->kind == INPUT) || !same_file(k, other))
        return PV_OK;
    if (k->kind == OUTPUT && other->kind == OUTPUT)
        return refuse_two(ctx, k, other);
    return k->kind == OUTPUT ? refuse_replacing(ctx, k, other) : refuse_replacing(ctx, other, k);
}

/* ---- the list, in the root context; the caller holds the lock ---------------------------------------------------- */

/* The entry of a file already registered as `wanted`, or NULL. */
static pv__known *find(const pv_ctx *ctx, const pv__known *k, kind wanted) {
    pv__known *at = ctx->root->known;
    while (at && (at->kind != wanted || !same_file(at, k)))
        at = at->next;
    return at;
}

static pv_status compare_all(pv_ctx *ctx, const pv__known *k) {
    for (const pv__known *other = ctx->root->known; other; other = other->next)
        PV_TRY(compare(ctx, k, other));
    return PV_OK;
}

/* Takes ownership of k and adds it to the list unless status says that it conflicts with a known file. */
static pv_status add(pv_ctx *ctx, pv__known *k, pv_status status) {
    bool news = true;
    if (status == PV_OK) {
#pragma omp critical(pv_files)
        {
            const pv__known *own = k->kind == INPUT ? find(ctx, k, OUTPUT) : NULL;
            news = !(own && own->written) && !(k->kind == INPUT && find(ctx, k, INPUT));
            status = news ? compare_all(ctx, k) : PV_OK;
            if (status == PV_OK && news) {
                k->next = ctx->root->known;
                ctx->root->known = k;
            }
        }
    }
    if (status != PV_OK || !news)
        known_free(ctx, k);
    return status;
}

void pv_files_begin(pv_ctx *ctx) {
    pv_files_end(ctx);
    ctx->root->watching = true;
}

void pv_files_end(pv_ctx *ctx) {
    pv_ctx *root = ctx->root;
    root->watching = false;
    for (pv__known *k = root->known, *next; k; k = next) {
        next = k->next;
        known_free(root, k);
    }
    root->known = NULL;
}

/* ---- registration ------------------------------------------------------------------------------------------------ */

static bool is_none(const char *path) {
    return !path || strcmp(path, "-") == 0;
}

/* Pipes and devices are read and written but never replaced. */
static bool is_special(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && !S_ISREG(about.st_mode) && !S_ISDIR(about.st_mode);
}

pv_status pv_files_read(pv_ctx *ctx, const char *what, const char *path) {
    pv__known *k;
    if (is_none(path) || !*path || is_special(path))
        return PV_OK;
    PV_TRY(known_new(ctx, INPUT, what, path, &k));
    return add(ctx, k, PV_OK);
}

/* Reports now what would otherwise fail only when the file is opened, after all the work. */
static pv_status check_writable(pv_ctx *ctx, const pv__known *k) {
    struct stat about;
    char *folder;
    int cause = 0;
    PV_TRY(pv__folder_name(ctx, k->path, &folder));
    if (stat(folder, &about) == 0 && !S_ISDIR(about.st_mode))
        cause = ENOTDIR;
    else if (access(folder, W_OK | X_OK) != 0)
        cause = errno;
    else if (strlen(pv__base_name(k->path)) > pv__name_most(folder))
        cause = ENAMETOOLONG;
    pv__free(ctx, folder);
    if (cause)
        return pv__fail_at(ctx, PV_ERR_PATH, k->given, 0, 0, "cannot be written: %s; %s", strerror(cause),
                           cause == ENAMETOOLONG ? "give it a shorter one" : "choose another folder or make it first");
    return PV_OK;
}

pv_status pv_files_write(pv_ctx *ctx, const char *what, const char *path) {
    struct stat about;
    pv__known *k;
    if (is_none(path))
        return PV_OK;
    if (!*path)
        return pv__fail(ctx, PV_ERR_USAGE, "%s needs the name of a file", what);
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0, "is a directory;\nname a file in it");
    if (is_special(path))
        return PV_OK;
    PV_TRY(known_new(ctx, OUTPUT, what, path, &k));
    return add(ctx, k, check_writable(ctx, k));
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

/* Whether an existing file begins like those that are written under its name. */
static bool is_ours(const pv__known *folder, const char *path) {
    char head[256] = {0};
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    ssize_t got = descriptor >= 0 ? read(descriptor, head, sizeof head - 1) : 0;
    if (descriptor >= 0)
        close(descriptor);
    for (const pv_files_pattern *p = folder->patterns; p->name; p++)
        if (matches(p->name, pv__base_name(path)) && got >= 0 && p->begins &&
            strncmp(head, p->begins, strlen(p->begins)) == 0)
            return true;
    return false;
}

static pv_status check_ours(pv_ctx *ctx, const pv__known *folder, const char *path) {
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode) || is_ours(folder, path))
        return PV_OK;
    return pv__fail_at(
        ctx, PV_ERR_PATH, path, 0, 0,
        "would be replaced, and does not look like a file of this name written by %s;\nmove it, or name another folder",
        folder->what);
}

/* Checks an existing file whose name is certain to be written: it may be a link to one of the inputs. */
static pv_status check_there(pv_ctx *ctx, const pv__known *folder, const char *path) {
    pv__known *k;
    if (access(path, F_OK) != 0)
        return PV_OK;
    PV_TRY(known_new(ctx, OUTPUT, folder->what, path, &k));
    pv_status status;
#pragma omp critical(pv_files)
    status = compare_all(ctx, k);
    known_free(ctx, k);
    return status == PV_OK ? check_ours(ctx, folder, path) : status;
}

/* Names that are patterns are checked when the file is opened. */
static pv_status check_folder(pv_ctx *ctx, const pv__known *folder) {
    for (const pv_files_pattern *p = folder->patterns; p->name; p++) {
        char *path;
        if (p->name[0] == '*')
            continue;
        PV_TRY(join(ctx, folder->given, strlen(folder->given), p->name, &path));
        pv_status status = check_there(ctx, folder, path);
        pv__free(ctx, path);
        PV_TRY(status);
    }
    return PV_OK;
}

pv_status pv_files_write_into(pv_ctx *ctx, const char *what, const char *folder, const pv_files_pattern *patterns) {
    struct stat about;
    pv__known *k;
    if (is_none(folder))
        return PV_OK;
    if (!*folder)
        return pv__fail(ctx, PV_ERR_USAGE, "%s needs the name of a folder", what);
    if (stat(folder, &about) == 0 && !S_ISDIR(about.st_mode))
        return pv__fail_at(ctx, PV_ERR_PATH, folder, 0, 0, "is a file;\nname a folder for %s", what);
    PV_TRY(known_new(ctx, FOLDER, what, folder, &k));
    k->patterns = patterns;
    pv_status status;
#pragma omp critical(pv_files)
    status = compare_all(ctx, k); /* its message is more helpful than that about existing files */
    return add(ctx, k, status == PV_OK ? check_folder(ctx, k) : status);
}

/* ---- existing outputs -------------------------------------------------------------------------------------------- */

static bool is_regular(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static pv_status visit_folder(pv_ctx *ctx, const pv__known *folder, pv__files_visit *visit, void *state) {
    DIR *open = opendir(folder->path);
    pv_status status = PV_OK;
    for (struct dirent *entry; open && status == PV_OK && (entry = readdir(open));) {
        char *path = NULL;
        if (!may_write(folder, entry->d_name))
            continue;
        status = join(ctx, folder->path, strlen(folder->path), entry->d_name, &path);
        if (status == PV_OK && is_regular(path))
            status = visit(state, folder->what, path);
        pv__free(ctx, path);
    }
    if (open)
        closedir(open);
    return status;
}

pv_status pv__files_outputs(pv_ctx *ctx, pv__files_visit *visit, void *state) {
    pv_status status = PV_OK;
#pragma omp critical(pv_files)
    for (const pv__known *k = ctx->root->known; k && status == PV_OK; k = k->next) {
        if (k->kind == FOLDER)
            status = visit_folder(ctx, k, visit, state);
        else if (k->kind == OUTPUT && !k->written && is_regular(k->path))
            status = visit(state, k->what, k->path);
    }
    return status;
}

/* ---- opening ----------------------------------------------------------------------------------------------------- */

pv_status pv__files_reading(pv_ctx *ctx, const char *path) {
    return ctx->root->watching ? pv_files_read(ctx, "", path) : PV_OK;
}

static pv_status check_opening(pv_ctx *ctx, const pv__known *k) {
    const pv__known *input = find(ctx, k, INPUT), *output = find(ctx, k, OUTPUT);
    if (input)
        return refuse_replacing(ctx, k, input);
    if (output)
        return PV_OK;
    for (const pv__known *at = ctx->root->known; at; at = at->next)
        if (at->kind == FOLDER && is_in(k, at) && may_write(at, pv__base_name(k->path)))
            PV_TRY(check_ours(ctx, at, k->path));
    return PV_OK;
}

pv_status pv__files_writing(pv_ctx *ctx, const char *path) {
    pv__known *k;
    if (!ctx->root->known || is_special(path))
        return PV_OK;
    PV_TRY(known_new(ctx, OUTPUT, "being written", path, &k));
    pv_status status;
#pragma omp critical(pv_files)
    status = check_opening(ctx, k);
    known_free(ctx, k);
    return status;
}

/* Without memory to record it, the file counts as not written and is treated like any other. */
void pv__files_written(pv_ctx *ctx, const char *path) {
    pv__known *k;
    if (!ctx->root->watching || known_new(ctx, OUTPUT, "", path, &k) != PV_OK)
        return;
#pragma omp critical(pv_files)
    {
        pv__known *own = find(ctx, k, OUTPUT);
        if (!own) {
            k->next = ctx->root->known;
            ctx->root->known = own = k;
        }
        own->written = true;
        if (own != k)
            known_free(ctx, k);
    }
}
