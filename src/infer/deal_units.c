/* Assigns units to folds: clusters as a whole, people of a count one by one. */
#include "infer/deal_units.h"

#include <math.h>

#include "data/schema_learn.h"

pv_status pv__count_units(pv_ctx *ctx, const pv_dataset *data, double *units, double *least) {
    size_t k = (size_t)data->classes, groups = 0;
    bool counts = data->weight && !data->sampling;
    for (size_t i = 0; data->clustered && i < data->rows; i++)
        groups = (size_t)data->group[i] >= groups ? (size_t)data->group[i] + 1 : groups;
    bool *seen;
    double *of_label;
    PV_TRY(pv__alloc(ctx, groups + 1, (k + 1) * sizeof *seen, &seen));
    pv_status status = pv__alloc(ctx, k, sizeof *of_label, &of_label);
    *units = 0;
    *least = HUGE_VAL;
    for (size_t i = 0; status == PV_OK && i < data->rows; i++) {
        double people = counts ? data->weight[i] : 1;
        bool *own = data->clustered ? seen + (size_t)data->group[i] * (k + 1) : NULL;
        size_t y = (size_t)data->label[i];
        if (own && people > 0) {
            of_label[y] += !own[y];
            *units += !own[k];
            own[y] = own[k] = true;
        } else {
            of_label[y] += people;
            *units += people;
        }
    }
    for (size_t y = 0; status == PV_OK && y < k; y++)
        *least = fmin(*least, of_label[y]);
    pv__free(ctx, of_label);
    pv__free(ctx, seen);
    return status;
}

pv_status pv__deal_units(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *all, const pv__dealing *how,
                         size_t *folds, pv_dataset **split, int32_t **fold) {
    *folds = how->least < (double)*folds ? (size_t)how->least : *folds;
    for (; *folds >= 2; --*folds) { /* fewer folds if there are too few groups */
        pv_dataset_free(ctx, *split);
        *split = NULL;
        if (!all->group)
            PV_TRY(pv__counts_split(ctx, all, *folds, split));
        const pv_dataset *data = *split ? *split : all;
        pv__free(ctx, *fold);
        *fold = NULL;
        PV_TRY(pv__alloc(ctx, how->repeats, data->rows * sizeof **fold, fold));
        pv_status status = PV_OK;
        for (size_t r = 0; r < how->repeats && status == PV_OK; r++)
            status =
                pv_folds_make(ctx, schema, data, (int64_t)*folds, how->seed, how->first + r, *fold + r * data->rows);
        if (status != PV_ERR_INPUT)
            return status;
    }
    return PV_OK;
}
