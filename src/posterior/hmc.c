/* Hamiltonian Monte Carlo: chains of the no-U-turn sampler, adapted as in Stan.
 *
 * Warm-up: the step size follows dual averaging (Hoffman and Gelman 2014) towards the target acceptance throughout. The
 * diagonal metric is the variance of u over windows of 25, 50, 100, ... iterations, each discarding the previous one,
 * between an initial interval (75) and a final one (50) in which only the step size changes; short warm-ups have one
 * window of 3/4 of their length, and those below 20 iterations none. u are the whitened coordinates, so the metric only
 * has to correct the curvature at the centre. A window in which trajectories diverged or left the density raises the
 * chain's target acceptance: if the prevalence is known it must lie between the rows' probabilities, which restricts
 * the slopes to a cone with its tip at 0. With few rows, trajectories pass near the tip, where steps of the usual
 * length hit the walls.
 *
 * Chains are independent: each has its own random streams, keyed by (seed, chain, iteration), and its own copy of the
 * density, so draws do not depend on the number or timing of threads. All chains advance by the same number of
 * iterations at a time, so that an interrupted run has draws from each. A density that evaluates many points at once is
 * called for all concurrent chains together (eval_batcher.h).
 */
#include "base/reduce.h"
#include "posterior/draws.h"
#include "posterior/nuts.h"

#include <math.h>
#include <string.h>

enum { FEWEST_DRAWS = 4 }; /* per chain: R-hat needs two in each half */

/* ---- adaptation -------------------------------------------------------------------------------------------------- */

typedef struct adaptation {
    double target;
    int64_t
        hits; /* transitions that diverged or left the density in the current window, after its step size has settled */
    int64_t warmup, open, close;              /* windows of the metric are within open .. close - 1 */
    int64_t window, last;                     /* length of the current window, its last iteration */
    double shrink_to, count, error, log_step; /* dual averaging: mu, t, mean of target - acceptance, mean log step */
    double n, *mean, *squares;                /* Welford's sums over the window, [dims] */
} adaptation;

static void restart_steps(adaptation *a, double step) {
    a->shrink_to = log(10 * step);
    a->count = a->error = a->log_step = 0;
}

static void plan_windows(adaptation *a, int64_t warmup) {
    int64_t first = 75, window = 25, final = 50;
    if (warmup < first + window + final) {
        first = (int64_t)(0.15 * (double)warmup);
        final = (int64_t)(0.1 * (double)warmup);
        window = warmup - first - final;
    }
    a->warmup = warmup;
    a->open = warmup < 20 ? warmup : first;
    a->close = warmup < 20 ? warmup : warmup - final;
    a->window = window;
    a->last = first + window - 1;
}

/* Begins the next window, which takes all remaining iterations if another one would not fit after it. */
static void next_window(adaptation *a) {
    a->window *= 2;
    int64_t begin = a->last + 1;
    a->last = begin + a->window - 1;
    if (a->last + 2 * a->window >= a->close)
        a->last = a->close - 1;
}

static double next_step(adaptation *a, double acceptance) {
    const double gamma = 0.05, delay = 10, kappa = 0.75;
    a->count++;
    double weight = 1 / (a->count + delay), fade = pow(a->count, -kappa);
    a->error += weight * (a->target - fmin(acceptance, 1) - a->error);
    double log_step = a->shrink_to - a->error * sqrt(a->count) / gamma;
    a->log_step += fade * (log_step - a->log_step);
    return exp(log_step);
}

static void watch(adaptation *a, size_t d, const double *u) {
    a->n++;
    for (size_t i = 0; i < d; i++) {
        double delta = u[i] - a->mean[i];
        a->mean[i] += delta / a->n;
        a->squares[i] += delta * (u[i] - a->mean[i]);
    }
}

/* Uses the window's variances, shrunk slightly towards a small value so that a chain that hardly moved does not
 * freeze. */
static void take_variances(adaptation *a, size_t d, double *scale) {
    for (size_t i = 0; i < d; i++) {
        double variance = a->n > 1 ? a->squares[i] / (a->n - 1) : 1;
        scale[i] = a->n / (a->n + 5) * variance + 1e-3 * 5 / (a->n + 5);
        a->mean[i] = a->squares[i] = 0;
    }
    a->n = 0;
}

