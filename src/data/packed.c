/* Reads packed tables: a file of columns that is mapped, not parsed (docs/formats.md). packed_write.c writes them.
 *
 *   prevail packed table 1
 *   HEADER REST SUM          two sizes in bytes and the header's XXH3-64
 *   the header, JSON         source, hash, rows, and of each column its name, kind and levels
 *   the columns              in order, each at the next multiple of 4096 bytes of the file
 *
 * A column is "double", "single" (numbers, NaN for missing) or "code" (int32, -1 for missing). Numbers whose texts are
 * not their shortest form (00012) are "spelled": they are followed by codes of those texts. "line" comes last, as
 * uint64, if the source's rows are not on consecutive lines. The position of a column follows from the columns before
 * it, so a header cannot point to arbitrary places. Numbers in double precision stay in the mapped file; anything used
 * as an index is read into memory and checked there (source.c explains why). Single precision is converted to double on
 * reading; if that would not fit the context's memory, the column stays in the mapped file and its cells are converted
 * when used. Cells are little-endian; a big-endian machine reads all of them into memory.
 *
 * A packed table keeps its source's name and hash, so that models learned from either are bit-identical.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/reduce.h"
#include "base/value.h"
#include "data/archive.h"
#include "data/packed.h"

static const char MAGIC[] = PV__PACKED_MAGIC;
enum { COLUMNS_MAX = 1000000 };
#define LINES_MAX (SIZE_MAX / 4)

enum { SHORTER = -1 }; /* the file has become shorter */

/* ---- reading ----------------------------------------------------------------------------------------------------- */

bool pv__packed_recognise(const char *path) {
    char start[sizeof MAGIC - 1];
    struct stat about;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode))
        return false;
    FILE *stream = fopen(path, "rb");
    bool same =
        stream && fread(start, 1, sizeof start, stream) == sizeof start && memcmp(start, MAGIC, sizeof start) == 0;
    if (stream)
        fclose(stream);
    return same;
}

static pv_status damaged(pv_ctx *ctx, const char *path, const char *why) {
    return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0, "is not a whole packed table: %s;\npack the data again", why);
}

/* Reads the header and verifies its checksum before anything in it is used. *at: position of the columns. */
static pv_status read_header(pv_ctx *ctx, const pv__source *source, pv_result **root, uint64_t *at, size_t *rest) {
    char start[sizeof MAGIC + PV_SIZES_LINE] = {0};
    size_t magic = sizeof MAGIC - 1, n = source->size < sizeof start - 1 ? source->size : sizeof start - 1, sizes[2];
    unsigned long long sum;
    PV_TRY(pv__source_read(ctx, source, 0, n, start));
    size_t line = n > magic ? pv__sizes_parse(start + magic, n - magic, sizes, &sum) : 0;
    if (line == 0)
        return damaged(ctx, source->path, "its second line is damaged");
    *at = magic + line;
    if (sizes[0] > source->size - *at)
        return damaged(ctx, source->path, "it is truncated in its header");
    char *text;
    PV_TRY(pv__alloc(ctx, sizes[0] + 1, 1, &text));
    pv_status status = pv__source_read(ctx, source, *at, sizes[0], text);
    if (status == PV_OK && pv__hash(text, sizes[0]) != sum)
        status = damaged(ctx, source->path, "the checksum of its header is wrong");
    if (status == PV_OK)
        status = pv__json_parse(ctx, text, sizes[0], root);
    pv__free(ctx, text);
    if (status == PV_OK && !*root)
        status = damaged(ctx, source->path, "its header is not JSON");
    *at += sizes[0];
    *rest = sizes[1];
    return status;
}

typedef struct reader {
    pv_ctx *ctx;
    pv__source *source;
    const pv_csv_options *options; /* NULL: none */
    pv_table *table;
    uint64_t at; /* end of the previous column, before alignment */
    bool narrow; /* single precision stays in the file */
} reader;

