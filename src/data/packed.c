/* Packed tables: a file of columns that is mapped, not parsed (docs/formats.md).
 *
 *   prevail packed table 1
 *   HEADER REST SUM          two sizes in bytes and the header's XXH3-64
 *   the header, JSON         source, hash, rows, and of each column its name, kind and levels
 *   the columns              in their order, each at the next multiple of 4096 bytes of the file
 *
 * A column is "double", "single" (numbers, NaN for missing) or "code" (int32, -1 for missing). Numbers whose texts are
 * not their shortest form (00012) are "spelled": codes of those texts follow them. "line" is the last of all, uint64,
 * where the source's rows do not lie on a line each. Where a column lies follows from its place: a header
 * cannot point anywhere. Numbers in double precision stay in the mapped file; what indexes something is read into
 * memory and checked there (source.c says why). Single precision is turned into double precision as it is read; where
 * that would not fit the context's memory it stays in the mapped file, and its cells become doubles as they are used.
 * Cells are little-endian: a big-endian machine reads them all into memory.
 *
 * A table that was packed keeps its source's name and hash: what is learned from it has the same bytes.
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
#include <xxhash.h>

#include "base/json.h"
#include "base/reduce.h"
#include "data/archive.h"
#include "data/data.h"

static const char MAGIC[] = "prevail packed table 1\n";
enum { ALIGN = 4096, COLUMNS_MAX = 1000000 };
#define LINES_MAX ((size_t)1 << 62)

struct pv_packed {
    char *path;
    pv__source source;
    int owners;        /* the table, and datasets that make their rows of its columns */
    atomic_int failed; /* an errno, or SHORTER: of the first read that failed */
};

enum { SHORTER = -1 }; /* than it was */

typedef enum kind { KIND_DOUBLE, KIND_SINGLE, KIND_CODE, KIND_LINE } kind;
static const char *const kind_name[] = {"double", "single", "code", "line"};
static const size_t kind_size[] = {sizeof(double), sizeof(float), sizeof(int32_t), sizeof(uint64_t)};