/* ---- a chain ----------------------------------------------------------------------------------------------------- */

typedef struct chain {
    const pv_ctx *parent;
    pv_ctx *ctx; /* its own if the density can be cloned, else the parent */
    pv__nuts nuts;
    adaptation adapt;
    double *sums; /* of the adaptation */
    uint64_t seed, index;
    int64_t iteration, drawn;
    double *draws; /* [draws][dims], the posterior's */
    int64_t divergences, max_depth_hits;
    double acceptance;   /* sum over draws */
    unsigned char *held; /* the state of the density before the current iteration */
    pv_status status;
} chain;

/* Copies the density's state to held, or back. */
static void copy_memory(chain *c, bool back) {
    const pv_density *density = c->nuts.density;
    pv_field field[PV_MEMORY_FIELDS];
    size_t n = density->memory ? density->memory(c->nuts.state, field) : 0;
    unsigned char *at = c->held;
    for (size_t i = 0; i < n; at += field[i++].size)
        memcpy(back ? field[i].data : (void *)at, back ? (const void *)at : field[i].data, field[i].size);
}

static pv_rng stream(const chain *c, pv_stream purpose) {
    return pv_rng_stream(c->seed, purpose, c->index << 40 | (uint64_t)c->iteration);
}

/* Draws a starting point around the centre with the curvature there, closer if it is outside the density. */
static pv_status begin(chain *c) {
    pv__nuts *nuts = &c->nuts;
    pv_rng rng = stream(c, PV_STREAM_HMC_START);
    double scatter = 1;
    nuts->at.value = INFINITY;
    for (int attempt = 0; attempt < 40 && !isfinite(nuts->at.value); attempt++, scatter *= 0.5) {
        for (size_t i = 0; i < nuts->dims; i++)
            nuts->at.u[i] = scatter * pv_rng_normal(&rng);
        PV_TRY(pv__nuts_evaluate(nuts, &nuts->at));
    }
    if (!isfinite(nuts->at.value))
        return pv__fail(c->ctx, PV_ERR_NUMERIC, "hmc: the density is zero all around the starting point");
    nuts->rng = stream(c, PV_STREAM_HMC_STEP);
    PV_TRY(pv__nuts_first_step(nuts));
    restart_steps(&c->adapt, nuts->step);
    return PV_OK;
}

/* Raises the target acceptance, and so shortens steps, after trajectories that diverged or left the density. */
static void aim_higher(adaptation *a) {
    const double careful = 0.995;
    if (a->hits > 0)
        a->target = fmax(a->target, careful);
    a->hits = 0;
}

static pv_status adapt(chain *c) {
    pv__nuts *nuts = &c->nuts;
    adaptation *a = &c->adapt;
    const double settled = 20; /* before that, step sizes vary widely */
    a->hits += (nuts->diverged || nuts->left) && a->count >= settled;
    nuts->step = next_step(a, nuts->acceptance);
    if (c->iteration >= a->open && c->iteration < a->close) {
        watch(a, nuts->dims, nuts->at.u);
        if (c->iteration == a->last) {
            take_variances(a, nuts->dims, nuts->scale);
            next_window(a);
            aim_higher(a);
            nuts->rng = stream(c, PV_STREAM_HMC_STEP);
            PV_TRY(pv__nuts_first_step(nuts));
            restart_steps(a, nuts->step);
        }
    }
    if (c->iteration == a->warmup - 1 && a->count > 0)
        nuts->step = exp(a->log_step);
    return PV_OK;
}

/* Completes an iteration, or returns PV_ERR_INTERRUPTED without effect: repeating the iteration gives the same draw. */
static pv_status iterate(chain *c) {
    pv__nuts *nuts = &c->nuts;
    copy_memory(c, false);
    if (c->iteration == 0)
        PV_TRY(begin(c));
    nuts->rng = stream(c, PV_STREAM_HMC_TRANSITION);
    pv_status status = pv__nuts_transition(nuts);
    if (status == PV_ERR_INTERRUPTED)
        copy_memory(c, true);
    if (status != PV_OK)
        return status;
    if (c->iteration < c->adapt.warmup) {
        PV_TRY(adapt(c));
    } else {
        c->divergences += nuts->diverged;
        c->max_depth_hits += nuts->doublings == nuts->depth;
        c->acceptance += nuts->acceptance;
        pv__whiten_to_w(nuts->whiten, nuts->at.u, c->draws + (size_t)c->drawn * nuts->dims);
        c->drawn++;
    }
    c->iteration++;
    return PV_OK;
}

