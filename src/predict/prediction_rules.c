/* The rules that reject populations and options that a model or a set of probabilities does not support: one ordered
 * list for predict, eval, adjust and cross-validation.
 */
#include "base/facts.h"
#include "infer/infer.h"
#include "predict/predict.h"

enum {
    MODEL,
    PROBS,
    TWO, /* labels */
    /* facts about the population */
    TRUE_ONE,
    KNOWN,
    UNKNOWN,
    COUNTS,
    ONE, /* one prevalence for all rows */
    /* facts about the predictor */
    STRATA,
    HOME,     /* the prevalence it was made for is known */
    RELATIVE, /* it gives odds ratios only */
    STACKED,
    BOOSTED,
    POSTERIOR,
    SPREAD, /* standard errors */
    OWN_X,  /* each draw of the posterior has its own p(x) */
    /* facts about the options */
    INTERVAL,
    JOINT,
    LABELLED,  /* reference rows */
    DECISIONS, /* bbse, which needs a confusion matrix */
    /* facts about an evaluation */
    ENSEMBLE,
    IMPORTANCE,
    IMAGES,
    ROWS,      /* the rows are known */
    HARD,      /* each has one label */
    STATED,    /* metrics are not for the rows as they are */
    STATED_FOR /* they are for the population of the predictions */
};

#define F(name) (UINT64_C(1) << (name))
#define NONE UINT64_C(0)

#define ENSEMBLE_IN "an ensemble averages in a population of known prevalence: `population=true`, known:P or design"
#define IMPORTANCE_OF                                                                                                  \
    "`importance` needs rows with one label each, and does not support votes or strata:\nname the `outcome`, or "      \
    "leave "                                                                                                           \
    "it out"

static const pv__rule rules[] = {
    /* populations for a model */
    {F(RELATIVE), NONE, NULL,
     "the model was fitted to matched sets, which give odds ratios and no risks:\nfit it again with `prevalence` and "
     "`population-sample`, or predict the linear predictor: `scale=lp`"},
    {F(MODEL) | F(TRUE_ONE), F(HOME), NULL,
     "the model was fitted without `prevalence`, so the target population is unknown:\nuse `population=known:P`, or "
     "design for that of its training data"},
    /* populations for probabilities */
    {F(PROBS) | F(STRATA) | F(COUNTS), NONE, NULL,
     "`population=counts` does not support strata:\ngive known:FILE, a prevalence for each, or unknown"},
    {F(PROBS) | F(STRATA) | F(KNOWN) | F(ONE), NONE, NULL,
     "the probabilities have strata, but the population has one prevalence:\ngive one for each stratum"},
    {F(PROBS) | F(STRATA), F(HOME), NULL,
     "the prevalences that the strata's probabilities were made for are unknown:\nstate them with `from`"},
    {F(PROBS), F(TRUE_ONE) | F(HOME), NULL,
     "the prevalence that the probabilities were made for is unknown:\nstate it with `from=P`"},
    /* intervals */
    {F(INTERVAL) | F(STACKED), F(UNKNOWN), NULL,
     "`model=auto` gives no intervals: in simulations, 90 % bootstrap intervals contained the true risk for only seven "
     "in ten people:\nfit `model=linear` or additive for them"},
    {F(INTERVAL) | F(BOOSTED), F(UNKNOWN), NULL,
     "`model=trees` gives no intervals: trees have neither a posterior nor standard errors:\nfit `model=linear` for "
     "them"},
    {F(MODEL) | F(INTERVAL), F(UNKNOWN) | F(POSTERIOR) | F(SPREAD), NULL,
     "the model has neither a posterior nor standard errors that give intervals here: fit it with `infer=laplace`, vi "
     "or hmc"},
    {F(MODEL) | F(INTERVAL) | F(COUNTS), F(POSTERIOR), NULL,
     "the model has no posterior, which intervals with `population=counts` need: fit it with `infer=laplace`, vi or "
     "hmc"},
    {F(PROBS) | F(INTERVAL), F(UNKNOWN) | F(KNOWN), NULL,
     "`interval` is for a population of unknown prevalence, or for labelled rows that recalibrate the probabilities "
     "(`labelled-sample`):\nleave it out"},
    {F(PROBS) | F(INTERVAL) | F(KNOWN), F(LABELLED), NULL,
     "`interval` is for a population of unknown prevalence, or for labelled rows that recalibrate the probabilities "
     "(`labelled-sample`):\nleave it out"},
    /* labelled rows */
    {F(PROBS) | F(KNOWN) | F(LABELLED) | F(STRATA), NONE, NULL,
     "`labelled-sample` does not support strata:\nleave it out"},
    {F(PROBS) | F(KNOWN) | F(LABELLED), F(TWO), NULL, "`labelled-sample` is for two labels:\nleave it out"},
    {F(UNKNOWN) | F(STRATA) | F(LABELLED), NONE, NULL,
     "`labelled-sample` does not support strata:\nleave it out and choose `method=exact`"},
    {F(UNKNOWN) | F(STRATA) | F(DECISIONS), NONE, NULL,
     "`method=bbse` does not support strata:\nchoose `method=exact`"},
    /* joint update of the posterior */
    {F(PROBS) | F(JOINT), NONE, NULL,
     "`posterior=joint` is for a model with a posterior, and probabilities have none:\nleave it out"},
    {F(JOINT) | F(UNKNOWN) | F(LABELLED), NONE, NULL,
     "`posterior=joint` uses the model's likelihood ratios, which `labelled-sample` recalibrates:\nleave one of them "
     "out"},
    {F(JOINT), F(POSTERIOR), NULL,
     "`posterior=joint` updates a posterior, and the model has none:\nfit it with `infer=laplace`, vi or hmc"},
    {F(JOINT) | F(TRUE_ONE), NONE, NULL,
     "`posterior=joint`: in the true population the rows carry no information about the model;\nleave it out, or give "
     "`population=known:P`, unknown or counts:N,N,..."},
    {F(JOINT) | F(OWN_X), NONE, NULL,
     "`posterior=joint` needs one p(x) for all draws, and each draw of this model has its own:\nfit it with "
     "`marginal=plugin` and a `prevalence-n`, or leave it out"},
    {F(JOINT) | F(STRATA), NONE, NULL, "`posterior=joint` does not support strata:\nleave it out"},
    /* evaluations */
    {F(ENSEMBLE) | F(UNKNOWN), NONE, NULL, ENSEMBLE_IN},
    {F(ENSEMBLE) | F(COUNTS), NONE, NULL, ENSEMBLE_IN},
    {F(ENSEMBLE) | F(INTERVAL), NONE, NULL, "an ensemble has no intervals, and a population of known prevalence"},
    {F(IMPORTANCE) | F(IMAGES), NONE, NULL, "`importance` is for tables: images have no columns;\nleave it out"},
    {F(IMPORTANCE) | F(UNKNOWN), NONE, NULL,
     "`importance` cannot be used with `population=unknown`, which every permutation would change:\ngive known:P"},
    {F(IMPORTANCE) | F(COUNTS), NONE, NULL,
     "`importance` cannot be used with `population=counts`, which every permutation would change:\ngive known:P"},
    {F(IMPORTANCE) | F(ROWS), F(HARD), NULL, IMPORTANCE_OF},
    {F(IMPORTANCE) | F(ROWS) | F(STRATA), NONE, NULL, IMPORTANCE_OF},
    {F(STATED) | F(ROWS) | F(STRATA), F(HARD) | F(IMPORTANCE), NULL,
     "votes and `binarise` do not support strata:\nask for metrics of the rows, with `stated-for=rows`"},
    {F(STATED_FOR), F(HOME), NULL,
     "`stated-for=population`: the population of these probabilities is unknown;\nstate it with `from=P`"},
};

