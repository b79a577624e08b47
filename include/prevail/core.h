/* prevail/core.h: the paper's losses, which can be used on their own from any framework.
 *
 * Input: log-likelihoods f_n(y) = log p(y|x_n,w), as [n][classes], and the observed labels. Output: the loss and its
 * gradient with respect to the log-likelihoods. The functions do not depend on how the log-likelihoods are computed.
 *
 * Losses are sums over rows (not means), as in the paper: the negative logarithm of a posterior.
 */
#ifndef PREVAIL_CORE_H
#define PREVAIL_CORE_H

#include "prevail/base.h"
#include "prevail/streams.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- observations and the population ----------------------------------------------------------------------------- */

/* An unlabelled row, which only gives information on the population's distribution of x. Only the full-batch loss of
 * the information gain accepts such rows. */
enum { PV_UNLABELLED = -1 };

/* Exactly one of label and frequency is given. The arrays are borrowed and must outlive every use. */
typedef struct pv_targets {
    size_t n;
    int classes;
    const int32_t *label;    /* [n], 0 .. classes-1; PV_UNLABELLED where allowed */
    const double *frequency; /* [n][classes], soft labels (vote frequencies), each row sums to 1 */
    const double *weight;    /* [n], each valid according to pv_weight_sound; NULL: all 1 */
    const int32_t *set;      /* [n], matched set of each row, numbered from 0; NULL: none */
    const int32_t *stratum;  /* [n], stratum of each row, if sampling depended on more than the label, numbered from 0;
                                NULL: none */
    const int32_t *unit;  /* [n], rows of one number were sampled together (a cluster, a matched set), which intervals
                             of metrics take into account; NULL: each row by itself */
    const int32_t *block; /* [n], stratum of a survey, within which units were drawn; -1: unknown. NULL: none */
    bool sampling;        /* weights are sampling weights: a row is one unit, whatever its weight */
} pv_targets;

/* Whether a row may have this weight: 0, or from 1e-100 to 1e100, so that products of two sums of weights neither
 * overflow nor underflow. */
bool pv_weight_sound(double weight);

PV_MUST_USE pv_status pv_targets_check(pv_ctx *ctx, const pv_targets *targets);

/* n_y: label mass of each class, the sum over rows of weight x (label or frequency). */
void pv_label_mass(const pv_targets *targets, double *mass /* [classes] */);
/* Label masses divided by their sum. */
void pv_label_shares(const pv_targets *targets, double *share /* [classes] */);

/* What is known about the true population. */
typedef struct pv_prevalence {
    int classes;
    const double *prevalence; /* [classes], p_Y(y): in (0,1), sums to 1 */
    double prevalence_n;      /* N_pr: number of pseudo-observations behind prevalence; INFINITY: known exactly */
    int strata; /* 0: one population. Otherwise a mixture of strata: prevalence is the mean of theirs weighted by share,
                   and prevalence_n is ignored */
    const double *share;              /* [strata], shares of the population: each positive, sums to 1 */
    const double *stratum_prevalence; /* [strata][classes] */
    const double *stratum_n;          /* [strata] */
} pv_prevalence;

PV_MUST_USE pv_status pv_prevalence_check(pv_ctx *ctx, const pv_prevalence *population);

/* The losses: X(NAME, name, "description"). Loss NAME is implemented in src/core/loss_NAME.c. */
#define PV_LOSS_LIST(X)                                                                                                \
    X(IG, ig, "information gain, each likelihood over the model's own marginal")                                       \
    X(IW, iw, "class weights")                                                                                         \
    X(PLAIN, plain, "log-loss, to be corrected when predicting")                                                       \
    X(MATCHED, matched, "conditional likelihood of matched sets")
typedef enum pv_loss {
#define PV_LOSS_ENUM(name, word, text) PV_LOSS_##name,
    PV_LOSS_LIST(PV_LOSS_ENUM)
#undef PV_LOSS_ENUM
} pv_loss;
#define PV_LOSS_ONE(name, word, text) +1
#define PV_LOSSES (0 PV_LOSS_LIST(PV_LOSS_ONE)) /* number of losses */