/* The position of the next n cells. Fails if the file does not have them. */
static pv_status take_place(reader *r, size_t size, uint64_t *place) {
    uint64_t begin = pv__packed_aligned(r->at), bytes;
    if (__builtin_mul_overflow((uint64_t)r->table->rows, (uint64_t)size, &bytes) || begin > r->source->size ||
        bytes > r->source->size - begin)
        return damaged(r->ctx, r->source->path, "it is truncated in its columns");
    *place = begin;
    r->at = begin + bytes;
    return PV_OK;
}

static pv_status read_levels(reader *r, const pv_result *levels, pv_column *column) {
    size_t n = pv_result_count(levels);
    if (!pv__value_is(levels, PV_RESULT_LIST) || n > INT32_MAX)
        return damaged(r->ctx, r->source->path, "a column's levels are missing");
    if (n == 0)
        return PV_OK;
    PV_TRY(pv__alloc(r->ctx, n, sizeof *column->level, &column->level));
    for (size_t i = 0; i < n; i++) {
        const char *text = pv_result_text(pv_result_child(levels, i));
        if (!text)
            return damaged(r->ctx, r->source->path, "a level is not a text");
        PV_TRY(pv__strdup(r->ctx, text, &column->level[i]));
        column->levels = (int32_t)i + 1;
    }
    size_t at, earlier;
    PV_TRY(pv__names_duplicate(r->ctx, column->level, n, &at, &earlier));
    return at == n ? PV_OK : damaged(r->ctx, r->source->path, "a column has the same level twice");
}

static pv_status read_cells(reader *r, uint64_t place, size_t size, size_t n, void *cells) {
    PV_TRY(pv__source_read(r->ctx, r->source, place, n * size, cells));
    pv__little_endian(cells, size, n, cells);
    return PV_OK;
}

static pv_status read_codes(reader *r, uint64_t place, pv_column *column) {
    size_t rows = r->table->rows;
    PV_TRY(pv__alloc(r->ctx, rows, sizeof *column->code, &column->code));
    PV_TRY(read_cells(r, place, sizeof *column->code, rows, column->code));
    for (size_t i = 0; i < rows; i++)
        if (column->code[i] < -1 || column->code[i] >= column->levels)
            return damaged(r->ctx, r->source->path, "a cell has a level that its column does not have");
    return PV_OK;
}

static pv_status read_double(reader *r, uint64_t place, pv_column *column) {
    PV_TRY(pv__resize(r->ctx, r->table->rows, sizeof *column->number, &column->number));
    return read_cells(r, place, sizeof *column->number, r->table->rows, column->number);
}

static pv_status read_single(reader *r, uint64_t place, pv_column *column) {
    enum { PIECE = 2048 };
    float piece[PIECE];
    size_t rows = r->table->rows;
    PV_TRY(pv__resize(r->ctx, rows, sizeof *column->number, &column->number));
    for (size_t at = 0; at < rows; at += PIECE) {
        size_t n = rows - at < PIECE ? rows - at : PIECE;
        PV_TRY(read_cells(r, place + at * sizeof *piece, sizeof *piece, n, piece));
        for (size_t i = 0; i < n; i++)
            column->number[at + i] = (double)piece[i];
    }
    return PV_OK;
}

/* Reads the texts of numbers. If they were requested, the column becomes a text column; if that is not known yet, it
 * gets both. */
static pv_status read_spelling(reader *r, const pv_result *from, pv_column *column) {
    uint64_t place;
    bool wanted = pv__wants_text(r->options, column->name), unknown = !r->options || !r->options->roles;
    column->respelled = pv__value_is_true(pv_result_get(from, "respelled"));
    if (!pv__value_is_true(pv_result_get(from, "spelled")))
        return PV_OK;
    PV_TRY(take_place(r, pv__packed_cell(PV__PACKED_CODE), &place));
    if (!wanted && !unknown)
        return PV_OK;
    PV_TRY(read_levels(r, pv_result_get(from, "levels"), column));
    PV_TRY(read_codes(r, place, column));
    if (!wanted)
        return PV_OK;
    pv__free(r->ctx, column->borrowed ? NULL : column->number);
    column->type = PV_COLUMN_TEXT;
    column->borrowed = false;
    column->number = NULL;
    column->single = NULL;
    return PV_OK;
}

