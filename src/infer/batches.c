/* Batch designs: which rows come next.
 *
 *   uniform    rows of the whole data in random order, each once per epoch; label counts vary from batch to batch
 *   balanced   equal counts of each class; the remainder alternates between classes
 *   counts:…   fixed counts
 *   optimal    fixed counts that minimise the variance of the gradient, estimated again in each epoch (Appendix E)
 *
 * Within a class rows come in random order, each once before any is repeated.
 *
 * Views of images for the next batch are cut by a separate thread while the network processes this one, so that
 * training waits neither for that work nor for a slow disk.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/infer.h"

typedef enum design_kind { UNIFORM, BALANCED, COUNTS, OPTIMAL } design_kind;

/* A pool of rows that is shuffled and dealt like a deck of cards. */
typedef struct deck {
    size_t *rows, n, dealt;
    uint64_t shuffles;
} deck;

/* The rows of one batch and their data. */
typedef struct slot {
    size_t *rows;             /* [size] */
    uint64_t first;           /* number of rows drawn before it, over all batches */
    int32_t *label, *stratum; /* [size]; with soft labels only stratum */
    double *weight, *x;       /* [size], [size][inputs] */
    double *frequency;        /* with soft labels: [size][classes] */
    int32_t *sampled;         /* [size], with strata of the population */
} slot;

enum { SLOTS = 2 };

struct pv__batches {
    const pv_ctx *ctx;
    const pv__problem *problem;
    design_kind kind;
    size_t size;
    size_t begin, end; /* rows of a batch for which x is needed */
    int classes;
    uint64_t seed;
    size_t *store;           /* the rows of all decks */
    deck *decks;             /* [classes], or one for uniform */
    size_t *counts;          /* [classes], per batch */
    size_t extra;            /* balanced: the class that gets the remainder next */
    double *full, *expected; /* [classes] */
    pv_sampling sampling;
    uint64_t taken;         /* rows drawn so far, over all batches */
    int32_t *stratum;       /* soft labels: for each row of the data, the label with the largest frequency */
    slot slots[SLOTS];      /* the current batch and, with a loader, the next */
    int shown;              /* index of the current one */
    pv__background *loader; /* cuts the views of the other slot; NULL: no work ahead */
    bool ahead;             /* the loader has been given a batch */
    bool uncut;             /* views are cut elsewhere */
    uint64_t *saved;        /* for checkpoints: taken, extra, ahead; for each class count, dealt, shuffles */
    uint64_t *before; /* images: the same before the last batch was taken, for putting it back; NULL: not supported */
    size_t *store_before; /* the order of the rows in the decks at that time */
};

static size_t stratum_of(const pv__batches *b, size_t n) {
    return (size_t)(b->stratum ? b->stratum[n] : b->problem->targets.label[n]);
}

static size_t deal(pv__batches *b, size_t which) {
    deck *d = &b->decks[which];
    if (d->dealt == 0) {
        pv_rng rng = pv_rng_stream(b->seed, PV_STREAM_BATCHES, (uint64_t)which << 40 | d->shuffles++);
        pv_rng_shuffle(&rng, d->n, d->rows);
        d->dealt = d->n;
    }
    return d->rows[--d->dealt];
}

static pv_status parse_counts(pv_ctx *ctx, const char *text, pv__batches *b) {
    const char *at = text + strlen("counts:");
    size_t total = 0;
    for (int y = 0; y < b->classes; y++) {
        char *end;
        long count = strtol(at, &end, 10);
        bool last = y + 1 == b->classes;
        if (end == at || count < 1 || *end != (last ? '\0' : ','))
            return pv__fail(ctx, PV_ERR_USAGE,
                            "`design=%s`:\ngive %d counts of at least 1, one per label in label order", text,
                            b->classes);
        b->counts[y] = (size_t)count;
        total += (size_t)count;
        at = end + 1;
    }
    if (total != b->size)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`design=%s`: the counts sum to %zu, but `batch` is %zu;\nmake them the same", text, total,
                        b->size);
    return PV_OK;
}