const char *pv_loss_name(pv_loss loss);
bool pv_loss_find(const char *name, pv_loss *loss); /* false if no loss has this name */
bool pv_loss_needs_prevalence(pv_loss loss);
/* Whether its likelihood holds for the label shares of the training data; otherwise it holds for the stated
 * prevalence. */
bool pv_loss_of_design(pv_loss loss);
/* Whether the loss contains the model's marginal, so that a pv_marginal and prevalence_n apply. */
bool pv_loss_has_marginal(pv_loss loss);
bool pv_loss_takes_sample(pv_loss loss); /* whether it accepts unlabelled rows of the population */
bool pv_loss_is_relative(pv_loss loss);  /* whether it determines odds ratios only, no intercept */

#define PV_MARGINAL_LIST(X)                                                                                            \
    X(PROFILE, "profile", "p(x) profiled out; in minibatches its per-sample twin, the selection likelihood")           \
    X(PLUGIN, "plugin", "the paper's full-batch estimate, p(x) plugged in")                                            \
    X(AUXILIARY_CONSTANT, "auxiliary:constant", "the paper's minibatch estimate, constant auxiliary network")          \
    X(AUXILIARY_LINEAR, "auxiliary:linear", "the paper's minibatch estimate, linear auxiliary network")
typedef enum pv_marginal {
#define PV_MARGINAL_ENUM(name, word, text) PV_MARGINAL_##name,
    PV_MARGINAL_LIST(PV_MARGINAL_ENUM)
#undef PV_MARGINAL_ENUM
} pv_marginal;

const char *pv_marginal_name(pv_marginal marginal);
bool pv_marginal_find(const char *name, pv_marginal *marginal);

/* ---- full-batch losses --------------------------------------------------------------------------------------------
 *
 *   plain             - sum_n v_n sum_y t_ny f_n(y)
 *   iw                the same with each term times beta(y) = prevalence(y) / (n_y/N)
 *   ig, plugin        plain + sum_y c_y log p(y|w),  p(y|w) = sum_n v_n sum_y' t_ny' prevalence(y')/n_y' . exp f_n(y)
 *   ig, profile       plain - max over theta of [sum_n v_n log(N theta_n/v_n) - sum_y c_y log lambda_y],
 *                     lambda_y = sum_n theta_n exp f_n(y), N = sum_n v_n
 *   matched           conditional likelihood of matched sets, which eliminates their intercepts
 *   with c_y = n_y - N_pr prevalence(y): the information gain and L_prev combined.
 *
 * N_pr infinite: with profile, lambda is fixed at the prevalence. With plugin the loss has no such limit;
 * pv_full_loss_set_counts sets the multipliers of the constrained problem instead.
 *
 * With strata (in both targets and population, or in neither) p(x) is profiled out in each stratum separately: the loss
 * is the sum of the strata's losses, each with its own label masses, prevalence and N_pr. Only profile supports strata.
 *
 * A profile loss stores the solution of its inner problem as the starting point of the next evaluation.
 */
typedef struct pv_full_loss pv_full_loss;

/* targets and population are copied as structs; the arrays they point to are borrowed for the life of the loss.
 * population may be NULL for plain. The caller frees *full with pv_full_loss_free. */
PV_MUST_USE pv_status pv_full_loss_new(pv_ctx *ctx, pv_loss loss, pv_marginal marginal, const pv_targets *targets,
                                       const pv_prevalence *population, pv_full_loss **full);
void pv_full_loss_free(pv_ctx *ctx, pv_full_loss *full);

/* *value is +INFINITY where the posterior is 0 (known prevalence outside the convex hull of the rows); dloglik is then
 * zero. dloglik [n][classes] may be NULL. */
