/* The recession cone of a log-likelihood: C = {d : A d >= 0}.
 *
 * Each row a of A is a margin: the lead of a row's own label over another, as a linear function of the parameters. The
 * likelihood has a finite maximum if and only if A d >= 0 implies A d = 0 (Albert and Anderson 1984). By Stiemke's
 * lemma exactly one of these exists:
 *
 *   a certificate of overlap      lambda > 0 with A^T lambda = 0 ,
 *   a direction of separation     d with A d >= 0, A d != 0 .
 *
 * Newton's method on  f(z) = sum_c log(1 + exp(-a_c z))  finds both. With p_c = 1/(1 + exp(a_c z)), W_c = p_c (1 - p_c)
 * and the step h = (A^T W A)^-1 A^T p:
 *
 *   A^T (p - W A h) = 0, so W_c a_c h < p_c for all c proves overlap;
 *   if the rows are separated, a_c h tends to 1 for rows that gain and to 0 for the others. With the gaining rows set
 *   aside, h is projected to {d : a_c d = 0 for all others}, and signs are verified.
 *
 * The remaining rows may in turn be separated by a direction that was dominated, so the search continues among them
 * until they overlap. The result equals that of Konis's linear program (2007), max sum_c a_c d subject to 0 <= a_c d <=
 * 1, and does not depend on the scale or correlation of columns.
 *
 * Steps and null spaces are computed by orthogonalising the rows themselves (modified Gram-Schmidt), never from a Gram
 * matrix, so that columns may span eight orders of magnitude. Limits: a column that differs from a linear combination
 * of others by less than RANK of its norm counts as that combination.
 */
#include <math.h>
#include <string.h>

#include "infer/recession.h"
#include "prevail/core.h"

static const double RANK = 1e-11;  /* relative to a column's norm: rounding */
static const double GAINS = 0.5;   /* a_c h of rows that gain tends to 1 */
static const double NEARLY = 0.1;  /* for the others it tends to 0 */
static const double DEEPEST = -60; /* smaller margins are treated as this in weights */
static const double HIDDEN =
    1e-14; /* relative to a weighted column's norm: rounding, if rows have lost their weights */
enum { STEPS = 120, HALVINGS = 50 };

typedef struct search {
    pv_ctx *ctx;
    size_t rows, size; /* of A */
    const double *A;
    size_t *at, active; /* [rows], the active rows; their number */
    size_t *column;     /* [size], the columns that are independent on the active rows, followed by the others */
    size_t rank;
    double *q;         /* [size + 1][rows], orthogonalised columns */
    double *r;         /* [size + 1][size + 1], their triangular factor */
    double *norm;      /* [size] */
    double *margin;    /* [rows], a z */
    double *along;     /* [rows], a h */
    double *trial;     /* [rows] */
    double *z, *h, *e; /* [size] */
    size_t *left;      /* [rows], the active rows that do not gain */
    size_t *other;     /* [size], a copy of column */
} search;

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

static void subtract(size_t n, double factor, const double *a, double *b) {
#pragma omp simd
    for (size_t i = 0; i < n; i++)
        b[i] -= factor * a[i];
}

/* ---- orthogonalisation ------------------------------------------------------------------------------------------- */

static double *q_of(const search *s, size_t j) {
    return s->q + j * s->rows;
}

static double *r_of(const search *s, size_t i, size_t j) {
    return s->r + i * (s->size + 1) + j;
}

/* Copies the given columns of rows at [m], times root [m] (NULL: 1), to q. */
static void gather(search *s, size_t m, const size_t *at, size_t columns, const size_t *column, const double *root) {
    for (size_t i = 0; i < m; i++) {
        const double *row = s->A + at[i] * s->size;
        double factor = root ? root[i] : 1;
        for (size_t j = 0; j < columns; j++)
            q_of(s, j)[i] = factor * row[column[j]];
    }
}

