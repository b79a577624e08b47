/* Names of files and other texts between UTF-8 and UTF-16, and errors of Windows as errno. */
#include "layer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

wchar_t *pv__windows_wide(const char *text) {
    int size = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, NULL, 0);
    wchar_t *wide = size > 0 ? malloc((size_t)size * sizeof *wide) : NULL;
    if (wide)
        MultiByteToWideChar(CP_UTF8, 0, text, -1, wide, size);
    else
        errno = size > 0 ? ENOMEM : EILSEQ;
    return wide;
}

char *pv__windows_utf8(const wchar_t *text) {
    int size = WideCharToMultiByte(CP_UTF8, 0, text, -1, NULL, 0, NULL, NULL);
    char *utf8 = size > 0 ? malloc((size_t)size) : NULL;
    if (utf8)
        WideCharToMultiByte(CP_UTF8, 0, text, -1, utf8, size, NULL, NULL);
    else
        errno = size > 0 ? ENOMEM : EILSEQ;
    return utf8;
}

/* Above 260 characters, Windows takes an absolute path after \\?\ alone. */
static wchar_t *lengthen(wchar_t *given) {
    static const wchar_t network[] = L"\\\\?\\UNC", local[] = L"\\\\?\\";
    DWORD size = GetFullPathNameW(given, 0, NULL, NULL);
    wchar_t *wide = size ? malloc((size + sizeof network / sizeof *network) * sizeof *wide) : NULL;
    wchar_t *full = wide ? wide + sizeof network / sizeof *network - 1 : NULL;
    if (!full || !GetFullPathNameW(given, size, full, NULL)) {
        free(wide);
        return given;
    }
    bool shared = full[0] == L'\\' && full[1] == L'\\';
    const wchar_t *prefix = shared ? network : local;
    size_t length = wcslen(prefix), rest = wcslen(full + shared) + 1;
    memmove(wide + length, full + shared, rest * sizeof *wide);
    memcpy(wide, prefix, length * sizeof *wide);
    free(given);
    return wide;
}

/* The name that a descriptor's file has. */
static wchar_t *name_of(int descriptor) {
    HANDLE file = pv__windows_handle(descriptor);
    DWORD size = file == INVALID_HANDLE_VALUE ? 0 : GetFinalPathNameByHandleW(file, NULL, 0, VOLUME_NAME_DOS);
    wchar_t *name = size ? malloc((size + 1) * sizeof *name) : NULL;
    if (name && GetFinalPathNameByHandleW(file, name, size + 1, VOLUME_NAME_DOS))
        return name;
    free(name);
    errno = ENOENT;
    return NULL;
}

wchar_t *pv__windows_path(const char *path) {
    enum { SHORT = 240 }; /* folders take 248 */
    static const char opened[] = "/proc/self/fd/";
    if (!*path) {
        errno = ENOENT;
        return NULL;
    }
    if (strncmp(path, opened, sizeof opened - 1) == 0)
        return name_of(atoi(path + sizeof opened - 1));
    const char root[] = {path[0], ':', '/',
                         '\0'}; /* for C:, where Windows takes the folder that was last in use there */
    bool drive = path[1] == ':' && !path[2], nowhere = strcmp(path, "/dev/null") == 0;
    wchar_t *wide = pv__windows_wide(nowhere ? "NUL" : drive ? root : path);
    return wide && wcslen(wide) > SHORT && wcsncmp(wide, L"\\\\?\\", 4) != 0 ? lengthen(wide) : wide;
}

int pv__windows_failed(void) {
    static const struct {
        DWORD error;
        int number;
    } known[] = {
        {ERROR_FILE_NOT_FOUND, ENOENT},      {ERROR_PATH_NOT_FOUND, ENOENT},
        {ERROR_INVALID_NAME, ENOENT},        {ERROR_BAD_NETPATH, ENOENT},
        {ERROR_BAD_PATHNAME, ENOENT},        {ERROR_INVALID_DRIVE, ENOENT},
        {ERROR_DIRECTORY, ENOTDIR},          {ERROR_FILE_EXISTS, EEXIST},
        {ERROR_ALREADY_EXISTS, EEXIST},      {ERROR_ACCESS_DENIED, EACCES},
        {ERROR_SHARING_VIOLATION, EACCES},   {ERROR_LOCK_VIOLATION, EWOULDBLOCK},
        {ERROR_WRITE_PROTECT, EROFS},        {ERROR_USER_MAPPED_FILE, EACCES},
        {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},   {ERROR_OUTOFMEMORY, ENOMEM},
        {ERROR_COMMITMENT_LIMIT, ENOMEM},    {ERROR_DISK_FULL, ENOSPC},
        {ERROR_HANDLE_DISK_FULL, ENOSPC},    {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
        {ERROR_TOO_MANY_OPEN_FILES, EMFILE}, {ERROR_INVALID_HANDLE, EBADF},
        {ERROR_BROKEN_PIPE, EPIPE},          {ERROR_NO_DATA, EPIPE},
        {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},    {ERROR_CANT_RESOLVE_FILENAME, ELOOP},
        {ERROR_NOT_SUPPORTED, ENOSYS},       {ERROR_INVALID_FUNCTION, ENOSYS},
    };
    DWORD error = GetLastError();
    errno = EIO;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].error == error)
            errno = known[i].number;
    return -1;
}

/* ---- realpath ---------------------------------------------------------------------------------------------------- */

/* From what Windows calls a file: C:/folder/file or //server/folder/file. */
static char *plain(wchar_t *full) {
    static const wchar_t network[] = L"\\\\?\\UNC\\", local[] = L"\\\\?\\";
    wchar_t *from = full;
    if (wcsncmp(full, network, 8) == 0)
        *(from = full + 6) = L'\\';
    else if (wcsncmp(full, local, 4) == 0)
        from = full + 4;
    for (wchar_t *at = from; *at; at++)
        if (*at == L'\\')
            *at = L'/';
    return pv__windows_utf8(from);
}

char *pv__windows_realpath(const char *path, char *resolved) {
    wchar_t *wide = pv__windows_path(path);
    HANDLE file = wide ? CreateFileW(wide, 0, FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
                                     OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL)
                       : INVALID_HANDLE_VALUE;
    (void)resolved; /* callers leave it to malloc */
    if (wide && file == INVALID_HANDLE_VALUE)
        pv__windows_failed();
    free(wide);
    if (file == INVALID_HANDLE_VALUE)
        return NULL;
    DWORD size = GetFinalPathNameByHandleW(file, NULL, 0, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS);
    wchar_t *full = size ? malloc((size + 1) * sizeof *full) : NULL;
    char *made = NULL;
    if (!full)
        errno = size ? ENOMEM : ENOENT;
    else if (!GetFinalPathNameByHandleW(file, full, size + 1, FILE_NAME_NORMALIZED | VOLUME_NAME_DOS))
        pv__windows_failed();
    else
        made = plain(full);
    free(full);
    CloseHandle(file);
    return made;
}
