/* Residuals of units with several rows: clusters (side.h).
 *
 * For unit g with s_g = sum c_i r_i (x) x~_i and M_g = sum c_i A_i (x) x~_i x~_i^T over its rows, the
 * leave-one-unit-out residuals are to first order
 *
 *   r_i + A_i (I (x) x~_i)^T U_g,   U_g = (H - M_g)^-1 s_g ,
 *
 * which equal (I - H_gg)^-1 r_g, where H_gg is the unit's block of the hat matrix (CR3; Mancl and DeRouen 2001), and
 * U_g is the unit's influence. For a unit with one row of one person this is the formula in side.c. If nine tenths or
 * more of a direction of H come from the unit, 0.9 M_g is used, so no residual is multiplied by more than ten.
 */
#include <string.h>

#include "infer/side.h"

static const double MOST = 0.9;

typedef struct levering {
    pv__side *side;
    const size_t *first; /* [units + 1], into row */
    const size_t *row;   /* [n], by unit */
    double *room[PV__ROW_SLOTS];
} levering;

static size_t room_of(const pv__side *s) {
    return pv__side_pairs(s) * s->size * s->size + 2 * s->P * s->P + s->P;
}

/* Number of rows from `at` on that are consecutive in the unit and in the table. */
static size_t run_of(const levering *l, size_t at, size_t end) {
    size_t n = 1;
    while (at + n < end && n < PV__ROW_BLOCK && l->row[at + n] == l->row[at] + n)
        n++;
    return n;
}

/* s_g in step [P], and the lower triangles of the blocks of M_g. */
static void add_unit(const levering *l, size_t slot, size_t begin, size_t end, double *blocks, double *step) {
    const pv__side *s = l->side;
    double weight[PV__ROW_BLOCK];
    for (size_t at = begin, n; at < end; at += n) {
        pv__block b;
        n = run_of(l, at, end);
        pv__block_of(s, slot, l->row[at], n, &b);
        double *to = blocks;
        for (size_t j = 0; j < s->J; j++)
            for (size_t m = 0; m <= j; m++, to += s->size * s->size) {
                for (size_t i = 0; i < n; i++) {
                    const double *p = b.p + i * s->k + 1;
                    weight[i] = pv__side_people(s, l->row[at] + i) * b.weight[i] * p[j] * ((j == m) - p[m]);
                }
                pv__compute_best()->gram(n, s->size, b.plain, weight, to, b.spare);
            }
        for (size_t i = 0; i < n; i++) {
            double people = pv__side_people(s, l->row[at] + i);
            for (size_t j = 0; people > 0 && j < s->J; j++)
                for (size_t c = 0; c < s->size; c++)
                    step[j * s->size + c] += people * b.r[i * s->J + j] * b.plain[i * s->size + c];
        }
    }
}

/* to [P][P] = H - by M_g, lower triangle. */
static void take_off(const pv__side *s, const double *blocks, double by, double *to) {
    for (size_t j = 0; j < s->J; j++)
        for (size_t m = 0; m <= j; m++, blocks += s->size * s->size)
            for (size_t i = 0; i < s->size; i++)
                for (size_t c = 0; c < s->size; c++) {
                    size_t at = (j * s->size + i) * s->P + m * s->size + c;
                    to[at] = s->information[at] - by * blocks[i >= c ? i * s->size + c : c * s->size + i];
                }
}

/* step [P] = (L L^T)^-1 step. */
static void solve(size_t P, const double *L, double *step) {
    for (size_t i = 0; i < P; i++) {
        for (size_t j = 0; j < i; j++)
            step[i] -= L[i * P + j] * step[j];
        step[i] /= L[i * (P + 1)];
    }
    for (size_t i = P; i-- > 0;) {
        for (size_t j = i + 1; j < P; j++)
            step[i] -= L[j * P + i] * step[j];
        step[i] /= L[i * (P + 1)];
    }
}

/* Replaces s_g by U_g. */
static void influence_of(const pv__side *s, const double *blocks, double *room, double *step) {
    size_t P = s->P;
    take_off(s, blocks, 1 / MOST, room); /* positive definite if no direction belongs to the unit alone */
    bool shared = pv__cholesky(P, room, 0);
    take_off(s, blocks, shared ? 1 : MOST, room);
    if (!pv__cholesky(P, room, 0))
        memset(step, 0, P * sizeof *step);
    else
        solve(P, room, step);
}

static void move_residuals(const levering *l, size_t slot, size_t begin, size_t end, const double *step) {
    const pv__side *s = l->side;
    for (size_t at = begin, n; at < end; at += n) {
        pv__block b;
        n = run_of(l, at, end);
        pv__block_of(s, slot, l->row[at], n, &b);
        for (size_t i = 0; i < n; i++) {
            const double *p = b.p + i * s->k + 1, *x = b.plain + i * s->size;
            double *to = s->residual + (l->row[at] + i) * s->J, logit, mean = 0;
            for (size_t j = 0; j < s->J; j++) {
                logit = 0;
                for (size_t c = 0; c < s->size; c++)
                    logit += step[j * s->size + c] * x[c];
                mean += p[j] * logit;
                to[j] = b.r[i * s->J + j] + b.weight[i] * p[j] * logit;
            }
            for (size_t j = 0; j < s->J; j++)
                to[j] -= b.weight[i] * p[j] * mean;
        }
    }
}

static void lever_units(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const levering *l = state;
    const pv__side *s = l->side;
    size_t squares = pv__side_pairs(s) * s->size * s->size;
    double *blocks = l->room[slot], *step = blocks + squares, *room = step + s->P;
    for (size_t g = begin; g < begin + n; g++) {
        size_t first = l->first[g], end = l->first[g + 1];
        bool person = end - first == 1 && pv__side_people(s, l->row[first]) <= 1;
        if (first == end || person)
            continue;
        memset(blocks, 0, (squares + s->P) * sizeof *blocks);
        add_unit(l, slot, first, end, blocks, step);
        influence_of(s, blocks, room, step);
        move_residuals(l, slot, first, end, step);
        sums[0]++;
    }
}

pv_status pv__side_lever_units(pv_ctx *ctx, pv__side *s, const pv__units *units) {
    const double most = 2e10; /* units times parameters cubed: some seconds. With more, leverage is computed by row */
    size_t n = units->design.rows, count = units->count;
    double P = (double)s->P, levered;
    if (!units->of || !s->inflate || (double)count * P * P * P > most)
        return PV_OK;
    size_t *first;
    levering l = {.side = s};
    pv_status status;
    PV_TRY(pv__alloc(ctx, count + 1 + n, sizeof *first, &first));
    PV_GOTO(done, pv__alloc(ctx, PV__ROW_SLOTS * room_of(s), sizeof(double), &l.room[0]));
    for (size_t slot = 1; slot < PV__ROW_SLOTS; slot++)
        l.room[slot] = l.room[0] + slot * room_of(s);
    size_t *row = first + count + 1;
    for (size_t i = 0; i < n; i++)
        first[units->of[i] + 1]++;
    for (size_t g = 0; g < count; g++)
        first[g + 1] += first[g];
    for (size_t i = 0; i < n; i++) /* leaves each unit's end in `first`, one position early */
        row[first[units->of[i]]++] = i;
    memmove(first + 1, first, count * sizeof *first);
    first[0] = 0;
    l.first = first;
    l.row = row;
    status = pv__sum_rows(ctx, count, false, 1, lever_units, &l, &levered);
done:
    pv__free(ctx, l.room[0]);
    pv__free(ctx, first);
    return status;
}
