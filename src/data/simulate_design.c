/* Samples by designs other than unstratified case-control sampling, from a population with known truth.
 *
 * The population is a mixture of strata s with proportions p(s) ~ 1, 2, 3, 1, ...; in each x1 ~ N(m_s, 1), with m_s
 * alternating between 0 and 0.6, x2 ~ N(0, 1), and the log odds are a_s + 0.8 x1 - 0.5 x2. The intercepts a_s rise by 2
 * from the first stratum to the last, around a value that makes the overall prevalence exact.
 *
 *   sites     a fixed number of rows per stratum, half of them cases, or a quarter, half and three quarters in turn
 *   cohort    people of the population; the sample has the same numbers of each stratum and label as sites, as far as
 *             available, or all cases and a fraction of the others (case-cohort)
 *   matched   sets of one case and several controls, each with its own intercept and mean of x1
 *   survey    clusters of ten, drawn at a stratum's rate (1, 2, 3 in a hundred); within them all cases and every
 *             other control. A cluster has an effect B on the log odds with the bridge distribution (Wang and Louis
 *             2003), which makes the marginal log odds linear with slopes smaller by a factor of 0.8: conditional
 * slopes are larger by the same factor
 *
 * Row i draws from a stream of its own (sites: row, cohort: person, matched: set, survey: cluster).
 */
#include <math.h>
#include <string.h>

#include "data/data.h"

enum { NODES = 80, CLUSTER = 10, CANDIDATES_MAX = 10000000 };

typedef enum design { SITES, COHORT, MATCHED, SURVEY, KINDS } design;
static const char *const KIND[KINDS] = {"sites", "cohort", "matched", "survey"};

static const double SLOPE[2] = {0.8, -0.5}, BRIDGE = 0.8;

typedef struct world {
    size_t strata;
    double *share, *intercept, *mean, *prevalence; /* [strata]; one block */
} world;

static double score_at(const world *w, size_t s, double z) {
    double place = w->strata > 1 ? 2.0 * (double)s / (double)(w->strata - 1) - 1 : 0;
    return place + SLOPE[0] * w->mean[s] + hypot(SLOPE[0], SLOPE[1]) * z;
}

static pv_status world_new(pv_ctx *ctx, const pv_design_simulation *d, world *w) {
    size_t strata = (size_t)d->strata, points = strata * NODES;
    double *score, *mass, node[NODES], weight[NODES], total = 0, sum = 0;
    *w = (world){.strata = strata};
    PV_TRY(pv__alloc(ctx, 4 * strata, sizeof(double), &w->share));
    w->intercept = w->share + strata;
    w->mean = w->intercept + strata;
    w->prevalence = w->mean + strata;
    PV_TRY(pv__alloc(ctx, 2 * points, sizeof *score, &score));
    mass = score + points;
    for (size_t s = 0; s < strata; s++) {
        total += w->share[s] = 1 + (double)(s % 3);
        w->mean[s] = 0.6 * (double)(s % 2);
    }
    pv__gauss_legendre(NODES, -9, 9, node, weight);
    for (size_t i = 0; i < NODES; i++)
        sum += weight[i] *= exp(-0.5 * node[i] * node[i]);
    for (size_t s = 0; s < strata; s++) {
        w->share[s] /= total;
        for (size_t i = 0; i < NODES; i++) {
            score[s * NODES + i] = score_at(w, s, node[i]);
            mass[s * NODES + i] = w->share[s] * weight[i] / sum;
        }
    }
    double all = pv__solve_intercept(points, score, mass, d->prevalence);
    for (size_t s = 0; s < strata; s++) {
        w->intercept[s] = all + score_at(w, s, 0) - SLOPE[0] * w->mean[s];
        for (size_t i = 0; i < NODES; i++)
            w->prevalence[s] += weight[i] / sum * pv_sigmoid(all + score[s * NODES + i]);
    }
    pv__free(ctx, score);
    return PV_OK;
}

/* ---- the sample -------------------------------------------------------------------------------------------------- */

typedef struct sample {
    size_t rows, room;
    double *x1, *x2, *y, *weight, *group; /* [room]; weight and group if the design has them */
    int32_t *stratum;                     /* [room] */
} sample;

static void sample_free(pv_ctx *ctx, sample *s) {
    pv__free(ctx, s->x1);
    pv__free(ctx, s->x2);
    pv__free(ctx, s->y);
    pv__free(ctx, s->weight);
    pv__free(ctx, s->group);
    pv__free(ctx, s->stratum);
}