static void advance(chain *c, int64_t until) {
    pv__meeting_enter(c->nuts.meeting);
    while (c->status == PV_OK && c->iteration < until && !pv__interrupted(c->parent))
        c->status = iterate(c);
    pv__meeting_leave(c->nuts.meeting);
    if (c->status == PV_ERR_INTERRUPTED && pv__interrupted(c->parent))
        c->status = PV_OK;
}

/* ---- chains ------------------------------------------------------------------------------------------------------ */

/* A density that can be cloned gets its own context, because allocations of threads must not be concurrent. */
static pv_status open_chain(pv_ctx *ctx, const pv_density *density, const pv__whiten *whiten,
                            const pv_hmc_options *options, chain *c) {
    size_t d = density->dims;
    c->parent = c->ctx = ctx;
    c->seed = options->seed;
    c->nuts = (pv__nuts){.density = density, .state = density->state, .whiten = whiten, .depth = (int)options->depth};
    if (density->clone) {
        pv_ctx *child;
        PV_TRY(pv__ctx_child(ctx, &child));
        c->ctx = child;
        c->nuts.state = NULL;
        PV_TRY(density->clone(c->ctx, density->state, &c->nuts.state));
    }
    c->nuts.ctx = c->ctx;
    c->nuts.watched = ctx;
    pv_field field[PV_MEMORY_FIELDS];
    size_t fields = density->memory ? density->memory(c->nuts.state, field) : 0, bytes = 1;
    for (size_t i = 0; i < fields; i++)
        bytes += field[i].size;
    PV_TRY(pv__alloc(c->ctx, bytes, 1, &c->held));
    PV_TRY(pv__nuts_init(&c->nuts));
    PV_TRY(pv__alloc(c->ctx, 2 * d, sizeof *c->sums, &c->sums));
    c->adapt = (adaptation){.target = options->accept, .mean = c->sums, .squares = c->sums + d};
    plan_windows(&c->adapt, options->warmup);
    return PV_OK;
}

static void close_chain(pv_ctx *ctx, const pv_density *density, chain *c) {
    if (!c->ctx)
        return;
    pv__nuts_free(&c->nuts);
    pv__free(c->ctx, c->sums);
    pv__free(c->ctx, c->held);
    if (c->ctx != ctx) {
        if (density->release && c->nuts.state)
            density->release(c->ctx, c->nuts.state);
        pv_ctx_free(c->ctx);
    }
}

/* Copies a chain's error to the caller. */
static pv_status adopt_error(pv_ctx *ctx, const chain *c, pv_status status) {
    return status != PV_OK && c->ctx && c->ctx != ctx ? pv__ctx_adopt(ctx, c->ctx) : status;
}

/* ---- checkpoints: each chain between two iterations -------------------------------------------------------------- */

enum { FIELDS = 12 + PV_MEMORY_FIELDS };
_Static_assert((int)FIELDS <= (int)PV_ITEM_FIELDS, "a chain can be told to other ranks");

static size_t fields_of(chain *c, int64_t draws, pv_field *field) {
    pv__nuts *nuts = &c->nuts;
    size_t n = 0, d = nuts->dims * sizeof(double);
    field[n++] = (pv_field){&c->adapt, sizeof c->adapt}; /* its pointers are corrected after restoring */
    field[n++] = (pv_field){c->sums, 2 * d};
    field[n++] = (pv_field){&c->iteration, sizeof c->iteration};
    field[n++] = (pv_field){&c->drawn, sizeof c->drawn};
    field[n++] = (pv_field){&c->divergences, sizeof c->divergences};
    field[n++] = (pv_field){&c->max_depth_hits, sizeof c->max_depth_hits};
    field[n++] = (pv_field){&c->acceptance, sizeof c->acceptance};
    field[n++] = (pv_field){c->draws, (size_t)draws * d};
    field[n++] = (pv_field){&nuts->step, sizeof nuts->step};
    field[n++] = (pv_field){nuts->scale, d};
    field[n++] = (pv_field){nuts->at.u, 2 * d}; /* includes the gradient, which follows */
    field[n++] = (pv_field){&nuts->at.value, sizeof nuts->at.value};
    return n + (nuts->density->memory ? nuts->density->memory(nuts->state, field + n) : 0);
}

