/* prevail/predict.h: probabilities in a population. */
#ifndef PREVAIL_PREDICT_H
#define PREVAIL_PREDICT_H

#include "prevail/infer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* TRUE: the stated prevalence. KNOWN: another label distribution. DESIGN: that of the training data. */
typedef enum pv_target_population {
    PV_POPULATION_TRUE,
    PV_POPULATION_KNOWN,
    PV_POPULATION_DESIGN
} pv_target_population;

/* "true", "design" or "known:P" with P as in pv_prevalence_parse; prevalence [classes] is set for KNOWN. */
PV_MUST_USE pv_status pv_target_population_parse(pv_ctx *ctx, const char *text, const pv_classifier *classifier,
                                                 pv_target_population *population, double *prevalence);

/* loglik [rows][classes]: log p(y|x,w), the classifier's own output, as trained. */
PV_MUST_USE pv_status pv_predict_loglik(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                        double *loglik);

/* Eq. likelihood with selection: log_p(y) = loglik(y) - log_marginal(y) + log prevalence(y), normalised. In place is
 * fine. */
void pv_adapt(size_t n, int classes, const double *loglik, const double *log_marginal, const double *prevalence,
              double *log_p);

/* log probabilities [rows][classes] in a population. prevalence: for KNOWN, else NULL. TRUE leaves ig and iw as they
 * are and corrects plain from the design to the stated prevalence (King and Zeng); without a stated prevalence it
 * leaves plain as it is, and pv_target_population_parse refuses TRUE. In place (loglik == log_p) is fine. */
void pv_predict_population(const pv_classifier *classifier, pv_target_population population, const double *prevalence,
                           size_t n, const double *loglik, double *log_p);

/* The same with the posterior carried through: p [rows][classes] is the mean over draws of the probability in the
 * population, lo and hi [rows][classes] (NULL: not wanted) its central interval of the given level over them. Without a
 * posterior p is the point prediction, and asking for intervals is refused with the remedy. */
PV_MUST_USE pv_status pv_predict_posterior(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                           pv_target_population population, const double *prevalence, double level,
                                           double *p, double *lo, double *hi);

#ifdef __cplusplus
}
#endif
#endif