static pv_status add_row(pv_ctx *ctx, sample *s, size_t stratum, const double *x, int y, double weight, double group) {
    if (s->rows == s->room) {
        size_t room = 2 * s->room + 64;
        PV_TRY(pv__resize(ctx, room, sizeof(double), &s->x1));
        PV_TRY(pv__resize(ctx, room, sizeof(double), &s->x2));
        PV_TRY(pv__resize(ctx, room, sizeof(double), &s->y));
        PV_TRY(pv__resize(ctx, room, sizeof(double), &s->weight));
        PV_TRY(pv__resize(ctx, room, sizeof(double), &s->group));
        PV_TRY(pv__resize(ctx, room, sizeof(int32_t), &s->stratum));
        s->room = room;
    }
    s->x1[s->rows] = x[0];
    s->x2[s->rows] = x[1];
    s->y[s->rows] = y;
    s->weight[s->rows] = weight;
    s->group[s->rows] = group;
    s->stratum[s->rows++] = (int32_t)stratum;
    return PV_OK;
}

static int draw_person(double intercept, double mean, pv_rng *rng, double *x) {
    x[0] = mean + pv_rng_normal(rng);
    x[1] = pv_rng_normal(rng);
    return pv_rng_uniform(rng) < pv_sigmoid(intercept + SLOPE[0] * x[0] + SLOPE[1] * x[1]);
}

/* Draws by rejection. */
static pv_status draw_labelled(pv_ctx *ctx, double intercept, double mean, int label, pv_rng *rng, double *x) {
    for (int candidate = 0; candidate < CANDIDATES_MAX; candidate++)
        if (draw_person(intercept, mean, rng, x) == label)
            return PV_OK;
    return pv__fail(ctx, PV_ERR_NUMERIC, "the prevalence is too low to find cases;\nraise `prevalence`");
}

static size_t cases_of(const pv_design_simulation *d, size_t each, size_t s) {
    return d->uneven ? each * (1 + s % 3) / 4 : each / 2;
}

static pv_status make_sites(pv_ctx *ctx, const pv_design_simulation *d, const world *w, sample *to) {
    size_t each = (size_t)d->rows / w->strata;
    for (size_t s = 0; s < w->strata; s++) {
        size_t cases = cases_of(d, each, s);
        for (size_t i = 0; i < each; i++) {
            double x[2];
            pv_rng rng = pv_rng_stream(d->seed, PV_STREAM_SITES, s * each + i);
            PV_TRY(draw_labelled(ctx, w->intercept[s], w->mean[s], i < cases, &rng, x));
            PV_TRY(add_row(ctx, to, s, x, i < cases, 1, 0));
        }
    }
    return PV_OK;
}

/* count [strata][2]: the cohort. People come in random order, so the first of each kind are a random sample of it. */
static pv_status make_cohort(pv_ctx *ctx, const pv_design_simulation *d, const world *w, double *count, sample *to) {
    size_t each = (size_t)d->rows / w->strata;
    double *taken = count + 2 * w->strata;
    for (size_t i = 0; i < (size_t)d->cohort; i++) {
        pv_rng rng = pv_rng_stream(d->seed, PV_STREAM_COHORT, i);
        double u = pv_rng_uniform(&rng), x[2], sum = 0;
        size_t s = 0;
        while (s + 1 < w->strata && u >= (sum += w->share[s]))
            s++;
        int y = draw_person(w->intercept[s], w->mean[s], &rng, x);
        double *cell = &taken[2 * s + (size_t)y];
        size_t cases = cases_of(d, each, s), most = y ? cases : each - cases;
        bool chosen = d->subcohort > 0 ? y || pv_rng_uniform(&rng) < d->subcohort : *cell < (double)most;
        count[2 * s + (size_t)y]++;
        *cell += chosen;
        if (chosen)
            PV_TRY(add_row(ctx, to, s, x, y, 1, 0));
        if (i % 65536 == 0 && pv__interrupted(ctx))
            return pv__fail(ctx, PV_ERR_INTERRUPTED, "the simulation was interrupted");
    }
    return PV_OK;
}

