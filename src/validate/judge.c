/* Evaluation of predictions: builds the case to assess from predictions and labels, and assesses it.
 *
 * stated_for    rows: without weighting. Otherwise rows are weighted by label (pv_assess_options.prevalence). All
 * metrics
 *               of an evaluation are reported for one population.
 * binarise      labels, targets, predictions, marginal and prevalence are all reduced to two sides (assess/binarise.c)
 * gain          holdout_nll and information_gain need the likelihood and its marginal. If the predictions were
 * converted
 *               from the true population, they serve as the likelihood, and the prevalence as its marginal.
 */
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/text.h"
#include "infer/infer.h"
#include "predict/predict.h"
#include "validate.h"

/* ---- options ----------------------------------------------------------------------------------------------------- */

#define AT(field) offsetof(pv_judge_options, field)

const pv_option pv_judge_option_table[] = {
    {"stated-for", PV_OPTION_TEXT, AT(stated_for), "rows", 0, 0, NULL, "rows|population|P",
     "The population that metrics and curves are for. rows: the rows as they are. population: that of the predictions. "
     "Or a prevalence."},
    {"binarise", PV_OPTION_TEXT, AT(binarise), NULL, 0, 0, NULL, "LABEL",
     "Evaluate ordered labels as two, below and above this one; rows with more than half of their votes on it are left "
     "out."},
    {"positive", PV_OPTION_TEXT, AT(positive), NULL, 0, 0, NULL, "LABEL",
     "The label that rates, predictive values and curves refer to, against all others. Default: the last."},
    {"bootstrap", PV_OPTION_INT, AT(bootstrap), "-1", -1, 1e6, NULL, "N",
     "Bootstrap replicates for the metrics' intervals, stratified by label; 0: no intervals; -1: as many as time "
     "allows."},
    {"interval", PV_OPTION_REAL, AT(level), "0.95", 0.001, 0.9999, NULL, "LEVEL", "Level of the intervals."},
    {"seed", PV_OPTION_INT, AT(seed), "1", 0, 9007199254740992.0, NULL, "S", "Seed of the bootstrap."},
    {0}};

pv_judge_options pv_judge_options_default(void) {
    pv_judge_options options = {0};
    pv_options_default(pv_judge_option_table, &options);
    return options;
}

pv_status pv_judge_settings_new(pv_ctx *ctx, pv_settings **settings) {
    return pv__settings_of(ctx, pv_judge_option_table, sizeof(pv_judge_options), NULL, settings);
}

const pv_judge_options *pv_judge_options_of(const pv_settings *settings) {
    return pv_settings_values(settings, pv_judge_option_table);
}

/* ---- population of the metrics ----------------------------------------------------------------------------------- */

pv_status pv__stated_read(pv_ctx *ctx, const char *text, char *const *labels, int classes, pv__stated *stated,
                          double *share) {
    *stated = PV__STATED_ROWS;
    if (!text || strcmp(text, "rows") == 0)
        return PV_OK;
    *stated = PV__STATED_POPULATION;
    if (strcmp(text, "population") == 0)
        return PV_OK;
    *stated = PV__STATED_GIVEN;
    if (!strpbrk(text, "=0123456789"))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`stated-for`: '%s' is not a population;\ngive rows, population, or a prevalence such as 0.01",
                        pv__show(text).text);
    return pv_prevalence_parse_one(ctx, "`stated-for`", text, labels, classes, share);
}

bool pv_shares_differ(int classes, const double *observed, const double *prevalence) {
    const double far = 0.25; /* in log odds */
    for (int y = 0; y < classes; y++)
        if (observed[y] == 0 || fabs(pv_logit(observed[y]) - pv_logit(prevalence[y])) > far)
            return true;
    return false;
}

