/* Where the command starts on Windows: arguments in UTF-8, streams without translation of line ends, a console that
 * takes UTF-8 and escape sequences and is left as it was. */
#include "base/windows/layer.h"

#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv);
int wmain(int argc, wchar_t **given);

static UINT page;

static void restore(void) {
    SetConsoleOutputCP(page);
}

static void prepare_console(void) {
    static const DWORD streams[] = {STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    page = GetConsoleOutputCP();
    if (page && page != CP_UTF8 && atexit(restore) == 0)
        SetConsoleOutputCP(CP_UTF8);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        HANDLE stream = GetStdHandle(streams[i]);
        DWORD mode;
        if (GetConsoleMode(stream, &mode))
            SetConsoleMode(stream, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    }
}

int wmain(int argc, wchar_t **given) {
    char **argv = calloc((size_t)argc + 1, sizeof *argv);
    for (int i = 0; argv && i < argc; i++)
        if (!(argv[i] = pv__windows_utf8(given[i])))
            argv = NULL;
    if (!argv) {
        fputs("prevail: the arguments cannot be read\n", stderr);
        return 1;
    }
    for (int stream = 0; stream < 3; stream++)
        _setmode(stream, _O_BINARY);
    prepare_console();
    return main(argc, argv);
}
