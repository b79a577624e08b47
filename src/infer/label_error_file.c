/* Errors of the training labels, in model files and results. */
#include <math.h>

#include "base/value.h"
#include "core/label_error.h"
#include "infer/model_file.h"

static pv_result *value_of(const pv_label_error *e, int y) {
    pv_result *object = pv__value_pack("r", "value", e->value[y]);
    if (object)
        pv__value_set(object, "n", isinf(e->units[y]) ? pv__value_text("known") : pv__value_real(e->units[y]));
    return object;
}

pv_result *pv__label_error_to_json(const pv_label_error *e) {
    return pv__value_pack("bvvrrr", "predictive", (int)e->predictive, "negative", value_of(e, 0), "positive",
                          value_of(e, 1), "specificity", e->correct[0], "sensitivity", e->correct[1], "recorded_share",
                          e->share);
}

static bool read_value(const pv_result *object, double *value, double *units) {
    const pv_result *n = pv_result_get(object, "n");
    *value = pv__value_number_of(pv_result_get(object, "value"));
    *units = pv__value_is(n, PV_RESULT_TEXT) ? HUGE_VAL : pv__value_number_of(n);
    return *value >= 0 && *value <= 1 && *units > 0;
}

pv_status pv__label_error_from_json(pv_ctx *ctx, const pv_result *object, pv_classifier *c, const char **wrong) {
    pv_label_error e = {0};
    *wrong = NULL;
    if (!object)
        return PV_OK;
    bool sound = c->schema->classes == 2 && read_value(pv_result_get(object, "negative"), &e.value[0], &e.units[0]) &&
                 read_value(pv_result_get(object, "positive"), &e.value[1], &e.units[1]);
    e.predictive = pv__value_is_true(pv_result_get(object, "predictive"));
    bool plain = pv_loss_of_design(c->loss);
    if (!sound || (!plain && !c->prevalence) || (plain && e.predictive) ||
        !pv__label_error_complete(&e, plain ? (double)NAN : c->prevalence[1])) {
        *wrong = "the errors of its labels are damaged";
        return PV_OK;
    }
    PV_TRY(pv__alloc(ctx, 1, sizeof *c->label_error, &c->label_error));
    *c->label_error = e;
    return PV_OK;
}
