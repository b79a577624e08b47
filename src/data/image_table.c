/* A file of arrays as a table: the data of each row other than its image. */
#include <math.h>
#include <string.h>

#include "data/archive.h"
#include "data/data.h"

enum { WIDTH_MAX = 64, COLUMNS_MAX = 512, COLUMN_BYTES = 64 << 20 };

typedef struct reader {
    pv_ctx *ctx;
    const char *path;
    const pv_csv_options *options;
    pv_archive *archive;
    size_t rows, columns;
    bool images;                 /* one array has three or more dimensions and defines the rows */
    pv_array array[COLUMNS_MAX]; /* one per column */
    size_t offset[COLUMNS_MAX];  /* [N][m]: index of the column among m */
    char *name[COLUMNS_MAX];
    pv_archive *other[COLUMNS_MAX]; /* other files from which columns were taken */
    size_t others;
} reader;

static bool is_text(const pv_array *a) {
    return a->type == PV_ARRAY_UNICODE || a->type == PV_ARRAY_BYTES;
}

static pv_status add_column(reader *r, const pv_array *array, const char *name, size_t offset, bool numbered) {
    if (r->columns == COLUMNS_MAX)
        return pv__fail_at(r->ctx, PV_ERR_INPUT, r->path, 0, 0, "has more than %d columns;\nsave fewer", COLUMNS_MAX);
    size_t size = strlen(name) + 24;
    PV_TRY(pv__alloc(r->ctx, size, 1, &r->name[r->columns]));
    if (numbered)
        pv__format(r->name[r->columns], size, "%s.%zu", name, offset + 1);
    else
        pv__format(r->name[r->columns], size, "%s", name);
    r->array[r->columns] = *array;
    r->offset[r->columns++] = offset;
    return PV_OK;
}

static bool asked_for(const reader *r, const char *name) {
    const pv_csv_options *o = r->options;
    return o && (pv__listed(o->text, o->n_text, name) || (o->keep && pv__listed(o->keep, o->n_keep, name)) ||
                 pv__listed(o->number, o->n_number, name));
}

/* Adds members of one or two dimensions that have as many rows as there are images. Large ones are images and stay
 * packed. */
static pv_status add_members(reader *r) {
    size_t count = pv_archive_count(r->archive);
    for (size_t m = 0; m < count; m++) {
        pv_array a;
        int dims;
        size_t rows;
        const char *name = pv_archive_name(r->archive, m);
        PV_TRY(pv__archive_peek(r->ctx, r->archive, m, asked_for(r, name), &dims, &rows));
        if (dims >= 1 && dims <= 2 && rows != r->rows && asked_for(r, name))
            return pv__fail_at(r->ctx, PV_ERR_INPUT, r->path, 0, 0,
                               "array '%s' has %zu rows, the %s %zu; a column has one for each", pv__show(name).text,
                               rows, r->images ? "images" : "other arrays", r->rows);
        if (dims < 1 || dims > 2 || rows != r->rows || pv__archive_size(r->archive, m) > COLUMN_BYTES)
            continue;
        PV_TRY(pv__archive_own(r->ctx, r->archive, m, &a));
        size_t width = a.dims == 2 ? a.shape[1] : 1;
        for (size_t i = 0; width <= WIDTH_MAX && i < width; i++)
            PV_TRY(add_column(r, &a, name, i, a.dims == 2));
    }
    return PV_OK;
}

