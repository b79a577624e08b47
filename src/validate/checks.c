/* Diagnosis of a fit. Each check reports what it found and, if there is a problem, what to do.
 *
 * The limits: split R-hat at most 1.01; 100 effective draws per chain, but no more than 400 in all (Vehtari et al.
 * 2021); an ELBO known to within 0.1; a model marginal within a factor of 1.5 of the given prevalence; no standardised
 * slope above 10, which separated classes produce; no slope whose posterior is as wide as its prior.
 */
#include <math.h>
#include <stdarg.h>

#include "base/text.h"
#include "infer/infer.h"
#include "prevail/report.h"
#include "validate/checks.h"

#define RHAT_FINE 1.01
#define RHAT_BAD 1.05
#define EFFECTIVE_PER_CHAIN 100.0
#define EFFECTIVE_IN_ALL 400.0
#define ELBO_ERROR 0.1
#define ELBO_GAP 0.5
#define DEPTH_SHARE 0.01
#define MARGINAL_RATIO 1.5
#define ESTIMATED_RATIO 20.0
#define SLOPE_LARGE 10.0
#define PRIOR_SHARE 0.9
#define LEVEL 0.95 /* of the intervals */

pv_check *pv__check_add(pv_diagnosis *found, const char *name, const char *title, double value) {
    pv_check *check = &found->check[found->count < PV_CHECKS_MAX ? found->count++ : PV_CHECKS_MAX - 1];
    *check = (pv_check){.name = name, .title = title, .ok = true, .value = value};
    return check;
}

void pv__check_say(pv_check *check, const char *format, ...) {
    va_list values;
    va_start(values, format);
    pv__vformat(check->text, sizeof check->text, format, values);
    va_end(values);
}

void pv__check_fail(pv_diagnosis *found, pv_check *check, const char *format, ...) {
    va_list values;
    va_start(values, format);
    pv__vformat(check->remedy, sizeof check->remedy, format, values);
    va_end(values);
    found->failed += check->ok;
    check->ok = false;
}

static void warn_if_failed(pv_check *check) {
    if (!check->ok)
        pv__format(check->warning, sizeof check->warning, "%s %s", check->text, check->remedy);
}

void pv__parameter_moments(const pv_classifier *c, double *mean, double *sd) {
    const pv_posterior *p = c->posterior;
    for (size_t j = 0; j < pv_model_params(c->model); j++) {
        double sum = 0, squares = 0;
        for (size_t i = 0; p && i < p->count; i++)
            sum += p->draws[i * p->dims + j];
        mean[j] = p ? sum / (double)p->count : c->w[j];
        for (size_t i = 0; p && i < p->count; i++)
            squares += (p->draws[i * p->dims + j] - mean[j]) * (p->draws[i * p->dims + j] - mean[j]);
        if (p && sd)
            sd[j] = p->count > 1 ? sqrt(squares / (double)(p->count - 1)) : 0;
    }
}

/* ---- stops ------------------------------------------------------------------------------------------------------- */

static bool stopped_well(pv_stop stop) {
    return stop == PV_STOP_CONVERGED || stop == PV_STOP_COMPLETED || stop == PV_STOP_EARLY;
}

/* "converged after 12 steps"; without a number if the work has no steps. */
static void stop_words(pv_stop stop, int64_t steps, char *text, size_t size) {
    static const char *const words[] = {[PV_STOP_CONVERGED] = "converged",
                                        [PV_STOP_COMPLETED] = "finished",
                                        [PV_STOP_MAX_ITER] = "reached the largest number of steps",
                                        [PV_STOP_DIVERGED] = "diverged",
                                        [PV_STOP_INTERRUPTED] = "was interrupted",
                                        [PV_STOP_NO_PROGRESS] = "stopped because no step improved the loss",
                                        [PV_STOP_EARLY] = "stopped early, by the validation rows",
                                        [PV_STOP_POOR] = "finished, and failed"};
    if (steps > 0)
        pv__format(text, size, "%s after %lld step%s", words[stop], (long long)steps, steps == 1 ? "" : "s");
    else
        pv__format(text, size, "%s", words[stop]);
}

