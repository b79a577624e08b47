/* prevail/predict.h: probabilities in a population. */
#ifndef PREVAIL_PREDICT_H
#define PREVAIL_PREDICT_H

#include "prevail/infer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* TRUE: the stated prevalence. KNOWN: another label distribution. DESIGN: that of the training data. UNKNOWN: inferred
 * from the rows themselves (pv_predict_unknown). */
typedef enum pv_target_population {
    PV_POPULATION_TRUE,
    PV_POPULATION_KNOWN,
    PV_POPULATION_DESIGN,
    PV_POPULATION_UNKNOWN
} pv_target_population;

/* "true", "design", "unknown" or "known:P" with P as in pv_prevalence_parse; prevalence [classes] is set for KNOWN. */
PV_MUST_USE pv_status pv_target_population_parse(pv_ctx *ctx, const char *text, const pv_classifier *classifier,
                                                 pv_target_population *population, double *prevalence);

/* What follows hands out probabilities or fails: a row whose numbers overflow is refused (PV_ERR_NUMERIC) by its number
 * in the table, with the column farthest from the mean. */

/* loglik [rows][classes]: log p(y|x,w), the classifier's own output, as trained. */
PV_MUST_USE pv_status pv_predict_loglik(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                        double *loglik);

/* Eq. likelihood with selection: log_p(y) = loglik(y) - log_marginal(y) + log prevalence(y), normalised. In place is
 * fine. */
void pv_adapt(size_t n, int classes, const double *loglik, const double *log_marginal, const double *prevalence,
              double *log_p);

/* log probabilities [rows][classes] in a population. prevalence: for KNOWN, else NULL. TRUE leaves ig and iw as they
 * are and corrects plain from the design to the stated prevalence (King and Zeng); without a stated prevalence it
 * leaves plain as it is, and pv_target_population_parse refuses TRUE. UNKNOWN gives NaN: it needs pv_predict_unknown.
 * In place (loglik == log_p) is fine. */
void pv_predict_population(const pv_classifier *classifier, pv_target_population population, const double *prevalence,
                           size_t n, const double *loglik, double *log_p);

/* The same with the posterior carried through: p [rows][classes] is the mean over draws of the probability in the
 * population, lo and hi [rows][classes] (NULL: not wanted) its central interval of the given level over them. Without a
 * posterior p is the point prediction, and asking for intervals is refused with the remedy. */
PV_MUST_USE pv_status pv_predict_posterior(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                           pv_target_population population, const double *prevalence, double level,
                                           double *p, double *lo, double *hi);

/* ---- populations of unknown prevalence -----------------------------------------------------------------------------
 * The target sample's own rows tell its label distribution pi: with r_n(y) = p(y|x_n,w)/p(y|w) a row's likelihood is
 * sum_y pi_y r_n(y). docs/method.md, section "Unknown prevalence".
 */
#define PV_TARGET_METHOD_LIST(X)                                                                                       \
    X(EXACT, "exact", "the posterior of pi with the labels summed out; probabilities averaged over it")                \
    X(VB, "vb", "the paper's variational Dirichlet updates (Appendix G)")                                              \
    X(EM, "em", "maximum likelihood by expectation maximisation (Saerens et al. 2002)")                                \
    X(BBSE, "bbse", "black-box shift estimation from a confusion matrix (Lipton et al. 2018)")
typedef enum pv_target_method {
#define PV_TARGET_ENUM(name, word, text) PV_TARGET_##name,
    PV_TARGET_METHOD_LIST(PV_TARGET_ENUM)
#undef PV_TARGET_ENUM
} pv_target_method;
const char *pv_target_method_name(pv_target_method method);

typedef struct pv_target_options {
    int method;            /* pv_target_method */
    const char *dirichlet; /* prior of pi: "flat", "jeffreys", "balanced[:K]", "true[:K]", "counts:K,K,..." */
    int64_t max_iter;      /* em, vb */
    int64_t draws;         /* of pi, with more than two classes */
    int64_t seed;
    double level;            /* of the intervals; not in the table */
    const double *confusion; /* bbse: [classes][classes], see pv_confusion; not in the table */
} pv_target_options;

extern const pv_option pv_target_option_table[];   /* ends with a NULL name */
pv_target_options pv_target_options_default(void); /* level 0.9 */

/* A sample from the population. Borrowed. */
typedef struct pv_target_sample {
    size_t n;
    int classes;
    const double *loglik;        /* [n][classes], log p(y|x_n,w) */
    const double *log_marginal;  /* [classes], log p(y|w) */
    const double *true_marginal; /* [classes], what "true:K" speaks of; NULL: exp(log_marginal) */
    const int32_t *label;        /* [n], -1 where unknown; NULL: all unknown. Known labels count as observed */
    const double *weight;        /* [n], >= 0, as repeated rows; NULL: all 1 */
} pv_target_sample;

