/* The matrix of a dataset: in memory, or made of the mapped columns of a packed table as its rows are asked for.
 *
 * A cell is the same number either way: the same function makes it. A matrix that would not fit the context's memory is
 * not made where all its columns of numbers lie in a mapped file: the dataset then keeps the columns and what was
 * learned of them (struct pv_columns), and pv_dataset_rows fills a block of rows at a time. Nothing is written. Ranks
 * that share the rows do the same, but make those that are their own once, where they fit.
 */
#include <math.h>
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "data/columns.h"
#include "data/encode.h"

static const double RARE_ROWS = 10, RARE_SHARE = 0.01; /* a level with fewer rows than either is rare */

/* What the features of one source are made of. */
typedef struct feature {
    const pv_source_column *source;
    pv__numbers numbers;
    const int32_t *code; /* [data->rows], of a text column */
} feature;

struct pv_columns {
    feature *feature; /* [sources] */
    size_t sources;
    int unseen;
    bool all_rows;             /* the data's rows are the table's, in order */
    pv_source_column *learned; /* [sources], where this is a dataset's own: what feature points at */
    int32_t **code;            /* [sources] */
    struct pv_packed *packed;  /* the mapped file */
    const pv_ctx *ctx;         /* the root, whose memory is limited */
    atomic_uint asked;         /* for few rows, so many times */
    double *own;               /* [own_rows][features], from row own_first on: a rank's own; NULL: none are held */
    size_t own_first, own_rows;
};

/* ---- cells ------------------------------------------------------------------------------------------------------- */

/* The mean of the rare levels, each by its rows; false where there are none. Where all are rare, none is. */
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

/* The row's features of a text column whose cell has no level that the model knows. */
static void put_unknown(const pv_source_column *source, int32_t code, int rule, double *x) {
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
        put_unknown(learned, PV__UNSEEN, PV_UNSEEN_OTHER, x);
}

enum { BLOCK = 256 };

/* Rows begin .. end-1, at most BLOCK, of one column; x: their first feature of it. False where a number is too far from
 * the mean. Most blocks have every cell, and near: these are made at once. */
static bool fill_numbers(const feature *f, const pv_dataset *data, bool all_rows, size_t begin, size_t end, double *x) {
    const pv__column_kernels *kernels = pv__column_kernels_get();
    const pv_source_column *source = f->source;
    size_t features = (size_t)data->features, rows = end - begin;
    double taken[BLOCK], value[BLOCK];
    bool near = true, plain;
    for (size_t i = 0; !all_rows && i < rows; i++)
        taken[i] = pv__number_at(f->numbers, data->table_row[begin + i]);
    if (all_rows && !f->numbers.wide)
        plain = kernels->standardise_single(rows, f->numbers.narrow + begin, source->mean, source->sd, value);
    else
        plain = kernels->standardise(rows, all_rows ? f->numbers.wide + begin : taken, source->mean, source->sd, value);
    for (size_t i = 0; plain && i < rows; i++)
        x[i * features] = value[i];
    for (size_t i = 0; !plain && i < rows; i++) {
        near &= isnan(value[i]) || fabs(value[i]) <= PV__FARTHEST;
        x[i * features] = isnan(value[i]) ? 0 : value[i];
    }
    for (size_t i = 0; source->missing && i < rows; i++)
        x[i * features + 1] = isnan(value[i]);
    return near;
}

static void fill_levels(const feature *f, int unseen, const pv_dataset *data, size_t begin, size_t end, double *x) {
    const pv_source_column *source = f->source;
    size_t features = (size_t)data->features, indicators = (size_t)source->levels - 1;
    for (size_t i = begin; i < end; i++, x += features) {
        if (f->code[i] < 0) {
            put_unknown(source, f->code[i], unseen, x);
            continue;
        }
        for (size_t k = 0; k < indicators; k++)
            x[k] = f->code[i] == (int32_t)k + 1;
        if (source->missing)
            x[indicators] = 0;
    }
}

