/* Strata in a fit: what is known of each, and what their sampling makes of the losses.
 *
 *   ig, profile   p(x) is profiled out in each (core/profiles.c); in minibatches the selection likelihood with
 *                 d_sy/pi_sy in the place of d_y/pi_y
 *   iw            a row of stratum s and label y weighs share_s pi_sy W / n_sy: the weighted estimator (Horvitz and
 *                 Thompson) of a two-phase study
 */
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "infer/infer.h"

pv_status pv__stratified_alloc(pv_ctx *ctx, int strata, int classes, pv_stratified **made) {
    size_t s = (size_t)strata, k = (size_t)classes;
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    pv_stratified *to = *made;
    to->strata = strata;
    to->classes = classes;
    PV_TRY(pv__alloc(ctx, s, (3 + 3 * k) * sizeof(double), &to->share));
    to->n = to->share + s;
    to->prevalence = to->n + s;
    to->design = to->prevalence + s * k;
    to->log_marginal = to->design + s * k;
    to->rows = to->log_marginal + s * k;
    return PV_OK;
}

void pv_stratified_free(pv_ctx *ctx, pv_stratified *stratified) {
    if (!stratified)
        return;
    pv__free(ctx, stratified->share); /* and what lies behind it */
    pv__free(ctx, stratified->draw_log_marginal);
    pv__free(ctx, stratified);
}

void pv_stratified_mix(const pv_stratified *from, double *prevalence) {
    size_t k = (size_t)from->classes;
    memset(prevalence, 0, k * sizeof *prevalence);
    for (size_t s = 0; s < (size_t)from->strata; s++)
        for (size_t y = 0; y < k; y++)
            prevalence[y] += from->share[s] * from->prevalence[s * k + y];
}

/* ---- what is known of them --------------------------------------------------------------------------------------- */

/* Whether files or a subcohort say how common labels are in each. */
static bool has_prevalences(const pv_fit_options *o) {
    return o->prevalence_by || o->phase_one || o->subcohort > 0;
}

int pv__population_strata_count(const pv_schema *schema, const pv_fit_options *o) {
    return schema->strata && has_prevalences(o) ? schema->strata->count : 1;
}

bool pv__strata_of_survey(const pv_schema *schema, const pv_dataset *data, const pv_fit_options *o) {
    return schema->strata && data->stratum && !has_prevalences(o) && (data->clustered || data->sampling);
}

/* A cluster lies in one stratum. For variances every stratum has two at least: rows where there are no clusters. */
static pv_status check_survey(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, bool variances) {
    size_t strata = (size_t)schema->strata->count, groups = 0, *first, *clusters;
    char *const *name = schema->strata->name;
    for (size_t i = 0; data->clustered && i < data->rows; i++)
        groups = (size_t)data->group[i] >= groups ? (size_t)data->group[i] + 1 : groups;
    PV_TRY(pv__alloc(ctx, groups + strata, sizeof *first, &first)); /* 1 + the first row of each */
    clusters = first + groups;
    pv_status status = PV_OK;
    for (size_t i = 0; i < data->rows && status == PV_OK; i++) {
        size_t s = (size_t)data->stratum[i], *seen = data->clustered ? &first[data->group[i]] : NULL;
        if (seen && *seen && data->stratum[*seen - 1] != data->stratum[i])
            status = pv__fail(ctx, PV_ERR_INPUT,
                              "rows %zu and %zu are of one cluster, and of the strata '%s' and '%s': a cluster lies in "
                              "one stratum;\nname clusters apart (`cluster`), or leave `strata` out",
                              data->table_row[*seen - 1] + 1, data->table_row[i] + 1,
                              pv__show(name[data->stratum[*seen - 1]]).text, pv__show(name[s]).text);
        clusters[s] += !seen || !*seen;
        if (seen && !*seen)
            *seen = i + 1;
    }
    for (size_t s = 0; s < strata && variances && status == PV_OK; s++)
        if (clusters[s] < 2)
            status = pv__fail(ctx, PV_ERR_INPUT,
                              "stratum '%s' has one %s, which says nothing of how much they differ:\njoin it with "
                              "another stratum, or leave `strata` out",
                              pv__show(name[s]).text, data->clustered ? "cluster" : "row");
    pv__free(ctx, first);
    return status;
}

