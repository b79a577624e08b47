/* How common labels are, by an imperfect classifier, test or judge: the settings, and the way from tables to a result.
 */
#include <string.h>

#include "base/text.h"
#include "rate/rate.h"

#define ROW(type, name, field, fallback, low, high, choices, metavar, help)                                            \
    { name, type, offsetof(pv_rate_options, field), fallback, low, high, choices, metavar, help }
#define COLUMN(name, field, help) ROW(PV_OPTION_TEXT, name, field, NULL, 0, 0, NULL, "COL", help)

const pv_option pv_rate_option_table[] = {
    COLUMN("verdict", verdict, "Column of verdicts: the answer of the classifier, test or judge for each row."),
    COLUMN("score", score,
           "Instead of verdicts: a column of scores (probabilities or other numbers), which are binned."),
    ROW(PV_OPTION_TEXT, "cuts", cuts, NULL, 0, 0, NULL, "NUMBERS",
        "Edges of the bins of `score`, as in 0.2,0.5. Default: up to ten quantiles: of the gold rows if they were "
        "drawn by label, of the sample if they were drawn at random."),
    COLUMN(
        "compare", compare,
        "The verdicts of a second system on the same rows: sensitivity, specificity and apparent rate of both, their "
        "differences, and a rate from both together."),
    COLUMN("outcome", outcome, "Column of true labels in the gold rows."),
    ROW(PV_OPTION_TEXT, "gold-by", gold_by, NULL, 0, 0, NULL, "label|verdict|random",
        "How the gold rows were drawn. label: a chosen number of rows of each true label, as in a set of known "
        "positives and negatives; they estimate P(verdict | label). verdict: a chosen number of rows of each verdict, "
        "whose labels were then determined; they estimate P(label | verdict). random: at random from the sample. There "
        "is no default, because the answer depends on it."),
    ROW(PV_OPTION_TEXT, "positive", positive, NULL, 0, 0, NULL, "LABEL",
        "The label of interest. Default, of two labels: the larger number, or the one with a telling name (yes, true, "
        "case, ...)."),
    ROW(PV_OPTION_TEXT, "sensitivity", sensitivity, NULL, 0, 0, NULL, "P|RIGHT/ALL",
        "Instead of gold rows: P(positive verdict | positive label), either known exactly, as in 0.9, or estimated in "
        "a validation study, as in 45/50."),
    ROW(PV_OPTION_TEXT, "specificity", specificity, NULL, 0, 0, NULL, "P|RIGHT/ALL",
        "The same for P(negative verdict | negative label)."),
    COLUMN("weights", weights,
           "A column of counts or sampling weights. Gold rows of a file without that column count once each."),
    ROW(PV_OPTION_CHOICE, "weights-are", weights_are, "auto", 0, 0, "auto|counts|sampling", NULL,
        "counts: a row represents that many identical rows. sampling: a row represents that many people of the "
        "population. auto: counts if all are whole numbers."),
    COLUMN("strata", strata,
           "Column of strata, each with its own rate and error rates; the overall rate is weighted by the strata's "
           "proportions in the sample. Each stratum needs gold rows."),
    COLUMN("cluster", cluster,
           "Column of clusters, such as people with several rows; rows of the same cluster are not independent."),
    ROW(PV_OPTION_REAL, "interval", interval, "0.95", 0.5, 0.9999, NULL, "LEVEL", "Level of the intervals."),
    ROW(PV_OPTION_REAL, "width", width, "0", 0, 1, NULL, NULL,
        "Desired width of the interval: reports how many more gold rows it takes, and of which label or verdict. 0: no "
        "report."),
    ROW(PV_OPTION_INT, "seed", seed, "1", 0, 9007199254740992.0, NULL, NULL,
        "Seed of the bootstrap that calibrates the intervals."),
    {0}};

pv_status pv_rate_settings_new(pv_ctx *ctx, pv_settings **settings) {
    pv_rate_options usual;
    memset(&usual, 0, sizeof usual);
    pv_options_default(pv_rate_option_table, &usual);
    return pv__settings_of(ctx, pv_rate_option_table, sizeof usual, &usual, settings);
}

/* Its strata, or all rows as one. */
static size_t strata_of(const pv__rate_data *d) {
    return d->strata.count > 1 ? d->strata.count : 1;
}

static pv_status estimate(const pv__rate_data *d, pv__rate_counts *counts, pv__rate_estimate *own) {
    size_t strata = strata_of(d);
    for (size_t s = 0; s < strata; s++) {
        PV_TRY(pv__rate_count(d, strata > 1 ? (int32_t)s : -1, &counts[s]));
        PV_TRY(pv__rate_estimate_of(d->ctx, &counts[s], d->options, &own[s]));
    }
    return PV_OK;
}

static pv_status find(const pv__rate_data *d, pv_result **result) {
    size_t strata = strata_of(d);
    bool planned = d->options->width > 0;
    pv__rate_counts *counts = NULL, *together = NULL;
    pv__rate_estimate *own = NULL, all;
    pv__rate_plan plan = {.more = NULL};
    pv_status status;
    PV_GOTO(done, pv__alloc(d->ctx, strata, sizeof *counts, &counts));
    PV_GOTO(done, pv__alloc(d->ctx, 1, sizeof *together, &together));
    PV_GOTO(done, pv__alloc(d->ctx, strata, sizeof *own, &own));
    PV_GOTO(done, estimate(d, counts, own));
    PV_GOTO(done, pv__rate_count(d, -1, together));
    pv__rate_combine(strata, counts, own, d->options->interval, &all);
    if (planned)
        PV_GOTO(done, pv__rate_plan_of(d->ctx, strata, counts, own, d, &plan));
    *result = pv__rate_result(d, strata, counts, own, &all, together, planned ? &plan : NULL);
    if (!pv__value_whole(*result)) {
        pv_result_free(*result);
        *result = NULL;
        status = pv__fail(d->ctx, PV_ERR_MEMORY, "out of memory");
    }
done:
    pv__free(d->ctx, plan.more);
    pv__free(d->ctx, own);
    pv__free(d->ctx, together);
    pv__free(d->ctx, counts);
    return status;
}

pv_status pv_rate_estimate(pv_ctx *ctx, const pv_table *sample, const pv_table *gold, const pv_settings *settings,
                           pv_result **result) {
    pv__rate_data d = {.ctx = ctx, .options = pv_settings_values(settings, pv_rate_option_table)};
    *result = NULL;
    if (!d.options)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "these are not the settings of a rate;\ncreate them with pv_rate_settings_new");
    pv_status status = pv__rate_read(&d, sample, gold);
    if (status == PV_OK)
        status = find(&d, result);
    pv__rate_clear(&d);
    return status;
}
