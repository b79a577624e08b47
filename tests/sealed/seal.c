/* Changes numbers in a checkpoint and corrects its checksum. usage: seal FROM TO PART WORD HEX
 *
 * The 64-bit word at index WORD becomes HEX in every entry whose name contains PART; shorter entries are unchanged.
 * Exit code 3: there is no such word.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static unsigned char *read_all(const char *path, size_t *size) {
    FILE *stream = fopen(path, "rb");
    unsigned char *bytes = NULL;
    if (stream && fseek(stream, 0, SEEK_END) == 0) {
        *size = (size_t)ftell(stream);
        rewind(stream);
        bytes = calloc(*size + 1, 1);
        if (bytes && fread(bytes, 1, *size, stream) != *size)
            *size = 0;
    }
    if (stream)
        fclose(stream);
    return bytes;
}

/* An entry consists of the sizes of name and data, the name, and the data. */
static size_t change(unsigned char *body, size_t entries, const char *part, size_t word, uint64_t becomes) {
    size_t changed = 0;
    for (size_t e = 0; e < entries; e++) {
        uint64_t sizes[2];
        memcpy(sizes, body, sizeof sizes);
        unsigned char *name = body + sizeof sizes, *data = name + sizes[0];
        if (memmem(name, sizes[0], part, strlen(part)) && 8 * (word + 1) <= sizes[1]) {
            memcpy(data + 8 * word, &becomes, sizeof becomes);
            changed++;
        }
        body = data + sizes[1];
    }
    return changed;
}

int main(int argc, char **argv) {
    size_t size = 0;
    unsigned char *bytes = argc == 6 ? read_all(argv[1], &size) : NULL;
    char *second = bytes ? strchr((char *)bytes, '\n') : NULL;
    char *body = second ? strchr(second + 1, '\n') : NULL;
    if (!body) {
        fprintf(stderr, "usage: seal FROM TO PART WORD HEX\n");
        return 2;
    }
    body++;
    size_t entries = strtoul(second + 1, NULL, 10), left = size - (size_t)(body - (char *)bytes);
    size_t changed =
        change((unsigned char *)body, entries, argv[3], strtoul(argv[4], NULL, 10), strtoull(argv[5], NULL, 16));
    FILE *out = fopen(argv[2], "wb");
    if (!out)
        return 2;
    fprintf(out, "prevail-checkpoint 1\n%zu %zu %016llx\n", entries, left, (unsigned long long)XXH3_64bits(body, left));
    size_t written = fwrite(body, 1, left, out);
    int closed = fclose(out);
    free(bytes);
    return written != left || closed != 0 ? 2 : changed ? 0 : 3;
}