/* Makes the pointers of an adaptation refer to its own chain. */
static void point_home(chain *c) {
    c->adapt.mean = c->sums;
    c->adapt.squares = c->sums + c->nuts.dims;
}

/* Ranks take chains in turn; all ranks receive all chains. */
typedef struct crowd {
    chain *chains;
    int64_t draws;
} crowd;

static size_t chain_fields(void *state, size_t i, pv_field *field) {
    const crowd *all = state;
    return fields_of(&all->chains[i], all->draws, field);
}

static pv_status tell_chains(pv_ctx *ctx, const pv_hmc_options *options, chain *chains) {
    crowd all = {chains, options->draws};
    pv_status status = pv__share_items(ctx, (size_t)options->chains, chain_fields, &all);
    for (size_t i = 0; i < (size_t)options->chains; i++)
        point_home(&chains[i]);
    return status;
}

static pv_status keep(pv_ctx *ctx, const pv_hmc_options *options, chain *chains) {
    for (size_t i = 0; i < (size_t)options->chains; i++) {
        pv_field field[FIELDS];
        char key[32];
        pv__format(key, sizeof key, "hmc/%zu", i);
        size_t n = fields_of(&chains[i], options->draws, field);
        PV_TRY(pv_checkpoint_keep(ctx, key, field, n));
    }
    return PV_OK;
}

static bool within(int64_t value, int64_t most) {
    return value >= 0 && value <= most;
}

/* Whether an adaptation is valid: a window ends after its own length, so none is longer than twice the warm-up. */
static bool is_sound(const adaptation *a, int64_t warmup) {
    int64_t most = 4 * warmup + 100;
    return a->warmup == warmup && within(a->open, warmup) && within(a->close, warmup) && within(a->window, most) &&
           a->last >= -1 && a->last <= most && within(a->hits, warmup) && a->target > 0 && a->target < 1 &&
           isfinite(a->shrink_to) && isfinite(a->error) && isfinite(a->log_step) && a->count >= 0 &&
           a->count <= (double)warmup && a->n >= 0 && a->n <= (double)warmup;
}

static pv_status recall(pv_ctx *ctx, const pv_hmc_options *options, chain *chains) {
    for (size_t i = 0; i < (size_t)options->chains; i++) {
        chain *c = &chains[i];
        pv_field field[FIELDS];
        char key[32];
        bool found;
        pv__format(key, sizeof key, "hmc/%zu", i);
        size_t n = fields_of(c, options->draws, field);
        PV_TRY(pv_checkpoint_recall(ctx, key, field, n, &found));
        point_home(c);
        int64_t after = c->iteration - options->warmup;
        if (c->iteration < 0 || after > options->draws || c->drawn != (after > 0 ? after : 0) ||
            !is_sound(&c->adapt, options->warmup) || !within(c->divergences, c->drawn) ||
            !within(c->max_depth_hits, c->drawn))
            return pv__checkpoint_damaged(ctx, "a chain's iteration is not one of the sampler's");
        if (found) /* copies the draws, the step and its scale into place */
            PV_TRY(pv__checkpoint_finite(ctx, field + 7, 5));
    }
    return PV_OK;
}

/* Decides for all ranks alike whether to save the chains' states, and how long the last interval took. */
static pv_status agree(pv_ctx *ctx, bool *due, double *took) {
    const pv__part part = {.shared = pv__shares(ctx)};
    double both[2] = {*due, *took};
    pv__most(ctx, &part, 2, both);
    *due = both[0] > 0;
    *took = both[1];
    return pv__reduce_check(ctx);
}

/* Threads, and ranks, synchronise after each interval of iterations, so that all chains are equally far. Intervals grow
 * until they take a noticeable time, because synchronising is expensive on a busy machine. Draws do not depend on their
 * lengths. */