static pv_status make_matched(pv_ctx *ctx, const pv_design_simulation *d, sample *to) {
    for (int64_t i = 0; i < d->sets; i++) {
        pv_rng rng = pv_rng_stream(d->seed, PV_STREAM_MATCHED, (uint64_t)i);
        double mean = pv_rng_normal(&rng), intercept = pv_logit(d->prevalence) + mean + pv_rng_normal(&rng), x[2];
        for (int64_t c = 0; c <= d->per_case; c++) {
            PV_TRY(draw_labelled(ctx, intercept, mean, c == 0, &rng, x));
            PV_TRY(add_row(ctx, to, 0, x, c == 0, 1, (double)(i + 1)));
        }
    }
    return PV_OK;
}

static pv_status make_survey(pv_ctx *ctx, const pv_design_simulation *d, const world *w, sample *to) {
    size_t each = (size_t)d->rows / w->strata, cluster = 0;
    const double pi = 3.14159265358979323846;
    for (size_t s = 0; s < w->strata; s++)
        for (size_t end = to->rows + each; to->rows < end;) {
            pv_rng rng = pv_rng_stream(d->seed, PV_STREAM_SURVEY, cluster++);
            double rate = 0.01 * (1 + (double)(s % 3)), own = pv_rng_normal(&rng);
            double u = fmin(fmax(pv_rng_uniform(&rng), 1e-12), 1 - 1e-12), x[2];
            double effect = log(sin(BRIDGE * pi * u) / sin(BRIDGE * pi * (1 - u))) / BRIDGE;
            for (int i = 0; i < CLUSTER; i++) {
                x[0] = w->mean[s] + 0.5 * own + sqrt(0.75) * pv_rng_normal(&rng);
                x[1] = pv_rng_normal(&rng);
                double eta = effect + (w->intercept[s] + SLOPE[0] * x[0] + SLOPE[1] * x[1]) / BRIDGE;
                int y = pv_rng_uniform(&rng) < pv_sigmoid(eta);
                bool chosen = pv_rng_uniform(&rng) < 0.5 || y;
                if (chosen)
                    PV_TRY(add_row(ctx, to, s, x, y, (y ? 1 : 2) / rate, (double)cluster));
            }
        }
    return PV_OK;
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/* A column with the names of strata. code [rows]; NULL: each stratum `times` times in turn. */
static pv_status add_sites(pv_ctx *ctx, size_t strata, const int32_t *code, size_t times, pv_table *table) {
    char(*text)[24];
    const char **cell;
    PV_TRY(pv__alloc(ctx, strata, sizeof *text, &text));
    pv_status status = pv__alloc(ctx, table->rows, sizeof *cell, &cell);
    for (size_t s = 0; s < strata; s++)
        pv__format(text[s], sizeof *text, "s%zu", s + 1);
    for (size_t i = 0; status == PV_OK && i < table->rows; i++)
        cell[i] = text[code ? (size_t)code[i] : i / times];
    if (status == PV_OK)
        status = pv_table_add_texts(ctx, table, "site", cell, NULL);
    pv__free(ctx, text);
    pv__free(ctx, cell);
    return status;
}

static pv_status add_numbers(pv_ctx *ctx, pv_table *table, const char *name, const double *value) {
    return pv_table_add_numbers(ctx, table, name, PV_ARRAY_F64, value, PV_PACKED, NULL, false);
}

static pv_status make_table(pv_ctx *ctx, design kind, const world *w, const sample *from, pv_table **table) {
    char source[32];
    pv__format(source, sizeof source, "simulated %s", KIND[kind]);
    PV_TRY(pv_table_new(ctx, source, from->rows, table));
    if (kind == MATCHED)
        PV_TRY(add_numbers(ctx, *table, "set", from->group));
    PV_TRY(add_numbers(ctx, *table, "x1", from->x1));
    PV_TRY(add_numbers(ctx, *table, "x2", from->x2));
    if (kind != MATCHED)
        PV_TRY(add_sites(ctx, w->strata, from->stratum, 0, *table));
    if (kind == SURVEY) {
        PV_TRY(add_numbers(ctx, *table, "cluster", from->group));
        PV_TRY(add_numbers(ctx, *table, "weight", from->weight));
    }
    return add_numbers(ctx, *table, "y", from->y);
}

/* What the analysis of the design needs in addition to the rows: prevalences and proportions, or the cohort's
 * counts. */
static pv_status make_known(pv_ctx *ctx, design kind, const world *w, const double *count, pv_table **known) {
    size_t cells = 2 * w->strata;
    if (kind == SITES) {
        PV_TRY(pv_table_new(ctx, "simulated strata", w->strata, known));
        PV_TRY(add_sites(ctx, w->strata, NULL, 1, *known));
        PV_TRY(add_numbers(ctx, *known, "prevalence", w->prevalence));
        return add_numbers(ctx, *known, "share", w->share);
    }
    double *label;
    PV_TRY(pv_table_new(ctx, "simulated cohort", cells, known));
    PV_TRY(add_sites(ctx, w->strata, NULL, 2, *known));
    PV_TRY(pv__alloc(ctx, cells, sizeof *label, &label));
    for (size_t i = 0; i < cells; i++)
        label[i] = (double)(i % 2);
    pv_status status = add_numbers(ctx, *known, "y", label);
    pv__free(ctx, label);
    PV_TRY(status);
    return add_numbers(ctx, *known, "count", count);
}

static pv_status check(pv_ctx *ctx, design kind, const pv_design_simulation *d, bool known) {
    if (!(d->prevalence >= 1e-4 && d->prevalence <= 0.5))
        return pv__fail(ctx, PV_ERR_USAGE, "`prevalence=%g` is outside 0.0001 to 0.5", d->prevalence);
    if (kind != MATCHED && (d->strata < 1 || d->strata > 1000))
        return pv__fail(ctx, PV_ERR_USAGE, "`strata=%lld` is outside 1 to 1000", (long long)d->strata);
    if (kind != MATCHED && (d->rows < 4 * d->strata || d->rows > 100000000))
        return pv__fail(ctx, PV_ERR_USAGE, "`rows=%lld`:\nat least four are needed for each of %lld strata",
                        (long long)d->rows, (long long)d->strata);
    if (kind == COHORT && (d->cohort < 1 || d->cohort > 1000000000))
        return pv__fail(ctx, PV_ERR_USAGE, "`cohort=%lld` is outside 1 to 1e9", (long long)d->cohort);
    if (kind == COHORT && !(d->subcohort >= 0 && d->subcohort <= 1))
        return pv__fail(ctx, PV_ERR_USAGE, "`subcohort=%g` is outside 0 to 1", d->subcohort);
    if (kind == MATCHED && (d->sets < 1 || d->per_case < 1 || d->sets > 10000000 || d->per_case > 1000))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`sets=%lld` with `per-case=%lld`:\ngive at least one set, and at most 1000 controls",
                        (long long)d->sets, (long long)d->per_case);
    if (known && kind != SITES && kind != COHORT)
        return pv__fail(ctx, PV_ERR_USAGE, "`known` is for sites and cohort: %s has no such file", KIND[kind]);
    return PV_OK;
}

