/* `model=trees`: gradient boosting of the same losses as other models, tree by tree.
 *
 *   minimise  sum_n v_n [-log p_s(y_n|x_n)],   p_s(y|x) ~ exp(z_y(x)) r_sy,   z_y(x) = b_y + sum_t T_ty(x)
 *
 *   ig     r_sy = d_sy / pi_sy, the sample's proportion of a label over its prevalence (in the row's stratum): the
 *          selection likelihood; v_n is the row's weight
 *   iw     r = 1, with v_n weighted to the population
 *   plain  r = 1, v_n is the row's weight
 *
 * so that softmax z is the risk in the population (plain: in the sample), as for every other model. Boosting starts at
 * b_y = log pi_y (log d_y), each tree is fitted to gradient and curvature of the loss at the current sums
 * (model/xgboost.c), and finally the biases are shifted until the labels' score equations hold.
 *
 * The number of rounds minimises the loss of rows not used for fitting. Units are assigned to folds (deal_units.h),
 * trees are fitted without each fold in parallel, until PATIENCE rounds bring no better mean. With many rows a single
 * fold is held out. The held-out ratios at that number are the reference for an unknown prevalence.
 *
 * Results do not depend on the number of threads. The order of rows affects the last bits of sums of losses and so of
 * the biases; it affects trees only if two numbers of rounds are equally good to the last bits.
 */
#include "infer/boosting.h"

#include <math.h>
#include <string.h>

#include "core/core.h"
#include "core/vector.h"
#include "data/schema_learn.h"
#include "infer/deal_units.h"
#include "model/trees.h"

enum { FOLDS = 5, STEP = 10, ROUNDS_AT_1 = 100, PATIENCE_AT_1 = 5, PATIENCE_LEAST = 20, REFERENCE_LEAST = 20 };
enum { FIRST_REPEAT = (1 << 30) + 100 }; /* a repeat number that nothing else uses */

/* Rows and the data of their losses. */
typedef struct losses {
    size_t k, each;
    const double *start; /* [classes], starting values b */
    double *log_ratio;   /* [sets][classes] */
    const int32_t *label, *stratum;
    double *weight;
} losses;

/* Trees fitted without one fold. */
typedef struct part {
    pv__booster *booster;
    size_t learn, held, *row; /* row [learn + held] */
    float *gradient, *curvature;
    double *curve; /* [most + 1]: loss of the held-out rows after each number of rounds */
} part;

typedef struct growing {
    const pv_schema *schema;
    const pv_dataset *all, *data; /* all rows; those in the folds, where counts may be split into pieces */
    const pv__problem *problem;
    pv_model *model; /* without trees */
    losses of_all, of_data;
    double *cell; /* [strata][classes]: a row's weight in the loss, divided by that in the data */
    double *start;
    int32_t *absent, *fold;
    pv__tree_bins *bins;
    size_t folds, judged, most, done, next; /* next: in rounds, as are most and done */
    part part[FOLDS];
} growing;

/* ---- losses ------------------------------------------------------------------------------------------------------ */

/* log p_s(y|x) [k] of row n, given its sums of trees. */
static void log_p(const losses *l, size_t n, const float *sum, double *p) {
    const double *ratio = l->log_ratio + (l->stratum ? (size_t)l->stratum[n] * l->k : 0);
    for (size_t y = 0; y < l->k; y++)
        p[y] = l->start[y] + ratio[y];
    for (size_t g = 0; g < l->each; g++)
        p[l->each == 1 ? 1 : g] += (double)sum[g];
    pv_log_softmax((int)l->k, p, p);
}

/* For rows row [n] (NULL: 0 .. n-1) with given sums of trees: gradient and curvature, if wanted, and the loss (NaN: out
 * of memory, which is recorded in ctx). */
static pv_status evaluate(pv_ctx *ctx, const losses *l, size_t n, const size_t *row, const float *sums, float *gradient,
                          float *curvature, double *loss) {
    size_t chunks = pv__chunks(n), k = l->k;
    double *room, *partial;
    PV_TRY(pv__alloc(ctx, chunks + 1, (k + 1) * sizeof *room, &room));
    partial = room + (chunks + 1) * k;
    PV__EACH_CHUNK(ctx, chunks, c, {
        double *p = room + c * k;
        size_t begin = c * PV_CHUNK, end = begin + pv__chunk_rows(n, c);
        for (size_t i = begin; i < end; i++) {
            size_t own = row ? row[i] : i, y = (size_t)l->label[own];
            double v = l->weight[own];
            log_p(l, own, sums + i * l->each, p);
            partial[c] -= v > 0 ? v * p[y] : 0;
            for (size_t g = 0; gradient && g < l->each; g++) {
                size_t label = l->each == 1 ? 1 : g;
                double q = exp(p[label]), least = 1e-16, h = (l->each == 1 ? 1 : 2) * q * (1 - q);
                gradient[i * l->each + g] = (float)(v * (q - (label == y)));
                curvature[i * l->each + g] = (float)(v * (h > least ? h : least));
            }
        }
    });
    *loss = 0;
    for (size_t c = 0; c < chunks; c++)
        *loss += partial[c];
    pv__free(ctx, room);
    return PV_OK;
}

