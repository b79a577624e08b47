/* Simulated populations with known truth, and samples drawn from them by design.
 *
 * Row i draws from the stream (seed, kind, i) alone, so draws do not depend on the number of rows, their order, or
 * threads. A row of given label is drawn by rejection: candidates x from the population are accepted with probability
 * p(y|x) / max_x p(y|x), which needs about as many candidates at prevalence 1e-6 as at 0.1.
 *
 * Selection (first figure and Appendix G of the paper), where s = 1 if a row can be observed at all:
 *   by label    p(x,y|s=1) = p(x|y) p~(y)                              cases and controls
 *   by feature  p(x,y|s=1) ~ p(x,y) [low <= x_j <= high]               within
 *   by both     p(x,y|s=1) ~ p(x|y) p~(y) [low <= x_j <= high or y is another label]
 */
#include <math.h>
#include <string.h>

#include "data/data.h"

/* ---- nodules -------------------------------------------------------------------------------------------------------
 * Log odds ratios of published size. age, female, emphysema, upper_lobe and part_solid: the Brock model (McWilliams et
 * al. 2013, N Engl J Med 369:910). smoker and diameter: the Mayo model (Swensen et al. 1997, Arch Intern Med 157:849).
 * The distribution of the covariates is invented, within what screening studies report.
 */
enum { AGE, FEMALE, SMOKER, EMPHYSEMA, UPPER_LOBE, DIAMETER, PART_SOLID, NODULE_FEATURES };

static const char *const nodule_name[] = {"age",        "female",   "smoker",     "emphysema",
                                          "upper_lobe", "diameter", "part_solid", "malignant"};
static const double nodule_slope[NODULE_FEATURES] = {0.0287, 0.6011, 0.7917, 0.2953, 0.6581, 0.1274, 0.3770};

static const double age_mean = 62, age_sd = 10, age_low = 18, age_high = 90;
static const double diameter_median = 7, diameter_sigma = 0.5, diameter_low = 3, diameter_high = 30; /* mm */
static const double share_female = 0.45, share_smoker = 0.5, share_upper_lobe = 0.55, share_part_solid = 0.15;
static const double share_emphysema[2] = {0.10, 0.45}; /* of non-smokers, of smokers */

/* truth: the intercept, then the slopes. */
static double nodule_score(const double *truth, const double *x) {
    double z = truth[0];
    for (int j = 0; j < NODULE_FEATURES; j++)
        z += truth[1 + j] * x[j];
    return z;
}

static void draw_covariates(pv_rng *rng, double *x) {
    do
        x[AGE] = age_mean + age_sd * pv_rng_normal(rng);
    while (x[AGE] < age_low || x[AGE] > age_high);
    do
        x[DIAMETER] = diameter_median * exp(diameter_sigma * pv_rng_normal(rng));
    while (x[DIAMETER] < diameter_low || x[DIAMETER] > diameter_high);
    x[FEMALE] = pv_rng_uniform(rng) < share_female;
    x[SMOKER] = pv_rng_uniform(rng) < share_smoker;
    x[EMPHYSEMA] = pv_rng_uniform(rng) < share_emphysema[x[SMOKER] > 0];
    x[UPPER_LOBE] = pv_rng_uniform(rng) < share_upper_lobe;
    x[PART_SOLID] = pv_rng_uniform(rng) < share_part_solid;
}

/* label -1: drawn together with the covariates. Returns the label. */
static int draw_nodule(const double *truth, pv_rng *rng, int label, double *x) {
    const double lowest[NODULE_FEATURES] = {[AGE] = age_low, [DIAMETER] = diameter_low};
    const double highest[NODULE_FEATURES] = {
        age_high, 1, 1, 1, 1, diameter_high, 1}; /* covariates of highest risk, because every slope is positive */
    double sign = label == 0 ? -1 : 1, top = 1;
    if (label >= 0)
        top = pv_sigmoid(sign * nodule_score(truth, label == 0 ? lowest : highest));
    for (;;) {
        draw_covariates(rng, x);
        bool accept = pv_rng_uniform(rng) * top < pv_sigmoid(sign * nodule_score(truth, x));
        if (label < 0)
            return accept;
        if (accept)
            return label;
    }
}

enum { NODES = 64, COMBINATIONS = 32, POINTS = COMBINATIONS * NODES * NODES };

/* Score without intercept and probability mass of every quadrature point: all combinations of the binary covariates
 * times nodes in age and log diameter. */
