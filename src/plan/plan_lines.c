/* A plan as lines of text: what a fit would do, which option decides it, and the reason for defaults. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

typedef struct writer {
    pv_ctx *ctx;
    const pv__plan *plan;
    const pv__plan_rows *rows;
    const pv_dataset *data;
    pv_plan *made;
} writer;

enum { LINES_MAX = 32, VALUE_MAX = 2000 };

static bool is_default(const pv_fit_options *given, const char *option) {
    const pv_option *row = pv_option_find(pv_fit_option_table, option);
    const pv_fit_options usual = pv_fit_options_default();
    char set[256], fallback[256];
    pv_option_get(row, given, set, sizeof set);
    pv_option_get(row, &usual, fallback, sizeof fallback);
    return strcmp(set, fallback) == 0;
}

/* why NULL: "default" if the option was not given. */
static pv_status PV_PRINTF(5, 6)
    add(const writer *w, const char *name, const char *option, const char *why, const char *format, ...) {
    char text[VALUE_MAX];
    va_list arguments;
    va_start(arguments, format);
    pv__vformat(text, sizeof text, format, arguments);
    va_end(arguments);
    pv_plan_line *line = &w->made->line[w->made->count];
    PV_TRY(pv__strdup(w->ctx, text, &line->value));
    line->name = name;
    line->option = option;
    line->why = why ? why : option && is_default(w->plan->given, option) ? "default" : NULL;
    w->made->count++;
    return PV_OK;
}

/* "no 200, yes 100", for label masses or proportions. */
static const char *by_label(const writer *w, const double *value, char *text, size_t size) {
    size_t used = 0;
    *text = '\0';
    for (int y = 0; y < w->rows->schema->classes && used + 1 < size; y++) {
        int more =
            pv__format(text + used, size - used, "%s%s %.6g", y ? ", " : "", w->rows->schema->labels[y], value[y]);
        used += more > 0 ? (size_t)more : 0;
    }
    return text;
}

/* ---- the sample -------------------------------------------------------------------------------------------------- */

static pv_status tell_data(const writer *w) {
    const pv_dataset *data = w->data;
    char text[VALUE_MAX / 2], left_out[64] = "";
    if (data->dropped)
        pv__format(left_out, sizeof left_out, "; %zu with missing cells left out", data->dropped);
    PV_TRY(add(w, "data", NULL, NULL, "%s: %zu rows%s", data->source ? data->source : "", data->rows, left_out));
    PV_TRY(add(w, "outcome", NULL, w->rows->schema->positive_guessed ? "the last label is the positive one" : NULL,
               "%s: %s", w->rows->schema->target, by_label(w, w->rows->mass, text, sizeof text)));
    if (w->rows->labelled < w->rows->n)
        PV_TRY(add(w, "population sample", NULL, NULL, "%zu rows", w->rows->n - w->rows->labelled));
    return PV_OK;
}

static pv_status tell_design(const writer *w) {
    const pv__design *d = w->rows->design;
    const pv_dataset *data = w->data;
    char strata[48] = "";
    if (d->strata > 1)
        pv__format(strata, sizeof strata, " within %d strata of the population", d->strata);
    if (data->matched)
        return add(w, "design", NULL, NULL, "matched sets");
    PV_TRY(add(w, "design", NULL, NULL, "rows sampled by label%s%s%s", strata,
               data->clustered ? ", in clusters"
               : d->block      ? ", within a survey's strata"
                               : "",
               w->rows->sampling ? ", with sampling weights"
               : data->weight    ? ", with counts"
                                 : ""));
    return PV_OK;
}

