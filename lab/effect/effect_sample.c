/* Samples of the study of effects.
 *
 * The population is a table of cells: a covariate x on a grid with normal masses, a binary exposure whose log odds are
 * -0.3 + 0.6 x, and the label. So the truth, and the linear model that is closest to the population (the limit of the
 * weighted estimate), are sums over cells.
 */
#include "lab/effect/effect.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>

enum { POINTS = 241, CELLS = 2 * POINTS }; /* cells of each label: x by exposure */

static double logistic(double z) {
    return 1 / (1 + exp(-z));
}

static double x_of(size_t cell) {
    size_t point = cell / 2;
    return -6 + 12.0 * (double)point / (POINTS - 1);
}

static double exposed_in(size_t cell) {
    return (double)(cell % 2);
}

/* ---- the population ---------------------------------------------------------------------------------------------- */

static double log_odds(effect_kind kind, double exposed, double x) {
    double square = kind == EFFECT_SQUARE ? 0.3 * x * x : 0, product = kind == EFFECT_PRODUCT ? 0.5 * exposed * x : 0;
    return 0.7 * exposed + 0.5 * x + square + product;
}

/* The mass of x and exposure. */
static double mass_of(size_t cell) {
    double x = x_of(cell), exposed = logistic(-0.3 + 0.6 * x), total = 0;
    for (size_t i = 0; i < POINTS; i++)
        total += exp(-0.5 * x_of(2 * i) * x_of(2 * i));
    return exp(-0.5 * x * x) / total * (cell % 2 ? exposed : 1 - exposed);
}

static double mean_risk(effect_kind kind, const double *mass, double intercept) {
    double sum = 0;
    for (size_t i = 0; i < CELLS; i++)
        sum += mass[i] * logistic(intercept + log_odds(kind, exposed_in(i), x_of(i)));
    return sum;
}

/* Difference, ratio and attributable fraction. */
static void measures_of(double without, double with, double prevalence, double *to) {
    to[0] = with - without;
    to[1] = with / without;
    to[2] = 1 - without / prevalence;
}

static void solve3(double A[3][4]) {
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++)
            for (int j = 3; r != c && j >= c; j--)
                A[r][j] -= A[r][c] / A[c][c] * A[c][j];
    for (int r = 0; r < 3; r++)
        A[r][3] /= A[r][r];
}

/* The maximum of the population's log-likelihood of 1, e, x by Newton's method. */
static void find_closest(effect_cell *c, const double *all) {
    double w[3] = {log(c->prevalence), 0, 0}, risk[2] = {0, 0};
    for (int step = 0; step < 60; step++) {
        double A[3][4] = {{0}};
        for (size_t i = 0; i < CELLS; i++) {
            double v[3] = {1, exposed_in(i), x_of(i)}, p = logistic(w[0] + w[1] * v[1] + w[2] * v[2]);
            for (int r = 0; r < 3; r++) {
                for (int j = 0; j < 3; j++)
                    A[r][j] += all[i] * p * (1 - p) * v[r] * v[j];
                A[r][3] += (c->mass[CELLS + i] - all[i] * p) * v[r];
            }
        }
        solve3(A);
        for (int r = 0; r < 3; r++)
            w[r] += fmax(-1, fmin(1, A[r][3]));
    }
    for (size_t i = 0; i < CELLS; i++)
        for (int e = 0; e < 2; e++)
            risk[e] += all[i] * logistic(w[0] + w[1] * e + w[2] * x_of(i));
    measures_of(risk[0], risk[1], c->prevalence, c->closest);
}

void effect_population(effect_cell *c) {
    double *all = cli_alloc(CELLS, sizeof *all), low = -30, high = 30, risk[2] = {0, 0};
    c->mass = cli_alloc((size_t)2 * CELLS, sizeof *c->mass);
    for (size_t i = 0; i < CELLS; i++)
        all[i] = mass_of(i);
    for (int step = 0; step < 200; step++)
        *(mean_risk(c->kind, all, 0.5 * (low + high)) < c->prevalence ? &low : &high) = 0.5 * (low + high);
    for (size_t i = 0; i < CELLS; i++) {
        double p = logistic(low + log_odds(c->kind, exposed_in(i), x_of(i)));
        c->mass[i] = all[i] * (1 - p);
        c->mass[CELLS + i] = all[i] * p;
        for (int e = 0; e < 2; e++)
            risk[e] += all[i] * logistic(low + log_odds(c->kind, e, x_of(i)));
    }
    measures_of(risk[0], risk[1], c->prevalence, c->truth);
    find_closest(c, all);
    free(all);
}

/* ---- a sample ---------------------------------------------------------------------------------------------------- */

typedef struct drawn {
    size_t rows;
    double *x, *exposed;
    int32_t *label, *cluster;
} drawn;

static double normal_below(double z) {
    return 0.5 * erfc(-z / sqrt(2));
}

/* The cell of a label below which a share u of its mass lies. */
static size_t cell_at(const double *mass, double u) {
    double total = 0, sum = 0;
    size_t i = 0;
    for (size_t c = 0; c < CELLS; c++)
        total += mass[c];
    while (i + 1 < CELLS && (sum += mass[i]) < u * total)
        i++;
    return i;
}

