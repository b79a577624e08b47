/* Is a fit to be trusted? Each check says what it found and, where that is wrong, what to do.
 *
 * The limits: split R-hat at most 1.01, and 100 effective draws a chain but 400 in all (Vehtari et al. 2021); an ELBO
 * known to 0.1; a model marginal within a factor of 1.5 of the stated prevalence; no standardised slope above 10, which
 * is what separated classes give; no slope whose posterior is as wide as its prior.
 */
#include "cli/checks.h"
#include "cli/classifier.h"
#include "prevail/prevail.h"
#include "tool/console.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

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

cli_check *cli_check_add(cli_checks *checks, const char *name, const char *title, double value) {
    cli_check *check = &checks->check[checks->count < CLI_CHECKS_MAX ? checks->count++ : CLI_CHECKS_MAX - 1];
    *check = (cli_check){.name = name, .title = title, .ok = true, .value = value};
    return check;
}

void cli_check_fail(cli_checks *checks, cli_check *check, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(check->remedy, sizeof check->remedy, format, values);
    va_end(values);
    checks->failed += check->ok;
    check->ok = false;
}

static void say(cli_check *check, const char *format, ...) PV_PRINTF(2, 3);
static void say(cli_check *check, const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(check->text, sizeof check->text, format, values);
    va_end(values);
}

/* ---- stops ------------------------------------------------------------------------------------------------------- */

static bool stopped_well(pv_stop stop) {
    return stop == PV_STOP_CONVERGED || stop == PV_STOP_COMPLETED || stop == PV_STOP_EARLY;
}

/* "converged after 12 steps"; without a count where the work has no steps. */
static void stop_words(pv_stop stop, int64_t steps, char *text, size_t size) {
    static const char *const words[] = {[PV_STOP_CONVERGED] = "converged",
                                        [PV_STOP_COMPLETED] = "ran to its end",
                                        [PV_STOP_MAX_ITER] = "ran out of steps",
                                        [PV_STOP_DIVERGED] = "diverged",
                                        [PV_STOP_INTERRUPTED] = "was interrupted",
                                        [PV_STOP_NO_PROGRESS] = "stopped where no step helped",
                                        [PV_STOP_EARLY] = "stopped early by its validation rows",
                                        [PV_STOP_POOR] = "ran to its end, and failed"};
    if (steps > 0)
        snprintf(text, size, "%s after %lld step%s", words[stop], (long long)steps, steps == 1 ? "" : "s");
    else
        snprintf(text, size, "%s", words[stop]);
}

static void check_optimiser(cli_checks *checks, const pv_classifier *c) {
    cli_check *check = cli_check_add(checks, "optimiser", "Why the optimiser stopped", (double)c->iterations);
    char words[100];
    stop_words(c->stop, c->iterations, words, sizeof words);
    say(check, "The search for the maximum %s.", words);
    if (stopped_well(c->stop))
        return;
    if (c->stop == PV_STOP_DIVERGED)
        cli_check_fail(checks, check, "The coefficients mean nothing: fit again with a lower --rate or a --prior.");
    else if (c->stop == PV_STOP_NO_PROGRESS)
        cli_check_fail(checks, check,
                       "Fit again with a --prior, or a larger --tolerance if the gradient is small enough.");
    else if (c->stop == PV_STOP_MAX_ITER)
        cli_check_fail(checks, check, "Fit again with a larger --max-iter or --epochs.");
    else
        cli_check_fail(checks, check, "Fit again, and let it run to its end.");
}

