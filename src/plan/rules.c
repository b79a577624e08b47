/* The rules that reject options which do not go together, or would do nothing: see rules.h. */
#include "plan/plan.h"

#include <string.h>

/* ---- facts ------------------------------------------------------------------------------------------------------- */

pv__fact_set pv__facts_of_options(const pv_ctx *ctx, const pv_fit_options *o, bool images, bool sample) {
    const pv_loss loss = (pv_loss)o->loss;
    bool batches = pv__minibatches(o, images), draws = o->infer > PV_INFER_ML;
    bool ordinal = strcmp(o->model, "ordinal") == 0, coefficients = strcmp(o->model, "linear") == 0;
    bool linear = o->marginal == PV_MARGINAL_AUXILIARY_LINEAR;
    const struct {
        pv__fact fact;
        bool so;
    } facts[] = {
        {PV_FACT_IMAGES, images},
        {PV_FACT_ORDINAL, ordinal},
        {PV_FACT_COEFFICIENTS, coefficients},
        {PV_FACT_MINIBATCHES, batches},
        {PV_FACT_FULL_BATCH, !batches},
        {PV_FACT_MARGINAL, pv_loss_has_marginal(loss)},
        {PV_FACT_STATED, pv_loss_needs_prevalence(loss)},
        {PV_FACT_ABSOLUTE, !pv_loss_is_relative(loss)},
        {PV_FACT_OF_DESIGN, pv_loss_of_design(loss)},
        {PV_FACT_TAKES_SAMPLE, pv_loss_takes_sample(loss)},
        {PV_FACT_IMPORTANCE, pv__loss(loss)->class_factor != NULL},
        {PV_FACT_PROFILE, o->marginal == PV_MARGINAL_PROFILE},
        {PV_FACT_PLUGIN, o->marginal == PV_MARGINAL_PLUGIN},
        {PV_FACT_AUXILIARY, linear || o->marginal == PV_MARGINAL_AUXILIARY_CONSTANT},
        {PV_FACT_LINEAR, linear},
        {PV_FACT_ESTIMATE, !draws},
        {PV_FACT_PRIOR, o->infer != PV_INFER_ML},
        {PV_FACT_POSTERIOR, draws && o->infer != PV_INFER_ROBUST},
        {PV_FACT_SANDWICH, coefficients && (!draws || o->infer == PV_INFER_ROBUST)},
        {PV_FACT_LAPLACE, o->infer == PV_INFER_LAPLACE},
        {PV_FACT_VI, o->infer == PV_INFER_VI},
        {PV_FACT_HMC, o->infer == PV_INFER_HMC},
        {PV_FACT_ROBUST, o->infer == PV_INFER_ROBUST},
        {PV_FACT_SPREADS, draws || coefficients || ordinal},
        {PV_FACT_SAMPLE, sample},
        {PV_FACT_PREVALENCE, o->prevalence != NULL},
        {PV_FACT_STRENGTH, strcmp(o->prevalence_n, "auto") != 0},
        {PV_FACT_SUBCOHORT, o->subcohort > 0},
        {PV_FACT_NO_COHORT, !(o->subcohort > 0)},
        {PV_FACT_PHASE_ONE, o->phase_one != NULL},
        {PV_FACT_BY_FILE, o->prevalence_by != NULL},
        {PV_FACT_IW_TOTAL, o->iw_total > 0},
        {PV_FACT_PRETRAINED, o->pretrained != NULL},
        {PV_FACT_FREEZE_LOW, o->freeze_low},
        {PV_FACT_PATIENCE, o->patience > 0},
        {PV_FACT_VALIDATION, o->validation != 0},
        {PV_FACT_JEFFREYS, strcmp(o->intercept_prior, "jeffreys") == 0},
        {PV_FACT_MATCH, o->match != PV_MATCH_NONE},
        {PV_FACT_MIXTURE, pv__mixes(o)},
        {PV_FACT_ONE, !pv__mixes(o)},
        {PV_FACT_DEVICE, ctx && ctx->root->device.kind == PV_DEVICE_CUDA},
    };
    pv__fact_set found = 0;
    for (size_t i = 0; i < sizeof facts / sizeof *facts; i++)
        found |= pv__fact_if(facts[i].so, facts[i].fact);
    return found;
}