/* Sets the warning that a fit prints about its stop. */
static void warn_of_stop(pv_check *check, pv_stop stop, int64_t steps) {
    char *to = check->warning;
    const size_t size = sizeof check->warning;
    switch (stop) {
    case PV_STOP_CONVERGED:
    case PV_STOP_COMPLETED:
    case PV_STOP_EARLY:
    case PV_STOP_POOR: /* occurs for posteriors only */
        break;
    case PV_STOP_MAX_ITER:
        pv__format(to, size, "stopped after %lld steps before it converged; raise `max-iter` or `epochs`",
                   (long long)steps);
        break;
    case PV_STOP_DIVERGED:
        pv__format(to, size, "diverged: the model is meaningless; try a tenth of the `rate`, or a `prior`");
        break;
    case PV_STOP_INTERRUPTED:
        pv__format(to, size, "interrupted after %lld steps", (long long)steps);
        break;
    case PV_STOP_NO_PROGRESS:
        pv__format(to, size, "stopped where no step improved the loss, before the tolerance was met");
        break;
    }
}

static void check_optimiser(pv_diagnosis *found, const pv_classifier *c) {
    pv_check *check = pv__check_add(found, "optimiser", "Why the optimiser stopped", (double)c->iterations);
    char words[100];
    stop_words(c->stop, c->iterations, words, sizeof words);
    pv__check_say(check, "The optimiser %s.", words);
    warn_of_stop(check, c->stop, c->iterations);
    if (stopped_well(c->stop))
        return;
    if (c->stop == PV_STOP_DIVERGED)
        pv__check_fail(found, check, "The coefficients are meaningless: fit again with a lower `rate` or a `prior`.");
    else if (c->stop == PV_STOP_NO_PROGRESS)
        pv__check_fail(found, check,
                       "Fit again with a `prior`, or a larger `tolerance` if the gradient is small enough.");
    else if (c->stop == PV_STOP_MAX_ITER)
        pv__check_fail(found, check, "Fit again with a larger `max-iter` or `epochs`.");
    else
        pv__check_fail(found, check, "Fit again, and let it finish.");
}

static void check_engine(pv_diagnosis *found, const pv_classifier *c) {
    const pv_posterior *p = c->posterior;
    pv_check *check = pv__check_add(found, "posterior", "Why the posterior computation stopped", (double)p->iterations);
    char words[100];
    stop_words(p->stop, p->iterations, words, sizeof words);
    pv__check_say(check, "%s %s.", pv_posterior_kind_name(p->kind), words);
    if (stopped_well(p->stop))
        return;
    if (p->stop == PV_STOP_DIVERGED)
        pv__check_fail(found, check, "The posterior is meaningless: fit again with a stronger `prior`%s.",
                       p->kind == PV_POSTERIOR_VI ? " or a lower `vi-rate`" : "");
    else if (p->stop == PV_STOP_MAX_ITER && p->kind == PV_POSTERIOR_VI)
        pv__check_fail(found, check, "Fit again with more `steps`.");
    else if (p->stop == PV_STOP_POOR && p->kind == PV_POSTERIOR_HMC)
        pv__check_fail(found, check,
                       "The chains did not mix, so that draws and intervals do not represent the posterior: fit again "
                       "with more `warmup` and `draws`, or with a stronger `prior`.");
    else if (p->stop == PV_STOP_POOR)
        pv__check_fail(found, check,
                       "The approximation is poor, and its intervals may be too narrow: fit again with `infer=hmc`%s.",
                       p->kind == PV_POSTERIOR_VI ? ", or with more `steps`" : "");
    else
        pv__check_fail(found, check, "Fit again, and let it finish.");
}

/* ---- reports of the engines -------------------------------------------------------------------------------------- */

static void check_elbo(pv_diagnosis *found, const pv_classifier *c) {
    const pv_posterior *p = c->posterior;
    pv_check *check = pv__check_add(found, "elbo_error", "Standard error of the ELBO", p->elbo_se);
    pv__check_say(check, "The ELBO is %.6g with a standard error of %.2g; below %.2g is fine.", p->elbo, p->elbo_se,
                  ELBO_ERROR);
    if (!(p->elbo_se < ELBO_ERROR))
        pv__check_fail(found, check, "The approximation fits the posterior poorly in places: fit again with more %s.",
                       pv_model_is_convex(c->model) ? "`components` and `steps`, and compare with `infer=hmc`"
                                                    : "`steps`, a smaller model or a stronger `prior`");
}

