/* The joint update of q(w) with the rows to be predicted (Appendix G of the paper, which leaves it out because these
 * rows are few compared to the training data).
 *
 *   p(w|X,Y,X*) prop. to p(w|X,Y) L(w),   L(w) = p(X*|S*=1,w) prop. to
 *
 *     known, design  prod_n sum_y p~(y) r_n(y)
 *     counts         e_c(r) prod_y c_y!/N!                                          (label_counts.c)
 *     unknown        integral of p(pi) prod_n sum_y pi_y r_n(y) over pi: exact; vb uses its lower bound instead: the
 *                    best q(w) of the paper's family q(Y*|w) q(pi|w) q(w) multiplies p(w|X,Y) by exp(bound)
 *
 * with r_n(y) = p(y|x_n,w)/p(y|w), v_n a row's weight as an exponent, and r_n(y_n) if the label is known. Draws of
 * p(w|X,Y) are weighted by L: importance sampling. If L is narrow, few draws contribute, and their effective number
 * shows it. In the true population p(X*|w) = p(X*), so the rows say nothing about w.
 *
 * All of this requires that p(x) is the same for every w, which holds for p(y|w) of the plug-in. `profile` fits a
 * separate p(x) for each w, and plain has a marginal that does not depend on w, so that r_n at two draws are ratios to
 * different p(x): these are rejected (docs/method.md, section 10.7, shows the consequences).
 *
 * Evidence of an unknown prevalence: for two labels the quadrature's normaliser; for more, Laplace's method at the
 * mode.
 */
#include <math.h>
#include <string.h>

#include "predict/predict.h"

static double log_beta(int k, const double *alpha) {
    int sign; /* lgamma would write it to a global */
    double total = 0, sum = 0;
    for (int y = 0; y < k; y++) {
        total += alpha[y];
        sum += lgamma_r(alpha[y], &sign);
    }
    return sum - lgamma_r(total, &sign);
}

double pv__row_factors(const pv_unknown_sample *s) {
    size_t k = (size_t)s->classes;
    double sum = 0;
    for (size_t i = 0; i < s->n; i++) {
        double top = -HUGE_VAL, a[2] = {0, 0};
        for (size_t y = 0; y < k; y++) {
            double here = s->loglik[i * k + y] - s->log_marginal[y];
            top = fmax(top, here);
            a[y & 1] = here;
        }
        if (s->label && s->label[i] >= 0)
            top = s->loglik[i * k + (size_t)s->label[i]] - s->log_marginal[s->label[i]];
        else if (k == 2)
            top = pv_log_sum_exp(2, a);
        sum += (s->weight ? s->weight[i] : 1) * top;
    }
    return sum;
}

/* The bound after the last update: labels summed out given E log pi, minus the divergence of q(pi) from its prior.
 */
static double vb_evidence(const pv__solver *s, double log_q, double total) {
    int k = s->classes;
    double sum = 0, scale = 0, away = 0;
    for (int y = 0; y < k; y++)
        sum += s->posterior[y];
    double base = pv_digamma(sum);
    for (int y = 0; y < k; y++) {
        double mean = pv_digamma(s->posterior[y]) - base;
        scale += exp(mean); /* plugin is normalised */
        away += (s->posterior[y] - s->alpha[y]) * mean - (s->given[y] - s->alpha[y]) * mean;
    }
    return log_q + total * log(scale) - away + log_beta(k, s->posterior) - log_beta(k, s->alpha);
}

double pv__solver_evidence(pv_ctx *ctx, const pv__solver *s, pv__mixture *m) {
    double log_q;
    size_t k = (size_t)s->classes;
    if (s->fixed || s->options->method == PV_UNKNOWN_VB) {
        pv__mixture_logs(ctx, m, 1, s->plugin, &log_q);
        double known = 0;
        for (size_t y = 0; s->fixed && y < k; y++)
            known += m->known[y] > 0 ? m->known[y] * log(s->plugin[y]) : 0;
        return s->fixed ? log_q + known : vb_evidence(s, log_q, m->total);
    }
    if (k == 2)
        return pv_log_sum_exp(s->pair.count, s->pair.logs) + log(s->pair.step) - log_beta(2, s->alpha);
    pv__mixture_logs(ctx, m, 1, s->many.mode, &log_q);
    for (size_t y = 0; y < k; y++)
        log_q += s->posterior[y] * log(s->many.mode[y]);
    for (size_t i = 0; i + 1 < k; i++)
        log_q += 0.5 * log(2 * 3.14159265358979323846) - log(s->many.factor[i * (k - 1) + i]);
    return log_q - log_beta(s->classes, s->alpha);
}

/* ---- weights ----------------------------------------------------------------------------------------------------- */

