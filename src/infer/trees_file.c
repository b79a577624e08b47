/* The record of how trees were fitted, in the header of their model file. */
#include <math.h>

#include "infer/boosting.h"

static double number_or_nan(const pv_result *value) {
    return pv__value_is_number(value) ? pv__value_number_of(value) : (double)NAN;
}

pv_result *pv__boosted_to_json(const pv_boosted *of) {
    return pv__value_pack("bIIrr", "chosen", (int)of->chosen, "folds", of->folds, "most", of->most, "loss", of->loss,
                          "guess", of->guess);
}

pv_status pv__boosted_from_json(pv_ctx *ctx, const pv_result *from, pv_classifier *c, const char **wrong) {
    *wrong = NULL;
    if (!c->model->architecture->of_trees) {
        *wrong = from ? "it describes how trees were grown, but has none" : NULL;
        return PV_OK;
    }
    PV_TRY(pv__alloc(ctx, 1, sizeof *c->boosted, &c->boosted));
    c->boosted->depth = c->model->trees.depth;
    c->boosted->rate = c->model->trees.rate;
    c->boosted->rounds = (int64_t)c->model->trees.rounds;
    c->boosted->chosen = pv__value_is_true(pv_result_get(from, "chosen"));
    c->boosted->folds = pv__value_integer_of(pv_result_get(from, "folds"));
    c->boosted->most = pv__value_integer_of(pv_result_get(from, "most"));
    c->boosted->loss = number_or_nan(pv_result_get(from, "loss"));
    c->boosted->guess = number_or_nan(pv_result_get(from, "guess"));
    return PV_OK;
}