pv__fact_set pv__facts_of_data(const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options) {
    const pv__design_options design = pv__design_options_of(options);
    bool named = schema->strata && !pv__survey_has_strata(schema, data, &design);
    return pv__fact_if(true, PV_FACT_DATA) | pv__fact_if(data->images != NULL, PV_FACT_ARRAYS) |
           pv__fact_if(data->matched, PV_FACT_SETS) | pv__fact_if(!data->label, PV_FACT_VOTES) |
           pv__fact_if(data->frequency != NULL, PV_FACT_SOFT) | pv__fact_if(data->clustered, PV_FACT_CLUSTERS) |
           pv__fact_if(data->sampling, PV_FACT_SAMPLING) | pv__fact_if(named, PV_FACT_NAMED) |
           pv__fact_if(schema->classes > 2, PV_FACT_MANY_LABELS);
}

/* ---- rules ------------------------------------------------------------------------------------------------------- */

#define F(name) (UINT64_C(1) << PV_FACT_##name)
#define NONE UINT64_C(0)

#define STRATA_LOSS                                                                                                    \
    "`strata` go with `loss=ig` and `marginal=profile`, or with `loss=iw`, the weighted estimator:\nchoose one of "    \
    "these, or leave `strata` out"
#define STRATA_IW                                                                                                      \
    "`loss=iw` with `strata` is a weighted estimate of hard labels from all rows at once:\nchoose `infer=map` or ml "  \
    "and leave `batch` out; leave `loss` out and choose `infer=robust` for its intervals"
#define STRATA_ROBUST "`infer=robust` is for `model=linear` in the full batch:\nchoose another `infer`, or change these"

/* Broken where all facts of the first set hold and none of the second. The message begins with the option and its
 * value, where one is named, and goes on with the text. */