PV_MUST_USE pv_status pv_full_loss_eval(pv_ctx *ctx, pv_full_loss *full, const double *loglik, double *value,
                                        double *dloglik);

/* log p(y|w) of the last evaluation, [classes]; NULL for losses without a marginal. Borrowed. With strata it is that of
 * their mixture, followed by each stratum's own, [strata][classes]. */
const double *pv_full_loss_log_marginal(const pv_full_loss *full);

/* Plug-in estimate of log p(y|w) for any model, [classes], with rows weighted to prevalence; NULL: rows as they are. */
PV_MUST_USE pv_status pv_plugin_log_marginal(pv_ctx *ctx, const pv_targets *targets, const double *prevalence,
                                             const double *loglik, double *log_marginal);

/* theta of the last evaluation with profile, [n], summing to 1; NULL for other losses. Borrowed. */
const double *pv_full_loss_theta(const pv_full_loss *full);

/* ig with plugin: sets the coefficients c_y, [classes], of sum_y c_y log p(y|w). */
void pv_full_loss_set_counts(pv_full_loss *full, const double *counts);

/* The state that the loss keeps between evaluations, like pv_density.memory (prevail/posterior.h). Sets at most three
 * fields and returns their number. */
size_t pv_full_loss_memory(pv_full_loss *full, pv_field *field);

/* The selection likelihood, -log p_{s=1}(y_n|x_n,w) summed over rows, which is the per-sample counterpart of profile
 * (Eq. likelihood with selection applied to the training set; logit adjustment). log_ratio[y] = log(design(y) /
 * marginal(y)); with strata, [strata][classes]. dlog_ratio [classes], the gradient for a learned marginal, may be NULL,
 * and must be NULL with strata. */
PV_MUST_USE pv_status pv_selection_loss(pv_ctx *ctx, const pv_targets *targets, const double *log_ratio,
                                        const double *loglik, double *value, double *dloglik, double *dlog_ratio);

/* ---- minibatch losses -------------------------------------------------------------------------------------------- */

/* expected: beta(1), omega(1), from the expected label shares; counted: beta(2), omega(2), from the label counts of the
 * batch. */
typedef enum pv_weighting { PV_WEIGHT_COUNTED, PV_WEIGHT_EXPECTED } pv_weighting;

/* How rows of the full data are sampled into a batch: at random within strata (the classes, unless labels are soft). */
typedef struct pv_sampling {
    int strata;
    const double *full;     /* [strata], number of rows of the full data in each stratum */
    const double *expected; /* [strata], expected share of each stratum in a batch */
} pv_sampling;

/* What a batch loss needs to know about the full data. The arrays are borrowed. */
typedef struct pv_batch_design {
    pv_sampling sampling;
    const double *mass; /* [classes], label mass N_F(y) of the full data */
    pv_prevalence population;
    pv_weighting population_weight; /* beta */
    pv_weighting epoch_weight;      /* omega */
    bool direct; /* use Eq. loss minibatch estimate directly, with estimated label counts too. The form with known
                    counts usually has less variance for models with confident predictions, though not always; only its
                    gradient is unbiased, since the direct form multiplies two estimates */
    const double *stratum_log_ratio; /* with strata, [strata][classes]: log(design / prevalence) of each stratum, used
                                        instead of mass and log_q; NULL: none */
} pv_batch_design;

/* Computes weights for each row of the batch. epoch[n]: sum over the batch of epoch[n] g_n is an unbiased estimate of
 * the sum over the full data (N/n_B omega; row weights not included). population[n]: sum population[n] p(y|x_n,w) is an
 * estimate of p(y|w) (beta/n_B, row weights included). stratum NULL: the labels. Either output may be NULL. Fails with
 * PV_ERR_INPUT if a stratum has no row in the batch under PV_WEIGHT_COUNTED. */
PV_MUST_USE pv_status pv_batch_weights(pv_ctx *ctx, const pv_batch_design *design, const pv_targets *batch,
                                       const int32_t *stratum, double *epoch, double *population);