static pv_status run(pv_ctx *ctx, const pv_hmc_options *options, bool together, chain *chains) {
    int64_t total = options->warmup + options->draws, stretch = 8;
    int count = (int)options->chains;
    double began = pv__seconds(), now = began;
    PV_TRY(recall(ctx, options, chains));
    int64_t least = total;
    for (int i = 0; i < count; i++)
        least = chains[i].iteration < least ? chains[i].iteration : least;
    bool interrupted = pv__interrupted(ctx);
    for (int64_t until = least; until < total && !interrupted;) {
        until = until + stretch < total ? until + stretch : total;
#pragma omp parallel for num_threads(together ? pv__threads_for(ctx, (size_t)count) : 1) schedule(dynamic)
        for (int i = 0; i < count; i++)
            if (pv__makes(ctx, (size_t)i))
                advance(&chains[i], until);
        for (int i = 0; i < count; i++)
            PV_TRY(adopt_error(ctx, &chains[i], chains[i].status));
        double took = pv__seconds() - now;
        pv_progress progress = {.what = "hmc",
                                .step = (size_t)chains[0].iteration,
                                .steps = (size_t)total,
                                .value = chains[0].nuts.at.value,
                                .seconds = now + took - began};
        pv__progress(ctx, &progress); /* may detect an interruption */
        bool due = pv_checkpoint_due(ctx);
        PV_TRY(agree(ctx, &due, &took));
        now = pv__seconds();
        if (took < 0.1 && stretch < until / 8)
            stretch *= 2;
        else if (took > 0.4 && stretch > 1)
            stretch /= 2;
        interrupted = pv__interrupted(ctx);
        if (due || interrupted || until == total)
            PV_TRY(tell_chains(ctx, options, chains));
        if (due || interrupted)
            PV_TRY(keep(ctx, options, chains));
    }
    return PV_OK;
}

/* ---- the posterior ----------------------------------------------------------------------------------------------- */

/* Collects chains of equal length, in order, and their statistics. */
static pv_status gather(pv_ctx *ctx, const pv_hmc_options *options, const chain *chains, pv_posterior *p) {
    int64_t each = options->draws, drawn = 0;
    for (size_t i = 0; i < p->chains; i++) {
        each = chains[i].drawn < each ? chains[i].drawn : each;
        drawn += chains[i].drawn;
        p->divergences += chains[i].divergences;
        p->max_depth_hits += chains[i].max_depth_hits;
        p->acceptance += chains[i].acceptance;
        p->step_size += chains[i].nuts.step / (double)p->chains;
    }
    if (each < FEWEST_DRAWS)
        return pv__fail(ctx, PV_ERR_INTERRUPTED, "hmc: stopped on request before there were draws to keep");
    p->acceptance /= (double)drawn;
    p->count = p->chains * (size_t)each;
    p->iterations = chains[0].iteration;
    for (size_t i = 0; i < p->chains; i++)
        memmove(p->draws + i * (size_t)each * p->dims, chains[i].draws, (size_t)each * p->dims * sizeof *p->draws);
    p->stop = PV_STOP_COMPLETED;
    if (each < options->draws)
        p->stop = PV_STOP_INTERRUPTED;
    else if (4 * p->divergences > drawn)
        p->stop = PV_STOP_DIVERGED;
    return PV_OK;
}

static const double MIXED = 1.1; /* split R-hat; above 1.01 there is a warning */

static pv_status diagnose(pv_ctx *ctx, pv_posterior *p) {
    double *column = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, p->count, sizeof *column, &column));
    for (size_t j = 0; j < p->dims; j++) {
        for (size_t n = 0; n < p->count; n++)
            column[n] = p->draws[n * p->dims + j];
        PV_GOTO(done, pv__draws_diagnose(ctx, p->chains, p->count / p->chains, column, &p->rhat[j], &p->ess[j]));
    }
    /* Chains in different places are not a sample of the posterior; NaN means that one did not move. */
    if (p->stop == PV_STOP_COMPLETED && !(pv_posterior_rhat_max(p) <= MIXED))
        p->stop = PV_STOP_POOR;