static void check_engine(cli_checks *checks, const pv_classifier *c) {
    const pv_posterior *p = c->posterior;
    cli_check *check = cli_check_add(checks, "posterior", "Why the posterior's engine stopped", (double)p->iterations);
    char words[100];
    stop_words(p->stop, p->iterations, words, sizeof words);
    say(check, "%s %s.", cli_posterior_name(c), words);
    if (stopped_well(p->stop))
        return;
    if (p->stop == PV_STOP_DIVERGED)
        cli_check_fail(checks, check, "The posterior means nothing: fit again with a stronger --prior%s.",
                       p->kind == PV_POSTERIOR_VI ? " or a lower --vi-rate" : "");
    else if (p->stop == PV_STOP_POOR)
        cli_check_fail(checks, check,
                       "The approximation is not the posterior, and its intervals may be too narrow: fit again with "
                       "--infer hmc%s.",
                       p->kind == PV_POSTERIOR_VI ? ", or with more --steps" : "");
    else if (p->stop == PV_STOP_MAX_ITER && p->kind == PV_POSTERIOR_VI)
        cli_check_fail(checks, check, "Fit again with more --steps.");
    else
        cli_check_fail(checks, check, "Fit again, and let it run to its end.");
}

/* ---- what the engines report ------------------------------------------------------------------------------------- */

static void check_elbo(cli_checks *checks, const pv_classifier *c) {
    const pv_posterior *p = c->posterior;
    cli_check *check = cli_check_add(checks, "elbo_error", "How well the ELBO is known", p->elbo_se);
    say(check, "The ELBO is %.6g with a standard error of %.2g; below %.2g is fine.", p->elbo, p->elbo_se, ELBO_ERROR);
    if (!(p->elbo_se < ELBO_ERROR))
        cli_check_fail(checks, check, "The approximation fits the posterior poorly in places: fit again with more %s.",
                       pv_model_is_convex(c->model) ? "--components and --steps, and compare with --infer hmc"
                                                    : "--steps, a smaller model or a stronger --prior");
}

static void check_gap(cli_checks *checks, const pv_classifier *c) {
    const pv_posterior *p = c->posterior;
    double gap = p->evidence - p->elbo;
    if (!isfinite(p->evidence)) /* a model of before that was known, or an interrupted fit */
        return;
    cli_check *check = cli_check_add(checks, "elbo_gap", "How far the ELBO is below the log evidence", gap);
    say(check, "The ELBO is %.4g, the log evidence about %.4g: %.2g apart; up to %.2g is fine.", p->elbo, p->evidence,
        gap, ELBO_GAP);
    if (gap > ELBO_GAP + 3 * p->elbo_se && !pv_model_is_convex(c->model))
        say(check,
            "The ELBO is %.4g, the log evidence about %.4g: %.2g apart, which is what independent parameters cost a "
            "network.",
            p->elbo, p->evidence, gap);
    else if (!(gap <= ELBO_GAP + 3 * p->elbo_se))
        cli_check_fail(checks, check, "Spreads are likely to be too small: fit again with --infer hmc.");
}

static void check_rhat(cli_checks *checks, const pv_posterior *p) {
    double rhat = cli_rhat_max(p);
    cli_check *check = cli_check_add(checks, "rhat", "Whether the chains agree (split R-hat)", rhat);
    say(check, "The largest split R-hat is %.4f; up to %.2f is fine.%s", rhat, RHAT_FINE,
        rhat <= RHAT_BAD ? "" : " The chains have not mixed, and no result of theirs should be used.");
    if (!(rhat <= RHAT_FINE))
        cli_check_fail(checks, check,
                       "Fit again with more --warmup and --draws; if that does not help, with a stronger "
                       "--prior.");
}

static void check_effective_size(cli_checks *checks, const pv_posterior *p) {
    double ess = cli_ess_min(p), needed = fmax(EFFECTIVE_IN_ALL, EFFECTIVE_PER_CHAIN * (double)p->chains);
    cli_check *check = cli_check_add(checks, "effective_size", "How many independent draws there are", ess);
    say(check, "The smallest effective size is %.0f of %zu draws in %zu chains; from %.0f is fine.", ess, p->count,
        p->chains, needed);
    if (!(ess >= needed))
        cli_check_fail(checks, check, "Fit again with more --draws: interval ends are noisy.");
}