static const struct {
    pv__fact_set all, none;
    const char *option, *text;
} rules[] = {
    {F(DEVICE) | F(MINIBATCHES), F(IMAGES), NULL,
     "`device=cuda` takes tables in the full batch:\nleave it out, or `batch`"},
    {F(PRETRAINED), F(IMAGES), NULL,
     "`pretrained` is for `model=convnet` and inception:\nleave it out, or choose one of these"},
    {F(FREEZE_LOW), F(IMAGES), NULL,
     "`freeze-low` is for `model=convnet` and inception:\nleave it out, or choose one of these"},
    {NONE, F(MARGINAL) | F(PROFILE), "marginal", " belongs to `loss=ig`;\nleave it out with other losses"},
    /* a mixture of candidates */
    {F(MIXTURE), F(MARGINAL), "model",
     " mixes models of a population whose prevalence is known:\nleave `loss` out, and state `prevalence`"},
    {F(MIXTURE), F(PROFILE), "marginal", " is not for `model=auto`:\nleave one of the two out"},
    {F(MIXTURE), F(FULL_BATCH), "batch", " is not for `model=auto`, which takes all rows at once:\nleave `batch` out"},
    {F(MIXTURE) | F(POSTERIOR), NONE, "infer",
     " is not for `model=auto`, a mixture without a posterior:\nleave one of the two out"},
    {F(MIXTURE), F(ESTIMATE), "infer", " is not for `model=auto`:\nleave one of the two out"},
    {F(MIXTURE), F(PRIOR), "infer",
     " is not for `model=auto`, whose candidates have priors:\nleave one of the two out"},
    {F(MIXTURE) | F(SAMPLE), NONE, NULL,
     "`population-sample` is not for `model=auto`, which needs a stated prevalence:\nleave one of the two out"},
    {F(MIXTURE) | F(DATA) | F(SOFT), NONE, "model", " goes with hard labels only;\nchoose linear or mlp with votes"},
    {F(MIXTURE) | F(MATCH), NONE, "match", " is not for `model=auto`:\nleave one of the two out"},
    /* batches */
    {F(IMAGES) | F(FULL_BATCH), NONE, "batch", ": images are learned in minibatches:\ngive a number of them"},
    {F(IMAGES), F(ESTIMATE) | F(LAPLACE), "infer",
     " is for tables;\nimages take map, ml or laplace, over the last layer"},
    {F(MARGINAL) | F(AUXILIARY) | F(FULL_BATCH), NONE, "marginal",
     " needs minibatches:\nadd `batch=256`, or use profile or plugin"},
    {F(MARGINAL) | F(PLUGIN) | F(MINIBATCHES), NONE, "marginal",
     " sums over all rows:\nuse `batch=full`, or auxiliary:constant with minibatches"},
    {F(PATIENCE), F(VALIDATION), "patience", " needs validation rows:\nadd `validation=0.2`"},
    {F(MINIBATCHES), F(ESTIMATE) | F(VI) | F(LAPLACE), "infer", " takes all rows at once:\nleave `batch` out"},
    /* a population sample */
    {F(SAMPLE) | F(IMAGES), NONE, NULL, "`population-sample` is for tables;\nleave it out with images"},
    {F(SAMPLE) | F(ABSOLUTE), F(TAKES_SAMPLE), NULL,
     "`population-sample` belongs to `loss=ig`;\nleave it out with other losses"},
    {F(SAMPLE) | F(MINIBATCHES), NONE, NULL, "`population-sample` takes all rows at once:\nleave `batch` out"},
    {F(SAMPLE) | F(STRENGTH), F(PREVALENCE), "prevalence-n",
     " says how well `prevalence` is known, and there is none:\nstate it, or leave `prevalence-n` out"},
    {F(SAMPLE) | F(ABSOLUTE) | F(DATA) | F(VOTES), NONE, NULL,
     "a population sample goes with hard labels only;\nleave it out with votes"},
    /* matched sets */
    {F(DATA) | F(SETS) | F(ABSOLUTE), NONE, "loss", " does not support matched sets:\nleave `loss` out, or `matched`"},
    {F(DATA), F(SETS) | F(ABSOLUTE), NULL,
     "`loss=matched` needs `matched`: the column that says which rows form a set"},
    {F(MINIBATCHES), F(ABSOLUTE), NULL, "matched sets take all rows at once:\nleave `batch` out"},
    {F(ROBUST), F(ABSOLUTE), "infer", " does not support matched sets:\nchoose laplace, vi, hmc, map or ml"},
    {F(DATA) | F(PREVALENCE), F(ABSOLUTE) | F(SAMPLE), "prevalence",
     " gives no absolute risks with matched sets, which tell odds ratios alone:\ngive `population-sample` as well, "
     "rows "
     "that show what the population looks like, or leave `prevalence` out"},
    {F(DATA) | F(SAMPLE), F(ABSOLUTE) | F(PREVALENCE), NULL,
     "`population-sample` with matched sets needs `prevalence`: the sets do not tell how common the outcome is"},
    {F(SUBCOHORT), F(ABSOLUTE), NULL, "`subcohort` does not go with matched sets:\nleave it out"},
    {F(PHASE_ONE), F(ABSOLUTE), NULL, "`phase-one` does not go with matched sets:\nleave it out"},
    {F(BY_FILE), F(ABSOLUTE), NULL, "`prevalence-by` does not go with matched sets:\nleave it out"},
    /* tables and images */
    {F(DATA) | F(ARRAYS), F(IMAGES), "model", " takes tables;\nfor images choose convnet or inception"},
    {F(DATA) | F(IMAGES), F(ARRAYS), "model", " takes images;\nfor tables choose linear, ordinal or mlp"},
    /* a case-cohort sample */
    {F(DATA) | F(SUBCOHORT) | F(MANY_LABELS), NONE, "subcohort",
     " is for two labels, cases and others:\nstate the cohort's counts with `phase-one`"},
    {F(DATA) | F(SUBCOHORT) | F(PREVALENCE), NONE, NULL,
     "`subcohort` says what the prevalence is:\nleave `prevalence` out"},
    {F(DATA) | F(SUBCOHORT) | F(PHASE_ONE), NONE, NULL,
     "`subcohort` says what the prevalence is:\nleave `phase-one` out"},
    {F(DATA) | F(SUBCOHORT) | F(BY_FILE), NONE, NULL,
     "`subcohort` says what the prevalence is:\nleave `prevalence-by` out"},
    {F(DATA) | F(SUBCOHORT) | F(SAMPLE), NONE, NULL,
     "`population-sample` does not go with `subcohort`;\nleave one out"},
    /* strata of the population, named */
    {F(DATA) | F(BY_FILE), F(NAMED) | F(READ), NULL,
     "`prevalence-by` is of strata:\nname their columns with `strata`, or leave it out"},
    {F(DATA) | F(PHASE_ONE), F(NAMED) | F(READ), NULL,
     "`phase-one` is of strata:\nname their columns with `strata`, or leave it out"},
    {F(DATA) | F(NAMED), F(BY_FILE) | F(PHASE_ONE) | F(SUBCOHORT), NULL,
     "`strata` needs a prevalence for each: `prevalence-by=FILE`, `phase-one=FILE` with the counts of the cohort, or "
     "`subcohort=F` of a case-cohort sample; those of a survey need sampling weights or clusters "
     "(`weights-are=sampling`, `cluster`)"},
    {F(DATA) | F(NAMED) | F(BY_FILE) | F(PHASE_ONE), NONE, NULL, "give `prevalence-by` or `phase-one`, not both"},
    {F(DATA) | F(NAMED) | F(PREVALENCE), NONE, "prevalence",
     ": with `strata` each has its own, in the file of `prevalence-by` or `phase-one`;\nleave `prevalence` out"},
    {F(DATA) | F(NAMED) | F(STRENGTH), NONE, NULL,
     "`prevalence-n` does not go with `strata`, whose file says it;\nleave it out"},
    {F(DATA) | F(NAMED) | F(SAMPLE), NONE, NULL, "`population-sample` does not go with `strata`;\nleave it out"},
    /* several strata */
    {F(STRATA), F(MARGINAL) | F(IMPORTANCE), NULL, STRATA_LOSS},
    {F(STRATA) | F(MARGINAL), F(PROFILE), NULL, STRATA_LOSS},
    {F(STRATA) | F(CLUSTERS), NONE, NULL,
     "clusters (`cluster`) do not go with `strata`, whose rows have the weights of their strata already:\nleave out "
     "one "
     "of the two"},
    {F(STRATA) | F(SAMPLING), NONE, NULL,
     "sampling weights (`weights`) do not go with `strata`, whose rows have the weights of their strata "
     "already:\nleave out one of the two"},
    {F(STRATA) | F(IMPORTANCE) | F(MINIBATCHES), NONE, NULL, STRATA_IW},
    {F(STRATA) | F(IMPORTANCE) | F(POSTERIOR), NONE, NULL, STRATA_IW},
    {F(STRATA) | F(IMPORTANCE) | F(VOTES), NONE, NULL, STRATA_IW},
    {F(STRATA) | F(ROBUST) | F(MINIBATCHES), NONE, NULL, STRATA_ROBUST},
    {F(STRATA) | F(ROBUST), F(COEFFICIENTS), NULL, STRATA_ROBUST},
    {F(STRATA) | F(MATCH), NONE, "match",
     " moves one output bias, and every stratum has a prevalence of its own:\nleave it out, or choose `infer=robust`, "
     "whose mean risks are the stated ones"},
    {F(STRATA) | F(JEFFREYS), NONE, NULL,
     "`intercept-prior=jeffreys` is of one prevalence:\nwith `strata` choose auto, normal:S or none"},
    {F(READ) | F(STRATA) | F(IW_TOTAL) | F(IMPORTANCE), NONE, NULL,
     "`iw-total` does not support strata, whose weights are the design's:\nleave it out"},
    /* what leaves the intercept undetermined */
    {F(READ) | F(FREE) | F(MARGINAL) | F(PROFILE) | F(WEIGHTLESS), F(SAMPLE), NULL,
     "`prevalence-n=0` without a prior on the intercept leaves it undetermined:\ngive `prevalence-n` a value, or an "
     "`intercept-prior`"},
    /* posteriors over the last layer */
    {F(LAST_LAYER) | F(ORDINAL), NONE, NULL,
     "`infer=laplace` over the last layer is for outputs of softmax, not for ordinal ones;\nuse `infer=map`"},
    {F(LAST_LAYER), F(OF_DESIGN) | F(MARGINAL), NULL,
     "`infer=laplace` over the last layer is for `marginal=profile` and `loss=plain`;\nuse one of these, or "
     "`infer=map`"},
    {F(LAST_LAYER) | F(MARGINAL), F(PROFILE), NULL,
     "`infer=laplace` over the last layer is for `marginal=profile` and `loss=plain`;\nuse one of these, or "
     "`infer=map`"},
    {F(LAST_LAYER) | F(STRATA), NONE, NULL,
     "`infer=laplace` over the last layer does not support strata;\nuse `infer=map`"},
    {F(LAST_LAYER) | F(SAMPLE), NONE, NULL,
     "`infer=laplace` over the last layer does not support a population sample;\nuse `infer=map`"},
    {F(LAST_LAYER) | F(SAMPLING), NONE, NULL,
     "`infer=laplace` over the last layer does not support sampling weights;\nuse `infer=map`"},
    {F(LAST_LAYER) | F(CLUSTERS), NONE, NULL,
     "`infer=laplace` over the last layer does not support clusters;\nuse `infer=map`"},
    {F(LAST_LAYER) | F(MARGINAL) | F(WEIGHTLESS), NONE, NULL,
     "`infer=laplace` over the last layer needs a `prevalence-n` above 0"},
    /* other posteriors */
    {F(READ) | F(POSTERIOR) | F(MINIBATCHES), F(LAST_LAYER) | F(VI), "infer",
     " takes all rows at once:\nleave `batch` out"},
    {F(READ) | F(POSTERIOR) | F(MINIBATCHES) | F(MARGINAL) | F(PROFILE), F(LAST_LAYER), NULL,
     "`marginal=profile` has its posterior from all rows at once:\nleave `batch` out, or choose "
     "`marginal=auxiliary:linear`"},
    {F(READ) | F(POSTERIOR) | F(MARGINAL) | F(KNOWN), F(LAST_LAYER) | F(PROFILE), "marginal",
     " leaves no posterior where the prevalence is known (it lives on a surface):\nsay with `prevalence-n=N` how many "
     "observations the prevalence rests on, or use `marginal=profile`"},
    {F(READ) | F(POSTERIOR) | F(MARGINAL) | F(WEIGHTLESS) | F(FREE), F(LAST_LAYER) | F(SAMPLE), NULL,
     "`prevalence-n=0` without a prior on the intercept leaves it undetermined, and the posterior has no finite "
     "integral:\ngive `prevalence-n` a value, or an `intercept-prior`"},
};