static pv_status check_options(pv_ctx *ctx, const pv_schema *schema, const pv_fit_options *o) {
    const char *file = o->prevalence_by ? "prevalence-by" : o->phase_one ? "phase-one" : "subcohort";
    if (!schema->strata && (o->prevalence_by || o->phase_one))
        return pv__fail(ctx, PV_ERR_USAGE, "`%s` is of strata:\nname their columns with `strata`, or leave it out",
                        file);
    if (!schema->strata)
        return PV_OK;
    if (!has_prevalences(o))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`strata` needs a prevalence for each: `prevalence-by=FILE`, `phase-one=FILE` with the counts "
                        "of the cohort, or `subcohort=F` of a case-cohort sample; those of a survey need sampling "
                        "weights or clusters (`weights-are=sampling`, `cluster`)");
    if (o->subcohort > 0)
        PV_TRY(pv__subcohort_check(ctx, o, schema->classes));
    if (o->prevalence_by && o->phase_one)
        return pv__fail(ctx, PV_ERR_USAGE, "give `prevalence-by` or `phase-one`, not both");
    if (o->prevalence)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`prevalence=%s`: with `strata` each has its own, in the file of `%s`;\nleave `prevalence` out",
                        o->prevalence, file);
    if (strcmp(o->prevalence_n, "auto") != 0)
        return pv__fail(ctx, PV_ERR_USAGE, "`prevalence-n` does not go with `strata`: the file of `%s` says it", file);
    if (o->sample)
        return pv__fail(ctx, PV_ERR_USAGE, "`population-sample` does not go with `strata`;\nleave it out");
    return PV_OK;
}

/* A prevalence that rests on so many people is known for all that the rows can tell (as without strata). */
static void hold_if_known(const double *mass, pv_stratified *to) {
    size_t k = (size_t)to->classes;
    for (size_t s = 0; s < (size_t)to->strata; s++) {
        double rows = 0;
        for (size_t y = 0; y < k; y++)
            rows += mass[s * k + y];
        if (to->n[s] > 1e6 * rows)
            to->n[s] = HUGE_VAL;
    }
}

/* Every stratum needs rows of every label. */
static pv_status check_masses(pv_ctx *ctx, const pv_schema *schema, const double *mass) {
    size_t k = (size_t)schema->classes;
    for (size_t i = 0; i < (size_t)schema->strata->count * k; i++)
        if (!(mass[i] > 0))
            return pv__fail(
                ctx, PV_ERR_INPUT,
                "stratum '%s' has no row of label '%s';\njoin it with another stratum, or leave its rows out",
                pv__show(schema->strata->name[i / k]).text, pv__show(schema->labels[i % k]).text);
    return PV_OK;
}

/* ---- case-cohort samples ----------------------------------------------------------------------------------------- */

pv_status pv__subcohort_check(pv_ctx *ctx, const pv_fit_options *o, int classes) {
    if (classes != 2)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`subcohort` is for two labels, cases and others; the data have %d:\nstate the cohort's counts "
                        "with `phase-one`",
                        classes);
    if (o->prevalence || o->prevalence_by || o->phase_one)
        return pv__fail(ctx, PV_ERR_USAGE, "`subcohort` says what the prevalence is:\nleave `%s` out",
                        o->prevalence  ? "prevalence"
                        : o->phase_one ? "phase-one"
                                       : "prevalence-by");
    if (o->sample)
        return pv__fail(ctx, PV_ERR_USAGE, "`population-sample` does not go with `subcohort`;\nleave one out");
    return PV_OK;
}