/* The weight in the loss of a row of each stratum and label whose weight in the data is 1. */
static pv_status weigh_cells(pv_ctx *ctx, growing *g) {
    const pv__problem *problem = g->problem;
    size_t k = g->of_all.k, cells = pv__ratio_sets(problem) * k;
    double *mass;
    PV_TRY(pv__alloc(ctx, cells, sizeof *g->cell, &g->cell));
    PV_TRY(pv__alloc(ctx, cells, sizeof *mass, &mass));
    for (size_t i = 0; i < g->all->rows; i++) {
        size_t y = (size_t)g->all->label[i], cell = (pv__strata_of(problem) ? (size_t)g->all->stratum[i] * k : 0) + y;
        double own = g->all->weight ? g->all->weight[i] : 1;
        mass[cell] += own;
        g->cell[cell] += pv__weight(&problem->targets, i) * problem->factor[y];
    }
    for (size_t c = 0; c < cells; c++)
        g->cell[c] /= mass[c] > 0 ? mass[c] : 1;
    pv__free(ctx, mass);
    return PV_OK;
}

static pv_status losses_new(pv_ctx *ctx, const growing *g, const pv_dataset *data, losses *made) {
    const pv__problem *problem = g->problem;
    made->start = g->start;
    made->label = data->label;
    made->stratum = pv__strata_of(problem) ? data->stratum : NULL;
    PV_TRY(pv__alloc(ctx, data->rows, sizeof *made->weight, &made->weight));
    PV_TRY(pv__alloc(ctx, pv__ratio_sets(problem), made->k * sizeof *made->log_ratio, &made->log_ratio));
    pv__log_ratio(problem, made->log_ratio);
    for (size_t i = 0; i < data->rows; i++)
        made->weight[i] = (data->weight ? data->weight[i] : 1) *
                          g->cell[(made->stratum ? (size_t)made->stratum[i] * made->k : 0) + (size_t)made->label[i]];
    return PV_OK;
}

static void losses_clear(pv_ctx *ctx, losses *l) {
    pv__free(ctx, l->weight);
    pv__free(ctx, l->log_ratio);
}

/* The indicator of missing cells follows its number column. */
static pv_status find_missing(pv_ctx *ctx, const pv_schema *schema, int32_t **absent) {
    size_t feature = 0;
    PV_TRY(pv__alloc(ctx, (size_t)schema->features, sizeof **absent, absent));
    for (size_t s = 0; s < schema->sources; s++) {
        const pv_source_column *column = &schema->source[s];
        size_t width = pv_source_width(column);
        for (size_t j = 0; j < width; j++)
            (*absent)[feature + j] = column->missing && j + 1 < width ? (int32_t)(feature + width - 1) : -1;
        feature += width;
    }
    return PV_OK;
}

/* ---- number of rounds -------------------------------------------------------------------------------------------- */

static pv_status part_new(pv_ctx *ctx, growing *g, size_t fold) {
    part *p = &g->part[fold];
    size_t rows = g->data->rows, held = 0;
    PV_TRY(pv__alloc(ctx, rows, sizeof *p->row, &p->row));
    for (size_t i = 0; i < rows; i++)
        held += (size_t)g->fold[i] == fold;
    p->held = held;
    p->learn = rows - held;
    for (size_t i = 0, l = 0, h = p->learn; i < rows; i++)
        p->row[(size_t)g->fold[i] == fold ? h++ : l++] = i;
    PV_TRY(pv__alloc(ctx, p->learn, g->of_data.each * sizeof *p->gradient, &p->gradient));
    PV_TRY(pv__alloc(ctx, p->learn, g->of_data.each * sizeof *p->curvature, &p->curvature));
    PV_TRY(pv__alloc(ctx, g->most + 1, sizeof *p->curve, &p->curve));
    return pv__booster_new(ctx, g->model, g->bins, g->data->x, p->learn, p->row, p->held, p->row + p->learn,
                           &p->booster);
}