static pv_status fail(pv_ctx *ctx, const pv_fit_options *options, const char *option, const char *text) {
    if (!option)
        return pv__fail(ctx, PV_ERR_USAGE, "%s", text);
    const pv_option *row = pv_option_find(pv_fit_option_table, option);
    char number[64];
    const char *value = number;
    if (row->type == PV_OPTION_TEXT)
        memcpy(&value, (const char *)options + row->offset, sizeof value);
    else
        pv_option_get(row, options, number, sizeof number);
    return pv__fail(ctx, PV_ERR_USAGE, "`%s=%s`%s", option, value ? value : "", text);
}

pv_status pv__rules_check(pv_ctx *ctx, const pv_fit_options *options, pv__fact_set facts) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if ((facts & rules[i].all) == rules[i].all && !(facts & rules[i].none))
            return fail(ctx, options, rules[i].option, rules[i].text);
    return PV_OK;
}

/* ---- options that would do nothing ------------------------------------------------------------------------------- */

/* What some options are for. */
static const char *const needs[] = {
    [PV_FACT_MINIBATCHES] = "minibatches (`batch=N`)",
    [PV_FACT_FULL_BATCH] = "`batch=full`",
    [PV_FACT_IMAGES] = "`model=convnet` and inception",
    [PV_FACT_MARGINAL] = "a loss with a marginal, as ig",
    [PV_FACT_STATED] = "a loss that is told the prevalence, ig or iw",
    [PV_FACT_ABSOLUTE] = "a loss of absolute risks, ig, iw or plain",
    [PV_FACT_NO_COHORT] = "a stated `prevalence`, not for a `subcohort`, which determines it",
    [PV_FACT_BY_FILE] = "strata whose prevalences are in a file (`prevalence-by`)",
    [PV_FACT_IMPORTANCE] = "`loss=iw`",
    [PV_FACT_AUXILIARY] = "`marginal=auxiliary:constant` and auxiliary:linear",
    [PV_FACT_LINEAR] = "`marginal=auxiliary:linear`",
    [PV_FACT_PRIOR] = "`infer=map`, laplace, vi, hmc and robust",
    [PV_FACT_POSTERIOR] = "`infer=laplace`, vi and hmc",
    [PV_FACT_SANDWICH] = "`model=linear` and `infer=map`, ml and robust",
    [PV_FACT_SPREADS] = "`model=linear` and ordinal, and `infer=laplace`, vi and hmc",
    [PV_FACT_MIXTURE] = "`model=auto`",
    [PV_FACT_ONE] = "one model, and not for `model=auto`, whose candidates have their own",
    [PV_FACT_VI] = "`infer=vi`",
    [PV_FACT_HMC] = "`infer=hmc`",
};

