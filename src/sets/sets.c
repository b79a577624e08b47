/* Sets of labels with guaranteed coverage of each label, whatever the prevalence: label-conditional split conformal
 * sets.
 *
 * With the probabilities p_y of n_y calibration rows of label y, sorted, and k = floor((n_y + 1)(1 - c)), the set of a
 * row is {y: p_y(x) >= p_y(k)}. The rank of a new row of label y among the n_y + 1 is uniform, so that
 *
 *     P(y in set | Y = y) >= 1 - k/(n_y + 1) >= c,                equality on the left where scores have no ties,
 *
 * for rows that are exchangeable within the label. The prevalence does not occur. k >= 1 needs n_y >= 1/(1 - c) - 1.
 * Given the calibration rows, the coverage is a draw of Beta(n_y + 1 - k, k).
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "sets/sets.h"

#define ROW(type, name, field, fallback, low, high, metavar, help)                                                     \
    { name, type, offsetof(pv_sets_options, field), fallback, low, high, NULL, metavar, help }

const pv_option pv_sets_option_table[] = {
    ROW(PV_OPTION_TEXT, "coverage", coverage, "0.9", 0, 0, "C|LABEL=C,...",
        "Of the rows of each label, the share whose set contains the label; one number, or one for each label."),
    ROW(PV_OPTION_TEXT, "prevalence", prevalence, NULL, 0, 0, "P",
        "The prevalence of the population: adds how many sets are empty, single and larger there. The sets do not "
        "depend on it. Two labels: also an interval, 0.005-0.02. `refer` needs it."),
    ROW(PV_OPTION_TEXT, "refer", refer, NULL, 0, 0, "E|LABEL=E,...",
        "Two labels: also call each row one of them, or refer it. Of the rows called LABEL, at most this share is "
        "wrong, at the worst prevalence of its interval; 0: never call that label."),
    ROW(PV_OPTION_REAL, "confidence", confidence, "0.95", 0.5, 0.9999, NULL,
        "Probability, over samples of calibration rows, that the error limits of `refer` hold."),
    ROW(PV_OPTION_INT, "seed", seed, "1", 0, 9007199254740992.0, NULL,
        "With units of several rows: chooses the row of each that is used."),
    {0}};

pv_status pv_sets_settings_new(pv_ctx *ctx, pv_settings **settings) {
    pv_sets_options usual;
    memset(&usual, 0, sizeof usual);
    pv_options_default(pv_sets_option_table, &usual);
    return pv__settings_of(ctx, pv_sets_option_table, sizeof usual, &usual, settings);
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static pv_status read_prevalence(pv__sets_data *d) {
    size_t k = (size_t)d->classes;
    double low, high;
    for (int end = 0; end < 2; end++)
        PV_TRY(pv__alloc(d->ctx, k, sizeof(double), &d->prevalence[end]));
    PV_TRY(pv_prevalence_parse(d->ctx, "`prevalence`", d->options->prevalence, d->probs->labels, d->classes,
                               d->prevalence[0], &low, &high));
    memcpy(d->prevalence[1], d->prevalence[0], k * sizeof(double));
    if (isnan(high))
        return PV_OK;
    for (int end = 0; end < 2; end++) {
        d->prevalence[end][1] = end == 0 ? low : high;
        d->prevalence[end][0] = 1 - d->prevalence[end][1];
    }
    return PV_OK;
}

static pv_status read_settings(pv__sets_data *d) {
    const pv_sets_options *o = d->options;
    size_t k = (size_t)d->classes;
    if (d->classes > PV__SETS_LABELS)
        return pv__fail(d->ctx, PV_ERR_INPUT, "there are %d labels;\nat most %d are supported", d->classes,
                        (int)PV__SETS_LABELS);
    PV_TRY(pv__alloc(d->ctx, k, sizeof *d->coverage, &d->coverage));
    PV_TRY(pv__sets_by_label(d, "`coverage`", o->coverage, 0.01, 0.9999, d->coverage));
    if (o->prevalence)
        PV_TRY(read_prevalence(d));
    if (!o->refer)
        return PV_OK;
    if (d->classes != 2)
        return pv__fail(d->ctx, PV_ERR_USAGE, "`refer` is for two labels, and there are %d;\nleave it out", d->classes);
    if (!o->prevalence)
        return pv__fail(d->ctx, PV_ERR_USAGE,
                        "`refer` needs `prevalence`: how many calls of a label are wrong depends on it;\nstate it, or "
                        "an interval such as 0.005-0.02");
    PV_TRY(pv__alloc(d->ctx, k, sizeof *d->error, &d->error));
    PV_TRY(pv__sets_by_label(d, "`refer`", o->refer, 0, 0.99, d->error));
    if (!(d->error[0] > 0 || d->error[1] > 0))
        return pv__fail(d->ctx, PV_ERR_USAGE, "`refer`: '%s' never calls a label;\nallow errors in one of them",
                        pv__show(o->refer).text);
    return PV_OK;
}

/* ---- thresholds -------------------------------------------------------------------------------------------------- */