static void swap_columns(search *s, size_t m, size_t a, size_t b, size_t *column) {
    if (a == b)
        return;
    for (size_t i = 0; i < m; i++) {
        double held = q_of(s, a)[i];
        q_of(s, a)[i] = q_of(s, b)[i];
        q_of(s, b)[i] = held;
    }
    for (size_t i = 0; i < a; i++) {
        double held = *r_of(s, i, a);
        *r_of(s, i, a) = *r_of(s, i, b);
        *r_of(s, i, b) = held;
    }
    double norm = s->norm[a];
    s->norm[a] = s->norm[b];
    s->norm[b] = norm;
    size_t held = column[a];
    column[a] = column[b];
    column[b] = held;
}

/* Removes the direction of q's column j from the columns after it, up to `last`. */
static void take_out(search *s, size_t m, size_t j, size_t last) {
    double *own = q_of(s, j), length = sqrt(dot(m, own, own));
    *r_of(s, j, j) = length;
    for (size_t i = 0; i < m && length > 0; i++)
        own[i] /= length;
    for (size_t l = j + 1; l < last; l++) {
        double part = length > 0 ? dot(m, own, q_of(s, l)) : 0;
        *r_of(s, j, l) = part;
        subtract(m, part, own, q_of(s, l));
    }
}

/* The rank of the columns of rows at [m]. Independent columns are moved to the front of column [columns]; r holds their
 * triangular factor and the coefficients of the others. */
static size_t rank_of(search *s, size_t m, const size_t *at, size_t columns, size_t *column) {
    gather(s, m, at, columns, column, NULL);
    for (size_t j = 0; j < columns; j++)
        s->norm[j] = sqrt(dot(m, q_of(s, j), q_of(s, j)));
    for (size_t j = 0; j < columns; j++) {
        size_t best = columns;
        double most = RANK * RANK;
        for (size_t l = j; l < columns; l++) {
            double share = s->norm[l] > 0 ? dot(m, q_of(s, l), q_of(s, l)) / s->norm[l] / s->norm[l] : 0;
            if (share > most) {
                most = share;
                best = l;
            }
        }
        if (best == columns)
            return j;
        swap_columns(s, m, j, best, column);
        take_out(s, m, j, columns);
    }
    return columns;
}

/* After rank_of: completes d, given on the dependent columns, such that A d = 0 for these rows. */
static void unseen_by(const search *s, size_t rank, size_t columns, const size_t *column, double *d) {
    for (size_t i = rank; i-- > 0;) {
        double sum = 0;
        for (size_t l = i + 1; l < columns; l++)
            sum -= *r_of(s, i, l) * d[column[l]];
        d[column[i]] = sum / *r_of(s, i, i);
    }
}

/* ---- Newton's method --------------------------------------------------------------------------------------------- */

static double margin_of(const search *s, size_t row, const double *d) {
    return dot(s->size, s->A + row * s->size, d);
}

static double value_of(size_t m, const double *margin) {
    double sum = 0;
    for (size_t i = 0; i < m; i++)
        sum -= pv_log_sigmoid(margin[i]);
    return sum;
}

static double own_p(double margin) {
    return pv_sigmoid(-margin);
}

static double weight_of(double margin) {
    double t = exp(-fabs(fmax(margin, DEEPEST)));
    return t / ((1 + t) * (1 + t));
}

/* Computes h for the active rows. False if rounding hides a direction. */
static bool newton_step(search *s) {
    size_t m = s->active, k = s->rank;
    double *target = q_of(s, k);
    for (size_t i = 0; i < m; i++)
        s->trial[i] = sqrt(weight_of(s->margin[i]));
    gather(s, m, s->at, k, s->column, s->trial);
    for (size_t i = 0; i < m; i++)
        target[i] = s->trial[i] > 0 ? own_p(s->margin[i]) / s->trial[i] : 0;
    bool sound = true;
    memset(s->h, 0, s->size * sizeof *s->h);
    for (size_t j = 0; j < k; j++)
        s->norm[j] = sqrt(dot(m, q_of(s, j), q_of(s, j)));
    for (size_t j = 0; j < k; j++) {
        take_out(s, m, j, k + 1);
        sound &= *r_of(s, j, j) > HIDDEN * s->norm[j];
    }
    for (size_t j = k; j-- > 0 && sound;) {
        double sum = *r_of(s, j, k);
        for (size_t l = j + 1; l < k; l++)
            sum -= *r_of(s, j, l) * s->h[s->column[l]];
        s->h[s->column[j]] = sum / *r_of(s, j, j);
        sound = isfinite(s->h[s->column[j]]);
    }
    for (size_t i = 0; i < m; i++)
        s->along[i] = margin_of(s, s->at[i], s->h);
    return sound;
}

