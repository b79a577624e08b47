/* Chooses the prior's scale from the rows: for `prior` auto, and for usual if there are few rows per slope or weight.
 *
 * For a linear model it maximises the marginal likelihood (evidence.c). For others, and if that is not possible, it
 * uses cross-validation:
 *
 *   score(s)  =  - mean over folds of  sum_n v_n prevalence(y_n)/m_{y_n} log p(y_n|x_n, w_s)
 *
 * over the rows n of the fold, where w_s is the posterior maximum of the other folds with prior normal:s on slopes, and
 * m_y the fold's mass of label y: the negative log-likelihood of a person of the population who was not used in the
 * fit. The scale with the lowest score is chosen, unless a scale nearer to the usual one differs only by chance: by
 * less than the standard error, over folds, of the difference. docs/method.md shows the gains, and the coverage of a
 * linear model's intervals afterwards.
 */
#include <math.h>
#include <string.h>

#include "data/schema_learn.h"
#include "infer/deal_units.h"

static const double scales[] = {0.1, 0.25, 0.35, 0.5, 1, 2.5, 10};
enum { SCALES = sizeof scales / sizeof *scales, USUAL = 5, FOLDS_MAX = 5 };
enum { NETWORK_FIRST = 1, NETWORK_LAST = USUAL, NETWORK_FOLDS = 3 }; /* with smaller weights a network is flat */
static const double MANY_PER_PARAMETER = 100; /* rows of each label: with more, the prior matters little */
static const double FEW_PER_COLUMN = 5;       /* with fewer, and at least this many columns, it matters much: */
enum { MANY_COLUMNS = 5 };
enum { MANY_ROWS = 20000 };             /* with more rows one evaluated fold is enough */
enum { CHOICE_REPEAT = (1 << 30) + 1 }; /* a repeat number that no cross-validation reaches */

typedef struct choice {
    const pv_schema *schema;
    const pv_dataset *data;
    const pv_fit_options *options;
    int32_t *fold;        /* [rows] */
    size_t folds, judged; /* evaluated folds come first */
    size_t first, tried;  /* range of the scales */
    size_t nearest;       /* the scale to prefer */
    double *score;        /* [judged][tried] */
} choice;

/* ---- one fold and scale ------------------------------------------------------------------------------------------ */

static pv_status take(pv_ctx *ctx, const choice *c, size_t fold, bool inside, pv_dataset **part) {
    size_t *row, count = 0;
    PV_TRY(pv__alloc(ctx, c->data->rows, sizeof *row, &row));
    for (size_t i = 0; i < c->data->rows; i++)
        if (((size_t)c->fold[i] == fold) == inside)
            row[count++] = i;
    pv_status status = pv_dataset_take(ctx, c->data, count, row, part);
    if (status == PV_OK)
        pv__weights_scale(*part);
    pv__free(ctx, row);
    return status;
}

/* The negative log-likelihood of the held-out rows, weighted to the fit's population. */
static pv_status score_of(pv_ctx *ctx, const pv_classifier *fitted, const pv_dataset *held, double *score) {
    pv_targets targets = pv_dataset_targets(held);
    size_t k = (size_t)targets.classes, n = targets.n, inputs = (size_t)pv_model_inputs(fitted->model);
    enum { BLOCK = 256 };
    pv_model_work *work = NULL;
    double *mass, *loglik, *shift;
    PV_TRY(pv__alloc(ctx, (BLOCK + 2) * k, sizeof *mass, &mass));
    shift = mass + k;
    loglik = shift + k;
    pv_label_mass(&targets, mass);
    bool move = fitted->prevalence && pv_loss_of_design(fitted->loss);
    double total = 0;
    for (size_t y = 0; y < k; y++) {
        shift[y] = move ? log(fitted->prevalence[y] / fitted->design[y]) : 0;
        total += mass[y];
    }
    pv_status status;
    PV_GOTO(done, pv_model_work_new(ctx, fitted->model, BLOCK, &work));
    *score = 0;
    for (size_t begin = 0; begin < n; begin += BLOCK) {
        size_t rows = n - begin < BLOCK ? n - begin : BLOCK;
        pv_model_forward(fitted->model, work, fitted->w, rows, held->x + begin * inputs, loglik);
        for (size_t i = 0; i < rows; i++) {
            double *row = loglik + i * k;
            for (size_t y = 0; y < k; y++)
                row[y] += shift[y];
            pv_log_softmax((int)k, row, row);
            for (size_t y = 0; y < k; y++) {
                double own = pv__weight(&targets, begin + i) * pv__share(&targets, begin + i, (int)y);
                if (own > 0)
                    *score -= own * (fitted->prevalence ? fitted->prevalence[y] / mass[y] : 1 / total) * row[y];
            }
        }
    }
done:
    pv_model_work_free(ctx, work);
    pv__free(ctx, mass);
    return status;
}

