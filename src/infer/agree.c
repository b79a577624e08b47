/* Does the line that the rows were fitted by hold in the population?
 *
 * With a right model the score of importance weighting has mean 0 at the profile's estimate too. There, with lambda the
 * marginal of the fit, d the label shares, a_y = lambda_y/d_y, and for row n p its probabilities, S = sum_y p_y/a_y and
 * q_y = p_y/(a_y S) its probabilities in the sample,
 *
 *   g = sum_n v_n a_{y_n} (e_{y_n} - p) x~,   s = sum_n v_n (e_{y_n} - q) x~,   x~ = (1, x),
 *
 * given the x, g has covariance B, s has H, and the two together A:
 *
 *   B = sum_n v_n/S (sum_y p_y a_y (e_y - p)(e_y - p)^T) x~ x~^T,
 *   A = sum_n v_n/S (diag p - p p^T) x~ x~^T,   H = sum_n v_n (diag q - q q^T) x~ x~^T,
 *
 * so that, with w fitted by s = 0, g has V = B - A H^-1 A. What the prior leaves of s is taken out by a step,
 * g - A H^-1 s. A^-1 g is the difference of the two estimates and A^-1 V A^-1 = A^-1 B A^-1 - H^-1 the difference of
 * their variances: the test by g^T V^-1 g is Hausman's, without a second fit. The intercepts' entries of g are W times
 * the stated less the weighted mean risk. docs/method.md, section 15.
 *
 * Models without coefficients have the second test only, as if their output biases alone had been fitted.
 */
#include <math.h>
#include <string.h>

#include "infer/agree.h"

enum { LOOK = 1 << 16 };                     /* rows between looks at an interruption, or few of them */
enum { BLOCK = 256, GROUPS = 8, FINE = 64 }; /* rows taken together; pieces of LOOK, GROUPS or FINE */
enum { FEW = 100 };                          /* so many terms may have FINE pieces of covariances */
static const double TINY = 1e-8; /* of its scale: a variance that is rounding, where the two cannot differ */

typedef struct work {
    const pv__problem *problem;
    size_t k, J, size, P; /* classes, logits, terms of each, all */
    const double *lambda;
    double *loglik;           /* [n][k] */
    double *g, *s;            /* [P], the matrices [P][P] with [j * size + i] both ways */
    double *A, *B, *H;        /* lower triangles, then what is made of them */
    double *a, *solved, *own; /* [k], [P], [P] */
    double *part[GROUPS];     /* [part_size] each: scratch of a thread */
    const pv__compute *compute;
} work;

/* What a unit of rows is added up with. */
typedef struct part {
    double *sums;           /* of the scores [2][P] or of the matrices [3][P][P] */
    double *p, *q;          /* [k] */
    double *weight;         /* [3][BLOCK]: of the rows in what is summed */
    double *plain, *scaled; /* [BLOCK][size] */
    double *product;        /* [size][size] */
} part;

static size_t part_size(const work *m) {
    return 2 * m->k + 3 * BLOCK + 2 * BLOCK * m->size + m->size * m->size;
}

static part part_of(const work *m, size_t scratch,
                    double *sums) { // NOLINT(readability-non-const-parameter): they are added to there
    part own = {.sums = sums, .p = m->part[scratch]};
    own.q = own.p + m->k;
    own.weight = own.q + m->k;
    own.plain = own.weight + 3 * BLOCK;
    own.scaled = own.plain + BLOCK * m->size;
    own.product = own.scaled + BLOCK * m->size;
    return own;
}

static void probabilities(const work *m, const part *own, size_t n, double *S) {
    *S = 0;
    for (size_t y = 0; y < m->k; y++) {
        own->p[y] = exp(m->loglik[n * m->k + y]);
        own->q[y] = own->p[y] / m->a[y];
        *S += own->q[y];
    }
    for (size_t y = 0; y < m->k; y++)
        own->q[y] /= *S;
}