static pv_status score(pv_ctx *ctx, const growing *g, part *p, size_t rounds) {
    const float *sums;
    PV_TRY(pv__booster_sums(ctx, p->booster, PV__BOOSTED_HELD, 0, &sums));
    return evaluate(ctx, &g->of_data, p->held, p->row + p->learn, sums, NULL, NULL, &p->curve[rounds]);
}

static pv_status grow(pv_ctx *ctx, const losses *l, pv__booster *booster, size_t n, const size_t *row, float *gradient,
                      float *curvature) {
    const float *sums;
    double loss;
    PV_TRY(pv__go_on(ctx));
    PV_TRY(pv__booster_sums(ctx, booster, PV__BOOSTED_LEARN, 0, &sums));
    PV_TRY(evaluate(ctx, l, n, row, sums, gradient, curvature, &loss));
    return pv__booster_grow(ctx, booster, gradient, curvature);
}

/* Adds some more rounds to one part. */
static pv_status run_part(pv_ctx *ctx, void *state, size_t index) {
    growing *g = state;
    part *p = &g->part[index];
    if (!p->booster) {
        PV_TRY(part_new(ctx, g, index));
        PV_TRY(score(ctx, g, p, 0));
    }
    for (size_t round = g->done; round < g->next; round++) {
        PV_TRY(grow(ctx, &g->of_data, p->booster, p->learn, p->row, p->gradient, p->curvature));
        PV_TRY(score(ctx, g, p, round + 1));
    }
    return PV_OK;
}

static double held_loss(const growing *g, size_t rounds) {
    double loss = 0, weight = 0;
    for (size_t i = 0; i < g->judged; i++)
        loss += g->part[i].curve[rounds];
    for (size_t i = 0; i < g->judged; i++)
        for (size_t j = 0; j < g->part[i].held; j++)
            weight += g->of_data.weight[g->part[i].row[g->part[i].learn + j]];
    return loss / weight;
}

static pv_status cross_validate(pv_ctx *ctx, growing *g, size_t *rounds, pv_boosted *told) {
    bool open = pv__trees_open(g->model);
    size_t best = 0, finished, patience = (size_t)fmax(PATIENCE_LEAST, ceil(PATIENCE_AT_1 / g->model->trees.rate));
    g->most = open ? (size_t)ceil(ROUNDS_AT_1 / g->model->trees.rate) : g->model->trees.rounds;
    double least = HUGE_VAL;
    for (size_t at = 0; at == 0 || (at < g->most && (!open || at < best + patience));) {
        g->done = at;
        g->next = at + STEP < g->most ? at + STEP : g->most;
        PV_TRY(pv_jobs_run(ctx, "boosting", g->judged, true, run_part, g, &finished));
        if (finished < g->judged)
            return pv__go_on(ctx);
        for (at = g->done; at <= g->next; at++) {
            double loss = held_loss(g, at);
            best = loss < least ? at : best;
            least = loss < least ? loss : least;
        }
        at = g->next;
        if (g->most == 0)
            break;
    }
    *rounds = open ? best : g->most;
    told->folds = (int64_t)g->judged;
    told->chosen = open;
    told->most = (int64_t)g->most;
    told->guess = held_loss(g, 0);
    told->loss = held_loss(g, *rounds);
    return PV_OK;
}

/* The held-out ratios of two labels after that many rounds, for calibrating an unknown prevalence. */
static pv_status refer(pv_ctx *ctx, growing *g, size_t rounds, pv_classifier *c) {
    size_t n = 0, *row;
    double *ratio;
    for (size_t i = 0; i < g->judged; i++)
        n += g->part[i].held;
    PV_TRY(pv__alloc(ctx, n, sizeof *row, &row));
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *ratio, &ratio));
    for (size_t i = 0, at = 0; i < g->judged; i++) {
        part *p = &g->part[i];
        const float *sums = NULL;
        if (rounds > 0)
            PV_GOTO(done, pv__booster_sums(ctx, p->booster, PV__BOOSTED_HELD, rounds, &sums));
        for (size_t j = 0; j < p->held; j++, at++) {
            row[at] = p->row[p->learn + j];
            ratio[at] = sums ? (double)sums[j] : 0;
        }
    }
    status = pv__reference_of_ratios(ctx, g->problem, g->data, n, row, ratio, &c->reference);
done:
    pv__free(ctx, row);
    pv__free(ctx, ratio);
    return status;
}