static pv_status check(pv_ctx *ctx, pv__fact_set facts) {
    const pv__rule *broken = pv__rule_broken(sizeof rules / sizeof *rules, rules, facts);
    return broken ? pv__fail(ctx, PV_ERR_USAGE, "%s", broken->text) : PV_OK;
}

static pv__fact_set facts_of_population(const pv_population *p) {
    const pv_unknown_options *how = &p->unknown;
    return pv__fact_if(p->classes == 2, TWO) | pv__fact_if(p->kind == PV_POPULATION_TRUE, TRUE_ONE) |
           pv__fact_if(p->kind == PV_POPULATION_KNOWN, KNOWN) | pv__fact_if(p->kind == PV_POPULATION_UNKNOWN, UNKNOWN) |
           pv__fact_if(p->kind == PV_POPULATION_COUNTS, COUNTS) | pv__fact_if(p->strata == 0, ONE) |
           pv__fact_if(how->reference != NULL, LABELLED) |
           pv__fact_if(how->method == PV_UNKNOWN_BBSE || how->confusion, DECISIONS);
}

static pv__fact_set facts_of_options(const pv_predict_options *options) {
    return pv__fact_if(options && options->level > 0, INTERVAL) | pv__fact_if(options && options->joint, JOINT);
}

pv_status pv__prediction_check(pv_ctx *ctx, const pv_classifier *c, const pv_population *population,
                               const pv_predict_options *options) {
    bool own_x = pv_loss_of_design(c->loss) || (pv_loss_has_marginal(c->loss) && c->marginal == PV_MARGINAL_PROFILE);
    return check(ctx, facts_of_population(population) | facts_of_options(options) | pv__fact_if(true, MODEL) |
                          pv__fact_if(c->stratified != NULL, STRATA) | pv__fact_if(c->prevalence != NULL, HOME) |
                          pv__fact_if(pv_classifier_is_relative(c), RELATIVE) | pv__fact_if(c->stacked, STACKED) |
                          pv__fact_if(c->boosted, BOOSTED) | pv__fact_if(c->posterior != NULL, POSTERIOR) |
                          pv__fact_if(c->spread != NULL, SPREAD) | pv__fact_if(own_x, OWN_X));
}

pv_status pv__adjustment_check(pv_ctx *ctx, const pv_probs *probs, bool home, const pv_population *population,
                               const pv_predict_options *options) {
    return check(ctx, facts_of_population(population) | facts_of_options(options) | pv__fact_if(true, PROBS) |
                          pv__fact_if(probs->strata != NULL, STRATA) | pv__fact_if(home, HOME));
}

pv_status pv__evaluation_check(pv_ctx *ctx, const pv__evaluated *e) {
    return check(ctx, (e->population ? facts_of_population(e->population) : NONE) | pv__fact_if(e->ensemble, ENSEMBLE) |
                          pv__fact_if(e->interval, INTERVAL) | pv__fact_if(e->importance, IMPORTANCE) |
                          pv__fact_if(e->images, IMAGES) | pv__fact_if(e->rows, ROWS) | pv__fact_if(e->hard, HARD) |
                          pv__fact_if(e->strata, STRATA) | pv__fact_if(e->stated, STATED) |
                          pv__fact_if(e->stated_for, STATED_FOR) | pv__fact_if(e->prevalence, HOME));
}
