/* Metrics of ranks: the area under the ROC curve and the expected calibration error. Both visit the rows in order of a
 * score, with equal scores together, so that neither depends on the order of the rows.
 *
 *   auc, two classes   P(score of a positive row > score of another) + P(equal)/2, by mass
 *   auc, more          mean over pairs (a,b) of [A(a|b) + A(b|a)]/2, A(a|b) the area for a against b by p(a|x)
 *                      (Hand and Till 2001)
 *   ece                sum over bins of the bin's share of rows times |mean probability - observed proportion|; rows of
 *                      equal probability are in the bin of their middle mass, floor(10 (mass below + mass/2) / total)
 */
#include "assess.h"

#include <math.h>
#include <string.h>

#include "core/vector.h"

enum { BINS = 10 };

int pv__ladders(int classes) {
    return classes == 2 ? 1 : classes + 1;
}

/* ---- construction ------------------------------------------------------------------------------------------------ */

static void score_rows(pv_ctx *ctx, const pv__case *judged, int which, double *score) {
    size_t n = judged->targets->n, k = (size_t)judged->targets->classes;
    PV__EACH_CHUNK(ctx, pv__chunks(n), c, {
        size_t end = c * PV_CHUNK + pv__chunk_rows(n, c);
        for (size_t i = c * PV_CHUNK; i < end; i++) {
            const double *row = judged->log_p + i * k;
            if (k == 2) /* log odds distinguish probabilities that round to 1 */
                score[i] = row[1] - row[0];
            else
                score[i] = row[(size_t)which < k ? which : pv__decision((int)k, row)];
        }
    });
}

static void add_mass(const pv__case *judged, int which, size_t n, double *mass) {
    const pv_targets *targets = judged->targets;
    pv__row row = pv__row_labels(targets, n);
    for (int y = row.first; y < row.last; y++) {
        double own = pv__row_mass(targets, n, y);
        if (which < targets->classes)
            mass[y] += own;
        else
            mass[y == pv__decision(targets->classes, judged->log_p + n * (size_t)targets->classes)] +=
                own * judged->factor[y];
    }
}

/* The number that is sorted along with each score: the row, its label, or for two labels both, so that `gather` avoids
 * random access to rows. The label is enough for unweighted rows with hard labels. */
typedef enum carrying { CARRY_ROW, CARRY_LABEL, CARRY_BOTH } carrying;

static carrying carried_by(const pv__case *judged, int which, bool want_code) {
    const pv_targets *targets = judged->targets;
    if (!targets->label || targets->weight || which >= targets->classes)
        return CARRY_ROW;
    if (!want_code)
        return CARRY_LABEL;
    return targets->classes == 2 && targets->n <= UINT32_MAX / 2 ? CARRY_BOTH : CARRY_ROW;
}

static uint32_t carried_of(const pv__case *judged, carrying how, size_t n) {
    uint32_t label = how == CARRY_ROW ? 0 : (uint32_t)judged->targets->label[n];
    return how == CARRY_ROW ? (uint32_t)n : how == CARRY_LABEL ? label : (uint32_t)n << 1 | label;
}

/* What is gathered from sorted scores: pieces of rows, each of whole points, that threads take. */
typedef struct gathering {
    const pv__case *judged;
    int which;
    carrying how;
    const double *score;     /* [n], sorted */
    const uint32_t *carried; /* [n] */
    size_t pieces, *begin;   /* begin [pieces + 1], of rows */
    size_t *point;           /* [pieces + 1], the first point of each */
} gathering;

/* Row begin of a piece: about its share of all rows, but equal scores stay together. */
static size_t piece_at(const gathering *g, size_t n, size_t piece) {
    size_t at = piece * n / g->pieces;
    while (at > 0 && at < n && g->score[at] == g->score[at - 1])
        at++;
    return at;
}

static size_t count_points(const gathering *g, size_t piece) {
    size_t count = 0;
    for (size_t i = g->begin[piece]; i < g->begin[piece + 1]; i++)
        count += i == g->begin[piece] || g->score[i] != g->score[i - 1];
    return count;
}

static void fill_points(const gathering *g, size_t piece, const pv__ladder *ladder) {
    size_t point = g->point[piece], channels = (size_t)ladder->channels;
    for (size_t i = g->begin[piece]; i < g->begin[piece + 1]; i++) {
        point += i > g->begin[piece] && g->score[i] != g->score[i - 1];
        ladder->score[point] = g->score[i];
        if (ladder->code)
            ladder->code[g->how == CARRY_BOTH ? g->carried[i] >> 1 : g->carried[i]] = (uint32_t)point;
        if (g->how == CARRY_ROW)
            add_mass(g->judged, g->which, g->carried[i], ladder->mass + point * channels);
        else
            ladder->mass[point * channels + (g->how == CARRY_BOTH ? g->carried[i] & 1 : g->carried[i])] += 1;
    }
}