static pv_status choose(pv_ctx *ctx, growing *g, pv_dataset **split, size_t *rounds, pv_classifier *c) {
    double units, least;
    bool open = pv__trees_open(g->model);
    *rounds = g->model->trees.rounds;
    c->boosted->guess = c->boosted->loss = (double)NAN;
    if (!open && g->problem->plan->options.bare)
        return PV_OK;
    g->folds = FOLDS;
    PV_TRY(pv__count_units(ctx, g->all, &units, &least));
    PV_TRY(pv__deal_units(ctx, g->schema, g->all,
                          &(pv__dealing){(uint64_t)g->problem->plan->options.seed, FIRST_REPEAT, 1, least}, &g->folds,
                          split, &g->fold));
    if (g->folds < 2 && open)
        return pv__fail(
            ctx, PV_ERR_INPUT,
            "`model=%s` chooses the number of rounds by cross-validation, and there are too few rows:\nstate the "
            "number, as in trees:2,50, or give at least two rows (groups, clusters) of each label",
            g->model->spec);
    if (g->folds < 2)
        return PV_OK;
    g->data = *split ? *split : g->all;
    g->judged = g->all->rows > PV__DEAL_MANY_ROWS ? 1 : g->folds;
    PV_TRY(losses_new(ctx, g, g->data, &g->of_data));
    PV_TRY(cross_validate(ctx, g, rounds, c->boosted));
    return g->of_data.k == 2 && !pv__strata_of(g->problem) && !g->problem->plan->options.bare
               ? refer(ctx, g, *rounds, c)
               : PV_OK;
}

/* ---- final fit --------------------------------------------------------------------------------------------------- */

/* A model with that many rounds, and biases at their starting values. */
static pv_status make_model(pv_ctx *ctx, const growing *g, size_t rounds, pv_classifier *c) {
    char *spec;
    pv_model *made = NULL;
    PV_TRY(pv__trees_spec(ctx, g->model, rounds, &spec));
    pv_status status = pv__model_new(ctx, spec, g->model->inputs, false, g->model->classes, &made);
    pv__free(ctx, spec);
    PV_TRY(status);
    c->model = made; /* the previous one, without trees, is freed with the rest */
    pv__free(ctx, c->w);
    c->w = NULL;
    PV_TRY(pv__alloc(ctx, pv_model_params(made), sizeof *c->w, &c->w));
    memcpy(c->w, g->start, g->of_all.k * sizeof *c->w);
    for (int j = 0; j < made->inputs; j++)
        c->w[pv__trees_missing_at(made) + (size_t)j] = g->absent[j] + 1;
    return PV_OK;
}

/* Shifts the biases g->start until the predicted frequency of each label is correct; with the profile marginal that is
 * p(y|w) = pi. Each round multiplies the odds of a label by the missing factor. */
static pv_status balance(pv_ctx *ctx, growing *g, const float *sums) {
    enum { ROUNDS = 200 };
    static const double close = 1e-9;
    const losses *l = &g->of_all;
    size_t k = l->k;
    double *mean, *wanted, *p, far = 1;
    PV_TRY(pv__alloc(ctx, 3 * k, sizeof *mean, &mean));
    wanted = mean + k;
    p = wanted + k;
    for (size_t i = 0; i < g->all->rows; i++)
        wanted[l->label[i]] += l->weight[i];
    for (int round = 0; round < ROUNDS && far > close; round++) {
        far = 0;
        for (size_t y = 0; y < k; y++)
            mean[y] = 0;
        for (size_t i = 0; i < g->all->rows; i++) {
            log_p(l, i, sums + i * l->each, p);
            for (size_t y = 0; y < k; y++)
                mean[y] += l->weight[i] * exp(p[y]);
        }
        for (size_t y = 0; y < k; y++) {
            double step = log(wanted[y] / mean[y]);
            g->start[y] += step;
            far = fmax(far, fabs(step));
        }
    }
    pv_log_softmax((int)k, g->start, g->start);
    pv__free(ctx, mean);
    return PV_OK;
}

