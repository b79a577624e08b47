/* prevail/predict.h: probabilities in a population. */
#ifndef PREVAIL_PREDICT_H
#define PREVAIL_PREDICT_H

#include "prevail/infer.h"
#include "prevail/probs.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- populations ---------------------------------------------------------------------------------------------------
 * Where predictions are to hold.
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

/* How an unknown prevalence is inferred: docs/method.md, section "Unknown prevalence". */
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
bool pv_unknown_method_find(const char *name, pv_unknown_method *method);

typedef struct pv_unknown_options {
    int method;            /* pv_unknown_method */
    const char *dirichlet; /* prior of pi: "flat", "jeffreys", "balanced[:K]", "true[:K]", "counts:K,K,..." */
    int64_t max_iter;      /* em, vb */
    int64_t draws;         /* of pi, with more than two classes */
    int64_t seed;
    double level;            /* of the intervals; not in the table */
    const double *confusion; /* bbse: [classes][classes], see pv_confusion; not in the table */
    /* bins, two labels: rows that say how scores are distributed, and in a known population of pv_predict_probs how
     * they are to be read. NULL: pv_predict takes the classifier's. Not in the table */
    const pv_reference *reference;
    /* The rows' scores log r(y)/r(0), y > 0, by each model that scored reference rows, [folds][rows][classes - 1].
     * folds 0: all were scored by the model itself. Not in the table */
    const double *fold_score;
    size_t folds;
} pv_unknown_options;

extern const pv_option pv_unknown_option_table[];    /* ends with a NULL name */
pv_unknown_options pv_unknown_options_default(void); /* level 0.95 */

/* What an option is for, by its name in the table, where it says nothing to the method chosen: "`method` exact and vb",
 * say. NULL: it has its part. */
const char *pv_unknown_idle(const pv_unknown_options *options, const char *name);

/* That table by name. The caller frees *settings with pv_settings_free. */
PV_MUST_USE pv_status pv_unknown_settings_new(pv_ctx *ctx, pv_settings **settings);
/* The options in settings that have the table, borrowed from them; NULL: they have not. */
const pv_unknown_options *pv_unknown_options_of(const pv_settings *settings);

/* Made by pv_population_new; read the fields. */
typedef struct pv_population {
    pv_population_kind kind;
    int classes;
    double *prevalence;         /* [classes]; NULL for UNKNOWN, which the rows are to tell, and where nobody said */
    pv_unknown_options unknown; /* for UNKNOWN: how */
    int strata;                 /* 0: every row is moved to `prevalence`. Else each stratum to its own */
    double *stratum_prevalence; /* [strata][classes] */
    double *share;              /* [strata], of those that a row without a stratum may be of */
    size_t *count;              /* [classes], COUNTS: they add up to the rows; else NULL */
} pv_population;

/* text: "true" (NULL: the same), "design", "unknown", "counts:N,N,..." (in label order, none for a label that is not
 * there being 0) or "known:P" with P as in pv_prevalence_parse; of a model with strata "known:FILE" too, a file as
 * pv_stratified_read takes it. Its strata are moved each to its own prevalence by a file, by "design" and by "unknown",
 * by "known:P" all alike, as label shift of the whole population. unknown: how an unknown prevalence is inferred, NULL:
 * by default; its texts are borrowed. A classifier without a stated prevalence has no true population. The caller frees
 * *population. */
PV_MUST_USE pv_status pv_population_new(pv_ctx *ctx, const pv_classifier *classifier, const char *text,
                                        const pv_unknown_options *unknown, pv_population **population);
/* The same for another model's probabilities, made for the prevalence from [classes] (NULL: nobody said): "true", the
 * one they are for; "known:P" and "unknown" need from, or strata that have it. */
PV_MUST_USE pv_status pv_population_of_probs(pv_ctx *ctx, const pv_probs *probs, const double *from, const char *text,
                                             const pv_unknown_options *unknown, pv_population **population);
/* The one of a given prevalence [classes]. */
PV_MUST_USE pv_status pv_population_known(pv_ctx *ctx, int classes, const double *prevalence,
                                          pv_population **population);
/* Of probabilities with strata: prevalence [strata][classes], of each stratum. */
PV_MUST_USE pv_status pv_population_known_strata(pv_ctx *ctx, const pv_probs *probs, const double *prevalence,
                                                 pv_population **population);
/* The same of a file, as "known:FILE" names one. csv: how it is written, NULL: as usual. */
PV_MUST_USE pv_status pv_population_strata_read(pv_ctx *ctx, const pv_probs *probs, const char *path,
                                                const pv_csv_options *csv, pv_population **population);