/* From score [n], sorted, and carried [n]: points of equal score, their masses, and the point of each row. */
static pv_status gather(pv_ctx *ctx, const pv__case *judged, int which, const double *score, const uint32_t *carried,
                        pv__ladder *ladder) {
    size_t n = judged->targets->n, pieces = (size_t)pv__team(ctx, pv__chunks(n));
    gathering g = {.judged = judged,
                   .which = which,
                   .how = carried_by(judged, which, ladder->code != NULL),
                   .score = score,
                   .carried = carried,
                   .pieces = pieces};
    PV_TRY(pv__alloc(ctx, 2 * (pieces + 1), sizeof *g.begin, &g.begin));
    g.point = g.begin + pieces + 1;
    for (size_t p = 0; p <= pieces; p++)
        g.begin[p] = piece_at(&g, n, p);
    PV__EACH_CHUNK_BY((int)pieces, pieces, p, { g.point[p + 1] = count_points(&g, p); });
    for (size_t p = 0; p < pieces; p++)
        g.point[p + 1] += g.point[p];
    ladder->points = g.point[pieces];
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, ladder->points, sizeof *ladder->score, &ladder->score));
    PV_GOTO(done, pv__alloc(ctx, ladder->points * (size_t)ladder->channels, sizeof(double), &ladder->mass));
    PV__EACH_CHUNK_BY((int)pieces, pieces, p, { fill_points(&g, p, ladder); });
done:
    pv__free(ctx, g.begin);
    return status;
}

static pv_status set_probabilities(pv_ctx *ctx, bool by_decision, pv__ladder *ladder) {
    PV_TRY(pv__alloc(ctx, ladder->points, sizeof *ladder->p, &ladder->p));
    PV__EACH_CHUNK(ctx, pv__chunks(ladder->points), c, {
        size_t end = c * PV_CHUNK + pv__chunk_rows(ladder->points, c);
        for (size_t i = c * PV_CHUNK; i < end; i++)
            ladder->p[i] = by_decision ? exp(ladder->score[i]) : pv_sigmoid(ladder->score[i]);
    });
    return PV_OK;
}

pv_status pv__ladder_new(pv_ctx *ctx, const pv__case *judged, int which, bool want_code, pv__ladder *ladder) {
    size_t n = judged->targets->n;
    int classes = judged->targets->classes;
    bool by_decision = which == classes;
    carrying how = carried_by(judged, which, want_code);
    uint32_t *carried = NULL;
    double *score = NULL;
    *ladder = (pv__ladder){.channels = by_decision ? 2 : classes, .line = {NAN, NAN}};
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *score, &score));
    if (want_code)
        PV_GOTO(done, pv__alloc(ctx, n, sizeof *ladder->code, &ladder->code));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *carried, &carried));
    score_rows(ctx, judged, which, score);
    PV__EACH_CHUNK(ctx, pv__chunks(n), c, {
        size_t end = c * PV_CHUNK + pv__chunk_rows(n, c);
        for (size_t i = c * PV_CHUNK; i < end; i++)
            carried[i] = carried_of(judged, how, i);
    });
    PV_GOTO(done, pv__sort_scores(ctx, n, score, carried));
    PV_GOTO(done, gather(ctx, judged, which, score, carried, ladder));
    if (classes == 2 || by_decision)
        status = set_probabilities(ctx, by_decision, ladder);
done:
    pv__free(ctx, score);
    pv__free(ctx, carried);
    return status;
}

/* Assigns each point a joined point, from the mean over channels of the fraction of mass below it. */
static size_t join_points(const pv__ladder *ladder, size_t most, double *below, double *whole, uint32_t *joined) {
    size_t k = (size_t)ladder->channels, last = 0, count = 0;
    double present = 0;
    for (size_t i = 0; i < ladder->points * k; i++)
        whole[i % k] += ladder->mass[i];
    for (size_t c = 0; c < k; c++)
        present += whole[c] > 0;
    for (size_t i = 0; i < ladder->points; i++) {
        double share = 0;
        for (size_t c = 0; c < k; c++)
            share += whole[c] > 0 ? below[c] / whole[c] / present : 0;
        size_t bin = (size_t)((double)most * share);
        bin = bin < most ? bin : most - 1;
        count += i > 0 && bin > last;
        last = bin;
        joined[i] = (uint32_t)count;
        for (size_t c = 0; c < k; c++)
            below[c] += ladder->mass[i * k + c];
    }
    return count + 1;
}