static pv_status run_one(pv_ctx *ctx, void *state, size_t index) {
    const choice *c = state;
    size_t fold = index / c->tried, scale = c->first + index % c->tried;
    pv_dataset *learn = NULL, *held = NULL;
    pv_classifier *fitted = NULL;
    pv_status status;
    PV_GOTO(done, take(ctx, c, fold, false, &learn));
    PV_GOTO(done, take(ctx, c, fold, true, &held));
    char prior[PV__PRIOR_TEXT];
    pv_fit_options how = *c->options;
    pv__format(prior, sizeof prior, "normal:%g", scales[scale]);
    how.prior = prior;
    how.infer = PV_INFER_MAP;
    how.bare = true;
    how.trace = false;
    ctx->options.log = NULL; /* warnings will come from the final fit */
    status = pv_fit(ctx, c->schema, learn, &how, &fitted);
    if (status == PV_ERR_NUMERIC) { /* this scale cannot be used */
        c->score[index] = HUGE_VAL;
        status = PV_OK;
        goto done;
    }
    PV_GOTO(done, status);
    PV_GOTO(done, score_of(ctx, fitted, held, &c->score[index]));
done:
    pv_classifier_free(ctx, fitted);
    pv_dataset_free(ctx, learn);
    pv_dataset_free(ctx, held);
    return status;
}

/* ---- the choice -------------------------------------------------------------------------------------------------- */

/* Mean over folds of the score of scale a minus that of b, and its standard error, which is 0 (unknown) for one
 * fold. */
static double difference(const choice *c, size_t a, size_t b, double *error) {
    double sum = 0, square = 0, n = (double)c->judged;
    for (size_t f = 0; f < c->judged; f++)
        sum += c->score[f * c->tried + a - c->first] - c->score[f * c->tried + b - c->first];
    for (size_t f = 0; f < c->judged; f++) {
        double off = c->score[f * c->tried + a - c->first] - c->score[f * c->tried + b - c->first] - sum / n;
        square += off * off;
    }
    *error = c->judged > 1 ? sqrt(square / (n * (n - 1))) : 0;
    return sum / n;
}

/* The best scale; among those that differ from it only by chance, the one nearest to `from`. */
static size_t choose(const choice *c, size_t from) {
    size_t best = from;
    double error;
    for (size_t s = c->first; s < c->first + c->tried; s++)
        if (difference(c, s, best, &error) < 0)
            best = s;
    for (size_t s = from; s != best; s = best < from ? s - 1 : s + 1) {
        double worse = difference(c, s, best, &error);
        if (worse <= error)
            return s;
    }
    return best;
}

/* The largest possible number of folds; fewer than two: none. */
static size_t folds_of(const pv_dataset *data, size_t most) {
    size_t folds = most;
    bool counts = data->weight && !data->sampling && !data->group; /* counts, whose people are dealt one by one */
    for (int y = 0; y < data->classes; y++) {
        double people = 0;
        for (size_t i = 0; i < data->rows; i++)
            people += data->label[i] == y ? fmax(1, counts ? floor(data->weight[i]) : 1) : 0;
        folds = people < (double)folds ? (size_t)people : folds;
    }
    return folds;
}

/* Rows of the rarest label per slope, or per weight of a network. */
static pv_status rows_per_slope(pv_ctx *ctx, const pv_dataset *data, const pv_model *model, double *rows) {
    pv_targets targets = pv_dataset_targets(data);
    double *mass, least = HUGE_VAL;
    size_t slopes = 0;
    PV_TRY(pv__alloc(ctx, (size_t)targets.classes, sizeof *mass, &mass));
    pv_label_mass(&targets, mass);
    for (size_t i = 0; i < pv_model_params(model); i++)
        slopes += !pv_model_is_bias(model, i);
    if (pv_model_is_convex(model))
        slopes = (size_t)data->features;
    for (int y = 0; y < targets.classes; y++)
        least = fmin(least, mass[y]);
    *rows = least / (double)slopes;
    pv__free(ctx, mass);
    return PV_OK;
}