static void nodule_quadrature(const double *truth, double *score, double *mass) {
    double age[NODES], age_weight[NODES], log_d[NODES], d_weight[NODES];
    pv__gauss_legendre(NODES, age_low, age_high, age, age_weight);
    pv__gauss_legendre(NODES, log(diameter_low), log(diameter_high), log_d, d_weight);
    double total = 0;
    for (int k = 0; k < POINTS; k++) {
        int combination = k / (NODES * NODES), i = k / NODES % NODES, j = k % NODES;
        double x[NODULE_FEATURES] = {[AGE] = age[i], [DIAMETER] = exp(log_d[j])};
        static const int binary[] = {FEMALE, SMOKER, EMPHYSEMA, UPPER_LOBE, PART_SOLID};
        for (int b = 0; b < 5; b++)
            x[binary[b]] = combination >> b & 1;
        const double share[] = {share_female, share_smoker, share_emphysema[x[SMOKER] > 0], share_upper_lobe,
                                share_part_solid};
        double a = (age[i] - age_mean) / age_sd, d = (log_d[j] - log(diameter_median)) / diameter_sigma;
        mass[k] = age_weight[i] * d_weight[j] * exp(-0.5 * (a * a + d * d));
        for (int b = 0; b < 5; b++)
            mass[k] *= x[binary[b]] > 0 ? share[b] : 1 - share[b];
        score[k] = nodule_score(truth, x);
        total += mass[k];
    }
    for (int k = 0; k < POINTS; k++)
        mass[k] /= total;
}

static pv_status nodule_truth(pv_ctx *ctx, const pv_simulation *simulation, double *truth) {
    double *score = NULL, *mass = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, POINTS, sizeof *score, &score));
    PV_GOTO(done, pv__alloc(ctx, POINTS, sizeof *mass, &mass));
    truth[0] = 0;
    for (int j = 0; j < NODULE_FEATURES; j++)
        truth[1 + j] = nodule_slope[j] * (simulation->strength > 0 ? simulation->strength : 1);
    nodule_quadrature(truth, score, mass);
    truth[0] = pv__solve_intercept(POINTS, score, mass, simulation->prevalence);
done:
    pv__free(ctx, score);
    pv__free(ctx, mass);
    return status;
}

/* ---- gaussian ------------------------------------------------------------------------------------------------------
 * x | y ~ N(+-separation/2 u, I), u = (1, ..., 1)/sqrt(d): the log odds are logit(prevalence) + separation u'x.
 */
static void gaussian_truth(const pv_simulation *simulation, double *truth) {
    truth[0] = pv_logit(simulation->prevalence);
    for (int64_t j = 1; j <= simulation->dimensions; j++)
        truth[j] = simulation->separation / sqrt((double)simulation->dimensions);
}