/* n_1 cases and n_0/F others. The log odds of their shares vary by 1/n_1 + 1/n_0, as n observations' would. */
void pv__subcohort(const double *mass, double fraction, double *prevalence, double *n) {
    double others = mass[0] / fraction;
    prevalence[1] = mass[1] / (mass[1] + others);
    prevalence[0] = others / (mass[1] + others);
    *n = mass[0] * mass[1] / (mass[0] + mass[1]) / (prevalence[0] * prevalence[1]);
}

static void count_cohort(const double *mass, double fraction, pv_stratified *to) {
    double all = 0;
    for (int s = 0; s < to->strata; s++) {
        pv__subcohort(mass + 2 * s, fraction, to->prevalence + 2 * s, &to->n[s]);
        all += to->share[s] = mass[2 * s + 1] + mass[2 * s] / fraction;
    }
    for (int s = 0; s < to->strata; s++)
        to->share[s] /= all;
}

/* Odds against the first label times factor. The error of log odds, 1/(n pi (1 - pi)) for two labels, stays. */
static void scale_odds(double factor, pv_stratified *to) {
    size_t k = (size_t)to->classes;
    for (size_t s = 0; s < (size_t)to->strata; s++) {
        double *p = to->prevalence + s * k, first = p[0], sum = 0;
        for (size_t y = 0; y < k; y++)
            sum += p[y] *= y > 0 ? factor : 1;
        for (size_t y = 0; y < k; y++)
            p[y] /= sum;
        to->n[s] *= first * (1 - first) / (p[0] * (1 - p[0]));
    }
}

pv_status pv__stratified_new(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data,
                             const pv_fit_options *options, pv_stratified **made) {
    *made = NULL;
    if (pv__strata_of_survey(schema, data, options))
        return check_survey(ctx, schema, data, options->infer == PV_INFER_ROBUST && !options->bare);
    PV_TRY(check_options(ctx, schema, options));
    if (!schema->strata)
        return PV_OK;
    if (!data->stratum)
        return pv__fail(ctx, PV_ERR_USAGE, "the schema has strata and the data have none: apply it to their table");
    size_t k = (size_t)schema->classes, count = (size_t)schema->strata->count;
    pv_targets targets = pv_dataset_targets(data);
    PV_TRY(pv__stratified_alloc(ctx, schema->strata->count, schema->classes, made));
    double *mass;
    PV_TRY(pv__alloc(ctx, count * k, sizeof *mass, &mass));
    pv__strata_mass(&targets, schema->strata->count, mass);
    pv_status status;
    PV_GOTO(done, check_masses(ctx, schema, mass));
    if (options->subcohort > 0)
        count_cohort(mass, options->subcohort, *made);
    else
        PV_GOTO(done,
                options->phase_one
                    ? pv__phase_one_read(ctx, options->phase_one, options->known, options->csv, schema, mass, *made)
                    : pv__prevalence_by_read(ctx, options->prevalence_by, options->known, options->csv, schema, *made));
    if (options->prevalence_by && options->prevalence_odds > 0 && options->prevalence_odds != 1)
        scale_odds(options->prevalence_odds, *made);
    if (count > 1) /* one is held as any population's prevalence is (fit.c) */
        hold_if_known(mass, *made);
    for (size_t s = 0; s < count; s++) {
        double rows = 0;
        for (size_t y = 0; y < k; y++)
            rows += mass[s * k + y];
        (*made)->rows[s] = rows;
        for (size_t y = 0; y < k; y++)
            (*made)->design[s * k + y] = mass[s * k + y] / rows;
    }
done:
    pv__free(ctx, mass);
    return status;
}

/* ---- in the losses ----------------------------------------------------------------------------------------------- */