static void draw(const effect_cell *c, pv_rng *rng, drawn *d) {
    double common = 0;
    for (size_t i = 0; i < d->rows; i++) {
        int32_t label = i >= c->rows;
        size_t place = i - (size_t)label * c->rows;
        double own = pv_rng_normal(rng);
        if (place % EFFECT_CLUSTER == 0)
            common = pv_rng_normal(rng);
        if (c->kind == EFFECT_CLUSTERS)
            own = (own + common) / sqrt(2);
        size_t at = cell_at(c->mass + (size_t)label * CELLS, normal_below(own));
        d->x[i] = x_of(at);
        d->exposed[i] = exposed_in(at);
        d->label[i] = label;
        d->cluster[i] = (int32_t)(label * 1000000 + (int32_t)(place / EFFECT_CLUSTER));
    }
}

static pv_status table_of(pv_ctx *ctx, const effect_cell *c, const drawn *d, pv_table **table) {
    PV_TRY(pv_table_new(ctx, "drawn", d->rows, table));
    PV_TRY(pv_table_add_numbers(ctx, *table, "x", PV_ARRAY_F64, d->x, PV_PACKED, NULL, true));
    PV_TRY(pv_table_add_numbers(ctx, *table, "exposed", PV_ARRAY_F64, d->exposed, PV_PACKED, NULL, true));
    PV_TRY(pv_table_add_numbers(ctx, *table, "label", PV_ARRAY_I32, d->label, PV_PACKED, NULL, false));
    return c->kind == EFFECT_CLUSTERS
               ? pv_table_add_numbers(ctx, *table, "cluster", PV_ARRAY_I32, d->cluster, PV_PACKED, NULL, false)
               : PV_OK;
}

/* The prevalence as it is stated: known, or counted among a number of people. */
static pv_status state_prevalence(pv_ctx *ctx, const effect_cell *c, pv_rng *rng, pv_settings *settings) {
    double people = fmax(1000, 10 / c->prevalence), found = 0;
    char text[40];
    for (double i = 0; i < people && c->kind == EFFECT_STATED; i++)
        found += pv_rng_uniform(rng) < c->prevalence;
    pv_format_double(c->kind == EFFECT_STATED ? fmax(1, found) / people : c->prevalence, text, sizeof text);
    PV_TRY(pv_settings_set(ctx, settings, "prevalence", text));
    pv_format_double(people, text, sizeof text);
    return c->kind == EFFECT_STATED ? pv_settings_set(ctx, settings, "prevalence-n", text) : PV_OK;
}

static bool holds(const pv_result *q, double truth) {
    return pv_result_number(pv_result_get(q, "lo")) <= truth && pv_result_number(pv_result_get(q, "hi")) >= truth;
}

static double width_of(const pv_result *q) {
    return pv_result_number(pv_result_get(q, "hi")) - pv_result_number(pv_result_get(q, "lo"));
}

static void take(const effect_cell *c, const pv_result *found, effect_outcome *to) {
    const pv_result *effect = pv_result_child(pv_result_get(found, "effects"), 0);
    for (size_t m = 0; m < EFFECT_MEASURES; m++) {
        const pv_result *q = pv_result_get(effect, effect_measure[m]), *linear = pv_result_get(q, "linear");
        to->value[m] = pv_result_number(pv_result_get(q, "value"));
        to->held[m] = holds(q, c->closest[m]);
        to->truly[m] = holds(q, c->truth[m]);
        to->linear[m] = holds(linear, c->truth[m]);
        if (m == 0) {
            to->width = width_of(q) / c->truth[0];
            to->linear_width = width_of(linear) / c->truth[0];
        }
    }
    to->done = 1;
}

static pv_status estimate(pv_ctx *ctx, const effect_cell *c, pv_rng *rng, const drawn *d, effect_outcome *to) {
    pv_table *table = NULL;
    pv_settings *settings = NULL;
    pv_result *found = NULL;
    pv_status status = table_of(ctx, c, d, &table);
    if (status == PV_OK)
        status = pv_effect_settings_new(ctx, &settings);
    if (status == PV_OK)
        status = pv_settings_set(ctx, settings, "outcome", "label");
    if (status == PV_OK)
        status = pv_settings_set(ctx, settings, "exposure", "exposed");
    if (status == PV_OK && c->kind == EFFECT_CLUSTERS)
        status = pv_settings_set(ctx, settings, "cluster", "cluster");
    if (status == PV_OK)
        status = state_prevalence(ctx, c, rng, settings);
    if (status == PV_OK)
        status = pv_effect_estimate(ctx, table, settings, &found);
    if (status == PV_OK)
        take(c, found, to);
    pv_result_free(found);
    pv_settings_free(ctx, settings);
    pv_table_free(ctx, table);
    return status;
}

pv_status effect_replicate(pv_ctx *ctx, const effect_study *s, const effect_cell *c, size_t index, effect_outcome *to) {
    size_t rows = 2 * c->rows;
    pv_rng rng = pv_rng_stream(s->seed, PV_STREAM_STUDY_EFFECT, index);
    drawn d = {rows, cli_alloc(rows, sizeof(double)), cli_alloc(rows, sizeof(double)), cli_alloc(rows, sizeof(int32_t)),
               cli_alloc(rows, sizeof(int32_t))};
    draw(c, &rng, &d);
    pv_status status = estimate(ctx, c, &rng, &d, to);
    free(d.x);
    free(d.exposed);
    free(d.label);
    free(d.cluster);
    return status;
}