static pv_status set_shares(pv_ctx *ctx, const char *stated_for, const pv_targets *targets, pv_judgement *j) {
    size_t size = (size_t)j->classes * sizeof *j->stated;
    pv__stated stated;
    PV_TRY(pv__alloc(ctx, (size_t)j->classes, sizeof *j->observed, &j->observed));
    PV_TRY(pv__alloc(ctx, (size_t)j->classes, sizeof *j->stated, &j->stated));
    pv_label_shares(targets, j->observed);
    PV_TRY(pv__stated_read(ctx, stated_for, j->labels, j->classes, &stated, j->stated));
    PV_TRY(pv__evaluation_check(
        ctx, &(pv__evaluated){.stated_for = stated == PV__STATED_POPULATION, .prevalence = j->prevalence != NULL}));
    if (stated != PV__STATED_GIVEN)
        memcpy(j->stated, stated == PV__STATED_ROWS ? j->observed : j->prevalence, size);
    j->as_rows = stated == PV__STATED_ROWS;
    j->misleading = j->as_rows && j->prevalence && pv_shares_differ(j->classes, j->observed, j->prevalence);
    return PV_OK;
}

/* ---- the case ---------------------------------------------------------------------------------------------------- */

/* What is assessed, original or reduced to two sides. own: the arrays of the sides; NULL if not reduced. */
typedef struct judged_case {
    pv_targets targets;
    const double *log_p, *loglik, *log_marginal, *prevalence;
    double *own;
    double *mass;                  /* [strata][classes], if metrics are reported for strata; NULL: by label */
    double *gain;                  /* [n][classes], for unweighted rows of strata; NULL: uses the overall marginal */
    const pv_predicted_strata *of; /* NULL: none */
} judged_case;

static pv_status find_middle(pv_ctx *ctx, const char *name, char *const *labels, int classes, int *middle) {
    char list[300];
    pv__join(labels, (size_t)classes, (size_t)classes, list, sizeof list);
    if (classes < 3)
        return pv__fail(ctx, PV_ERR_USAGE, "`binarise=%s`: there are two labels already, %s;\nleave `binarise` out",
                        pv__show(name).text, list);
    for (*middle = 0; *middle < classes && strcmp(labels[*middle], name) != 0;)
        ++*middle;
    if (*middle > 0 && *middle < classes - 1)
        return PV_OK;
    return pv__fail(ctx, PV_ERR_USAGE, "`binarise=%s`: %s;\nname one with labels on both sides: %s",
                    pv__show(name).text,
                    *middle == classes ? "there is no such label" : "is the first or the last label", list);
}

/* Reduces labels, targets and predictions to the two sides of a grade. */
static pv_status take_sides(pv_ctx *ctx, const char *name, char *const *labels, judged_case *it, pv_judgement *j) {
    size_t n = it->targets.n;
    int middle = 0, classes = it->targets.classes;
    PV_TRY(find_middle(ctx, name, labels, classes, &middle));
    PV_TRY(pv__alloc(ctx, n + 1, 7 * sizeof *it->own, &it->own)); /* the last row holds marginal and prevalence */
    double *frequency = it->own, *log_p = frequency + 2 * n, *loglik = log_p + 2 * n, *weight = loglik + 2 * n,
           *log_marginal = weight + n, *prevalence = log_marginal + 2;
    PV_TRY(pv_binarise(ctx, &it->targets, middle, frequency, weight, &j->uncertain));
    it->targets.classes = 2;
    it->targets.label = NULL;
    it->targets.frequency = frequency;
    it->targets.weight = weight;
    it->targets.set = it->targets.stratum = NULL;
    pv_binarise_log(n, classes, middle, it->log_p, log_p);
    it->log_p = log_p;
    if (it->loglik) {
        pv_binarise_log(n, classes, middle, it->loglik, loglik);
        it->loglik = loglik;
    }
    if (it->log_marginal) {
        pv_binarise_log(1, classes, middle, it->log_marginal, log_marginal);
        it->log_marginal = log_marginal;
    }
    if (it->prevalence) {
        double *logs;
        PV_TRY(pv__alloc(ctx, (size_t)classes, sizeof *logs, &logs));
        for (int y = 0; y < classes; y++)
            logs[y] = log(it->prevalence[y]);
        pv_binarise_log(1, classes, middle, logs, prevalence);
        pv__free(ctx, logs);
        for (int side = 0; side < 2; side++)
            prevalence[side] = exp(prevalence[side]);
        it->prevalence = prevalence;
    }
    return PV_OK;
}

