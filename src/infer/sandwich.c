/* --infer robust: intervals that hold for wrong models too. Of a member of the family of robust.c, exponent 1 unless
 * another is asked for: the line that is best in the population.
 *
 *   covariance = H^-1 (J + sum_y D_y D_y^T / (pi_y N_pr)) H^-1
 *
 * H: curvature of loss and prior. J: sum over labels y of n_y/(n_y - 1) times the rows' scores about their mean,
 * squared, since the numbers of rows of each label are the design's and no chance. D_y: how the sum of scores changes
 * with log pi_y, of variance 1/(pi_y N_pr) where it was counted; nothing where it is known. A row of weight v is v
 * equal rows; a sampling weight is one row, whose score it multiplies. Rows of one cluster count as one, their scores
 * added, and G/(G - 1) for G clusters. With `loss` plain there is no prevalence and labels are chance: all rows are of
 * one kind (the variance of a survey's weighted regression). With strata the numbers of stratum and label are the
 * design's: J has the scores of each about their mean, and D_sy is the sum of the cell's, as its weight is p(s) pi_sy;
 * the people of a cohort, counted, are chance (variance 1/N_sy), and of prevalences alone only the parts of a stratum.
 * Strata of a survey have their clusters about their own mean, and G of their own. Without sampling weights each row's
 * residual is divided by 1 minus its leverage (HC3; a matrix for several logits), in clusters too: rows with leverage
 * have residuals that are too small, and the labels' weights give a few rows much leverage. Draws are normal, so that
 * whatever takes a posterior's takes these.
 */
#include <math.h>
#include <string.h>

#include "infer/infer.h"

enum { LOOK = 1 << 10 }; /* rows between looks at an interruption */

typedef struct sandwich {
    pv_ctx *ctx;
    const pv__problem *problem; /* not tilted */
    double t;
    size_t k, size, P;
    size_t kinds; /* of rows, each with its own mean: labels, labels in strata, or one */
    size_t sets;  /* of labels: strata, or 1 */
    const double *w;
    double *loglik;            /* [n][k] at w */
    double *H, *J;             /* [P][P] */
    double *D;                 /* [kinds][P] */
    double *chance;            /* [kinds], the variance of log pi of each; 0: known */
    double *ratio;             /* [sets][k] */
    double *mean, *count;      /* [kinds][P], [kinds] */
    const pv__problem *tilted; /* as it was fitted, or with other prevalences; and its ratios [sets][k] */
    const double *log_ratio;
} sandwich;

/* What is worked out of a row. */
typedef struct desk {
    double *row, *q, *own; /* [size], [k], [P] */
    double *lever;         /* [k][P + k + 1] */
} desk;

static size_t desk_size(const sandwich *s) {
    return s->size + s->k + s->P + s->k * (s->P + s->k + 1);
}

static desk desk_in(const sandwich *s,
                    double *block) { // NOLINT(readability-non-const-parameter): it is written to there
    desk made = {.row = block};
    made.q = made.row + s->size;
    made.own = made.q + s->k;
    made.lever = made.own + s->P;
    return made;
}

/* q of row n as the tilted problem has it, then its score for one unit of weight. */
static void score_of(const sandwich *s, const desk *on, size_t n, double unit) {
    size_t k = s->k, size = s->size;
    const pv_targets *targets = &s->tilted->targets;
    for (size_t y = 0; y < k; y++)
        on->q[y] = s->loglik[n * k + y] + pv__ratio_of(targets, s->log_ratio, n)[y];
    pv_log_softmax((int)k, on->q, on->q);
    if (size > 1) /* with room for an offset where the 1 will be */
        memmove(on->row + 1, pv__problem_row(s->problem, n, on->row), (size - 1) * sizeof *on->row);
    on->row[0] = 1;
    for (size_t y = 0; y < k; y++)
        on->q[y] = exp(on->q[y]);
    for (size_t y = 1; y < k; y++) {
        double residual = unit * (pv__share(targets, n, (int)y) - on->q[y]);
        for (size_t i = 0; i < size; i++)
            on->own[(y - 1) * size + i] = residual * on->row[i];
    }
}

