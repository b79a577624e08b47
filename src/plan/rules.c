/* The rules that reject options which contradict each other or would have no effect: see rules.h. */
#include "plan/plan.h"

#include <string.h>

/* ---- facts ------------------------------------------------------------------------------------------------------- */

pv__fact_set pv__facts_of_options(const pv_ctx *ctx, const pv_fit_options *o, bool images, bool sample) {
    const pv_loss loss = (pv_loss)o->loss;
    bool batches = pv__minibatches(o, images), draws = o->infer > PV_INFER_ML;
    bool ordinal = strcmp(o->model, "ordinal") == 0, smooth = pv__model_is_smooth(o->model);
    bool coefficients = strcmp(o->model, "linear") == 0 || smooth;
    bool linear = o->marginal == PV_MARGINAL_AUXILIARY_LINEAR;
    const struct {
        pv__fact fact;
        bool so;
    } facts[] = {
        {PV_FACT_IMAGES, images},
        {PV_FACT_ORDINAL, ordinal},
        {PV_FACT_COEFFICIENTS, coefficients},
        {PV_FACT_SMOOTH, smooth},
        {PV_FACT_NORMAL, pv__prior_is_open(o) || strncmp(o->prior, "normal:", 7) == 0},
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
        {PV_FACT_PHASE_ONE, o->phase_one != NULL},
        {PV_FACT_BY_FILE, o->prevalence_by != NULL},
        {PV_FACT_IW_TOTAL, o->iw_total > 0},
        {PV_FACT_PRETRAINED, o->pretrained != NULL},
        {PV_FACT_FREEZE_LOW, o->freeze_low},
        {PV_FACT_PATIENCE, o->patience > 0},
        {PV_FACT_VALIDATION, o->validation != 0},
        {PV_FACT_JEFFREYS, strcmp(o->intercept_prior, "jeffreys") == 0},
        {PV_FACT_WEIGHTED, strcmp(o->weighting, "1") == 0},
        {PV_FACT_EFFICIENT, strcmp(o->weighting, "0") == 0},
        {PV_FACT_MATCH, o->match != PV_MATCH_NONE},
        {PV_FACT_MIXTURE, pv__mixes(o)},
        {PV_FACT_TREES, pv__grows(o)},
        {PV_FACT_ITSELF, pv__fits_itself(o)},
        {PV_FACT_MISREAD, o->label_error != NULL},
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
    "`strata` need `loss=ig` and `marginal=profile`, or `loss=iw`, the weighted estimator:\nchoose one of these, or "  \
    "leave `strata` out"
#define STRATA_IW                                                                                                      \
    "`loss=iw` with `strata` is a weighted estimate of hard labels from all rows at once:\nchoose `infer=map` or ml "  \
    "and leave `batch` out; leave `loss` out and choose `infer=robust` for its intervals"
#define ROBUST_FOR                                                                                                     \
    " is for `model=linear` in the full batch, with `loss=plain`, or with `loss=ig`, `marginal=profile` and a stated " \
    "prevalence:\nchoose another `infer`, or change these"
#define WEIGHTED_FOR                                                                                                   \
    " is for `model=linear` with `loss=ig`, `marginal=profile` and a stated prevalence, in the full batch, and "       \
    "`infer=map`, ml or robust:\nleave it out, or change these"
#define MATCH_FOR " needs a stated `prevalence`, and no `population-sample`:\nleave it out"
#define JEFFREYS_FOR " is for `loss=ig` with `marginal=profile`:\nchoose normal:SCALE, student:NU or none"

#define MISREAD_FOR                                                                                                    \
    " is for `model=linear` in the full batch, with `loss=plain`, or with `loss=ig` and `marginal=profile`:\nleave "   \
    "it "                                                                                                              \
    "out, or change these"

static const pv__rule rules[] = {
    {F(DEVICE) | F(MINIBATCHES), F(IMAGES), NULL,
     "`device=cuda` takes tables in the full batch:\nleave it out, or `batch`"},
    {F(PRETRAINED), F(IMAGES), NULL,
     "`pretrained` is for `model=convnet` and inception:\nleave it out, or choose one of these"},
    {F(FREEZE_LOW), F(IMAGES), NULL,
     "`freeze-low` is for `model=convnet` and inception:\nleave it out, or choose one of these"},
    {NONE, F(MARGINAL) | F(PROFILE), "marginal", " belongs to `loss=ig`;\nleave it out with other losses"},
    {F(JEFFREYS), F(MARGINAL), "intercept-prior", JEFFREYS_FOR},
    {F(JEFFREYS), F(PROFILE), "intercept-prior", JEFFREYS_FOR},
    /* models with a fit of their own: a mixture of candidates, boosted trees */
    {F(MIXTURE), F(MARGINAL), "model",
     " mixes models for a stated prevalence:\nleave `loss` out, and state `prevalence`"},
    {F(TREES), F(ABSOLUTE), "model", " does not support matched sets:\nchoose linear or mlp"},
    {F(MIXTURE), F(PROFILE), "marginal", " is not for `model=auto`:\nleave one of the two out"},
    {F(TREES) | F(MARGINAL), F(PROFILE), "marginal", " is not for `model=trees`:\nleave one of the two out"},
    {F(ITSELF), F(FULL_BATCH), "batch",
     " is not for `model=auto` and trees, which take all rows at once:\nleave `batch` out"},
    {F(ITSELF) | F(POSTERIOR), NONE, "infer",
     " is not for `model=auto` and trees, which have no posterior:\nleave one of the two out"},
    {F(ITSELF), F(ESTIMATE), "infer", " is not for `model=auto` and trees:\nleave one of the two out"},
    {F(MIXTURE), F(PRIOR), "infer",
     " is not for `model=auto`, whose candidates have priors:\nleave one of the two out"},
    {F(TREES), F(PRIOR), "infer", " is not for `model=trees`, which shrink their leaves:\nleave one of the two out"},
    {F(ITSELF) | F(SAMPLE), NONE, NULL,
     "`population-sample` is not for `model=auto` and trees, which need a stated prevalence:\nleave one of the two "
     "out"},
    {F(ITSELF) | F(DATA) | F(SOFT), NONE, "model", " supports hard labels only:\nfor votes, choose linear or mlp"},
    {F(ITSELF) | F(MATCH), NONE, "match", " is not for `model=auto` and trees:\nleave one of the two out"},
    /* labels recorded with errors */
    {F(MISREAD), F(ABSOLUTE), "label-error", MISREAD_FOR},
    {F(MISREAD) | F(ITSELF), NONE, "label-error", MISREAD_FOR},
    {F(MISREAD), F(COEFFICIENTS), "label-error", MISREAD_FOR},
    {F(MISREAD) | F(SMOOTH), NONE, "label-error", MISREAD_FOR},
    {F(MISREAD), F(FULL_BATCH), "label-error", MISREAD_FOR},
    {F(MISREAD) | F(IMPORTANCE), NONE, "label-error", MISREAD_FOR},
    {F(MISREAD) | F(MARGINAL), F(PROFILE), "label-error", MISREAD_FOR},
    {F(MISREAD), F(ESTIMATE), "label-error",
     " is for `infer=map` and ml, whose intervals include what is unknown about the errors:\nchoose one of these"},
    {F(MISREAD) | F(WEIGHTED), NONE, "weighting",
     " weights rows by true labels, which `label-error` says are unknown:\nleave it out"},
    {F(MISREAD) | F(MATCH), NONE, "match",
     " weights rows by true labels, which `label-error` says are unknown:\nleave it out"},
    {F(MISREAD) | F(JEFFREYS), NONE, "intercept-prior", " is not for `label-error`:\nchoose auto, normal:S or none"},
    {F(MISREAD) | F(SAMPLE), NONE, "label-error",
     " does not support a population sample:\nstate `prevalence`, that of the true label"},
    {F(MISREAD) | F(SUBCOHORT), NONE, "label-error",
     " needs the prevalence of the true label, and `subcohort` gives that of the recorded one:\nstate `prevalence`"},
    {F(MISREAD) | F(DEVICE), NONE, "label-error", " runs on the processor:\nleave `device` out"},
    {F(MISREAD) | F(DATA) | F(SOFT), NONE, "label-error",
     " is for labels with known rates of error. Readers' votes determine their own only with three independent readers "
     "or more, which is not supported:\ngive each row one label, or leave it out"},
    {F(MISREAD) | F(DATA) | F(MANY_LABELS), NONE, "label-error",
     " is for two labels:\ncombine labels, or leave it out"},
    {F(MISREAD) | F(DATA) | F(NAMED), NONE, "label-error", " does not support `strata`:\nleave one of the two out"},
    {F(MISREAD) | F(STRATA), NONE, "label-error", " does not support strata:\nleave one of the two out"},
    {F(MISREAD) | F(DATA) | F(CLUSTERS), NONE, "label-error", " takes rows as independent:\nleave `cluster` out"},
    {F(MISREAD) | F(DATA) | F(SAMPLING), NONE, "label-error",
     " does not support sampling weights:\nleave `weights` out, or use `weights-are=counts` if they are counts"},
    {F(READ) | F(MISREAD) | F(MARGINAL) | F(WEIGHTLESS), NONE, "label-error",
     " needs a prevalence that rests on observations:\ngive `prevalence-n` a value above 0"},
    /* smooths */
    {F(SMOOTH), F(PRIOR), "infer",
     " is not for `model=additive`, whose prior determines the smoothness of its curves:\nchoose map, or "
     "`model=linear` with splines in `terms`"},
    {F(SMOOTH), F(NORMAL), "prior",
     " is not for `model=additive`, whose curves and levels have normal priors:\nleave it out to choose the scales "
     "from the rows, or state one for all, as in `prior=normal:0.5`"},
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
     " states how well `prevalence` is known, and there is none:\nstate it, or leave `prevalence-n` out"},
    {F(SAMPLE) | F(ABSOLUTE) | F(DATA) | F(VOTES), NONE, NULL,
     "a population sample supports hard labels only;\nleave it out with votes"},
    /* matched sets */
    {F(DATA) | F(SETS) | F(ABSOLUTE), NONE, "loss", " does not support matched sets:\nleave `loss` out, or `matched`"},
    {F(DATA), F(SETS) | F(ABSOLUTE), NULL, "`loss=matched` needs `matched`: the column that identifies the sets"},
    {F(MINIBATCHES), F(ABSOLUTE), NULL, "matched sets take all rows at once:\nleave `batch` out"},
    {F(ROBUST), F(ABSOLUTE), "infer", " does not support matched sets:\nchoose laplace, vi, hmc, map or ml"},
    {F(DATA) | F(PREVALENCE), F(ABSOLUTE) | F(SAMPLE), "prevalence",
     " gives no absolute risks with matched sets, which determine only odds ratios:\nalso give `population-sample`, "
     "unlabelled rows of the population, or leave `prevalence` out"},
    {F(DATA) | F(SAMPLE), F(ABSOLUTE) | F(PREVALENCE), NULL,
     "`population-sample` with matched sets needs `prevalence`, which the sets do not determine"},
    {F(SUBCOHORT), F(ABSOLUTE), NULL, "`subcohort` cannot be used with matched sets:\nleave it out"},
    {F(PHASE_ONE), F(ABSOLUTE), NULL, "`phase-one` cannot be used with matched sets:\nleave it out"},
    {F(BY_FILE), F(ABSOLUTE), NULL, "`prevalence-by` cannot be used with matched sets:\nleave it out"},
    /* the weighted estimate's intervals */
    {F(ROBUST), F(COEFFICIENTS), "infer", ROBUST_FOR},
    {F(ROBUST), F(MARGINAL) | F(OF_DESIGN), "infer", ROBUST_FOR},
    {F(ROBUST) | F(MARGINAL), F(PROFILE), "infer", ROBUST_FOR},
    /* tables and images */
    {F(DATA) | F(ARRAYS), F(IMAGES), "model", " takes tables;\nfor images choose convnet or inception"},
    {F(DATA) | F(IMAGES), F(ARRAYS), "model", " takes images;\nfor tables choose linear, additive, ordinal or mlp"},
    /* a case-cohort sample */
    {F(DATA) | F(SUBCOHORT) | F(MANY_LABELS), NONE, "subcohort",
     " is for two labels, cases and others:\nstate the cohort's counts with `phase-one`"},
    {F(DATA) | F(SUBCOHORT) | F(PREVALENCE), NONE, NULL,
     "`subcohort` determines the prevalence:\nleave `prevalence` out"},
    {F(DATA) | F(SUBCOHORT) | F(PHASE_ONE), NONE, NULL,
     "`subcohort` determines the prevalence:\nleave `phase-one` out"},
    {F(DATA) | F(SUBCOHORT) | F(BY_FILE), NONE, NULL,
     "`subcohort` determines the prevalence:\nleave `prevalence-by` out"},
    {F(DATA) | F(SUBCOHORT) | F(SAMPLE), NONE, NULL,
     "`population-sample` cannot be used with `subcohort`;\nleave one out"},
    /* strata of the population, named */
    {F(DATA) | F(BY_FILE), F(NAMED) | F(READ), NULL,
     "`prevalence-by` needs `strata`:\nname their columns with `strata`, or leave it out"},
    {F(DATA) | F(PHASE_ONE), F(NAMED) | F(READ), NULL,
     "`phase-one` needs `strata`:\nname their columns with `strata`, or leave it out"},
    {F(DATA) | F(NAMED), F(BY_FILE) | F(PHASE_ONE) | F(SUBCOHORT), NULL,
     "`strata` needs a prevalence for each stratum: `prevalence-by=FILE`, `phase-one=FILE` with the counts of the "
     "cohort, or `subcohort=F` of a case-cohort sample; those of a survey need sampling weights or clusters "
     "(`weights-are=sampling`, `cluster`)"},
    {F(DATA) | F(NAMED) | F(BY_FILE) | F(PHASE_ONE), NONE, NULL, "give `prevalence-by` or `phase-one`, not both"},
    {F(DATA) | F(NAMED) | F(PREVALENCE), NONE, "prevalence",
     ": with `strata` each stratum has its own, in the file of `prevalence-by` or `phase-one`;\nleave `prevalence` "
     "out"},
    {F(DATA) | F(NAMED) | F(STRENGTH), NONE, NULL,
     "`prevalence-n` cannot be used with `strata`, whose file states it;\nleave it out"},
    {F(DATA) | F(NAMED) | F(SAMPLE), NONE, NULL, "`population-sample` cannot be used with `strata`;\nleave it out"},
    /* several strata */
    {F(STRATA), F(MARGINAL) | F(IMPORTANCE), NULL, STRATA_LOSS},
    {F(STRATA) | F(MARGINAL), F(PROFILE), NULL, STRATA_LOSS},
    {F(STRATA) | F(CLUSTERS), NONE, NULL,
     "clusters (`cluster`) cannot be used with `strata`, whose rows are already weighted by stratum:\nleave out one of "
     "the two"},
    {F(STRATA) | F(SAMPLING), NONE, NULL,
     "sampling weights (`weights`) cannot be used with `strata`, whose rows are already weighted by stratum:\nleave "
     "out one of the two"},
    {F(STRATA) | F(IMPORTANCE) | F(MINIBATCHES), NONE, NULL, STRATA_IW},
    {F(STRATA) | F(IMPORTANCE) | F(POSTERIOR), NONE, NULL, STRATA_IW},
    {F(STRATA) | F(IMPORTANCE) | F(VOTES), NONE, NULL, STRATA_IW},
    {F(STRATA) | F(MATCH), NONE, "match",
     " shifts one output bias, but every stratum has its own prevalence:\nleave it out, or choose `infer=robust`, "
     "whose mean risks equal the stated prevalences"},
    {F(STRATA) | F(JEFFREYS), NONE, NULL,
     "`intercept-prior=jeffreys` is for one prevalence:\nwith `strata` choose auto, normal:S or none"},
    {F(READ) | F(STRATA) | F(IW_TOTAL) | F(IMPORTANCE), NONE, NULL,
     "`iw-total` does not support strata, whose weights are the design's:\nleave it out"},
    /* settings that leave the intercept undetermined */
    {F(READ) | F(FREE) | F(MARGINAL) | F(PROFILE) | F(WEIGHTLESS), F(SAMPLE), NULL,
     "`prevalence-n=0` without a prior on the intercept leaves it undetermined:\ngive `prevalence-n` a value, or an "
     "`intercept-prior`"},
    /* posteriors over the last layer */
    {F(LAST_LAYER) | F(ORDINAL), NONE, NULL,
     "`infer=laplace` over the last layer is for softmax outputs, not ordinal ones;\nuse `infer=map`"},
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
     " leaves no posterior if the prevalence is known exactly (it is concentrated on a surface):\nstate with "
     "`prevalence-n=N` how many observations the prevalence was estimated from, or use `marginal=profile`"},
    {F(READ) | F(POSTERIOR) | F(MARGINAL) | F(WEIGHTLESS) | F(FREE), F(LAST_LAYER) | F(SAMPLE), NULL,
     "`prevalence-n=0` without a prior on the intercept leaves it undetermined, and the posterior has no finite "
     "integral:\ngive `prevalence-n` a value, or an `intercept-prior`"},
    /* what the prevalence allows */
    {F(BOUNDS) | F(STRENGTH), NONE, "prevalence",
     " is an interval, which says how well it is known;\nleave `prevalence-n` out"},
    {F(JEFFREYS) | F(KNOWN), NONE, "intercept-prior",
     " adds to the observations behind the prevalence, but this prevalence is known exactly:\nleave it out, or give "
     "`prevalence-n=N`"},
    {F(READ) | F(MATCH) | F(OF_DESIGN), NONE, "match",
     " is for losses that use the prevalence, ig and iw:\nleave it out"},
    {F(READ) | F(MATCH) | F(ORDINAL) | F(MANY_LABELS), NONE, "match",
     " moves each label's odds, which thresholds of ordered labels cannot:\nleave it out"},
    {F(READ) | F(MATCH), F(RESTS), "match", MATCH_FOR},
    {F(READ) | F(MATCH) | F(SAMPLE) | F(ABSOLUTE), NONE, "match", MATCH_FOR},
    {F(READ) | F(ROBUST) | F(MARGINAL), F(RESTS), "infer", ROBUST_FOR},
    /* units that are not rows */
    {F(READ) | F(POSTERIOR) | F(CLUSTERS), NONE, "infer",
     " takes rows as independent, which those of a cluster are not: its intervals would be too narrow.\nUse "
     "`infer=robust`"},
    {F(READ) | F(POSTERIOR) | F(SAMPLING), NONE, "infer",
     " takes weights as counts, which sampling weights are not: its intervals would be too narrow.\nUse "
     "`infer=robust`, or `weights-are=counts` if they are counts"},
    /* one of two estimates */
    {F(READ) | F(WEIGHTED), F(TWO), "weighting", WEIGHTED_FOR},
    {F(READ) | F(WEIGHTED) | F(POSTERIOR), NONE, "weighting", WEIGHTED_FOR},
    {F(READ) | F(EFFICIENT) | F(ROBUST), F(OF_DESIGN), "weighting",
     ": `infer=robust` is the weighted estimate; choose `infer=ml`, or leave it out"},
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
    const pv__rule *broken = pv__rule_broken(sizeof rules / sizeof *rules, rules, facts);
    return broken ? fail(ctx, options, broken->option, broken->text) : PV_OK;
}