/* Warns that texts were not stored, for the one role that prints them. */
static void tell_of_respelling(const reader *r) {
    const pv_roles *roles = r->options ? r->options->roles : NULL;
    size_t c = roles && roles->id ? pv__table_lookup(r->table, roles->id) : r->table->columns;
    if (c < r->table->columns && r->table->column[c].respelled)
        pv__log(r->ctx, PV_LOG_WARNING,
                "%s: column '%s' was packed as numbers, without their original notation: ids are written in the "
                "shortest form",
                r->source->path, pv__show(roles->id).text);
}

static pv_status read_column(reader *r, const pv_result *from, pv_column *column) {
    const char *name = pv_result_text(pv_result_get(from, "name"));
    const char *word = pv_result_text(pv_result_get(from, "kind"));
    pv__packed_kind k = PV__PACKED_DOUBLE;
    if (!name || !*name || !word)
        return damaged(r->ctx, r->source->path, "a column has no name or kind");
    while (k < PV__PACKED_LINE && strcmp(word, pv__packed_word(k)) != 0)
        k++;
    if (k == PV__PACKED_LINE)
        return damaged(r->ctx, r->source->path, "a column has an unknown type");
    uint64_t place;
    PV_TRY(pv__strdup(r->ctx, name, &column->name));
    PV_TRY(take_place(r, pv__packed_cell(k), &place));
    column->type = k == PV__PACKED_CODE ? PV_COLUMN_TEXT : PV_COLUMN_NUMBER;
    if (k == PV__PACKED_CODE) {
        PV_TRY(read_levels(r, pv_result_get(from, "levels"), column));
        return read_codes(r, place, column);
    }
    void *cells = r->source->mapped + place;
    column->borrowed = (k == PV__PACKED_DOUBLE && !PV_BIG_ENDIAN) || (k == PV__PACKED_SINGLE && r->narrow);
    if (!column->borrowed)
        PV_TRY(k == PV__PACKED_SINGLE ? read_single(r, place, column) : read_double(r, place, column));
    else if (k == PV__PACKED_SINGLE)
        column->single = cells;
    else
        column->number = cells;
    return read_spelling(r, from, column);
}

/* Line numbers have 64 bits in the file, whatever the size of size_t. */
static pv_status read_lines(reader *r) {
    enum { PIECE = 1024 };
    uint64_t place, piece[PIECE], before = 0;
    size_t rows = r->table->rows;
    PV_TRY(take_place(r, pv__packed_cell(PV__PACKED_LINE), &place));
    PV_TRY(pv__alloc(r->ctx, rows, sizeof *r->table->line, &r->table->line));
    for (size_t at = 0; at < rows; at += PIECE) {
        size_t n = rows - at < PIECE ? rows - at : PIECE;
        PV_TRY(read_cells(r, place + at * sizeof *piece, sizeof *piece, n, piece));
        for (size_t i = 0; i < n; i++) {
            if (piece[i] > LINES_MAX || piece[i] <= before)
                return damaged(r->ctx, r->source->path, "its rows have impossible line numbers");
            before = piece[i];
            r->table->line[at + i] = (size_t)piece[i];
        }
    }
    return PV_OK;
}

