/* src/data/csv.h: declarations shared by the files of the CSV reader: input, field scanner, header. */
#ifndef PV_SRC_DATA_CSV_H
#define PV_SRC_DATA_CSV_H

#include "base/hash.h"
#include "data/data.h"

enum { PV__FIELD_MAX = 1 << 20 }; /* bytes */

/* ---- compressed files (csv_unpack.c) ----------------------------------------------------------------------------- */

typedef struct pv__unpacker pv__unpacker;

/* Whether a file that begins like this is compressed by gzip or zstd. */
bool pv__is_packed(const char *head, size_t n);
/* Unpacks what is read from the descriptor, after head [n], which was already read. name is for messages and
 * borrowed. */
PV_MUST_USE pv_status pv__unpacker_new(pv_ctx *ctx, const char *name, int descriptor, const char *head, size_t n,
                                       pv__unpacker **unpacker);
/* Like read(2): up to size bytes, *got 0 only at the end. Rejects damaged or truncated input and decompression
 * bombs. */
PV_MUST_USE pv_status pv__unpacker_read(pv_ctx *ctx, pv__unpacker *unpacker, char *to, size_t size, size_t *got);
void pv__unpacker_free(pv_ctx *ctx, pv__unpacker *unpacker); /* NULL is fine */
/* read(2) that can be interrupted and reports the cause of failures. */
PV_MUST_USE pv_status pv__read_some(pv_ctx *ctx, const char *name, int descriptor, char *to, size_t size, size_t *got);

/* ---- input (csv_scan.c) ------------------------------------------------------------------------------------------ */

/* A window on the file: the bytes between at and end have been read but not used. end is followed by a NUL byte and
 * padding, and no byte before it is NUL, so a scanner needs no other bound. The last line always ends with a line
 * break, which is added if the file lacks it. */
typedef struct pv__input {
    FILE *stream; /* NULL: standard input */
    const char *name;
    int descriptor;
    pv__unpacker *unpacker; /* NULL: not compressed, or nothing read yet */
    char *buffer;
    size_t room;
    size_t at, end;
    size_t line;       /* line number at `at`, from 1 */
    bool final;        /* the end of the file has been read */
    bool mended;       /* the last line break was added */
    uint64_t from;     /* offset at which reading began */
    uint64_t read;     /* bytes read since, after unpacking */
    uint64_t expected; /* size of a regular file, else 0 */
    pv__hasher hash;
} pv__input;

PV_MUST_USE pv_status pv__input_open(pv_ctx *ctx, const char *path, pv__input *input);
/* Moves the unused bytes to the front and reads more. If they fill the window, the window grows. */
PV_MUST_USE pv_status pv__input_fill(pv_ctx *ctx, pv__input *input);
void pv__input_close(pv_ctx *ctx, pv__input *input);

/* A field in the window, or in the scanner's scratch if "" had to be replaced by ". */
typedef struct pv__field {
    const char *text;
    size_t length;
    const char *next; /* the delimiter or line feed after the field; NULL: the window ends too early, read more */
} pv__field;

typedef struct pv__scanner {
    pv_ctx *ctx;
    pv__input *input;
    char delimiter, quote;   /* quote 0: none */
    size_t line;             /* line of the next field; the scanner counts line breaks inside quotes */
    size_t column;           /* of the next field, from 1, for messages */
    unsigned char stop[256]; /* nonzero for bytes that end an unquoted field */
    char *scratch;
    size_t scratch_room;
} pv__scanner;

void pv__scanner_delimiter(pv__scanner *scanner, char delimiter);
/* Whether text is a blank line. *next is the position after it, or NULL if the window ends too early. */
bool pv__scan_blank(const pv__scanner *scanner, const char *text, const char **next);
PV_MUST_USE pv_status pv__scan_field(pv__scanner *scanner, const char *text, pv__field *field);

/* ---- the reader -------------------------------------------------------------------------------------------------- */

enum { PV__UNDECIDED, PV__NUMBER, PV__TEXT }; /* content type of a column */
enum { PV__FREE, PV__FORCED_TEXT, PV__SKIPPED };

/* The options in parsed form (csv_options.c). */
typedef struct pv__csv_form {
    char delimiter; /* 0: to be detected */
    char likely;    /* preferred if the first line contains it; 0: none */
    char decimal;   /* '.' or ',' */
    char quote;     /* 0: none */
    bool bare;      /* no quote option was given: single quotes around every text of a column are removed */
    bool header;
    char **name; /* [n_names], column names if there is no header; NULL: x1, x2, ... */
    size_t n_names;
    const char *column; /* if not NULL, the first line is a header if it contains this name */
    bool usual;         /* the usual texts mean missing; otherwise those of the list, and empty fields */
    char **na;          /* [n_na] */
    double *number;     /* [n_na], NaN for texts that are not numbers */
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
    unsigned char *forced;      /* [columns]: PV__FORCED_TEXT: text in any case; PV__SKIPPED: not requested */
    bool *question;             /* [columns]: a '?' was read as missing */
    pv__dictionary *dictionary; /* [columns] */
    size_t capacity;            /* number of rows that fit the arrays */
    size_t header;              /* its line number */
    uint64_t until;             /* rows that begin at or after this byte of the file belong to another rank */
} pv__reader;

/* Reads rows into the table, up to the end or r->until. */
PV_MUST_USE pv_status pv__csv_rows(pv__reader *r);
/* Reserves capacity for the estimated number of rows. */
void pv__csv_room(pv__reader *r);

/* Parses a number in the file's format, with its decimal mark. */
bool pv__csv_number(const pv__csv_form *form, const char *text, size_t length, double *value);

/* ---- several ranks (csv_ranks.c) --------------------------------------------------------------------------------- */

/* Offset in the file of the next byte. */
uint64_t pv__input_place(const pv__input *input);
/* If ranks read together and the file allows it, each rank parses a part of the rows and all get all rows. *shared:
 * whether that was done. On entry the input is at the first row. */
PV_MUST_USE pv_status pv__csv_share(pv__reader *r, bool *shared);

/* Removes single quotes from texts [n] if all are quoted and not empty. */
bool pv__csv_bare(char **text, size_t n);

/* ---- the header (csv_header.c) ----------------------------------------------------------------------------------- */

/* The names of the columns: the first line that is not blank, or x1, x2, ...; the caller frees. Afterwards the input is
 * at the first row. Rejects missing and duplicate names. */
PV_MUST_USE pv_status pv__csv_header(pv__reader *r, char ***names, size_t *n);
/* Rejects a table whose header looks like a row of data. */
PV_MUST_USE pv_status pv__csv_check_header(pv__reader *r);

/* ---- dates (dates.c) --------------------------------------------------------------------------------------------- */

/* Converts text columns that contain only dates to numbers: days since 1970-01-01. Leaves other columns unchanged. */
PV_MUST_USE pv_status pv__csv_dates(pv__reader *r);
/* Whether text [length] is a date in one of the known forms. */
bool pv__date_known(const char *text, size_t length);

#endif