/* Why `auto` cannot be used; NULL if it can. */
static const char *obstacle(const pv_schema *schema, const pv_dataset *data, const pv_fit_options *options) {
    if (data->images)
        return "images, because training would have to be repeated";
    const pv__design_options stated = pv__design_options_of(options);
    if (pv__survey_has_strata(schema, data, &stated) || pv__design_strata(schema, &stated) > 1)
        return "strata";
    if (options->label_error)
        return "labels with errors (`label-error`)";
    return data->matched || pv_loss_is_relative((pv_loss)options->loss) ? "matched sets" : NULL;
}

/* The outcome of a job for a checkpoint. */
static size_t outcome_of(void *state, size_t index, pv_field *field) {
    choice *c = state;
    field[0] = (pv_field){&c->score[index], sizeof *c->score};
    return 1;
}

static bool is_sound(const void *state, size_t index) {
    const choice *c = state;
    return !isnan(c->score[index]);
}

/* Fixes the prior. Without one nothing is shrunk; robust has none unless requested. */
static pv_status close_prior(pv_ctx *ctx, pv__plan *plan, double scale) {
    const pv_fit_options *o = plan->given;
    char text[PV__PRIOR_TEXT];
    bool asked = strcmp(o->prior, "auto") == 0;
    pv__format(text, sizeof text, "normal:%g", scale);
    bool none = o->infer == PV_INFER_ML || (o->infer == PV_INFER_ROBUST && !asked);
    return pv__plan_set_prior(ctx, plan, none ? "none" : text);
}

/* For a linear model: by the marginal likelihood. */
static pv_status choose_by_rows(pv_ctx *ctx, const pv__problem *problem, pv__plan *plan) {
    double scale;
    pv_status status = pv__evidence_scale(ctx, problem, &scale, &plan->prior_spread);
    if (status == PV_ERR_INTERRUPTED) { /* the fit will detect it too */
        plan->prior_spread = 0;
        return close_prior(ctx, plan, scales[USUAL]);
    }
    PV_TRY(status);
    plan->options.prior_chosen = true;
    return close_prior(ctx, plan, scale);
}

pv_status pv__smoothing_find(pv_ctx *ctx, const pv__problem *problem, pv__smoothing *smoothing, pv__plan *plan) {
    if (!smoothing)
        return PV_OK;
    pv__smoothing_state(smoothing, plan->prior.scale);
    bool serves = pv__evidence_serves(problem), wanted = plan->prior_by_rows || !plan->options.bare;
    pv_status status = serves && wanted ? pv__smoothing_choose(ctx, problem, !plan->prior_by_rows, smoothing) : PV_OK;
    if (status == PV_ERR_INTERRUPTED) { /* the fit will detect it too */
        pv__smoothing_state(smoothing, plan->prior.scale);
        return PV_OK;
    }
    if (!plan->prior_by_rows)
        return status;
    plan->options.prior = "auto";
    plan->options.prior_chosen = true;
    plan->prior_spread = 1; /* each group has a scale of its own */
    return status;
}

static pv_status compare(pv_ctx *ctx, choice *c, size_t *chosen) {
    size_t finished = 0, folds = c->folds;
    pv_dataset *split = NULL;
    pv_status status;
    const pv__dealing how = {
        .seed = (uint64_t)c->options->seed, .first = CHOICE_REPEAT, .repeats = 1, .least = HUGE_VAL};
    PV_GOTO(done, pv__deal_units(ctx, c->schema, c->data, &how, &folds, &split, &c->fold));
    if (folds < c->folds) /* too few groups to split: no choice possible */
        goto done;
    if (split)
        c->data = split;
    PV_GOTO(done, pv__alloc(ctx, c->judged * c->tried, sizeof *c->score, &c->score));
    status = pv_jobs_run_kept(ctx, "prior", c->judged * c->tried, true, run_one, outcome_of, is_sound, c, &finished);
    if (status != PV_OK || finished < c->judged * c->tried)
        goto done;
    *chosen = choose(c, c->nearest);
    for (size_t s = c->first; s < c->first + c->tried; s++) {
        double error;
        pv__log(ctx, PV_LOG_DEBUG, "prior normal:%g: %.6g more than the best, in the population", scales[s],
                difference(c, s, *chosen, &error));
    }
done:
    pv__free(ctx, c->fold);
    pv__free(ctx, c->score);
    pv_dataset_free(ctx, split);
    return status;
}