static int draw_gaussian(const pv_simulation *simulation, pv_rng *rng, int label, double *x) {
    double first = pv_rng_uniform(rng);
    int y = label >= 0 ? label : first < simulation->prevalence;
    double shift = (y ? 0.5 : -0.5) * simulation->separation / sqrt((double)simulation->dimensions);
    for (int64_t j = 0; j < simulation->dimensions; j++)
        x[j] = shift + pv_rng_normal(rng);
    return y;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static bool by_design(const pv_simulation *simulation) {
    return simulation->cases >= 0 || simulation->controls >= 0;
}

pv_status pv__simulation_check(pv_ctx *ctx, const pv_simulation *s, bool *design, size_t *rows) {
    if (!(s->prevalence > 0 && s->prevalence < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "the prevalence %g is outside (0,1)", s->prevalence);
    if (by_design(s) && (s->cases < 0 || s->controls < 0))
        return pv__fail(ctx, PV_ERR_USAGE, "a case-control sample needs both `cases` and `controls`");
    if (by_design(s) && (s->cases > INT64_MAX - s->controls || s->cases + s->controls == 0))
        return pv__fail(ctx, PV_ERR_USAGE, "`cases=%lld` and `controls=%lld`: at least one row is needed",
                        (long long)s->cases, (long long)s->controls);
    if (!by_design(s) && s->rows < 1)
        return pv__fail(ctx, PV_ERR_USAGE, "`rows=%lld`: at least one row is needed", (long long)s->rows);
    *design = by_design(s);
    *rows = (size_t)(*design ? s->cases + s->controls : s->rows);
    return PV_OK;
}

static pv_status check_simulation(pv_ctx *ctx, bool gaussian, const pv_simulation *s) {
    bool design;
    size_t rows;
    PV_TRY(pv__simulation_check(ctx, s, &design, &rows));
    if (gaussian && (s->dimensions < 1 || s->dimensions > 100000))
        return pv__fail(ctx, PV_ERR_USAGE, "`dimensions=%lld` is outside 1 to 100000", (long long)s->dimensions);
    if (!gaussian && !(s->strength >= 0 && s->strength <= 100))
        return pv__fail(ctx, PV_ERR_USAGE, "`strength=%g` is not a number from 0 to 100", s->strength);
    if (gaussian && !(s->separation >= 0 && isfinite(s->separation)))
        return pv__fail(ctx, PV_ERR_USAGE, "`separation=%g` is not a finite number of at least 0", s->separation);
    return PV_OK;
}

static pv_status make_table(pv_ctx *ctx, bool gaussian, const pv_simulation *s, size_t features, pv_table **table) {
    size_t rows = (size_t)(by_design(s) ? s->cases + s->controls : s->rows);
    PV_TRY(pv__table_new(ctx, gaussian ? "simulated gaussian" : "simulated nodules", gaussian ? NULL : nodule_name,
                         features + 1, rows, table));
    for (size_t j = 0; j <= features; j++) {
        pv_column *column = &(*table)->column[j];
        if (gaussian) {
            char name[24] = "y";
            if (j < features)
                pv__format(name, sizeof name, "x%zu", j + 1);
            PV_TRY(pv__strdup(ctx, name, &column->name));
        }
        PV_TRY(pv__resize(ctx, rows, sizeof *column->number, &column->number));
    }
    return PV_OK;
}

/* The feature that `within` restricts, or the number of features if there is none. */
static pv_status find_within(pv_ctx *ctx, const pv_simulation *s, const pv_table *table, size_t *feature) {
    *feature = table->columns - 1;
    if (!s->within)
        return PV_OK;
    if (!(s->low < s->high))
        return pv__fail(ctx, PV_ERR_USAGE, "`within=%s`: the range from %g to %g is empty", pv__show(s->within).text,
                        s->low, s->high);
    if (s->within_label < -1 || s->within_label > 1)
        return pv__fail(ctx, PV_ERR_USAGE, "`within`: there is no label %d", s->within_label);
    size_t column;
    PV_TRY(pv_table_find(ctx, table, "`within`", s->within, &column));
    if (column == *feature)
        return pv__fail(ctx, PV_ERR_USAGE, "`within=%s`: is the label; `cases` and `controls` select by it",
                        pv__show(s->within).text);
    *feature = column;
    return PV_OK;
}

enum { CANDIDATES_MAX = 1000000 };

/* Draws one observable row, x [features]. Returns its label, or -1 if none was found. */
static int draw_row(bool gaussian, const pv_simulation *s, const double *truth, pv_rng *rng, int label, size_t within,
                    size_t features, double *x) {
    for (int candidate = 0; candidate < CANDIDATES_MAX; candidate++) {
        int y = gaussian ? draw_gaussian(s, rng, label, x) : draw_nodule(truth, rng, label, x);
        bool applies = within < features && (s->within_label < 0 || s->within_label == y);
        if (!applies || (x[within] >= s->low && x[within] <= s->high))
            return y;
    }
    return -1;
}

/* Cases come first, then controls. */
static pv_status fill_table(pv_ctx *ctx, bool gaussian, const pv_simulation *s, const double *truth, double *x,
                            pv_table *table) {
    size_t features = table->columns - 1, within;
    PV_TRY(find_within(ctx, s, table, &within));
    for (size_t row = 0; row < table->rows; row++) {
        if (row % 4096 == 0 && pv__interrupted(ctx))
            return pv__fail(ctx, PV_ERR_INTERRUPTED, "the simulation was interrupted");
        pv_rng rng = pv_rng_stream(s->seed, gaussian ? PV_STREAM_GAUSSIAN : PV_STREAM_NODULES, row);
        int label = by_design(s) ? row < (size_t)s->cases : -1;
        label = draw_row(gaussian, s, truth, &rng, label, within, features, x);
        if (label < 0)
            return pv__fail(ctx, PV_ERR_USAGE, "`within=%s`: none of %d rows is between %g and %g;\nwiden the range",
                            pv__show(s->within).text, (int)CANDIDATES_MAX, s->low, s->high);
        for (size_t j = 0; j < features; j++)
            table->column[j].number[row] = x[j];
        table->column[features].number[row] = label;
    }
    return PV_OK;
}

pv_status pv_simulate(pv_ctx *ctx, const char *kind, const pv_simulation *simulation, pv_table **table, double *truth) {
    static const char *const kinds[] = {"nodules", "gaussian"};
    *table = NULL;
    bool gaussian = strcmp(kind, kinds[1]) == 0;
    if (!gaussian && strcmp(kind, kinds[0]) != 0) {
        const char *near = pv_nearest(kind, kinds, 2);
        return pv__fail(ctx, PV_ERR_USAGE, "cannot simulate '%s'; %s%s", pv__show(kind).text,
                        near ? "did you mean " : "choose nodules or gaussian", near ? near : "");
    }
    PV_TRY(check_simulation(ctx, gaussian, simulation));
    size_t features = gaussian ? (size_t)simulation->dimensions : NODULE_FEATURES;
    pv_table *made = NULL;
    double *coefficients = NULL, *x = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, features + 1, sizeof *coefficients, &coefficients));
    PV_GOTO(done, pv__alloc(ctx, features, sizeof *x, &x));
    if (gaussian)
        gaussian_truth(simulation, coefficients);
    else
        PV_GOTO(done, nodule_truth(ctx, simulation, coefficients));
    PV_GOTO(done, make_table(ctx, gaussian, simulation, features, &made));
    PV_GOTO(done, fill_table(ctx, gaussian, simulation, coefficients, x, made));
    made->hash = pv__table_hash(made);
    if (truth)
        memcpy(truth, coefficients, (features + 1) * sizeof *truth);
    *table = made;
    made = NULL;
done:
    pv_table_free(ctx, made);
    pv__free(ctx, coefficients);
    pv__free(ctx, x);
    return status;
}