/* (n + 1)(1 - c), where 1 - 0.9 is 0.1. */
static double rank_of(double people, double coverage) {
    return floor((people + 1) * (1 - coverage) + 1e-9);
}

static pv_status set_threshold(pv__sets_data *d, int y) {
    pv__sets_scores *s = &d->own[y];
    size_t i = 0;
    PV_TRY(pv__sets_scores_of(d, y, y, 1, s));
    d->rank[y] = rank_of(s->people, d->coverage[y]);
    if (d->rank[y] < 1)
        return pv__fail(d->ctx, PV_ERR_INPUT,
                        "label '%s' has %.0f calibration row%s, and a coverage of %g takes at least %.0f;\ncalibrate "
                        "on more rows of it, or ask for a coverage of at most %.4g",
                        pv__show(d->probs->labels[y]).text, s->people, s->people > 1 || s->people < 1 ? "s" : "",
                        d->coverage[y], ceil(1 / (1 - d->coverage[y]) - 1e-9) - 1, s->people / (s->people + 1));
    while (s->upto[i] < d->rank[y])
        i++;
    d->threshold[y] = s->value[i];
    return PV_OK;
}

static void count_sizes(pv__sets_data *d) {
    const pv_dataset *rows = d->probs->data;
    size_t k = (size_t)d->classes;
    for (size_t i = 0; i < rows->rows; i++) {
        int size = 0;
        for (size_t y = 0; y < k; y++)
            size += d->probs->p[i * k + y] >= d->threshold[y];
        d->size[rows->label[i]][size < 2 ? size : 2] += d->weight[i];
        d->labels_of_size[rows->label[i]] += d->weight[i] * size;
    }
}

static pv_status calibrate(pv__sets_data *d, const int32_t *unit, pv_result **rule) {
    size_t k = (size_t)d->classes;
    pv_result *refer = NULL, *warnings;
    PV_TRY(pv__sets_people(d, unit));
    PV_TRY(pv__alloc(d->ctx, k, sizeof *d->own, &d->own));
    memset(d->own, 0, k * sizeof *d->own);
    PV_TRY(pv__alloc(d->ctx, k, sizeof *d->rank, &d->rank));
    PV_TRY(pv__alloc(d->ctx, k, sizeof *d->threshold, &d->threshold));
    PV_TRY(pv__alloc(d->ctx, k, sizeof *d->size, &d->size));
    PV_TRY(pv__alloc(d->ctx, k, sizeof *d->labels_of_size, &d->labels_of_size));
    memset(d->size, 0, k * sizeof *d->size);
    memset(d->labels_of_size, 0, k * sizeof *d->labels_of_size);
    for (int y = 0; y < d->classes; y++)
        PV_TRY(set_threshold(d, y));
    count_sizes(d);
    warnings = pv__value_list();
    if (d->error) {
        pv_status status = pv__sets_regions(d, warnings, &refer);
        if (status != PV_OK) {
            pv_result_free(warnings);
            return status;
        }
    }
    *rule = pv__sets_result(d, refer, warnings);
    if (pv__value_whole(*rule))
        return PV_OK;
    pv_result_free(*rule);
    *rule = NULL;
    return pv__fail(d->ctx, PV_ERR_MEMORY, "out of memory");
}

