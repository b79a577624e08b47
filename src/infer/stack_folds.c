/* Candidates of a mixture, cross-fitted: units are dealt into folds, and each candidate is fitted to the rest of a fold
 * and says what it takes the fold's rows for. A job is one candidate and one part, a fold of a repeat.
 */
#include <math.h>
#include <string.h>

#include "data/schema_learn.h"
#include "infer/stacking.h"

enum { FEW_UNITS = 200, FEW_REPEATS = 5, SOME_UNITS = 2000, FOLDS = 10, MANY_FOLDS = 5, MANY_ROWS = 100000 };
enum { FIRST_REPEAT = (1 << 30) + 2 }; /* what pv_folds_make takes: neither cv nor a prior's choice has it */

/* ---- units and folds --------------------------------------------------------------------------------------------- */

/* Units of each label, a cluster counting for every label it has; returns all of them. */
static pv_status count_units(pv_ctx *ctx, const pv_dataset *data, double *of_label, double *units) {
    size_t k = (size_t)data->classes, groups = 0;
    for (size_t i = 0; data->clustered && i < data->rows; i++)
        groups = (size_t)data->group[i] >= groups ? (size_t)data->group[i] + 1 : groups;
    bool *seen;
    PV_TRY(pv__alloc(ctx, groups + 1, (k + 1) * sizeof *seen, &seen));
    *units = 0;
    for (size_t y = 0; y < k; y++)
        of_label[y] = 0;
    for (size_t i = 0; i < data->rows; i++) {
        double people = pv__stack_counts(data) ? data->weight[i] : 1;
        bool *own = data->clustered ? seen + (size_t)data->group[i] * (k + 1) : NULL;
        size_t y = (size_t)data->label[i];
        if (own && people > 0) {
            of_label[y] += !own[y];
            *units += !own[k];
            own[y] = own[k] = true;
        } else {
            of_label[y] += people;
            *units += people;
        }
    }
    pv__free(ctx, seen);
    return PV_OK;
}

static pv_status deal(pv_ctx *ctx, pv__stacking *s, pv_dataset **split) {
    uint64_t seed = (uint64_t)s->problem->options->seed;
    pv_status status = PV_ERR_INPUT;
    for (; s->folds >= 2; s->folds--) { /* fewer, where groups are too few for them */
        pv_dataset_free(ctx, *split);
        *split = NULL;
        s->data = s->all;
        if (!s->all->group)
            PV_TRY(pv__counts_split(ctx, s->all, s->folds, split));
        if (*split)
            s->data = *split;
        size_t rows = s->data->rows;
        pv__free(ctx, s->fold);
        PV_TRY(pv__alloc(ctx, s->repeats, rows * sizeof *s->fold, &s->fold));
        status = PV_OK;
        for (size_t r = 0; r < s->repeats && status == PV_OK; r++)
            status =
                pv_folds_make(ctx, s->schema, s->data, (int64_t)s->folds, seed, FIRST_REPEAT + r, s->fold + r * rows);
        if (status != PV_ERR_INPUT)
            return status;
    }
    return pv__fail(ctx, PV_ERR_INPUT,
                    "`model=auto` weighs its candidates by rows that they have not seen, and there are too few to "
                    "leave some out:\nchoose `model=linear`, or give two rows (groups, clusters) at least of each "
                    "label");
}

pv_status pv__stack_deal(pv_ctx *ctx, pv__stacking *s, pv_dataset **split) {
    double *of_label, units = 0, least = HUGE_VAL;
    PV_TRY(pv__alloc(ctx, s->k, sizeof *of_label, &of_label));
    pv_status status = count_units(ctx, s->all, of_label, &units);
    for (size_t y = 0; y < s->k; y++)
        least = fmin(least, of_label[y]);
    pv__free(ctx, of_label);
    PV_TRY(status);
    bool many = s->all->rows > MANY_ROWS;
    s->cap = log(least + 1);
    s->repeats = units < FEW_UNITS ? FEW_REPEATS : 1;
    s->folds = units <= SOME_UNITS ? FOLDS : MANY_FOLDS;
    s->folds = least < (double)s->folds ? (size_t)least : s->folds;
    PV_TRY(deal(ctx, s, split));
    s->judged = many ? 1 : s->folds;
    s->parts = s->repeats * s->judged;
    size_t rows = s->data->rows;
    PV_TRY(pv__alloc(ctx, s->parts + 1, sizeof *s->start, &s->start));
    PV_TRY(pv__alloc(ctx, s->repeats, rows * sizeof *s->row, &s->row));
    for (size_t part = 0, at = 0; part < s->parts; part++) {
        const int32_t *fold = s->fold + part / s->judged * rows;
        for (size_t i = 0; i < rows; i++)
            if ((size_t)fold[i] == part % s->judged)
                s->row[at++] = i;
        s->start[part + 1] = at;
    }
    return PV_OK;
}

/* ---- one candidate, one part ------------------------------------------------------------------------------------- */

pv_fit_options pv__stack_options(const pv__stacking *s, const pv__candidate *candidate) {
    pv_fit_options how = *s->problem->plan->given;
    how.model = candidate->model;
    how.prior = candidate->prior;
    how.loss = (int)candidate->loss;
    how.candidates = "all";
    how.infer = PV_INFER_MAP;
    how.weighting = candidate->loss == PV_LOSS_IG ? "0" : "auto";
    how.bare = true;
    how.trace = false;
    return how;
}