static size_t kind_of(const sandwich *s, size_t n) {
    const pv_targets *targets = &s->problem->targets;
    size_t best = 0;
    for (int y = 1; y < targets->classes && s->kinds > 1; y++)
        if (pv__share(targets, n, y) > pv__share(targets, n, (int)best))
            best = (size_t)y;
    return s->problem->stratified ? (size_t)targets->stratum[n] * s->k + best : best;
}

/* The problem as it was fitted: tilted, or for plain as it is. */
static pv_status lean(const sandwich *s, const pv__problem *problem, pv__tilted *tilted) {
    if (s->kinds > 1)
        return pv__tilt(s->ctx, problem, s->t, NULL, 0, tilted);
    *tilted = (pv__tilted){.problem = *problem};
    return PV_OK;
}

/* How many rows a row is. */
static double rows_of(const sandwich *s, size_t n) {
    double weight = pv__weight(&s->problem->targets, n);
    return s->problem->sampling && weight > 0 ? 1 : weight;
}

/* ---- sums over rows: in fixed groups, which threads and ranks share ---------------------------------------------- */

/* Adds rows begin .. end-1 to sums. An interruption ends it before its time: what comes of it is not used. */
typedef void (*add_group)(const sandwich *s, const desk *on, size_t begin, size_t end, double *sums);

static size_t groups_of(const sandwich *s) {
    enum { NUMBERS = 1 << 22 };
    size_t groups = pv__units(pv__chunks(s->problem->n)), width = s->P * s->P + s->kinds * (s->P + 1);
    while (groups > 1 && groups * width > NUMBERS)
        groups /= 2;
    return groups;
}

static size_t group_at(const sandwich *s, size_t group) {
    size_t n = s->problem->n, at = group * pv__chunks(n) / groups_of(s) * PV_CHUNK;
    return at < n ? at : n;
}

static pv_status sum_rows(const sandwich *s, add_group add, size_t width, double *total) {
    enum { TOGETHER = 8 };
    pv__part part = pv__problem_part(s->ctx, s->problem, groups_of(s));
    double *sums = NULL, *room = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(s->ctx, part.blocks, width * sizeof *sums, &sums));
    PV_GOTO(done, pv__alloc(s->ctx, TOGETHER, desk_size(s) * sizeof *room, &room));
    for (size_t first = part.first; first < part.last; first += TOGETHER) {
        size_t count = part.last - first < TOGETHER ? part.last - first : TOGETHER;
        PV__EACH_CHUNK_BY(pv__threads_for(s->ctx, count), count, i, {
            desk on = desk_in(s, room + i * desk_size(s));
            add(s, &on, group_at(s, first + i), group_at(s, first + i + 1), sums + (first + i) * width);
        });
    }
    PV_GOTO(done, pv__go_on(s->ctx));
    pv__sum(s->ctx, &part, width, sums, total);
    status = pv__reduce_check(s->ctx);
done:
    pv__free(s->ctx, sums);
    pv__free(s->ctx, room);
    return status;
}

static bool stopped(const sandwich *s, size_t n) {
    return n % LOOK == 0 && pv__interrupted(s->ctx);
}

static void add_scores_of(const sandwich *s, const desk *on, size_t begin, size_t end, double *sums) {
    for (size_t n = begin; n < end && !stopped(s, n); n++) {
        score_of(s, on, n, pv__weight(&s->tilted->targets, n));
        for (size_t i = 0; i < s->P; i++)
            sums[i] += on->own[i];
    }
}

/* The sum of all scores with other prevalences, times a factor, is added to [P]; room [P]. */
static pv_status add_total(sandwich *s, const double *prevalence, double factor, double *room, double *to) {
    pv__problem moved = *s->problem;
    pv__tilted tilted = {0};
    moved.population.prevalence = prevalence;
    PV_TRY(lean(s, &moved, &tilted));
    pv__log_ratio(&tilted.problem, s->ratio);
    s->tilted = &tilted.problem;
    s->log_ratio = s->ratio;
    pv_status status = sum_rows(s, add_scores_of, s->P, room);
    for (size_t i = 0; status == PV_OK && i < s->P; i++)
        to[i] += factor * room[i];
    s->tilted = NULL;
    pv__tilted_free(s->ctx, &tilted);
    return status;
}