pv_status pv_simulate_design(pv_ctx *ctx, const char *name, const pv_design_simulation *d, pv_table **table,
                             pv_table **known, double *truth) {
    design kind;
    world w = {0};
    sample rows = {0};
    double *count = NULL;
    pv_table *made = NULL, *beside = NULL;
    *table = NULL;
    if (known)
        *known = NULL;
    for (kind = SITES; kind < KINDS && strcmp(name, KIND[kind]) != 0;)
        kind++;
    if (kind == KINDS)
        return pv__fail(ctx, PV_ERR_USAGE, "'%s' is not a design;\nchoose sites, cohort, matched or survey",
                        pv__show(name).text);
    PV_TRY(check(ctx, kind, d, known != NULL));
    pv_status status;
    if (kind != MATCHED)
        PV_GOTO(done, world_new(ctx, d, &w));
    PV_GOTO(done, pv__alloc(ctx, 4 * w.strata + 1, sizeof *count, &count));
    if (kind == SITES)
        PV_GOTO(done, make_sites(ctx, d, &w, &rows));
    else if (kind == COHORT)
        PV_GOTO(done, make_cohort(ctx, d, &w, count, &rows));
    else if (kind == MATCHED)
        PV_GOTO(done, make_matched(ctx, d, &rows));
    else
        PV_GOTO(done, make_survey(ctx, d, &w, &rows));
    PV_GOTO(done, make_table(ctx, kind, &w, &rows, &made));
    if (known)
        PV_GOTO(done, make_known(ctx, kind, &w, count, &beside));
    if (truth) {
        memcpy(truth, w.intercept ? w.intercept : SLOPE, w.strata * sizeof *truth);
        memcpy(truth + w.strata, SLOPE, sizeof SLOPE);
    }
    *table = made;
    made = NULL;
    if (known) {
        *known = beside;
        beside = NULL;
    }
done:
    pv_table_free(ctx, made);
    pv_table_free(ctx, beside);
    sample_free(ctx, &rows);
    pv__free(ctx, w.share);
    pv__free(ctx, count);
    return status;
}