void pv_population_free(pv_ctx *ctx, pv_population *population); /* NULL is fine */

/* For probabilities whose rows are of strata: what those of each stratum were made for. from: a file with a row for
 * each stratum, its columns and prevalence, where strata that no row is of are left alone; or one prevalence for all,
 * as in pv_prevalence_parse_one. csv: how the file is written, NULL: as usual. Populations are then "true",
 * "known:FILE", a file like that, and "unknown", one prevalence for each stratum; what takes `from` beside the
 * probabilities takes NULL. */
PV_MUST_USE pv_status pv_probs_from_read(pv_ctx *ctx, pv_probs *probs, const char *from, const pv_csv_options *csv);
/* Strata of arrays, with the same: stratum [rows] of names [strata], from [strata][classes]. All is copied. */
PV_MUST_USE pv_status pv_probs_strata_set(pv_ctx *ctx, pv_probs *probs, int strata, const char *const *names,
                                          const int32_t *stratum, const double *from);

typedef struct pv_unknown_prevalence pv_unknown_prevalence; /* below */

/* ---- predictions ---------------------------------------------------------------------------------------------------
 */

typedef struct pv_predict_options {
    double level;         /* of the intervals; 0: none. They need a posterior, or an unknown population */
    bool likelihood;      /* loglik and log_marginal are wanted too: what judging asks for */
    const int32_t *label; /* [rows], UNKNOWN: labels that are known, -1 where not; NULL: none. They count as observed */
    /* The rows inform the posterior of w too (Appendix G): its draws are weighted by how likely they make the rows.
     * Needs a posterior, and another population than the true one, where the rows say nothing of w. */
    bool joint;
} pv_predict_options;

pv_predict_options pv_predict_options_default(void); /* neither */

/* What a model with strata says of them in a population. */
typedef struct pv_predicted_strata {
    int strata;
    char **name;          /* [strata] */
    double *share;        /* [strata], of the population; of an unknown one, the rows' */
    double *prevalence;   /* [strata][classes], there; NaN in an unknown one that has no rows of the stratum */
    double *log_marginal; /* [strata][classes], log p(y|w) in the true population */
    pv_unknown_prevalence **inferred; /* [strata], UNKNOWN: what its rows told; NULL: it has none. Else NULL */
    bool *pooled; /* [strata], UNKNOWN: its rows say little of it, and the shift of all rows is its prior. Else NULL */
} pv_predicted_strata;

/* What a classifier says of some rows. With a posterior, probabilities are means over its draws. */
typedef struct pv_prediction {
    size_t rows;
    int classes;
    double *p;                       /* [rows][classes], in the population */
    double *log_p;                   /* [rows][classes], their logarithms, without underflow */
    double *lo, *hi;                 /* [rows][classes], central intervals; NULL: not asked for */
    double *prevalence;              /* [classes], of the population: stated, known, or as inferred. NULL: probabilities
                                        of another model, as they are, for nobody said which */
    pv_unknown_prevalence *inferred; /* UNKNOWN: what the rows told; else NULL */
    double *loglik;                  /* [rows][classes], log p(y|x) in the true population; NULL: not asked for. plain:
                                        corrected to it, or without a stated prevalence as trained. DESIGN and UNKNOWN:
                                        before output biases were matched to the true population */
    double *log_marginal;            /* [classes], log p(y) there; NULL with loglik, and with prevalence */
    bool elsewhere;                  /* the population is not the true one */
    pv_predicted_strata *strata;     /* NULL: the model has none */
    double effective;                /* joint: how many of the posterior's draws count; NaN: all, or there are none */
} pv_prediction;

/* Predicts. The model goes forward once over the rows, whatever is asked for; with a posterior and an unknown
 * prevalence twice over its draws. population NULL: the true one. options may be NULL. The caller frees *prediction.
 * Refused: intervals without a posterior; data that are not the classifier's; a row whose numbers overflow
 * (PV_ERR_NUMERIC), by its number in the table and the column farthest from the mean. */
PV_MUST_USE pv_status pv_predict(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                 const pv_population *population, const pv_predict_options *options,
                                 pv_prediction **prediction);
/* The same in a population named by its text, as in pv_population_new. */
PV_MUST_USE pv_status pv_predict_in(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                    const char *population, const pv_predict_options *options,
                                    pv_prediction **prediction);
