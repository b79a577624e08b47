/* prevail/predict.h: predicted probabilities in a chosen population. */
#ifndef PREVAIL_PREDICT_H
#define PREVAIL_PREDICT_H

#include "prevail/infer.h"
#include "prevail/probs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- populations ---------------------------------------------------------------------------------------------------
 * The population that predictions are made for.
 */
#define PV_POPULATION_LIST(X)                                                                                          \
    X(TRUE, "true", "true", "the one with the prevalence stated in the fit")                                           \
    X(KNOWN, "known", "known:P", "one with another prevalence")                                                        \
    X(DESIGN, "design", "design", "one with the label shares of the training data")                                    \
    X(UNKNOWN, "unknown", "unknown", "the one that the rows were drawn from, its prevalence inferred from them")       \
    X(COUNTS, "counts", "counts:N,N,...", "these very rows, of which so many are of each label")
typedef enum pv_population_kind {
#define PV_POPULATION_ENUM(name, word, usage, text) PV_POPULATION_##name,
    PV_POPULATION_LIST(PV_POPULATION_ENUM)
#undef PV_POPULATION_ENUM
} pv_population_kind;
const char *pv_population_kind_name(pv_population_kind kind); /* "true"; never NULL */
bool pv_population_kind_find(const char *name, pv_population_kind *kind);

/* Methods for an unknown prevalence; see docs/method.md, section "Unknown prevalence". */
#define PV_UNKNOWN_METHOD_LIST(X)                                                                                      \
    X(BINS, "bins", "bins of the scores and their likelihood, by reference rows; without any as exact")                \
    X(EXACT, "exact", "the posterior of pi with the labels summed out; probabilities averaged over it")                \
    X(VB, "vb", "the paper's variational Dirichlet updates (Appendix G)")                                              \
    X(EM, "em", "maximum likelihood by expectation maximisation (Saerens et al. 2002)")                                \
    X(BBSE, "bbse", "black-box shift estimation from a confusion matrix (Lipton et al. 2018)")
typedef enum pv_unknown_method {
#define PV_UNKNOWN_ENUM(name, word, text) PV_UNKNOWN_##name,
    PV_UNKNOWN_METHOD_LIST(PV_UNKNOWN_ENUM)
#undef PV_UNKNOWN_ENUM
} pv_unknown_method;
const char *pv_unknown_method_name(pv_unknown_method method);

typedef struct pv_unknown_options {
    int method;            /* pv_unknown_method */
    const char *dirichlet; /* prior of pi: "flat", "jeffreys", "balanced[:K]", "true[:K]", "counts:K,K,..." */
    int64_t max_iter;      /* em, vb */
    int64_t draws;         /* number of draws of pi with more than two classes */
    int64_t seed;
    double level;            /* of the intervals; not in the table */
    const double *confusion; /* bbse: [classes][classes], see pv_confusion; not in the table */
    /* bins, two labels: reference rows for the distribution of scores; for a known population of pv_predict_probs, used
     * to recalibrate the probabilities. NULL: pv_predict uses the classifier's. Not in the table */
    const pv_reference *reference;
    /* The rows' scores log r(y)/r(0), y > 0, from each model that scored reference rows, [folds][rows][classes - 1].
     * folds 0: all were scored by the model itself. Not in the table */
    const double *fold_score;
    size_t folds;
} pv_unknown_options;

extern const pv_option pv_unknown_option_table[];    /* ended by a NULL name */
pv_unknown_options pv_unknown_options_default(void); /* level 0.95 */

/* The purpose of an option, by its name in the table, if it has no effect for the chosen method, for example "`method`
 * exact and vb". NULL: it has an effect. */
const char *pv_unknown_idle(const pv_unknown_options *options, const char *name);

/* The same table as settings. The caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_unknown_settings_new(pv_ctx *ctx, pv_settings **settings);
/* The pv_unknown_options inside settings, borrowed; NULL if settings were made without that table. */
const pv_unknown_options *pv_unknown_options_of(const pv_settings *settings);

/* Made by pv_population_new. Fields are read-only. */
typedef struct pv_population {
    pv_population_kind kind;
    int classes;
    double *prevalence; /* [classes]; NULL for UNKNOWN, where it is estimated from the rows, and if it was not stated */
    pv_unknown_options unknown; /* options for UNKNOWN */
    int strata;                 /* 0: all rows are adapted to `prevalence`; else each stratum to its own */
    double *stratum_prevalence; /* [strata][classes] */
    double *share;              /* [strata], shares assumed for rows without a stratum */
    size_t *count;              /* [classes], COUNTS: sum to the number of rows; else NULL */
} pv_population;