static pv_status output_of(pv_ctx *ctx, const pv__stacking *s, const pv_classifier *c, const pv_dataset *held,
                           double *log_p) {
    enum { BLOCK = 256 };
    pv_model_work *work;
    size_t inputs = (size_t)pv_model_inputs(c->model);
    PV_TRY(pv_model_work_new(ctx, c->model, BLOCK, &work));
    for (size_t begin = 0; begin < held->rows; begin += BLOCK) {
        size_t n = held->rows - begin < BLOCK ? held->rows - begin : BLOCK;
        pv_model_forward(c->model, work, c->w, n, held->x + begin * inputs, log_p + begin * s->k);
        for (size_t i = begin; i < begin + n; i++)
            pv__stack_move(s->k, c->log_marginal, s->cap, s->log_prior, log_p + i * s->k);
    }
    pv_model_work_free(ctx, work);
    return PV_OK;
}

/* Rows on the scale of those to learn from. A column that is constant there keeps the scale of all. */
static pv_status rescale(pv_ctx *ctx, const pv__stacking *s, pv_dataset *learn, pv_dataset *held, pv_schema **scaled) {
    pv_status status = pv_schema_rescale(ctx, s->schema, learn, scaled);
    if (status == PV_ERR_INPUT)
        return pv_schema_copy(ctx, s->schema, scaled);
    PV_TRY(status);
    pv_dataset_rescale(s->schema, *scaled, learn);
    pv_dataset_rescale(s->schema, *scaled, held);
    return PV_OK;
}

static pv_status take_part(pv_ctx *ctx, const pv__stacking *s, size_t part, pv_dataset **learn, pv_dataset **held) {
    const int32_t *fold = s->fold + part / s->judged * s->data->rows;
    size_t *others, n = 0;
    PV_TRY(pv__alloc(ctx, s->data->rows, sizeof *others, &others));
    for (size_t i = 0; i < s->data->rows; i++)
        if ((size_t)fold[i] != part % s->judged)
            others[n++] = i;
    pv_status status = pv_dataset_take(ctx, s->data, n, others, learn);
    pv__free(ctx, others);
    PV_TRY(status);
    pv__weights_scale(*learn);
    return pv_dataset_take(ctx, s->data, s->start[part + 1] - s->start[part], s->row + s->start[part], held);
}

static double *place_of(const pv__stacking *s, size_t part, size_t candidate) {
    return s->log_p + (candidate * pv__stack_judged(s) + s->start[part]) * s->k;
}

static pv_status run_part(pv_ctx *ctx, void *state, size_t index) {
    const pv__stacking *s = state;
    size_t part = index / s->count, own = index % s->count, n = s->start[part + 1] - s->start[part];
    const pv__candidate *candidate = s->candidate[own];
    double *log_p = place_of(s, part, own);
    pv_dataset *learn = NULL, *held = NULL;
    pv_schema *scaled = NULL;
    pv_classifier *fitted = NULL;
    pv_status status = PV_OK;
    for (size_t i = 0; i < n * s->k; i++)
        log_p[i] = s->log_prior[i % s->k];
    if (!candidate->model)
        return PV_OK;
    ctx->options.log = NULL; /* what is to be said of the rows was said of all */
    PV_GOTO(done, take_part(ctx, s, part, &learn, &held));
    PV_GOTO(done, rescale(ctx, s, learn, held, &scaled));
    const pv_fit_options how = pv__stack_options(s, candidate);
    status = pv_fit(ctx, scaled, learn, &how, &fitted);
    if (status == PV_OK && fitted->stop != PV_STOP_DIVERGED)
        PV_GOTO(done, output_of(ctx, s, fitted, held, log_p));
    bool failed = status == PV_ERR_NUMERIC || (status == PV_OK && fitted->stop == PV_STOP_DIVERGED);
    for (size_t i = 0; i < n * s->k; i++)
        failed |= isnan(log_p[i]);
    for (size_t i = 0; failed && i < n * s->k; i++)
        log_p[i] = -HUGE_VAL; /* no member, then */
    status = failed ? PV_OK : status;
done:
    pv_classifier_free(ctx, fitted);
    pv_schema_free(ctx, scaled);
    pv_dataset_free(ctx, learn);
    pv_dataset_free(ctx, held);
    return status;
}

static size_t part_outcome(void *state, size_t index, pv_field *field) {
    pv__stacking *s = state;
    size_t part = index / s->count, n = s->start[part + 1] - s->start[part];
    field[0] = (pv_field){place_of(s, part, index % s->count), n * s->k * sizeof *s->log_p};
    return 1;
}

static bool part_is_sound(const void *state, size_t index) {
    const pv__stacking *s = state;
    size_t part = index / s->count, n = s->start[part + 1] - s->start[part];
    const double *log_p = place_of(s, part, index % s->count);
    for (size_t i = 0; i < n * s->k; i++)
        if (!(log_p[i] <= 1e-9))
            return false;
    return true;
}

pv_status pv__stack_cross_fit(pv_ctx *ctx, pv__stacking *s) {
    size_t finished;
    return pv_jobs_run_kept(ctx, "candidates", s->parts * s->count, true, run_part, part_outcome, part_is_sound, s,
                            &finished);
}
