/* A methods paragraph: the model, its predictors, how it was estimated, and what its intervals assume. */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "base/value.h"
#include "validate/methods.h"

enum { COLUMNS_SHOWN = 25, CANDIDATES_SHOWN = 30 };

static bool is_linear(const pv_classifier *c) {
    return !c->stacked && !c->boosted && !c->schema->image && pv_model_has_coefficients(c->model);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static void say_mixture(pv__methods *m) {
    const pv_stacked *of = m->c->stacked;
    int shown = 0;
    pv__methods_say(m, PV__TOPIC_model, "The model is a mixture (stacking) of");
    for (size_t i = 0; i < of->count; i++)
        if (of->candidate[i].weight > 0 && shown++ < CANDIDATES_SHOWN)
            pv__methods_say(m, PV__TOPIC_model, "%s %s (weight %.2f)", shown > 1 ? "," : "", of->candidate[i].name,
                            of->candidate[i].weight);
    if (of->folds > 1)
        pv__methods_say(m, PV__TOPIC_model,
                        "; of %zu candidates, weights maximise the log score in the target population by "
                        "cross-validation with %lld folds",
                        of->count, (long long)of->folds);
    else
        pv__methods_say(m, PV__TOPIC_model, "; of %zu candidates, weights maximise the log score of rows held out",
                        of->count);
    if (of->repeats > 1)
        pv__methods_say(m, PV__TOPIC_model, ", repeated %lld times", (long long)of->repeats);
    pv__methods_say(m, PV__TOPIC_model, ".");
}

static void say_trees(pv__methods *m) {
    const pv_boosted *of = m->c->boosted;
    pv__methods_say(m, PV__TOPIC_model,
                    "The model is gradient-boosted trees: %lld rounds of depth %lld at a learning rate of %.4g",
                    (long long)of->rounds, (long long)of->depth, of->rate);
    if (of->chosen && of->folds > 1)
        pv__methods_say(m, PV__TOPIC_model, ", the number of rounds chosen by cross-validation with %lld folds",
                        (long long)of->folds);
    else if (of->chosen)
        pv__methods_say(m, PV__TOPIC_model, ", the number of rounds chosen by rows held out");
    pv__methods_say(m, PV__TOPIC_model, ".");
}

static void say_network(pv__methods *m) {
    const pv_classifier *c = m->c;
    pv__methods_say(m, PV__TOPIC_model, "The model is a neural network (%s) with %s parameters",
                    pv__show(pv_model_spec(c->model)).text, pv_group_digits((double)pv_model_params(c->model)).text);
    if (c->schema->image)
        pv__methods_say(m, PV__TOPIC_model, ", over %zu view%s of %zu x %zu pixels of each image",
                        c->schema->image->views, c->schema->image->views == 1 ? "" : "s", c->schema->image->size,
                        c->schema->image->size);
    pv__methods_say(m, PV__TOPIC_model, ".");
}

static void say_model(pv__methods *m) {
    const pv_classifier *c = m->c;
    int features = pv_classifier_features(c);
    const char *s = features == 1 ? "" : "s";
    if (c->stacked)
        say_mixture(m);
    else if (c->boosted)
        say_trees(m);
    else if (c->smoothing)
        pv__methods_say(m, PV__TOPIC_model,
                        "The model is an additive logistic model: smooth curves of numeric columns and shrunken "
                        "categories, %d coefficients in all.",
                        features);
    else if (pv_model_has_thresholds(c->model) && !c->schema->image && features > 0)
        pv__methods_say(m, PV__TOPIC_model,
                        "The model is a proportional-odds model of %d ordered labels, with %d "
                        "slope%s.",
                        c->schema->classes, features, s);
    else if (is_linear(c))
        pv__methods_say(m, PV__TOPIC_model, "The model is %slogistic regression with %d slope%s%s.",
                        pv_loss_is_relative(c->loss) ? "conditional "
                        : c->schema->classes > 2     ? "multinomial "
                                                     : "",
                        features, s, c->schema->classes > 2 ? " for each label but the first" : "");
    else
        say_network(m);
}

/* ---- predictors -------------------------------------------------------------------------------------------------- */

static void say_predictors(pv__methods *m) {
    const pv_schema *schema = m->c->schema;
    size_t first = schema->offset ? 1 : 0, columns = pv_schema_columns(schema), texts = 0, shown = 0;
    if (schema->image || columns == 0)
        return;
    pv__methods_say(m, PV__TOPIC_predictors, "Predictors:");
    for (size_t i = first; i < columns; i++) {
        pv_column_type type;
        const char *name = pv_schema_column(schema, i, &type);
        texts += type == PV_COLUMN_TEXT;
        if (shown++ < COLUMNS_SHOWN)
            pv__methods_say(m, PV__TOPIC_predictors, "%s %s", shown > 1 ? "," : "", pv__show(name).text);
    }
    if (shown > COLUMNS_SHOWN)
        pv__methods_say(m, PV__TOPIC_predictors, " and %zu more", shown - COLUMNS_SHOWN);
    pv__methods_say(m, PV__TOPIC_predictors, ".");
    if (schema->offset)
        pv__methods_say(m, PV__TOPIC_predictors, "%s is an offset, with a coefficient of 1.",
                        pv__show(schema->source[0].name).text);
    if (m->c->stacked || m->c->boosted)
        return;
    if (texts > 0)
        pv__methods_say(m, PV__TOPIC_predictors, "Categories were coded as indicators against a reference level%s.",
                        m->c->smoothing ? ", with the same shrinkage of all levels" : "");
}

/* ---- estimation -------------------------------------------------------------------------------------------------- */

static void say_prior(pv__methods *m) {
    const pv_classifier *c = m->c;
    const pv_fit_options *fit = m->fit;
    const pv__topic topic = PV__TOPIC_estimation;
    if (!fit || c->stacked || c->boosted)
        return;
    if (fit->infer == PV_INFER_ML || fit->infer == PV_INFER_ROBUST || strcmp(fit->prior, "none") == 0)
        pv__methods_say(m, topic, "There was no prior on slopes.");
    else if (c->smoothing && fit->prior_chosen)
        pv__methods_say(m, topic,
                        "Normal priors on slopes, categories and curves have scales chosen from the rows by "
                        "their marginal likelihood.");
    else
        pv__methods_say(m, topic, "The prior on %s was %s%s.",
                        c->schema->image ? "weights" : "slopes of standardised columns", fit->prior,
                        fit->prior_chosen ? ", its scale chosen from the rows" : "");
}

static void say_likelihood(pv__methods *m) {
    static const char *const marginals[] = {
        [PV_MARGINAL_PROFILE] = "the distribution of the predictors profiled out",
        [PV_MARGINAL_PLUGIN] = "the model's label probabilities averaged over the training rows (plug-in)",
        [PV_MARGINAL_AUXILIARY_CONSTANT] = "the model's label probabilities tracked by a constant auxiliary network",
        [PV_MARGINAL_AUXILIARY_LINEAR] = "the model's label probabilities tracked by a linear auxiliary network"};
    const pv_classifier *c = m->c;
    const pv__topic topic = PV__TOPIC_estimation;
    switch (c->loss) {
    case PV_LOSS_IG:
        if (c->label_error)
            pv__methods_say(m, topic,
                            "The model was fitted with the likelihood of the recorded label given the predictors, "
                            "corrected for sampling by that label.");
        else if (c->sample_rows)
            pv__methods_say(m, topic,
                            "The model was fitted with a likelihood corrected for sampling by label, which includes "
                            "the unlabelled rows of the population.");
        else
            pv__methods_say(m, topic,
                            "The model was fitted with a likelihood corrected for sampling by label, with %s.",
                            marginals[c->marginal]);
        break;
    case PV_LOSS_IW:
        pv__methods_say(m, topic,
                        "The model was fitted with class weights: each row counts by the prevalence of its label over "
                        "the label's proportion in the sample.");
        break;
    case PV_LOSS_PLAIN:
        pv__methods_say(m, topic, "The model was fitted to the rows as sampled%s.",
                        c->prevalence ? ", and its predictions were corrected for the stated prevalence" : "");
        break;
    case PV_LOSS_MATCHED:
        pv__methods_say(m, topic, "The model was fitted by conditional likelihood%s.",
                        c->prevalence ? "; the intercept makes the mean risk in the population sample equal to the "
                                        "stated prevalence"
                                      : "");
        break;
    }
}

static void say_combination(pv__methods *m) {
    const pv_combination *of = m->c->combination;
    const pv__topic topic = PV__TOPIC_estimation;
    if (!of || !m->c->prevalence)
        return;
    if (of->controls > 0)
        pv__methods_say(m, topic,
                        "Estimates are weighted to the population, with the unlabelled sample of the "
                        "population as control variates.");
    else if (of->use == PV_ESTIMATE_COMBINED)
        pv__methods_say(m, topic,
                        "Point estimates combine the likelihood estimate and one weighted to the population, "
                        "term by term.");
    else if (of->use == PV_ESTIMATE_WEIGHTED && m->c->loss != PV_LOSS_IW)
        pv__methods_say(m, topic, "Estimates are weighted to the population.");
}

static void say_stop(pv__methods *m) {
    const pv_stop stop = m->c->posterior ? m->c->posterior->stop : m->c->stop;
    if (stop != PV_STOP_CONVERGED && stop != PV_STOP_COMPLETED && stop != PV_STOP_EARLY)
        pv__methods_say(m, PV__TOPIC_estimation, "The fit did not converge (%s).", pv_stop_name(stop));
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

static void say_posterior(pv__methods *m) {
    const pv_posterior *p = m->c->posterior;
    const pv__topic topic = PV__TOPIC_intervals;
    switch (p->kind) {
    case PV_POSTERIOR_LAPLACE:
        pv__methods_say(m, topic, "The posterior was approximated by Laplace's method, with %s draws.",
                        pv_group_digits((double)p->count).text);
        break;
    case PV_POSTERIOR_HMC:
        pv__methods_say(m, topic,
                        "The posterior was sampled by Hamiltonian Monte Carlo (NUTS): %zu chain%s, %s draws, largest "
                        "R-hat %.3f, smallest effective sample size %s.",
                        p->chains, p->chains == 1 ? "" : "s", pv_group_digits((double)p->count).text,
                        pv_posterior_rhat_max(p), pv_group_digits(floor(pv_posterior_ess_min(p))).text);
        break;
    default:
        pv__methods_say(m, topic,
                        "The posterior was approximated by variational inference with a mixture of %zu Gaussians, "
                        "with %s draws.",
                        p->mixture.components, pv_group_digits((double)p->count).text);
    }
    pv__methods_say(m, topic, "Intervals are central %.4g %% credible intervals, which assume that the model is right.",
                    100 * m->options->level);
}

static void say_intervals(pv__methods *m) {
    const pv_classifier *c = m->c;
    const pv_combination *of = c->combination;
    const pv__topic topic = PV__TOPIC_intervals;
    if (c->posterior) {
        say_posterior(m);
        return;
    }
    if (!c->standard_error)
        return;
    pv__methods_say(m, topic, "Coefficients have %.4g %% confidence intervals", 100 * m->options->level);
    if (c->label_error) {
        bool known = isinf(c->label_error->units[0]) && isinf(c->label_error->units[1]) && isinf(c->prevalence_n);
        pv__methods_say(m, topic, " by a sandwich variance%s.",
                        known ? ""
                              : ", to which the delta method adds the uncertainty of the errors and of the prevalence");
        return;
    }
    if (!of || of->use == PV_ESTIMATE_EFFICIENT) {
        pv__methods_say(m, topic, " that assume that the model is right.");
        return;
    }
    bool clusters = pv_result_number(pv_result_get(m->sample, "clusters")) > 0;
    bool hc0 = m->fit && m->fit->errors == PV_ERRORS_HC0;
    pv__methods_say(m, topic, " by a sandwich variance (%s%s)%s, which do not assume that the linear model is right.",
                    hc0        ? "HC0"
                    : clusters ? "CR3"
                               : "HC3",
                    clusters ? ", by cluster" : "",
                    hc0 ? "" : " and Student's t with Satterthwaite's degrees of freedom");
}

static void say_adequacy(pv__methods *m) {
    const pv_combination *of = m->c->combination;
    if (of && of->rank > 0)
        pv__methods_say(m, PV__TOPIC_adequacy,
                        "Hausman's test of the linear model, which compares the two estimates, gave a chi-square of "
                        "%.1f on %lld degree%s of freedom (p = %.2g).",
                        of->statistic, (long long)of->rank, of->rank == 1 ? "" : "s", of->p_value);
}

void pv__methods_model(pv__methods *m) {
    say_model(m);
    say_predictors(m);
    if (!m->c->stacked) /* whose members have their own */
        say_likelihood(m);
    say_combination(m);
    say_prior(m);
    say_stop(m);
    say_intervals(m);
    say_adequacy(m);
}
