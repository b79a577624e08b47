/* Detects exactly collinear features.
 *
 * Pivoted Cholesky factorisation of the correlation matrix (which removes the intercept): a feature whose residual
 * variance, given the features before it, is below 1e-10 of its variance is a linear combination of them. For most
 * tables a sample of rows is enough to show that there is none; only if the sample is deficient are all rows used. Row
 * weights do not matter because all are positive.
 */
#include <math.h>
#include <string.h>

#include "data/schema_learn.h"

enum { FEW = 2000, SAMPLE = 20000, FEATURES_MAX = 2000, BLOCK = 32 };
static const double tolerance = 1e-10;

typedef struct factor {
    size_t n;     /* number of features */
    size_t first; /* index of the first one; an offset, which comes before it, has no coefficient */
    size_t rank;
    double *c;            /* [n][n], correlations, lower triangle */
    double *l;            /* [n][n], row of each feature, columns in order of the pivots */
    double *rest;         /* [n], residual variances */
    size_t *pivot;        /* [n], feature chosen in each step */
    bool *chosen;         /* [n] */
    double *mean, *scale; /* [n] */
    double *block;        /* [BLOCK][n] */
    double *row;          /* [n + 1], a row assembled from columns */
    double *made;         /* [m][n + 1], all rows used, if columns are in a file and m is small */
} factor;

static void factor_free(pv_ctx *ctx, factor *f) {
    void *owned[] = {f->c, f->l, f->rest, f->pivot, f->chosen, f->mean, f->scale, f->block, f->row, f->made};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        pv__free(ctx, owned[i]);
    *f = (factor){0};
}

static pv_status factor_new(pv_ctx *ctx, size_t n, factor *f) {
    *f = (factor){.n = n};
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, n * n, sizeof *f->c, &f->c));
    PV_GOTO(fail, pv__alloc(ctx, n * n, sizeof *f->l, &f->l));
    PV_GOTO(fail, pv__alloc(ctx, n, sizeof *f->rest, &f->rest));
    PV_GOTO(fail, pv__alloc(ctx, n, sizeof *f->pivot, &f->pivot));
    PV_GOTO(fail, pv__alloc(ctx, n, sizeof *f->chosen, &f->chosen));
    PV_GOTO(fail, pv__alloc(ctx, n, sizeof *f->mean, &f->mean));
    PV_GOTO(fail, pv__alloc(ctx, n, sizeof *f->scale, &f->scale));
    PV_GOTO(fail, pv__alloc(ctx, BLOCK * n, sizeof *f->block, &f->block));
    PV_GOTO(fail, pv__alloc(ctx, n + 1, sizeof *f->row, &f->row));
    return PV_OK;
fail:
    factor_free(ctx, f);
    return status;
}

/* Row i of m evenly spaced ones. */
static const double *sampled_row(const factor *f, const pv_dataset *data, size_t i, size_t m) {
    size_t row = m == data->rows ? i : (size_t)((double)i * ((double)data->rows / (double)m));
    if (f->made)
        return f->made + i * (size_t)data->features + f->first;
    return pv_dataset_rows(NULL, data, row, 1, f->row) + f->first;
}

/* Assembles the rows once if they fit in memory, because they are read three times. */
static pv_status make_rows(pv_ctx *ctx, const pv_dataset *data, size_t m, factor *f) {
    enum { CELLS = 1 << 22 };
    size_t d = (size_t)data->features;
    pv__free(ctx, f->made);
    f->made = NULL;
    if (!data->columns || m > CELLS / d)
        return PV_OK;
    double *made;
    PV_TRY(pv__alloc(ctx, m, d * sizeof *made, &made));
    for (size_t i = 0; i < m; i++)
        memcpy(made + i * d, sampled_row(f, data, i, m) - f->first, d * sizeof *made);
    f->made = made;
    return PV_OK;
}