static pv_status fill_slopes(sandwich *s, double *prevalence, double *room) {
    const double step = 1e-4, *stated = s->problem->population.prevalence;
    for (size_t y = 0; y < s->k; y++)
        for (int side = -1; side <= 1; side += 2) {
            double sum = 0;
            for (size_t c = 0; c < s->k; c++)
                sum += prevalence[c] = stated[c] * (c == y ? exp(side * step) : 1);
            for (size_t c = 0; c < s->k; c++)
                prevalence[c] /= sum;
            PV_TRY(add_total(s, prevalence, side / (2 * step), room, s->D + y * s->P));
        }
    return PV_OK;
}

/* Strata, whose prevalences are in the weights of their rows: from the cells' sums of scores, which are in mean. */
static void fill_cells(sandwich *s) {
    const pv_stratified *of = s->problem->stratified;
    const pv_fit_options *o = s->problem->options;
    bool people = o->phase_one || o->subcohort > 0;
    for (size_t i = 0; i < s->kinds; i++) {
        double n = o->subcohort > 0 ? s->count[i] : of->prevalence[i] * of->n[i / s->k];
        s->chance[i] = isfinite(n) ? 1 / n : 0;
        for (size_t c = 0; c < s->P; c++)
            s->D[i * s->P + c] = s->count[i] * s->mean[i * s->P + c];
    }
    for (size_t first = 0; first < s->kinds && !people; first += s->k) /* a share that is not counted stays */
        for (size_t c = 0; c < s->P; c++) {
            double sum = 0;
            for (size_t y = 0; y < s->k; y++)
                sum += s->D[(first + y) * s->P + c];
            for (size_t y = 0; y < s->k; y++)
                s->D[(first + y) * s->P + c] -= of->prevalence[first + y] * sum;
        }
}

/* Curvature [P][P], sums of the scores by kind [kinds][P], and rows of each [kinds]. */
static void add_curvature(const sandwich *s, const desk *on, size_t begin, size_t end, double *sums) {
    size_t size = s->size, P = s->P;
    double *scores = sums + P * P, *count = scores + s->kinds * P;
    for (size_t n = begin; n < end && !stopped(s, n); n++) {
        double v = rows_of(s, n), weight = pv__weight(&s->tilted->targets, n);
        if (v == 0)
            continue;
        size_t kind = kind_of(s, n);
        score_of(s, on, n, weight);
        count[kind] += v;
        for (size_t i = 0; i < P; i++)
            scores[kind * P + i] += on->own[i];
        for (size_t j = 1; j < s->k; j++)
            for (size_t l = 1; l <= j; l++) {
                double own = weight * ((j == l) * on->q[j] - on->q[j] * on->q[l]);
                double *H = sums + (j - 1) * size * P + (l - 1) * size;
                for (size_t i = 0; i < size; i++)
                    for (size_t c = 0; c < size; c++)
                        H[i * P + c] += own * on->row[i] * on->row[c];
            }
    }
}

static pv_status add_rows(sandwich *s) {
    size_t P = s->P, width = P * P + s->kinds * (P + 1);
    double *all;
    PV_TRY(pv__alloc(s->ctx, width, sizeof *all, &all));
    pv_status status = sum_rows(s, add_curvature, width, all);
    memcpy(s->H, all, P * P * sizeof *all);
    memcpy(s->mean, all + P * P, s->kinds * P * sizeof *all);
    memcpy(s->count, all + P * P + s->kinds * P, s->kinds * sizeof *all);
    for (size_t y = 0; y < s->kinds; y++)
        for (size_t i = 0; i < P; i++)
            s->mean[y * P + i] /= s->count[y];
    pv__free(s->ctx, all);
    return status;
}

/* x = L^-1 b, in place. */
static void forward(size_t n, const double *L, double *x) {
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < i; j++)
            x[i] -= L[i * n + j] * x[j];
        x[i] /= L[i * n + i];
    }
}

