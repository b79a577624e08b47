/* lab/calibration/calibration_sample.h: one data set of the calibration study. */
#ifndef PREVAIL_LAB_CALIBRATION_CALIBRATION_SAMPLE_H
#define PREVAIL_LAB_CALIBRATION_CALIBRATION_SAMPLE_H

#include "prevail/prevail.h"
#include "lab/calibration/calibration.h"

/* The same numbers as in the paper. */
enum { CAL_CASES = 357, CAL_CONTROLS = 322, CAL_ROWS = CAL_CASES + CAL_CONTROLS };
enum { CAL_TRAINING = 302, CAL_VALIDATION = 150, CAL_TESTING = CAL_ROWS - CAL_TRAINING - CAL_VALIDATION };

/* The rows of one data set, all on the scale of its training rows. */
typedef struct cal_sample {
    pv_table *table;
    pv_schema *schema, *scaled;
    pv_dataset *data, *training, *testing;
    pv_dataset population; /* owns its x; other fields are unused */
} cal_sample;

/* For prevalence k. The caller frees, also on failure. */
pv_status cal_sample_new(pv_ctx *ctx, const calibration *c, size_t replicate, size_t k, cal_sample *s);
void cal_sample_free(pv_ctx *ctx, cal_sample *s);

/* log p(y|x) in the true population, and p(y|w). */
typedef struct cal_predictions {
    double training[2 * CAL_TRAINING], testing[2 * CAL_TESTING], adapted[2 * CAL_TESTING], log_marginal[2];
    double inferred[2 * CAL_TESTING], share; /* with the inferred proportion; NaN: not computed */
    double *population;                      /* p(Y=1|x), [rows] */
} cal_predictions;

double cal_true_score(const calibration *c, size_t k, const pv_table *table, size_t row); /* true log odds */
void cal_predict_truth(const calibration *c, size_t k, const cal_sample *s, cal_predictions *p);
pv_status cal_predict(pv_ctx *ctx, const pv_classifier *fit, const cal_sample *s, cal_predictions *p);

/* Fill the outcome (calibration_judge.c): posterior mean, sd and coverage of coefficients; all other measures. curve
 * [CAL_CURVE]: NULL if not wanted. */
pv_status cal_note_coefficients(pv_ctx *ctx, const calibration *c, size_t k, const pv_classifier *fit, cal_outcome *o);
pv_status cal_judge(pv_ctx *ctx, const calibration *c, size_t k, const cal_sample *s, const cal_predictions *p,
                    judge_rates *curve, cal_outcome *o);

#endif