/* log p-hat_B(y;w) = logsumexp_n(log population[n] + f_n(y)). */
void pv_batch_log_marginal(size_t n, int classes, const double *population, const double *loglik, double *log_marginal);

/* The paper's three implementations of the gradient of sum_y c_y log p(y|w) given log q(y) of the auxiliary network;
 * they agree up to rounding. Adds to dloglik [n][classes]. Returns the value of the implementation: 1: sum c alpha log
 * p-hat; 2 and 3: sum c log q. */
typedef enum pv_implementation { PV_IMPLEMENTATION_1 = 1, PV_IMPLEMENTATION_2, PV_IMPLEMENTATION_3 } pv_implementation;
double pv_marginal_backward(pv_implementation implementation, size_t n, int classes, const double *counts,
                            const double *population, const double *loglik, const double *log_batch_marginal,
                            const double *log_q, double *dloglik);

/* Minibatch estimate of the full-data loss (without the prior) and its gradient.
 *   log_q               [classes], output of the auxiliary network; ig only
 *   log_batch_marginal  [classes], output: the auxiliary network's target, set for the auxiliary marginals only; may be
 *                       NULL
 * ig with PROFILE is the selection likelihood at log_q := log lambda. With infinite prevalence_n the prevalence term is
 * left out. */
typedef struct pv_batch_loss {
    pv_loss loss;
    pv_marginal marginal;
    pv_implementation implementation;
    pv_batch_design design;
} pv_batch_loss;

PV_MUST_USE pv_status pv_batch_loss_eval(pv_ctx *ctx, const pv_batch_loss *loss, const pv_targets *batch,
                                         const int32_t *stratum, const double *loglik, const double *log_q,
                                         double *value, double *dloglik, double *log_batch_marginal);

/* ---- auxiliary networks: q_psi(w) ~ p(y|w), Appendix D ----------------------------------------------------------- */

typedef struct pv_auxiliary_options {
    double rate_bias; /* learning rates of b (for the constant network: the logits), o and A */
    double rate_offset;
    double rate_matrix;
    double sparsity; /* rate of the Laplace prior on the entries of A */
} pv_auxiliary_options;

pv_auxiliary_options pv_auxiliary_options_default(double main_rate); /* b 10x the main rate, o 1x, A 0.1x */

typedef struct pv_auxiliary pv_auxiliary;

/* marginal: PV_MARGINAL_AUXILIARY_CONSTANT or _LINEAR. start: initial log-probabilities (NULL: uniform). w [n_params]:
 * initial value of the offset, linear only. The caller frees *auxiliary with pv_auxiliary_free. */
PV_MUST_USE pv_status pv_auxiliary_new(pv_ctx *ctx, pv_marginal marginal, int classes, size_t n_params,
                                       const double *start, const double *w, pv_auxiliary **auxiliary);
void pv_auxiliary_free(pv_ctx *ctx, pv_auxiliary *auxiliary);

/* log q_psi(w), [classes]. */
void pv_auxiliary_forward(pv_auxiliary *auxiliary, const double *w, double *log_q);
/* Gradient of the soft cross-entropy -sum_y target(y) log q(y) with respect to psi, at the log_q of the last forward
 * pass; w and target are constants here. Adds scale times the gradient. Returns the loss. */
double pv_auxiliary_backward(pv_auxiliary *auxiliary, const double *w, const double *log_q, const double *log_target,
                             double scale);
void pv_auxiliary_step(pv_auxiliary *auxiliary, const pv_auxiliary_options *options, double rate_factor);
/* Backward and step in one pass over the parameters, with scale 1: the same step, but no gradients are stored. No
 * gradient may be pending for pv_auxiliary_step. */
double pv_auxiliary_train(pv_auxiliary *auxiliary, const double *w, const double *log_q, const double *log_target,
                          const pv_auxiliary_options *options, double rate_factor);