static void check_trajectories(cli_checks *checks, const pv_posterior *p) {
    cli_check *check =
        cli_check_add(checks, "divergences", "Whether the sampler's paths diverged", (double)p->divergences);
    say(check, "%lld of %zu steps after the warm-up diverged.", (long long)p->divergences, p->count);
    if (p->divergences > 0)
        cli_check_fail(checks, check,
                       "Parts of the posterior were not reached: fit again with a stronger --prior or more --warmup.");
    check =
        cli_check_add(checks, "tree_depth", "Whether the sampler's paths were cut short", (double)p->max_depth_hits);
    say(check, "%lld of %zu steps reached the largest tree depth.", (long long)p->max_depth_hits, p->count);
    if ((double)p->max_depth_hits > DEPTH_SHARE * (double)p->count)
        cli_check_fail(checks, check,
                       "Draws are fewer than they look: fit again with more --warmup, or a stronger "
                       "--prior.");
}

void cli_check_posterior(cli_checks *checks, const pv_classifier *c) {
    if (!c->posterior)
        return;
    check_engine(checks, c);
    if (c->posterior->kind == PV_POSTERIOR_VI) {
        check_elbo(checks, c);
        check_gap(checks, c);
    }
    if (c->posterior->kind != PV_POSTERIOR_HMC)
        return;
    check_rhat(checks, c->posterior);
    check_effective_size(checks, c->posterior);
    check_trajectories(checks, c->posterior);
}

/* ---- what the fit itself says ------------------------------------------------------------------------------------ */

/* A sample of the population stood for its prevalence: does it tell? Only a posterior knows. */
static void check_estimated(cli_checks *checks, const pv_classifier *c) {
    cli_spread *marginal = cli_alloc((size_t)c->classes, sizeof *marginal);
    cli_marginal_spreads(c, CLI_LEVEL, marginal);
    int worst = 0;
    for (int y = 1; y < c->classes; y++)
        if (marginal[y].hi / marginal[y].lo > marginal[worst].hi / marginal[worst].lo)
            worst = y;
    double ratio = marginal[worst].hi / marginal[worst].lo;
    cli_check *check = cli_check_add(checks, "prevalence", "Whether the population sample tells the prevalence", ratio);
    if (!c->posterior)
        say(check, "The prevalence was estimated from %zu rows of %.200s; only a posterior knows how well.",
            c->sample_rows, c->sample_source);
    else
        say(check,
            "Label %.100s has probability %.3g in the model, with a 90 %% interval from %.3g to %.3g; ends a factor of "
            "%.2g apart are fine.",
            c->labels[worst], marginal[worst].mean, marginal[worst].lo, marginal[worst].hi, ESTIMATED_RATIO);
    if (!c->posterior)
        cli_check_fail(checks, check, "Fit again with --infer hmc or vi.");
    else if (c->posterior->kind == PV_POSTERIOR_LAPLACE && !(ratio <= ESTIMATED_RATIO))
        cli_check_fail(
            checks, check,
            "So wide a posterior is no Gaussian: fit again with --infer hmc or vi, or state the --prevalence "
            "as well as it is known.");
    else if (!(ratio <= ESTIMATED_RATIO))
        cli_check_fail(checks, check,
                       "The sample hardly tells the prevalence: state it with --prevalence, as well as it is known, or "
                       "bring more cases and controls.");
    free(marginal);
}

void cli_check_marginal(cli_checks *checks, const pv_classifier *c) {
    if (pv_loss_of_design(c->loss) || !c->prevalence)
        return;
    if (c->estimated) {
        check_estimated(checks, c);
        return;
    }
    cli_spread *marginal = cli_alloc((size_t)c->classes, sizeof *marginal);
    cli_marginal_spreads(c, CLI_LEVEL, marginal);
    int worst = 0;
    double farthest = -1;
    for (int y = 0; y < c->classes; y++) {
        double distance = fabs(log(marginal[y].mean / c->prevalence[y]));
        if (!(distance <= farthest)) {
            farthest = distance;
            worst = y;
        }
    }
    double ratio = marginal[worst].mean / c->prevalence[worst];
    cli_check *check = cli_check_add(checks, "prevalence", "Whether the model has the stated prevalence", ratio);
    say(check,
        "Label %.100s has probability %.4g in the model, stated was %.4g: a ratio of %.3g; within a factor of %.2g is "
        "fine.",
        c->labels[worst], marginal[worst].mean, c->prevalence[worst], ratio, MARGINAL_RATIO);
    if (!(farthest <= log(MARGINAL_RATIO)))
        cli_check_fail(checks, check,
                       "Fit again with --prevalence-n known, or a larger --prevalence-n, if the stated "
                       "prevalence is right.");
    free(marginal);
}

