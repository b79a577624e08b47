/* Options of predictions for a population with unknown prevalence. */
#include <string.h>

#include "base/names.h"
#include "predict/predict.h"

#define ROW(type, name, field, fallback, low, high, choices, metavar, help)                                            \
    { name, type, offsetof(pv_unknown_options, field), fallback, low, high, choices, metavar, help }

const pv_option pv_unknown_option_table[] = {
    ROW(PV_OPTION_CHOICE, "method", method, "bins", 0, 0, "bins|exact|vb|em|bbse", NULL,
        "How an unknown prevalence is inferred. bins: from the binned scores of labelled rows that the model has not "
        "seen, valid even if the linear model is wrong (without such rows: exact). exact: its posterior with the "
        "labels summed out, assuming that the model is right. vb: the paper's variational updates (intervals too "
        "narrow). em: maximum likelihood (no interval). bbse: from a confusion matrix of the rows of `labelled-sample` "
        "(no interval)."),
    ROW(PV_OPTION_TEXT, "dirichlet", dirichlet, "flat", 0, 0, NULL, "PRIOR",
        "Prior of an unknown prevalence, for bins, exact and vb. flat: one observation of each label. jeffreys: half "
        "an observation of each. balanced:K: K of each. true:K: proportional to the stated prevalence, K of the rarest "
        "label (the paper's rule). counts:K,K,...: as given, in label order. K may be inf; balanced alone is "
        "balanced:inf, true alone true:1."),
    ROW(PV_OPTION_INT, "max-iter", max_iter, "10000", 1, 1e9, NULL, NULL, "Largest number of updates of vb and em."),
    ROW(PV_OPTION_INT, "prevalence-draws", draws, "2000", 100, 1e6, NULL, NULL,
        "Draws of an unknown prevalence with more than two labels, for exact and vb."),
    ROW(PV_OPTION_INT, "seed", seed, "1", 0, 9007199254740992.0, NULL, NULL,
        "Seed of the draws of an unknown prevalence."),
    {NULL, PV_OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, NULL}};

pv_unknown_options pv_unknown_options_default(void) {
    pv_unknown_options options = {.level = 0.95};
    pv_options_default(pv_unknown_option_table, &options);
    return options;
}

const char *pv_unknown_idle(const pv_unknown_options *options, const char *name) {
    bool prior = options->method <= PV_UNKNOWN_VB;
    bool updates = options->method == PV_UNKNOWN_EM || options->method == PV_UNKNOWN_VB;
    if (!prior && (strcmp(name, "dirichlet") == 0 || strcmp(name, "prevalence-draws") == 0))
        return "`method=bins`, exact and vb";
    return !updates && strcmp(name, "max-iter") == 0 ? "`method=vb` and em" : NULL;
}

pv_unknown_options pv__unknown_resolve(const pv_unknown_options *options, bool calibrated) {
    pv_unknown_options made = *options;
    if (made.method == PV_UNKNOWN_BINS && !calibrated)
        made.method = PV_UNKNOWN_EXACT;
    return made;
}

pv_status pv_unknown_settings_new(pv_ctx *ctx, pv_settings **settings) {
    pv_unknown_options usual = pv_unknown_options_default();
    return pv__settings_of(ctx, pv_unknown_option_table, sizeof usual, &usual, settings);
}

const pv_unknown_options *pv_unknown_options_of(const pv_settings *settings) {
    return pv_settings_values(settings, pv_unknown_option_table);
}

#define METHOD(name, word, text) {PV_UNKNOWN_##name, word},
#define POPULATION(name, word, usage, text) {PV_POPULATION_##name, word},
PV__NAMED(pv_unknown_method, pv_unknown_method_name, PV_UNKNOWN_METHOD_LIST, METHOD)
PV__NAMED(pv_population_kind, pv_population_kind_name, PV_POPULATION_LIST, POPULATION)
PV__FOUND(pv_population_kind, pv_population_kind_find, PV_POPULATION_LIST, POPULATION)
