/* Rows for the study of unknown prevalences, and their densities. */
#include "lab/unknown/unknown.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>

enum { COLUMNS = 20, BINARY = 4, LEVELS = 3 };

#define NAME(name, word, labels, columns, text) word,
#define TEXT(name, word, labels, columns, text) text,
#define LABELS(name, word, labels, columns, text) labels,
#define WIDTH(name, word, labels, columns, text) columns,
const char *const unknown_population_name[UNKNOWN_POPULATIONS] = {UNKNOWN_POPULATION_LIST(NAME)};
const char *const unknown_population_text[UNKNOWN_POPULATIONS] = {UNKNOWN_POPULATION_LIST(TEXT)};
const int unknown_labels[UNKNOWN_POPULATIONS] = {UNKNOWN_POPULATION_LIST(LABELS)};
static const int columns_of[UNKNOWN_POPULATIONS] = {UNKNOWN_POPULATION_LIST(WIDTH)};

static int width_of(unknown_population which) {
    return which < UNKNOWN_POPULATIONS ? columns_of[which] : 0;
}

void unknown_shares(unknown_population which, double prevalence, double *share) {
    int last = unknown_labels[which] - 1;
    share[last] = prevalence;
    share[0] = (1 - prevalence) * (last == 2 ? 0.7 : 1);
    if (last == 2)
        share[1] = (1 - prevalence) * 0.3;
}

/* ---- distributions ----------------------------------------------------------------------------------------------- */

static const double yes[2] = {0.3, 0.6}, level[2][LEVELS] = {{0.5, 0.3, 0.2}, {0.2, 0.3, 0.5}};

/* Mean and standard deviation of column j for rows of label y, within the same mixture component. */
static double mean_of(unknown_population which, int y, int j) {
    switch (which) {
    case UNKNOWN_GAUSSIAN:
        return y == 0 || j > 1 ? 0 : j ? 0.9 : 1.2;
    case UNKNOWN_HALF:
        return y == 0 || j > 1 ? 0 : j ? 1.2 : 2.4;
    case UNKNOWN_VARIANCES:
        return y == 0 || j > 1 ? 0 : j ? 0.9 : 1;
    case UNKNOWN_WIDE:
        return y && j < 4 ? 0.75 : 0;
    case UNKNOWN_THREE:
        return y == j + 1 ? 2 : 0;
    case UNKNOWN_TIES:
    case UNKNOWN_POPULATIONS:
        break;
    }
    return 0;
}

static double sd_of(unknown_population which, int y, int j) {
    return which == UNKNOWN_VARIANCES && y && j == 0 ? 2 : 1;
}

static double normal_log_density(unknown_population which, int y, const double *x) {
    double sum = 0;
    for (int j = 0; j < width_of(which) - 1; j++) {
        double sd = sd_of(which, y, j), z = (x[j] - mean_of(which, y, j)) / sd;
        sum -= 0.5 * z * z + log(sd);
    }
    return sum;
}

static double log_density(unknown_population which, int y, const double *x) {
    if (which == UNKNOWN_TIES) {
        double sum = log(level[y > 0][x[BINARY] > 1 ? 2 : x[BINARY] > 0 ? 1 : 0]);
        for (int j = 0; j < BINARY; j++)
            sum += log(x[j] > 0 ? yes[y > 0] : 1 - yes[y > 0]);
        return sum;
    }
    double own = normal_log_density(which, y, x);
    if (which != UNKNOWN_HALF || y == 0)
        return own;
    double both[2] = {own, normal_log_density(which, 0, x)};
    return pv_log_sum_exp(2, both) - log(2);
}

static void draw_row(unknown_population which, int y, double shift, pv_rng *rng, double *x) {
    int last = width_of(which) - 1, like = which == UNKNOWN_HALF && y && pv_rng_uniform(rng) < 0.5 ? 0 : y;
    for (int j = 0; j <= last; j++) {
        if (which != UNKNOWN_TIES || j == last) {
            x[j] = mean_of(which, like, j) + sd_of(which, like, j) * pv_rng_normal(rng) + (j == last ? shift : 0);
        } else if (j < BINARY) {
            x[j] = pv_rng_uniform(rng) < yes[y > 0];
        } else {
            double u = pv_rng_uniform(rng);
            x[j] = u < level[y > 0][0] ? 0 : u < level[y > 0][0] + level[y > 0][1] ? 1 : 2;
        }
    }
    if (which ==
        UNKNOWN_TIES) /* one of two equally likely levels in place of the number; the standard deviation is 1/2 */
        x[last] = x[last] - shift > 0 || pv_rng_uniform(rng) < shift;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

pv_status unknown_table(pv_ctx *ctx, const unknown_rows *r, pv_table **table) {
    int labels = unknown_labels[r->which], width = width_of(r->which);
    size_t n = r->share ? r->rows : r->rows * (size_t)labels;
    double *x = cli_alloc((size_t)width + 1, n * sizeof *x), row[COLUMNS] = {0};
    for (size_t i = 0; i < n; i++) {
        pv_rng rng = pv_rng_stream(r->seed, PV_STREAM_STUDY_CLINIC, r->index * 100000 + i);
        int y = r->share ? 0 : (int)(i % (size_t)labels);
        double u = pv_rng_uniform(&rng);
        for (; r->share && y < labels - 1 && u >= r->share[y]; y++)
            u -= r->share[y];
        draw_row(r->which, y, r->shift, &rng, row);
        x[i] = y;
        for (int j = 0; j < width; j++)
            x[((size_t)j + 1) * n + i] = row[j];
        for (int l = 0; r->log_density && l < labels; l++)
            r->log_density[i * (size_t)labels + (size_t)l] = log_density(r->which, l, row);
    }
    pv_status status = pv_table_new(ctx, "rows", n, table);
    for (int j = 0; status == PV_OK && j <= width; j++) {
        char name[16] = "y";
        if (j > 0)
            snprintf(name, sizeof name, "x%d", j);
        status = pv_table_add_numbers(ctx, *table, name, PV_ARRAY_F64, x + (size_t)j * n, PV_PACKED, NULL, false);
    }
    free(x);
    return status;
}