static bool is_overlap(const search *s) {
    for (size_t i = 0; i < s->active; i++)
        if (!(weight_of(s->margin[i]) * s->along[i] <= GAINS * own_p(s->margin[i])))
            return false;
    return true;
}

/* Moves along h as long as the value decreases. */
static bool go(search *s) {
    size_t m = s->active;
    double value = value_of(m, s->margin), slope = 0;
    for (size_t i = 0; i < m; i++)
        slope += own_p(s->margin[i]) * s->along[i];
    double step = 1;
    for (int halving = 0; halving < HALVINGS; halving++, step *= 0.5) {
        for (size_t i = 0; i < m; i++)
            s->trial[i] = s->margin[i] + step * s->along[i];
        if (value_of(m, s->trial) <= value - 1e-4 * step * slope) {
            memcpy(s->margin, s->trial, m * sizeof *s->margin);
            return true;
        }
    }
    return false;
}

/* ---- separation -------------------------------------------------------------------------------------------------- */

/* Sum of the absolute terms of a margin, to which its rounding error is relative. */
static double size_of(const search *s, size_t row, const double *d) {
    double sum = 0;
    for (size_t j = 0; j < s->size; j++)
        sum += fabs(s->A[row * s->size + j] * d[j]);
    return sum;
}

/* Whether h, projected to where the rows that do not gain have margins 0, separates the others. If so, e is that
 * direction and left lists the rows that do not gain. */
static bool separates(search *s, size_t *left) {
    double least = HUGE_VAL, most = -HUGE_VAL;
    size_t m = s->active, count = 0;
    for (size_t i = 0; i < m; i++) {
        bool gains = s->along[i] > GAINS;
        least = gains ? fmin(least, s->along[i]) : least;
        most = gains ? most : fmax(most, fabs(s->along[i]));
        if (!gains)
            s->left[count++] = s->at[i];
    }
    if (count == m || most > NEARLY)
        return false;
    memcpy(s->other, s->column, s->rank * sizeof *s->other);
    size_t rank = rank_of(s, count, s->left, s->rank, s->other);
    if (rank == s->rank)
        return false;
    memcpy(s->e, s->h, s->size * sizeof *s->e);
    unseen_by(s, rank, s->rank, s->other, s->e);
    for (size_t i = 0; i < m; i++) {
        bool gains = s->along[i] > GAINS;
        double own = margin_of(s, s->at[i], s->e), rounding = 10 * RANK * (1 + size_of(s, s->at[i], s->e));
        if (gains ? !(own > NEARLY && own > rounding) : !(fabs(own) <= rounding)) /* gaining rows have margins near 1 */
            return false;
    }
    *left = count;
    return true;
}

/* For the active rows: 1: e separates those that are not among the first `left` of s->left; 0: they overlap; -1:
 * neither was found. */
static int look(search *s, size_t *left) {
    for (int step = 0; step < STEPS; step++) {
        if (!newton_step(s))
            return -1;
        if (is_overlap(s))
            return 0;
        if (separates(s, left))
            return 1;
        if (pv__interrupted(s->ctx) || !go(s))
            return -1;
    }
    return -1;
}

