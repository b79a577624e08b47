/* Assigns rows to folds, and takes subsets of a data set's rows.
 *
 * Rows are assigned in the random order of their keys (row_keys.c), so that folds do not depend on the order of rows.
 *
 * Without groups: the rows of each class are dealt to the folds in turn, one class after the other, so that neither the
 * folds' sizes nor their counts of any class differ by more than one. With strata, a class is a label within a stratum,
 * and these counts do not differ by more than one. With groups: groups are taken in order of decreasing size, in random
 * order among equals, each into the fold f with the smallest sum_y ((c_fy + g_y)/n_y)^2 - (c_fy/n_y)^2, where c_fy
 * counts the fold's rows of class y, g_y the group's, n_y all. This greedily minimises the sum over folds and classes
 * of squared class proportions, which is least if all are equal. Ties go to the fold with the fewest rows, so that no
 * fold stays empty while there are groups: empty folds are always among the best.
 *
 * A row of counts that was split into one piece per fold is dealt like the people it counts (pv__counts_split).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/schema_learn.h"
#include "data/spread.h"

static pv_status check_folds(pv_ctx *ctx, const pv_dataset *data, int64_t folds, const int32_t *group) {
    if (!data->label || data->rows == 0)
        return pv__fail(ctx, PV_ERR_USAGE, "folds need rows with labels");
    if (folds < 2)
        return pv__fail(ctx, PV_ERR_USAGE, "`folds=%lld`: at least two are needed", (long long)folds);
    if ((uint64_t)folds > data->rows)
        return pv__fail(ctx, PV_ERR_USAGE, "`folds=%lld`: there are only %zu rows;\nuse fewer folds", (long long)folds,
                        data->rows);
    for (size_t n = 0; group && n < data->rows; n++)
        if (group[n] < 0)
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu has no group; every row needs one", n + 1);
    return PV_OK;
}

/* Keys of the rows, which the caller frees. */
static pv_status make_keys(pv_ctx *ctx, const pv_dataset *data, uint64_t seed, uint64_t repeat, uint64_t **key) {
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_FOLDS, repeat);
    PV_TRY(pv__alloc(ctx, data->rows, sizeof **key, key));
    const pv__key_rows rows = {data->rows, (size_t)data->features, data->x, data};
    return pv__row_keys(ctx, &rows, pv_rng_bits(&rng), *key);
}

/* A label for messages: 'benign', or its number from 1 if it has no name. */
static pv__shown label_name(char *const *labels, size_t y) {
    pv__shown name = {.text = ""};
    if (labels)
        pv__format(name.text, sizeof name.text, "'%.66s'", pv__show(labels[y]).text);
    else
        pv__format(name.text, sizeof name.text, "%zu", y + 1);
    return name;
}

static int32_t strata_of(const pv_dataset *data) {
    int32_t strata = 1;
    for (size_t n = 0; data->stratum && n < data->rows; n++)
        strata = data->stratum[n] >= strata ? data->stratum[n] + 1 : strata;
    return strata;
}

/* Checks that every label of every stratum remains when any fold is left out, because a fit needs them. */
static pv_status check_strata(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, int64_t folds,
                              const int32_t *fold) {
    if (!data->stratum || data->clustered || data->sampling) /* strata of a survey need not contain every label */
        return PV_OK;
    size_t k = (size_t)data->classes, cells = (size_t)strata_of(data) * k, *count;
    int32_t *first;
    PV_TRY(pv__alloc(ctx, cells, sizeof *count, &count));
    pv_status status = pv__alloc(ctx, cells, sizeof *first, &first);
    for (size_t n = 0; status == PV_OK && n < data->rows; n++) {
        if (data->stratum[n] < 0)
            continue;
        size_t cell = (size_t)data->stratum[n] * k + (size_t)data->label[n];
        if (count[cell] == 0)
            first[cell] = fold[n];
        count[cell]++;
        if (fold[n] != first[cell])
            first[cell] = -1; /* in several folds */
    }
    for (size_t i = 0; i < cells && status == PV_OK; i++)
        if (count[i] > 0 && first[i] >= 0)
            status = pv__fail(ctx, PV_ERR_INPUT,
                              "stratum %s has %zu row%s with label %s, all in one of %lld folds, so that no training "
                              "rows are left;\njoin it with another stratum, or leave its rows out",
                              label_name(schema && schema->strata ? schema->strata->name : NULL, i / k).text, count[i],
                              count[i] == 1 ? "" : "s", label_name(schema ? schema->labels : NULL, i % k).text,
                              (long long)folds);
    pv__free(ctx, count);
    pv__free(ctx, first);
    return status;
}

