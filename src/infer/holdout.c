/* Validation rows: a part of the data that training does not use, and their score.
 *
 *   score  =  - sum_n v_n sum_y t_ny prevalence(y)/m_y log p(y|x_n,w),    m_y = sum_n v_n t_ny over these rows
 *
 * is the negative log-likelihood of a row from the target population (including soft labels), independent of the
 * sample's label proportions. With strata the factor is share_s prevalence_s(y)/m_sy for a row of stratum s. If the
 * loss describes the design, p(y|x,w) is first converted to that population, p(y|x,w) prevalence(y)/design(y),
 * normalised. Without a given prevalence the rows are not weighted.
 */
#include <math.h>
#include <string.h>

#include "data/schema_learn.h"
#include "infer/infer.h"

struct pv__holdout {
    pv__problem problem; /* a problem with the validation rows; borrows */
    double *factor;      /* [classes], prevalence(y)/m_y; with strata [strata][classes] */
    double *shift;       /* [classes], log prevalence(y)/design(y) if the loss describes the design, else 0 */
    double *loglik;      /* [n][classes] */
};

enum { SPLIT_REPEAT = 1 << 30 }; /* a repeat number that no cross-validation reaches */

/* Chooses the number of folds, and of held-out folds, whose proportion is nearest to `share`, such that every fold has
 * a row of each label, in each stratum (or a group).
 */
static void choose_folds(const pv_dataset *data, int32_t strata, const int32_t *group, double share, int64_t *folds,
                         int64_t *held) {
    static const int64_t tried[] = {2, 3, 4, 5, 10, 20};
    int64_t most = (int64_t)data->rows;
    for (int32_t i = 0; i < strata * data->classes && !group; i++) {
        int64_t count = 0;
        for (size_t n = 0; n < data->rows; n++)
            count += data->label[n] == i % data->classes && (strata == 1 || data->stratum[n] == i / data->classes);
        most = count > 0 && count < most ? count : most;
    }
    for (size_t n = 0, groups = 0; n < data->rows && group; n++) {
        groups = (size_t)group[n] + 1 > groups ? (size_t)group[n] + 1 : groups;
        most = (int64_t)groups / 2;
    }
    *folds = 2;
    *held = 1;
    for (size_t i = 0; i < sizeof tried / sizeof *tried; i++) {
        int64_t m = llround(share * (double)tried[i]);
        m = m < 1 ? 1 : m;
        bool nearer = fabs((double)m / (double)tried[i] - share) < fabs((double)*held / (double)*folds - share) - 1e-9;
        if (tried[i] <= most && nearer) {
            *folds = tried[i];
            *held = m;
        }
    }
}

pv_status pv__holdout_split(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options,
                            pv_dataset **learn, pv_dataset **held) {
    int64_t folds, first;
    int32_t *fold;
    size_t *row = NULL, kept = 0, out = data->rows;
    choose_folds(data, schema->strata && data->stratum ? schema->strata->count : 1, data->group, options->validation,
                 &folds, &first);
    PV_TRY(pv__alloc(ctx, data->rows, sizeof *fold, &fold));
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, data->rows, sizeof *row, &row));
    status = pv_folds_make(ctx, schema, data, folds, (uint64_t)options->seed, SPLIT_REPEAT, fold);
    if (status == PV_ERR_INPUT) {
        pv_error why = *pv_ctx_error(ctx);
        status = pv__fail(ctx, status, "`validation=%g`: %s;\nleave `validation` out, or add rows", options->validation,
                          why.message);
    }
    if (status != PV_OK)
        goto done;
    for (size_t n = data->rows; n-- > 0;) /* training rows go to the front, held-out rows to the back, both in order */
        if (fold[n] < first)
            row[--out] = n;
    for (size_t n = 0; n < data->rows; n++)
        if (fold[n] >= first)
            row[kept++] = n;
    PV_GOTO(done, pv_dataset_take(ctx, data, kept, row, learn));
    pv__weights_scale(*learn);
    PV_GOTO(done, pv_dataset_take(ctx, data, data->rows - out, row + out, held));
done:
    pv__free(ctx, fold);
    pv__free(ctx, row);
    return status;
}

pv_status pv__holdout_new(pv_ctx *ctx, const pv__problem *problem, const pv_dataset *held, char *const *labels,
                          pv__holdout **holdout) {
    size_t k = (size_t)problem->targets.classes, sets = pv__ratio_sets(problem);
    PV_TRY(pv__alloc(ctx, 1, sizeof **holdout, holdout));
    pv__holdout *h = *holdout;
    h->problem = *problem;
    h->problem.rows = pv__rows_from(held);
    h->problem.targets = pv_dataset_targets(held);
    PV_TRY(pv__alloc(ctx, held->rows + 1 + sets, k * sizeof *h->loglik, &h->loglik));
    h->factor = h->loglik + held->rows * k;
    h->shift = h->factor + sets * k;
    double total = 0;
    if (pv__strata_of(problem))
        pv__strata_mass(&h->problem.targets, pv__strata_of(problem)->strata, h->factor);
    else
        pv_label_mass(&h->problem.targets, h->factor);
    for (size_t y = 0; y < sets * k; y++) {
        total += h->factor[y];
        if (!(h->factor[y] > 0))
            return pv__fail(ctx, PV_ERR_INPUT,
                            "`validation`: label '%s' has no row among the %zu held out%s;\ngive more", labels[y % k],
                            held->rows, sets > 1 ? ", in one of the strata" : "");
    }
    bool stated = problem->plan->has_prevalence;
    const pv_stratified *strata = pv__strata_of(problem);
    for (size_t i = 0; strata && i < sets * k; i++)
        h->factor[i] = strata->share[i / k] * strata->prevalence[i] / h->factor[i];
    if (strata)
        return PV_OK;
    for (size_t y = 0; y < k; y++) {
        h->factor[y] = stated ? problem->population.prevalence[y] / h->factor[y] : 1 / total;
        if (stated && pv_loss_of_design(pv__problem_loss(problem)))
            h->shift[y] = log(problem->population.prevalence[y] / problem->label_share[y]);
    }
    return PV_OK;
}

void pv__holdout_free(pv_ctx *ctx, pv__holdout *holdout) {
    if (!holdout)
        return;
    pv__free(ctx, holdout->loglik);
    pv__free(ctx, holdout);
}

pv_status pv__holdout_score(pv_ctx *ctx, pv__holdout *h, pv__aboard *aboard, const double *w, double *score) {
    const pv_targets *targets = &h->problem.targets;
    size_t k = (size_t)targets->classes;
    const bool strata = pv__strata_of(&h->problem) != NULL;
    PV_TRY(aboard ? pv__aboard_loglik(ctx, aboard, &h->problem, h->loglik)
                  : pv__objective_loglik(ctx, &h->problem, w, h->loglik));
    *score = 0;
    for (size_t n = 0; n < targets->n; n++) {
        double *row = h->loglik + n * k;
        const double *factor = h->factor + (strata ? (size_t)targets->stratum[n] * k : 0);
        for (size_t y = 0; y < k; y++)
            row[y] += h->shift[y];
        pv_log_softmax(targets->classes, row, row);
        for (size_t y = 0; y < k; y++) {
            double mass = pv__weight(targets, n) * pv__share(targets, n, (int)y);
            if (mass > 0)
                *score -= mass * factor[y] * row[y];
        }
    }
    return PV_OK;
}
