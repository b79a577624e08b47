/* Curves over thresholds: ROC, precision and recall, informedness and markedness, expected against observed errors.
 *
 *   tpr(t), fpr(t)   fractions of the positive and of the other rows with p >= t
 *   ppv at prevalence pi   pi tpr / (pi tpr + (1-pi) fpr);  npv likewise; M = ppv + npv - 1, I = tpr - fpr
 *   expected FP(t)   sum over rows with p_n >= t of 1 - p_n, expected FN(t) the sum of p_n over the others; the rates
 * are these divided by the expected numbers of negatives and positives (section 6 of the paper)
 */
#include "curves.h"

#include <math.h>
#include <string.h>

/* ---- intervals --------------------------------------------------------------------------------------------------- */

pv__bounds pv__share_bounds(double count, double n, double z) {
    if (!(n > 0))
        return (pv__bounds){NAN, NAN};
    double p = fmin(count / n, 1), width = 1 + z * z / n, middle = (p + z * z / (2 * n)) / width;
    double reach = z / width * sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    return (pv__bounds){p <= 0 ? 0 : fmax(middle - reach, 0), p >= 1 ? 1 : fmin(middle + reach, 1)};
}

pv__bounds pv__ratio_bounds(double prior, double a, double n_a, double b, double n_b, double z) {
    if (!(n_a > 0 && n_b > 0) || isnan(a) || isnan(b) || (a <= 0 && b <= 0))
        return (pv__bounds){NAN, NAN};
    double value = a <= 0 ? 0 : b <= 0 ? 1 : pv_sigmoid(prior + log(a / b));
    if (a <= 0 || a >= 1)
        a = (a * n_a + 0.5) / (n_a + 1);
    if (b <= 0 || b >= 1)
        b = (b * n_b + 0.5) / (n_b + 1);
    double middle = prior + log(a / b), reach = z * sqrt((1 - a) / (n_a * a) + (1 - b) / (n_b * b));
    return (pv__bounds){fmin(value, pv_sigmoid(middle - reach)), fmax(value, pv_sigmoid(middle + reach))};
}

/* ---- points ------------------------------------------------------------------------------------------------------ */

double pv__ranking_prevalence(const pv_ranking *ranking) {
    return ranking->stated_p / (ranking->stated_p + ranking->stated_n);
}

pv__rates pv__rates_at(const pv_ranking *ranking, size_t point) {
    bool above = point == SIZE_MAX;
    size_t last = ranking->points - 1;
    return (pv__rates){.tpr = ranking->rows_p > 0 ? (above ? 0 : ranking->tp[point] / ranking->tp[last]) : NAN,
                       .fpr = ranking->rows_n > 0 ? (above ? 0 : ranking->fp[point] / ranking->fp[last]) : NAN};
}

static double ratio(double part, double whole) {
    return whole > 0 ? part / whole : NAN;
}

double pv__ppv(double prevalence, pv__rates rates) {
    return ratio(prevalence * rates.tpr, prevalence * rates.tpr + (1 - prevalence) * rates.fpr);
}

double pv__npv(double prevalence, pv__rates rates) {
    double tn = (1 - prevalence) * (1 - rates.fpr);
    return ratio(tn, tn + prevalence * (1 - rates.tpr));
}

size_t pv__point_at(const pv_ranking *ranking, double threshold) {
    return pv__point_at_odds(ranking, pv_logit(threshold));
}

size_t pv__point_at_odds(const pv_ranking *ranking, double least) {
    least -= 1e-12 * fmax(1, fabs(least));  /* a probability equal to the threshold may be off by a rounding error */
    size_t low = 0, high = ranking->points; /* points below index low have at least that probability */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ranking->log_odds[middle] >= least)
            low = middle + 1;
        else
            high = middle;
    }
    return low == 0 ? SIZE_MAX : low - 1;
}

/* The fraction of all rows, by label mass, at this point or above; it increases with the point. */
static double share_at(const pv_ranking *ranking, size_t point) {
    pv__rates at = pv__rates_at(ranking, point);
    return isnan(at.tpr) ? at.fpr : isnan(at.fpr) ? at.tpr : (at.tpr + at.fpr) / 2;
}