pv_status pv__joint_weights(pv_ctx *ctx, size_t draws, double *evidence, double *effective) {
    double all = pv_log_sum_exp(draws, evidence), squares = 0;
    if (!isfinite(all))
        return pv__fail(ctx, PV_ERR_NUMERIC,
                        "`posterior=joint`: no draw of the posterior explains the rows;\nuse `posterior=fixed`");
    for (size_t s = 0; s < draws; s++) {
        evidence[s] = exp(evidence[s] - all);
        squares += evidence[s] * evidence[s];
    }
    *effective = 1 / squares;
    return PV_OK;
}

/* ---- populations with known label proportions -------------------------------------------------------------------- */

typedef struct shares {
    const pv_classifier *classifier;
    const pv_dataset *data;
    const double *prevalence;
    double *evidence; /* [draws] */
} shares;

static pv_status open_nothing(pv_ctx *ctx, void *state, void *own) {
    (void)ctx, (void)state, (void)own;
    return PV_OK;
}

static void close_nothing(pv_ctx *ctx, void *own) {
    (void)ctx, (void)own;
}

static pv_status weigh_shares(pv_ctx *ctx, void *state, void *own, size_t s, const double *loglik) {
    const shares *j = state;
    (void)ctx, (void)own;
    size_t k = (size_t)j->classifier->schema->classes;
    const double *marginal = j->classifier->draw_log_marginal + s * k;
    double sum = 0;
    for (size_t i = 0; i < j->data->rows; i++) {
        double top = -HUGE_VAL, rest = 0;
        for (size_t y = 0; y < k; y++)
            top = fmax(top, loglik[i * k + y] - marginal[y]);
        for (size_t y = 0; y < k; y++)
            rest += j->prevalence[y] * exp(loglik[i * k + y] - marginal[y] - top);
        sum += (j->data->weight ? j->data->weight[i] : 1) * (top + log(rest));
    }
    j->evidence[s] = sum;
    return PV_OK;
}

pv_status pv__joint_shares(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, const double *prevalence,
                           double **weight, double *effective) {
    shares state = {.classifier = c, .data = data, .prevalence = prevalence};
    PV_TRY(pv__alloc(ctx, c->posterior->count, sizeof *state.evidence, &state.evidence));
    const pv__visitor visitor = {
        .state = &state, .size = 1, .open = open_nothing, .visit = weigh_shares, .close = close_nothing};
    pv_status status = pv__each_draw(ctx, c, data, &visitor);
    if (status == PV_OK)
        status = pv__joint_weights(ctx, c->posterior->count, state.evidence, effective);
    if (status == PV_OK)
        *weight = state.evidence;
    else
        pv__free(ctx, state.evidence);
    return status;
}

/* ---- known label counts ------------------------------------------------------------------------------------------ */

typedef struct counted {
    const pv_ctx *caller; /* the calling thread's context, for interruption of all workers */
    const pv_classifier *classifier;
    const pv_dataset *data;
    const size_t *count;
    double *log_p;    /* [draws][rows][classes] */
    double *evidence; /* [draws] */
} counted;

static pv_status open_counts(pv_ctx *ctx, void *state, void *own) {
    const counted *j = state;
    const pv_schema *schema = j->classifier->schema;
    pv__label_counts *counts = own;
    PV_TRY(pv__label_counts_new(ctx, j->data->rows, schema->classes, j->count, schema->labels, counts));
    counts->heed = j->caller;
    return PV_OK;
}

static void close_counts(pv_ctx *ctx, void *own) {
    pv__label_counts_clear(ctx, own);
}

static pv_status visit_counts(pv_ctx *ctx, void *state, void *own, size_t s, const double *loglik) {
    const counted *j = state;
    size_t k = (size_t)j->classifier->schema->classes;
    return pv__label_counts_rows(ctx, own, loglik, j->classifier->draw_log_marginal + s * k,
                                 j->log_p + s * j->data->rows * k, &j->evidence[s]);
}

pv_status pv__label_counts_draws(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, const size_t *count,
                                 double **log_p, double **evidence) {
    static const size_t MOST = (size_t)1 << 27; /* numbers, which take one GiB */
    size_t draws = c->posterior->count, k = (size_t)c->schema->classes;
    counted state = {.caller = ctx, .classifier = c, .data = data, .count = count};
    *log_p = *evidence = NULL;
    if (data->rows > MOST / (draws * k))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`population=counts`: %zu rows at %zu draws of the posterior are too many to keep;\ngive fewer "
                        "rows, or a model with fewer `draws`",
                        data->rows, draws);
    PV_TRY(pv__alloc(ctx, draws * data->rows * k, sizeof(double), &state.log_p));
    pv_status status = pv__alloc(ctx, draws, sizeof(double), &state.evidence);
    const pv__visitor visitor = {.state = &state,
                                 .size = sizeof(pv__label_counts),
                                 .open = open_counts,
                                 .visit = visit_counts,
                                 .close = close_counts};
    if (status == PV_OK)
        status = pv__each_draw(ctx, c, data, &visitor);
    if (status != PV_OK) {
        pv__free(ctx, state.log_p);
        pv__free(ctx, state.evidence);
        return status;
    }
    *log_p = state.log_p;
    *evidence = state.evidence;
    return PV_OK;
}