/* An option that stands here twice needs both. */
static const struct {
    const char *option;
    pv__fact part;
} parts[] = {{"prevalence-n", PV_FACT_MARGINAL},
             {"prevalence-n", PV_FACT_NO_COHORT},
             {"marginal", PV_FACT_MARGINAL},
             {"match", PV_FACT_STATED},
             {"prevalence-by", PV_FACT_ABSOLUTE},
             {"phase-one", PV_FACT_ABSOLUTE},
             {"subcohort", PV_FACT_ABSOLUTE},
             {"prevalence-odds", PV_FACT_BY_FILE},
             {"iw-total", PV_FACT_IMPORTANCE},
             {"weighting", PV_FACT_MARGINAL},
             {"weighting", PV_FACT_FULL_BATCH},
             {"errors", PV_FACT_FULL_BATCH},
             {"errors", PV_FACT_SANDWICH},
             {"pretrained", PV_FACT_IMAGES},
             {"freeze-low", PV_FACT_IMAGES},
             {"candidates", PV_FACT_MIXTURE},
             {"weighting", PV_FACT_ONE},
             {"prior", PV_FACT_ONE},
             {"intercept-prior", PV_FACT_ONE},
             {"prior", PV_FACT_PRIOR},
             {"intercept-prior", PV_FACT_PRIOR},
             {"intercept-prior", PV_FACT_ABSOLUTE},
             {"start", PV_FACT_ABSOLUTE},
             {"design", PV_FACT_MINIBATCHES},
             {"population-weight", PV_FACT_MINIBATCHES},
             {"population-weight", PV_FACT_AUXILIARY},
             {"epoch-weight", PV_FACT_MINIBATCHES},
             {"direct", PV_FACT_MINIBATCHES},
             {"direct", PV_FACT_AUXILIARY},
             {"implementation", PV_FACT_MINIBATCHES},
             {"implementation", PV_FACT_AUXILIARY},
             {"epochs", PV_FACT_MINIBATCHES},
             {"rate", PV_FACT_MINIBATCHES},
             {"schedule", PV_FACT_MINIBATCHES},
             {"validation", PV_FACT_MINIBATCHES},
             {"patience", PV_FACT_MINIBATCHES},
             {"auxiliary-rate", PV_FACT_MINIBATCHES},
             {"auxiliary-rate", PV_FACT_AUXILIARY},
             {"auxiliary-sparsity", PV_FACT_MINIBATCHES},
             {"auxiliary-sparsity", PV_FACT_LINEAR},
             {"trace", PV_FACT_MINIBATCHES}, /* a field without a row in the table, and what is shown of a fit */
             {"interval", PV_FACT_SPREADS},
             {"max-iter", PV_FACT_FULL_BATCH},
             {"tolerance", PV_FACT_FULL_BATCH},
             {"draws", PV_FACT_POSTERIOR},
             {"components", PV_FACT_VI},
             {"samples", PV_FACT_VI},
             {"steps", PV_FACT_VI},
             {"vi-rate", PV_FACT_VI},
             {"chains", PV_FACT_HMC},
             {"warmup", PV_FACT_HMC}};

const char *pv__idle_for(pv__fact_set facts, const char *option) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].option, option) == 0 && !(facts & pv__fact_if(true, parts[i].part)))
            return needs[parts[i].part];
    return NULL;
}