/* The mean probability of each joined point, weighted by mass. */
static void join_probabilities(pv__ladder *ladder, const uint32_t *joined, double *weight) {
    size_t k = (size_t)ladder->channels;
    for (size_t i = 0; i < ladder->points; i++) {
        double mass = 0, p = ladder->p[i];
        size_t to = joined[i];
        for (size_t c = 0; c < k; c++)
            mass += ladder->mass[i * k + c];
        if (weight[to] == 0)
            ladder->p[to] = p; /* to <= i, so the old value has already been read */
        weight[to] += mass;
        ladder->p[to] += weight[to] > 0 ? mass / weight[to] * (p - ladder->p[to]) : 0;
    }
}

pv_status pv__ladder_coarsen(pv_ctx *ctx, size_t rows, size_t most, pv__ladder *ladder) {
    uint32_t *joined = NULL;
    double *scratch = NULL;
    size_t points = ladder->points, k = (size_t)ladder->channels;
    pv_status status = PV_OK;
    if (points > most) {
        PV_GOTO(done, pv__alloc(ctx, points, sizeof *joined, &joined));
        PV_GOTO(done, pv__alloc(ctx, 2 * k + most, sizeof *scratch, &scratch));
        points = join_points(ladder, most, scratch, scratch + k, joined);
        if (ladder->p)
            join_probabilities(ladder, joined, scratch + 2 * k);
        PV__EACH_CHUNK(ctx, pv__chunks(rows), c, {
            size_t end = c * PV_CHUNK + pv__chunk_rows(rows, c);
            for (size_t i = c * PV_CHUNK; i < end; i++)
                ladder->code[i] = joined[ladder->code[i]];
        });
        ladder->points = points;
    }
    pv__free(ctx, ladder->mass);
    pv__free(ctx, ladder->score);
    ladder->mass = ladder->score = NULL;
    if (ladder->p && ladder->channels == 2)
        PV_GOTO(done, pv__alloc(ctx, ladder->points, sizeof *ladder->score, &ladder->score));
    for (size_t i = 0; ladder->score && i < ladder->points; i++)
        ladder->score[i] = pv_logit(ladder->p[i]);
done:
    pv__free(ctx, joined);
    pv__free(ctx, scratch);
    return status;
}

void pv__ladder_clear(pv_ctx *ctx, pv__ladder *ladder) {
    pv__free(ctx, ladder->score);
    pv__free(ctx, ladder->mass);
    pv__free(ctx, ladder->p);
    pv__free(ctx, ladder->code);
    *ladder = (pv__ladder){0};
}

/* ---- area and calibration error ---------------------------------------------------------------------------------- */

double pv__ladder_area(size_t points, int channels, const double *mass, int a, double *scratch) {
    size_t k = (size_t)channels;
    double *below = scratch, *area = scratch + k, sum = 0;
    memset(scratch, 0, 2 * k * sizeof *scratch);
    for (size_t i = 0; i < points; i++) {
        const double *here = mass + i * k;
        for (size_t y = 0; y < k; y++) {
            area[y] += here[a] * (below[y] + here[y] / 2);
            below[y] += here[y];
        }
    }
    for (size_t y = 0; y < k; y++)
        if (y != (size_t)a)
            sum += below[a] > 0 && below[y] > 0 ? area[y] / below[a] / below[y] : NAN;
    return sum;
}

double pv__ladder_error(size_t points, const double *mass, const double *p, double factor0, double factor1) {
    double promised[BINS] = {0}, kept[BINS] = {0}, low = 0, total = 0, error = 0;
    for (size_t i = 0; i < points; i++)
        total += factor0 * mass[2 * i] + factor1 * mass[2 * i + 1];
    if (!(total > 0))
        return NAN;
    for (size_t i = 0; i < points; i++) {
        double right = factor1 * mass[2 * i + 1], here = factor0 * mass[2 * i] + right;
        size_t bin = (size_t)(BINS * ((low + here / 2) / total));
        bin = bin < BINS ? bin : BINS - 1;
        promised[bin] += here * p[i];
        kept[bin] += right;
        low += here;
    }
    for (int b = 0; b < BINS; b++)
        error += fabs(promised[b] - kept[b]) / total;
    return error;
}