/* The score in own, of one unit of weight, with its residual r replaced by (I - C G)^-1 r: C the row's curvature, G_jl
 * = x~^T (H^-1)_jl x~. H is its factor by now. */
static void inflate(const sandwich *s, const desk *on, double unit) {
    size_t J = s->k - 1, size = s->size, P = s->P;
    double *u = on->lever, *matrix = u + J * P, *r = matrix + J * J;
    memset(u, 0, J * P * sizeof *u);
    for (size_t j = 0; j < J; j++) {
        memcpy(u + j * P + j * size, on->row, size * sizeof *u);
        forward(P, s->H, u + j * P);
        r[j] = on->own[j * size];
    }
    for (size_t i = 0; i < J; i++)
        for (size_t l = 0; l < J; l++) {
            double sum = i == l;
            for (size_t j = 0; j < J; j++) {
                double curvature = unit * on->q[i + 1] * ((i == j) - on->q[j + 1]);
                for (size_t c = 0; c < P; c++)
                    sum -= curvature * u[j * P + c] * u[l * P + c];
            }
            matrix[i * J + l] = sum;
        }
    if (!pv__solve_small((int)J, matrix, r))
        return;
    for (size_t j = 0; j < J; j++)
        for (size_t i = 0; i < size; i++)
            on->own[j * size + i] = r[j] * on->row[i];
}

/* Whether residuals are corrected for leverage: not those of sampling weights, nor of labels that are chance. */
static bool has_leverage(const sandwich *s) {
    return s->kinds > 1 && !s->problem->sampling;
}

/* Squares of the scores about the means, [P][P]. */
static void add_squares_of(const sandwich *s, const desk *on, size_t begin, size_t end, double *sums) {
    size_t P = s->P;
    for (size_t n = begin; n < end && !stopped(s, n); n++) {
        double v = rows_of(s, n);
        if (v == 0)
            continue;
        size_t kind = kind_of(s, n);
        double count = s->count[kind], factor = v * (count > 1 ? count / (count - 1) : 1);
        double unit = pv__weight(&s->tilted->targets, n) / v;
        score_of(s, on, n, unit);
        if (has_leverage(s))
            inflate(s, on, unit);
        for (size_t i = 0; i < P; i++)
            on->own[i] -= s->mean[kind * P + i];
        for (size_t i = 0; i < P; i++)
            for (size_t j = 0; j <= i; j++)
                sums[i * P + j] += factor * on->own[i] * on->own[j];
    }
}

static pv_status add_squares(sandwich *s) {
    return sum_rows(s, add_squares_of, s->P * s->P, s->J);
}

/* The same by clusters, rows where there are none: about the mean of their stratum, with its own factor. */
typedef struct clusters {
    size_t count, strata;
    double *sum, *mean; /* [count][P], [strata][P] */
    size_t *in;         /* [strata], how many there are */
    int32_t *stratum;   /* [count]; -1: no row */
} clusters;

static pv_status clusters_new(const sandwich *s, clusters *c) {
    const pv__problem *problem = s->problem;
    *c = (clusters){.count = problem->cluster ? 0 : problem->n, .strata = 1};
    for (size_t n = 0; n < problem->n; n++) {
        if (problem->cluster && (size_t)problem->cluster[n] >= c->count)
            c->count = (size_t)problem->cluster[n] + 1;
        if (problem->survey && (size_t)problem->survey[n] >= c->strata)
            c->strata = (size_t)problem->survey[n] + 1;
    }
    PV_TRY(pv__alloc(s->ctx, c->count, s->P * sizeof *c->sum, &c->sum));
    PV_TRY(pv__alloc(s->ctx, c->strata, s->P * sizeof *c->mean, &c->mean));
    PV_TRY(pv__alloc(s->ctx, c->strata, sizeof *c->in, &c->in));
    PV_TRY(pv__alloc(s->ctx, c->count, sizeof *c->stratum, &c->stratum));
    for (size_t i = 0; i < c->count; i++)
        c->stratum[i] = -1;
    return PV_OK;
}

static void clusters_free(pv_ctx *ctx, clusters *c) {
    pv__free(ctx, c->sum);
    pv__free(ctx, c->mean);
    pv__free(ctx, c->in);
    pv__free(ctx, c->stratum);
}

