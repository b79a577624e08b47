/* Strata of a survey: the blocks within which clusters or rows were drawn. */
#include "base/text.h"
#include "design/design.h"

bool pv__survey_has_strata(const pv_schema *schema, const pv_dataset *data, const pv__design_options *options) {
    bool prevalences = options->prevalence_by || options->phase_one || options->subcohort > 0;
    return schema->strata && data->stratum && !prevalences && (data->clustered || data->sampling);
}

/* Checks that no cluster spans strata. For variances every stratum needs at least two units: clusters, or rows if there
 * are no clusters. */
pv_status pv__survey_check(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, bool variances) {
    size_t strata = (size_t)schema->strata->count, groups = 0, *first, *clusters;
    char *const *name = schema->strata->name;
    for (size_t i = 0; data->clustered && i < data->rows; i++)
        groups = (size_t)data->group[i] >= groups ? (size_t)data->group[i] + 1 : groups;
    PV_TRY(pv__alloc(ctx, groups + strata, sizeof *first, &first)); /* 1 + the first row of each group */
    clusters = first + groups;
    pv_status status = PV_OK;
    for (size_t i = 0; i < data->rows && status == PV_OK; i++) {
        size_t s = (size_t)data->stratum[i], g = data->clustered ? (size_t)data->group[i] : 0;
        size_t before = data->clustered ? first[g] : 0;
        if (before && data->stratum[before - 1] != data->stratum[i])
            status = pv__fail(ctx, PV_ERR_INPUT,
                              "rows %zu and %zu are of one cluster, and of the strata '%s' and '%s': a cluster must "
                              "lie in one stratum;\ngive clusters different names (`cluster`), or leave `strata` out",
                              data->table_row[before - 1] + 1, data->table_row[i] + 1,
                              pv__show(name[data->stratum[before - 1]]).text, pv__show(name[s]).text);
        clusters[s] += !before;
        if (data->clustered && !before)
            first[g] = i + 1;
    }
    for (size_t s = 0; s < strata && variances && status == PV_OK; s++)
        if (clusters[s] < 2)
            status =
                pv__fail(ctx, PV_ERR_INPUT,
                         "stratum '%s' has only one %s, which does not show how much they vary:\njoin it with another "
                         "stratum, or leave `strata` out",
                         pv__show(name[s]).text, data->clustered ? "cluster" : "row");
    pv__free(ctx, first);
    return status;
}