/* Makes a population from text: "true" (or NULL), "design", "unknown", "counts:N,N,..." (in label order; 0 for an
 * absent label) or "known:P" with P as for pv_prevalence_parse. For a model with strata, "known:FILE" is also allowed,
 * with a file as for pv_stratified_read. A file, "design" and "unknown" adapt each stratum to its own prevalence;
 * "known:P" adapts all alike, as label shift of the whole population. unknown: options for an unknown prevalence; NULL:
 * the defaults; its texts are borrowed. A classifier without a stated prevalence has no true population. The caller
 * frees *population. */
PV_MUST_USE pv_status pv_population_new(pv_ctx *ctx, const pv_classifier *classifier, const char *text,
                                        const pv_unknown_options *unknown, pv_population **population);
/* The same for another model's probabilities, made for the prevalence from [classes] (NULL: unknown). "true" is the
 * population they are for; "known:P" and "unknown" need from, or strata that have it. */
PV_MUST_USE pv_status pv_population_of_probs(pv_ctx *ctx, const pv_probs *probs, const double *from, const char *text,
                                             const pv_unknown_options *unknown, pv_population **population);
/* The population of a given prevalence [classes]. */
PV_MUST_USE pv_status pv_population_known(pv_ctx *ctx, int classes, const double *prevalence,
                                          pv_population **population);
/* For probabilities with strata: prevalence [strata][classes] of each stratum. */
PV_MUST_USE pv_status pv_population_known_strata(pv_ctx *ctx, const pv_probs *probs, const double *prevalence,
                                                 pv_population **population);
/* The same from a file as in "known:FILE". csv: its syntax; NULL: defaults. */
PV_MUST_USE pv_status pv_population_strata_read(pv_ctx *ctx, const pv_probs *probs, const char *path,
                                                const pv_csv_options *csv, pv_population **population);
void pv_population_free(pv_ctx *ctx, pv_population *population); /* NULL is allowed */

/* For probabilities whose rows have strata: sets the prevalence that those of each stratum were made for. from: a file
 * with one row per stratum, with its columns and prevalence (strata without rows are ignored); or one prevalence for
 * all, as for pv_prevalence_parse_one. csv: syntax of the file; NULL: defaults. Populations are then "true",
 * "known:FILE" with such a file, and "unknown", with one prevalence per stratum. Functions that take `from` in addition
 * to the probabilities must then get NULL. */
PV_MUST_USE pv_status pv_probs_from_read(pv_ctx *ctx, pv_probs *probs, const char *from, const pv_csv_options *csv);
/* Sets the strata of probabilities made from arrays in the same way: stratum [rows], names [strata], from
 * [strata][classes]. Everything is copied. */
PV_MUST_USE pv_status pv_probs_strata_set(pv_ctx *ctx, pv_probs *probs, int strata, const char *const *names,
                                          const int32_t *stratum, const double *from);

typedef struct pv_unknown_prevalence pv_unknown_prevalence; /* defined below */

/* ---- predictions ---------------------------------------------------------------------------------------------------
 */

typedef struct pv_predict_options {
    double level;    /* of the intervals; 0: none. Intervals need a posterior or an unknown population */
    bool likelihood; /* also compute loglik and log_marginal, which pv_judge needs */
    const int32_t
        *label; /* [rows], UNKNOWN: known labels, -1 if unknown; NULL: all unknown. Known labels count as observed */
    /* Also update the posterior of w from the rows (Appendix G): its draws are weighted by the likelihood of the rows.
     * Needs a posterior, and a population other than the true one, in which the rows contain no information on w. */
    bool joint;
} pv_predict_options;

pv_predict_options pv_predict_options_default(void); /* defaults: no intervals, no likelihood */

/* The strata of a model in a population. */
typedef struct pv_predicted_strata {
    int strata;
    char **name;   /* [strata] */
    double *share; /* [strata], shares in the population; in an unknown one, those of the rows */
    double
        *prevalence; /* [strata][classes], prevalence there; NaN in an unknown population for a stratum without rows */
    double *log_marginal; /* [strata][classes], log p(y|w) in the true population */
    pv_unknown_prevalence *
        *inferred; /* [strata], UNKNOWN: result for each stratum, NULL for a stratum without rows. Otherwise NULL */
    bool *pooled;  /* [strata], UNKNOWN: its rows contain little information, so the shift of all rows is its prior.
                      Otherwise NULL */
} pv_predicted_strata;