static pv_status add_scores(sandwich *s, const desk *on, clusters *c) {
    const pv_targets *targets = &s->tilted->targets;
    size_t P = s->P;
    for (size_t n = 0; n < targets->n; n++) {
        double v = rows_of(s, n);
        if (n % LOOK == 0)
            PV_TRY(pv__go_on(s->ctx));
        if (v == 0)
            continue;
        size_t kind = kind_of(s, n), at = s->problem->cluster ? (size_t)s->problem->cluster[n] : n;
        int32_t stratum = s->problem->survey ? s->problem->survey[n] : 0;
        double unit = pv__weight(targets, n) / v;
        score_of(s, on, n, unit);
        if (has_leverage(s))
            inflate(s, on, unit);
        for (size_t i = 0; i < P; i++)
            c->sum[at * P + i] += v * (on->own[i] - s->mean[kind * P + i]);
        c->in[stratum] += c->stratum[at] < 0;
        c->stratum[at] = stratum;
    }
    for (size_t g = 0; g < c->count; g++)
        for (size_t i = 0; c->stratum[g] >= 0 && i < P; i++)
            c->mean[(size_t)c->stratum[g] * P + i] += c->sum[g * P + i] / (double)c->in[c->stratum[g]];
    return PV_OK;
}

static pv_status add_clusters(sandwich *s) {
    clusters c = {0};
    double *room = NULL;
    size_t P = s->P;
    pv_status status;
    PV_GOTO(done, pv__alloc(s->ctx, desk_size(s), sizeof *room, &room));
    PV_GOTO(done, clusters_new(s, &c));
    const desk on = desk_in(s, room);
    PV_GOTO(done, add_scores(s, &on, &c));
    if (c.strata == 1 && c.in[0] < 2)
        PV_GOTO(done, pv__fail(s->ctx, PV_ERR_INPUT, "all rows are in one `cluster`: intervals need several"));
    for (size_t g = 0; g < c.count; g++) {
        if (g % LOOK == 0)
            PV_GOTO(done, pv__go_on(s->ctx));
        if (c.stratum[g] < 0)
            continue;
        double in = (double)c.in[c.stratum[g]], factor = in > 1 ? in / (in - 1) : 1;
        double *own = c.sum + g * P;
        const double *mean = c.mean + (size_t)c.stratum[g] * P;
        for (size_t i = 0; i < P; i++)
            own[i] -= mean[i];
        for (size_t i = 0; i < P; i++)
            for (size_t j = 0; j <= i; j++)
                s->J[i * P + j] += factor * own[i] * own[j];
    }
done:
    pv__free(s->ctx, room);
    clusters_free(s->ctx, &c);
    return status;
}

/* x = (L L^T)^-1 b, in place. */
static void solve(size_t n, const double *L, double *x) {
    forward(n, L, x);
    for (size_t i = n; i-- > 0;) {
        for (size_t j = i + 1; j < n; j++)
            x[i] -= L[j * n + i] * x[j];
        x[i] /= L[i * n + i];
    }
}

/* J becomes H^-1 J H^-1, D becomes H^-1 D. */
static pv_status close_up(sandwich *s) {
    size_t P = s->P;
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < i; j++)
            s->J[j * P + i] = s->J[i * P + j];
    for (size_t y = 0; y < s->kinds; y++)
        solve(P, s->H, s->D + y * P);
    for (size_t i = 0; i < P; i++) {
        PV_TRY(pv__go_on(s->ctx));
        solve(P, s->H, s->J + i * P); /* rows of J H^-1 */
    }
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < i; j++) {
            double held = s->J[i * P + j];
            s->J[i * P + j] = s->J[j * P + i];
            s->J[j * P + i] = held;
        }
    for (size_t i = 0; i < P; i++) {
        PV_TRY(pv__go_on(s->ctx));
        solve(P, s->H, s->J + i * P);
    }
    return PV_OK;
}

static pv_status no_covariance(const sandwich *s) {
    return pv__fail(s->ctx, PV_ERR_NUMERIC,
                    "robust standard errors: the loss has no positive, finite curvature at the estimate; "
                    "`prior=normal:2.5`, or fewer columns, give it one");
}