static pv_status tell_population(const writer *w) {
    const pv__plan *p = w->plan;
    const pv_fit_options *o = &p->options;
    char text[VALUE_MAX / 2], n[64] = "";
    const char *option = o->phase_one       ? "phase-one"
                         : o->prevalence_by ? "prevalence-by"
                         : o->subcohort > 0 ? "subcohort"
                         : !o->prevalence   ? NULL
                                            : "prevalence";
    if (!p->has_prevalence && pv_loss_is_relative(pv__plan_loss(p)))
        return add(w, "population", NULL, "matched sets do not determine the prevalence", "odds ratios only");
    if (!p->has_prevalence)
        return add(w, "population", NULL, "no prevalence is stated", "the rows");
    if (p->estimated)
        return add(w, "population", NULL, NULL, "the population sample, whose prevalence the fit estimates");
    if (isinf(p->stated_n))
        pv__format(n, sizeof n, "known exactly");
    else
        pv__format(n, sizeof n, "as precise as from %.6g observations", p->stated_n);
    return add(w, "population", option, NULL, "%s, %s", by_label(w, p->prevalence, text, sizeof text), n);
}

/* ---- the model --------------------------------------------------------------------------------------------------- */

static pv_status tell_model(const writer *w) {
    const pv__plan *p = w->plan;
    const pv_fit_options *o = &p->options;
    if (pv__mixes(o))
        PV_TRY(add(w, "model", "model", NULL, "auto, a mixture of candidates"));
    else if (pv__grows(o))
        PV_TRY(add(w, "model", "model", NULL, "%s", o->model));
    else
        PV_TRY(add(w, "model", "model", NULL, "%s, %zu parameters", o->model, pv_model_params(w->rows->model)));
    const char *why = o->loss == PV_LOSS_MATCHED ? "the data are matched sets" : "no `prevalence` is stated";
    PV_TRY(add(w, "loss", "loss", p->given->loss != o->loss ? why : NULL, "%s", pv_loss_name((pv_loss)o->loss)));
    if (p->misread)
        PV_TRY(add(w, "label errors", "label-error", NULL,
                   "sensitivity %.4g and specificity %.4g of the recorded label", p->label_error.correct[1],
                   p->label_error.correct[0]));
    if (pv_loss_has_marginal((pv_loss)o->loss))
        PV_TRY(add(w, "marginal", "marginal", NULL, "%s", pv_marginal_name((pv_marginal)o->marginal)));
    return PV_OK;
}

static const char *prior_text(const pv_prior *prior, char *text, size_t size) {
    if (prior->kind == PV_PRIOR_NONE)
        return "none";
    pv__format(text, size, "%s:%.6g", pv_prior_kind_name(prior->kind),
               prior->kind == PV_PRIOR_STUDENT ? prior->df : prior->scale);
    return text;
}

static pv_status tell_priors(const writer *w) {
    const pv__plan *p = w->plan;
    char text[64];
    if (pv__mixes(p->given))
        return add(w, "candidates", "candidates", NULL, "%s", p->given->candidates);
    if (pv__grows(p->given))
        return add(w, "rounds", "model", NULL, "%s",
                   w->rows->model->trees.stated ? "as stated" : "chosen by cross-validation over units");
    if (!p->map)
        return add(w, "prior", "infer", NULL, "none: maximum likelihood");
    if (p->prior_by_rows && p->model->architecture->has_smooths)
        PV_TRY(add(w, "prior", "prior", NULL,
                   "normal, with scales for slopes, each category and each curve chosen by marginal likelihood"));
    else if (p->prior_by_rows)
        PV_TRY(add(w, "prior", "prior", NULL, "normal, with the scale chosen by marginal likelihood"));
    else if (p->prior_folds >= 2)
        PV_TRY(add(w, "prior", "prior", NULL, "normal, with the scale chosen by cross-validation in %zu folds",
                   p->prior_folds));
    else
        PV_TRY(add(w, "prior", "prior", NULL, "%s on standardised slopes", prior_text(&p->prior, text, sizeof text)));
    if (pv_loss_is_relative(pv__plan_loss(p)))
        return PV_OK; /* no intercept */
    bool counts = p->population.prevalence == p->believed && p->believed,
         none = p->intercept_prior.kind == PV_PRIOR_NONE;
    bool stated = pv_loss_has_marginal(pv__plan_loss(p)) && p->has_prevalence && p->population.prevalence_n > 0;
    return add(w, "intercept prior", "intercept-prior", NULL, "%s",
               counts           ? "the stated prevalence and half an observation of each label"
               : none && stated ? "the stated prevalence"
                                : prior_text(&p->intercept_prior, text, sizeof text));
}