static pv_status find_positive(pv_ctx *ctx, const char *name, pv_judgement *j) {
    for (j->positive = j->classes - 1; name && j->positive >= 0 && strcmp(j->labels[j->positive], name) != 0;)
        j->positive--;
    if (j->positive >= 0)
        return PV_OK;
    char list[300];
    const char *near = pv_nearest(name, (const char *const *)j->labels, (size_t)j->classes);
    pv__join(j->labels, (size_t)j->classes, (size_t)j->classes, list, sizeof list);
    return pv__fail(ctx, PV_ERR_USAGE, "`positive`: there is no label '%s'; %s%s%s", pv__show(name).text,
                    near ? "did you mean '" : "the labels are ", near ? near : list, near ? "'?" : "");
}

static pv_status make_case(pv_ctx *ctx, const pv_dataset *data, char *const *labels, const pv_prediction *said,
                           const pv_judge_options *options, judged_case *it, pv_judgement *j) {
    static char *const sides[] = {"below", "above"};
    if (!data->label && !data->frequency)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "the rows have no labels to evaluate against:\nread them with the outcome (roles of pv_schema_roles)");
    if (data->rows != said->rows)
        return pv__fail(ctx, PV_ERR_USAGE, "%zu rows have labels and %zu were predicted;\nevaluate the rows that were",
                        data->rows, said->rows);
    *it = (judged_case){.targets = pv_dataset_targets(data),
                        .log_p = said->log_p,
                        .loglik = said->loglik,
                        .log_marginal = said->log_marginal,
                        .prevalence = said->prevalence};
    it->targets.classes = said->classes;
    if (said->strata)
        it->targets.block = NULL; /* strata of the population */
    if (options->binarise)
        PV_TRY(take_sides(ctx, options->binarise, labels, it, j));
    size_t classes = (size_t)it->targets.classes;
    j->classes = it->targets.classes;
    PV_TRY(pv__names_copy(ctx, (const char *const *)(options->binarise ? sides : labels), classes, &j->labels));
    j->dropped = data->dropped;
    j->rows = data->rows - data->voteless - j->uncertain;
    if (it->prevalence) {
        PV_TRY(pv__alloc(ctx, classes, sizeof *j->prevalence, &j->prevalence));
        memcpy(j->prevalence, it->prevalence, classes * sizeof *j->prevalence);
    }
    PV_TRY(find_positive(ctx, options->positive, j));
    return set_shares(ctx, options->stated_for, &it->targets, j);
}

/* Sets the population's strata if metrics are reported for them. population [strata][classes]; NULL: that of the
 * predictions. */
static pv_status state_strata(pv_ctx *ctx, const pv_predicted_strata *of, const double *population, judged_case *it,
                              const pv_judgement *j) {
    size_t k = (size_t)j->classes, cells = (size_t)of->strata * k;
    it->of = of;
    if (j->as_rows)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, cells, sizeof *it->mass, &it->mass));
    for (size_t i = 0; i < cells; i++)
        it->mass[i] = population ? population[i] : of->share[i / k] > 0 ? of->share[i / k] * of->prevalence[i] : 0;
    pv__strata_state(of->strata, j->classes, j->stated, it->mass);
    return pv__strata_check_rows(ctx, &it->targets, of->name, j->labels, of->strata, it->mass, 1);
}

static void case_clear(pv_ctx *ctx, judged_case *it) {
    pv__free(ctx, it->own);
    pv__free(ctx, it->mass);
    pv__free(ctx, it->gain);
}

static uint64_t hash_targets(const pv_targets *targets) {
    size_t n = targets->n, soft = n * (size_t)targets->classes;
    uint64_t hash = targets->label ? pv__hash(targets->label, n * sizeof *targets->label)
                                   : pv__hash(targets->frequency, soft * sizeof *targets->frequency);
    return targets->weight ? pv__hash_seeded(targets->weight, n * sizeof *targets->weight, hash) : hash;
}

