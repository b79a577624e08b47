/* Opening, naming and deleting files as POSIX does.
 *
 * Every handle shares reading, writing and deleting. A file that this program holds open can therefore be renamed,
 * replaced and deleted. One that another program holds open without sharing cannot: the call fails with
 * EACCES, after a second in which a virus scanner or an indexer may let go of it. */
#include "layer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static const DWORD SHARED = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE;

HANDLE pv__windows_handle(int descriptor) {
    intptr_t handle = descriptor >= 0 ? _get_osfhandle(descriptor) : -1;
    if (handle == -1 || handle == -2) /* -2: a standard stream that leads nowhere */
        errno = EBADF;
    return handle == -2 ? INVALID_HANDLE_VALUE : (HANDLE)handle;
}

/* ---- open -------------------------------------------------------------------------------------------------------- */

static int descriptor_of(HANDLE file, int flags) {
    if (file == INVALID_HANDLE_VALUE)
        return pv__windows_failed();
    int descriptor = _open_osfhandle((intptr_t)file, (flags & (O_RDONLY | O_APPEND)) | _O_BINARY | _O_NOINHERIT);
    if (descriptor < 0)
        CloseHandle(file);
    return descriptor;
}

int pv__windows_unnamed(const char *folder) {
    enum { RANDOM = 12 };
    wchar_t own[MAX_PATH + 1] = L"", *wide = folder ? pv__windows_path(folder) : NULL;
    const wchar_t *in = folder ? wide : GetTempPathW(MAX_PATH, own) ? own : L".";
    if (folder && !wide)
        return -1;
    static const wchar_t base[] = L"/prevail-";
    size_t length = wcslen(in), size = length + sizeof base / sizeof *base + RANDOM;
    wchar_t *path = malloc(size * sizeof *path), *at = path;
    unsigned char random[RANDOM];
    HANDLE file = INVALID_HANDLE_VALUE;
    if (path && pv__windows_random(random, RANDOM) == RANDOM) {
        memcpy(at, in, length * sizeof *path);
        memcpy(at += length, base, sizeof base);
        at += sizeof base / sizeof *base - 1;
        for (int i = 0; i < RANDOM; i++)
            *at++ = L"abcdefghijklmnopqrstuvwxyz012345"[random[i] & 31];
        *at = L'\0';
        for (wchar_t *c = path; *c; c++)
            *c = *c == L'/' ? L'\\' : *c;
        file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE | DELETE, SHARED, NULL, CREATE_NEW,
                           FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    }
    free(path);
    free(wide);
    return descriptor_of(file, 0);
}

int pv__windows_open(const char *path, int flags, ...) {
    if (flags & O_TMPFILE)
        return pv__windows_unnamed(path);
    if (flags & O_DIRECTORY) {
        errno = ENOSYS;
        return -1;
    }
    wchar_t *wide = pv__windows_path(path);
    if (!wide)
        return -1;
    DWORD rights = flags & O_RDWR ? GENERIC_READ | GENERIC_WRITE : flags & O_WRONLY ? GENERIC_WRITE : GENERIC_READ;
    DWORD how = flags & O_CREAT   ? flags & O_EXCL    ? CREATE_NEW
                                    : flags & O_TRUNC ? CREATE_ALWAYS
                                                      : OPEN_ALWAYS
                : flags & O_TRUNC ? TRUNCATE_EXISTING
                                  : OPEN_EXISTING;
    HANDLE file = CreateFileW(wide, rights, SHARED, NULL, how, FILE_ATTRIBUTE_NORMAL, NULL);
    free(wide);
    return descriptor_of(file, flags);
}

int pv__windows_fcntl(int descriptor, int what, ...) {
    HANDLE handle = pv__windows_handle(descriptor);
    if (handle == INVALID_HANDLE_VALUE)
        return -1;
    if (what != F_DUPFD_CLOEXEC)
        return 0;
    HANDLE copy = INVALID_HANDLE_VALUE;
    HANDLE self = GetCurrentProcess();
    if (!DuplicateHandle(self, handle, self, &copy, 0, FALSE, DUPLICATE_SAME_ACCESS))
        return pv__windows_failed();
    return descriptor_of(copy, 0);
}

/* ---- stat -------------------------------------------------------------------------------------------------------- */

static struct timespec time_of(const FILETIME *time) {
    const uint64_t second = 10000000, epoch = 11644473600; /* in units of 100 ns since 1601 */
    uint64_t ticks = (uint64_t)time->dwHighDateTime << 32 | time->dwLowDateTime;
    return (struct timespec){.tv_sec = (time_t)(ticks / second - epoch), .tv_nsec = (long)(ticks % second * 100)};
}

/* The volume's number. Wine returns 0 for a file that was renamed while it is open; the root of its drive has the
 * number. */