/* ---- the work ---------------------------------------------------------------------------------------------------- */

static pv_status tell_estimate(const writer *w) {
    static const char *const use[] = {
        [PV_ESTIMATE_EFFICIENT] = "the efficient estimate: assumes that the model is right",
        [PV_ESTIMATE_WEIGHTED] = "the weighted estimate: valid even if the linear model is wrong",
        [PV_ESTIMATE_COMBINED] = "the efficient and the weighted estimate, combined term by term",
    };
    const pv__plan *p = w->plan;
    if (pv__mixes(p->given))
        return add(w, "weights", NULL, NULL, "best log score in the population, by cross-validation");
    if (pv__grows(p->given))
        return PV_OK;
    PV_TRY(add(w, "inference", "infer", NULL, "%s%s", pv_inference_name((pv_inference)p->options.infer),
               pv__plan_is_last_layer(p, w->rows->model) ? ", over the last layer" : ""));
    bool sample = w->rows->labelled < w->rows->n && p->use != PV_ESTIMATE_EFFICIENT;
    return pv__plan_is(p, PV_FACT_TWO)
               ? add(w, "estimate", "weighting", NULL, "%s%s", use[p->use],
                     sample ? "; with enough units, weighted with the population sample as control variates" : "")
               : PV_OK;
}

static pv_status tell_training(const writer *w) {
    const pv__plan *p = w->plan;
    const pv_fit_options *o = &p->options;
    if (p->batch == 0)
        return add(w, "optimiser", "batch", NULL, "L-BFGS over all rows, at most %lld iterations, to %.6g per row",
                   (long long)o->max_iter, o->tolerance);
    PV_TRY(add(w, "optimiser", "batch", NULL, "Adam, batches of %zu rows (%s), %lld epochs, rate %.6g (%s)", p->batch,
               o->design, (long long)o->epochs, o->rate, o->schedule));
    if (o->validation > 0)
        PV_TRY(add(w, "validation", "validation", NULL, "%.6g of the rows held out", o->validation));
    return PV_OK;
}

static pv_status tell_rest(const writer *w) {
    const pv__plan *p = w->plan;
    if (p->match != PV_MATCH_NONE)
        PV_TRY(add(w, "match", "match", NULL, "output biases shifted so that the mean risk is the stated prevalence"));
    PV_TRY(add(w, "seed", "seed", NULL, "%lld", (long long)p->options.seed));
    return add(w, "runs on", NULL, NULL, "%s, %d thread%s",
               p->facts & pv__fact_if(true, PV_FACT_DEVICE) ? "the device" : "the processor", pv_ctx_threads(w->ctx),
               pv_ctx_threads(w->ctx) == 1 ? "" : "s");
}

pv_status pv__plan_tell(pv_ctx *ctx, const pv__plan *plan, const pv__plan_rows *rows, const pv_dataset *data,
                        pv_plan **made) {
    static pv_status (*const parts[])(const writer *) = {tell_data,   tell_design,   tell_population, tell_model,
                                                         tell_priors, tell_estimate, tell_training,   tell_rest};
    pv_status status = PV_OK;
    *made = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    const writer w = {.ctx = ctx, .plan = plan, .rows = rows, .data = data, .made = *made};
    status = pv__alloc(ctx, LINES_MAX, sizeof *w.made->line, &w.made->line);
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == PV_OK; i++)
        status = parts[i](&w);
    if (status != PV_OK) {
        pv_plan_free(ctx, *made);
        *made = NULL;
    }
    return status;
}

void pv_plan_free(pv_ctx *ctx, pv_plan *plan) {
    if (!plan)
        return;
    for (size_t i = 0; i < plan->count; i++)
        pv__free(ctx, plan->line[i].value);
    pv__free(ctx, plan->line);
    pv__free(ctx, plan);
}