/* Another model's probabilities, made for the prevalence from [classes] (NULL: nobody said), in a population.
 * population NULL: the one they are for. loglik are then their logarithms, and log_marginal those of from. */
PV_MUST_USE pv_status pv_predict_probs(pv_ctx *ctx, const pv_probs *probs, const double *from,
                                       const pv_population *population, const pv_predict_options *options,
                                       pv_prediction **prediction);
void pv_prediction_free(pv_ctx *ctx, pv_prediction *prediction); /* NULL is fine */

/* ---- the low tier: for those who bring log-likelihoods or probabilities of their own --------------------------------
 */

/* loglik [rows][classes]: log p(y|x,w), the classifier's own output at w, as trained. */
PV_MUST_USE pv_status pv_predict_loglik(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                        double *loglik);

/* Eq. likelihood with selection: log_p(y) = loglik(y) - log_marginal(y) + log prevalence(y), normalised. In place is
 * fine. */
void pv_adapt(size_t n, int classes, const double *loglik, const double *log_marginal, const double *prevalence,
              double *log_p);

/* The rows' own prevalence pi: with r_n(y) = p(y|x_n,w)/p(y|w) a row's likelihood is sum_y pi_y r_n(y).
 */
/* A sample from the population. Borrowed. */
typedef struct pv_unknown_sample {
    size_t n;
    int classes;
    const double *loglik;        /* [n][classes], log p(y|x_n,w) */
    const double *log_marginal;  /* [classes], log p(y|w) */
    const double *true_marginal; /* [classes], what "true:K" speaks of; NULL: exp(log_marginal) */
    const int32_t *label;        /* [n], -1 where unknown; NULL: all unknown. Known labels count as observed */
    const double *weight;        /* [n], >= 0, as repeated rows; NULL: all 1 */
    const int32_t *cluster;      /* [n], from 0: rows that were sampled together; NULL: none. For bins */
    bool sampling;               /* weights are no repeated rows but sampling weights. For bins */
} pv_unknown_sample;

/* Whether the rows look like a mixture of the labels' rows at all, which is what everything else takes for granted. */
typedef struct pv_shift_check {
    double distance;           /* of their bins from the nearest mixture: twice a log-likelihood ratio */
    double p;                  /* how often it is as large where they are one; NaN: not looked at */
    int column;                /* the column whose mean is farthest from the mixture's; -1: none was looked at */
    double column_z, column_p; /* in standard errors; as likely, among so many columns; NaN: not looked at */
    double both;               /* p of the two together; NaN: neither */
} pv_shift_check;

/* Its picture: distribution functions of the log ratios log r(1)/r(0), at the edges of the bins. */
typedef struct pv_shift_curve {
    size_t n;          /* 0: not looked at */
    double prevalence; /* of the nearest mixture */
    double *score, *rows,
        *mixture;     /* [n], rising: the ratios; the share of the rows, and of that mixture, up to each */
    double *label[2]; /* [n], of the reference rows of each label */
} pv_shift_curve;

/* What decisions at a threshold will be worth in the population, without its labels: sensitivity and specificity are
 * the reference rows'. */
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
    bool called;                                                                   /* some rows are above it */
    double value[PV_EXPECTED_COUNT], lo[PV_EXPECTED_COUNT], hi[PV_EXPECTED_COUNT]; /* NaN: undefined */
} pv_expected;

struct pv_unknown_prevalence {
    int classes;
    pv_unknown_method method;
    double *value;      /* [classes]: the most likely one (bins), posterior mean (exact, vb), or the estimate */
    double *lo, *hi;    /* [classes], interval; NaN where the method has none */
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
    size_t points;   /* the distribution of pi (one point: an estimate, or vb's plugin), where w has no draws */
    double *pi;      /* [points][classes] */
    double *weight;  /* [points] */
    double *plugin;  /* [classes], em, vb, bbse: what stands for pi in predictions; NULL: the points do */
    bool calibrated; /* by reference rows; else ratios are taken as right, and the interval knows no doubt of them */
    struct pv_reading *reading; /* how they read the ratios of rows; NULL: as the model has them */
    pv_shift_check check;
    pv_shift_curve curve;
    double unlabelled; /* weight of the rows whose label is not known: 0, and the model has no say */
};

/* The caller frees *prevalence. Refused: fewer than two rows, log-likelihoods with NaN, labels and weights out of
 * range, rows without any weight, bbse without a confusion matrix, a prior that is not understood. labels [classes] are
 * for messages. */