done:
    pv__free(ctx, column);
    return status;
}

static pv_status check(pv_ctx *ctx, const pv_density *density, const pv_hmc_options *o) {
    if (density->dims == 0)
        return pv__fail(ctx, PV_ERR_USAGE, "the density has no parameters");
    if (o->chains < 1 || o->chains > 1000)
        return pv__fail(ctx, PV_ERR_USAGE, "hmc: %lld chains; 1 to 1000 are possible", (long long)o->chains);
    if (o->warmup < 0 || o->warmup > 1000000000)
        return pv__fail(ctx, PV_ERR_USAGE, "hmc: a warm-up of %lld; 0 to 1000000000 are possible",
                        (long long)o->warmup);
    if (o->draws < FEWEST_DRAWS || o->draws > 1000000000)
        return pv__fail(ctx, PV_ERR_USAGE, "hmc: %lld draws a chain; %d to 1000000000 are possible",
                        (long long)o->draws, FEWEST_DRAWS);
    if (!(o->accept > 0 && o->accept < 1))
        return pv__fail(ctx, PV_ERR_USAGE, "hmc: a target acceptance of %g; it lies between 0 and 1", o->accept);
    if (o->depth < 1 || o->depth > 30)
        return pv__fail(ctx, PV_ERR_USAGE, "hmc: a depth of %lld; 1 to 30 are possible", (long long)o->depth);
    return PV_OK;
}

pv_hmc_options pv_hmc_options_default(void) {
    return (pv_hmc_options){.chains = 4, .warmup = 1000, .draws = 1000, .accept = 0.8, .depth = 10, .seed = 1};
}

static pv_status new_posterior(pv_ctx *ctx, size_t d, const pv_hmc_options *options, pv_posterior **posterior) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **posterior, posterior));
    pv_posterior *p = *posterior;
    p->kind = PV_POSTERIOR_HMC;
    p->dims = d;
    p->chains = (size_t)options->chains;
    p->elbo = p->elbo_se = p->evidence = (double)NAN;
    PV_TRY(pv__alloc(ctx, p->chains * (size_t)options->draws, d * sizeof *p->draws, &p->draws));
    PV_TRY(pv__alloc(ctx, d, sizeof *p->rhat, &p->rhat));
    return pv__alloc(ctx, d, sizeof *p->ess, &p->ess);
}

pv_status pv_hmc(pv_ctx *ctx, const pv_density *density, const double *w, const pv_hmc_options *options,
                 pv_posterior **posterior) {
    *posterior = NULL;
    pv_hmc_options chosen = options ? *options : pv_hmc_options_default();
    PV_TRY(check(ctx, density, &chosen));
    size_t count = (size_t)chosen.chains;
    pv__whiten whiten = {0};
    chain *chains = NULL;
    pv_posterior *p = NULL;
    pv__meeting *meeting = NULL;
    pv_status status;
    PV_GOTO(done, new_posterior(ctx, density->dims, &chosen, &p));
    PV_GOTO(done, pv__whiten_new(ctx, density, w, &whiten));
    PV_GOTO(done, pv__alloc(ctx, count, sizeof *chains, &chains));
    if (density->many && density->clone)
        PV_GOTO(done, pv__meeting_new(ctx, density, count, &meeting));
    for (size_t i = 0; i < count; i++) {
        PV_GOTO(done, adopt_error(ctx, &chains[i], open_chain(ctx, density, &whiten, &chosen, &chains[i])));
        chains[i].index = i;
        chains[i].nuts.meeting = meeting;
        chains[i].draws = p->draws + i * (size_t)chosen.draws * p->dims;
    }
    PV_GOTO(done, run(ctx, &chosen, density->clone != NULL, chains));
    PV_GOTO(done, gather(ctx, &chosen, chains, p));
    PV_GOTO(done, diagnose(ctx, p));
    *posterior = p;
    p = NULL;
done:
    for (size_t i = 0; chains && i < count; i++)
        close_chain(ctx, density, &chains[i]);
    pv__free(ctx, chains);
    pv__meeting_free(ctx, meeting);
    pv__whiten_free(ctx, &whiten);
    pv_posterior_free(ctx, p);
    return status;
}
