/* src/data/csv.h: what the parts of the CSV reader share: its input, its scanner of fields, its header. */
#ifndef PV_SRC_DATA_CSV_H
#define PV_SRC_DATA_CSV_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "data/data.h"

enum { PV__FIELD_MAX = 1 << 20 }; /* bytes */

/* ---- compressed files (csv_unpack.c) ----------------------------------------------------------------------------- */

typedef struct pv__unpacker pv__unpacker;

/* Whether a file that begins so is compressed: by gzip or zstd. */
bool pv__is_packed(const char *head, size_t n);
/* Unpacks what comes from the descriptor, of which head [n] was read already. name is for messages and borrowed. */
PV_MUST_USE pv_status pv__unpacker_new(pv_ctx *ctx, const char *name, int descriptor, const char *head, size_t n,
                                       pv__unpacker **unpacker);
/* As read(2): up to size bytes, *got 0 at the end alone. Refuses what is damaged, cut short or a bomb. */
PV_MUST_USE pv_status pv__unpacker_read(pv_ctx *ctx, pv__unpacker *unpacker, char *to, size_t size, size_t *got);
void pv__unpacker_free(pv_ctx *ctx, pv__unpacker *unpacker); /* NULL is fine */
/* read(2) for a reader of the context: interrupted where that is asked for, a failure with its cause. */
PV_MUST_USE pv_status pv__read_some(pv_ctx *ctx, const char *name, int descriptor, char *to, size_t size, size_t *got);

/* ---- input (csv_scan.c) ------------------------------------------------------------------------------------------ */

/* A window on the file: the bytes from at to end have been read and not yet used. A NUL byte and padding follow end; no
 * byte before it is NUL, so a scanner needs no other bound. The last line always ends with a line break: one is added
 * where the file has none. */
typedef struct pv__input {
    FILE *stream; /* NULL: standard input */
    const char *name;
    int descriptor;
    pv__unpacker *unpacker; /* NULL: the file is not compressed, or nothing was read yet */
    char *buffer;
    size_t room;
    size_t at, end;
    size_t line;       /* of the byte at `at`, from 1 */
    bool final;        /* nothing is left to read */
    bool mended;       /* the last line break was added */
    uint64_t from;     /* where reading began */
    uint64_t read;     /* bytes since, unpacked */
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
    char delimiter, quote;   /* quote 0: none */
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

/* ---- the reader -------------------------------------------------------------------------------------------------- */

enum { PV__UNDECIDED, PV__NUMBER, PV__TEXT }; /* what a column holds */
enum { PV__FREE, PV__FORCED_TEXT, PV__SKIPPED };

/* The options as texts, understood (csv_options.c). */
typedef struct pv__csv_form {
    char delimiter; /* 0: to be found out */
    char likely;    /* then, where the first line has it; 0: none */
    char decimal;   /* '.' or ',' */
    char quote;     /* 0: none */
    bool bare;      /* nothing was said of quotes: single ones around every text of a column go */
    bool header;
    char **name; /* [n_names], of the columns where there is no header; NULL: x1, x2, ... */
    size_t n_names;
    const char *column; /* not NULL: there is a header where the first line has this name */
    bool usual;         /* the usual texts mean missing; else those of the list, and empty fields */
    char **na;          /* [n_na] */
    double *number;     /* [n_na], NaN where such a text is no number */
    size_t n_na;
} pv__csv_form;

PV_MUST_USE pv_status pv__csv_form_parse(pv_ctx *ctx, const pv_csv_options *options, pv__csv_form *form);
void pv__csv_form_free(pv_ctx *ctx, pv__csv_form *form);

typedef struct pv__reader {
    pv_ctx *ctx;
    const pv_csv_options *options; /* NULL: none */
    pv__csv_form form;
    pv__input input;
    pv__scanner scanner;
    pv_table *table;
    unsigned char *kind;        /* [columns] */
    unsigned char *forced;      /* [columns]: PV__FORCED_TEXT, whatever they hold; PV__SKIPPED, not wanted at all */
    bool *question;             /* [columns]: there was a '?', taken as missing */
    pv__dictionary *dictionary; /* [columns] */
    size_t capacity;            /* rows that the arrays hold */
    size_t header;              /* its line */
    uint64_t until;             /* rows that begin at this byte of the file, or behind it, are another rank's */
} pv__reader;

/* Rows into the table, up to the end or to r->until. */
PV_MUST_USE pv_status pv__csv_rows(pv__reader *r);
/* Capacity for the rows that the input seems to have. */
void pv__csv_room(pv__reader *r);

/* A number in the form of the file: with its decimal mark. */
bool pv__csv_number(const pv__csv_form *form, const char *text, size_t length, double *value);

/* ---- several ranks (csv_ranks.c) --------------------------------------------------------------------------------- */

/* The byte of the file that is next. */
uint64_t pv__input_place(const pv__input *input);
/* Where ranks read together, and the file is one that they can share: all rows, of which each parses some. *shared:
 * that was done. The input is at the first row. */
PV_MUST_USE pv_status pv__csv_share(pv__reader *r, bool *shared);

/* Takes single quotes off texts [n], where all have them, with something between. */
bool pv__csv_bare(char **text, size_t n);

/* ---- the header (csv_header.c) ----------------------------------------------------------------------------------- */

/* The names of the columns: the first line that is not blank, or x1, x2, ...; the caller frees. The input is then at
 * the first row. Refuses names that are missing or there twice. */
PV_MUST_USE pv_status pv__csv_header(pv__reader *r, char ***names, size_t *n);
/* Refuses a table whose header looks like one of its rows. */
PV_MUST_USE pv_status pv__csv_check_header(pv__reader *r);

/* ---- dates (dates.c) --------------------------------------------------------------------------------------------- */

/* Columns of texts that are dates, all of them, become numbers: days since 1970-01-01. Others stay. */
PV_MUST_USE pv_status pv__csv_dates(pv__reader *r);
/* Whether text [length] is a date of one of the known forms. */
bool pv__date_known(const char *text, size_t length);

#endif
