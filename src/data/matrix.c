/* The matrix of a data set: in memory, or assembled block by block from the mapped columns of a packed table.
 *
 * The same function computes a cell in both cases, so the numbers are identical. If the matrix would not fit the
 * context's memory, and all its number columns are in a mapped file, it is not built: the data set keeps the columns
 * and what was learned about them (struct pv_columns), and pv_dataset_rows fills a block of rows at a time. Nothing is
 * written to disk. Ranks that share the rows do the same, but store their own rows once if these fit.
 */
#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "base/openmp.h"
#include "data/columns.h"
#include "data/schema_learn.h"

static const double RARE_ROWS = 10, RARE_SHARE = 0.01; /* a level with fewer rows than either of these is rare */

/* How the features of one source are computed. */
typedef struct feature {
    const pv_source_column *source;
    pv__numbers numbers;
    const int32_t *code; /* [data->rows], codes of a text column */
} feature;

/* Raw rows of all columns that a thread will use next, because a file is best read in long pieces. */
typedef struct window {
    atomic_flag busy;
    size_t first, rows; /* rows 0: empty */
    size_t ahead;       /* read-ahead has been requested up to this row */
    double *cells;      /* [sources][capacity in rows] */
} window;

struct pv_columns {
    feature *feature; /* [sources] */
    size_t sources;
    int unseen;
    bool all_rows;             /* the data's rows are all rows of the table, in order */
    pv_source_column *learned; /* [sources], the data set's own copy, to which feature points */
    int32_t **code;            /* [sources] */
    struct pv_packed *packed;  /* the mapped file */
    window *window;            /* [windows]; none if the data are a subset of the rows */
    size_t windows, room;
    double *own; /* [own_rows][features], this rank's rows from own_first on; NULL: not stored */
    size_t own_first, own_rows;
};

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* Writes the mean of the rare levels, weighted by their rows; false if there are none. If all levels are rare, none
 * counts as rare. */
static bool put_rare(const pv_source_column *source, double *x) {
    size_t indicators = (size_t)source->levels - 1;
    double all = 0, rare = 0;
    if (!source->rows)
        return false;
    for (size_t k = 0; k <= indicators; k++)
        all += source->rows[k];
    double few = fmax(RARE_ROWS, RARE_SHARE * all);
    for (size_t k = 0; k <= indicators; k++)
        rare += source->rows[k] < few ? source->rows[k] : 0;
    if (!(rare > 0 && rare < all))
        return false;
    for (size_t k = 1; k <= indicators; k++)
        x[k - 1] = source->rows[k] < few ? source->rows[k] / rare : 0;
    return true;
}

/* Fills the features of a text column for a cell without a known level. */
void pv__source_unknown(const pv_source_column *source, int32_t code, int rule, double *x) {
    size_t indicators = (size_t)source->levels - 1, usual = 0;
    memset(x, 0, pv_source_width(source) * sizeof *x);
    if (code == PV__UNSEEN && (rule == PV_UNSEEN_REFERENCE || (rule == PV_UNSEEN_OTHER && put_rare(source, x))))
        return;
    for (size_t k = 1; source->rows && k <= indicators; k++)
        usual = source->rows[k] > source->rows[usual] ? k : usual;
    if (source->missing)
        x[indicators] = 1;
    else if (usual > 0)
        x[usual - 1] = 1;
}

void pv__source_relearn(const pv_source_column *learned, double *x) {
    size_t indicators = (size_t)learned->levels - 1, level = 0;
    if (!learned->rows || (learned->missing && x[indicators] != 0))
        return;
    for (size_t k = 1; k <= indicators; k++)
        level = x[k - 1] == 1 ? k : level;
    if (!(learned->rows[level] > 0))
        pv__source_unknown(learned, PV__UNSEEN, PV_UNSEEN_OTHER, x);
}

enum { BLOCK = PV__BLOCK };

/* Standardises one column's numbers of at most PV__TILE rows into value. False if a cell is missing or too far from the
 * mean. */