static pv_status parse_kind(pv_ctx *ctx, const char *text, pv__batches *b) {
    static const char *const words[] = {"uniform", "balanced", NULL, "optimal"};
    b->kind = COUNTS;
    if (strncmp(text, "counts:", 7) == 0)
        return parse_counts(ctx, text, b);
    for (int i = 0; i < 4; i++)
        if (words[i] && strcmp(text, words[i]) == 0) {
            b->kind = (design_kind)i;
            if (b->kind != UNIFORM && b->size < (size_t)b->classes)
                return pv__fail(ctx, PV_ERR_USAGE,
                                "`batch=%zu` is too small for one row of each of %d classes;\nmake it larger", b->size,
                                b->classes);
            return PV_OK;
        }
    return pv__fail(ctx, PV_ERR_USAGE, "`design=%s`:\nchoose uniform, balanced, optimal or counts:N,N,...", text);
}

static void fill_decks(const pv__problem *problem, pv__batches *b) {
    size_t k = (size_t)b->classes, at = 0;
    for (size_t n = 0; n < problem->rows.n; n++)
        b->full[stratum_of(b, n)] += 1;
    for (size_t y = 0; y < k; y++) {
        b->decks[y].rows = b->store + at;
        at += (size_t)b->full[y];
    }
    for (size_t n = 0; n < problem->rows.n; n++) {
        deck *d = &b->decks[b->kind == UNIFORM ? 0 : stratum_of(b, n)];
        d->rows[d->n++] = n;
    }
}

static void set_shares(pv__batches *b) {
    double total = 0;
    for (int y = 0; y < b->classes; y++)
        total += b->full[y];
    for (int y = 0; y < b->classes; y++) {
        if (b->kind == UNIFORM)
            b->expected[y] = b->full[y] / total;
        else if (b->kind == BALANCED)
            b->expected[y] = 1.0 / b->classes;
        else
            b->expected[y] = (double)b->counts[y] / (double)b->size;
    }
}

/* With soft labels rows are drawn by the label of largest frequency, the first if tied. Unless rows are drawn
 * uniformly, every label needs at least one row. */
static pv_status make_strata(pv_ctx *ctx, pv__batches *b) {
    const pv_targets *all = &b->problem->targets;
    size_t k = (size_t)b->classes;
    PV_TRY(pv__alloc(ctx, all->n, sizeof *b->stratum, &b->stratum));
    size_t *count;
    PV_TRY(pv__alloc(ctx, k, sizeof *count, &count));
    for (size_t n = 0; n < all->n; n++) {
        size_t best = 0;
        for (size_t y = 1; y < k; y++)
            if (all->frequency[n * k + y] > all->frequency[n * k + best])
                best = y;
        b->stratum[n] = (int32_t)best;
        count[best]++;
    }
    size_t empty = 0;
    while (empty < k && count[empty])
        empty++;
    pv__free(ctx, count);
    if (empty < k && b->kind != UNIFORM)
        return pv__fail(ctx, PV_ERR_INPUT,
                        "label %zu has the most votes in no row, so batches cannot be balanced:\nuse `design=uniform`",
                        empty + 1);
    return PV_OK;
}

static pv_status slot_new(pv_ctx *ctx, const pv__batches *b, slot *s) {
    size_t inputs = (size_t)pv_model_inputs(b->problem->model);
    PV_TRY(pv__alloc(ctx, b->size, sizeof *s->rows, &s->rows));
    PV_TRY(pv__alloc(ctx, b->size, sizeof *s->weight, &s->weight));
    PV_TRY(pv__alloc(ctx, b->size, inputs * sizeof *s->x, &s->x));
    if (b->problem->targets.stratum)
        PV_TRY(pv__alloc(ctx, b->size, sizeof *s->sampled, &s->sampled));
    if (!b->stratum)
        return pv__alloc(ctx, b->size, sizeof *s->label, &s->label);
    PV_TRY(pv__alloc(ctx, b->size, sizeof *s->stratum, &s->stratum));
    return pv__alloc(ctx, b->size, (size_t)b->classes * sizeof *s->frequency, &s->frequency);
}

static void slot_free(pv_ctx *ctx, slot *s) {
    pv__free(ctx, s->rows);
    pv__free(ctx, s->weight);
    pv__free(ctx, s->x);
    pv__free(ctx, s->label);
    pv__free(ctx, s->stratum);
    pv__free(ctx, s->sampled);
    pv__free(ctx, s->frequency);
}