static void check_gap(pv_diagnosis *found, const pv_classifier *c) {
    const pv_posterior *p = c->posterior;
    double gap = p->evidence - p->elbo;
    if (!isfinite(p->evidence)) /* a model from an older version, or an interrupted fit */
        return;
    pv_check *check = pv__check_add(found, "elbo_gap", "Gap between the ELBO and the log evidence", gap);
    pv__check_say(check, "The ELBO is %.4g, the log evidence about %.4g: %.2g apart; up to %.2g is fine.", p->elbo,
                  p->evidence, gap, ELBO_GAP);
    if (gap > ELBO_GAP + 3 * p->elbo_se && !pv_model_is_convex(c->model))
        pv__check_say(check,
                      "The ELBO is %.4g, the log evidence about %.4g: %.2g apart, as expected when a network's "
                      "parameters are taken as independent.",
                      p->elbo, p->evidence, gap);
    else if (!(gap <= ELBO_GAP + 3 * p->elbo_se))
        pv__check_fail(found, check, "Spreads are likely to be too small: fit again with `infer=hmc`.");
}

static void check_rhat(pv_diagnosis *found, const pv_posterior *p) {
    double rhat = pv_posterior_rhat_max(p);
    pv_check *check = pv__check_add(found, "rhat", "Whether the chains agree (split R-hat)", rhat);
    pv__check_say(check, "The largest split R-hat is %.4f; up to %.2f is fine.%s", rhat, RHAT_FINE,
                  rhat <= RHAT_BAD ? "" : " The chains have not mixed: do not use their results.");
    if (!(rhat <= RHAT_FINE))
        pv__check_fail(found, check,
                       "Fit again with more `warmup` and `draws`; if that does not help, with a stronger "
                       "`prior`.");
}

static void check_effective_size(pv_diagnosis *found, const pv_posterior *p) {
    double ess = pv_posterior_ess_min(p), needed = fmax(EFFECTIVE_IN_ALL, EFFECTIVE_PER_CHAIN * (double)p->chains);
    pv_check *check = pv__check_add(found, "effective_size", "Effective sample size", ess);
    pv__check_say(check, "The smallest effective size is %.0f of %zu draws in %zu chains; from %.0f is fine.", ess,
                  p->count, p->chains, needed);
    if (!(ess >= needed))
        pv__check_fail(found, check, "Fit again with more `draws`: interval ends are noisy.");
}

static void check_trajectories(pv_diagnosis *found, const pv_posterior *p) {
    pv_check *check =
        pv__check_add(found, "divergences", "Whether the sampler's paths diverged", (double)p->divergences);
    pv__check_say(check, "%lld of %zu steps after the warm-up diverged.", (long long)p->divergences, p->count);
    if (p->divergences > 0)
        pv__check_fail(found, check,
                       "Parts of the posterior were not reached: fit again with a stronger `prior` or more `warmup`.");
    check = pv__check_add(found, "tree_depth", "Whether the sampler's paths were cut short", (double)p->max_depth_hits);
    pv__check_say(check, "%lld of %zu steps reached the largest tree depth.", (long long)p->max_depth_hits, p->count);
    if ((double)p->max_depth_hits > DEPTH_SHARE * (double)p->count)
        pv__check_fail(
            found, check,
            "There are fewer effective draws than expected: fit again with more `warmup`, or a stronger `prior`.");
}

static void check_posterior(pv_diagnosis *found, const pv_classifier *c) {
    if (!c->posterior)
        return;
    size_t begin = found->count;
    check_engine(found, c);
    if (c->posterior->kind == PV_POSTERIOR_VI) {
        check_elbo(found, c);
        check_gap(found, c);
    }
    if (c->posterior->kind == PV_POSTERIOR_HMC) {
        check_rhat(found, c->posterior);
        check_effective_size(found, c->posterior);
        check_trajectories(found, c->posterior);
    }
    for (size_t i = begin; i < found->count; i++)
        warn_if_failed(&found->check[i]);
}

/* ---- reports of the fit ------------------------------------------------------------------------------------------ */

/* The prevalence was estimated from a population sample: checks whether that sample is informative. Requires a
 * posterior. */
