/* Risk along each column of a table, predicted and observed: shows where the linear predictor is wrong.
 *
 * Rows are weighted by label to the population of the predictions, so that a sample drawn by label shows the
 * population's risks rather than its own. The observed odds of a bin are the weighted mass of the positive label over
 * that of the others; the variance of their logarithm is 1/n1 + 1/n0 with effective counts n = (sum w)^2 / sum w^2. If
 * a bin lacks one label, half a row of it is added, so that the bin has an interval.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "prevail/diagnose.h"

enum { BINS = 8, BINS_MAX = 12 };

typedef struct people {
    const pv_dataset *data;
    const double *p; /* [rows][classes] */
    int positive;
    double *factor; /* [classes], weight from rows to the population */
    double each[2]; /* average weight of a row without and with the label */
    double z;
    double *row; /* [features], a row assembled from columns */
} people;

typedef struct bin {
    double x, predicted;
    double weight[2], squares[2]; /* for rows without and with the label */
} bin;

static void add(const people *all, size_t n, double x, bin *to) {
    int label = all->data->label[n];
    bool own = label == all->positive;
    double v = all->data->weight ? all->data->weight[n] : 1, weight = v * all->factor[label];
    to->x += weight * x;
    to->predicted += weight * all->p[n * (size_t)all->data->classes + (size_t)all->positive];
    to->weight[own] += weight;
    to->squares[own] += weight * weight;
}

static double mass_of(const bin *b) {
    return b->weight[0] + b->weight[1];
}

static double effective(const bin *b, bool own) {
    return b->squares[own] > 0 ? b->weight[own] * b->weight[own] / b->squares[own] : 0;
}

/* Appends the bin to the column if it has rows. level: that of a text column. */
static void close_bin(const people *all, const bin *b, int32_t level, pv_column_risk *c) {
    double count[2], mass[2], total = mass_of(b);
    if (!(total > 0))
        return;
    bool few = !(b->weight[0] > 0 && b->weight[1] > 0);
    for (int own = 0; own < 2; own++) {
        double n = effective(b, own);
        count[own] = n + 0.5 * few;
        mass[own] = b->weight[own] + 0.5 * few * (n > 0 ? b->weight[own] / n : all->each[own]);
    }
    size_t at = c->bins++;
    double odds = log(mass[1] / mass[0]), half = all->z * sqrt(1 / count[0] + 1 / count[1]);
    c->x[at] = c->level ? (double)at : b->x / total;
    if (c->level)
        c->level[at] = level;
    c->predicted[at] = b->predicted / total;
    c->observed[at] = b->weight[1] > 0 ? pv_sigmoid(odds) : (double)NAN;
    c->lo[at] = pv_sigmoid(odds - half);
    c->hi[at] = pv_sigmoid(odds + half);
    c->away += pow((pv_logit(c->predicted[at]) - odds) / half, 2);
}

/* ---- bins -------------------------------------------------------------------------------------------------------- */

typedef struct place {
    double x;
    size_t row;
} place;

static int by_x(const void *left, const void *right) {
    const place *a = left, *b = right;
    if (a->x != b->x)
        return a->x < b->x ? -1 : 1;
    return (a->row > b->row) - (a->row < b->row);
}

/* Bins with about equal numbers of rows; equal values stay together. Leaves out rows with a missing number if the
 * matrix marks them. */
static pv_status bin_numbers(pv_ctx *ctx, const people *all, const pv_source_column *source, size_t feature,
                             pv_column_risk *c) {
    size_t n = 0;
    place *order;
    PV_TRY(pv__alloc(ctx, all->data->rows, sizeof *order, &order));
    for (size_t i = 0; i < all->data->rows; i++) {
        const double *x = pv_dataset_rows(ctx, all->data, i, 1, all->row) + feature;
        if (!(source->missing && x[1] != 0))
            order[n++] = (place){source->mean + source->sd * x[0], i};
    }
    qsort(order, n, sizeof *order, by_x);
    bin now = {0};
    size_t in_bin = 0;
    for (size_t i = 0; i < n && c->bins < BINS_MAX; i++) {
        add(all, order[i].row, order[i].x, &now);
        in_bin++;
        bool last = i + 1 == n, full = (i + 1) * BINS / n > i * BINS / n || in_bin > n / BINS;
        if (!last && (order[i + 1].x == order[i].x || !full))
            continue;
        close_bin(all, &now, 0, c);
        now = (bin){0};
        in_bin = 0;
    }
    pv__free(ctx, order);
    return PV_OK;
}

/* Empties the bins of least weight until at most BINS_MAX have rows. Returns how many were emptied. */
static size_t keep_heaviest(size_t n, bin *found) {
    size_t full = 0, emptied = 0;
    for (size_t i = 0; i < n; i++)
        full += mass_of(&found[i]) > 0;
    for (; full > BINS_MAX; full--, emptied++) {
        size_t least = SIZE_MAX;
        for (size_t i = 0; i < n; i++)
            if (mass_of(&found[i]) > 0 && (least == SIZE_MAX || mass_of(&found[i]) <= mass_of(&found[least])))
                least = i;
        found[least] = (bin){0};
    }
    return emptied;
}