/* ---- options without effect -------------------------------------------------------------------------------------- */

/* The purpose of some options. */
static const char
    *const needs[] =
        {
            [PV_FACT_MINIBATCHES] = "minibatches (`batch=N`)",
            [PV_FACT_FULL_BATCH] = "`batch=full`",
            [PV_FACT_IMAGES] = "`model=convnet` and inception",
            [PV_FACT_MARGINAL] = "a loss with a marginal, such as ig",
            [PV_FACT_STATED] = "a loss that uses the prevalence, ig or iw",
            [PV_FACT_ABSOLUTE] = "a loss of absolute risks, ig, iw or plain",
            [PV_FACT_BY_FILE] = "strata with prevalences in a file (`prevalence-by`)",
            [PV_FACT_IMPORTANCE] = "`loss=iw`",
            [PV_FACT_AUXILIARY] = "`marginal=auxiliary:constant` and auxiliary:linear",
            [PV_FACT_LINEAR] = "`marginal=auxiliary:linear`",
            [PV_FACT_PRIOR] = "`infer=map`, laplace, vi, hmc and robust",
            [PV_FACT_POSTERIOR] = "`infer=laplace`, vi and hmc",
            [PV_FACT_SANDWICH] = "`model=linear` and additive, and `infer=map`, ml and robust",
            [PV_FACT_SPREADS] = "`model=linear`, additive and ordinal, and `infer=laplace`, vi and hmc",
            [PV_FACT_MIXTURE] = "`model=auto`",
            [PV_FACT_VI] = "`infer=vi`",
            [PV_FACT_HMC] = "`infer=hmc`",
},
           *const needs_none[] = {
               [PV_FACT_SUBCOHORT] = "a stated `prevalence`, not for a `subcohort`, which determines it",
               [PV_FACT_ITSELF] =
                   "a model with a prior of its own, not for `model=auto`, whose candidates have theirs, and trees",
               [PV_FACT_TREES] = "models that are fitted step by step, not for `model=trees`",
};

/* An option listed twice needs all. */
typedef struct part {
    const char *option;
    pv__fact fact;
} part;

static const part parts[] = {
    {"prevalence-n", PV_FACT_MARGINAL},
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
    {"trace", PV_FACT_MINIBATCHES}, /* a field that is not in the table, for displaying a fit's progress */
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

/* What must not hold. */
static const part spoilt[] = {{"prevalence-n", PV_FACT_SUBCOHORT},
                              {"weighting", PV_FACT_ITSELF},
                              {"prior", PV_FACT_ITSELF},
                              {"intercept-prior", PV_FACT_ITSELF},
                              {"max-iter", PV_FACT_TREES},
                              {"tolerance", PV_FACT_TREES},
                              {"start", PV_FACT_TREES}};

const char *pv__idle_for(pv__fact_set facts, const char *option) {
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].option, option) == 0 && !(facts & pv__fact_if(true, parts[i].fact)))
            return needs[parts[i].fact];
    for (size_t i = 0; i < sizeof spoilt / sizeof *spoilt; i++)
        if (strcmp(spoilt[i].option, option) == 0 && (facts & pv__fact_if(true, spoilt[i].fact)))
            return needs_none[spoilt[i].fact];
    return NULL;
}