static DWORD device_of(HANDLE file, DWORD known) {
    enum { ROOT = 7, SIZE = 1024 }; /* \\?\C:\ */
    wchar_t name[SIZE];
    BY_HANDLE_FILE_INFORMATION found = {0};
    DWORD length = known ? 0 : GetFinalPathNameByHandleW(file, name, SIZE, VOLUME_NAME_DOS);
    if (length < ROOT || length >= SIZE)
        return known;
    name[ROOT] = L'\0';
    HANDLE root = CreateFileW(name, 0, SHARED, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (root != INVALID_HANDLE_VALUE && !GetFileInformationByHandle(root, &found))
        found.dwVolumeSerialNumber = 0;
    if (root != INVALID_HANDLE_VALUE)
        CloseHandle(root);
    return found.dwVolumeSerialNumber;
}

static int describe(HANDLE file, struct stat *about) {
    BY_HANDLE_FILE_INFORMATION found;
    *about = (struct stat){0};
    DWORD type = GetFileType(file);
    if (type == FILE_TYPE_CHAR || type == FILE_TYPE_PIPE) {
        about->st_mode = type == FILE_TYPE_CHAR ? S_IFCHR : S_IFIFO;
        return 0;
    }
    if (!GetFileInformationByHandle(file, &found))
        return pv__windows_failed();
    bool folder = found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    about->st_mode = (folder ? S_IFDIR : S_IFREG) | 0666;
    about->st_dev = device_of(file, found.dwVolumeSerialNumber);
    about->st_ino = (uint64_t)found.nFileIndexHigh << 32 | found.nFileIndexLow;
    about->st_size = (off_t)((uint64_t)found.nFileSizeHigh << 32 | found.nFileSizeLow);
    about->st_mtim = about->st_ctim = time_of(&found.ftLastWriteTime);
    return 0;
}

int pv__windows_stat(const char *path, struct stat *about) {
    wchar_t *wide = pv__windows_path(path);
    if (!wide)
        return -1;
    HANDLE file =
        CreateFileW(wide, FILE_READ_ATTRIBUTES, SHARED, NULL, OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    free(wide);
    if (file == INVALID_HANDLE_VALUE)
        return pv__windows_failed();
    int result = describe(file, about);
    CloseHandle(file);
    return result;
}

int pv__windows_fstat(int descriptor, struct stat *about) {
    HANDLE file = pv__windows_handle(descriptor);
    return file == INVALID_HANDLE_VALUE ? -1 : describe(file, about);
}

int pv__windows_access(const char *path, int mode) {
    wchar_t *wide = pv__windows_path(path);
    DWORD found = wide ? GetFileAttributesW(wide) : INVALID_FILE_ATTRIBUTES;
    if (wide && found == INVALID_FILE_ATTRIBUTES)
        pv__windows_failed();
    free(wide);
    if (found == INVALID_FILE_ATTRIBUTES)
        return -1;
    /* Whether a file can be made in a folder, no attribute tells. */
    bool fixed = (found & FILE_ATTRIBUTE_READONLY) && !(found & FILE_ATTRIBUTE_DIRECTORY);
    if (mode & W_OK && fixed)
        errno = EACCES;
    return mode & W_OK && fixed ? -1 : 0;
}

/* ---- rename, unlink, mkdir --------------------------------------------------------------------------------------- */

/* Windows' own call has replaced the file, or let it be as it was. The last attempt is for a file that this program
 * itself holds open: it is moved aside and goes when it is closed. */
static bool replace(const wchar_t *from, const wchar_t *to) {
    if (MoveFileExW(from, to, MOVEFILE_REPLACE_EXISTING | MOVEFILE_WRITE_THROUGH))
        return true;
    DWORD error = GetLastError();
    static const wchar_t ending[] = L".replaced";
    size_t length = wcslen(to);
    wchar_t *aside = error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION
                         ? malloc(length * sizeof *aside + sizeof ending)
                         : NULL;
    bool moved = false;
    if (aside) {
        memcpy(aside, to, length * sizeof *aside);
        memcpy(aside + length, ending, sizeof ending);
        if (MoveFileExW(to, aside, 0)) {
            moved = MoveFileExW(from, to, MOVEFILE_WRITE_THROUGH);
            if (moved)
                DeleteFileW(aside);
            else
                MoveFileExW(aside, to, 0);
        }
        free(aside);
    }
    SetLastError(error);
    return moved;
}

static bool another_has_it(DWORD error) {
    return error == ERROR_ACCESS_DENIED || error == ERROR_SHARING_VIOLATION;
}

int pv__windows_rename(const char *from, const char *to) {
    enum { ATTEMPTS = 20, PAUSE = 50 /* ms */ };
    wchar_t *one = pv__windows_path(from), *other = one ? pv__windows_path(to) : NULL;
    bool done = false, hopeless = false;
    for (int i = 0; other && !done && !hopeless && i < ATTEMPTS; i++) {
        if (i > 0)
            Sleep(PAUSE);
        done = replace(one, other);
        DWORD error = GetLastError(), is = GetFileAttributesW(other);
        bool folder = is != INVALID_FILE_ATTRIBUTES && (is & FILE_ATTRIBUTE_DIRECTORY);
        hopeless = !done && (!another_has_it(error) || folder);
        SetLastError(error);
    }
    int result = done ? 0 : other ? pv__windows_failed() : -1;
    int cause = errno;
    free(one);
    free(other);
    errno = cause;
    return result;
}

int pv__windows_unlink(const char *path) {
    wchar_t *wide = pv__windows_path(path);
    int result = !wide ? -1 : DeleteFileW(wide) ? 0 : pv__windows_failed();
    free(wide);
    return result;
}

int pv__windows_mkdir(const char *path) {
    wchar_t *wide = pv__windows_path(path);
    int result = !wide ? -1 : CreateDirectoryW(wide, NULL) ? 0 : pv__windows_failed();
    free(wide);
    return result;
}

/* ---- folders ----------------------------------------------------------------------------------------------------- */

struct pv__windows_folder {
    HANDLE search;
    WIN32_FIND_DATAW found;
    struct dirent entry;
    bool first;
    char path[]; /* ends in a slash */
};

DIR *pv__windows_opendir(const char *path) {
    size_t length = strlen(path);
    DIR *folder = calloc(1, sizeof *folder + length + 3);
    if (!folder)
        return NULL;
    memcpy(folder->path, path, length);
    memcpy(folder->path + length, "/*", 3);
    wchar_t *wide = pv__windows_path(folder->path);
    folder->path[length + 1] = '\0';
    folder->search = wide ? FindFirstFileW(wide, &folder->found) : INVALID_HANDLE_VALUE;
    if (wide && folder->search == INVALID_HANDLE_VALUE)
        pv__windows_failed();
    free(wide);
    folder->first = true;
    if (folder->search != INVALID_HANDLE_VALUE)
        return folder;
    free(folder);
    return NULL;
}

struct dirent *pv__windows_readdir(DIR *folder) {
    if (!folder->first && !FindNextFileW(folder->search, &folder->found))
        return NULL;
    folder->first = false;
    if (!WideCharToMultiByte(CP_UTF8, 0, folder->found.cFileName, -1, folder->entry.d_name, sizeof folder->entry.d_name,
                             NULL, NULL))
        folder->entry.d_name[0] = '\0';
    return &folder->entry;
}

int pv__windows_closedir(DIR *folder) {
    FindClose(folder->search);
    free(folder);
    return 0;
}

int pv__windows_delete_in(DIR *folder, const char *name) {
    size_t length = strlen(folder->path), size = strlen(name) + 1;
    char *path = malloc(length + size);
    if (!path)
        return -1;
    memcpy(path, folder->path, length);
    memcpy(path + length, name, size);
    int result = pv__windows_unlink(path);
    free(path);
    return result;
}

/* ---- locks, and parts of files ----------------------------------------------------------------------------------- */

/* Windows keeps others from reading locked bytes, so the lock is on a byte far beyond the end of the file. */
int pv__windows_flock(int descriptor, int what) {
    HANDLE file = pv__windows_handle(descriptor);
    OVERLAPPED far_away = {.OffsetHigh = 0x40000000};
    if (file == INVALID_HANDLE_VALUE)
        return -1;
    DWORD how = (what & LOCK_EX ? LOCKFILE_EXCLUSIVE_LOCK : 0) | (what & LOCK_NB ? LOCKFILE_FAIL_IMMEDIATELY : 0);
    bool done = what & LOCK_UN ? UnlockFileEx(file, 0, 1, 0, &far_away) : LockFileEx(file, how, 0, 1, 0, &far_away);
    return done ? 0 : pv__windows_failed();
}

ssize_t pv__windows_pread(int descriptor, void *to, size_t bytes, off_t offset) {
    HANDLE file = pv__windows_handle(descriptor);
    LARGE_INTEGER here = {0};
    if (file == INVALID_HANDLE_VALUE)
        return -1;
    bool known = SetFilePointerEx(file, here, &here, FILE_CURRENT); /* ReadFile moves it */
    OVERLAPPED at = {.Offset = (DWORD)offset, .OffsetHigh = (DWORD)((uint64_t)offset >> 32)};
    DWORD got = 0, most = 1u << 30;
    bool done = ReadFile(file, to, bytes < most ? (DWORD)bytes : most, &got, &at);
    if (!done && GetLastError() != ERROR_HANDLE_EOF)
        return pv__windows_failed();
    if (known)
        SetFilePointerEx(file, here, NULL, FILE_BEGIN);
    return (ssize_t)got;
}

int pv__windows_fsync(int descriptor) {
    HANDLE file = pv__windows_handle(descriptor);
    if (file == INVALID_HANDLE_VALUE)
        return -1;
    return FlushFileBuffers(file) || GetLastError() == ERROR_INVALID_HANDLE ? 0 : pv__windows_failed();
}

/* A number of errno, as in POSIX. */
int pv__windows_fallocate(int descriptor, off_t offset, off_t bytes) {
    HANDLE file = pv__windows_handle(descriptor);
    LARGE_INTEGER size, wanted = {.QuadPart = offset + bytes};
    if (file == INVALID_HANDLE_VALUE)
        return EBADF;
    if (GetFileSizeEx(file, &size) && size.QuadPart >= wanted.QuadPart)
        return 0;
    if (SetFilePointerEx(file, wanted, NULL, FILE_BEGIN) && SetEndOfFile(file))
        return 0;
    pv__windows_failed();
    return errno;
}