/* Rows begin .. end-1, at most BLOCK, which stay in cache while the columns are gone through. */
static bool fill_block(const struct pv_columns *columns, const pv_dataset *data, size_t begin, size_t end, double *x) {
    bool near = true;
    for (size_t s = 0; s < columns->sources; s++) {
        const feature *f = &columns->feature[s];
        if (f->source->type == PV_COLUMN_NUMBER)
            near = fill_numbers(f, data, columns->all_rows, begin, end, x) && near;
        else
            fill_levels(f, columns->unseen, data, begin, end, x);
        x += pv_source_width(f->source);
    }
    return near;
}

const double *pv__columns_own(const pv_dataset *data, size_t begin, size_t n) {
    const struct pv_columns *c = data->columns;
    bool here = c->own && begin >= c->own_first && begin + n <= c->own_first + c->own_rows;
    return here ? c->own + (begin - c->own_first) * (size_t)data->features : NULL;
}

/* Who leaps from row to row brings many pages of each column with every one: the process looks at what it holds before
 * long. */
void pv__columns_rows(const pv_dataset *data, size_t begin, size_t n, double *x) {
    enum { LEAPS = 16 };
    if (n >= LEAPS || atomic_fetch_add_explicit(&data->columns->asked, 1, memory_order_relaxed) % LEAPS == 0)
        pv__spill_breathe(data->columns->ctx);
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t end = at + BLOCK < n ? at + BLOCK : n;
        (void)fill_block(data->columns, data, begin + at, begin + end, x + at * (size_t)data->features);
    }
}

/* ---- the whole ----------------------------------------------------------------------------------------------------
 */

static pv_status refuse_far(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, const struct pv_columns *columns,
                            const pv_dataset *data) {
    for (size_t i = 0; i < data->rows; i++)
        for (size_t s = 0; s < columns->sources; s++) {
            const pv_source_column *source = columns->feature[s].source;
            size_t row = data->table_row[i];
            if (source->type != PV_COLUMN_NUMBER)
                continue;
            double number = pv__number_at(columns->feature[s].numbers, row);
            if (isnan(number)) /* filled */
                continue;
            bool near = fabs((number - source->mean) / source->sd) <= PV__FARTHEST;
            if (!near && plan->offset == plan->feature[s] && plan->offset < table->columns)
                return PV__FAIL_CELL(ctx, table, row, plan->feature[s],
                                     "an offset of %g in column '%s' is too large to compute with; correct the cell",
                                     number, pv__show(source->name).text);
            if (!near)
                return PV__FAIL_CELL(ctx, table, row, plan->feature[s],
                                     "%g in column '%s' is too far from the mean %g of the rows that were learned from "
                                     "(standard deviation %g) to compute with; correct the cell",
                                     number, pv__show(source->name).text, source->mean, source->sd);
        }
    return pv__fail(ctx, PV_ERR_INTERNAL, "a cell is too far from the mean, and none is");
}

/* Rows first .. last-1 into x, or, where they are only to be looked at, a block for each thread. */
static bool fill_rows(pv_ctx *ctx, const struct pv_columns *columns, const pv_dataset *data, size_t first, size_t last,
                      bool looked_at, double *x) {
    enum { BLOCKS_EACH = 64 };
    bool near = true;
    size_t blocks = (last - first + BLOCK - 1) / BLOCK, d = (size_t)data->features;
#pragma omp parallel for num_threads(pv__threads_for(ctx, blocks / BLOCKS_EACH)) reduction(&& : near)
    for (size_t b = 0; b < blocks; b++) {
        size_t begin = first + b * BLOCK, end = begin + BLOCK < last ? begin + BLOCK : last;
        size_t place = looked_at ? (size_t)omp_get_thread_num() * BLOCK : begin - first;
        near = fill_block(columns, data, begin, end, x + place * d) && near;
        if (looked_at)
            pv__spill_breathe(ctx);
    }
    return near;
}