/* The lower factor of the whole covariance into factor [P][P], and that of the rows' part into J. */
static pv_status take_roots(sandwich *s, double *factor) {
    size_t P = s->P;
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = s->J[i * P + j];
            for (size_t y = 0; y < s->kinds; y++)
                sum += s->D[y * P + i] * s->D[y * P + j] * s->chance[y];
            factor[i * P + j] = sum;
        }
    return pv__cholesky(P, factor, 1e-12) && pv__cholesky(P, s->J, 1e-12) ? PV_OK : no_covariance(s);
}

/* Draws of the parameters and, where the prevalence was counted, of the marginal with them. */
static pv_status draw(sandwich *s, uint64_t seed, pv_posterior *p, double *log_marginal) {
    const pv_stratified *of = s->problem->stratified;
    size_t P = s->P, k = s->k, sets = s->sets, width = (of ? 1 + sets : 1) * k;
    const double *shares = of ? of->prevalence : s->kinds > 1 ? s->problem->population.prevalence : s->problem->design;
    double *z;
    PV_TRY(pv__alloc(s->ctx, P, sizeof *z, &z));
    pv_status status = PV_OK;
    for (size_t n = 0; n < p->count && status == PV_OK; n++) {
        pv_rng rng = pv_rng_stream(seed, PV_STREAM_SANDWICH, n);
        double *w = p->draws + n * P, *all = log_marginal + n * width, *m = all + (of ? k : 0);
        status = pv__go_on(s->ctx);
        for (size_t i = 0; i < P; i++)
            z[i] = pv_rng_normal(&rng);
        for (size_t i = 0; i < P; i++) {
            w[i] = s->w[i];
            for (size_t j = 0; j <= i; j++)
                w[i] += s->J[i * P + j] * z[j];
        }
        for (size_t y = 0; y < sets * k; y++) {
            double chance = s->kinds > 1 ? s->chance[y] : 0,
                   moved = chance > 0 ? pv_rng_normal(&rng) * sqrt(chance) : 0;
            m[y] = log(shares[y]) + moved;
            for (size_t i = 0; moved != 0 && i < P; i++)
                w[i] += moved * s->D[y * P + i];
        }
        for (size_t i = 0; i < sets; i++)
            pv_log_softmax((int)k, m + i * k, m + i * k);
        for (size_t y = 0; of && y < k; y++) {
            double sum = 0;
            for (size_t i = 0; i < sets; i++)
                sum += of->share[i] * exp(m[i * k + y]);
            all[y] = log(sum);
        }
    }
    pv__free(s->ctx, z);
    return status;
}

/* Log-likelihoods of the rows that are added up here: of all, where clusters may have rows anywhere. */
static pv_status fill_loglik(const sandwich *s, bool clustered) {
    pv__part part = pv__problem_part(s->ctx, s->problem, groups_of(s));
    size_t begin = clustered ? 0 : group_at(s, part.first), end = clustered ? s->problem->n : group_at(s, part.last);
    return pv__objective_loglik_of(s->ctx, s->problem, s->w, begin, end, s->loglik);
}