/* The gain over the prevalence refers to the population of the predictions. */
static pv_status assess(pv_ctx *ctx, const judged_case *it, bool elsewhere, const pv_judge_options *options,
                        pv_judgement *j) {
    bool moved = elsewhere && j->prevalence;
    double *log_prevalence = NULL;
    if (moved || it->gain) {
        PV_TRY(pv__alloc(ctx, (size_t)j->classes, sizeof *log_prevalence, &log_prevalence));
        for (int y = 0; y < j->classes; y++)
            log_prevalence[y] = it->gain ? 0 : log(j->prevalence[y]);
    }
    const pv_judged judged = {.log_p = it->log_p,
                              .loglik = it->gain ? it->gain
                                        : moved  ? it->log_p
                                                 : it->loglik,
                              .log_marginal = log_prevalence ? log_prevalence : it->log_marginal};
    const pv_assess_options how = {.prevalence = j->as_rows ? NULL : j->stated,
                                   .stratum_mass = it->mass,
                                   .strata = it->mass ? it->of->strata : 0,
                                   .positive = j->positive,
                                   .bootstrap = options->bootstrap,
                                   .level = options->level,
                                   .seed = (uint64_t)options->seed,
                                   .keep = options->keep};
    j->hash = hash_targets(&it->targets);
    j->offset = (double)NAN;
    if (elsewhere && j->prevalence)
        j->offset = pv_logit(j->prevalence[j->positive]);
    else if (!elsewhere && it->log_marginal)
        j->offset = pv_logit(exp(it->log_marginal[j->positive]));
    pv_status status = pv_assess_intervals(ctx, &it->targets, &judged, &how, &j->found);
    pv__free(ctx, log_prevalence);
    return status;
}

/* The strata of the population, gains over their own marginals, and the metrics of each stratum. */
static pv_status judge_strata(pv_ctx *ctx, const pv_prediction *said, const pv_judge_options *options, judged_case *it,
                              pv_judgement *j) {
    bool hard = it->targets.label && !options->binarise;
    PV_TRY(
        pv__evaluation_check(ctx, &(pv__evaluated){.rows = true, .hard = hard, .strata = true, .stated = !j->as_rows}));
    if (!hard)
        return PV_OK;
    PV_TRY(state_strata(ctx, said->strata, NULL, it, j));
    if (j->as_rows && said->loglik) {
        size_t count = said->rows * (size_t)said->classes;
        double *logs = NULL;
        PV_TRY(pv__alloc(ctx, count, sizeof *it->gain, &it->gain));
        memcpy(it->gain, said->elsewhere ? said->log_p : said->loglik, count * sizeof *it->gain);
        PV_TRY(pv__strata_logs(ctx, said, &logs));
        pv_status status =
            pv__strata_gain(ctx, &it->targets, said->strata->strata, logs + said->classes, logs, it->gain);
        pv__free(ctx, logs);
        PV_TRY(status);
    }
    const pv__strata_case by = {.targets = &it->targets,
                                .log_p = it->log_p,
                                .loglik = it->loglik,
                                .of = said->strata,
                                .elsewhere = said->elsewhere,
                                .mass = it->mass};
    return pv__strata_judge(ctx, &by, options, j);
}

pv_status pv_judge(pv_ctx *ctx, const pv_dataset *data, char *const *labels, const pv_prediction *said,
                   const pv_judge_options *options, pv_judgement **judgement) {
    const pv_judge_options asked = options ? *options : pv_judge_options_default();
    pv_judgement *j;
    judged_case it = {0};
    pv_status status;
    *judgement = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *j, &j));
    PV_GOTO(done, make_case(ctx, data, labels, said, &asked, &it, j));
    if (said->strata && data->stratum)
        PV_GOTO(done, judge_strata(ctx, said, &asked, &it, j));
    PV_GOTO(done, assess(ctx, &it, said->elsewhere, &asked, j));
    *judgement = j;
    j = NULL;
done:
    case_clear(ctx, &it);
    pv_judgement_free(ctx, j);
    return status;
}

pv_status pv_judge_in(pv_ctx *ctx, const pv_classifier *classifier, const pv_dataset *data, const char *population,
                      const pv_judge_options *options, pv_judgement **judgement) {
    const pv_predict_options wanted = {.likelihood = true};
    pv_prediction *said;
    *judgement = NULL;
    if (classifier->label_error)
        pv__log(ctx, PV_LOG_WARNING, "%s", PV_RECORDED_WARNING);
    PV_TRY(pv_predict_in(ctx, classifier, data, population, &wanted, &said));
    pv_status status = pv_judge(ctx, data, classifier->schema->labels, said, options, judgement);
    pv_prediction_free(ctx, said);
    return status;
}