static void check_estimated(pv_diagnosis *found, const pv_classifier *c, const pv_spread *marginal) {
    int worst = 0;
    for (int y = 1; y < c->schema->classes; y++)
        if (marginal[y].hi / marginal[y].lo > marginal[worst].hi / marginal[worst].lo)
            worst = y;
    double ratio = marginal[worst].hi / marginal[worst].lo;
    pv_check *check =
        pv__check_add(found, "prevalence", "Whether the population sample determines the prevalence", ratio);
    if (!c->posterior)
        pv__check_say(check, "The prevalence was estimated from %s rows of %.200s, without an interval.",
                      pv_group_digits((double)c->sample_rows).text, c->sample_source);
    else
        pv__check_say(check,
                      "Label %.100s has probability %.3g in the model (95 %% interval %.3g to %.3g); bounds up to a "
                      "factor of %.2g apart are fine.",
                      c->schema->labels[worst], marginal[worst].mean, marginal[worst].lo, marginal[worst].hi,
                      ESTIMATED_RATIO);
    if (!c->posterior)
        pv__check_fail(found, check, "Fit again with `infer=hmc` or vi.");
    else if (c->posterior->kind == PV_POSTERIOR_LAPLACE && !(ratio <= ESTIMATED_RATIO))
        pv__check_fail(found, check,
                       "A posterior this wide is not Gaussian: fit again with `infer=hmc` or vi, or state the "
                       "`prevalence` as well as it is known.");
    else if (!(ratio <= ESTIMATED_RATIO))
        pv__check_fail(found, check,
                       "The sample hardly determines the prevalence: state it with `prevalence`, as well as it is "
                       "known, or add more cases and controls.");
    warn_if_failed(check);
}

/* Advice on bringing the model's marginal closer to the given prevalence. */
static const char *marginal_remedy(const pv_classifier *c) {
    if (pv_loss_has_marginal(c->loss))
        return "`prevalence-n=known` makes them equal";
    if (c->posterior) /* a weighted likelihood is not a likelihood */
        return "`loss=ig` with `infer=robust` gives the weighted estimate with valid intervals";
    return "`match=full` makes them equal";
}

static void check_stated(pv_diagnosis *found, const pv_classifier *c, const pv_spread *marginal) {
    int worst = 0, first = -1;
    double farthest = -1;
    for (int y = 0; y < c->schema->classes; y++) {
        double distance = fabs(log(marginal[y].mean / c->prevalence[y]));
        if (first < 0 && distance > log(MARGINAL_RATIO))
            first = y;
        if (pv__worse(distance, farthest)) {
            farthest = distance;
            worst = y;
        }
    }
    double ratio = marginal[worst].mean / c->prevalence[worst];
    pv_check *check = pv__check_add(found, "prevalence", "Whether the model has the stated prevalence", ratio);
    pv__check_say(check,
                  "Label %.100s has probability %.4g in the model; %.4g was stated, a ratio of %.3g. Within a factor "
                  "of %.2g is fine.",
                  c->schema->labels[worst], marginal[worst].mean, c->prevalence[worst], ratio, MARGINAL_RATIO);
    if (!(farthest <= log(MARGINAL_RATIO)))
        pv__check_fail(found, check, "If the stated prevalence is right: %s.", marginal_remedy(c));
    if (first >= 0)
        pv__format(check->warning, sizeof check->warning,
                   "label %s has probability %.3g in the model, but %.3g was stated; %s", c->schema->labels[first],
                   marginal[first].mean, c->prevalence[first], marginal_remedy(c));
}

static pv_status check_marginal(pv_ctx *ctx, pv_diagnosis *found, const pv_classifier *c) {
    if (pv_loss_of_design(c->loss) || !c->prevalence)
        return PV_OK;
    pv_spread *marginal;
    PV_TRY(pv__alloc(ctx, (size_t)c->schema->classes, sizeof *marginal, &marginal));
    pv_status status = pv__marginal_spreads(ctx, c, LEVEL, marginal);
    if (status == PV_OK)
        (c->estimated ? check_estimated : check_stated)(found, c, marginal);
    pv__free(ctx, marginal);
    return status;
}

/* "column", or "column (label)" if a column has several coefficients. */
static void slope_name(const pv_classifier *c, size_t parameter, char *text, size_t size) {
    size_t skip = c->schema->offset, stride = (size_t)c->schema->features - skip + 1;
    const char *feature = c->schema->feature[parameter % stride - 1 + skip];
    if (c->schema->classes == 2)
        pv__format(text, size, "%.120s", feature);
    else
        pv__format(text, size, "%.100s (label %.60s)", feature, c->schema->labels[parameter / stride + 1]);
}

