/* src/predict/predict.h: what the prediction files share. */
#ifndef PV_SRC_PREDICT_H
#define PV_SRC_PREDICT_H

#include "prevail/predict.h"

/* The label distribution to adapt to, or NULL where the model's likelihood is already that of the population. */
const double *pv__adapt_to(const pv_classifier *classifier, pv_target_population population, const double *prevalence);

#endif