pv_status pv_judgement_compare(pv_ctx *ctx, const pv_judgement *first, const pv_judgement *other, const char *name,
                               double level, pv_assessment *difference) {
    *difference = (pv_assessment){0};
    bool same = first->classes == other->classes;
    for (int y = 0; y < first->classes && same; y++)
        same = strcmp(first->labels[y], other->labels[y]) == 0;
    if (!same)
        return pv__fail(ctx, PV_ERR_INPUT,
                        "%s: its labels differ, or are in a different order;\ncompare models of the same outcome",
                        pv__show(name).text);
    if (first->rows != other->rows || first->hash != other->hash)
        return pv__fail(ctx, PV_ERR_INPUT,
                        "%s: evaluated on different rows (%zu instead of %zu), or in a different order;\na paired "
                        "difference needs the same rows for both: leave out those that one of them cannot predict",
                        pv__show(name).text, other->rows, first->rows);
    for (int y = 0; y < first->classes && same; y++)
        same = fabs(first->stated[y] - other->stated[y]) <= 1e-9;
    if (!same || first->positive != other->positive)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "%s: its metrics are for another population;\nchoose one for both, with `stated-for=P` or "
                        "`stated-for=rows`",
                        pv__show(name).text);
    return pv_assessment_compare(ctx, &first->found, &other->found, level, difference);
}

void pv_judgement_free(pv_ctx *ctx, pv_judgement *j) {
    if (!j)
        return;
    if (j->labels)
        pv_string_list_free(ctx, j->labels, (size_t)j->classes);
    pv__free(ctx, j->observed);
    pv__free(ctx, j->stated);
    pv__free(ctx, j->prevalence);
    pv_assessment_clear(ctx, &j->found);
    pv__strata_clear(ctx, j);
    pv__free(ctx, j);
}

/* ---- a validation as one sample ---------------------------------------------------------------------------------- */

/* The mean over folds of the models' own p(positive|w), as log odds. */
static double mean_offset(const pv_validation *v) {
    size_t classes = (size_t)v->data->classes;
    double sum = 0;
    for (size_t f = 0; f < v->folds; f++)
        sum += exp(v->log_marginal[f * classes + classes - 1]);
    return pv_logit(sum / (double)v->folds);
}

pv_status pv_validation_judge(pv_ctx *ctx, const pv_validation *v, char *const *labels, int64_t seed,
                              pv_judgement **judgement) {
    /* An unknown population is that of the rows. */
    pv_prediction said = {.rows = v->data->rows,
                          .classes = v->data->classes,
                          .log_p = v->log_p,
                          .prevalence = v->target ? v->observed : v->population};
    pv_judge_options options = pv_judge_options_default();
    options.stated_for = "population";
    options.level = v->level;
    options.seed = seed;
    pv_judgement *j;
    judged_case it = {0};
    pv_status status;
    *judgement = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *j, &j));
    PV_GOTO(done, make_case(ctx, v->data, labels, &said, &options, &it, j));
    if (v->stated)
        memcpy(j->stated, v->stated, (size_t)j->classes * sizeof *j->stated);
    if (v->strata && it.targets.label) {
        PV_GOTO(done, state_strata(ctx, v->strata[0], v->stratum_mass, &it, j));
        const pv__strata_case by = {
            .targets = &it.targets, .log_p = v->log_p, .of = v->strata[0], .elsewhere = v->elsewhere, .mass = it.mass};
        PV_GOTO(done, pv__strata_judge(ctx, &by, &options, j));
    }
    /* The folds have different marginals; metrics that need one are in the validation's own metrics. */
    PV_GOTO(done, assess(ctx, &it, false, &options, j));
    j->offset = v->elsewhere ? pv_logit(v->population[j->positive]) : mean_offset(v);
    *judgement = j;
    j = NULL;
done:
    case_clear(ctx, &it);
    pv_judgement_free(ctx, j);
    return status;
}