/* The first point from `low` on that reaches this fraction, or the last one. */
static size_t first_of_share(const pv_ranking *ranking, size_t low, double share) {
    size_t high = ranking->points - 1;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (share_at(ranking, middle) >= share)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

pv_status pv__pick_points(pv_ctx *ctx, const pv_ranking *ranking, size_t most, size_t **picked, size_t *count) {
    size_t points = ranking->points, taken = 0;
    bool all = most == 0 || points <= most;
    most = all ? points : most < 2 ? 2 : most;
    PV_TRY(pv__alloc(ctx, most, sizeof **picked, picked));
    for (size_t i = 0; all && i < points; i++)
        (*picked)[taken++] = i;
    for (size_t i = 0; !all && i < most && (taken == 0 || (*picked)[taken - 1] < points - 1); i++) {
        size_t next = taken == 0 ? 0 : (*picked)[taken - 1] + 1;
        (*picked)[taken++] = i == 0          ? 0
                             : i == most - 1 ? points - 1
                                             : first_of_share(ranking, next, (double)i / (double)(most - 1));
    }
    *count = taken;
    return PV_OK;
}

/* ---- kinds of curves --------------------------------------------------------------------------------------------- */

static double threshold_of(const pv_ranking *ranking, size_t point) {
    return point == SIZE_MAX ? INFINITY : pv_sigmoid(ranking->log_odds[point]);
}

static void put(double **to, double value) {
    *(*to)++ = value;
}

static void put_bounds(double **to, pv__bounds bounds) {
    put(to, bounds.lo);
    put(to, bounds.hi);
}

static void put_roc(const pv_ranking *ranking, size_t point, double z, double **to) {
    pv__rates at = pv__rates_at(ranking, point);
    put(to, threshold_of(ranking, point));
    put(to, at.fpr);
    put_bounds(to, pv__share_bounds(at.fpr * ranking->rows_n, ranking->rows_n, z));
    put(to, at.tpr);
    put_bounds(to, pv__share_bounds(at.tpr * ranking->rows_p, ranking->rows_p, z));
}

static void put_pr(const pv_ranking *ranking, size_t point, double z, double **to) {
    double prevalence = pv__ranking_prevalence(ranking);
    pv__rates at = pv__rates_at(ranking, point);
    put(to, threshold_of(ranking, point));
    put(to, at.tpr);
    put_bounds(to, pv__share_bounds(at.tpr * ranking->rows_p, ranking->rows_p, z));
    put(to, pv__ppv(prevalence, at));
    put_bounds(to, pv__ratio_bounds(pv_logit(prevalence), at.tpr, ranking->rows_p, at.fpr, ranking->rows_n, z));
}

static void put_expected(const pv_ranking *ranking, size_t point, double z, double **to) {
    size_t last = ranking->points - 1;
    bool above = point == SIZE_MAX;
    double tp = above ? 0 : ranking->weight_p * ranking->tp[point];
    double fp = above ? 0 : ranking->weight_n * ranking->fp[point], p = ranking->weight_p * ranking->tp[last];
    double all = p + ranking->weight_n * ranking->fp[last], positives = ranking->expected[last];
    double expected_tp = above ? 0 : ranking->expected[point];
    double expected_fp = fmax(tp + fp - expected_tp, 0), expected_fn = fmax(positives - expected_tp, 0);
    pv__rates at = pv__rates_at(ranking, point);
    put(to, threshold_of(ranking, point));
    put(to, ratio(expected_fp, all - positives));
    put(to, at.fpr);
    put_bounds(to, pv__share_bounds(at.fpr * ranking->rows_n, ranking->rows_n, z));
    put(to, ratio(expected_fn, positives));
    put(to, 1 - at.tpr);
    put_bounds(to, pv__share_bounds((1 - at.tpr) * ranking->rows_p, ranking->rows_p, z));
    put(to, expected_fp);
    put(to, fp);
    put(to, expected_fn);
    put(to, fmax(p - tp, 0));
}

typedef void (*put_row)(const pv_ranking *ranking, size_t point, double z, double **to);

static void walk(const pv_ranking *ranking, const size_t *picked, size_t count, bool start, double z, put_row put_one,
                 double *to) {
    if (start)
        put_one(ranking, SIZE_MAX, z, &to);
    for (size_t i = 0; i < count; i++)
        put_one(ranking, picked[i], z, &to);
}

static void walk_im(const pv_ranking *ranking, const size_t *picked, size_t count, double prevalence, double z,
                    double **to) {
    for (size_t i = 0; i < count; i++) {
        pv__rates at = pv__rates_at(ranking, picked[i]);
        double informedness = at.tpr - at.fpr, ppv = pv__ppv(prevalence, at), npv = pv__npv(prevalence, at);
        double sd = sqrt(at.tpr * (1 - at.tpr) / ranking->rows_p + at.fpr * (1 - at.fpr) / ranking->rows_n);
        put(to, prevalence);
        put(to, threshold_of(ranking, picked[i]));
        put(to, informedness);
        pv__bounds bounds = {informedness - z * sd, informedness + z * sd};
        put(to, bounds.lo < -1 ? -1 : bounds.lo); /* keeps NaN */
        put(to, bounds.hi > 1 ? 1 : bounds.hi);
        put(to, ppv + npv - 1);
        put(to, ppv);
        put(to, npv);
    }
}

static pv_status make_im(pv_ctx *ctx, const pv_ranking *ranking, const pv_curve_options *options, const size_t *picked,
                         size_t count, double z, pv_curve *curve) {
    const double usual[] = {pv__ranking_prevalence(ranking), 0.001, 0.01, 0.1, 0.5, 0.9};
    const double *grid = options->prevalences ? options->prevalences : usual;
    size_t n = options->prevalences ? options->n_prevalences : sizeof usual / sizeof *usual;
    PV_TRY(PV__SHAPE(ctx, n * count, curve, "prevalence", "threshold", "informedness", "informedness_lo",
                     "informedness_hi", "markedness", "ppv", "npv"));
    double *to = curve->value;
    for (size_t i = 0; i < n; i++)
        walk_im(ranking, picked, count, grid[i], z, &to);
    return PV_OK;
}

static pv_status make_walk(pv_ctx *ctx, const pv_ranking *ranking, pv_curve_kind kind, const pv_curve_options *options,
                           double z, pv_curve *curve) {
    size_t *picked = NULL, count;
    pv_status status;
    PV_GOTO(done, pv__pick_points(ctx, ranking, options->points, &picked, &count));
    switch (kind) {
    case PV_CURVE_roc:
        PV_GOTO(done,
                PV__SHAPE(ctx, count + 1, curve, "threshold", "fpr", "fpr_lo", "fpr_hi", "tpr", "tpr_lo", "tpr_hi"));
        walk(ranking, picked, count, true, z, put_roc, curve->value);
        break;
    case PV_CURVE_pr:
        PV_GOTO(done, PV__SHAPE(ctx, count, curve, "threshold", "recall", "recall_lo", "recall_hi", "precision",
                                "precision_lo", "precision_hi"));
        walk(ranking, picked, count, false, z, put_pr, curve->value);
        break;
    case PV_CURVE_expected:
        PV_GOTO(done, PV__SHAPE(ctx, count + 1, curve, "threshold", "fpr_expected", "fpr", "fpr_lo", "fpr_hi",
                                "fnr_expected", "fnr", "fnr_lo", "fnr_hi", "fp_expected", "fp", "fn_expected", "fn"));
        walk(ranking, picked, count, true, z, put_expected, curve->value);
        break;
    default:
        status = make_im(ctx, ranking, options, picked, count, z, curve);
    }
done:
    pv__free(ctx, picked);
    return status;
}

/* ---- curves ------------------------------------------------------------------------------------------------------ */

pv_curve_options pv_curve_options_default(void) {
    return (pv_curve_options){.points = 500, .bins = 10, .level = 0.95, .threshold = 0.5};
}

pv_status pv__curve_shape(pv_ctx *ctx, size_t points, const char *const *columns, size_t count, pv_curve *curve) {
    curve->points = points;
    curve->columns = count;
    for (size_t c = 0; c < count; c++)
        curve->column[c] = columns[c];
    return pv__alloc(ctx, points * count + 1, sizeof(double), &curve->value);
}

static pv_status check_options(pv_ctx *ctx, const pv_curve_options *options) {
    if (!(options->level > 0 && options->level < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "an interval's level must lie between 0 and 1, not %g", options->level);
    if (options->bins < 1)
        return pv__fail(ctx, PV_ERR_USAGE, "a calibration curve needs a bin, not %d", options->bins);
    if (!(options->threshold > 0 && options->threshold < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "a threshold must lie between 0 and 1, not %g", options->threshold);
    for (size_t i = 0; options->prevalences && i < options->n_prevalences; i++)
        if (!(options->prevalences[i] > 0 && options->prevalences[i] < 1))
            return pv__fail(ctx, PV_ERR_USAGE, "a prevalence must lie between 0 and 1, not %g",
                            options->prevalences[i]);
    return PV_OK;
}

pv_status pv_curve_make(pv_ctx *ctx, const pv_ranking *ranking, pv_curve_kind kind, const pv_curve_options *options,
                        pv_curve *curve) {
    static const char *const names[][2] = {
#define NAME(name, text) {#name, text},
        PV_CURVE_LIST(NAME)
#undef NAME
    };
    *curve = (pv_curve){0};
    if ((unsigned)kind >= PV_CURVES)
        return pv__fail(ctx, PV_ERR_USAGE, "there is no curve %d", (int)kind);
    PV_TRY(check_options(ctx, options));
    curve->name = names[kind][0];
    curve->text = names[kind][1];
    double z = pv_normal_quantile(0.5 + 0.5 * options->level);
    switch (kind) {
    case PV_CURVE_calibration:
        return pv__curve_calibration(ctx, ranking, options, curve);
    case PV_CURVE_calibration_smooth:
        return pv__curve_smooth(ctx, ranking, options, curve);
    case PV_CURVE_net_benefit:
        return pv__curve_net_benefit(ctx, ranking, options, curve);
    case PV_CURVE_predictive_values:
        return pv__curve_predictive(ctx, ranking, options, curve);
    default:
        return make_walk(ctx, ranking, kind, options, z, curve);
    }
}

void pv_curve_clear(pv_ctx *ctx, pv_curve *curve) {
    pv__free(ctx, curve->value);
    *curve = (pv_curve){0};
}
