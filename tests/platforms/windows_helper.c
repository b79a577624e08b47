/* Another program of Windows that holds a file open: nobody may replace FILE until standard input ends. usage:
 * windows_helper FILE READY Makes the file READY when it has FILE. */
#include <stdio.h>
#include <windows.h>

static int hold(const wchar_t *file, const wchar_t *ready) {
    HANDLE held = CreateFileW(file, GENERIC_READ, FILE_SHARE_READ, NULL, OPEN_EXISTING, 0, NULL);
    HANDLE made =
        held == INVALID_HANDLE_VALUE ? held : CreateFileW(ready, GENERIC_WRITE, 0, NULL, CREATE_ALWAYS, 0, NULL);
    if (made == INVALID_HANDLE_VALUE)
        return 1;
    CloseHandle(made);
    while (getchar() != EOF)
        continue;
    return 0;
}

int wmain(int argc, wchar_t **argv) {
    return argc == 3 ? hold(argv[1], argv[2]) : 2;
}
