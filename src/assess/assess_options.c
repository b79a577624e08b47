/* Options of an evaluation, and their names. */
#include "base/base.h"
#include "prevail/assess.h"

#define AT(field) offsetof(pv_assess_options, field)

const pv_option pv_assess_option_table[] = {
    {"bootstrap", PV_OPTION_INT, AT(bootstrap), "-1", -1, 1e6, NULL, "N",
     "Bootstrap replicates for the metrics' intervals, stratified by label; 0: no intervals; -1: 1000, or fewer (at "
     "least 100) for more than two labels and 50,000 rows."},
    {"interval", PV_OPTION_REAL, AT(level), "0.95", 0.001, 0.9999, NULL, "LEVEL", "Level of the intervals."},
    {"seed", PV_OPTION_INT, AT(seed), "1", 0, 9007199254740992.0, NULL, "S", "Seed of the bootstrap."},
    {0}};

pv_assess_options pv_assess_options_default(void) {
    pv_assess_options options = {.positive = -1};
    pv_options_default(pv_assess_option_table, &options);
    return options;
}

pv_status pv_assess_settings_new(pv_ctx *ctx, pv_settings **settings) {
    pv_assess_options usual = pv_assess_options_default();
    return pv__settings_of(ctx, pv_assess_option_table, sizeof usual, &usual, settings);
}

const pv_assess_options *pv_assess_options_of(const pv_settings *settings) {
    return pv_settings_values(settings, pv_assess_option_table);
}