/* Adds rows begin .. end-1 to the scores of logit j. */
static void score_rows(const work *m, const part *own, size_t j, size_t begin, size_t end) {
    const pv_targets *targets = &m->problem->targets;
    const pv_model *model = m->problem->model;
    size_t d = m->size - 1;
    double S, *of_g = own->weight, *of_s = of_g + BLOCK;
    double *g = own->sums + (j - 1) * m->size, *s = g + m->P;
    for (size_t first = begin; first < end; first += BLOCK) {
        size_t rows = end - first < BLOCK ? end - first : BLOCK;
        for (size_t r = 0; r < rows; r++) {
            size_t n = first + r;
            double v = pv__weight(targets, n), weight = 0, share = pv__share(targets, n, (int)j);
            probabilities(m, own, n, &S);
            for (size_t y = 0; y < m->k; y++)
                weight += pv__share(targets, n, (int)y) * m->a[y];
            of_g[r] = v > 0 ? v * (share * m->a[j] - weight * own->p[j]) : 0;
            of_s[r] = v > 0 ? v * (share - own->q[j]) : 0;
        }
        for (size_t r = 0; d == 0 && r < rows; r++) { /* intercepts alone: rows of images have no columns */
            g[0] += of_g[r];
            s[0] += of_s[r];
        }
        if (d > 0) {
            const double *x = pv__problem_rows(NULL, m->problem, first, rows, own->plain);
            double sum_g = pv__add_inputs(m->compute, model, rows, x, of_g, g + 1);
            double sum_s = pv__add_inputs(m->compute, model, rows, x, of_s, s + 1);
            g[0] += sum_g;
            s[0] += sum_s;
        }
    }
}

/* One block of the three matrices, of logits j and l, from the rows of own->plain. */
static void add_block(const work *m, const part *own, size_t j, size_t l, size_t rows) {
    size_t size = m->size, first = j * size * m->P + l * size;
    for (size_t matrix = 0; matrix < 3; matrix++) {
        const double *weight = own->weight + matrix * BLOCK;
        double *to = own->sums + matrix * m->P * m->P + first;
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < size; i++)
                own->scaled[r * size + i] = weight[r] * own->plain[r * size + i];
        m->compute->matmul(size, size, rows, own->plain, 1, size, own->scaled, own->product, false);
        for (size_t i = 0; i < size; i++)
            for (size_t c = 0; c < size; c++)
                to[i * m->P + c] += own->product[i * size + c];
    }
}

/* The weights of a row in A, B and H, of logits j and l. */
static void weigh(const work *m, const part *own, size_t j, size_t l, size_t n, double v, double *weight) {
    double S, mean = 0;
    probabilities(m, own, n, &S);
    for (size_t y = 0; y < m->k; y++)
        mean += own->p[y] * m->a[y];
    double p = own->p[j + 1], same = j == l, of_a = same * p - p * own->p[l + 1];
    double of_b = same * p * m->a[j + 1] - p * own->p[l + 1] * (m->a[j + 1] + m->a[l + 1] - mean);
    double of_h = same * own->q[j + 1] - own->q[j + 1] * own->q[l + 1];
    weight[0] = v > 0 ? v / S * of_a : 0;
    weight[BLOCK] = v > 0 ? v / S * of_b : 0;
    weight[2 * BLOCK] = v > 0 ? v * of_h : 0;
}

/* Rows begin .. end-1 of those that are evenly spaced. */
static void covary(const work *m, const part *own, size_t begin, size_t end, double every) {
    const pv_targets *targets = &m->problem->targets;
    size_t d = m->size - 1, inputs = d + m->problem->model->offset; /* d 0: rows of images have no columns */
    for (size_t first = begin; first < end; first += BLOCK) {
        size_t rows = end - first < BLOCK ? end - first : BLOCK;
        if (d > 0)
            pv__problem_spread(m->problem, first, rows, every, own->scaled);
        for (size_t r = 0; r < rows; r++) {
            double *row = own->plain + r * m->size;
            memcpy(row + 1, own->scaled + r * inputs + inputs - d, d * sizeof *row);
            row[0] = 1;
        }
        for (size_t j = 0; j < m->J; j++)
            for (size_t l = 0; l <= j; l++) {
                for (size_t r = 0; r < rows; r++) {
                    size_t n = pv__spread_row(first + r, every);
                    weigh(m, own, j, l, n, every * pv__weight(targets, n), own->weight + r);
                }
                add_block(m, own, j, l, rows);
            }
    }
}

