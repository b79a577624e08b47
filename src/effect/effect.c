/* How much an exposure changes the risk in the population: the settings, and the way from a table to a result. */
#include <string.h>

#include "base/text.h"
#include "effect/effect.h"

#define ROW(type, name, field, fallback, low, high, metavar, help)                                                     \
    { name, type, offsetof(pv_effect_options, field), fallback, low, high, NULL, metavar, help }

const pv_option pv_effect_option_table[] = {
    ROW(PV_OPTION_TEXT, "exposure", exposure, NULL, 0, 0, "COL", "The column of the model whose effect is wanted."),
    ROW(PV_OPTION_TEXT, "from", from, NULL, 0, 0, "VALUE",
        "The value that the others are compared with. Default: a category's reference level, the smaller of two "
        "numbers."),
    ROW(PV_OPTION_TEXT, "to", to, NULL, 0, 0, "VALUE",
        "The value to compare with it. Default: each other level in turn. Needed for a number with more than two "
        "values."),
    ROW(PV_OPTION_TEXT, "by", by, NULL, 0, 0, "COL",
        "Also estimate the effects in each group of this column, such as a stratum."),
    ROW(PV_OPTION_TEXT, "at", at, NULL, 0, 0, "COL=VALUE,...",
        "Hold these columns at these values for everyone, and average over the others."),
    ROW(PV_OPTION_REAL, "interval", interval, "0.95", 0.5, 0.9999, "LEVEL", "Level of the intervals."),
    {0}};

pv_status pv_effect_settings_new(pv_ctx *ctx, pv_settings **settings) {
    pv_settings *made;
    *settings = NULL;
    PV_TRY(pv_fit_settings_new(ctx, &made));
    pv_status status = pv_settings_add(ctx, made, pv_effect_option_table, sizeof(pv_effect_options), NULL);
    if (status == PV_OK)
        *settings = made;
    else
        pv_settings_free(ctx, made);
    return status;
}

/* ---- what the intervals need ------------------------------------------------------------------------------------- */

static pv_status check_options(pv_ctx *ctx, const pv_effect_options *o, const pv_fit_options *fit) {
    if (!o->exposure || !*o->exposure)
        return pv__fail(ctx, PV_ERR_USAGE, "`exposure` is missing:\nname the column whose effect is wanted");
    if (strcmp(fit->model, "linear") != 0)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`model=%s`: effects are estimated with a linear model, whose coefficients have influence "
                        "functions:\nleave it out, and use `terms` such as ns(age,3) and a:b for curves and "
                        "interactions",
                        fit->model);
    if (fit->infer != PV_INFER_MAP && fit->infer != PV_INFER_ML && fit->infer != PV_INFER_ROBUST)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`infer`: effects have intervals by influence functions, which need an estimate instead of "
                        "draws:\nuse map, ml or robust");
    if (fit->sample)
        return pv__fail(ctx, PV_ERR_USAGE, "effects do not support a population sample:\nleave it out");
    if (fit->label_error)
        return pv__fail(ctx, PV_ERR_USAGE, "effects do not support `label-error`:\nleave it out");
    return PV_OK;
}

static pv_status check_data(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv_fit_options *fit) {
    if (schema->classes != 2)
        return pv__fail(ctx, PV_ERR_USAGE, "`outcome`: effects need two labels, but column '%s' has %d:\nmerge labels",
                        pv__show(schema->target).text, schema->classes);
    if (data->matched)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`matched`: matched sets identify odds ratios only, since each has a risk of its own that cancels:\n"
            "read the odds ratios of a fit, or leave it out and name the columns of the matching as "
            "`strata`");
    if (!data->label)
        return pv__fail(ctx, PV_ERR_USAGE, "`votes`: effects need one label per row:\nname it with `outcome`");
    if (!fit->prevalence && !fit->prevalence_by && !fit->phase_one && !(fit->subcohort > 0))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "risks in the population need its prevalence:\nstate it with `prevalence`, or by stratum with "
                        "`prevalence-by` or `phase-one`");
    return PV_OK;
}

/* ---- from table to result ---------------------------------------------------------------------------------------- */

typedef struct study {
    pv__exposure exposure;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *classifier;
    pv_result **result;
} study;

static pv_status use_problem(pv_ctx *ctx, const pv_schema *schema, const pv__problem *problem, void *state) {
    study *of = state;
    pv__standard s;
    (void)schema;
    pv_status status = pv__standard_new(ctx, &of->exposure, problem, of->classifier, &s);
    if (status == PV_OK)
        status = pv__effect_result(&s, of->classifier, of->result);
    pv__standard_free(&s);
    return status;
}

static pv_status check_fit(pv_ctx *ctx, const pv_classifier *c) {
    if (c->stop == PV_STOP_INTERRUPTED)
        return PV_ERR_INTERRUPTED;
    return c->combination ? PV_OK
                          : pv__fail(ctx, PV_ERR_USAGE,
                                     "this fit has no weighted estimate, which the intervals of effects need:\nuse "
                                     "`loss` ig or iw with its defaults, and a prior other than laplace");
}

static pv_status find(pv_ctx *ctx, const pv_table *table, const pv_fit_options *fit, study *of) {
    PV_TRY(check_data(ctx, of->schema, of->data, fit));
    PV_TRY(pv__exposure_find(&of->exposure, table)); /* mistakes are reported before the fit */
    PV_TRY(pv_fit(ctx, of->schema, of->data, fit, &of->classifier));
    PV_TRY(check_fit(ctx, of->classifier));
    pv_ctx_options told = ctx->options;
    ctx->options.log = NULL; /* the fit has printed the same warnings */
    pv_status status = pv__problem_lend(ctx, of->schema, of->data, fit, use_problem, of);
    ctx->options.log = told.log;
    const pv_result *warnings = status == PV_OK ? pv_result_get(*of->result, "warnings") : NULL;
    for (size_t i = 0; warnings && i < pv_result_count(warnings); i++)
        pv__log(ctx, PV_LOG_WARNING, "%s", pv_result_text(pv_result_child(warnings, i)));
    return status;
}

pv_status pv_effect_estimate(pv_ctx *ctx, const pv_table *table, const pv_settings *settings, pv_result **result) {
    const pv_effect_options *options = pv_settings_values(settings, pv_effect_option_table);
    const pv_fit_options *given = pv_fit_options_of(settings);
    study of = {.result = result};
    pv_roles roles;
    *result = NULL;
    if (!options || !given)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "these are not the settings of an effect:\nmake them by "
                        "pv_effect_settings_new");
    pv_fit_options fit = *given;
    fit.csv = fit.csv ? fit.csv : pv_csv_options_of(settings);
    PV_TRY(check_options(ctx, options, &fit));
    pv_status status = pv__training_new(ctx, table, settings, &roles, &of.schema, &of.data);
    of.exposure = (pv__exposure){.ctx = ctx, .options = options, .schema = of.schema, .roles = &roles, .data = of.data};
    if (status == PV_OK)
        status = find(ctx, table, &fit, &of);
    pv__exposure_clear(&of.exposure);
    pv_classifier_free(ctx, of.classifier);
    pv_dataset_free(ctx, of.data);
    pv_schema_free(ctx, of.schema);
    return status;
}