static void correlate(const pv_dataset *data, size_t m, factor *f) {
    size_t n = f->n;
    memset(f->mean, 0, n * sizeof *f->mean);
    memset(f->scale, 0, n * sizeof *f->scale);
    memset(f->c, 0, n * n * sizeof *f->c);
    for (size_t i = 0; i < m; i++) {
        const double *x = sampled_row(f, data, i, m);
        for (size_t j = 0; j < n; j++)
            f->mean[j] += x[j] / (double)m;
    }
    for (size_t i = 0; i < m; i++) {
        const double *x = sampled_row(f, data, i, m);
        for (size_t j = 0; j < n; j++)
            f->scale[j] += (x[j] - f->mean[j]) * (x[j] - f->mean[j]);
    }
    for (size_t j = 0; j < n; j++) /* a feature that is constant in the sample has correlation 0 even with itself */
        f->scale[j] = f->scale[j] > 0 ? 1 / sqrt(f->scale[j]) : 0;
    for (size_t begin = 0; begin < m; begin += BLOCK) {
        size_t rows = begin + BLOCK < m ? BLOCK : m - begin;
        for (size_t r = 0; r < rows; r++) {
            const double *x = sampled_row(f, data, begin + r, m);
            for (size_t j = 0; j < n; j++)
                f->block[r * n + j] = (x[j] - f->mean[j]) * f->scale[j];
        }
        for (size_t j = 0; j < n; j++)
            for (size_t r = 0; r < rows; r++) {
                double value = f->block[r * n + j];
                const double *restrict other = f->block + r * n;
                double *restrict c = f->c + j * n;
                for (size_t k = 0; k <= j; k++)
                    c[k] += value * other[k];
            }
    }
}

/* The feature of largest residual variance; among nearly equal ones the first, so that a later copy is reported. */
static size_t next_pivot(const factor *f) {
    size_t best = f->n;
    for (size_t j = 0; j < f->n; j++)
        if (!f->chosen[j] && f->rest[j] > (best == f->n ? tolerance : f->rest[best] * (1 + 1e-8)))
            best = j;
    return best;
}

static void decompose(factor *f) {
    size_t n = f->n;
    memset(f->chosen, 0, n * sizeof *f->chosen);
    for (size_t j = 0; j < n; j++)
        f->rest[j] = f->c[j * n + j];
    for (f->rank = 0; f->rank < n; f->rank++) {
        size_t step = f->rank, p = next_pivot(f);
        if (p == n)
            return;
        f->chosen[p] = true;
        f->pivot[step] = p;
        double root = sqrt(f->rest[p]);
        f->l[p * n + step] = root;
        for (size_t j = 0; j < n; j++) {
            if (f->chosen[j])
                continue;
            double value = j > p ? f->c[j * n + p] : f->c[p * n + j];
            for (size_t k = 0; k < step; k++)
                value -= f->l[j * n + k] * f->l[p * n + k];
            f->l[j * n + step] = value / root;
            f->rest[j] -= value / root * (value / root);
        }
    }
}

static const char *source_of(const pv_schema *schema, const factor *f, size_t feature) {
    size_t s = 0;
    for (size_t after = 0; s < schema->sources; s++) {
        after += pv_source_width(&schema->source[s]);
        if (f->first + feature < after)
            break;
    }
    return schema->source[s].name;
}

/* Writes the features that determine feature j to `joined`: its coefficients on the pivots solve L' b = l_j, and those
 * that are not 0 name them. *found: their number. */
static pv_status explain(pv_ctx *ctx, const pv_schema *schema, factor *f, size_t j, char *joined, size_t size,
                         size_t *found) {
    size_t n = f->n;
    double *b = f->rest, *by_feature = f->mean; /* reused: no longer needed */
    memset(by_feature, 0, n * sizeof *by_feature);
    for (size_t step = f->rank; step-- > 0;) {
        double value = f->l[j * n + step];
        for (size_t k = step + 1; k < f->rank; k++)
            value -= f->l[f->pivot[k] * n + step] * b[k];
        b[step] = value / f->l[f->pivot[step] * n + step];
        by_feature[f->pivot[step]] = b[step];
    }
    char **names;
    PV_TRY(pv__alloc(ctx, n, sizeof *names, &names));
    *found = 0;
    for (size_t k = 0; k < n; k++)
        if (fabs(by_feature[k]) > 1e-6)
            names[(*found)++] = schema->feature[f->first + k];
    pv__join(names, *found, 3, joined, size);
    pv__free(ctx, names);
    return PV_OK;
}