/* ---- sums over rows ------------------------------------------------------------------------------------------------
 * Rows are in pieces and pieces in units, whose sums are added in order: the same bits for any number of threads and
 * ranks, who share the units.
 */
typedef struct span {
    size_t rows, pieces, per; /* of LOOK rows, so many pieces */
    double every;             /* row i of these is row i * every of all */
    bool scores;              /* what is added up; or else covariances */
    size_t width;             /* of a unit's sums */
    pv__part units;
} span;

static span span_of(const pv_ctx *ctx, const work *m, size_t rows, size_t per, bool scores) {
    span s = {.rows = rows, .per = per, .scores = scores, .every = (double)m->problem->targets.n / (double)rows};
    s.width = scores ? 2 * m->P : 3 * m->P * m->P;
    s.pieces = (rows + LOOK - 1) / LOOK * per;
    s.units = pv__problem_part(ctx, m->problem, pv__units(s.pieces));
    return s;
}

static span scores_of(const pv_ctx *ctx, const work *m) {
    return span_of(ctx, m, m->problem->targets.n, GROUPS, true);
}

/* Evenly spaced rows, as many as tell the covariances well enough. */
static span covariances_of(const pv_ctx *ctx, const work *m) {
    size_t n = m->problem->targets.n, all = n < PV__AGREE_ROWS || m->size == 1 ? n : PV__AGREE_ROWS;
    return span_of(ctx, m, all, all < n && m->P <= FEW ? FINE : GROUPS, false);
}

static size_t piece_at(const span *s, size_t piece) {
    size_t begin = piece / s->per * LOOK;
    if (begin >= s->rows)
        return s->rows;
    return begin + piece % s->per * (s->rows - begin < LOOK ? s->rows - begin : LOOK) / s->per;
}

/* Where a unit begins. */
static size_t unit_at(const span *s, size_t unit) {
    return piece_at(s, unit * s->pieces / s->units.units);
}

static size_t row_of(const span *s, size_t i) {
    return pv__spread_row(i, s->every);
}

static void add_unit(const work *m, const span *s, const part *own, size_t unit) {
    for (size_t piece = unit * s->pieces / s->units.units; piece < (unit + 1) * s->pieces / s->units.units; piece++) {
        size_t begin = piece_at(s, piece), end = piece_at(s, piece + 1);
        if (!s->scores)
            covary(m, own, begin, end, s->every);
        for (size_t j = 1; s->scores && j < m->k; j++)
            score_rows(m, own, j, begin, end);
    }
}

/* Adds them up, into to [width]. */
static pv_status add_units(pv_ctx *ctx, const work *m, const span *s, double *to) {
    double *sums;
    PV_TRY(pv__go_on(ctx)); /* also where no units are this rank's */
    pv_status status = PV_OK;
    PV_TRY(pv__alloc(ctx, s->units.units, s->width * sizeof *sums, &sums));
    for (size_t first = s->units.first; status == PV_OK && first < s->units.last; first += GROUPS) {
        size_t count = s->units.last - first < GROUPS ? s->units.last - first : GROUPS;
        size_t rows = unit_at(s, first + count) - unit_at(s, first);
        status = pv__go_on(ctx);
        PV__EACH_CHUNK_BY(pv__threads_for(ctx, rows / BLOCK / GROUPS), status == PV_OK ? count : 0, i, {
            part own = part_of(m, i, sums + (first + i) * s->width);
            add_unit(m, s, &own, first + i);
        });
    }
    if (status == PV_OK)
        pv__sum(ctx, &s->units, s->width, sums, to);
    pv__free(ctx, sums);
    return status == PV_OK ? pv__reduce_check(ctx) : status;
}

/* x = L^-1 b, in place. */
static void forward(size_t n, const double *L, double *x) {
    for (size_t i = 0; i < n; i++) {
        double sum = x[i];
        for (size_t j = 0; j < i; j++)
            sum -= L[i * n + j] * x[j];
        x[i] = sum / L[i * n + i];
    }
}

/* V = B - A H^-1 A into B, and g - A H^-1 s into own. Columns of A are rows, as it is symmetric. False where H is not
 * finite. */