/* Updates the linear network's matrix and offset by a gain instead of Adam. error [classes] is p-tilde/q - 1 at w, gain
 * [classes] that of the bias, least_gain that of the offset. The network's output at w does not change, except through
 * the matrix's prior; as w moves on, the output moves with it. Does nothing for the constant network. */
void pv_auxiliary_follow(pv_auxiliary *auxiliary, const double *w, const double *error, const double *gain,
                         double least_gain, double sparsity);

/* Parameters and gradients by name, for tests and for saving: bias [classes], offset [n_params], matrix
 * [n_params][classes]; NULL if the network has none. Borrowed. */
typedef struct pv_auxiliary_view {
    double *bias, *dbias;
    double *offset, *doffset;
    double *matrix, *dmatrix;
} pv_auxiliary_view;
pv_auxiliary_view pv_auxiliary_parameters(pv_auxiliary *auxiliary);

/* ---- batch designs: section "Variance of estimators and minibatch design" ---------------------------------------- */

/* Eq. estimate of the conditional variance, summed over the components of g [n][dims]; needs at least two rows per
 * class. */
PV_MUST_USE pv_status pv_conditional_variance(pv_ctx *ctx, size_t n, int classes, int dims, const int32_t *label,
                                              const double *g, double *variance /* [classes] */,
                                              double *mean /* [classes][dims], may be NULL */);

/* Eq. g2 variance: the variance of sum_y target(y) mean_{n: y}(g) with counts [classes] rows of each class. */
double pv_fixed_design_variance(int classes, const double *target, const double *counts, const double *variance);
/* The same for g1 if labels are drawn with probabilities expected [classes]; mean [classes][dims]. */
double pv_random_design_variance(int classes, int dims, double n, const double *target, const double *expected,
                                 const double *variance, const double *mean);

/* The integer counts, each at least 1 and n in total, with the smallest pv_fixed_design_variance. */
PV_MUST_USE pv_status pv_optimal_counts(pv_ctx *ctx, int classes, size_t n, const double *target,
                                        const double *variance, size_t *counts);

/* ---- random streams: counter-based, keyed by (seed, purpose, index), so that streams are independent ------------- */

typedef struct pv_rng {
    uint64_t seed;
    uint32_t purpose, position;
    uint64_t index;
    uint64_t word[2];
    int left;
    double spare;
    bool has_spare;
} pv_rng;

pv_rng pv_rng_stream(uint64_t seed, uint32_t purpose, uint64_t index); /* purpose: prevail/streams.h */
uint64_t pv_rng_bits(pv_rng *rng);
double pv_rng_uniform(pv_rng *rng); /* (0,1), 53 bits, never 0 or 1 */
double pv_rng_normal(pv_rng *rng);
size_t pv_rng_below(pv_rng *rng, size_t n);     /* 0 .. n-1, unbiased; n > 0 */
double pv_rng_gamma(pv_rng *rng, double shape); /* scale 1 */
void pv_rng_shuffle(pv_rng *rng, size_t n, size_t *items);

/* ---- special functions ------------------------------------------------------------------------------------------- */

double pv_log_sum_exp(size_t n, const double *x); /* -INFINITY if n is 0 */
void pv_log_softmax(int n, const double *logits, double *log_p);
double pv_sigmoid(double x);
double pv_log_sigmoid(double x);
double pv_logit(double p);
double pv_normal_cdf(double x);
double pv_normal_quantile(double p); /* p in (0,1) */
double pv_digamma(double x);         /* x > 0 */
double pv_beta_cdf(double a, double b, double x);
double pv_beta_quantile(double a, double b, double p);
/* Student's t with df > 0; infinite df: the normal distribution. */
double pv_student_cdf(double df, double x);
double pv_student_quantile(double df, double p);        /* p in (0,1) */
double pv_chi_square_tail(double df, double statistic); /* P(chi-square with df > 0 exceeds statistic) */

#ifdef __cplusplus
}
#endif
#endif