/* Adds a requested column that is stored in another file of one array. */
static pv_status add_file(reader *r, const char *name) {
    pv_array a;
    for (size_t c = 0; c < r->columns; c++)
        if (strcmp(r->name[c], name) == 0)
            return PV_OK;
    if (!pv_archive_recognise(name))
        return PV_OK; /* whoever needs the column will report that it is missing */
    if (r->others == COLUMNS_MAX)
        return PV_OK;
    PV_TRY(pv_archive_open(r->ctx, name, &r->other[r->others]));
    pv_archive *archive = r->other[r->others++];
    if (pv_archive_count(archive) != 1)
        return pv__fail_at(r->ctx, PV_ERR_INPUT, name, 0, 0,
                           "has several arrays; a column is a file of one:\nsave it alone (numpy.save)");
    PV_TRY(pv__archive_own(r->ctx, archive, 0, &a));
    if (a.dims != 1 || a.shape[0] != r->rows)
        return pv__fail_at(r->ctx, PV_ERR_INPUT, name, 0, 0,
                           "has %zu rows and %d dimension%s; a column of %s has one and %zu rows",
                           a.dims ? a.shape[0] : 1, a.dims, a.dims == 1 ? "" : "s", r->path, r->rows);
    return add_column(r, &a, name, 0, false);
}