static uint64_t aligned(uint64_t at) {
    return (at + ALIGN - 1) / ALIGN * ALIGN;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* Whole numbers, some of which single precision has not: they may be identifiers. */
static bool needs_digits(const pv_table *table, const pv_column *column) {
    bool lost = false;
    for (size_t i = 0; i < table->rows; i++) {
        double x = pv__cell_number(column, i);
        if (isfinite(x) && x != floor(x))
            return false;
        lost = lost || (isfinite(x) && (double)(float)x != x);
    }
    return lost;
}

static kind kind_of(const pv_table *table, const pv_column *column, bool single) {
    if (column->type == PV_COLUMN_TEXT)
        return KIND_CODE;
    return single && !needs_digits(table, column) ? KIND_SINGLE : KIND_DOUBLE;
}

static bool set_true(json_t *object, const char *key) {
    return json_object_set_new(object, key, json_true()) == 0;
}

static json_t *column_header(const pv_column *column, kind k) {
    json_t *levels = json_array(),
           *made = json_pack("{s:o, s:s}", "name", pv__json_text(column->name), "kind", kind_name[k]);
    for (int32_t i = 0; made && levels && column->code && i < column->levels; i++)
        if (json_array_append_new(levels, pv__json_text(column->level[i])) != 0) {
            json_decref(levels);
            levels = NULL;
        }
    bool whole = made && levels && (k == KIND_CODE || !column->code || set_true(made, "spelled")) &&
                 (!column->respelled || set_true(made, "respelled"));
    if (!whole) {
        json_decref(levels);
        json_decref(made);
        return NULL;
    }
    if (json_object_set_new(made, "levels", levels) != 0) {
        json_decref(made);
        return NULL;
    }
    return made;
}

/* How the source was said to be written: what is learned keeps it. */
static json_t *written_header(const pv_written *w) {
    const char *const text[] = {w->separator, w->decimal, w->na, w->names, w->quote};
    static const char *const key[] = {"separator", "decimal", "na", "names", "quote"};
    json_t *made = json_pack("{s:b}", "no_header", w->no_header);
    for (size_t i = 0; made && i < sizeof key / sizeof *key; i++)
        if (text[i] && json_object_set_new(made, key[i], pv__json_text(text[i])) != 0) {
            json_decref(made);
            made = NULL;
        }
    return made;
}

static pv_status make_header(pv_ctx *ctx, const pv_table *table, bool single, uint64_t hash, char **text) {
    char number[24];
    pv__format(number, sizeof number, "%016llx", (unsigned long long)hash);
    json_t *columns = json_array();
    for (size_t c = 0; columns && c < table->columns; c++)
        if (json_array_append_new(columns,
                                  column_header(&table->column[c], kind_of(table, &table->column[c], single))) != 0) {
            json_decref(columns);
            columns = NULL;
        }
    json_t *root = columns ? json_pack("{s:o, s:s, s:I, s:b, s:o, s:o}", "source", pv__json_text(table->source), "hash",
                                       number, "rows", (json_int_t)table->rows, "lines", table->line != NULL, "written",
                                       written_header(&table->written), "columns", columns)
                           : NULL;
    return pv__json_dump(ctx, root, "a name, or a level, of the table is not UTF-8;\nsave the data as UTF-8", text);
}

static const double *wide_cells(const pv_column *column, size_t at, size_t n, double *buffer) {
    if (column->number)
        return column->number + at;
    for (size_t i = 0; i < n; i++)
        buffer[i] = (double)column->single[at + i];
    return buffer;
}

/* Of the table's rows, a piece at a time. */
static void write_cells(FILE *stream, const pv_table *table, const pv_column *column, kind k) {
    enum { PIECE = 1024 }; /* stacks may be small */
    float numbers[PIECE];
    double wide[PIECE];
    uint64_t lines[PIECE], converted[PIECE];
    for (size_t at = 0; at < table->rows && !ferror(stream); at += PIECE) {
        size_t n = table->rows - at < PIECE ? table->rows - at : PIECE;
        const void *from = numbers;
        if (k == KIND_DOUBLE)
            from = wide_cells(column, at, n, wide);
        else if (k == KIND_CODE)
            from = column->code + at;
        for (size_t i = 0; k == KIND_SINGLE && i < n; i++)
            numbers[i] = (float)pv__cell_number(column, at + i);
        for (size_t i = 0; k == KIND_LINE && i < n; i++)
            lines[i] = table->line[at + i];
        if (k == KIND_LINE)
            from = lines;
        fwrite(pv__little_endian(from, kind_size[k], n, converted), kind_size[k], n, stream);
    }
}

static void pad(FILE *stream, uint64_t *at, uint64_t size) {
    static const char zeros[ALIGN];
    fwrite(zeros, 1, (size_t)(aligned(*at) - *at), stream);
    *at = aligned(*at) + size;
}

/* A number that single precision has not is refused: infinite where it was not. */
static pv_status check_single(pv_ctx *ctx, const pv_table *table) {
    for (size_t c = 0; c < table->columns; c++)
        for (size_t i = 0; table->column[c].type == PV_COLUMN_NUMBER && i < table->rows; i++) {
            double x = pv__cell_number(&table->column[c], i);
            if (x - x == 0 && !((float)x - (float)x == 0))
                return pv__fail_at(ctx, PV_ERR_INPUT, table->source, pv_table_line(table, i), c + 1,
                                   "%g is too large for single precision;\nleave `single` out, or scale the column", x);
        }
    return PV_OK;
}

/* What lies in the file: each column's cells, the texts of numbers behind theirs, the lines. */
typedef struct block {
    const pv_column *column; /* NULL: lines */
    kind kind;
} block;

enum { BLOCKS_EACH = 2 };

static size_t list_blocks(const pv_table *table, bool single, block *list) {
    size_t n = 0;
    for (size_t c = 0; c < table->columns; c++) {
        const pv_column *column = &table->column[c];
        list[n++] = (block){column, kind_of(table, column, single)};
        if (column->type == PV_COLUMN_NUMBER && column->code)
            list[n++] = (block){column, KIND_CODE};
    }
    if (table->line)
        list[n++] = (block){NULL, KIND_LINE};
    return n;
}

static pv_status write_blocks(pv_ctx *ctx, const pv_table *table, const block *list, size_t n, uint64_t at,
                              FILE *stream) {
    pv_status status = PV_OK;
    for (size_t b = 0; b < n && status == PV_OK; b++) {
        pad(stream, &at, table->rows * kind_size[list[b].kind]);
        write_cells(stream, table, list[b].column, list[b].kind);
        status = pv__go_on(ctx);
    }
    return status;
}

/* A failure to write is the stream's, for who closes it. */
static pv_status write_table(pv_ctx *ctx, const pv_table *table, bool single, FILE *stream) {
    const char *const rounded = "in single precision";
    char *header = NULL, sizes[PV_SIZES_LINE];
    uint64_t hash = single ? XXH3_64bits_withSeed(rounded, strlen(rounded), table->hash) : table->hash;
    PV_TRY(make_header(ctx, table, single, hash, &header));
    block *list = NULL;
    pv_status status = pv__alloc(ctx, BLOCKS_EACH * table->columns + 1, sizeof *list, &list);
    if (status != PV_OK) {
        pv__free(ctx, header);
        return status;
    }
    size_t length = strlen(header), n = list_blocks(table, single, list);
    uint64_t rest = 0; /* the header's padding depends on the length of the line, that on the sizes: none */
    for (size_t b = 0; b < n; b++)
        rest = aligned(rest) + table->rows * kind_size[list[b].kind];
    int line = pv__format(sizes, sizeof sizes, PV_SIZES_FORMAT, length, (size_t)rest,
                          (unsigned long long)XXH3_64bits(header, length));
    fwrite(MAGIC, 1, sizeof MAGIC - 1, stream);
    fwrite(sizes, 1, (size_t)line, stream);
    fwrite(header, 1, length, stream);
    status = write_blocks(ctx, table, list, n, sizeof MAGIC - 1 + (size_t)line + length, stream);
    pv__free(ctx, list);
    pv__free(ctx, header);
    return status;
}

static pv_status check_images(pv_ctx *ctx, const pv_table *table) {
    return table->images
               ? pv__fail_at(ctx, PV_ERR_USAGE, table->source, 0, 0, "has images, which are mapped as they are")
               : PV_OK;
}

pv_status pv_table_pack(pv_ctx *ctx, const pv_table *table, const char *path, bool single) {
    PV_TRY(check_images(ctx, table));
    if (single)
        PV_TRY(check_single(ctx, table));
    pv_output output = {0};
    pv_status status;
    PV_GOTO(done, pv_output_open(ctx, path, &output));
    PV_GOTO(done, write_table(ctx, table, single, output.stream));
    status = pv_output_commit(ctx, &output);
done:
    pv_output_discard(ctx, &output);
    return status;
}

/* Takes the file, and closes it. */
static pv_status write_whole(pv_ctx *ctx, const pv_table *table, const char *folder, int file) {
    FILE *stream = fdopen(file, "w");
    if (!stream) {
        close(file);
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory");
    }
    pv_status status = write_table(ctx, table, false, stream);
    bool good = !ferror(stream);
    good = fclose(stream) == 0 && good;
    if (status == PV_OK && !good)
        status = pv__fail_at(ctx, PV_ERR_WRITE, folder, 0, 0,
                             "the table does not fit `memory`, and could not be written there: %s", strerror(errno));
    return status;
}

pv_status pv_table_put_away(pv_ctx *ctx, const char *folder, pv_table **table) {
    PV_TRY(check_images(ctx, *table));
    int file = pv__file_without_name(folder), copy = file >= 0 ? dup(file) : -1;
    char path[40], *name = NULL;
    pv_table *read = NULL;
    pv_status status;
    if (copy < 0) {
        status = pv__fail_at(ctx, PV_ERR_PATH, folder, 0, 0,
                             "the table does not fit `memory`, and cannot lie there: %s", strerror(errno));
        goto done;
    }
    PV_GOTO(done, write_whole(ctx, *table, folder, copy));
    pv__format(path, sizeof path, "/proc/self/fd/%d", file);
    PV_GOTO(done, pv__strdup(ctx, (*table)->source, &name));
    PV_GOTO(done, pv__packed_read(ctx, path, NULL, &read));
    pv__free(ctx, read->packed->path);
    read->packed->path = name; /* as messages have it */
    read->packed->source.path = name;
    name = NULL;
    pv_table_free(ctx, *table);
    *table = read;
done:
    pv__free(ctx, name);
    if (file >= 0)
        close(file);
    return status;
}

bool pv_table_fits(const pv_ctx *ctx, const pv_table *table) {
    size_t bytes;
    if (table->packed || table->images || table->arrays)
        return true;
    if (__builtin_mul_overflow(table->rows * sizeof(double), table->columns, &bytes))
        return false;
    return !pv__spill_wanted(ctx, bytes);
}

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

/* What is believed of a file once its header has its checksum: *at is where the columns begin. */
static pv_status read_header(pv_ctx *ctx, const pv__source *source, json_t **root, uint64_t *at, size_t *rest) {
    char start[sizeof MAGIC + PV_SIZES_LINE] = {0};
    size_t magic = sizeof MAGIC - 1, n = source->size < sizeof start - 1 ? source->size : sizeof start - 1, sizes[2];
    unsigned long long sum;
    PV_TRY(pv__source_read(ctx, source, 0, n, start));
    size_t line = n > magic ? pv__sizes_parse(start + magic, n - magic, sizes, &sum) : 0;
    if (line == 0)
        return damaged(ctx, source->path, "its second line is not as it was written");
    *at = magic + line;
    if (sizes[0] > source->size - *at)
        return damaged(ctx, source->path, "it ends within its header");
    char *text;
    PV_TRY(pv__alloc(ctx, sizes[0] + 1, 1, &text));
    pv_status status = pv__source_read(ctx, source, *at, sizes[0], text);
    if (status == PV_OK && XXH3_64bits(text, sizes[0]) != sum)
        status = damaged(ctx, source->path, "the checksum of its header is wrong");
    if (status == PV_OK)
        status = pv__json_parse(ctx, text, sizes[0], root);
    pv__free(ctx, text);
    if (status == PV_OK && !*root)
        status = damaged(ctx, source->path, "its header is no JSON");
    *at += sizes[0];
    *rest = sizes[1];
    return status;
}

typedef struct reader {
    pv_ctx *ctx;
    pv__source *source;
    const pv_csv_options *options; /* NULL: none */
    pv_table *table;
    uint64_t at; /* where the next column begins, before it is aligned */
    bool narrow; /* single precision stays in the file */
} reader;

/* The place of the next n cells; refuses those that the file has not. */
static pv_status take_place(reader *r, size_t size, uint64_t *place) {
    uint64_t begin = aligned(r->at), bytes;
    if (__builtin_mul_overflow((uint64_t)r->table->rows, (uint64_t)size, &bytes) || begin > r->source->size ||
        bytes > r->source->size - begin)
        return damaged(r->ctx, r->source->path, "it ends within its columns");
    *place = begin;
    r->at = begin + bytes;
    return PV_OK;
}

static pv_status read_levels(reader *r, json_t *levels, pv_column *column) {
    size_t n = json_array_size(levels);
    if (!json_is_array(levels) || n > INT32_MAX)
        return damaged(r->ctx, r->source->path, "a column's levels are missing");
    if (n == 0)
        return PV_OK;
    PV_TRY(pv__alloc(r->ctx, n, sizeof *column->level, &column->level));
    for (size_t i = 0; i < n; i++) {
        const char *text = json_string_value(json_array_get(levels, i));
        if (!text)
            return damaged(r->ctx, r->source->path, "a level is no text");
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
            return damaged(r->ctx, r->source->path, "a cell has a level that its column has not");
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

/* The texts of numbers: where they are asked for, the column is one of texts; where nobody knows yet, it has both. */
static pv_status read_spelling(reader *r, json_t *from, pv_column *column) {
    uint64_t place;
    bool wanted = pv__wants_text(r->options, column->name), unknown = !r->options || !r->options->roles;
    column->respelled = json_is_true(json_object_get(from, "respelled"));
    if (!json_is_true(json_object_get(from, "spelled")))
        return PV_OK;
    PV_TRY(take_place(r, kind_size[KIND_CODE], &place));
    if (!wanted && !unknown)
        return PV_OK;
    PV_TRY(read_levels(r, json_object_get(from, "levels"), column));
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

/* A rule for texts that were not kept, for the one role that prints them. */
static void tell_of_respelling(const reader *r) {
    const pv_roles *roles = r->options ? r->options->roles : NULL;
    size_t c = roles && roles->id ? pv__table_lookup(r->table, roles->id) : r->table->columns;
    if (c < r->table->columns && r->table->column[c].respelled)
        pv__log(r->ctx, PV_LOG_WARNING,
                "%s: column '%s' was packed as numbers, without the way they were written: ids are written in the "
                "shortest form",
                r->source->path, pv__show(roles->id).text);
}

static pv_status read_column(reader *r, json_t *from, pv_column *column) {
    const char *name = json_string_value(json_object_get(from, "name"));
    const char *word = json_string_value(json_object_get(from, "kind"));
    size_t k = 0;
    if (!name || !*name || !word)
        return damaged(r->ctx, r->source->path, "a column has no name or kind");
    while (k < KIND_LINE && strcmp(word, kind_name[k]) != 0)
        k++;
    if (k == KIND_LINE)
        return damaged(r->ctx, r->source->path, "a column is of a kind that there is not");
    uint64_t place;
    PV_TRY(pv__strdup(r->ctx, name, &column->name));
    PV_TRY(take_place(r, kind_size[k], &place));
    column->type = k == KIND_CODE ? PV_COLUMN_TEXT : PV_COLUMN_NUMBER;
    if (k == KIND_CODE) {
        PV_TRY(read_levels(r, json_object_get(from, "levels"), column));
        return read_codes(r, place, column);
    }
    void *cells = r->source->mapped + place;
    column->borrowed = (k == KIND_DOUBLE && !PV_BIG_ENDIAN) || (k == KIND_SINGLE && r->narrow);
    if (!column->borrowed)
        PV_TRY(k == KIND_SINGLE ? read_single(r, place, column) : read_double(r, place, column));
    else if (k == KIND_SINGLE)
        column->single = cells;
    else
        column->number = cells;
    return read_spelling(r, from, column);
}

static pv_status read_lines(reader *r) {
    uint64_t place;
    size_t rows = r->table->rows;
    PV_TRY(take_place(r, kind_size[KIND_LINE], &place));
    PV_TRY(pv__alloc(r->ctx, rows, sizeof *r->table->line, &r->table->line));
    PV_TRY(read_cells(r, place, sizeof *r->table->line, rows, r->table->line));
    for (size_t i = 0; i < rows; i++)
        if (r->table->line[i] > LINES_MAX || r->table->line[i] <= (i > 0 ? r->table->line[i - 1] : 0))
            return damaged(r->ctx, r->source->path, "its rows have lines that no file has");
    return PV_OK;
}

static pv_status read_written(reader *r, json_t *from) {
    pv_written *w = &r->table->written;
    char **const text[] = {&w->separator, &w->decimal, &w->na, &w->names, &w->quote};
    static const char *const key[] = {"separator", "decimal", "na", "names", "quote"};
    for (size_t i = 0; i < sizeof key / sizeof *key; i++) {
        json_t *value = json_object_get(from, key[i]);
        if (value && !json_is_string(value))
            return damaged(r->ctx, r->source->path, "how it was written is no text");
        if (value)
            PV_TRY(pv__strdup(r->ctx, json_string_value(value), text[i]));
    }
    w->no_header = json_is_true(json_object_get(from, "no_header"));
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

/* Whether its columns of single precision, as doubles, would not fit the context's memory; ranks each need but some of
 * them. */
static bool is_wide(const reader *r, json_t *columns) {
    size_t count = 0, bytes;
    if (PV_BIG_ENDIAN) /* the file's cells are not the machine's */
        return false;
    for (size_t c = 0; c < json_array_size(columns); c++) {
        const char *word = json_string_value(json_object_get(json_array_get(columns, c), "kind"));
        count += word && strcmp(word, kind_name[KIND_SINGLE]) == 0;
    }
    return !__builtin_mul_overflow(r->table->rows * sizeof(double), count, &bytes) &&
           (pv__shares(r->ctx) || pv__spill_wanted(r->ctx, bytes));
}

static pv_status read_table(reader *r, json_t *root, size_t rest) {
    const char *hash = json_string_value(json_object_get(root, "hash"));
    json_t *columns = json_object_get(root, "columns");
    json_int_t rows = json_integer_value(json_object_get(root, "rows"));
    size_t n = json_array_size(columns);
    char *end = NULL;
    if (!hash || rows < 1 || n < 1 || n > COLUMNS_MAX || !json_is_array(columns))
        return damaged(r->ctx, r->source->path, "its header is not that of a table");
    r->table->rows = (size_t)rows;
    r->table->hash = strtoull(hash, &end, 16);
    if (end != hash + 16 || *end)
        return damaged(r->ctx, r->source->path, "its hash is none");
    uint64_t begin = aligned(r->at);
    r->narrow = is_wide(r, columns);
    PV_TRY(pv__alloc(r->ctx, n, sizeof *r->table->column, &r->table->column));
    for (size_t c = 0; c < n; c++) {
        r->table->columns = c + 1;
        PV_TRY(read_column(r, json_array_get(columns, c), &r->table->column[c]));
        PV_TRY(pv__go_on(r->ctx));
    }
    PV_TRY(read_written(r, json_object_get(root, "written")));
    if (json_is_true(json_object_get(root, "lines")))
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
    if (packed && at - (uintptr_t)packed->source.mapped < packed->source.size) /* not one that was added to the table */
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
    char byte;
    struct iovec last = {&byte, 1};
    n = n < left ? n : left;
    if (n == 0 || preadv2(packed->source.descriptor, &last, 1, (off_t)(offset + n - 1), RWF_NOWAIT) == 1)
        return; /* it has them: to tell it so would take it longer */
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
    json_t *root = NULL;
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
    const char *source = json_string_value(json_object_get(root, "source"));
    PV_GOTO(fail, source ? pv__strdup(ctx, source, &made->source) : damaged(ctx, path, "its source is missing"));
    r.source = &packed->source;
    r.table = made;
    PV_GOTO(fail, read_table(&r, root, rest));
    json_decref(root);
    made->packed = packed;
    *table = made;
    return PV_OK;
fail:
    json_decref(root);
    pv_table_free(ctx, made);
    pv__packed_close(ctx, packed);
    return status;
}