static pv_status read_written(reader *r, const pv_result *from) {
    pv_written *w = &r->table->written;
    char **const text[] = {&w->separator, &w->decimal, &w->na, &w->names, &w->quote};
    static const char *const key[] = {"separator", "decimal", "na", "names", "quote"};
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        const pv_result *value = pv_result_get(from, key[i]);
        if (value && !pv__value_is(value, PV_RESULT_TEXT))
            return damaged(r->ctx, r->source->path, "its description of the source is not a text");
        if (value)
            PV_TRY(pv__strdup(r->ctx, pv_result_text(value), text[i]));
    }
    w->no_header = pv__value_is_true(pv_result_get(from, "no_header"));
    return PV_OK;
}

static pv_status check_names(reader *r) {
    size_t n = r->table->columns, at, earlier;
    char **names;
    PV_TRY(pv__alloc(r->ctx, n, sizeof *names, &names));
    for (size_t c = 0; c < n; c++)
        names[c] = r->table->column[c].name;
    pv_status status = pv__names_duplicate(r->ctx, names, n, &at, &earlier);
    pv__free(r->ctx, names);
    if (status == PV_OK && at < n)
        status = damaged(r->ctx, r->source->path, "two columns have one name");
    return status;
}

/* Whether the columns of single precision would not fit the context's memory as doubles; each rank needs only some of
 * them. */
static bool is_wide(const reader *r, const pv_result *columns) {
    size_t count = 0, bytes;
    if (PV_BIG_ENDIAN) /* the file's cells are not in native order */
        return false;
    for (size_t c = 0; c < pv_result_count(columns); c++) {
        const char *word = pv_result_text(pv_result_get(pv_result_child(columns, c), "kind"));
        count += word && strcmp(word, pv__packed_word(PV__PACKED_SINGLE)) == 0;
    }
    return !__builtin_mul_overflow(r->table->rows * sizeof(double), count, &bytes) &&
           (pv__shares(r->ctx) || pv__spill_wanted(r->ctx, bytes));
}

static pv_status read_table(reader *r, const pv_result *root, size_t rest) {
    const char *hash = pv_result_text(pv_result_get(root, "hash"));
    const pv_result *columns = pv_result_get(root, "columns");
    int64_t rows = pv__value_integer_of(pv_result_get(root, "rows"));
    size_t n = pv_result_count(columns);
    char *end = NULL;
    if (!hash || rows < 1 || n < 1 || n > COLUMNS_MAX || !pv__value_is(columns, PV_RESULT_LIST))
        return damaged(r->ctx, r->source->path, "its header is not that of a table");
    r->table->rows = (size_t)rows;
    r->table->hash = strtoull(hash, &end, 16);
    if (end != hash + 16 || *end)
        return damaged(r->ctx, r->source->path, "its hash is not valid");
    uint64_t begin = pv__packed_aligned(r->at);
    r->narrow = is_wide(r, columns);
    PV_TRY(pv__alloc(r->ctx, n, sizeof *r->table->column, &r->table->column));
    for (size_t c = 0; c < n; c++) {
        r->table->columns = c + 1;
        PV_TRY(read_column(r, pv_result_child(columns, c), &r->table->column[c]));
        PV_TRY(pv__go_on(r->ctx));
    }
    PV_TRY(read_written(r, pv_result_get(root, "written")));
    if (pv__value_is_true(pv_result_get(root, "lines")))
        PV_TRY(read_lines(r));
    tell_of_respelling(r);
    if (r->at != r->source->size || r->at - begin != rest)
        return damaged(r->ctx, r->source->path, "it is longer or shorter than its header says");
    return check_names(r);
}

void pv__packed_close(pv_ctx *ctx, struct pv_packed *packed) {
    if (!packed || --packed->owners > 0)
        return;
    pv__spill_watch(ctx, packed->source.mapped, packed->source.size, false);
    pv__source_close(&packed->source);
    pv__free(ctx, packed->path);
    pv__free(ctx, packed);
}

struct pv_packed *pv__packed_share(struct pv_packed *packed) {
    packed->owners++;
    return packed;
}

