/* Builds a design from the schema, the rows and the options: strata of the population, clusters, blocks of a survey,
 * sampling weights. All other code asks the design.
 */
#include <math.h>

#include "design/design.h"

int pv__design_strata(const pv_schema *schema, const pv__design_options *o) {
    bool prevalences = o->prevalence_by || o->phase_one || o->subcohort > 0;
    return schema->strata && prevalences ? schema->strata->count : 1;
}

static pv_status find_ratios(pv_ctx *ctx, pv__design *design) {
    const pv_stratified *of = design->stated;
    size_t cells = (size_t)design->strata * (size_t)design->classes;
    PV_TRY(pv__alloc(ctx, cells, sizeof *design->log_ratio, &design->log_ratio));
    for (size_t i = 0; i < cells; i++)
        design->log_ratio[i] = log(of->design[i]) - log(of->prevalence[i]);
    return PV_OK;
}

pv_status pv__design_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                         const pv__design_options *options, pv__design **design) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **design, design));
    pv__design *made = *design;
    made->strata = pv__design_strata(schema, options);
    made->classes = schema->classes;
    made->cluster = data->clustered ? data->group : NULL;
    made->sampling = data->sampling;
    if (pv__survey_has_strata(schema, data, options)) {
        made->block = data->stratum;
        return pv__survey_check(ctx, schema, data, options->variances);
    }
    PV_TRY(pv__stratified_new(ctx, schema, data, options, &made->stated));
    made->counted = made->stated && options->phase_one;
    if (made->strata > 1)
        made->stratum = data->stratum;
    return made->stated ? find_ratios(ctx, made) : PV_OK;
}

void pv__design_free(pv_ctx *ctx, pv__design *design) {
    if (!design)
        return;
    if (!design->lent)
        pv_stratified_free(ctx, design->stated);
    pv__free(ctx, design->log_ratio);
    pv__free(ctx, design);
}

pv_stratified *pv__design_keep(pv__design *design) {
    if (design->strata == 1)
        return NULL;
    design->lent = true;
    return design->stated;
}