typedef struct pv_target_prevalence {
    int classes;
    pv_target_method method;
    double *value;      /* [classes]: posterior mean (exact, vb), or the estimate */
    double *lo, *hi;    /* [classes], central interval; NaN where the method has none */
    double *sd;         /* [classes]; NaN where the method has none */
    double level;       /* of the interval */
    int64_t iterations; /* em, vb: updates; exact: passes over the rows. With posterior draws of w: the most of any */
    pv_stop stop;
    double effective; /* effective number of draws behind value; NaN: by quadrature or no draws */
    double error;     /* largest Monte-Carlo standard error of value, from draws of pi and of w; 0: by quadrature */
    /* Do the rows tell pi? worth: how many labelled rows would tell as much, value (1 - value)/sd^2 less what a flat
     * prior brings, the least over the labels. movement: the largest move of value, in sd, when the prior changes: from
     * the one given to a flat one, or from a flat one to half an observation of each label more; NaN for em and bbse,
     * and where the prior is a point. With posterior draws of w both are means over them.
     */
    double worth, movement;
    bool weak;   /* worth is below 10 */
    bool swayed; /* the change of prior moves value by more than 0.05 and by more than one sd (a flat prior: a quarter)
                  */
    size_t points;  /* the distribution of pi (one point: an estimate, or vb's plugin), where w has no draws */
    double *pi;     /* [points][classes] */
    double *weight; /* [points] */
    double *plugin; /* [classes], em, vb, bbse: what stands for pi in predictions; NULL: the points do */
} pv_target_prevalence;

/* The caller frees *prevalence. Refused: fewer than two rows, log-likelihoods with NaN, labels and weights out of
 * range, rows without any weight, bbse without a confusion matrix, a prior that is not understood. labels [classes] are
 * for messages. */
PV_MUST_USE pv_status pv_target_infer(pv_ctx *ctx, const pv_target_sample *sample, char *const *labels,
                                      const pv_target_options *options, pv_target_prevalence **prevalence);
void pv_target_prevalence_free(pv_ctx *ctx, pv_target_prevalence *prevalence);

/* p [n][classes]: each row's probabilities averaged over pi; log_p their logarithms, without underflow; lo and hi the
 * central interval over pi, of the level given to pv_target_infer. Each may be NULL. For a prevalence that is known, a
 * struct with classes and plugin set will do. */
PV_MUST_USE pv_status pv_target_predict(pv_ctx *ctx, const pv_target_sample *sample,
                                        const pv_target_prevalence *prevalence, double *p, double *log_p, double *lo,
                                        double *hi);

/* Both for a classifier's rows, its posterior draws of w carried through: each draw has its own posterior of pi, and
 * one pi is drawn for each. label [rows] as in pv_target_sample. p [rows][classes]; lo and hi may be NULL. */
PV_MUST_USE pv_status pv_predict_unknown(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                         const int32_t *label, const pv_target_options *options, double *p,
                                         double *log_p, double *lo, double *hi, pv_target_prevalence **prevalence);

/* confusion[i][j]: share of the rows of label j whose most likely label by r(y) = p(y|x,w)/p(y|w) is i. Of labelled
 * rows (label not NULL) by count, whatever their label shares; else by the probabilities exp(loglik) themselves, for
 * rows drawn from the population these hold in. A label without mass is refused. */
PV_MUST_USE pv_status pv_confusion(pv_ctx *ctx, const pv_target_sample *sample, char *const *labels, double *confusion);

/* ---- decisions -----------------------------------------------------------------------------------------------------
 * Eq. optimal policy: the action of least expected cost, the first of equals.
 */
typedef struct pv_costs {
    size_t actions;
    int classes;
    char **action; /* [actions] */
    double *cost;  /* [actions][classes] */
} pv_costs;

/* A CSV file: the first column names the action, one column for each label its cost, 1e100 at most either way. The
 * caller frees *costs. */
PV_MUST_USE pv_status pv_costs_read(pv_ctx *ctx, const char *path, char *const *labels, int classes, pv_costs **costs);
void pv_costs_free(pv_ctx *ctx, pv_costs *costs);

/* action [n] and its expected cost [n], of p [n][classes]. Either may be NULL. Refused: a row of p that is not of
 * numbers from 0 to 1 that add up to 1; nothing is decided then. */
PV_MUST_USE pv_status pv_decide(pv_ctx *ctx, const pv_costs *costs, size_t n, const double *p, int32_t *action,
                                double *expected);
/* The same without costs: label [n], the most probable, the first of equals. */
PV_MUST_USE pv_status pv_decide_label(pv_ctx *ctx, size_t n, int classes, const double *p, int32_t *label);

/* Two classes: the actions that are best somewhere, by rising probability of the last label; action[i+1] takes over
 * from action[i] at threshold[i]. Both have room for costs->actions; returns how many actions there are. */
size_t pv_cost_thresholds(const pv_costs *costs, size_t *action, double *threshold);

#ifdef __cplusplus
}
#endif
#endif