pv_status pv__prior_decide(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv__problem *problem,
                           pv__plan *plan) {
    const pv_fit_options *o = plan->given;
    const pv_model *model = problem->model;
    const char *against = obstacle(schema, data, o);
    bool asked = strcmp(o->prior, "auto") == 0, linear = pv_model_is_convex(model);
    bool open = !against && o->infer == PV_INFER_MAP, serves = pv__evidence_serves(problem) && !plan->misread;
    double rows = 0;
    if (serves && o->infer == PV_INFER_MAP && (plan->prior_is_open || plan->prior.kind != PV_PRIOR_NONE)) {
        PV_TRY(rows_per_slope(ctx, data, model, &rows));
        plan->few_rows = rows < MANY_PER_PARAMETER;
    }
    if (!plan->prior_is_open)
        return PV_OK;
    if (problem->smoothing) { /* with very many rows the scales matter little */
        plan->prior_by_rows = serves;
        return serves ? PV_OK : pv__plan_set_prior(ctx, plan, "normal:1");
    }
    plan->prior_by_rows = serves && (asked ? o->infer != PV_INFER_ML : plan->few_rows);
    if (plan->prior_by_rows)
        return PV_OK;
    if (asked && against)
        return pv__fail(ctx, PV_ERR_USAGE, "`prior=auto` is not for %s:\nname the scale, as in `prior=normal:1`",
                        against);
    if (!asked && open)
        PV_TRY(rows_per_slope(ctx, data, model, &rows));
    if (linear && !asked && open && !o->bare && data->features >= MANY_COLUMNS && rows < FEW_PER_COLUMN)
        pv__log(ctx, PV_LOG_INFO,
                "there are fewer than %g rows of a label for each column, so the prior matters. `prior=auto` chooses "
                "its scale from the rows, and often predicts better",
                FEW_PER_COLUMN);
    bool choose = asked || (!linear && open && rows < MANY_PER_PARAMETER);
    plan->prior_folds = choose ? folds_of(data, linear ? FOLDS_MAX : NETWORK_FOLDS) : 0;
    if (plan->prior_folds >= 2)
        return PV_OK;
    if (asked)
        pv__log(ctx, PV_LOG_WARNING,
                "`prior=auto`: there are too few rows or groups to choose the scale; the prior is normal:%g",
                scales[USUAL]);
    return close_prior(ctx, plan, scales[USUAL]);
}

pv_status pv__prior_choose(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv__problem *problem,
                           pv__plan *plan) {
    size_t folds = plan->prior_folds, none = SCALES, chosen = none;
    if (plan->prior_by_rows && !problem->smoothing)
        return choose_by_rows(ctx, problem, plan);
    if (folds < 2)
        return PV_OK;
    bool linear = pv_model_is_convex(problem->model), long_work = plan->minibatches || data->rows > MANY_ROWS;
    choice c = {.schema = schema,
                .data = data,
                .options = plan->given,
                .folds = folds,
                .judged = long_work ? 1 : folds,
                .nearest = linear ? USUAL : NETWORK_FIRST,
                .first = linear ? 0 : NETWORK_FIRST,
                .tried = linear ? SCALES : NETWORK_LAST - NETWORK_FIRST + 1};
    PV_TRY(compare(ctx, &c, &chosen));
    if (chosen == none && strcmp(plan->given->prior, "auto") == 0)
        pv__log(ctx, PV_LOG_WARNING,
                "`prior=auto`: there are too few rows or groups to choose the scale; the prior is normal:%g",
                scales[USUAL]);
    plan->options.prior_chosen = chosen != none;
    return close_prior(ctx, plan, scales[chosen == none ? USUAL : chosen]);
}