static bool standardise(const feature *f, pv__numbers numbers, size_t at, size_t rows, double *value) {
    const pv__column_kernels *kernels = pv__column_kernels_get();
    if (numbers.wide)
        return kernels->standardise(rows, numbers.wide + at, f->source->mean, f->source->sd, value);
    return kernels->standardise_single(rows, numbers.narrow + at, f->source->mean, f->source->sd, value);
}

/* Replaces missing cells by the mean. False if a number is too far from the mean. */
static bool fill_gaps(size_t rows, double *value) {
    bool near = true;
    for (size_t i = 0; i < rows; i++) {
        near &= isnan(value[i]) || fabs(value[i]) <= PV__FARTHEST;
        value[i] = isnan(value[i]) ? 0 : value[i];
    }
    return near;
}

/* The column's numbers in the window from row begin on. */
static pv__numbers seen_in(const struct pv_columns *columns, const window *seen, const feature *f, size_t begin) {
    const double *cells = seen->cells + (size_t)(f - columns->feature) * columns->room;
    size_t at = begin - seen->first;
    return (pv__numbers){.wide = f->numbers.wide ? cells + at : NULL,
                         .narrow = f->numbers.wide ? NULL : (const float *)(const void *)cells + at};
}

enum { PART = 256 }; /* rows gathered at a time, because stacks may be small */

/* Fills rows begin .. end-1, at most PART, of adjacent number columns; x: their first feature. False if a number is too
 * far from the mean. */
static bool fill_part(const struct pv_columns *of, const window *seen, size_t s, size_t columns, const pv_dataset *data,
                      size_t begin, size_t end, double *x) {
    const feature *f = &of->feature[s];
    size_t width = (size_t)data->features, rows = end - begin;
    double room[PV__TILE_COLUMNS][PART], tile[PV__TILE_COLUMNS * PV__TILE];
    pv__numbers numbers[PV__TILE_COLUMNS];
    bool near = true, missing = columns == 1 && f->source->missing;
    for (size_t k = 0; k < columns; k++) {
        if (seen && f[k].numbers.file) {
            numbers[k] = seen_in(of, seen, &f[k], begin);
        } else if (of->all_rows) {
            numbers[k] = pv__numbers_read(f[k].numbers, begin, rows, room[k]);
        } else {
            pv__numbers_gather(f[k].numbers, data->table_row + begin, rows, room[k]);
            numbers[k] = (pv__numbers){.wide = room[k]};
        }
    }
    for (size_t at = 0; at < rows; at += PV__TILE, x += PV__TILE * width) {
        size_t n = rows - at < PV__TILE ? rows - at : PV__TILE;
        for (size_t k = 0; k < columns; k++) {
            double *value = tile + k * PV__TILE;
            bool plain = standardise(&f[k], numbers[k], at, n, value);
            for (size_t i = 0; missing && i < n; i++)
                x[i * width + 1] = isnan(value[i]);
            if (!plain)
                near = fill_gaps(n, value) && near;
        }
        pv__column_kernels_get()->turn(n, columns, tile, width, x);
    }
    return near;
}

static bool fill_numbers(const struct pv_columns *of, const window *seen, size_t s, size_t columns,
                         const pv_dataset *data, size_t begin, size_t end, double *x) {
    bool near = true;
    for (size_t at = begin; at < end; at += PART, x += PART * (size_t)data->features)
        near = fill_part(of, seen, s, columns, data, at, end - at < PART ? end : at + PART, x) && near;
    return near;
}

static void fill_levels(const feature *f, int unseen, const pv_dataset *data, size_t begin, size_t end, double *x) {
    const pv_source_column *source = f->source;
    size_t features = (size_t)data->features, indicators = (size_t)source->levels - 1;
    for (size_t i = begin; i < end; i++, x += features) {
        if (f->code[i] < 0) {
            pv__source_unknown(source, f->code[i], unseen, x);
            continue;
        }
        for (size_t k = 0; k < indicators; k++)
            x[k] = f->code[i] == (int32_t)k + 1;
        if (source->missing)
            x[indicators] = 0;
    }
}