/* Reports rows that columns separate perfectly, so that the prior determines the coefficients. Returns whether there
 * are any. */
static bool tell_separation(pv_diagnosis *found, const pv_classifier *c, pv_check *check) {
    const int64_t offsets = c->schema->offset ? 1 : 0; /* comes first among the columns, and has no coefficient */
    int64_t alone = c->separated, part = PV_SEPARATED_TOGETHER - c->separated;
    if (alone > offsets && alone <= c->schema->features) {
        pv__check_say(check,
                      "The values of %.120s separate the labels perfectly: only the prior limits its coefficient.",
                      c->schema->feature[alone - 1]);
        pv__check_fail(found, check,
                       "Look at that column: it may be the outcome in disguise. Leave it out with `exclude`.");
    } else if (c->separated == PV_SEPARATED_TOGETHER) {
        pv__check_say(check, "The columns together separate the labels of all rows perfectly: only the prior limits "
                             "their coefficients.");
        pv__check_fail(
            found, check,
            "Collect more rows or use fewer columns; look for one that is the outcome in disguise, and leave "
            "it out with `exclude`.");
    } else if (part > offsets && part <= c->schema->features) {
        pv__check_say(check,
                      "%.120s determines the label of some rows (quasi-complete separation): only the prior limits its "
                      "coefficient.",
                      c->schema->feature[part - 1]);
        pv__check_fail(found, check,
                       "Merge the level with another, collect more rows, or choose an informative `prior`.");
    } else {
        return false;
    }
    return true;
}

/* The check of single columns, which applies to larger tables, warns if one column separates the labels by itself. */
static void warn_of_separation(const pv_classifier *c, pv_check *check) {
    bool told = false;
    for (size_t s = 0; s < c->schema->sources; s++)
        told |= c->schema->source[s].auc > 0;
    if (c->separated != PV_SEPARATED_NOT && !(told && c->separated > 0))
        warn_if_failed(check);
}

static void check_separation(pv_diagnosis *found, const pv_classifier *c, const double *mean) {
    size_t worst = 0;
    double largest = -1;
    for (size_t i = 0; i < pv_model_params(c->model); i++) {
        double size = fabs(mean[i]);
        if (!pv_model_is_bias(c->model, i) && pv__worse(size, largest)) {
            largest = size;
            worst = i;
        }
    }
    if (largest == -1)
        return;
    char name[200];
    slope_name(c, worst, name, sizeof name);
    pv_check *check = pv__check_add(found, "separation", "Whether a column separates the classes", largest);
    pv__check_say(check, "The largest coefficient of a standardised column is %.3g, of %s; up to %.0f is fine.",
                  largest, name, SLOPE_LARGE);
    if (!tell_separation(found, c, check) && !(largest <= SLOPE_LARGE))
        pv__check_fail(found, check,
                       "Look at that column: it may be the outcome in disguise. Leave it out with `exclude`, or fit "
                       "with a stronger `prior`.");
    warn_of_separation(c, check);
}

/* For models whose coefficients cannot be checked, including ordinal ones. */
static void check_separated(pv_diagnosis *found, const pv_classifier *c) {
    if (c->separated == PV_SEPARATED_NOT)
        return;
    pv_check *check = pv__check_add(found, "separation", "Whether a column separates the classes", 0);
    (void)tell_separation(found, c, check);
    warn_of_separation(c, check);
}

static void check_prior(pv_diagnosis *found, const pv_classifier *c, const pv_prior *prior, const double *sd) {
    size_t worst = 0, count = 0;
    double largest = -1;
    for (size_t i = 0; i < pv_model_params(c->model); i++) {
        if (pv_model_is_bias(c->model, i))
            continue;
        double share = sd[i] / prior->scale;
        count += share <= PRIOR_SHARE ? 0 : 1;
        if (pv__worse(share, largest)) {
            largest = share;
            worst = i;
        }
    }
    if (largest == -1)
        return;
    char name[200];
    slope_name(c, worst, name, sizeof name);
    pv_check *check = pv__check_add(found, "prior_weight", "Influence of the prior", largest);
    if (largest <= PRIOR_SHARE) {
        pv__check_say(
            check,
            "The widest posterior of a standardised slope, of %s, is %.2g times as wide as its prior; up to %.2g is "
            "fine.",
            name, largest, PRIOR_SHARE);
        return;
    }
    pv__check_say(check,
                  "The data carry little information about %s: its posterior is %.2g times as wide as its prior.%s",
                  name, largest, count > 1 ? " Other columns are similar." : "");
    pv__check_fail(found, check, "Choose an informative `prior`, leave the column out, or collect more rows.");
}

