/* Runs a target over files without a fuzzing engine. usage: fuzz_NAME FILE|FOLDER... Each input is copied to a block of
 * exactly its size, so that sanitisers detect reads past its end.
 */
#include <dirent.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

static char current[4096];

static void blame(int number) {
    static const char begin[] = "the input was ", end[] = "\n";
    ssize_t written = write(2, begin, sizeof begin - 1);
    written += write(2, current, strlen(current));
    written += write(2, end, 1);
    (void)written;
    signal(number, SIG_DFL);
    raise(number);
}

static size_t run_file(const char *path, size_t size) {
    snprintf(current, sizeof current, "%s", path);
    FILE *stream = fopen(path, "rb");
    uint8_t *data = malloc(size ? size : 1);
    if (!stream || !data || fread(data, 1, size, stream) != size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(1);
    }
    fclose(stream);
    LLVMFuzzerTestOneInput(data, size);
    free(data);
    return 1;
}

static int not_hidden(const struct dirent *entry) {
    return entry->d_name[0] != '.';
}

static size_t run_path(const char *path) {
    struct stat about;
    if (stat(path, &about) != 0)
        return 0; /* targets without regressions have no folder for them */
    if (!S_ISDIR(about.st_mode))
        return run_file(path, (size_t)about.st_size);
    struct dirent **entry;
    int n = scandir(path, &entry, not_hidden, alphasort);
    size_t inputs = 0;
    for (int i = 0; i < n; i++) {
        char name[4096];
        snprintf(name, sizeof name, "%s/%s", path, entry[i]->d_name);
        inputs += run_path(name);
        free(entry[i]);
    }
    free(entry);
    return inputs;
}

int main(int argc, char **argv) {
    size_t inputs = 0;
    const int fatal[] = {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGALRM};
    for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++)
        signal(fatal[i], blame);
    for (int i = 1; i < argc; i++)
        inputs += run_path(argv[i]);
    printf("%zu passed, %d failed: inputs of %s\n", inputs, inputs == 0, argv[0]);
    return inputs == 0;
}