static pv_status fill(sandwich *s, double **block) {
    size_t n = s->problem->n, k = s->k, P = s->P, cells = s->sets * k;
    pv__tilted tilted = {0};
    PV_TRY(pv__alloc(s->ctx, n * k + 2 * P * P + P + cells * (2 * P + 3) + k, sizeof **block, block));
    s->loglik = *block;
    s->H = s->loglik + n * k;
    s->J = s->H + P * P;
    s->D = s->J + P * P;
    s->mean = s->D + cells * P;
    s->count = s->mean + cells * P;
    s->chance = s->count + cells;
    s->ratio = s->chance + cells;
    double *prevalence = s->ratio + cells, *room = prevalence + k;
    bool clustered = s->problem->cluster || s->problem->survey;
    PV_TRY(fill_loglik(s, clustered));
    double strength = s->problem->population.prevalence_n;
    bool counted = s->kinds > 1 && !s->problem->stratified && isfinite(strength);
    if (counted)
        PV_TRY(fill_slopes(s, prevalence, room));
    for (size_t y = 0; counted && y < k; y++)
        s->chance[y] = 1 / (s->problem->population.prevalence[y] * strength);
    PV_TRY(lean(s, s->problem, &tilted));
    pv__log_ratio(&tilted.problem, s->ratio);
    s->tilted = &tilted.problem;
    s->log_ratio = s->ratio;
    pv_status status;
    PV_GOTO(done, add_rows(s));
    if (s->problem->stratified)
        fill_cells(s);
    for (size_t i = 0; i < P; i++)
        s->H[i * P + i] += pv__prior_curvature(s->problem, i, s->w[i]);
    if (!pv__cholesky(P, s->H, 1e-12))
        PV_GOTO(done, no_covariance(s));
    PV_GOTO(done, (clustered ? add_clusters : add_squares)(s));
    status = close_up(s);
done:
    s->tilted = NULL;
    pv__tilted_free(s->ctx, &tilted);
    return status;
}

static sandwich sandwich_of(pv_ctx *ctx, const pv__problem *problem, double t, const double *w) {
    size_t k = (size_t)problem->targets.classes, P = pv_model_params(problem->model);
    bool labels_are_chance = pv_loss_of_design(pv__problem_loss(problem));
    size_t sets = pv__ratio_sets(problem);
    return (sandwich){.ctx = ctx,
                      .problem = problem,
                      .t = t,
                      .k = k,
                      .size = P / (k - 1),
                      .P = P,
                      .kinds = labels_are_chance ? 1 : sets * k,
                      .sets = sets,
                      .w = w};
}

pv_status pv__sandwich_factor(pv_ctx *ctx, const pv__problem *problem, double t, const double *w, double *factor) {
    sandwich s = sandwich_of(ctx, problem, t, w);
    double *block = NULL;
    pv_status status = fill(&s, &block);
    if (status == PV_OK)
        status = take_roots(&s, factor);
    pv__free(ctx, block);
    return status;
}

pv_status pv__sandwich(pv_ctx *ctx, const pv__problem *problem, double t, const double *w, pv_classifier *c) {
    sandwich s = sandwich_of(ctx, problem, t, w);
    size_t k = s.k, P = s.P;
    double *block = NULL;
    pv_posterior *p;
    PV_TRY(pv__alloc(ctx, 1, sizeof *p, &p));
    c->posterior = p;
    *p = (pv_posterior){.kind = PV_POSTERIOR_ROBUST,
                        .dims = P,
                        .stop = PV_STOP_CONVERGED,
                        .elbo = (double)NAN,
                        .elbo_se = (double)NAN,
                        .evidence = (double)NAN};
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, (size_t)problem->options->draws, P * sizeof *p->draws, &p->draws));
    p->count = (size_t)problem->options->draws;
    size_t width = (problem->stratified ? 1 + s.sets : 1) * k;
    PV_GOTO(done, pv__alloc(ctx, p->count, width * sizeof(double), &c->draw_log_marginal));
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof(double), &p->mixture.weight));
    PV_GOTO(done, pv__alloc(ctx, P, sizeof(double), &p->mixture.mean));
    PV_GOTO(done, pv__alloc(ctx, P, P * sizeof(double), &p->mixture.factor));
    p->mixture.components = 1;
    p->mixture.dims = P;
    p->mixture.weight[0] = 1;
    memcpy(p->mixture.mean, w, P * sizeof *w);
    PV_GOTO(done, fill(&s, &block));
    PV_GOTO(done, take_roots(&s, p->mixture.factor));
    PV_GOTO(done, draw(&s, (uint64_t)problem->options->seed, p, c->draw_log_marginal));
    if (problem->stratified)
        status = pv__part_marginals(ctx, p->count, k, width, c);
done:
    pv__free(ctx, block);
    if (status == PV_ERR_INTERRUPTED) { /* the estimate stays, without a posterior that is not whole */
        pv_posterior_free(ctx, p);
        pv__free(ctx, c->draw_log_marginal);
        c->posterior = NULL;
        c->draw_log_marginal = NULL;
    }
    return status;
}
