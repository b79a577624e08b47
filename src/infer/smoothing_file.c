/* The record of an additive model's scales: in memory, and in the header of its model file. */
#include <math.h>
#include <string.h>

#include "base/value.h"
#include "infer/infer.h"
#include "infer/model_file.h"

void pv__smoothed_free(pv_ctx *ctx, pv_smoothing *smoothing) {
    if (!smoothing)
        return;
    pv__free(ctx, smoothing->scale);
    pv__free(ctx, smoothing->column);
    pv__free(ctx, smoothing);
}

pv_status pv__smoothed_new(pv_ctx *ctx, const pv_schema *schema, pv_smoothing **made) {
    size_t slopes = (size_t)schema->features;
    int32_t *group = NULL;
    pv_smoothing *s;
    *made = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *s, &s));
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, slopes + 1, sizeof *s->column, &s->column));
    PV_GOTO(done, pv__alloc(ctx, slopes + 1, sizeof *group, &group));
    s->count = pv__smooth_groups(schema, group, s->column);
    PV_GOTO(done, pv__alloc(ctx, s->count, 2 * sizeof *s->scale, &s->scale));
    s->edf = s->scale + s->count;
done:
    pv__free(ctx, group);
    if (status == PV_OK)
        *made = s;
    else
        pv__smoothed_free(ctx, s);
    return status;
}

pv_status pv__smoothing_keep(pv_ctx *ctx, const pv__smoothing *smoothing, pv_classifier *c) {
    if (!smoothing)
        return PV_OK;
    PV_TRY(pv__smoothed_new(ctx, c->schema, &c->smoothing));
    memcpy(c->smoothing->scale, smoothing->scale, smoothing->groups * sizeof(double));
    memcpy(c->smoothing->edf, smoothing->edf, smoothing->groups * sizeof(double));
    return PV_OK;
}

/* ---- model files ------------------------------------------------------------------------------------------------- */

pv_result *pv__smoothed_to_json(const pv_smoothing *s) {
    pv_result *list = pv__value_list();
    for (size_t g = 0; g < s->count; g++) {
        pv_result *pair = pv__value_list();
        pv__value_append(pair, pv__value_real(s->scale[g]));
        pv__value_append(pair, pv__value_real(s->edf[g])); /* null if unknown */
        pv__value_append(list, pair);
    }
    return list;
}

static double number_at(const pv_result *pair, size_t i) {
    const pv_result *value = pv_result_child(pair, i);
    return pv__value_is_number(value) ? pv__value_number_of(value) : (double)NAN;
}

pv_status pv__smoothed_from_json(pv_ctx *ctx, const pv_result *list, pv_classifier *c, const char **wrong) {
    bool wanted = c->model->architecture->has_smooths;
    *wrong = NULL;
    if (!wanted) {
        *wrong = list ? "it has scales of smooths and none of these" : NULL;
        return PV_OK;
    }
    PV_TRY(pv__smoothed_new(ctx, c->schema, &c->smoothing));
    pv_smoothing *s = c->smoothing;
    for (size_t g = 0; g < s->count && !*wrong; g++) {
        const pv_result *own = pv_result_child(list, g);
        s->scale[g] = number_at(own, 0);
        s->edf[g] = number_at(own, 1);
        if (!(s->scale[g] > 0))
            *wrong = "a scale of its smooths is damaged";
    }
    if (!*wrong && pv_result_count(list) != s->count)
        *wrong = "its smooths are not those of its columns";
    return PV_OK;
}