static void cut_ahead(void *state);

pv_status pv__batches_new(pv_ctx *ctx, const pv__problem *problem, pv__batches **batches) {
    *batches = NULL;
    size_t k = (size_t)problem->targets.classes;
    pv__batches *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->ctx = ctx;
    made->problem = problem;
    made->size = made->end = problem->batch;
    made->classes = (int)k;
    made->seed = (uint64_t)problem->plan->options.seed;
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, problem->rows.n, sizeof(size_t), &made->store));
    PV_GOTO(fail, pv__alloc(ctx, k, sizeof(deck), &made->decks));
    PV_GOTO(fail, pv__alloc(ctx, k, sizeof(size_t), &made->counts));
    PV_GOTO(fail, pv__alloc(ctx, 2 * k, sizeof(double), &made->full));
    made->expected = made->full + k;
    PV_GOTO(fail, pv__alloc(ctx, 3 + 3 * k, sizeof(uint64_t), &made->saved));
    PV_GOTO(fail, parse_kind(ctx, problem->plan->options.design, made));
    if (!problem->targets.label)
        PV_GOTO(fail, make_strata(ctx, made));
    if (pv__rows_are_images(&problem->rows)) {
        PV_GOTO(fail, pv__alloc(ctx, 3 + 3 * k, sizeof(uint64_t), &made->before));
        PV_GOTO(fail, pv__alloc(ctx, problem->rows.n, sizeof(size_t), &made->store_before));
    }
    bool ahead = pv__rows_are_images(&problem->rows) &&
                 made->kind != OPTIMAL; /* its counts are known only when an epoch begins */
    for (int i = 0; i < (ahead ? SLOTS : 1); i++)
        PV_GOTO(fail, slot_new(ctx, made, &made->slots[i]));
    if (ahead)
        PV_GOTO(fail, pv__background_new(ctx, cut_ahead, made, &made->loader));
    fill_decks(problem, made);
    for (size_t y = 0; y < k && made->kind == OPTIMAL; y++) /* until the first estimate */
        made->counts[y] = made->size / k + (y < made->size % k);
    set_shares(made);
    made->sampling = (pv_sampling){(int)k, made->full, made->expected};
    *batches = made;
    return PV_OK;
fail:
    pv__batches_free(ctx, made);
    return status;
}

void pv__batches_free(pv_ctx *ctx, pv__batches *batches) {
    if (!batches)
        return;
    pv__background_free(ctx, batches->loader);
    for (int i = 0; i < SLOTS; i++)
        slot_free(ctx, &batches->slots[i]);
    pv__free(ctx, batches->store);
    pv__free(ctx, batches->decks);
    pv__free(ctx, batches->counts);
    pv__free(ctx, batches->full);
    pv__free(ctx, batches->stratum);
    pv__free(ctx, batches->saved);
    pv__free(ctx, batches->before);
    pv__free(ctx, batches->store_before);
    pv__free(ctx, batches);
}

static void deal_batch(pv__batches *b, size_t *rows) {
    size_t k = (size_t)b->classes, at = 0;
    if (b->kind == UNIFORM) {
        while (at < b->size)
            rows[at++] = deal(b, 0);
        return;
    }
    for (size_t y = 0; y < k && b->kind == BALANCED; y++)
        b->counts[y] = b->size / k;
    for (size_t i = 0; i < b->size % k && b->kind == BALANCED; i++) {
        b->counts[b->extra]++;
        b->extra = (b->extra + 1) % k;
    }
    for (size_t y = 0; y < k; y++)
        for (size_t i = 0; i < b->counts[y]; i++)
            rows[at++] = deal(b, y);
}

/* Cuts a row's views, with random numbers from a stream of its own. */
static void cut_row(const pv__batches *b, const slot *s, size_t i) {
    const pv_dataset *data = b->problem->rows.made;
    pv_rng rng = pv_rng_stream(b->seed, PV_STREAM_VIEWS, s->first + i);
    pv_views_cut(data->image, data->images, data->image_row[s->rows[i]], &rng,
                 s->x + i * (size_t)pv_model_inputs(b->problem->model));
}