/* The number of adjacent number columns from s on, up to the width of a tile. */
static size_t side_by_side(const struct pv_columns *columns, size_t s) {
    size_t n = 0;
    while (n < PV__TILE_COLUMNS && s + n < columns->sources &&
           columns->feature[s + n].source->type == PV_COLUMN_NUMBER && !columns->feature[s + n].source->missing)
        n++;
    return n > 0 ? n : 1;
}

/* Fills rows begin .. end-1, at most BLOCK, which stay in cache while the columns are processed. seen: a window that
 * contains them, or NULL. */
static bool fill_block(const struct pv_columns *columns, const window *seen, const pv_dataset *data, size_t begin,
                       size_t end, double *x) {
    bool near = true;
    for (size_t s = 0, taken; s < columns->sources; s += taken) {
        const feature *f = &columns->feature[s];
        taken = side_by_side(columns, s);
        if (f->source->type == PV_COLUMN_NUMBER)
            near = fill_numbers(columns, seen, s, taken, data, begin, end, x) && near;
        else
            fill_levels(f, columns->unseen, data, begin, end, x);
        for (size_t k = 0; k < taken; k++)
            x += pv_source_width(f[k].source);
    }
    return near;
}

const double *pv__columns_own(const pv_dataset *data, size_t begin, size_t n) {
    const struct pv_columns *c = data->columns;
    bool here = c->own && begin >= c->own_first && begin + n <= c->own_first + c->own_rows;
    return here ? c->own + (begin - c->own_first) * (size_t)data->features : NULL;
}

/* Requests read-ahead of the rows that will probably be used next: enough to keep a disk busy meanwhile. */
static void look_ahead(const struct pv_columns *columns, const pv_dataset *data, bool on, window *seen) {
    enum { BYTES = 1 << 23, FEWEST = 1 << 14 };
    size_t some = BYTES / sizeof(float) / (columns->sources + 1), end = seen->first + seen->rows;
    some = some < FEWEST ? FEWEST : some;
    seen->ahead = on ? seen->ahead : seen->first;
    while (seen->ahead < end + some && seen->ahead < data->rows) {
        size_t next = some < data->rows - seen->ahead ? seen->ahead + some : data->rows;
        for (size_t s = 0; s < columns->sources; s++)
            pv__numbers_expect(columns->feature[s].numbers, seen->ahead, next);
        seen->ahead = next;
    }
}

/* Reads as many pieces of n rows as fit the window. */
static void look_out(const struct pv_columns *columns, const pv_dataset *data, size_t begin, size_t n, window *seen) {
    size_t rows = columns->room / n * n;
    bool on = begin == seen->first + seen->rows; /* continues where the window ended */
    seen->first = begin;
    seen->rows = rows < data->rows - begin ? rows : data->rows - begin;
    look_ahead(columns, data, on, seen);
    for (size_t s = 0; s < columns->sources; s++)
        if (columns->feature[s].numbers.file)
            (void)pv__numbers_read(columns->feature[s].numbers, begin, seen->rows, seen->cells + s * columns->room);
}

static bool has(const window *seen, size_t begin, size_t n) {
    return begin >= seen->first && begin + n <= seen->first + seen->rows;
}

/* Reserves a window with rows begin .. begin+n-1 for the caller: preferably one that contains them, else one that ends
 * where they begin, as the caller's own does in a sequential pass, else any. NULL if none is available. */
static window *take_window(const struct pv_columns *columns, const pv_dataset *data, size_t begin, size_t n) {
    enum { HAS, ENDS, ANY, CHOICES };
    for (int choice = HAS; choice < CHOICES && n <= columns->room; choice++)
        for (size_t i = 0; i < columns->windows; i++) {
            window *w = &columns->window[i];
            if (atomic_flag_test_and_set_explicit(&w->busy, memory_order_acquire))
                continue;
            if (has(w, begin, n))
                return w;
            if (choice == ANY || (choice == ENDS && w->first + w->rows == begin)) {
                look_out(columns, data, begin, n, w);
                return w;
            }
            atomic_flag_clear_explicit(&w->busy, memory_order_release);
        }
    return NULL;
}

