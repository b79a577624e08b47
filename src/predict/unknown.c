/* Predictions of a classifier with a posterior in a population of unknown prevalence.
 *
 * Each draw w_s of the posterior given the training data has its own ratios r_n, and so its own posterior of pi. One
 * pi_s is drawn from each, by inverting its distribution function at evenly spaced levels in random order (two classes)
 * or by a short Metropolis chain (more; sampler.c). The pairs (w_s, pi_s) are then joint draws, and the probabilities
 * of a row are means over them (predict_draws.c):
 *
 *   p_n(y) = 1/S sum_s pi_sy r_n(y; w_s) / sum_y' pi_sy' r_n(y'; w_s) .
 *
 * As in the paper, the target rows inform pi but not w, unless the joint update is requested (joint.c), which weights
 * the draws. vb predicts with its expected logarithms instead of pi_s.
 */
#include <math.h>
#include <string.h>

#include "predict/predict.h"

static const double *true_marginal(const pv_classifier *c) {
    return pv_loss_of_design(c->loss) ? c->prevalence : NULL;
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

typedef struct worker {
    pv__mixture mixture;
    pv__solver solver;
    double *marginal;
} worker;

typedef struct joint {
    const pv_classifier *classifier;
    const pv_dataset *data;
    const pv_unknown_options *options;
    const int32_t *label;
    size_t *level;       /* [draws], random order */
    double *value, *pi;  /* [draws][classes]: mean of pi given w_s (estimated from a chain's points), and a draw */
    double *plugin;      /* [draws][classes] */
    int64_t *iterations; /* [draws] */
    pv_stop *stop;       /* [draws] */
    double *worth, *movement, *sd; /* [draws], [draws], [draws][classes] */
    bool *swayed;                  /* [draws] */
    double *weight;                /* [draws]: log evidence, then weights; NULL: equal */
    pv__loaded *loaded;            /* rows on a device; NULL: in memory */
} joint;

/* More than two classes: the draw, and the chain's moments in place of the mode and the curvature there. */
static pv_status draw_many(pv_ctx *ctx, const joint *j, worker *own, size_t s, double *pi) {
    pv__solver *solver = &own->solver;
    pv__points points = {0};
    PV_TRY(pv__many_draw(ctx, &own->mixture, solver->posterior, &solver->many, j->options->seed, s, pi, &points));
    pv__points_moments(&points, solver->value, solver->sd);
    if (solver->flat)
        solver->movement = pv__points_movement(&points, solver->value, solver->sd, &solver->swayed);
    solver->iterations = solver->many.passes;
    if (solver->many.diverged)
        solver->stop = PV_STOP_DIVERGED;
    pv__points_clear(ctx, &points);
    return PV_OK;
}

static pv_status draw_pi(pv_ctx *ctx, const joint *j, worker *own, size_t s, double *pi) {
    const pv__solver *solver = &own->solver;
    size_t k = (size_t)solver->classes;
    double level = ((double)j->level[s] + 0.5) / (double)j->classifier->posterior->count, sum = 0;
    if (solver->fixed || j->options->method >= PV_UNKNOWN_EM) {
        memcpy(pi, solver->plugin, k * sizeof *pi);
    } else if (j->options->method == PV_UNKNOWN_VB) {
        pv_rng rng = pv_rng_stream((uint64_t)j->options->seed, PV_STREAM_TARGET_DIRICHLET, s);
        for (size_t y = 0; y < k; y++)
            sum += pi[y] = fmax(pv_rng_gamma(&rng, solver->posterior[y]), 1e-300);
        for (size_t y = 0; y < k; y++)
            pi[y] /= sum;
    } else if (k == 2) {
        double z = pv__pair_quantile(&solver->pair, level);
        pi[0] = pv_sigmoid(-z);
        pi[1] = pv_sigmoid(z);
    } else {
        return draw_many(ctx, j, own, s, pi);
    }
    return PV_OK;
}

static pv_status solve_draw(pv_ctx *ctx, void *state, void *of_thread, size_t s, const double *loglik) {
    const joint *j = state;
    worker *own = of_thread;
    const pv_classifier *c = j->classifier;
    size_t k = (size_t)c->schema->classes;
    const pv_unknown_sample sample = {.n = j->data->rows,
                                      .classes = c->schema->classes,
                                      .loglik = loglik,
                                      .log_marginal = c->draw_log_marginal + s * k,
                                      .true_marginal = true_marginal(c),
                                      .label = j->label,
                                      .weight = j->data->weight};
    pv__marginal_of(c->schema->classes, &sample, own->marginal);
    if (j->loaded)
        PV_TRY(pv__mixture_board_at(ctx, &own->mixture, c->posterior->draws + s * c->posterior->dims,
                                    sample.log_marginal));
    else
        pv__mixture_load(ctx, &own->mixture, loglik, sample.log_marginal);
    pv_status status = pv__solver_run(ctx, &own->solver, &own->mixture, own->marginal, sample.log_marginal);
    PV_TRY(own->mixture.status != PV_OK ? pv__loaded_mixed_check(ctx, own->mixture.aboard) : status);
    if (j->weight)
        j->weight[s] = pv__row_factors(&sample) + pv__solver_evidence(ctx, &own->solver, &own->mixture);
    PV_TRY(draw_pi(ctx, j, own, s, j->pi + s * k));
    memcpy(j->value + s * k, own->solver.value, k * sizeof(double));
    memcpy(j->plugin + s * k, own->solver.plugin, k * sizeof(double));
    memcpy(j->sd + s * k, own->solver.sd, k * sizeof(double));
    j->iterations[s] = own->solver.iterations;
    j->stop[s] = own->solver.stop;
    j->worth[s] = own->solver.worth;
    j->movement[s] = own->solver.movement;
    j->swayed[s] = own->solver.swayed;
    return PV_OK;
}

static pv_status worker_open(pv_ctx *ctx, void *state, void *of_thread) {
    const joint *j = state;
    worker *own = of_thread;
    const pv_schema *schema = j->classifier->schema;
    pv_unknown_sample shape = {
        .n = j->data->rows, .classes = schema->classes, .label = j->label, .weight = j->data->weight};
    if (j->loaded)
        PV_TRY(pv__mixture_board(ctx, &shape, j->loaded, j->classifier->model, &own->mixture));
    else
        PV_TRY(pv__mixture_init(ctx, &shape, true, &own->mixture));
    PV_TRY(pv__solver_init(ctx, j->options, schema->labels, schema->classes, &own->solver));
    return pv__alloc(ctx, (size_t)schema->classes, sizeof *own->marginal, &own->marginal);
}

static void worker_close(pv_ctx *ctx, void *of_thread) {
    worker *own = of_thread;
    pv__mixture_clear(ctx, &own->mixture);
    pv__solver_clear(ctx, &own->solver);
    pv__free(ctx, own->marginal);
}

/* ---- summary of the draws ---------------------------------------------------------------------------------------- */

/* A weighted quantile of the draws. Overwrites column. */
static pv_status quantile(pv_ctx *ctx, const joint *j, double *column, double p, double *value) {
    size_t draws = j->classifier->posterior->count, *order;
    if (!j->weight) {
        *value = pv_quantile(draws, column, p);
        return PV_OK;
    }
    PV_TRY(pv__alloc(ctx, draws, sizeof *order, &order));
    pv__sort_by(draws, column, order);
    *value = pv__weighted_quantile(draws, column, j->weight, order, p);
    pv__free(ctx, order);
    return PV_OK;
}

static double weight_of(const joint *j, size_t s) {
    return j->weight ? j->weight[s] : 1 / (double)j->classifier->posterior->count;
}

/* Summarises one label. column [draws] is scratch. */
static pv_status summarise_label(pv_ctx *ctx, const joint *j, size_t y, double *column, pv_unknown_prevalence *out) {
    size_t k = (size_t)out->classes, draws = j->classifier->posterior->count;
    double mean = 0, squares = 0, within = 0, error = 0, tail = 0.5 - 0.5 * out->level;
    for (size_t s = 0; s < draws; s++)
        mean += weight_of(j, s) * j->value[s * k + y];
    out->value[y] = mean;
    for (size_t s = 0; s < draws; s++) {
        double away = j->value[s * k + y] - mean, own = j->sd[s * k + y], weight = weight_of(j, s);
        squares += weight * away * away;
        error += weight * away * weight * away;
        within += isnan(own) ? 0 : weight * own * own;
        column[s] = j->pi[s * k + y];
    }
    out->sd[y] = sqrt(squares + within);
    out->error = fmax(out->error, sqrt(error)); /* error due to w, and due to the chains that estimate the means */
    PV_TRY(quantile(ctx, j, column, tail, &out->lo[y]));
    return quantile(ctx, j, column, 1 - tail, &out->hi[y]);
}

static pv_status summarise(pv_ctx *ctx, const joint *j, double effective, pv_unknown_prevalence *out) {
    size_t k = (size_t)out->classes, draws = j->classifier->posterior->count;
    double *column, movement = 0, swayed = 0;
    PV_TRY(pv__alloc(ctx, draws, sizeof *column, &column));
    pv_status status = PV_OK;
    for (size_t y = 0; y < k && status == PV_OK; y++)
        status = summarise_label(ctx, j, y, column, out);
    out->effective = effective;
    out->stop = j->stop[0];
    for (size_t s = 0; s < draws; s++) {
        if (j->iterations[s] > out->iterations)
            out->iterations = j->iterations[s];
        if (j->stop[s] != PV_STOP_CONVERGED && j->stop[s] != PV_STOP_COMPLETED)
            out->stop = j->stop[s];
        out->worth += weight_of(j, s) * j->worth[s];
        movement += weight_of(j, s) * j->movement[s];
        swayed += weight_of(j, s) * j->swayed[s];
    }
    out->movement = movement;
    out->weak = out->worth < 10;
    out->swayed = swayed > 0.5;
    pv__free(ctx, column);
    return status;
}

static pv_status joint_new(pv_ctx *ctx, joint *j) {
    size_t draws = j->classifier->posterior->count, k = (size_t)j->classifier->schema->classes;
    PV_TRY(pv__alloc(ctx, draws, sizeof *j->level, &j->level));
    PV_TRY(pv__alloc(ctx, draws * (4 * k + 2), sizeof(double), &j->pi)); /* one block for all arrays */
    j->plugin = j->pi + draws * k;
    j->value = j->plugin + draws * k;
    j->sd = j->value + draws * k;
    j->worth = j->sd + draws * k;
    j->movement = j->worth + draws;
    PV_TRY(pv__alloc(ctx, draws, sizeof *j->swayed, &j->swayed));
    PV_TRY(pv__alloc(ctx, draws, sizeof *j->iterations, &j->iterations));
    PV_TRY(pv__alloc(ctx, draws, sizeof *j->stop, &j->stop));
    for (size_t s = 0; s < draws; s++)
        j->level[s] = s;
    pv_rng rng = pv_rng_stream((uint64_t)j->options->seed, PV_STREAM_TARGET_LEVELS, 0);
    pv_rng_shuffle(&rng, draws, j->level);
    return PV_OK;
}

pv_status pv__unknown_draws(pv_ctx *ctx, const pv_classifier *c, const pv_dataset *data, const int32_t *label,
                            const pv_unknown_options *options, bool update, pv__drawn_pi *drawn,
                            pv_unknown_prevalence **inferred) {
    *inferred = NULL;
    *drawn = (pv__drawn_pi){0};
    pv_unknown_sample shape = {.n = data->rows, .classes = c->schema->classes, .label = label, .weight = data->weight};
    PV_TRY(pv__unknown_check(ctx, &shape, options));
    if (update && options->method >= PV_UNKNOWN_EM)
        return pv__fail(ctx, PV_ERR_USAGE, "`posterior=joint` is for `method=exact` and vb, not %s",
                        pv_unknown_method_name((pv_unknown_method)options->method));
    joint j = {.classifier = c, .data = data, .options = options, .label = label};
    pv__visitor visitor = {
        .state = &j, .size = sizeof(worker), .open = worker_open, .visit = solve_draw, .close = worker_close};
    pv_unknown_prevalence *made = NULL;
    double effective = (double)c->posterior->count;
    pv_status status;
    PV_GOTO(done, joint_new(ctx, &j));
    /* The joint update and decisions need more from each row than a sum. */
    if (!update && options->method != PV_UNKNOWN_BBSE && !data->columns && pv__draws_fit(ctx, c, data))
        PV_GOTO(done, pv__loaded_new(ctx, c->model, data->rows, data->x, true, &j.loaded));
    visitor.blind = j.loaded != NULL;
    if (update)
        PV_GOTO(done, pv__alloc(ctx, c->posterior->count, sizeof *j.weight, &j.weight));
    status = pv__each_draw(ctx, c, data, &visitor);
    if (j.loaded && pv__loaded_forgone(ctx, status)) {
        pv__loaded_free(ctx, j.loaded);
        j.loaded = NULL;
        visitor.blind = false;
        status = pv__each_draw(ctx, c, data, &visitor);
    }
    PV_GOTO(done, status);
    if (update)
        PV_GOTO(done, pv__joint_weights(ctx, c->posterior->count, j.weight, &effective));
    PV_GOTO(done, pv__unknown_new(ctx, c->schema->classes, options, &made));
    PV_GOTO(done, summarise(ctx, &j, effective, made));
    *drawn = (pv__drawn_pi){.pi = j.pi,
                            .plugin = options->method == PV_UNKNOWN_VB ? j.plugin : NULL,
                            .weight = j.weight,
                            .effective = effective};
    *inferred = made;
    j.pi = j.weight = NULL;
    made = NULL;
done:
    pv_unknown_prevalence_free(ctx, made);
    pv__loaded_free(ctx, j.loaded);
    pv__free(ctx, j.level);
    pv__free(ctx, j.pi);
    pv__free(ctx, j.weight);
    pv__free(ctx, j.iterations);
    pv__free(ctx, j.stop);
    pv__free(ctx, j.swayed);
    return status;
}