/* The loader's work: cuts all views of the slot that is not current. */
static void cut_ahead(void *state) {
    const pv__batches *b = state;
    for (size_t i = b->begin; i < b->end; i++)
        cut_row(b, &b->slots[!b->shown], i);
}

static void cut_now(const pv__batches *b, const slot *s) {
#pragma omp parallel for num_threads(pv__threads_for(b->ctx, b->end - b->begin)) schedule(dynamic)
    for (size_t i = b->begin; i < b->end; i++)
        cut_row(b, s, i);
}

/* Fills in the data of the drawn rows, except views. */
static void describe(const pv__batches *b, slot *s, uint64_t first) {
    const pv_targets *all = &b->problem->targets;
    size_t inputs = (size_t)pv_model_inputs(b->problem->model), k = (size_t)b->classes;
    s->first = first;
    for (size_t i = 0; i < b->size; i++) {
        size_t n = s->rows[i];
        if (b->problem->rows.matrix && i >= b->begin && i < b->end)
            memcpy(s->x + i * inputs, b->problem->rows.matrix + n * inputs, inputs * sizeof *s->x);
        if (b->stratum) {
            s->stratum[i] = b->stratum[n];
            memcpy(s->frequency + i * k, all->frequency + n * k, k * sizeof *s->frequency);
        } else {
            s->label[i] = all->label[n];
        }
        if (s->sampled)
            s->sampled[i] = all->stratum[n];
        s->weight[i] = pv__weight(all, n);
    }
}

/* Passes the next slot, whose rows have been drawn, to the loader. */
static void load_ahead(pv__batches *b, uint64_t first) {
    describe(b, &b->slots[!b->shown], first);
    if (!b->uncut)
        pv__background_start(b->loader);
    b->ahead = true;
}

/* The state that determines the next batches, in addition to the rows of the decks. */
static void write_state(const pv__batches *b, uint64_t *state) {
    *state++ = b->taken;
    *state++ = b->extra;
    *state++ = b->ahead;
    for (size_t y = 0; y < (size_t)b->classes; y++) {
        *state++ = b->counts[y];
        *state++ = b->decks[y].dealt;
        *state++ = b->decks[y].shuffles;
    }
}

static void read_state(pv__batches *b, const uint64_t *state) {
    b->taken = *state++;
    b->extra = (size_t)*state++;
    b->ahead = *state++ != 0;
    for (size_t y = 0; y < (size_t)b->classes; y++) {
        b->counts[y] = (size_t)*state++;
        b->decks[y].dealt = (size_t)*state++;
        b->decks[y].shuffles = *state++;
    }
}

void pv__batches_put_back(pv__batches *b) {
    if (!b->before)
        return;
    if (b->loader)
        pv__background_wait(b->loader);
    read_state(b, b->before);
    memcpy(b->store, b->store_before, b->problem->rows.n * sizeof *b->store);
    if (b->ahead) /* that batch was the one drawn ahead, so it is again */
        b->shown = !b->shown;
}

pv__batch pv__batches_next(pv__batches *b) {
    if (b->before) {
        write_state(b, b->before);
        memcpy(b->store_before, b->store, b->problem->rows.n * sizeof *b->store);
    }
    if (b->ahead) {
        pv__background_wait(b->loader);
        b->shown = !b->shown;
    } else {
        deal_batch(b, b->slots[b->shown].rows);
        describe(b, &b->slots[b->shown], b->taken);
        b->taken += b->size;
        if (pv__rows_are_images(&b->problem->rows) && !b->uncut)
            cut_now(b, &b->slots[b->shown]);
    }
    if (b->loader) {
        deal_batch(b, b->slots[!b->shown].rows);
        load_ahead(b, b->taken);
        b->taken += b->size;
    }
    const slot *s = &b->slots[b->shown];
    pv_targets targets = {.n = b->size,
                          .classes = b->classes,
                          .label = s->label,
                          .frequency = s->frequency,
                          .weight = b->problem->targets.weight ? s->weight : NULL,
                          .stratum = s->sampled};
    return (pv__batch){targets, s->stratum, s->x, s->rows, s->first};
}

void pv__batches_uncut(pv__batches *batches) {
    batches->uncut = true;
}