/* direction <- factor direction + e, with a factor large enough for the rows that already gain. */
static void combine(const search *s, pv__recession *made) {
    double big = 1;
    for (size_t i = 0; i < s->rows; i++)
        if (made->gains[i]) {
            double own = margin_of(s, i, made->direction), moved = margin_of(s, i, s->e);
            big = moved < 0 && own > 0 ? fmax(big, 1 - 2 * moved / own) : big;
        }
    for (size_t j = 0; j < s->size; j++)
        made->direction[j] = big * made->direction[j] + s->e[j];
}

/* Marks the rows that gain; the others stay active. */
static void set_aside(search *s, size_t left, pv__recession *made) {
    size_t kept = 0;
    for (size_t i = 0; i < s->active; i++) {
        bool stays = kept < left && s->left[kept] == s->at[i];
        kept += stays;
        made->gains[s->at[i]] = !stays;
    }
    made->gained += s->active - left;
    memcpy(s->at, s->left, left * sizeof *s->at);
    s->active = left;
}

static pv_status search_new(pv_ctx *ctx, size_t rows, size_t size, const double *A, search *s, double **block,
                            size_t **index) {
    *s = (search){.ctx = ctx, .rows = rows, .size = size, .A = A};
    PV_TRY(pv__alloc(ctx, (size + 4) * rows + (size + 1) * (size + 1) + 3 * size, sizeof **block, block));
    PV_TRY(pv__alloc(ctx, 2 * (rows + size), sizeof **index, index));
    s->q = *block;
    s->margin = s->q + (size + 1) * rows;
    s->along = s->margin + rows;
    s->trial = s->along + rows;
    s->r = s->trial + rows;
    s->norm = s->r + (size + 1) * (size + 1);
    s->h = s->norm + size;
    s->e = s->h + size;
    s->at = *index;
    s->left = s->at + rows;
    s->column = s->left + rows;
    s->other = s->column + size;
    for (size_t i = 0; i < rows; i++) {
        bool seen = false;
        for (size_t j = 0; j < size && !seen; j++)
            seen = A[i * size + j] != 0;
        if (seen)
            s->at[s->active++] = i;
    }
    return PV_OK;
}

static void begin(search *s, const double *start) {
    for (size_t i = 0; i < s->active; i++)
        s->margin[i] = start ? margin_of(s, s->at[i], start) : 0;
    if (start && !(value_of(s->active, s->margin) < log(2) * (double)s->active))
        memset(s->margin, 0, s->active * sizeof *s->margin);
}

pv_status pv__recession_find(pv_ctx *ctx, size_t rows, size_t size, const double *A, const double *start,
                             pv__recession *made) {
    search s;
    double *block = NULL;
    size_t *index = NULL;
    *made = (pv__recession){.decided = true};
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, 2 * size, sizeof(double), &made->direction));
    PV_GOTO(done, pv__alloc(ctx, rows, sizeof *made->gains, &made->gains));
    made->unseen = made->direction + size;
    PV_GOTO(done, search_new(ctx, rows, size, A, &s, &block, &index));
    for (bool first = true; s.active > 0; first = false) {
        size_t left;
        PV_GOTO(done, pv__go_on(ctx));
        for (size_t j = 0; j < size; j++)
            s.column[j] = j;
        s.rank = rank_of(&s, s.active, s.at, size, s.column);
        if (first) {
            made->full = s.rank == size;
            for (size_t j = s.rank; j < size; j++) /* makes all entries different */
                made->unseen[s.column[j]] = 1 + fmod(0.6180339887498949 * (double)(j + 1), 1);
            unseen_by(&s, s.rank, size, s.column, made->unseen);
        }
        begin(&s, first ? start : NULL);
        int found = look(&s, &left);
        made->decided = found >= 0;
        if (found != 1)
            break;
        combine(&s, made);
        set_aside(&s, left, made);
    }
    status = pv__go_on(ctx);
done:
    pv__free(ctx, block);
    pv__free(ctx, index);
    return status;
}

void pv__recession_free(pv_ctx *ctx, pv__recession *made) {
    pv__free(ctx, made->direction);
    pv__free(ctx, made->gains);
    *made = (pv__recession){0};
}