/* "column", or "column (label)" where there are several coefficients of one column. */
static void slope_name(const pv_classifier *c, size_t parameter, char *text, size_t size) {
    size_t stride = (size_t)c->encoding->features + 1;
    const char *feature = c->encoding->feature[parameter % stride - 1];
    if (c->classes == 2)
        snprintf(text, size, "%.120s", feature);
    else
        snprintf(text, size, "%.100s (label %.60s)", feature, c->labels[parameter / stride + 1]);
}

/* spreads: NULL without a posterior. */
static void check_separation(cli_checks *checks, const pv_classifier *c, const cli_spread *spreads) {
    size_t worst = 0;
    double largest = -1;
    for (size_t i = 0; i < pv_model_params(c->model); i++) {
        double size = fabs(spreads ? spreads[i].mean : c->w[i]);
        if (!pv_model_is_bias(c->model, i) && !(size <= largest)) {
            largest = size;
            worst = i;
        }
    }
    if (largest == -1)
        return;
    char name[200];
    slope_name(c, worst, name, sizeof name);
    cli_check *check = cli_check_add(checks, "separation", "Whether a column separates the classes", largest);
    say(check, "The largest coefficient of a standardised column is %.3g, of %s; up to %.0f is fine.", largest, name,
        SLOPE_LARGE);
    if (!(largest <= SLOPE_LARGE))
        cli_check_fail(checks, check,
                       "Look at that column: it may be the outcome in disguise. Leave it out with --exclude, or fit "
                       "with a stronger --prior.");
}

static void check_prior(cli_checks *checks, const pv_classifier *c, const pv_prior *prior, const cli_spread *spreads) {
    size_t worst = 0, count = 0;
    double largest = -1;
    for (size_t i = 0; i < pv_model_params(c->model); i++) {
        if (pv_model_is_bias(c->model, i))
            continue;
        double share = spreads[i].sd / prior->scale;
        count += share <= PRIOR_SHARE ? 0 : 1;
        if (!(share <= largest)) {
            largest = share;
            worst = i;
        }
    }
    if (largest == -1)
        return;
    char name[200];
    slope_name(c, worst, name, sizeof name);
    cli_check *check = cli_check_add(checks, "prior_weight", "How much the prior decides", largest);
    if (largest <= PRIOR_SHARE) {
        say(check,
            "The widest posterior of a standardised slope, of %s, is %.2g times as wide as its prior; up to %.2g is "
            "fine.",
            name, largest, PRIOR_SHARE);
        return;
    }
    say(check, "The data say little about %s: its posterior is %.2g times as wide as its prior, which decides.%s", name,
        largest, count > 1 ? " Other columns are like it." : "");
    cli_check_fail(checks, check,
                   "Choose --prior by what is known of that column, leave it out, or collect more rows.");
}

int cli_check_model(cli_call *call, cli_checks *checks, const pv_classifier *c, const pv_fit_options *options) {
    check_optimiser(checks, c);
    cli_check_posterior(checks, c);
    cli_check_marginal(checks, c);
    if (!pv_model_has_coefficients(c->model))
        return CLI_OK;
    cli_spread *spreads = c->posterior ? cli_parameter_spreads(c, CLI_LEVEL) : NULL;
    check_separation(checks, c, spreads);
    pv_prior prior = {0};
    pv_status status = pv_prior_parse(call->ctx, "--prior", options->prior, &prior);
    if (status == PV_OK && spreads && prior.kind == PV_PRIOR_NORMAL)
        check_prior(checks, c, &prior, spreads);
    free(spreads);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}