/* A column that predicts the label perfectly was most often derived from it, or known only afterwards. */
static void check_leaks(pv_diagnosis *found, const pv_classifier *c) {
    const pv_source_column *worst = NULL;
    size_t count = 0;
    for (size_t s = 0; s < c->schema->sources; s++) {
        const pv_source_column *source = &c->schema->source[s];
        count += source->auc > 0;
        if (source->auc > 0 && (!worst || source->auc > worst->auc))
            worst = source;
    }
    if (!worst)
        return;
    pv_check *check = pv__check_add(found, "leak", "Whether a column reveals the labels", worst->auc);
    char more[48] = "";
    if (count > 1)
        pv__format(more, sizeof more, ", and so does %s%zu more", count > 2 ? "each of " : "", count - 1);
    pv__check_say(check, "Column '%s' alone separates the labels (AUC %.4f)%s.", pv__show(worst->name).text, worst->auc,
                  more);
    pv__check_fail(found, check,
                   "If it is computed from the labels, or known only after them, leave it out with `exclude=%s`; "
                   "otherwise the model's results cannot be trusted.",
                   pv__show_item(worst->name).text);
    warn_if_failed(check);
}

static pv_status check_slopes(pv_ctx *ctx, pv_diagnosis *found, const pv_classifier *c, const pv_fit_options *fit) {
    size_t params = pv_model_params(c->model);
    if (!pv_model_has_coefficients(c->model)) {
        check_separated(found, c);
        return PV_OK;
    }
    pv_prior prior;
    double *mean = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, 2 * params, sizeof *mean, &mean));
    PV_GOTO(done, pv_prior_parse(ctx, "prior", fit->prior, &prior));
    pv__parameter_moments(c, mean, mean + params);
    check_separation(found, c, mean);
    if (c->posterior && prior.kind == PV_PRIOR_NORMAL)
        check_prior(found, c, &prior, mean + params);
done:
    pv__free(ctx, mean);
    return status;
}

/* ---- all checks -------------------------------------------------------------------------------------------------- */

static pv_status check_all(pv_ctx *ctx, pv_diagnosis *found, const pv_classifier *c, const pv_fit_options *fit,
                           const pv_diagnose_options *options) {
    check_optimiser(found, c);
    check_leaks(found, c);
    check_posterior(found, c);
    PV_TRY(check_marginal(ctx, found, c));
    pv__check_weighting(found, c);
    PV_TRY(check_slopes(ctx, found, c, fit));
    return options->data && !c->sample_source ? pv__check_data(ctx, found, c, fit, options) : PV_OK;
}

pv_status pv_diagnose(pv_ctx *ctx, const pv_classifier *classifier, const pv_diagnose_options *options,
                      pv_diagnosis **diagnosis) {
    static const pv_diagnose_options none = {0};
    const pv_diagnose_options *how = options ? options : &none;
    pv_fit_options *recorded = NULL;
    pv_diagnosis *found = NULL;
    *diagnosis = NULL;
    pv_status status;
    PV_GOTO(done, pv_classifier_options(ctx, classifier, &recorded));
    pv_fit_options fit = how->fit ? *how->fit : *recorded;
    fit.prior = classifier->smoothing ? "none" : recorded->prior; /* the prior as it was used; curves have several */
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *found, &found));
    PV_GOTO(done, pv__alloc(ctx, PV_CHECKS_MAX, sizeof *found->check, &found->check));
    PV_GOTO(done, check_all(ctx, found, classifier, &fit, how));
    *diagnosis = found;
    found = NULL;
done:
    pv_diagnosis_free(ctx, found);
    pv_fit_options_free(ctx, recorded);
    return status;
}

void pv_diagnosis_free(pv_ctx *ctx, pv_diagnosis *diagnosis) {
    if (!diagnosis)
        return;
    pv__free(ctx, diagnosis->check);
    pv__free(ctx, diagnosis);
}