pv__numbers pv__table_numbers(const pv_table *table, size_t c) {
    pv__numbers numbers = pv__column_numbers(&table->column[c]);
    uintptr_t at = numbers.wide ? (uintptr_t)numbers.wide : (uintptr_t)numbers.narrow;
    const struct pv_packed *packed = table->packed;
    if (packed && at - (uintptr_t)packed->source.mapped <
                      packed->source.size) /* not a column that was added to the table later */
        numbers.file = table->packed;
    return numbers;
}

void pv__packed_bytes(struct pv_packed *packed, const void *at, size_t n, void *to) {
    size_t offset = (size_t)((const unsigned char *)at - packed->source.mapped);
    for (size_t done = 0; done < n;) {
        ssize_t got = pread(packed->source.descriptor, (char *)to + done, n - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            int none = 0;
            atomic_compare_exchange_strong(&packed->failed, &none, got < 0 ? errno : SHORTER);
            memset((char *)to + done, 0, n - done);
            return;
        }
        done += (size_t)got;
    }
}

void pv__packed_expect(const struct pv_packed *packed, const void *at, size_t n) {
    size_t offset = (size_t)((const unsigned char *)at - packed->source.mapped), left = packed->source.size - offset;
    n = n < left ? n : left;
    if (n == 0)
        return;
#ifdef RWF_NOWAIT
    char byte;
    struct iovec last = {&byte, 1};
    if (preadv2(packed->source.descriptor, &last, 1, (off_t)(offset + n - 1), RWF_NOWAIT) == 1)
        return; /* already in memory: announcing it would take longer */
#endif
    posix_fadvise(packed->source.descriptor, (off_t)offset, (off_t)n, POSIX_FADV_WILLNEED);
}

pv_status pv__packed_same(pv_ctx *ctx, const struct pv_packed *packed) {
    int failed = atomic_load(&packed->failed);
    if (failed > 0)
        return pv__fail_at(ctx, PV_ERR_PATH, packed->source.path, 0, 0, "cannot be read: %s", strerror(failed));
    if (failed == SHORTER)
        return pv__source_changed(ctx, &packed->source);
    return pv__source_look(&packed->source) == PV_SOURCE_WRITTEN ? pv__source_changed(ctx, &packed->source) : PV_OK;
}

pv_status pv__packed_unchanged(pv_ctx *ctx, const pv_table *table) {
    return table->packed ? pv__packed_same(ctx, table->packed) : PV_OK;
}

pv_status pv__packed_read(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_table **table) {
    pv_result *root = NULL;
    pv_table *made = NULL;
    struct pv_packed *packed;
    size_t rest = 0;
    reader r = {.ctx = ctx, .options = options};
    pv_status status;
    PV_TRY(pv__alloc(ctx, 1, sizeof *packed, &packed));
    packed->source.descriptor = -1;
    packed->owners = 1;
    PV_GOTO(fail, pv__strdup(ctx, path, &packed->path));
    PV_GOTO(fail, pv__alloc(ctx, 1, sizeof *made, &made));
    PV_GOTO(fail, pv__source_open(ctx, packed->path, &packed->source));
    PV_GOTO(fail, pv__source_map(ctx, &packed->source));
    pv__spill_watch(ctx, packed->source.mapped, packed->source.size, true);
    PV_GOTO(fail, read_header(ctx, &packed->source, &root, &r.at, &rest));
    const char *source = pv_result_text(pv_result_get(root, "source"));
    PV_GOTO(fail, source ? pv__strdup(ctx, source, &made->source) : damaged(ctx, path, "its source is missing"));
    r.source = &packed->source;
    r.table = made;
    PV_GOTO(fail, read_table(&r, root, rest));
    pv_result_free(root);
    made->packed = packed;
    *table = made;
    return PV_OK;
fail:
    pv_result_free(root);
    pv_table_free(ctx, made);
    pv__packed_close(ctx, packed);
    return status;
}
