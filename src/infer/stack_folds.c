/* Cross-fits the candidates of a mixture: assigns units to folds, fits each candidate without a fold, and predicts the
 * fold's rows. A job is one candidate and one part, which is a fold of a repeat.
 */
#include <math.h>
#include <string.h>

#include "data/schema_learn.h"
#include "infer/deal_units.h"
#include "infer/stacking.h"

enum { FEW_UNITS = 200, FEW_REPEATS = 5, SOME_UNITS = 2000, FOLDS = 10, MANY_FOLDS = 5 };
enum { FIRST_REPEAT = (1 << 30) + 2 }; /* a repeat number that neither cv nor the prior's choice uses */

/* ---- units and folds --------------------------------------------------------------------------------------------- */

pv_status pv__stack_deal(pv_ctx *ctx, pv__stacking *s, pv_dataset **split) {
    const bool many = s->all->rows > PV__DEAL_MANY_ROWS;
    double units, least;
    PV_TRY(pv__count_units(ctx, s->all, &units, &least));
    s->cap = log(least + 1);
    bool glance = s->problem->plan->given->glance;
    s->repeats = units < FEW_UNITS && !glance ? FEW_REPEATS : 1;
    s->folds = units <= SOME_UNITS && !glance ? FOLDS : MANY_FOLDS;
    PV_TRY(pv__deal_units(ctx, s->schema, s->all,
                          &(pv__dealing){(uint64_t)s->problem->plan->options.seed, FIRST_REPEAT, s->repeats, least},
                          &s->folds, split, &s->fold));
    if (s->folds < 2)
        return pv__fail(ctx, PV_ERR_INPUT,
                        "`model=auto` weights its candidates by cross-validation, but there are too few rows:\nchoose "
                        "`model=linear`, or give at least two rows (groups, clusters) of each label");
    s->data = *split ? *split : s->all;
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
    how.prior = candidate->prior ? candidate->prior : "usual";
    how.loss = (int)candidate->loss;
    how.candidates = "all";
    how.infer = PV_INFER_MAP;
    how.weighting = candidate->loss == PV_LOSS_IG && !candidate->alone ? "0" : "auto";
    how.bare = !candidate->alone; /* its predictions are averaged over its errors */
    how.trace = false;
    how.glance = false;
    return how;
}

/* alone: as pv_predict has it, without a cap. */
static pv_status output_of(pv_ctx *ctx, const pv__stacking *s, const pv_classifier *c, bool alone,
                           const pv_dataset *held, double *log_p) {
    enum { BLOCK = 256 };
    pv_model_work *work;
    size_t inputs = (size_t)pv_model_inputs(c->model);
    PV_TRY(pv_model_work_new(ctx, c->model, BLOCK, &work));
    for (size_t begin = 0; begin < held->rows; begin += BLOCK) {
        size_t n = held->rows - begin < BLOCK ? held->rows - begin : BLOCK;
        pv_model_forward(c->model, work, c->w, n, held->x + begin * inputs, log_p + begin * s->k);
    }
    pv_model_work_free(ctx, work);
    if (alone)
        return pv__average(ctx, c, held, log_p);
    for (size_t i = 0; i < held->rows; i++)
        pv__stack_move(s->k, c->log_marginal, s->cap, s->log_prior, log_p + i * s->k);
    return PV_OK;
}

/* Rescales rows to the training rows. A column that is constant there keeps the scale of all rows. */
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

void pv__stack_narrow(pv_ctx *ctx, const pv__stacking *s, const pv__candidate *candidate, pv_schema *schema,
                      pv_dataset *data) {
    if (schema)
        pv__schema_drop_scores(ctx, schema);
    pv__dataset_drop_last(data, s->scores);
    if (s->curves == 0 || pv__model_is_smooth(candidate->model))
        return;
    if (schema)
        pv__schema_drop_smooth(ctx, schema);
    pv__dataset_drop_last(data, s->curves);
}

void pv__stack_score(const pv__stacking *s, const pv__candidate *candidate, const pv_schema *schema, double *centre,
                     double *slope) {
    size_t last = (size_t)s->all->features - pv__stack_score_at(s, candidate);
    for (size_t y = 0; y + 1 < s->k; y++) {
        const pv_source_column *source = &schema->source[schema->sources - last + y];
        centre[y] = source->mean;
        slope[y] = source->sd;
    }
}

/* What another model's scores say of the rows held out, which it has not seen either. */
static pv_status read_scores(pv_ctx *ctx, const pv__stacking *s, const pv__candidate *candidate,
                             const pv_schema *scaled, const pv_dataset *held, double *log_p) {
    size_t d = (size_t)held->features, at = pv__stack_score_at(s, candidate);
    double *zero, *centre, *slope;
    PV_TRY(pv__alloc(ctx, 3 * s->k, sizeof *zero, &zero));
    centre = zero + s->k;
    slope = centre + s->k;
    pv__stack_score(s, candidate, scaled, centre, slope);
    for (size_t i = 0; i < held->rows; i++) {
        double *own = log_p + i * s->k;
        own[0] = 0;
        for (size_t y = 0; y + 1 < s->k; y++)
            own[y + 1] = centre[y] + slope[y] * held->x[i * d + at + y];
        pv__stack_move(s->k, zero, s->cap, s->log_prior, own);
    }
    pv__free(ctx, zero);
    return PV_OK;
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
    ctx->options.log = NULL; /* warnings about the rows were already logged for all rows */
    PV_GOTO(done, take_part(ctx, s, part, &learn, &held));
    PV_GOTO(done, rescale(ctx, s, learn, held, &scaled));
    if (pv__stack_is_score(s, candidate)) {
        status = read_scores(ctx, s, candidate, scaled, held, log_p);
        goto done;
    }
    pv__stack_narrow(ctx, s, candidate, scaled, learn);
    pv__stack_narrow(ctx, s, candidate, NULL, held);
    const pv_fit_options how = pv__stack_options(s, candidate);
    status = pv_fit(ctx, scaled, learn, &how, &fitted);
    if (status == PV_OK && fitted->stop != PV_STOP_DIVERGED)
        PV_GOTO(done, output_of(ctx, s, fitted, candidate->alone, held, log_p));
    bool failed = status == PV_ERR_NUMERIC || (status == PV_OK && fitted->stop == PV_STOP_DIVERGED);
    for (size_t i = 0; i < n * s->k; i++)
        failed |= isnan(log_p[i]);
    for (size_t i = 0; failed && i < n * s->k; i++)
        log_p[i] = -HUGE_VAL; /* then it is not a member */
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