void pv__columns_rows(const pv_dataset *data, size_t begin, size_t n, double *x) {
    enum { LEAP = 64 }; /* a caller that asks for fewer rows is not making a sequential pass */
    window *seen = n >= LEAP ? take_window(data->columns, data, begin, n) : NULL;
    size_t blocks = (n + BLOCK - 1) / BLOCK,
           rows = blocks > 0 ? (n + blocks - 1) / blocks : 0; /* of about equal size */
    for (size_t at = 0; at < n; at += rows) {
        size_t end = at + rows < n ? at + rows : n;
        (void)fill_block(data->columns, seen, data, begin + at, begin + end, x + at * (size_t)data->features);
    }
    if (seen)
        atomic_flag_clear_explicit(&seen->busy, memory_order_release);
}

/* ---- the whole matrix ----------------------------------------------------------------------------------------------
 */

static pv_status refuse_far(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan,
                            const struct pv_columns *columns, const pv_dataset *data) {
    for (size_t i = 0; i < data->rows; i++)
        for (size_t s = 0; s < columns->sources; s++) {
            const pv_source_column *source = columns->feature[s].source;
            size_t row = data->table_row[i];
            if (source->type != PV_COLUMN_NUMBER)
                continue;
            double number = pv__number_at(columns->feature[s].numbers, row);
            if (isnan(number)) /* filled cell */
                continue;
            bool near = fabs((number - source->mean) / source->sd) <= PV__FARTHEST;
            if (!near && plan->offset == plan->feature[s] && plan->offset < table->columns)
                return PV__FAIL_CELL(ctx, table, row, plan->feature[s],
                                     "an offset of %g in column '%s' is too large;\ncorrect the cell", number,
                                     pv__show(source->name).text);
            if (!near)
                return PV__FAIL_CELL(ctx, table, row, plan->feature[s],
                                     "%g in column '%s' is too far from the mean %g of the training rows "
                                     "(standard deviation %g) to compute with;\ncorrect the cell",
                                     number, pv__show(source->name).text, source->mean, source->sd);
        }
    return pv__fail(ctx, PV_ERR_INTERNAL, "a cell is too far from the mean, and none is");
}

/* Rows assembled together: few for a wide table, so that they stay in cache. */
static size_t block_rows(const pv_dataset *data) {
    enum { CELLS = 1 << 15, FEWEST = 64 };
    size_t rows = CELLS / ((size_t)data->features + 1);
    return rows < FEWEST ? FEWEST : rows > BLOCK ? BLOCK : rows;
}

/* Fills rows first .. last-1 into x or, if they are only examined, into a block per thread. */
static bool fill_rows(pv_ctx *ctx, const struct pv_columns *columns, const pv_dataset *data, size_t first, size_t last,
                      bool looked_at, double *x) {
    enum { ROWS_EACH = 1 << 14 };
    bool near = true;
    size_t step = block_rows(data), blocks = (last - first + step - 1) / step, d = (size_t)data->features;
#pragma omp parallel for num_threads(pv__threads_for(ctx, (last - first) / ROWS_EACH)) reduction(&& : near)
    for (size_t b = 0; b < blocks; b++) {
        size_t begin = first + b * step, end = begin + step < last ? begin + step : last;
        size_t place = looked_at ? (size_t)omp_get_thread_num() * step : begin - first;
        near = fill_block(columns, NULL, data, begin, end, x + place * d) && near;
    }
    return near;
}