/* Reports "'b' is the same, up to scale and shift, as a" for every feature determined by others, as space permits. */
static pv_status report(pv_ctx *ctx, const pv_table *table, const pv_schema *schema, factor *f, bool refuse) {
    char text[700] = "", joined[240], list[200] = "";
    const char *last = NULL;
    size_t count = 0, first = f->n, shown = 0;
    for (size_t j = 0; j < f->n; j++) {
        if (f->chosen[j])
            continue;
        size_t found, used = strlen(text);
        first = count++ == 0 ? j : first;
        if (last != source_of(schema, f, j)) /* "a,b" */
            pv__format(list + strlen(list), sizeof list - strlen(list), "%s%s", last ? "," : "",
                       pv__show_item(source_of(schema, f, j)).text);
        last = source_of(schema, f, j);
        if (shown + 1 < count || used > 400)
            continue;
        PV_TRY(explain(ctx, schema, f, j, joined, sizeof joined, &found));
        pv__format(text + used, sizeof text - used, "%s'%s' is %s%s", shown ? ", " : "",
                   pv__show(schema->feature[f->first + j]).text,
                   found == 1 ? "a linear function of " : "determined exactly by ", joined);
        shown++;
    }
    if (count > shown)
        pv__format(text + strlen(text), sizeof text - strlen(text), ", and %zu more", count - shown);
    const char *source = source_of(schema, f, first);
    if (strlen(list) + 1 == sizeof list)
        pv__format(list, sizeof list, "%s", pv__show_item(source).text);
    size_t column = pv__table_lookup(table, source);
    bool made = column == table->columns; /* a column made by a term cannot be excluded */
    const char *them = count == 1 ? "it" : "them";
    char how[sizeof list + 32] = "out of `terms`";
    if (!made)
        pv__format(how, sizeof how, "out with `exclude=%s`", list);
    bool remedy_first = strlen(text) > 200; /* a long message may be cut at its end, so the remedy must come first */
    if (refuse)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, made ? 0 : column + 1,
                           "collinear columns: %s%sleave %s %s, or use a prior, or `collinear=keep`%s%s",
                           remedy_first ? "" : text, remedy_first ? "" : ";\n", them, how, remedy_first ? "; " : "",
                           remedy_first ? text : "");
    pv__log(ctx, PV_LOG_WARNING,
            "collinear columns: %s. Only the prior determines how their effect is divided among them: interpret their "
            "coefficients together, or leave %s %s",
            text, them, how);
    return PV_OK;
}

pv_status pv__collinear_check(pv_ctx *ctx, const pv_table *table, const pv_dataset *data, const pv_schema *schema,
                              bool refuse) {
    size_t last = pv__schema_smooth(schema) + pv__schema_scores(schema); /* always have a prior; have no slope */
    size_t n = (size_t)data->features - schema->offset - last;
    if (data->rows <= n && refuse)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                           "%zu features on %zu rows are always collinear;\nchoose fewer with `features`, or use a "
                           "prior, or `collinear=keep`",
                           n, data->rows);
    if (data->rows <= n) {
        pv__log(ctx, PV_LOG_WARNING,
                "%zu features on %zu rows are always collinear; the prior alone decides how they share their effects",
                n, data->rows);
        return PV_OK;
    }
    if (n > FEATURES_MAX) {
        pv__log(ctx, PV_LOG_WARNING, "%zu features, more than %d: they were not checked for collinear ones", n,
                FEATURES_MAX);
        return PV_OK;
    }
    factor f;
    PV_TRY(factor_new(ctx, n, &f));
    f.first = schema->offset;
    size_t fewest = 2 * n + 100, m = (size_t)(4e9 / ((double)n * (double)n)); /* at most some seconds of work */
    m = m > SAMPLE ? SAMPLE : m < fewest ? fewest : m;
    /* A few rows are enough for most tables; indicators of rare levels need more. */
    const size_t steps[] = {fewest > FEW ? fewest : FEW, m, data->rows};
    pv_status status = PV_OK;
    for (size_t i = 0, before = 0; i < 3 && (i == 0 || f.rank < n) && before < data->rows; i++) {
        size_t rows = steps[i] < data->rows ? steps[i] : data->rows;
        if (rows <= before)
            continue;
        PV_GOTO(done, make_rows(ctx, data, rows, &f));
        correlate(data, rows, &f);
        decompose(&f);
        before = rows;
    }
    if (f.rank < n)
        status = report(ctx, table, schema, &f, refuse);
done:
    factor_free(ctx, &f);
    return status;
}