/* A classifier's predictions of some rows. With a posterior, probabilities are means over its draws. */
typedef struct pv_prediction {
    size_t rows;
    int classes;
    double *p;                       /* [rows][classes], in the population */
    double *log_p;                   /* [rows][classes], logarithms of p, without underflow */
    double *lo, *hi;                 /* [rows][classes], central intervals; NULL: not requested */
    double *prevalence;              /* [classes], of the population: stated, known or estimated. NULL: another model's
                                        probabilities, used as they are, since their population is unknown */
    pv_unknown_prevalence *inferred; /* UNKNOWN: the estimated prevalence; else NULL */
    double *loglik; /* [rows][classes], log p(y|x) in the true population; NULL: not requested. plain: corrected to it
                       or, without a stated prevalence, as trained. DESIGN and UNKNOWN: before output biases were
                       matched to the true population */
    double *log_marginal;        /* [classes], log p(y) there; NULL if loglik or prevalence is */
    bool elsewhere;              /* the population differs from the true one */
    pv_predicted_strata *strata; /* NULL: the model has no strata */
    double effective; /* joint: effective number of posterior draws; NaN: all draws count, or there are none */
} pv_prediction;

/* Predicts. The model is evaluated once over the rows, whatever is requested; with a posterior and an unknown
 * prevalence twice over its draws. population NULL: the true one. options may be NULL. The caller frees *prediction.
 * Refused: intervals without a posterior; data that do not match the classifier; a row whose numbers overflow
 * (PV_ERR_NUMERIC), with its number in the table and the column farthest from its mean. */
PV_MUST_USE pv_status pv_predict(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                 const pv_population *population, const pv_predict_options *options,
                                 pv_prediction **prediction);
/* The same for a population given as text, as in pv_population_new. */
PV_MUST_USE pv_status pv_predict_in(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                    const char *population, const pv_predict_options *options,
                                    pv_prediction **prediction);
/* Converts another model's probabilities, made for the prevalence from [classes] (NULL: unknown), to a population.
 * population NULL: the one they are for. loglik is then their logarithm, and log_marginal that of from. */
PV_MUST_USE pv_status pv_predict_probs(pv_ctx *ctx, const pv_probs *probs, const double *from,
                                       const pv_population *population, const pv_predict_options *options,
                                       pv_prediction **prediction);
void pv_prediction_free(pv_ctx *ctx, pv_prediction *prediction); /* NULL is allowed */

/* ---- for log-likelihoods or probabilities of your own ------------------------------------------------------------ */

/* loglik [rows][classes]: log p(y|x,w), the classifier's output at w, for the population it was trained for. */
PV_MUST_USE pv_status pv_predict_loglik(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                        double *loglik);

/* Eq. likelihood with selection: log_p(y) = loglik(y) - log_marginal(y) + log prevalence(y), normalised. May be done in
 * place. */
void pv_adapt(size_t n, int classes, const double *loglik, const double *log_marginal, const double *prevalence,
              double *log_p);

/* The prevalence pi of the population of the rows: with r_n(y) = p(y|x_n,w)/p(y|w), the likelihood of a row is sum_y
 * pi_y r_n(y).
 */
/* A sample from the population. The arrays are borrowed. */
typedef struct pv_unknown_sample {
    size_t n;
    int classes;
    const double *loglik;        /* [n][classes], log p(y|x_n,w) */
    const double *log_marginal;  /* [classes], log p(y|w) */
    const double *true_marginal; /* [classes], prevalence used by the prior "true:K"; NULL: exp(log_marginal) */
    const int32_t *label;        /* [n], -1 if unknown; NULL: all unknown. Known labels count as observed */
    const double *weight;        /* [n], >= 0, repeat counts; NULL: all 1 */
    const int32_t *cluster;      /* [n], from 0: rows that were sampled together; NULL: none. For bins */
    bool sampling;               /* weights are sampling weights, not repeat counts. For bins */
} pv_unknown_sample;

/* Test of the assumption that the rows are a mixture of the labels' reference rows. */
typedef struct pv_shift_check {
    double distance; /* distance of the counts in bins from the nearest mixture: twice a log-likelihood ratio */
    double p;        /* p-value of distance; NaN: not tested */
    int column;      /* column whose mean is farthest from the mixture's; -1: none tested */
    double column_z,
        column_p; /* distance in standard errors; p-value, corrected for the number of columns; NaN: not tested */
    double both;  /* p-value of the two tests together; NaN: neither was made */
} pv_shift_check;