static bool reduce(work *m) {
    size_t P = m->P;
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < i; j++)
            m->A[j * P + i] = m->A[i * P + j];
    if (!pv__cholesky(P, m->H, 1e-10))
        return false;
    memcpy(m->solved, m->s, P * sizeof *m->s);
    forward(P, m->H, m->solved);
    for (size_t i = 0; i < P; i++) {
        double *row = m->A + i * P, moved = 0;
        forward(P, m->H, row);
        for (size_t j = 0; j < P; j++)
            moved += row[j] * m->solved[j];
        m->own[i] = m->g[i] - moved;
    }
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j <= i; j++) {
            double sum = 0;
            for (size_t l = 0; l < P; l++)
                sum += m->A[i * P + l] * m->A[j * P + l];
            m->H[i * P + j] = m->B[i * P + j]; /* the scale, whose factor is no longer needed */
            m->B[i * P + j] -= sum;
            m->B[j * P + i] = m->B[i * P + j];
        }
    return true;
}

/* d^T C^+ d for C [n][n] whose entries are rounding below TINY scale [n], by Cholesky's method with pivots; destroys C
 * and d. rank: how many directions count. */
static double quadratic(size_t n, double *C, double *d, const double *scale, int64_t *rank) {
    double sum = 0;
    *rank = 0;
    for (size_t step = 0; step < n; step++) {
        size_t best = n;
        double largest = TINY;
        for (size_t i = 0; i < n; i++)
            if (scale[i] > 0 && C[i * n + i] / scale[i] > largest) {
                largest = C[i * n + i] / scale[i];
                best = i;
            }
        if (best == n)
            break;
        double pivot = C[best * n + best], along = d[best];
        sum += along * along / pivot;
        ++*rank;
        for (size_t i = 0; i < n; i++) {
            double factor = C[i * n + best] / pivot;
            d[i] -= factor * along;
            for (size_t j = 0; i != best && j < n; j++)
                C[i * n + j] -= factor * C[best * n + j];
        }
        for (size_t i = 0; i < n; i++)
            C[best * n + i] = C[i * n + best] = 0;
    }
    return sum;
}

/* The intercepts' part: means, and their distances from the marginal in standard errors, less what the prior does.
 * scratch [J * (J + 2)]. */
static void fill_means(const pv__agree_parts *m, double *scratch, pv_agreement *found) {
    size_t P = m->J * m->size;
    double first = 0, mended = 0, of_first = 0, scale = 0;
    double *block = scratch, *d = block + m->J * m->J, *diagonal = d + m->J;
    for (size_t j = 0; j < m->J; j++) {
        double g = m->g[j * m->size], V = m->V[j * m->size * (P + 1)], own = m->scale[j * m->size];
        d[j] = m->own[j * m->size];
        found->mean[j + 1] = m->prevalence[j + 1] - g / m->total;
        found->z[j + 1] = V > TINY * own ? -d[j] / sqrt(V) : 0;
        first += g;
        mended += d[j];
        scale += own;
        diagonal[j] = own;
        for (size_t l = 0; l < m->J; l++) {
            block[j * m->J + l] = m->V[j * m->size * P + l * m->size];
            of_first += block[j * m->J + l];
        }
    }
    found->mean[0] = m->prevalence[0] + first / m->total;
    found->z[0] = of_first > TINY * scale ? mended / sqrt(of_first) : 0;
    found->mean_statistic = quadratic(m->J, block, d, diagonal, &found->mean_df);
}

pv_status pv__agree_conclude(pv_ctx *ctx, const pv__agree_parts *m, bool line, pv_agreement *found) {
    double *scratch;
    PV_TRY(pv__alloc(ctx, m->J * (m->J + 2), sizeof *scratch, &scratch));
    fill_means(m, scratch, found);
    pv__free(ctx, scratch);
    found->df = 0;
    found->statistic = 0;
    found->p_value = 1;
    if (line)
        found->statistic = quadratic(m->J * m->size, m->V, m->own, m->scale, &found->df);
    if (found->df > 0)
        found->p_value = pv_chi_square_tail((double)found->df, found->statistic);
    return PV_OK;
}

