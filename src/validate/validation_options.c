/* Options of validations, and their names. */
#include "base/base.h"
#include "prevail/validate.h"

#define AT(field) offsetof(pv_validation_options, field)

const pv_option pv_validation_option_table[] = {
    {"folds", PV_OPTION_INT, AT(folds), "3", 2, 1e6, NULL, "K",
     "Number of folds, stratified by label; each is predicted by a model fitted to the others."},
    {"repeats", PV_OPTION_INT, AT(repeats), "1", 1, 1e5, NULL, "R",
     "Number of repeats, with different folds each time."},
    {"population", PV_OPTION_TEXT, AT(population), "true", 0, 0, NULL, "NAME",
     "The population of the evaluated probabilities: true, known:P, unknown or design."},
    {"stated-for", PV_OPTION_TEXT, AT(stated_for), "population", 0, 0, NULL, "P",
     "The population that metrics are for. rows: the rows as they are. population: that of the predictions (the rows' "
     "own if unknown). Or a prevalence."},
    {"bootstrap", PV_OPTION_INT, AT(bootstrap), "0", -1, 1e6, NULL, "N",
     "Bootstrap replicates for the intervals of pooled metrics, stratified by label; 0: no intervals; -1: as many as "
     "time allows."},
    {"interval", PV_OPTION_REAL, AT(level), "0.95", 0.001, 0.9999, NULL, "LEVEL", "Level of these intervals."},
    {0}};

pv_validation_options pv_validation_options_default(void) {
    pv_validation_options options = {0};
    pv_options_default(pv_validation_option_table, &options);
    return options;
}

pv_status pv_validation_settings_new(pv_ctx *ctx, pv_settings **settings) {
    return pv__settings_of(ctx, pv_validation_option_table, sizeof(pv_validation_options), NULL, settings);
}

const pv_validation_options *pv_validation_options_of(const pv_settings *settings) {
    return pv_settings_values(settings, pv_validation_option_table);
}
