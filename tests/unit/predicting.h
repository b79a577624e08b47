/* tests/unit/predicting.h: predictions in a population given as text. */
#ifndef PV_TEST_PREDICTING_H
#define PV_TEST_PREDICTING_H

#include "prevail/prevail.h"

/* *said is NULL on failure; the caller frees it. */
static inline pv_status predict_in(pv_ctx *context, const pv_classifier *c, const pv_dataset *data, const char *text,
                                   const pv_unknown_options *unknown, const pv_predict_options *options,
                                   pv_prediction **said) {
    pv_population *population;
    *said = NULL;
    pv_status status = pv_population_new(context, c, text, unknown, &population);
    if (status == PV_OK)
        status = pv_predict(context, c, data, population, options, said);
    pv_population_free(context, population);
    return status;
}

#endif