static pv_status look_at_all(pv_ctx *ctx, const struct pv_columns *columns, const pv_dataset *data, bool *near) {
    double *room;
    PV_TRY(pv__alloc(ctx, (size_t)pv_ctx_threads(ctx) * BLOCK, (size_t)data->features * sizeof *room, &room));
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
    pv__packed_close(ctx, columns->packed);
    pv__free(ctx, columns->learned);
    pv__free(ctx, columns->code);
    pv__free(ctx, columns->feature);
    pv__free(ctx, columns->own);
    pv__free(ctx, columns);
}

static pv_status columns_new(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, const pv_schema *schema,
                             int32_t *const *code, int unseen, const pv_dataset *data, struct pv_columns **made) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    (*made)->sources = schema->sources;
    (*made)->unseen = unseen;
    (*made)->ctx = ctx->root;
    (*made)->all_rows = pv__all_rows(table, data);
    PV_TRY(pv__alloc(ctx, schema->sources, sizeof *(*made)->feature, &(*made)->feature));
    for (size_t s = 0; s < schema->sources; s++)
        (*made)->feature[s] = (feature){
            .source = &schema->source[s],
            .numbers = schema->source[s].type == PV_COLUMN_NUMBER ? pv__plan_numbers(plan, table, s) : (pv__numbers){0},
            .code = schema->source[s].type == PV_COLUMN_TEXT ? code[s] : NULL}; /* terms have none, nor room for it */
    return PV_OK;
}

/* What it borrows becomes its own: the mapped file, what was learned, and the codes. */
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
    return PV_OK;
}

/* The rows that the rank goes over again and again. Those at the edges, where the share is a little larger, are made
 * when they are asked for. */
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

/* Several ranks read but their own rows: a matrix of all would take longer to make than to do without. A small one is
 * soon made. */
static bool shared(const pv_ctx *ctx, size_t bytes) {
    enum { SMALL = 1 << 20 };
    return pv_ctx_ranks(ctx, NULL) > 1 && bytes > SMALL;
}

/* Whether all its numbers lie in a mapped file, and the matrix would not fit, or be read in part only. */
static bool stays(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, const pv_schema *schema,
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

/* Of the columns' bytes in rows begin .. begin+n-1. */
static void tell(const pv_dataset *data, size_t begin, size_t n, void (*what)(const void *at, size_t bytes)) {
    const struct pv_columns *columns = data->columns;
    if (!columns || begin >= data->rows || n == 0)
        return;
    n = n < data->rows - begin ? n : data->rows - begin;
    if (pv__columns_own(data, begin, n))
        return;
    size_t last = begin + n < data->rows ? begin + n - 1 : data->rows - 1;
    size_t first_row = data->table_row[begin], rows = data->table_row[last] + 1 - first_row;
    for (size_t s = 0; s < columns->sources; s++) {
        pv__numbers of = columns->feature[s].numbers;
        if (of.wide)
            what(of.wide + first_row, rows * sizeof *of.wide);
        else if (of.narrow)
            what(of.narrow + first_row, rows * sizeof *of.narrow);
    }
}

/* Has the system read ahead: of many columns at once it sees no order by itself. */
void pv__columns_expect(const pv_dataset *data, size_t begin, size_t n) {
    tell(data, begin, n, pv__expect_pages);
}

void pv__columns_pass(const pv_dataset *data, size_t begin, size_t n) {
    tell(data, begin, n, pv__pass_pages);
}

pv_status pv__sources_fill(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, const pv_schema *schema,
                           int32_t **code, int unseen, bool learned, pv_dataset *data) {
    struct pv_columns *columns = NULL;
    bool near = true;
    pv_status status;
    data->features = schema->features;
    PV_GOTO(done, columns_new(ctx, table, plan, schema, code, unseen, data, &columns));
    if (stays(ctx, table, plan, schema, data)) {
        /* n rows are within sqrt(n) of their own standard deviations; an offset has none */
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