static pv_status make_work(pv_ctx *ctx, work *m, double **block) {
    size_t k = m->k, P = m->P, fixed = 4 * P + 3 * P * P + k;
    PV_TRY(pv__alloc(ctx, fixed + GROUPS * part_size(m), sizeof **block, block));
    m->g = *block;
    m->s = m->g + P;
    m->A = m->s + P;
    m->B = m->A + P * P;
    m->H = m->B + P * P;
    m->solved = m->H + P * P;
    m->own = m->solved + P;
    m->a = m->own + P;
    for (size_t group = 0; group < GROUPS; group++)
        m->part[group] = *block + fixed + group * part_size(m);
    m->compute = pv__compute_best();
    return PV_OK;
}

/* The log-likelihoods of the rows that are added up here. */
static pv_status fill_loglik(pv_ctx *ctx, const work *m, const double *w, const span *spans) {
    size_t begin = m->problem->n, end = 0;
    for (int i = 0; i < 2; i++) {
        const span *s = &spans[i];
        size_t from = unit_at(s, s->units.first), to = unit_at(s, s->units.last);
        if (from >= to)
            continue;
        begin = row_of(s, from) < begin ? row_of(s, from) : begin;
        end = row_of(s, to - 1) + 1 > end ? row_of(s, to - 1) + 1 : end;
    }
    return pv__objective_loglik_of(ctx, m->problem, w, begin, end, m->loglik);
}

pv_status pv__agree(pv_ctx *ctx, const pv__problem *problem, const double *lambda, const double *w,
                    double *loglik, // NOLINT(readability-non-const-parameter): it is filled
                    pv_agreement *found) {
    size_t k = (size_t)problem->targets.classes, d = pv__model_slopes(problem->model);
    bool line = problem->model->architecture->has_curvature && (k - 1) * (d + 1) <= PV__AGREE_PARAMS && !problem->data;
    work m = {.problem = problem, .k = k, .J = k - 1, .size = line ? d + 1 : 1, .lambda = lambda, .loglik = loglik};
    m.P = m.J * m.size;
    double *block, total = 0;
    PV_TRY(make_work(ctx, &m, &block));
    for (size_t y = 0; y < k; y++) {
        m.a[y] = lambda[y] / problem->design[y];
        total += problem->mass[y];
    }
    pv_status status;
    const span spans[2] = {scores_of(ctx, &m), covariances_of(ctx, &m)};
    PV_GOTO(done, fill_loglik(ctx, &m, w, spans));
    PV_GOTO(done, add_units(ctx, &m, &spans[0], m.g)); /* s lies behind it */
    PV_GOTO(done, add_units(ctx, &m, &spans[1], m.A)); /* B and H too */
    if (!reduce(&m))
        PV_GOTO(done, pv__fail(ctx, PV_ERR_NUMERIC, "the curvature of the loss is not finite at the estimate"));
    for (size_t i = 0; i < m.P; i++)
        m.solved[i] = m.H[i * (m.P + 1)];
    const pv__agree_parts parts = {.J = m.J,
                                   .size = m.size,
                                   .prevalence = lambda,
                                   .total = total,
                                   .g = m.g,
                                   .own = m.own,
                                   .V = m.B,
                                   .scale = m.solved};
    status = pv__agree_conclude(ctx, &parts, line, found);
done:
    pv__free(ctx, block);
    return status;
}

pv_status pv__agreement_new(pv_ctx *ctx, size_t classes, pv_agreement **made) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    pv_status status = pv__alloc(ctx, 3 * classes, sizeof(double), &(*made)->mean);
    if (status != PV_OK) {
        pv__free(ctx, *made);
        *made = NULL;
        return status;
    }
    (*made)->z = (*made)->mean + classes;
    (*made)->shift = (*made)->z + classes;
    return PV_OK;
}

void pv__agreement_free(pv_ctx *ctx, pv_agreement *agreement) {
    if (!agreement)
        return;
    pv__free(ctx, agreement->mean);
    pv__free(ctx, agreement);
}

int pv_agreement_farthest(const pv_agreement *agreement, int classes) {
    int worst = 1;
    for (int y = 0; classes > 2 && y < classes; y++)
        if (fabs(agreement->z[y]) > fabs(agreement->z[worst]))
            worst = y;
    return worst;
}

bool pv_agreement_differs(const pv_agreement *agreement) {
    return agreement->df > 0 && agreement->p_value < 0.05;
}