/* Distribution functions of the log ratios log r(1)/r(0), at the edges of the bins, for a chart of this test. */
typedef struct pv_shift_curve {
    size_t n;                       /* 0: not computed */
    double prevalence;              /* of the nearest mixture */
    double *score, *rows, *mixture; /* [n], in increasing order of score: the ratio; the share of the rows, and of that
                                       mixture, up to it */
    double *label[2];               /* [n], share of each label's reference rows up to it */
} pv_shift_curve;

/* Expected performance of decisions at a threshold in the population, without its labels. Sensitivity and specificity
 * are those of the reference rows. */
#define PV_EXPECTED_LIST(X)                                                                                            \
    X(SENSITIVITY, "sensitivity")                                                                                      \
    X(SPECIFICITY, "specificity")                                                                                      \
    X(PPV, "ppv")                                                                                                      \
    X(NPV, "npv")                                                                                                      \
    X(NET_BENEFIT, "net_benefit")
enum {
#define PV_EXPECTED_ENUM(name, word) PV_EXPECTED_##name,
    PV_EXPECTED_LIST(PV_EXPECTED_ENUM)
#undef PV_EXPECTED_ENUM
        PV_EXPECTED_COUNT
};
typedef struct pv_expected {
    double threshold;
    bool called; /* some rows are above the threshold */
    double value[PV_EXPECTED_COUNT], lo[PV_EXPECTED_COUNT], hi[PV_EXPECTED_COUNT]; /* NaN: undefined */
} pv_expected;

struct pv_unknown_prevalence {
    int classes;
    pv_unknown_method method;
    double *value;      /* [classes]: the mode (bins), the posterior mean (exact, vb), or the estimate */
    double *lo, *hi;    /* [classes], interval; NaN if the method has none */
    double *sd;         /* [classes]; NaN if the method has none */
    double level;       /* of the interval */
    int64_t iterations; /* em, vb: updates; exact: passes over the rows. With posterior draws of w: the maximum over
                           draws */
    pv_stop stop;
    double effective; /* effective number of draws behind value; NaN: quadrature, or no draws */
    double error;     /* largest Monte-Carlo standard error of value, from draws of pi and w; 0: quadrature */
    /* How much the rows say about pi. worth: number of labelled rows with the same information, value (1 - value)/sd^2
     * minus the contribution of a flat prior, the smallest over the labels. movement: the largest change of value, in
     * sd, when the prior changes from the given one to a flat one, or from a flat one to half an observation more of
     * each label; NaN for em and bbse, and if the prior is a point. With posterior draws of w both are means over them.
     */
    double worth, movement;
    bool weak;      /* worth is less than 10 */
    bool swayed;    /* the change of prior changes value by more than 0.05 and by more than one sd (for a flat prior: a
                       quarter) */
    size_t points;  /* number of points of the distribution of pi (1: an estimate, or vb's plugin), if w has no draws */
    double *pi;     /* [points][classes] */
    double *weight; /* [points] */
    double *plugin; /* [classes], em, vb, bbse: the value of pi used in predictions; NULL: use the points */
    bool calibrated; /* ratios were calibrated with reference rows; otherwise they are assumed correct, and the interval
                        does not include their uncertainty */
    struct pv_reading
        *reading; /* the calibration of the ratios by reference rows; NULL: ratios as the model gives them */
    pv_shift_check check;
    pv_shift_curve curve;
    double unlabelled; /* total weight of the rows with unknown label: 0: the model was not used */
};

/* Estimates the prevalence. The caller frees *prevalence. Refused: fewer than two rows, NaN in log-likelihoods, labels
 * and weights out of range, rows without any weight, bbse without a confusion matrix, a prior that cannot be parsed.
 * labels [classes] are for messages. */
PV_MUST_USE pv_status pv_unknown_infer(pv_ctx *ctx, const pv_unknown_sample *sample, char *const *labels,
                                       const pv_unknown_options *options, pv_unknown_prevalence **prevalence);
void pv_unknown_prevalence_free(pv_ctx *ctx, pv_unknown_prevalence *prevalence);

/* p [n][classes]: each row's probabilities averaged over pi; log_p: their logarithms, without underflow; lo and hi: the
 * central interval over pi, of the level given to pv_unknown_infer. Each may be NULL. For a known prevalence it
 * suffices to set classes and plugin. */