PV_MUST_USE pv_status pv_unknown_infer(pv_ctx *ctx, const pv_unknown_sample *sample, char *const *labels,
                                       const pv_unknown_options *options, pv_unknown_prevalence **prevalence);
void pv_unknown_prevalence_free(pv_ctx *ctx, pv_unknown_prevalence *prevalence);

/* p [n][classes]: each row's probabilities averaged over pi; log_p their logarithms, without underflow; lo and hi the
 * central interval over pi, of the level given to pv_unknown_infer. Each may be NULL. For a prevalence that is known, a
 * struct with classes and plugin set will do. */
PV_MUST_USE pv_status pv_unknown_predict(pv_ctx *ctx, const pv_unknown_sample *sample,
                                         const pv_unknown_prevalence *prevalence, double *p, double *log_p, double *lo,
                                         double *hi);

/* Of a prevalence of two labels with points, by the rows of reference; the intervals have the prevalence's level. */
PV_MUST_USE pv_status pv_unknown_performance(pv_ctx *ctx, const pv_reference *reference,
                                             const pv_unknown_prevalence *prevalence, double threshold, int64_t seed,
                                             pv_expected *expected);
const char *pv_expected_name(int which); /* "sensitivity"; never NULL */

/* confusion[i][j]: share of the rows of label j whose most likely label by r(y) = p(y|x,w)/p(y|w) is i. Of labelled
 * rows (label not NULL) by count, whatever their label shares; else by the probabilities exp(loglik) themselves, for
 * rows drawn from the population these hold in. A label without mass is refused. */
PV_MUST_USE pv_status pv_confusion(pv_ctx *ctx, const pv_unknown_sample *sample, char *const *labels,
                                   double *confusion);

/* The same of a classifier, from labelled rows; and of another model's probabilities, from rows of the population from
 * [classes] that they are for. Both are for pv_unknown_options.confusion. */
PV_MUST_USE pv_status pv_predict_confusion(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                           double *confusion);
PV_MUST_USE pv_status pv_probs_confusion(pv_ctx *ctx, const pv_probs *probs, const double *from, double *confusion);

/* eta [rows]: the log odds of each row in the population that the fit stated, of a linear model with two labels.
 * Matched sets have no intercept: theirs are log odds ratios against a row whose columns are 0 or at their reference
 * levels. */
PV_MUST_USE pv_status pv_linear_predictor(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                          double *eta);

/* Reference ratios of labelled rows that the model has not seen; two labels only. For pv_unknown_options.reference; the
 * caller frees *reference. */
PV_MUST_USE pv_status pv_predict_reference(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data,
                                           pv_reference **reference);
PV_MUST_USE pv_status pv_probs_reference(pv_ctx *ctx, const pv_probs *probs, const double *from,
                                         pv_reference **reference);

/* log f_1/f_0 of a row of log ratio s is shift + slope s, 0 and 1 where the classifier is right; normal errors. */
typedef struct pv_reading { /* *pv_unknown_prevalence.reading too */
    double shift, slope;
    double covariance[3]; /* of shift; of both; of slope */
} pv_reading;

/* By reference rows alone; for pv_unknown_options.reference of a known population of probabilities, which are read so.
 * Refused: rows that do not tell. */
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

/* fp=COST,fn=COST (and tp=, tn=) of two labels, whose actions are treat and none; or the name of a CSV file: the first
 * column names the action, one column for each label its cost, 1e100 at most either way. The
 * caller frees *costs. */
PV_MUST_USE pv_status pv_costs_read(pv_ctx *ctx, const char *path, char *const *labels, int classes, pv_costs **costs);
void pv_costs_free(pv_ctx *ctx, pv_costs *costs);

/* action [n] and its expected cost [n], of p [n][classes]. Either may be NULL. Refused: a row of p that is not of
 * numbers from 0 to 1 that add up to 1; nothing is decided then. */
PV_MUST_USE pv_status pv_decide(pv_ctx *ctx, const pv_costs *costs, size_t n, const double *p, int32_t *action,
                                double *expected);
/* The same without costs: label [n], the most probable, the first if tied. */
PV_MUST_USE pv_status pv_decide_label(pv_ctx *ctx, size_t n, int classes, const double *p, int32_t *label);

/* Two classes: the actions that are best somewhere, by rising probability of the last label; action[i+1] takes over
 * from action[i] at threshold[i]. Both have room for costs->actions; returns how many actions there are. */
size_t pv_cost_thresholds(const pv_costs *costs, size_t *action, double *threshold);

#ifdef __cplusplus
}
#endif
#endif