static pv_status check_labels(pv_ctx *ctx, const pv_dataset *data, char *const *labels, int64_t folds) {
    for (int y = 0; y < data->classes; y++) {
        size_t count = 0;
        for (size_t n = 0; n < data->rows; n++)
            count += data->label[n] == y;
        if (count > 0 && count < (size_t)folds)
            return pv__fail(ctx, PV_ERR_INPUT, "label %s has %zu row%s, fewer than the %lld folds;\nuse fewer folds",
                            label_name(labels, (size_t)y).text, count, count == 1 ? "" : "s", (long long)folds);
    }
    return PV_OK;
}

/* Number of consecutive pieces of the same row. */
static size_t pieces_at(const pv_dataset *data, const pv__keyed *row, size_t n) {
    size_t pieces = 1;
    while (data->table_row && pieces < n && data->table_row[row[pieces].row] == data->table_row[row[0].row])
        pieces++;
    return pieces;
}

/* Deals rows of one class in order; *next: the fold of the next row. */
static void deal_class(const pv_dataset *data, size_t n, const pv__keyed *row, size_t folds, size_t *next,
                       int32_t *fold) {
    for (size_t i = 0, pieces; i < n; i += pieces) {
        double people = 0;
        pieces = pieces_at(data, row + i, n - i);
        for (size_t k = 0; k < pieces; k++) {
            fold[row[i + k].row] = (int32_t)((*next + k) % folds);
            people += data->weight ? data->weight[row[i + k].row] : 1;
        }
        *next += pieces < folds ? pieces : (size_t)fmod(people, (double)folds);
        *next %= folds;
    }
}