/* One bin per level, and one for rows with a missing cell if the matrix marks them. */
static pv_status bin_levels(pv_ctx *ctx, const people *all, const pv_source_column *source, size_t feature,
                            pv_column_risk *c) {
    size_t levels = (size_t)source->levels;
    bin *found;
    PV_TRY(pv__alloc(ctx, levels + 1, sizeof *found, &found));
    for (size_t i = 0; i < all->data->rows; i++) {
        const double *x = pv_dataset_rows(ctx, all->data, i, 1, all->row) + feature;
        size_t level = 0;
        for (size_t l = 1; l < levels; l++)
            level = x[l - 1] > 0.5 ? l : level;
        if (source->missing && x[levels - 1] != 0)
            level = levels;
        add(all, i, 0, &found[level]);
    }
    c->left_out = keep_heaviest(levels + 1, found);
    for (size_t l = 0; l <= levels; l++)
        close_bin(all, &found[l], l < levels ? (int32_t)l : -1, c);
    pv__free(ctx, found);
    return PV_OK;
}

static pv_status column_of(pv_ctx *ctx, const people *all, const pv_source_column *source, size_t feature,
                           pv_column_risk *c) {
    bool text = source->type == PV_COLUMN_TEXT;
    double *block;
    PV_TRY(pv__alloc(ctx, 5 * BINS_MAX, sizeof *block, &block));
    c->x = block;
    c->predicted = block + BINS_MAX;
    c->observed = block + (size_t)2 * BINS_MAX;
    c->lo = block + (size_t)3 * BINS_MAX;
    c->hi = block + (size_t)4 * BINS_MAX;
    if (text)
        PV_TRY(pv__alloc(ctx, BINS_MAX, sizeof *c->level, &c->level));
    PV_TRY((text ? bin_levels : bin_numbers)(ctx, all, source, feature, c));
    c->away /= c->bins > 0 ? (double)c->bins : 1;
    return PV_OK;
}

/* ---- all columns ------------------------------------------------------------------------------------------------- */

static void free_column(pv_ctx *ctx, pv_column_risk *c) {
    pv__free(ctx, c->x);
    pv__free(ctx, c->level);
}

/* Orders columns by the distance between predicted and observed risks, largest first. */
static int by_distance(const void *left, const void *right) {
    const pv_column_risk *a = left, *b = right;
    if (a->away != b->away)
        return a->away > b->away ? -1 : 1;
    return (a->source > b->source) - (a->source < b->source);
}

/* False if there are no rows with the positive label, or none without it. */
static bool weigh(const pv_prediction *said, people *all) {
    double mass[2] = {0}, share[2] = {0};
    for (size_t i = 0; i < all->data->rows; i++)
        all->factor[all->data->label[i]] += all->data->weight ? all->data->weight[i] : 1;
    for (int y = 0; y < all->data->classes; y++)
        if (all->factor[y] > 0) {
            mass[y == all->positive] += all->factor[y];
            share[y == all->positive] += said->prevalence[y];
            all->factor[y] = said->prevalence[y] / all->factor[y];
        }
    all->each[0] = share[0] / mass[0];
    all->each[1] = share[1] / mass[1];
    return mass[0] > 0 && mass[1] > 0;
}

pv_status pv_column_risks_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_prediction *said,
                              double level, pv_column_risks **risks) {
    people all = {.data = data, .p = said->p, .positive = schema->classes - 1};
    pv_column_risks *made = NULL;
    size_t feature = 0;
    pv_status status;
    *risks = NULL;
    if (!data->label || data->images || !said->prevalence)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "risks along columns need labelled rows of a table, and a prediction that knows its prevalence");
    if (said->rows != data->rows || said->classes != data->classes || schema->features != data->features)
        return pv__fail(ctx, PV_ERR_USAGE, "the prediction, the rows and the schema are not of one table");
    if (!(level > 0 && level < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "an interval's level must lie between 0 and 1, not %g", level);
    all.z = pv_normal_quantile(0.5 + 0.5 * level);
    PV_TRY(pv__alloc(ctx, (size_t)data->classes + (size_t)data->features, sizeof *all.factor, &all.factor));
    all.row = all.factor + data->classes;
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *made, &made));
    *made = (pv_column_risks){.positive = all.positive, .level = level};
    PV_GOTO(done, pv__alloc(ctx, schema->sources, sizeof *made->column, &made->column));
    size_t sources = weigh(said, &all) ? schema->sources : 0;
    for (size_t s = 0; s < sources; s++) {
        pv_column_risk *c = &made->column[made->count++];
        *c = (pv_column_risk){.source = s};
        PV_GOTO(done, pv__go_on(ctx));
        PV_GOTO(done, column_of(ctx, &all, &schema->source[s], feature, c));
        feature += pv_source_width(&schema->source[s]);
        if (c->bins < 2) {
            free_column(ctx, c);
            made->count--;
        }
    }
    qsort(made->column, made->count, sizeof *made->column, by_distance);
    *risks = made;
    made = NULL;
done:
    pv_column_risks_free(ctx, made);
    pv__free(ctx, all.factor);
    return status;
}

void pv_column_risks_free(pv_ctx *ctx, pv_column_risks *risks) {
    if (!risks)
        return;
    for (size_t i = 0; i < risks->count; i++)
        free_column(ctx, &risks->column[i]);
    pv__free(ctx, risks->column);
    pv__free(ctx, risks);
}