static pv_status set_marginals(pv_ctx *ctx, const growing *g, const float *sums, pv_classifier *c) {
    const pv__problem *problem = g->problem;
    size_t n = g->all->rows, k = g->of_all.k, each = g->of_all.each;
    double *loglik;
    if (pv_loss_has_marginal(c->loss)) {
        pv__stated_marginal(problem, c->log_marginal);
    } else {
        PV_TRY(pv__alloc(ctx, n, k * sizeof *loglik, &loglik));
        for (size_t i = 0; i < n; i++)
            log_p(&g->of_all, i, sums + i * each, loglik + i * k);
        pv_status status = pv__log_marginal(ctx, problem, NULL, NULL, loglik, c->log_marginal);
        pv__free(ctx, loglik);
        PV_TRY(status);
    }
    if (c->stratified) /* stored after those of all strata together */
        memcpy(c->stratified->log_marginal, c->log_marginal + k, pv__ratio_sets(problem) * k * sizeof(double));
    return PV_OK;
}

static pv_status fit_all(pv_ctx *ctx, growing *g, size_t rounds, pv_classifier *c) {
    const losses *l = &g->of_all;
    size_t n = g->all->rows;
    pv__booster *booster = NULL;
    float *gradient = NULL, *curvature = NULL;
    const float *sums;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, n, l->each * sizeof *gradient, &gradient));
    PV_GOTO(done, pv__alloc(ctx, n, l->each * sizeof *curvature, &curvature));
    PV_GOTO(done, pv__booster_new(ctx, g->model, g->bins, g->all->x, n, NULL, 0, NULL, &booster));
    for (size_t round = 0; round < rounds; round++) {
        pv__progress(ctx, &(pv_progress){.what = "trees", .step = round, .steps = rounds, .value = (double)NAN});
        PV_GOTO(done, grow(ctx, l, booster, n, NULL, gradient, curvature));
    }
    PV_GOTO(done, pv__booster_sums(ctx, booster, PV__BOOSTED_LEARN, 0, &sums));
    PV_GOTO(done, balance(ctx, g, sums));
    PV_GOTO(done, evaluate(ctx, l, n, NULL, sums, NULL, NULL, &c->loss_value));
    PV_GOTO(done, set_marginals(ctx, g, sums, c));
    PV_GOTO(done, make_model(ctx, g, rounds, c));
    status = pv__booster_trees(ctx, booster, rounds, c->w + pv__trees_at(c->model, 0));
done:
    pv__booster_free(ctx, booster);
    pv__free(ctx, gradient);
    pv__free(ctx, curvature);
    return status;
}

static void growing_clear(pv_ctx *ctx, growing *g) {
    for (size_t i = 0; i < FOLDS; i++) {
        part *p = &g->part[i];
        pv__booster_free(ctx, p->booster);
        pv__free(ctx, p->row);
        pv__free(ctx, p->gradient);
        pv__free(ctx, p->curvature);
        pv__free(ctx, p->curve);
    }
    losses_clear(ctx, &g->of_all);
    losses_clear(ctx, &g->of_data);
    pv__tree_bins_free(ctx, g->bins);
    pv__free(ctx, g->cell);
    pv__free(ctx, g->start);
    pv__free(ctx, g->absent);
    pv__free(ctx, g->fold);
}

pv_status pv__trees_fit(pv_ctx *ctx, const pv_schema *schema, const pv_dataset *data, const pv__problem *problem,
                        pv_classifier *c) {
    growing g = {.schema = schema, .all = data, .data = data, .problem = problem, .model = c->model};
    pv_dataset *split = NULL;
    size_t rounds;
    pv_status status;
    g.of_all.k = g.of_data.k = (size_t)data->classes;
    g.of_all.each = g.of_data.each = pv__trees_each(c->model);
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *c->boosted, &c->boosted));
    PV_GOTO(done, pv__alloc(ctx, g.of_all.k, sizeof *g.start, &g.start));
    memcpy(g.start, c->w, g.of_all.k * sizeof *g.start);
    PV_GOTO(done, find_missing(ctx, schema, &g.absent));
    PV_GOTO(done, weigh_cells(ctx, &g));
    PV_GOTO(done, losses_new(ctx, &g, data, &g.of_all));
    PV_GOTO(done, pv__tree_bins_new(ctx, data->rows, (size_t)data->features, data->x,
                                    data->sampling ? NULL : data->weight, g.absent, &g.bins));
    PV_GOTO(done, choose(ctx, &g, &split, &rounds, c));
    PV_GOTO(done, fit_all(ctx, &g, rounds, c));
    c->boosted->depth = c->model->trees.depth;
    c->boosted->rate = c->model->trees.rate;
    c->boosted->rounds = c->iterations = (int64_t)rounds;
    c->stop = PV_STOP_COMPLETED;
    c->validation = (double)NAN;
done:
    growing_clear(ctx, &g);
    if (c->model != g.model)
        pv_model_free(ctx, g.model);
    pv_dataset_free(ctx, split);
    return status;
}