static pv_status look_at_all(pv_ctx *ctx, const struct pv_columns *columns, const pv_dataset *data, bool *near) {
    double *room;
    PV_TRY(
        pv__alloc(ctx, (size_t)pv_ctx_threads(ctx) * block_rows(data), (size_t)data->features * sizeof *room, &room));
    *near = fill_rows(ctx, columns, data, 0, data->rows, true, room);
    pv__free(ctx, room);
    return PV_OK;
}

static pv_status fill_new(pv_ctx *ctx, const struct pv_columns *columns, const pv_dataset *data, double **x,
                          bool *near) {
    *x = NULL;
    PV_TRY(pv__resize(ctx, data->rows, (size_t)data->features * sizeof **x, x));
    pv__expect_use(*x, data->rows * (size_t)data->features * sizeof **x);
    *near = fill_rows(ctx, columns, data, 0, data->rows, false, *x);
    return PV_OK;
}

pv_status pv__matrix_make(pv_ctx *ctx, const pv_dataset *data, double **x) {
    bool near;
    return fill_new(ctx, data->columns, data, x, &near);
}

/* ---- columns that a dataset keeps ---------------------------------------------------------------------------------
 */

void pv__columns_free(pv_ctx *ctx, struct pv_columns *columns) {
    if (!columns)
        return;
    for (size_t s = 0; columns->learned && s < columns->sources; s++)
        pv__source_clear(ctx, &columns->learned[s]);
    for (size_t s = 0; columns->code && s < columns->sources; s++)
        pv__free(ctx, columns->code[s]);
    for (size_t i = 0; columns->window && i < columns->windows; i++)
        pv__free(ctx, columns->window[i].cells);
    pv__packed_close(ctx, columns->packed);
    pv__free(ctx, columns->window);
    pv__free(ctx, columns->learned);
    pv__free(ctx, columns->code);
    pv__free(ctx, columns->feature);
    pv__free(ctx, columns->own);
    pv__free(ctx, columns);
}

static pv_status columns_new(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, const pv_schema *schema,
                             int32_t *const *code, int unseen, const pv_dataset *data, struct pv_columns **made) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    (*made)->sources = schema->sources;
    (*made)->unseen = unseen;
    (*made)->all_rows = pv__all_rows(table, data);
    PV_TRY(pv__alloc(ctx, schema->sources, sizeof *(*made)->feature, &(*made)->feature));
    for (size_t s = 0; s < schema->sources; s++)
        (*made)->feature[s] =
            (feature){.source = &schema->source[s],
                      .numbers = schema->source[s].type == PV_COLUMN_NUMBER ? pv__encoding_numbers(plan, table, s)
                                                                            : (pv__numbers){0},
                      .code = schema->source[s].type == PV_COLUMN_TEXT ? code[s] : NULL}; /* terms have no codes */
    return PV_OK;
}

/* Allocates one window per thread, small enough to stay in its cache if possible. */
static pv_status open_windows(pv_ctx *ctx, struct pv_columns *columns) {
    enum { BYTES = 1 << 20, FEWEST = 256, MOST = 8192 };
    size_t rows = BYTES / sizeof(double) / (columns->sources + 1), threads = (size_t)pv_ctx_threads(ctx);
    if (!columns->all_rows)
        return PV_OK;
    columns->room = rows < FEWEST ? FEWEST : rows > MOST ? MOST : rows;
    PV_TRY(pv__alloc(ctx, threads, sizeof *columns->window, &columns->window));
    for (; columns->windows < threads; columns->windows++) {
        window *w = &columns->window[columns->windows];
        atomic_flag_clear(&w->busy);
        PV_TRY(pv__alloc(ctx, columns->sources * columns->room, sizeof *w->cells, &w->cells));
    }
    return PV_OK;
}