static pv_status refuse(pv_ctx *ctx, const pv__problem *problem) {
    const pv_fit_options *o = problem->options;
    bool profile = pv__is_profile(problem), weighted = o->loss == PV_LOSS_IW;
    if (!profile && !weighted)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`strata` go with `loss=ig` and `marginal=profile`, or with `loss=iw`, the weighted "
                        "estimator:\nchoose one of these, or leave `strata` out");
    if (problem->cluster || problem->sampling)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "%s do not go with `strata`, whose rows have the weights of their strata already:\nleave out "
                        "one of the two",
                        problem->cluster ? "clusters (`cluster`)" : "sampling weights (`weights`)");
    if (weighted && (problem->batch > 0 || o->infer > PV_INFER_ML || !problem->targets.label))
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`loss=iw` with `strata` is a weighted estimate of hard labels from all rows at once:\nchoose `infer=map` "
            "or ml and leave `batch` out; leave `loss` out and choose `infer=robust` for its intervals");
    if (o->infer == PV_INFER_ROBUST && (problem->batch > 0 || !pv_model_has_coefficients(problem->model)))
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`infer=robust` is for `model=linear` in the full batch:\nchoose another `infer`, or change these");
    if (o->match != PV_MATCH_NONE && o->match != PV_MATCH_AUTO)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`match=%s` moves one output bias, and every stratum has a prevalence of its own:\nleave it "
                        "out, or choose `infer=robust`, whose mean risks are the stated ones",
                        pv_match_name((pv_match)o->match));
    if (strcmp(o->robust, "auto") != 0 && strcmp(o->robust, "0") != 0)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`robust=%s`: with `strata` there is nothing between maximum likelihood and the weighted "
                        "estimator;\nleave it out, or choose `infer=robust` or `loss=iw` for the latter",
                        o->robust);
    if (strcmp(o->intercept_prior, "jeffreys") == 0)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`intercept-prior=jeffreys` is of one prevalence: with `strata` choose auto, normal:S or none");
    return PV_OK;
}

/* iw: rows weighted to the population, stratum by stratum. */
static pv_status weigh(pv_ctx *ctx, pv__problem *problem) {
    const pv_stratified *strata = problem->stratified;
    size_t n = problem->n, k = (size_t)problem->targets.classes, cells = (size_t)strata->strata * k;
    PV_TRY(pv__alloc(ctx, n + cells, sizeof(double), &problem->joined));
    double *weight = problem->joined, *mass = weight + n, total = 0;
    pv__strata_mass(&problem->targets, strata->strata, mass);
    for (size_t i = 0; i < cells; i++)
        total += mass[i];
    for (size_t i = 0; i < n; i++) {
        size_t cell = (size_t)problem->targets.stratum[i] * k + (size_t)problem->targets.label[i];
        weight[i] =
            pv__weight(&problem->targets, i) * total * strata->share[cell / k] * strata->prevalence[cell] / mass[cell];
    }
    problem->targets.weight = weight;
    pv_label_mass(&problem->targets, problem->mass);
    return PV_OK;
}

pv_status pv__stratify(pv_ctx *ctx, pv__problem *problem) {
    const pv_stratified *strata = problem->stratified;
    if (!strata)
        return PV_OK;
    PV_TRY(refuse(ctx, problem));
    size_t cells = (size_t)strata->strata * (size_t)strata->classes;
    double n = 0;
    for (int s = 0; s < strata->strata; s++)
        n += isfinite(strata->n[s]) ? strata->n[s] : 0;
    problem->population.prevalence_n = n > 0 ? n : HUGE_VAL; /* of all together: known where every one is */
    problem->population.strata = strata->strata;
    problem->population.share = strata->share;
    problem->population.stratum_prevalence = strata->prevalence;
    problem->population.stratum_n = strata->n;
    PV_TRY(pv__alloc(ctx, cells, sizeof(double), &problem->stratum_log_ratio));
    for (size_t i = 0; pv_loss_has_marginal(pv__problem_loss(problem)) && i < cells; i++)
        problem->stratum_log_ratio[i] = log(strata->design[i]) - log(strata->prevalence[i]);
    return problem->options->loss == PV_LOSS_IW ? weigh(ctx, problem) : PV_OK;
}