PV_MUST_USE pv_status pv_unknown_predict(pv_ctx *ctx, const pv_unknown_sample *sample,
                                         const pv_unknown_prevalence *prevalence, double *p, double *log_p, double *lo,
                                         double *hi);

/* For a prevalence of two labels with points: performance estimated from the rows of reference. The intervals have the
 * prevalence's level. */
PV_MUST_USE pv_status pv_unknown_performance(pv_ctx *ctx, const pv_reference *reference,
                                             const pv_unknown_prevalence *prevalence, double threshold, int64_t seed,
                                             pv_expected *expected);
const char *pv_expected_name(int which); /* "sensitivity"; never NULL */

/* confusion[i][j]: share of the rows of label j whose most likely label by r(y) = p(y|x,w)/p(y|w) is i. With labels it
 * is counted, whatever the label shares; with label NULL it is computed from the probabilities exp(loglik) of rows
 * drawn from the population these are for. A label without mass is rejected. */
PV_MUST_USE pv_status pv_confusion(pv_ctx *ctx, const pv_unknown_sample *sample, char *const *labels,
                                   double *confusion);

/* The same for a classifier, from labelled rows, and for another model's probabilities, from rows of the population
 * from [classes] that they are for. Both are for pv_unknown_options.confusion. */
PV_MUST_USE pv_status pv_predict_confusion(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                           double *confusion);
PV_MUST_USE pv_status pv_probs_confusion(pv_ctx *ctx, const pv_probs *probs, const double *from, double *confusion);

/* eta [rows]: the log odds of each row in the population stated in the fit, for a linear model with two labels. Matched
 * sets have no intercept: their eta is the log odds ratio against a row whose columns are 0 or at their reference
 * levels. */
PV_MUST_USE pv_status pv_linear_predictor(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                          double *eta);

/* Reference ratios of labelled rows that were not used to fit the model; two labels only. For
 * pv_unknown_options.reference. The caller frees *reference. */
PV_MUST_USE pv_status pv_predict_reference(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                           pv_reference **reference);
PV_MUST_USE pv_status pv_probs_reference(pv_ctx *ctx, const pv_probs *probs, const double *from,
                                         pv_reference **reference);

/* Calibration of log ratios: log f_1/f_0 of a row with log ratio s is shift + slope s (0 and 1 if the classifier is
 * correct), with normal errors. */
typedef struct pv_reading { /* also used in pv_unknown_prevalence.reading */
    double shift, slope;
    double covariance[3]; /* variance of shift, covariance, variance of slope */
} pv_reading;

/* Estimates the calibration from reference rows alone, for pv_unknown_options.reference in a known population of
 * probabilities. Refused: rows that do not determine it. */
PV_MUST_USE pv_status pv_reference_read(pv_ctx *ctx, const pv_reference *reference, pv_reading *reading);

/* ---- decisions -----------------------------------------------------------------------------------------------------
 * Eq. optimal policy: the action of least expected cost, the first if tied.
 */
typedef struct pv_costs {
    size_t actions;
    int classes;
    char **action; /* [actions] */
    double *cost;  /* [actions][classes] */
} pv_costs;

/* Reads costs: fp=COST,fn=COST (and tp=, tn=) for two labels, with the actions treat and none; or the name of a CSV
 * file whose first column names the action, with a column of costs for each label. Costs are at most 1e100 in absolute
 * value. The caller frees *costs. */
PV_MUST_USE pv_status pv_costs_read(pv_ctx *ctx, const char *path, char *const *labels, int classes, pv_costs **costs);
void pv_costs_free(pv_ctx *ctx, pv_costs *costs);

/* action [n] and its expected cost [n], for p [n][classes]. Either may be NULL. Refused, before anything is decided: a
 * row of p with numbers outside [0, 1] or a sum other than 1. */
PV_MUST_USE pv_status pv_decide(pv_ctx *ctx, const pv_costs *costs, size_t n, const double *p, int32_t *action,
                                double *expected);
/* The most probable label [n], the first if tied. */
PV_MUST_USE pv_status pv_decide_label(pv_ctx *ctx, size_t n, int classes, const double *p, int32_t *label);

/* Two classes: the actions that are optimal for some probability of the last label, in increasing order; action[i+1]
 * replaces action[i] at threshold[i]. Both arrays must hold costs->actions entries. Returns the number of actions. */
size_t pv_cost_thresholds(const pv_costs *costs, size_t *action, double *threshold);

#ifdef __cplusplus
}
#endif
#endif
