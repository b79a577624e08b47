/* src/data/csv.h: the input that the CSV reader scans. */
#ifndef PV_SRC_DATA_CSV_H
#define PV_SRC_DATA_CSV_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "data/data.h"

enum { PV__FIELD_MAX = 1 << 20 }; /* bytes */

/* A window on the file: the bytes from at to end have been read and not yet used. A NUL byte and padding follow end; no
 * byte before it is NUL, so a scanner needs no other bound. The last line always ends with a line break: one is added
 * where the file has none. */
typedef struct pv__input {
    FILE *stream; /* NULL: standard input */
    const char *name;
    int descriptor;
    char *buffer;
    size_t room;
    size_t at, end;
    size_t line;       /* of the byte at `at`, from 1 */
    bool final;        /* nothing is left to read */
    uint64_t read;     /* bytes so far */
    uint64_t expected; /* bytes in a regular file, else 0 */
    XXH3_state_t hash;
} pv__input;

PV_MUST_USE pv_status pv__input_open(pv_ctx *ctx, const char *path, pv__input *input);
/* Moves the unused bytes to the front and reads on. The window grows where they fill it. */
PV_MUST_USE pv_status pv__input_fill(pv_ctx *ctx, pv__input *input);
void pv__input_close(pv_ctx *ctx, pv__input *input);

/* A field in the window, or in the scanner's scratch where "" had to become ". */
typedef struct pv__field {
    const char *text;
    size_t length;
    const char *next; /* the delimiter or line feed behind the field; NULL: the window ends too early, read on */
} pv__field;

typedef struct pv__scanner {
    pv_ctx *ctx;
    pv__input *input;
    char delimiter;
    size_t line;             /* where the next field begins; the scanner counts line breaks inside quotes */
    size_t column;           /* of the next field, from 1, for messages */
    unsigned char stop[256]; /* bytes that end an unquoted field */
    char *scratch;
    size_t scratch_room;
} pv__scanner;

void pv__scanner_delimiter(pv__scanner *scanner, char delimiter);
/* Whether text is a blank line; *next is then behind it, or NULL where the window ends too early. */
bool pv__scan_blank(const pv__scanner *scanner, const char *text, const char **next);
PV_MUST_USE pv_status pv__scan_field(pv__scanner *scanner, const char *text, pv__field *field);

#endif
