/* Predictions of a classifier in a population of unknown prevalence, its posterior draws carried through.
 *
 * Each draw w_s of the posterior given the training data has its own ratios r_n, and so its own posterior of pi. One
 * pi_s is drawn from each, by inverting its distribution function at evenly spaced levels in random order (two classes)
 * or by a short Metropolis chain (more; sampler.c). (w_s, pi_s) then are joint draws, and the probabilities of a row
 * are means over them (draws.c):
 *
 *   p_n(y) = 1/S sum_s pi_sy r_n(y; w_s) / sum_y' pi_sy' r_n(y'; w_s) .
 *
 * As in the paper, the target rows inform pi and not w. vb predicts with its expected logarithms in place of pi_s.
 */
#include <math.h>
#include <string.h>

#include "predict/predict.h"

enum { ROWS = 512 };

static const double *true_marginal(const pv_classifier *c) {
    return pv_loss_of_design(c->loss) ? c->prevalence : NULL;
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

typedef struct worker {
    pv_ctx *ctx; /* of its own: allocations and errors of one thread */
    pv_model_work *work;
    pv__mixture mixture;
    pv__solver solver;
    double *loglik, *marginal;
    pv_status status;
} worker;

typedef struct joint {
    const pv_classifier *classifier;
    const pv_dataset *data;
    const pv_unknown_options *options;
    size_t *level;                 /* [draws], a random order */
    double *value, *pi;            /* [draws][classes]: mean of pi given w_s (estimated by a chain's), and a draw */
    double *plugin;                /* [draws][classes] */
    int64_t *iterations;           /* [draws] */
    pv_stop *stop;                 /* [draws] */
    double *worth, *movement, *sd; /* [draws], [draws], [draws][classes] */
    bool *swayed;                  /* [draws] */
} joint;

static void forward(const joint *j, worker *own, size_t s) {
    const pv_classifier *c = j->classifier;
    size_t k = (size_t)c->schema->classes, d = (size_t)pv_model_inputs(c->model);
    for (size_t begin = 0; begin < j->data->rows; begin += ROWS) {
        size_t rows = j->data->rows - begin < ROWS ? j->data->rows - begin : ROWS;
        pv_model_forward(c->model, own->work, c->posterior->draws + s * c->posterior->dims, rows,
                         j->data->x + begin * d, own->loglik + begin * k);
    }
}

/* More than two classes: the draw, and the chain's moments in the place of the mode and the curvature there. */
static pv_status draw_many(const joint *j, worker *own, size_t s, double *pi) {
    pv__solver *solver = &own->solver;
    pv__points points = {0};
    PV_TRY(pv__many_draw(own->ctx, &own->mixture, solver->posterior, &solver->many, j->options->seed, s, pi, &points));
    pv__points_moments(&points, solver->value, solver->sd);
    if (solver->flat)
        solver->movement = pv__points_movement(&points, solver->value, solver->sd, &solver->swayed);
    solver->iterations = solver->many.passes;
    if (solver->many.diverged)
        solver->stop = PV_STOP_DIVERGED;
    pv__points_clear(own->ctx, &points);
    return PV_OK;
}

static pv_status draw_pi(const joint *j, worker *own, size_t s, double *pi) {
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
        return draw_many(j, own, s, pi);
    }
    return PV_OK;
}