/* Sets N to the length of the first array of three or more dimensions, or else of the first array. */
static pv_status find_rows(reader *r) {
    size_t count = pv_archive_count(r->archive);
    bool found = false;
    for (size_t m = 0; m < count; m++) {
        size_t rows;
        int dims;
        PV_TRY(pv__archive_peek(r->ctx, r->archive, m, false, &dims, &rows));
        if (dims >= 3 || (!found && dims >= 1 && r->rows == 0))
            r->rows = rows;
        r->images = dims >= 3;
        if (r->images)
            return PV_OK;
        found = found || dims >= 1;
    }
    return found ? PV_OK
                 : pv__fail_at(r->ctx, PV_ERR_INPUT, r->path, 0, 0,
                               "has no array of rows; if it is a zipped table, unpack it");
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static pv_status fill_text(reader *r, size_t c, pv_column *column) {
    const pv_array *a = &r->array[c];
    size_t width = a->dims == 2 ? a->shape[1] : 1;
    size_t room = pv__array_text_room(a);
    char *text = NULL;
    pv__dictionary dictionary = {0};
    pv_status status;
    column->type = PV_COLUMN_TEXT;
    PV_GOTO(done, pv__alloc(r->ctx, room, 1, &text));
    PV_GOTO(done, pv__alloc(r->ctx, r->rows, sizeof *column->code, &column->code));
    for (size_t n = 0; n < r->rows; n++) {
        size_t at = n * width + r->offset[c];
        pv_array_text(a, at, text, room);
        bool missing = !*text || (!is_text(a) && isnan(pv_array_number(a, at)));
        uint64_t hash;
        int32_t code = missing ? -1 : pv__dictionary_find(&dictionary, column, text, strlen(text), &hash);
        if (!missing && code < 0) {
            code = column->levels;
            PV_GOTO(done, pv__dictionary_add(r->ctx, &dictionary, column, text, strlen(text), hash));
        }
        column->code[n] = code;
    }
done:
    pv__dictionary_free(r->ctx, &dictionary);
    pv__free(r->ctx, text);
    return status;
}

/* Whether its values may have more digits than a double. */
static bool has_digits(const pv_array *a) {
    return a->type == PV_ARRAY_I64 || a->type == PV_ARRAY_U64;
}

static pv_status keep_digits(reader *r, size_t c, pv_column *column) {
    const pv_array *a = &r->array[c];
    size_t width = a->dims == 2 ? a->shape[1] : 1;
    pv__dictionary dictionary = {0};
    pv_status status = PV_OK;
    for (size_t n = 0; n < r->rows && status == PV_OK; n++) {
        char text[40];
        if (!column->code && fabs(column->number[n]) < (double)PV__EXACT_INTEGER)
            continue;
        pv_array_text(a, n * width + r->offset[c], text, sizeof text);
        status = pv__spell(r->ctx, &dictionary, column, n, r->rows, text, strlen(text));
    }
    pv__dictionary_free(r->ctx, &dictionary);
    return status;
}

static pv_status fill_column(reader *r, size_t c, pv_column *column) {
    const pv_array *a = &r->array[c];
    const pv_csv_options *o = r->options;
    bool over = o && o->keep && !pv__listed(o->keep, o->n_keep, r->name[c]);
    size_t width = a->dims == 2 ? a->shape[1] : 1;
    if (over) {
        column->type = PV_COLUMN_TEXT;
        PV_TRY(pv__alloc(r->ctx, r->rows, sizeof *column->code, &column->code));
        memset(column->code, 0xFF, r->rows * sizeof *column->code);
        return PV_OK;
    }
    bool asked = o && pv__wants_text(o, r->name[c]);
    if (is_text(a) || (asked && (has_digits(a) || pv__listed(o->text, o->n_text, r->name[c]))))
        return fill_text(r, c, column);
    PV_TRY(pv__alloc(r->ctx, r->rows, sizeof *column->number, &column->number));
    for (size_t n = 0; n < r->rows; n++)
        column->number[n] = pv_array_number(a, n * width + r->offset[c]);
    return pv__keeps_spelling(o) && has_digits(a) ? keep_digits(r, c, column) : PV_OK;
}

static pv_status make_table(reader *r, pv_table **table) {
    PV_TRY(pv__table_new(r->ctx, r->path, (const char *const *)r->name, r->columns, r->rows, table));
    pv_table *t = *table;
    t->arrays = true;
    t->images = r->images;
    PV_TRY(pv__archive_hash(r->ctx, r->archive, &t->hash));
    t->archive = pv__archive_share(r->archive);
    PV_TRY(pv__alloc(r->ctx, r->rows, sizeof *t->line, &t->line));
    for (size_t n = 0; n < r->rows; n++)
        t->line[n] = n + 1;
    for (size_t c = 0; c < r->columns; c++)
        PV_TRY(fill_column(r, c, &t->column[c]));
    for (size_t i = 0; i < r->others; i++)
        PV_TRY(pv__archive_unchanged(r->ctx, r->other[i], PV_SOURCE_WRITTEN));
    return pv__archive_unchanged(r->ctx, r->archive, PV_SOURCE_WRITTEN);
}

/* Reads from a file, or from an archive that is already open. */
static pv_status read_table(pv_ctx *ctx, const char *path, pv_archive *archive, const pv_csv_options *options,
                            pv_table **table) {
    *table = NULL;
    reader *r;
    PV_TRY(pv__alloc(ctx, 1, sizeof *r, &r));
    r->ctx = ctx;
    r->path = path;
    r->options = options;
    r->archive = archive;
    pv_status status;
    if (!archive)
        PV_GOTO(done, pv_archive_open(ctx, path, &r->archive));
    PV_GOTO(done, find_rows(r));
    PV_GOTO(done, add_members(r));
    for (size_t i = 0; options && i < options->n_text; i++)
        PV_GOTO(done, add_file(r, options->text[i]));
    PV_GOTO(done, make_table(r, table));
done:
    if (status != PV_OK) {
        pv_table_free(ctx, *table);
        *table = NULL;
    }
    for (size_t c = 0; c < r->columns; c++)
        pv__free(ctx, r->name[c]);
    for (size_t i = 0; i < r->others; i++)
        pv_archive_free(ctx, r->other[i]);
    if (!archive)
        pv_archive_free(ctx, r->archive);
    pv__free(ctx, r);
    return status;
}

pv_status pv__image_table_read(pv_ctx *ctx, const char *path, const pv_csv_options *options, pv_table **table) {
    return read_table(ctx, path, NULL, options, table);
}

pv_status pv_table_of(pv_ctx *ctx, pv_archive *archive, const pv_csv_options *options, pv_table **table) {
    pv__reading reading;
    *table = NULL;
    PV_TRY(pv__reading_new(ctx, options, &reading));
    pv_status status = read_table(ctx, pv__archive_path(archive), archive, &reading.options, table);
    pv__reading_free(ctx, &reading);
    return status;
}