/* Replaces what the columns borrow by copies or shares of their own: the mapped file, the learned values, the codes. */
static pv_status keep(pv_ctx *ctx, const pv_table *table, int32_t **code, struct pv_columns *columns) {
    PV_TRY(pv__alloc(ctx, columns->sources, sizeof *columns->learned, &columns->learned));
    PV_TRY(pv__alloc(ctx, columns->sources, sizeof *columns->code, &columns->code));
    columns->packed = pv__packed_share(table->packed);
    for (size_t s = 0; s < columns->sources; s++) {
        PV_TRY(pv__source_copy(ctx, columns->feature[s].source, &columns->learned[s]));
        columns->feature[s].source = &columns->learned[s];
        if (columns->learned[s].type != PV_COLUMN_TEXT)
            continue;
        columns->code[s] = code[s];
        code[s] = NULL;
    }
    return open_windows(ctx, columns);
}

/* Stores the rows that this rank reads repeatedly. Rows at the edges, where some passes have slightly larger shares,
 * are assembled on demand. */
static pv_status hold_own(pv_ctx *ctx, const pv_dataset *data, struct pv_columns *columns) {
    int rank, size = pv_ctx_ranks(ctx, &rank);
    size_t d = (size_t)data->features;
    size_t first = pv__share_of(data->rows, rank, size), last = pv__share_of(data->rows, rank + 1, size);
    if (!pv__shares(ctx) || first == last || pv__spill_wanted(ctx, (last - first) * d * sizeof(double)))
        return PV_OK;
    PV_TRY(pv__resize(ctx, last - first, d * sizeof *columns->own, &columns->own));
    pv__expect_use(columns->own, (last - first) * d * sizeof *columns->own);
    (void)fill_rows(ctx, columns, data, first, last, false, columns->own);
    columns->own_first = first;
    columns->own_rows = last - first;
    return PV_OK;
}

/* With several ranks each reads only its own rows, and building the matrix of all would take longer than working
 * without it. A small one is quickly built. */
static bool shared(const pv_ctx *ctx, size_t bytes) {
    enum { SMALL = 1 << 20 };
    return pv_ctx_ranks(ctx, NULL) > 1 && bytes > SMALL;
}

/* Whether all numbers are in a mapped file, and the matrix would either not fit or be used only in part. */
static bool stays(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, const pv_schema *schema,
                  const pv_dataset *data) {
    size_t bytes;
    if (!table->packed || __builtin_mul_overflow(data->rows * sizeof(double), (size_t)schema->features, &bytes) ||
        !(shared(ctx, bytes) || pv__spill_wanted(ctx, bytes)))
        return false;
    for (size_t s = 0; s < schema->sources; s++) {
        const pv_column *column = &table->column[plan->feature[s]];
        if ((plan->made && plan->made[s]) ||
            (schema->source[s].type == PV_COLUMN_NUMBER && column->number && !column->borrowed))
            return false;
    }
    return true;
}

pv_status pv__columns_unchanged(pv_ctx *ctx, const pv_dataset *data) {
    return data->columns ? pv__packed_same(ctx, data->columns->packed) : PV_OK;
}

pv_status pv__sources_fill(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, const pv_schema *schema,
                           int32_t **code, int unseen, bool learned, pv_dataset *data) {
    struct pv_columns *columns = NULL;
    bool near = true;
    pv_status status;
    data->features = schema->features;
    PV_GOTO(done, columns_new(ctx, table, plan, schema, code, unseen, data, &columns));
    if (stays(ctx, table, plan, schema, data)) {
        /* n values are within sqrt(n) of their own standard deviations from the mean; an offset has no such scale */
        if (!learned || data->weight || schema->offset)
            PV_GOTO(done, look_at_all(ctx, columns, data, &near));
        if (near)
            PV_GOTO(done, keep(ctx, table, code, columns));
        if (near)
            PV_GOTO(done, hold_own(ctx, data, columns));
    } else {
        PV_GOTO(done, fill_new(ctx, columns, data, &data->x, &near));
    }
    if (!near)
        PV_GOTO(done, refuse_far(ctx, table, plan, columns, data));
    if (!data->x) {
        data->columns = columns;
        columns = NULL;
    }
done:
    pv__columns_free(ctx, columns);
    return status;
}