static pv_status solve_draw(const joint *j, worker *own, size_t s) {
    const pv_classifier *c = j->classifier;
    size_t k = (size_t)c->schema->classes;
    pv_unknown_sample marginals = {.log_marginal = c->draw_log_marginal + s * k, .true_marginal = true_marginal(c)};
    pv__marginal_of(c->schema->classes, &marginals, own->marginal);
    forward(j, own, s);
    PV_TRY(pv__gate_predicted(own->ctx, PV__GATE_LOG, c, j->data, own->loglik));
    pv__mixture_load(own->ctx, &own->mixture, own->loglik, marginals.log_marginal);
    PV_TRY(pv__solver_run(own->ctx, &own->solver, &own->mixture, own->marginal, marginals.log_marginal));
    PV_TRY(draw_pi(j, own, s, j->pi + s * k));
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

static pv_status worker_new(pv_ctx *ctx, const joint *j, const int32_t *label, worker *own) {
    size_t k = (size_t)j->classifier->schema->classes;
    PV_TRY(pv__ctx_child(ctx, &own->ctx));
    pv_unknown_sample shape = {
        .n = j->data->rows, .classes = j->classifier->schema->classes, .label = label, .weight = j->data->weight};
    PV_TRY(pv_model_work_new(own->ctx, j->classifier->model, ROWS, &own->work));
    PV_TRY(pv__mixture_init(own->ctx, &shape, true, &own->mixture));
    PV_TRY(pv__solver_init(own->ctx, j->options, j->classifier->schema->labels, j->classifier->schema->classes,
                           &own->solver));
    PV_TRY(pv__alloc(own->ctx, j->data->rows * k, sizeof *own->loglik, &own->loglik));
    return pv__alloc(own->ctx, k, sizeof *own->marginal, &own->marginal);
}

static void worker_free(worker *own) {
    if (!own->ctx)
        return;
    pv_model_work_free(own->ctx, own->work);
    pv__mixture_clear(own->ctx, &own->mixture);
    pv__solver_clear(own->ctx, &own->solver);
    pv__free(own->ctx, own->loglik);
    pv__free(own->ctx, own->marginal);
    pv_ctx_free(own->ctx);
}

/* Every draw's pi. A failure of one worker is reported as its own. */
static pv_status solve_draws(pv_ctx *ctx, const joint *j, const int32_t *label) {
    size_t draws = j->classifier->posterior->count;
    int threads = pv_ctx_threads(ctx);
    worker *workers;
    PV_TRY(pv__alloc(ctx, (size_t)threads, sizeof *workers, &workers));
    pv_status status = PV_OK;
    for (int t = 0; t < threads && status == PV_OK; t++) {
        status = worker_new(ctx, j, label, &workers[t]);
        if (status != PV_OK && workers[t].ctx)
            status = pv__ctx_adopt(ctx, workers[t].ctx);
    }
    if (status == PV_OK) {
#pragma omp parallel for num_threads(pv_threads_ready(threads)) schedule(static)
        for (int t = 0; t < threads; t++)
            for (size_t s = (size_t)t; s < draws && workers[t].status == PV_OK && !pv__interrupted(ctx);
                 s += (size_t)threads)
                workers[t].status = solve_draw(j, &workers[t], s);
        for (int t = 0; t < threads && status == PV_OK; t++)
            if (workers[t].status != PV_OK)
                status = pv__ctx_adopt(ctx, workers[t].ctx);
        if (status == PV_OK && pv__interrupted(ctx))
            status = pv__fail(ctx, PV_ERR_INTERRUPTED, "stopped on request");
    }
    for (int t = 0; t < threads; t++)
        worker_free(&workers[t]);
    pv__free(ctx, workers);
    return status;
}

/* ---- what the draws say together --------------------------------------------------------------------------------- */

static pv_status summarise(pv_ctx *ctx, const joint *j, pv_unknown_prevalence *out) {
    size_t k = (size_t)out->classes, draws = j->classifier->posterior->count;
    double *column, tail = 0.5 - 0.5 * out->level, movement = 0;
    size_t swayed = 0;
    PV_TRY(pv__alloc(ctx, draws, sizeof *column, &column));
    for (size_t y = 0; y < k; y++) {
        double sum = 0, squares = 0, within = 0;
        for (size_t s = 0; s < draws; s++)
            sum += j->value[s * k + y];
        out->value[y] = sum / (double)draws;
        for (size_t s = 0; s < draws; s++) {
            double away = j->value[s * k + y] - out->value[y], own = j->sd[s * k + y];
            squares += away * away;
            within += isnan(own) ? 0 : own * own;
            column[s] = j->pi[s * k + y];
        }
        out->sd[y] = sqrt((squares + within) / (double)draws);
        out->error = fmax(out->error, sqrt(squares) / (double)draws); /* of w, and of the chains behind the means */
        out->lo[y] = pv_quantile(draws, column, tail);
        out->hi[y] = pv_quantile(draws, column, 1 - tail);
    }
    out->effective = (double)draws;
    out->stop = j->stop[0];
    for (size_t s = 0; s < draws; s++) {
        if (j->iterations[s] > out->iterations)
            out->iterations = j->iterations[s];
        if (j->stop[s] != PV_STOP_CONVERGED && j->stop[s] != PV_STOP_COMPLETED)
            out->stop = j->stop[s];
        out->worth += j->worth[s] / (double)draws;
        movement += j->movement[s] / (double)draws;
        swayed += j->swayed[s];
    }
    out->movement = movement;
    out->weak = out->worth < 10;
    out->swayed = 2 * swayed > draws;
    pv__free(ctx, column);
    return PV_OK;
}

static pv_status joint_new(pv_ctx *ctx, joint *j) {
    size_t draws = j->classifier->posterior->count, k = (size_t)j->classifier->schema->classes;
    PV_TRY(pv__alloc(ctx, draws, sizeof *j->level, &j->level));
    PV_TRY(pv__alloc(ctx, draws * (4 * k + 2), sizeof(double), &j->pi)); /* all of them; freed by it */
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
                            const pv_unknown_options *options, double **pi, const double **plugin,
                            pv_unknown_prevalence **inferred) {
    *pi = NULL;
    *inferred = NULL;
    pv_unknown_sample shape = {.n = data->rows, .classes = c->schema->classes, .label = label, .weight = data->weight};
    PV_TRY(pv__unknown_check(ctx, &shape, options));
    joint j = {.classifier = c, .data = data, .options = options};
    pv_unknown_prevalence *made = NULL;
    pv_status status;
    PV_GOTO(done, joint_new(ctx, &j));
    PV_GOTO(done, solve_draws(ctx, &j, label));
    PV_GOTO(done, pv__unknown_new(ctx, c->schema->classes, options, &made));
    PV_GOTO(done, summarise(ctx, &j, made));
    *pi = j.pi;
    *plugin = options->method == PV_UNKNOWN_VB ? j.plugin : NULL;
    *inferred = made;
    j.pi = NULL;
    made = NULL;
done:
    pv_unknown_prevalence_free(ctx, made);
    pv__free(ctx, j.level);
    pv__free(ctx, j.pi);
    pv__free(ctx, j.iterations);
    pv__free(ctx, j.stop);
    pv__free(ctx, j.swayed);
    return status;
}