static void clear(pv__sets_data *d) {
    for (int y = 0; d->own && y < d->classes; y++)
        pv__sets_scores_free(d->ctx, &d->own[y]);
    pv__free(d->ctx, d->own);
    pv__free(d->ctx, d->weight);
    pv__free(d->ctx, d->coverage);
    pv__free(d->ctx, d->error);
    pv__free(d->ctx, d->prevalence[0]);
    pv__free(d->ctx, d->prevalence[1]);
    pv__free(d->ctx, d->rank);
    pv__free(d->ctx, d->threshold);
    pv__free(d->ctx, d->size);
    pv__free(d->ctx, d->labels_of_size);
}

pv_status pv_sets_calibrate(pv_ctx *ctx, const pv_probs *calibration, const int32_t *unit, const pv_settings *settings,
                            pv_result **rule) {
    pv__sets_data d = {.ctx = ctx, .options = pv_settings_values(settings, pv_sets_option_table), .probs = calibration};
    *rule = NULL;
    if (!d.options)
        return pv__fail(ctx, PV_ERR_USAGE, "the settings are not those of sets;\nmake them with pv_sets_settings_new");
    if (!calibration->data->label || calibration->data->frequency)
        return pv__fail(ctx, PV_ERR_INPUT,
                        "calibration rows need a label each;\nname the column of outcomes, not columns of votes");
    d.classes = calibration->classes;
    pv_status status = read_settings(&d);
    if (status == PV_OK)
        status = calibrate(&d, unit, rule);
    clear(&d);
    return status;
}

/* ---- use --------------------------------------------------------------------------------------------------------- */

static double number_of(const pv_result *value, const char *name) {
    return pv_result_number(pv_result_get(value, name));
}

pv_status pv_sets_apply(pv_ctx *ctx, const pv_result *rule, size_t rows, int classes, const double *p, int32_t *member,
                        int32_t *call) {
    const pv_result *labels = pv_result_get(rule, "labels"), *refer = pv_result_get(rule, "refer");
    const pv_result *calls = pv_result_get(refer, "calls");
    size_t k = (size_t)classes;
    if (classes < 2 || pv_result_count(labels) != k)
        return pv__fail(ctx, PV_ERR_USAGE, "the rule is for %zu labels, and the probabilities are of %d",
                        pv_result_count(labels), classes);
    if (call && pv_result_count(calls) != 2)
        return pv__fail(ctx, PV_ERR_USAGE, "the rule has no calls;\nset `refer`");
    double upto = call ? number_of(pv_result_child(calls, 0), "threshold") : 0; /* NaN: never */
    double from = call ? number_of(pv_result_child(calls, 1), "threshold") : 0;
    for (size_t y = 0; y < k; y++) {
        double threshold = number_of(pv_result_child(labels, y), "threshold");
        for (size_t i = 0; i < rows; i++)
            member[i * k + y] = p[i * k + y] >= threshold;
    }
    for (size_t i = 0; i < rows; i++) {
        double sum = 0;
        for (size_t y = 0; y < k; y++)
            sum += p[i * k + y] >= 0 ? p[i * k + y] : (double)NAN;
        if (!(fabs(sum - 1) <= 0.001))
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu has no probabilities that add up to 1", i + 1);
        if (call)
            call[i] = p[2 * i + 1] <= upto ? 0 : p[2 * i + 1] >= from ? 1 : -1;
    }
    return PV_OK;
}