void pv__batches_take(pv__batches *batches, size_t begin, size_t end) {
    batches->begin = begin;
    batches->end = end;
}

size_t pv__batches_size(const pv__batches *batches) {
    return batches->size;
}

pv_batch_loss pv__batches_loss(const pv__batches *b) {
    const pv_fit_options *options = &b->problem->plan->options;
    pv_batch_loss loss = {
        .loss = (pv_loss)options->loss,
        .marginal = (pv_marginal)options->marginal,
        .implementation = (pv_implementation)(options->implementation + 1),
        .design = {.sampling = b->sampling,
                   .mass = b->problem->mass,
                   .population = b->problem->population,
                   .population_weight = (pv_weighting)options->population_weight,
                   .epoch_weight = (pv_weighting)options->epoch_weight,
                   .direct = options->direct,
                   .stratum_log_ratio = pv__strata_of(b->problem) ? b->problem->design->log_ratio : NULL}};
    /* Here a known prevalence becomes a strong penalty; afterwards the output biases are set to match it exactly. */
    if (isinf(loss.design.population.prevalence_n) && loss.marginal != PV_MARGINAL_PROFILE)
        loss.design.population.prevalence_n = pv__known_strength(b->problem);
    return loss;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------- */

/* If a batch is drawn ahead, its rows are stored too, because they have left the decks. */
size_t pv__batches_fields(pv__batches *b, pv_field *field) {
    write_state(b, b->saved);
    field[0] = (pv_field){b->saved, (3 + 3 * (size_t)b->classes) * sizeof *b->saved};
    field[1] = (pv_field){b->store, b->problem->rows.n * sizeof *b->store};
    field[2] = (pv_field){b->slots[!b->shown].rows, b->loader ? b->size * sizeof(size_t) : 0};
    return 3;
}

static bool rows_fit(const pv__batches *b, size_t n, const size_t *rows) {
    for (size_t i = 0; i < n; i++)
        if (rows[i] >= b->problem->rows.n)
            return false;
    return true;
}

pv_status pv__batches_recalled(pv_ctx *ctx, pv__batches *b) {
    size_t k = (size_t)b->classes, rows = 0;
    read_state(b, b->saved);
    bool ahead = b->ahead, good = b->extra < k && (!ahead || (b->loader && b->taken >= b->size));
    b->ahead = false; /* not before its views are being cut again */
    for (size_t y = 0; y < k; y++) {
        good = good && b->decks[y].dealt <= b->decks[y].n && b->counts[y] <= b->size;
        rows += b->kind == COUNTS || b->kind == OPTIMAL ? b->counts[y] : 0;
    }
    good = good && (rows == b->size || b->kind == UNIFORM || b->kind == BALANCED);
    slot *next = &b->slots[!b->shown];
    if (!good || !rows_fit(b, b->problem->rows.n, b->store) || (ahead && !rows_fit(b, b->size, next->rows)))
        return pv__checkpoint_damaged(ctx, "its batches are not of these rows");
    set_shares(b);
    if (ahead)
        load_ahead(b, b->taken - b->size);
    return PV_OK;
}

/* ---- optimal ----------------------------------------------------------------------------------------------------- */

enum { PROBE_ROWS = 64 }; /* per class, for the variance estimate */

/* The derivative of row n's part of the loss with respect to its log-likelihoods: -v t from the data term, and c_y
 * rho_n p_ny/q_y from the marginal. */
static void row_slope(const pv__problem *problem, size_t n, const double *loglik, const double *log_q,
                      const double *log_ratio, double *dloglik) {
    size_t k = (size_t)problem->targets.classes;
    double v = pv__weight(&problem->targets, n), rho = 0; /* rho: the row's weight in the plug-in marginal */
    for (size_t y = 0; y < k && problem->plan->has_prevalence; y++)
        rho += v * pv__share(&problem->targets, n, (int)y) * problem->population.prevalence[y] / problem->mass[y];
    pv__form form = pv__problem_form(problem);
    if (form == PV_FORM_SELECTION) {
        pv_targets row = pv__targets_slice(&problem->targets, n, 1);
        double sum;
        pv__selection_rows(&row, NULL, log_ratio, loglik, dloglik, NULL, &sum);
        return;
    }
    for (size_t y = 0; y < k; y++) {
        dloglik[y] = -v * pv__share(&problem->targets, n, (int)y) * problem->factor[y];
        if (form == PV_FORM_JOINT) {
            double strength = isfinite(problem->population.prevalence_n) ? problem->population.prevalence_n
                                                                         : pv__known_strength(problem);
            double c = problem->mass[y] - strength * problem->population.prevalence[y];
            dloglik[y] += c * rho * exp(fmin(loglik[y] - log_q[y], 600));
        }
    }
}

typedef struct probe {
    double *gradient, *sum;               /* [params] */
    double *loglik, *dloglik, *log_ratio; /* [classes] */
    double *x;                            /* [inputs], for an image */
    double *block;
    pv_model_work *work;
} probe;

/* Eq. estimate of the conditional variance, where g is the gradient of all parameters; the variances of its components
 * are summed. */
static pv_status class_variance(pv_ctx *ctx, const pv__batches *b, const pv__problem *problem, size_t y,
                                const double *w, const double *log_q, probe *p, double *variance) {
    size_t params = pv_model_params(problem->model);
    pv_rng rng = pv_rng_stream(b->seed, PV_STREAM_DESIGN, (uint64_t)y << 40 | b->decks[y].shuffles);
    double squares = 0, square_of_sum = 0;
    memset(p->sum, 0, params * sizeof *p->sum);
    for (size_t i = 0; i < PROBE_ROWS; i++) {
        size_t n = b->decks[y].rows[pv_rng_below(&rng, b->decks[y].n)];
        const double *x = pv__rows_get(b->ctx, &problem->rows, n, 1, p->x);
        pv_model_forward(problem->model, p->work, w, 1, x, p->loglik);
        row_slope(problem, n, p->loglik, log_q, p->log_ratio, p->dloglik);
        memset(p->gradient, 0, params * sizeof *p->gradient);
        pv_model_backward(problem->model, p->work, w, 1, x, p->loglik, p->dloglik, p->gradient);
        PV_TRY(pv__model_work_check(ctx, p->work));
        for (size_t j = 0; j < params; j++) {
            p->sum[j] += p->gradient[j];
            squares += p->gradient[j] * p->gradient[j];
        }
    }
    for (size_t j = 0; j < params; j++)
        square_of_sum += p->sum[j] * p->sum[j];
    *variance = fmax(squares - square_of_sum / PROBE_ROWS, 0) / (PROBE_ROWS - 1);
    return PV_OK;
}

bool pv__batches_optimised(const pv__batches *batches) {
    return batches->kind == OPTIMAL;
}

pv_status pv__batches_optimise(pv_ctx *ctx, pv__batches *b, const pv__problem *problem, const double *w,
                               const double *log_q) {
    if (b->kind != OPTIMAL)
        return PV_OK;
    size_t k = (size_t)b->classes, params = pv_model_params(problem->model);
    probe p = {0};
    pv_status status;
    size_t inputs = (size_t)pv_model_inputs(problem->model);
    PV_GOTO(done, pv__alloc(ctx, 2 * params + (3 + pv__ratio_sets(problem)) * k + inputs, sizeof *p.block, &p.block));
    PV_GOTO(done, pv_model_work_new(ctx, problem->model, 1, &p.work));
    p.gradient = p.block;
    p.sum = p.gradient + params;
    p.loglik = p.sum + params;
    p.dloglik = p.loglik + k;
    p.log_ratio = p.dloglik + k;
    double *variance = p.log_ratio + pv__ratio_sets(problem) * k;
    p.x = variance + k;
    pv__log_ratio(problem, p.log_ratio);
    double most = 0;
    for (size_t y = 0; y < k; y++) {
        PV_GOTO(done, class_variance(ctx, b, problem, y, w, log_q, &p, &variance[y]));
        most = fmax(most, variance[y]);
    }
    for (size_t y = 0; y < k; y++) /* a small estimate by chance must not starve a class */
        variance[y] += most > 0 ? 1e-6 * most : 1;
    PV_GOTO(done, pv_optimal_counts(ctx, b->classes, b->size, b->full, variance, b->counts));
    set_shares(b);
done:
    pv__free(ctx, p.block);
    pv_model_work_free(ctx, p.work);
    return status;
}