static pv_status deal_rows(pv_ctx *ctx, const pv_dataset *data, char *const *labels, int64_t folds, uint64_t seed,
                           uint64_t repeat, int32_t *fold) {
    pv__keyed *row = NULL;
    uint64_t *key = NULL;
    size_t next = 0;
    pv_status status;
    PV_GOTO(done, check_labels(ctx, data, labels, folds));
    PV_GOTO(done, make_keys(ctx, data, seed, repeat, &key));
    PV_GOTO(done, pv__alloc(ctx, data->rows, sizeof *row, &row));
    int32_t strata = strata_of(data);
    for (int cell = 0; cell < strata * data->classes; cell++) {
        size_t count = 0;
        for (size_t n = 0; n < data->rows; n++)
            if (data->label[n] == cell % data->classes && (!data->stratum || data->stratum[n] == cell / data->classes))
                row[count++] = (pv__keyed){key[n], n};
        pv__keyed_sort(count, row);
        deal_class(data, count, row, (size_t)folds, &next, fold);
    }
done:
    pv__free(ctx, row);
    pv__free(ctx, key);
    return status;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

typedef struct cluster {
    double size; /* number of people */
    uint64_t key;
    int32_t group;
} cluster;

static int larger_first(const void *left, const void *right) {
    const cluster *a = left, *b = right;
    if (a->size != b->size)
        return a->size > b->size ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return (a->group > b->group) - (a->group < b->group);
}

/* The groups, and the counts needed to assign them. */
typedef struct table {
    size_t groups, classes, folds;
    double *count, *held, *total; /* [groups][classes], [folds][classes], [classes]; one block */
    cluster *order;               /* [groups] */
    int32_t *fold;                /* [groups] */
} table;

static void table_free(pv_ctx *ctx, table *t) {
    pv__free(ctx, t->count);
    pv__free(ctx, t->order);
    pv__free(ctx, t->fold);
}

/* A group's key is the sum of the keys of its people. */
static pv_status table_new(pv_ctx *ctx, const pv_dataset *data, int64_t folds, const int32_t *group,
                           const uint64_t *key, table *t) {
    for (size_t n = 0; n < data->rows; n++)
        if ((size_t)group[n] >= t->groups)
            t->groups = (size_t)group[n] + 1;
    t->classes = (size_t)data->classes;
    t->folds = (size_t)folds;
    PV_TRY(pv__alloc(ctx, (t->groups + t->folds + 1) * t->classes, sizeof *t->count, &t->count));
    t->held = t->count + t->groups * t->classes;
    t->total = t->held + t->folds * t->classes;
    PV_TRY(pv__alloc(ctx, t->groups, sizeof *t->order, &t->order));
    PV_TRY(pv__alloc(ctx, t->groups, sizeof *t->fold, &t->fold));
    for (size_t g = 0; g < t->groups; g++)
        t->order[g].group = (int32_t)g;
    for (size_t n = 0; n < data->rows; n++) {
        double people = data->weight && !data->sampling ? data->weight[n] : 1;
        bool whole = people == floor(people) && people < 9e15;
        t->count[(size_t)group[n] * t->classes + (size_t)data->label[n]] += people;
        t->total[data->label[n]] += people;
        t->order[group[n]].size += people;
        t->order[group[n]].key += (whole ? (uint64_t)people : 1) * (key[n] ^ (uint64_t)data->label[n] << 32);
    }
    return PV_OK;
}

static double cost(const table *t, size_t fold, size_t group) {
    double sum = 0;
    for (size_t y = 0; y < t->classes; y++) {
        double had = t->held[fold * t->classes + y], more = t->count[group * t->classes + y];
        if (more > 0)
            sum += more * (2 * had + more) / (t->total[y] * t->total[y]);
    }
    return sum;
}

static double fold_rows(const table *t, size_t fold) {
    double rows = 0;
    for (size_t y = 0; y < t->classes; y++)
        rows += t->held[fold * t->classes + y];
    return rows;
}

static void deal_group(table *t, size_t group) {
    size_t best = 0;
    double least = cost(t, 0, group);
    for (size_t f = 1; f < t->folds; f++) {
        double here = cost(t, f, group);
        if (here < least || (here == least && fold_rows(t, f) < fold_rows(t, best))) {
            best = f;
            least = here;
        }
    }
    for (size_t y = 0; y < t->classes; y++)
        t->held[best * t->classes + y] += t->count[group * t->classes + y];
    t->fold[group] = (int32_t)best;
}

static pv_status check_dealt(pv_ctx *ctx, const table *t, char *const *labels) {
    size_t groups = 0;
    for (size_t g = 0; g < t->groups; g++)
        groups += t->order[g].size > 0;
    if (groups < t->folds)
        return pv__fail(ctx, PV_ERR_INPUT, "there %s %zu group%s, fewer than the %zu folds;\nuse fewer folds",
                        groups == 1 ? "is" : "are", groups, groups == 1 ? "" : "s", t->folds);
    for (size_t y = 0; y < t->classes; y++)
        for (size_t f = 0; f < t->folds; f++) {
            if (!(t->total[y] > 0) || t->held[f * t->classes + y] != t->total[y])
                continue;
            size_t with = 0;
            for (size_t g = 0; g < t->groups; g++)
                with += t->count[g * t->classes + y] > 0;
            return pv__fail(ctx, PV_ERR_INPUT,
                            "label %s is in %zu group%s, all in one fold, so that no training rows are left%s",
                            label_name(labels, y).text, with, with == 1 ? "" : "s",
                            with == 1 ? ";\nleave `group` out" : ";\nuse fewer folds, or another `seed`");
        }
    return PV_OK;
}

static pv_status deal_groups(pv_ctx *ctx, const pv_dataset *data, char *const *labels, int64_t folds,
                             const int32_t *group, uint64_t seed, uint64_t repeat, int32_t *fold) {
    table t = {0};
    uint64_t *key = NULL;
    pv_status status;
    PV_GOTO(done, make_keys(ctx, data, seed, repeat, &key));
    PV_GOTO(done, table_new(ctx, data, folds, group, key, &t));
    qsort(t.order, t.groups, sizeof *t.order, larger_first);
    for (size_t i = 0; i < t.groups && t.order[i].size > 0; i++)
        deal_group(&t, (size_t)t.order[i].group);
    for (size_t n = 0; n < data->rows; n++)
        fold[n] = t.fold[group[n]];
    PV_GOTO(done, check_dealt(ctx, &t, labels));
done:
    pv__free(ctx, key);
    table_free(ctx, &t);
    return status;
}

pv_status pv_folds_make(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, int64_t folds, uint64_t seed,
                        uint64_t repeat, int32_t *fold) {
    char *const *labels = schema ? schema->labels : NULL;
    PV_TRY(check_folds(ctx, data, folds, data->group));
    if (data->group)
        PV_TRY(deal_groups(ctx, data, labels, folds, data->group, seed, repeat, fold));
    else
        PV_TRY(deal_rows(ctx, data, labels, folds, seed, repeat, fold));
    return check_strata(ctx, schema, data, folds, fold);
}

/* ---- subsets of rows --------------------------------------------------------------------------------------------- */

static void take_row(const pv_dataset *data, size_t row, double *x) {
    const double *from = pv_dataset_rows(NULL, data, row, 1, x);
    if (from != x)
        memcpy(x, from, (size_t)data->features * sizeof *x);
}

pv_status pv_dataset_take(pv_ctx *ctx, const pv_dataset *data, size_t n, const size_t *row, pv_dataset **taken) {
    *taken = NULL;
    pv_dataset *made;
    size_t d = (size_t)data->features, k = (size_t)data->classes;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->rows = n;
    made->features = data->features;
    made->classes = data->classes;
    made->hash = data->hash;
    made->features_hash = data->features_hash;
    made->matched = data->matched;
    made->clustered = data->clustered;
    made->sampling = data->sampling;
    pv_status status;
    if (data->source)
        PV_GOTO(fail, pv__strdup(ctx, data->source, &made->source));
    if (data->images) {
        made->images = data->images;
        made->images_borrowed = true;
        made->image = data->image;
        PV_GOTO(fail, pv__alloc(ctx, n, sizeof *made->image_row, &made->image_row));
    } else {
        PV_GOTO(fail, pv__alloc(ctx, n * d, sizeof *made->x, &made->x));
    }
    if (data->frequency)
        PV_GOTO(fail, pv__alloc(ctx, n * k, sizeof *made->frequency, &made->frequency));
    PV_GOTO(fail, pv__alloc(ctx, n, sizeof *made->table_row, &made->table_row));
    if (data->label)
        PV_GOTO(fail, pv__alloc(ctx, n, sizeof *made->label, &made->label));
    if (data->weight)
        PV_GOTO(fail, pv__alloc(ctx, n, sizeof *made->weight, &made->weight));
    if (data->group)
        PV_GOTO(fail, pv__alloc(ctx, n, sizeof *made->group, &made->group));
    if (data->stratum)
        PV_GOTO(fail, pv__alloc(ctx, n, sizeof *made->stratum, &made->stratum));
    for (size_t i = 0; i < n; i++) {
        if (data->images)
            made->image_row[i] = data->image_row[row[i]];
        else
            take_row(data, row[i], made->x + i * d);
        if (data->frequency)
            memcpy(made->frequency + i * k, data->frequency + row[i] * k, k * sizeof *made->frequency);
        made->table_row[i] = data->table_row ? data->table_row[row[i]] : row[i];
        if (data->label)
            made->label[i] = data->label[row[i]];
        if (data->weight)
            made->weight[i] = data->weight[row[i]];
        if (data->group)
            made->group[i] = data->group[row[i]];
        if (data->stratum)
            made->stratum[i] = data->stratum[row[i]];
    }
    *taken = made;
    return PV_OK;
fail:
    pv_dataset_free(ctx, made);
    return status;
}

void pv_dataset_rescale(const pv_schema *from, const pv_schema *to, pv_dataset *data) {
    size_t d = (size_t)data->features, feature = 0;
    for (size_t s = 0; s < from->sources; s++) {
        const pv_source_column *a = &from->source[s], *b = &to->source[s];
        if (a->type == PV_COLUMN_NUMBER && (a->mean != b->mean || a->sd != b->sd))
            for (size_t i = 0; i < data->rows; i++) {
                double *x = data->x + i * d + feature;
                *x = (*x * a->sd + (a->mean - b->mean)) / b->sd;
            }
        for (size_t i = 0; a->type == PV_COLUMN_TEXT && i < data->rows; i++)
            pv__source_relearn(b, data->x + i * d + feature);
        feature += pv_source_width(a);
    }
}

/* Counts the rows of each level in this data set. */
static void count_levels(const pv_dataset *data, size_t feature, pv_source_column *source) {
    size_t d = (size_t)data->features, indicators = (size_t)source->levels - 1;
    memset(source->rows, 0, (indicators + 1) * sizeof *source->rows);
    for (size_t i = 0; i < data->rows; i++) {
        const double *x = data->x + i * d + feature;
        size_t level = 0;
        for (size_t k = 1; k <= indicators; k++)
            level = x[k - 1] == 1 ? k : level;
        if (!source->missing || x[indicators] == 0)
            source->rows[level] += data->weight ? data->weight[i] : 1;
    }
}

/* Weighted mean and scale of a column that is already standardised (pv__scale_learn), so no number here is large. */
static void scale_of(const pv_dataset *data, size_t feature, pv__spread_bins *bins, double *mean, double *sd) {
    size_t d = (size_t)data->features;
    double total = 0, sum = 0, square = 0, farthest = 0, first = data->x[feature];
    bool constant = true;
    for (size_t i = 0; i < data->rows; i++) {
        double v = data->weight ? data->weight[i] : 1, x = data->x[i * d + feature];
        total += v;
        sum += v * x;
        constant = constant && x == first;
    }
    *mean = sum / total;
    for (size_t i = 0; i < data->rows; i++) {
        double off = data->x[i * d + feature] - *mean;
        square += (data->weight ? data->weight[i] : 1) * off * off;
        farthest = fmax(farthest, fabs(off));
    }
    *sd = constant ? 0 : sqrt(square / total);
    if (!(*sd > 0 && pv__spread_asked(total, farthest / *sd)))
        return;
    pv__spread_begin(bins);
    for (size_t i = 0; i < data->rows; i++)
        pv__spread_add(bins, (data->x[i * d + feature] - *mean) / *sd, data->weight ? data->weight[i] : 1);
    *sd *= pv__spread_scale(bins);
}

pv_status pv_schema_rescale(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, pv_schema **scaled) {
    size_t feature = 0;
    pv_schema *made = NULL;
    pv__spread_bins *bins = NULL;
    pv_status status;
    *scaled = NULL;
    PV_GOTO(done, pv_schema_copy(ctx, schema, &made));
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *bins, &bins));
    for (size_t s = 0; s < made->sources; s++) {
        pv_source_column *source = &made->source[s];
        if (source->type == PV_COLUMN_NUMBER) {
            double mean, sd;
            scale_of(data, feature, bins, &mean, &sd);
            if (schema->offset && s == 0) /* an offset is not rescaled */
                sd = 1;
            if (!(sd > 0)) {
                status =
                    pv__fail(ctx, PV_ERR_INPUT,
                             "column '%s' has only one value in the training rows;\nuse fewer folds, or `exclude` it",
                             pv__show(source->name).text);
                goto done;
            }
            source->mean += mean * source->sd;
            source->sd *= sd;
        } else if (source->rows) {
            count_levels(data, feature, source);
        }
        feature += pv_source_width(source);
    }
    *scaled = made;
    made = NULL;
done:
    pv__free(ctx, bins);
    pv_schema_free(ctx, made);
    return status;
}
