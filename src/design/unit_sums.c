/* Sums of scores over units (unit_sums.h).
 *
 * If units are people, scores of J size numbers are never formed: with w_i the people of a row times the factor of its
 * block, blocks j, l of the sum of squares are sum w_i r_ij r_il x~ x~^T, minus the contribution of the cells' means.
 * Clusters are summed first.
 */
#include "design/unit_sums.h"

#include <string.h>

#include "compute/compute.h"

typedef struct pv__unit_squares {
    const pv__units *units;
    const pv__scores *scores;
    size_t P, pairs; /* pairs: of estimates, 1 or 3 */
    const double *mean;
    const double *map, *form, *centre, *shifted; /* arguments of pv__units_moments */
    const double *by_unit;                       /* [parts][count][P] */
    double *room[PV__ROW_SLOTS];
} work;

static double factor_of(const pv__units *u, size_t block) {
    double scale = u->design.scale && !u->of ? u->design.scale[block] : 1;
    return scale * (u->in[block] > 1 ? u->in[block] / (u->in[block] - 1) : 1);
}

static const double *residual_of(const work *w, size_t part, size_t row) {
    return w->scores->residual[part] + row * w->scores->logits;
}

/* The two estimates of a pair: the first with itself, the second with itself, the second with the first. */
static size_t left_of(size_t pair) {
    return pair > 0;
}
static size_t right_of(size_t pair) {
    return pair == 1;
}

static pv_status work_new(pv_ctx *ctx, work *w) {
    size_t size = PV__ROW_BLOCK * (w->scores->size + 3 * w->P + 2);
    PV_TRY(pv__alloc(ctx, PV__ROW_SLOTS * size, sizeof(double), &w->room[0]));
    for (size_t slot = 1; slot < PV__ROW_SLOTS; slot++)
        w->room[slot] = w->room[0] + slot * size;
    return PV_OK;
}

/* ---- means ------------------------------------------------------------------------------------------------------- */

/* to [P] += by r (x) x */
static void add_score(const work *w, double by, const double *r, const double *x, double *to) {
    size_t size = w->scores->size;
    for (size_t j = 0; j < w->scores->logits; j++) {
        double own = by * r[j];
        for (size_t c = 0; c < size; c++)
            to[j * size + c] += own * x[c];
    }
}

static void add_means_of(const work *w, size_t begin, size_t n, const double *x, double *sums) {
    const pv__scores *s = w->scores;
    size_t cells = w->units->design.cells;
    for (size_t i = 0; i < n; i++) {
        double people = pv__units_people(w->units, begin + i);
        for (size_t part = 0; part < s->parts && people > 0; part++)
            add_score(w, people, residual_of(w, part, begin + i), x + i * s->size,
                      sums + (part * cells + pv__units_cell(w->units, begin + i)) * w->P);
    }
}

static void add_means(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const work *w = state;
    add_means_of(w, begin, n, w->scores->x(w->scores->state, slot, begin, n), sums);
}

static double people_in(const pv__units *u, size_t pool) {
    double people = 0;
    for (size_t c = 0; c < u->design.cells; c++)
        people += u->pool[c] == pool ? u->people[c] : 0;
    return people;
}

/* A cell with a single person is not centred. */
static void divide_means(const work *w, double *mean) {
    const pv__units *u = w->units;
    size_t cells = u->design.cells;
    for (size_t i = 0; i < w->scores->parts * cells; i++) {
        double people = people_in(u, u->pool[i % cells]);
        for (size_t c = 0; c < w->P; c++)
            mean[i * w->P + c] = people > 1 ? mean[i * w->P + c] / people : 0;
    }
}

/* ---- squares ----------------------------------------------------------------------------------------------------- */

/* Adds the lower triangles of all blocks of all pairs, followed by the sums for the means. */
void pv__unit_squares_add(const pv__unit_squares *w, size_t slot, size_t begin, size_t n, const double *x,
                          double *sums) {
    const pv__scores *s = w->scores;
    size_t J = s->logits, size = s->size;
    double *spare = w->room[slot], weight[PV__ROW_BLOCK], own[PV__ROW_BLOCK];
    for (size_t i = 0; i < n; i++) {
        double people = pv__units_people(w->units, begin + i);
        weight[i] = people > 0 ? people * factor_of(w->units, pv__units_cell(w->units, begin + i)) : 0;
    }
    for (size_t pair = 0; pair < w->pairs; pair++)
        for (size_t j = 0; j < J; j++)
            for (size_t l = 0; l < (pair == 2 ? J : j + 1); l++, sums += size * size) {
                for (size_t i = 0; i < n; i++)
                    own[i] = weight[i] > 0 ? weight[i] * residual_of(w, left_of(pair), begin + i)[j] *
                                                 residual_of(w, right_of(pair), begin + i)[l]
                                           : 0;
                pv__compute_best()->gram(n, size, x, own, sums, spare);
            }
    add_means_of(w, begin, n, x, sums);
}

/* Copies the blocks of the sums to square [P][P]. */
static const double *spread_blocks(const work *w, size_t pair, const double *block, double *square) {
    size_t J = w->scores->logits, size = w->scores->size;
    for (size_t j = 0; j < J; j++)
        for (size_t l = 0; l < (pair == 2 ? J : j + 1); l++, block += size * size)
            for (size_t i = 0; i < size; i++)
                for (size_t c = 0; c < size; c++) {
                    double own = block[i >= c ? i * size + c : c * size + i];
                    square[(j * size + i) * w->P + l * size + c] = own;
                    if (pair < 2)
                        square[(l * size + c) * w->P + j * size + i] = own;
                }
    return block;
}

/* Centres the sum of squares about the cells' means. */
static void centre(const work *w, size_t pair, double *square) {
    const pv__units *u = w->units;
    size_t P = w->P, cells = u->design.cells;
    for (size_t c = 0; c < cells; c++) {
        double weight = u->pool[c] == c ? people_in(u, c) * factor_of(u, c) : 0;
        const double *left = w->mean + (left_of(pair) * cells + c) * P;
        const double *right = w->mean + (right_of(pair) * cells + c) * P;
        for (size_t i = 0; weight > 0 && i < P; i++)
            for (size_t j = 0; j < P; j++)
                square[i * P + j] -= weight * left[i] * right[j];
    }
}

static size_t squares_width(const work *w) {
    size_t J = w->scores->logits;
    return (J * (J + 1) / 2 * (w->pairs > 1 ? 2 : 1) + (w->pairs > 1 ? J * J : 0)) * w->scores->size * w->scores->size;
}

static work work_of(const pv__units *units, const pv__scores *scores, const double *mean) {
    return (work){.units = units,
                  .scores = scores,
                  .P = scores->logits * scores->size,
                  .pairs = scores->parts > 1 ? 3 : 1,
                  .mean = mean};
}

pv_status pv__unit_squares_new(pv_ctx *ctx, const pv__units *units, const pv__scores *scores, pv__unit_squares **made) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **made, made));
    **made = work_of(units, scores, NULL);
    return work_new(ctx, *made);
}

void pv__unit_squares_free(pv_ctx *ctx, pv__unit_squares *w) {
    if (w)
        pv__free(ctx, w->room[0]);
    pv__free(ctx, w);
}

size_t pv__unit_squares_width(const pv__unit_squares *w) {
    return squares_width(w) + w->scores->parts * w->units->design.cells * w->P;
}

void pv__unit_squares_take(pv__unit_squares *w, const double *sums, pv__unit_sums *to) {
    size_t squares = squares_width(w);
    memcpy(to->mean, sums + squares, (pv__unit_squares_width(w) - squares) * sizeof *sums);
    divide_means(w, to->mean);
    w->mean = to->mean;
    for (size_t pair = 0; pair < w->pairs; pair++) {
        sums = spread_blocks(w, pair, sums, to->square + pair * w->P * w->P);
        centre(w, pair, to->square + pair * w->P * w->P);
    }
}

/* ---- clusters ---------------------------------------------------------------------------------------------------- */

/* Sums the rows' scores by unit and centres them about the mean of their block: [parts][count][P], which the caller
 * frees. Every rank gets the whole array. */
static pv_status sum_clusters(pv_ctx *ctx, const work *w, double **made) {
    const pv__units *u = w->units;
    const pv__scores *s = w->scores;
    size_t P = w->P, rows = u->design.rows;
    double *mean = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, s->parts * u->count, P * sizeof **made, made));
    PV_GOTO(done, pv__alloc(ctx, s->parts * u->blocks, P * sizeof *mean, &mean));
    for (size_t begin = 0; begin < rows; begin += PV__ROW_BLOCK) {
        size_t n = rows - begin < PV__ROW_BLOCK ? rows - begin : PV__ROW_BLOCK;
        PV_GOTO(done, pv__go_on(ctx));
        const double *x = s->x(s->state, 0, begin, n);
        for (size_t part = 0; part < s->parts; part++)
            for (size_t i = 0; i < n; i++) {
                double people = pv__units_people(u, begin + i);
                double *to = *made + (part * u->count + (size_t)u->of[begin + i]) * P;
                const double *about = w->mean + (part * u->design.cells + pv__units_cell(u, begin + i)) * P;
                if (people > 0)
                    add_score(w, people, residual_of(w, part, begin + i), x + i * s->size, to);
                for (size_t c = 0; people > 0 && c < P; c++)
                    to[c] -= people * about[c];
            }
    }
    for (int pass = 0; pass < 2; pass++)
        for (size_t g = 0; g < s->parts * u->count; g++) {
            int32_t block = u->block[g % u->count];
            double *of = mean + (g / u->count * u->blocks + (size_t)(block < 0 ? 0 : block)) * P;
            double *value = *made + g * P;
            for (size_t i = 0; block >= 0 && i < P; i++)
                if (pass == 0)
                    of[i] += value[i] / u->in[block];
                else
                    value[i] -= of[i];
        }
done:
    pv__free(ctx, mean);
    return status;
}

static void add_clusters(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const work *w = state;
    size_t P = w->P, count = w->units->count;
    double *scaled = w->room[slot];
    for (size_t pair = 0; pair < w->pairs; pair++) {
        const double *left = w->by_unit + (left_of(pair) * count + begin) * P;
        const double *right = w->by_unit + (right_of(pair) * count + begin) * P;
        for (size_t i = 0; i < n; i++) {
            int32_t block = w->units->block[begin + i];
            double factor = block < 0 ? 0 : factor_of(w->units, (size_t)block);
            for (size_t c = 0; c < P; c++)
                scaled[i * P + c] = factor * right[i * P + c];
        }
        pv__compute_best()->matmul(P, P, n, left, 1, P, scaled, sums + pair * P * P, true);
    }
}

static void add_rows(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const work *w = state;
    pv__unit_squares_add(w, slot, begin, n, w->scores->x(w->scores->state, slot, begin, n), sums);
}

static pv_status sum_people(pv_ctx *ctx, work *w, pv__unit_sums *to) {
    const pv__units_design *d = &w->units->design;
    size_t width = pv__unit_squares_width(w);
    double *sums;
    PV_TRY(pv__alloc(ctx, width, sizeof *sums, &sums));
    pv_status status = pv__sum_rows(ctx, d->rows, d->shared, width, add_rows, w, sums);
    if (status == PV_OK)
        pv__unit_squares_take(w, sums, to);
    pv__free(ctx, sums);
    return status;
}

pv_status pv__units_sum(pv_ctx *ctx, const pv__units *units, const pv__scores *scores, pv__unit_sums *sums) {
    const pv__units_design *d = &units->design;
    work w = work_of(units, scores, sums->mean);
    double *by_unit = NULL;
    pv_status status;
    PV_GOTO(done, work_new(ctx, &w));
    if (!units->of) {
        status = sum_people(ctx, &w, sums);
        goto done;
    }
    memset(sums->mean, 0, scores->parts * d->cells * w.P * sizeof *sums->mean);
    if (d->cell) { /* otherwise the number of rows in a cluster is random */
        PV_GOTO(done, pv__sum_rows(ctx, d->rows, false, scores->parts * d->cells * w.P, add_means, &w, sums->mean));
        divide_means(&w, sums->mean);
    }
    PV_GOTO(done, sum_clusters(ctx, &w, &by_unit));
    w.by_unit = by_unit;
    status = pv__sum_rows(ctx, units->count, false, w.pairs * w.P * w.P, add_clusters, &w, sums->square);
done:
    pv__free(ctx, by_unit);
    pv__free(ctx, w.room[0]);
    return status;
}

/* ---- moments ----------------------------------------------------------------------------------------------------- */

/* Adds moments of n units that count `count` each, from mapped [n][P] and form [n], to fourth [P] and the number after
 * it, spread. */
static void add_moments(const work *w, size_t n, const double *mapped, const double *form, const double *count,
                        double *sums) {
    for (size_t i = 0; i < n; i++) {
        const double *own = mapped + i * w->P;
        for (size_t c = 0; c < w->P; c++) {
            double square = own[c] * own[c];
            sums[c] += count[i] * square * square;
        }
        sums[w->P] += count[i] * form[i] * form[i];
    }
}

/* For rows: map (S - m) and (S - m)^T form (S - m). centre = map m and shifted = form m of each cell are precomputed,
 * with m^T form m after the latter.
 */
static void add_people(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const work *w = state;
    const pv__scores *s = w->scores;
    const pv__units *u = w->units;
    size_t P = w->P, size = s->size, J = s->logits;
    const double *x = s->x(s->state, slot, begin, n);
    double *spare = w->room[slot], *product = spare + PV__ROW_BLOCK * size, *mapped = product + PV__ROW_BLOCK * P;
    double form[PV__ROW_BLOCK], count[PV__ROW_BLOCK], part[PV__ROW_BLOCK];
    for (size_t i = 0; i < n; i++) {
        size_t cell = pv__units_cell(u, begin + i);
        double people = pv__units_people(u, begin + i), factor = factor_of(u, cell);
        const double *r = residual_of(w, 0, begin + i), *shift = w->shifted + cell * (P + 1);
        count[i] = people > 0 ? people * factor * factor : 0;
        form[i] = shift[P];
        for (size_t j = 0; j < J; j++)
            for (size_t c = 0; c < size; c++)
                form[i] -= 2 * r[j] * shift[j * size + c] * x[i * size + c];
        for (size_t c = 0; c < P; c++)
            mapped[i * P + c] = -w->centre[cell * P + c];
    }
    for (size_t j = 0, at = 0; j < J; j++) {
        pv__compute_best()->matmul(n, P, size, x, size, 1, w->map + j * size * P, product, false);
        for (size_t i = 0; i < n; i++) {
            double own = residual_of(w, 0, begin + i)[j];
            for (size_t c = 0; c < P; c++)
                mapped[i * P + c] += own * product[i * P + c];
        }
        for (size_t l = 0; l <= j; l++, at++) {
            pv__compute_best()->forms(n, size, x, w->form + at * size * size, part, spare);
            for (size_t i = 0; i < n; i++)
                form[i] += residual_of(w, 0, begin + i)[j] * residual_of(w, 0, begin + i)[l] * part[i];
        }
    }
    add_moments(w, n, mapped, form, count, sums);
}

static void add_unit_moments(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const work *w = state;
    size_t P = w->P;
    const double *value = w->by_unit + begin * P;
    double *mapped = w->room[slot], form[PV__ROW_BLOCK], count[PV__ROW_BLOCK];
    pv__compute_best()->matmul(n, P, P, value, P, 1, w->form, mapped, false);
    for (size_t i = 0; i < n; i++) {
        int32_t block = w->units->block[begin + i];
        double factor = block < 0 ? 0 : factor_of(w->units, (size_t)block);
        count[i] = factor * factor;
        form[i] = 0;
        for (size_t c = 0; c < P; c++)
            form[i] += mapped[i * P + c] * value[i * P + c];
    }
    pv__compute_best()->matmul(n, P, P, value, P, 1, w->map, mapped, false);
    add_moments(w, n, mapped, form, count, sums);
}

/* Lower triangles whose quadratic forms equal those of a symmetric matrix's blocks, with both halves of a pair in
 * one. */
static void fold(const work *w, const double *matrix, double *folded) {
    size_t size = w->scores->size, P = w->P;
    for (size_t j = 0; j < w->scores->logits; j++)
        for (size_t l = 0; l <= j; l++, folded += size * size)
            for (size_t i = 0; i < size; i++)
                for (size_t c = 0; c <= i; c++) {
                    double one = matrix[(j * size + i) * P + l * size + c],
                           other = matrix[(j * size + c) * P + l * size + i];
                    folded[i * size + c] = (l < j ? 2 : 1) * (i == c ? one : one + other);
                }
}

/* For each cell's mean m: map m; form m and m^T form m. */
static void move_means(const work *w, const double *map, const double *form, double *moved, double *shifted) {
    size_t P = w->P;
    for (size_t cell = 0; cell < w->units->design.cells; cell++) {
        const double *m = w->mean + cell * P;
        double *by_form = shifted + cell * (P + 1);
        for (size_t i = 0; i < P; i++) {
            for (size_t j = 0; j < P; j++) {
                moved[cell * P + i] += map[i * P + j] * m[j];
                by_form[i] += form[i * P + j] * m[j];
            }
            by_form[P] += by_form[i] * m[i];
        }
    }
}

pv_status pv__units_moments(pv_ctx *ctx, const pv__units *units, const pv__scores *scores, const pv__unit_sums *sums,
                            const double *map, const double *form, double *fourth, double *spread) {
    size_t P = scores->logits * scores->size, cells = units->design.cells;
    size_t folds = scores->logits * (scores->logits + 1) / 2 * scores->size * scores->size;
    work w = {.units = units, .scores = scores, .P = P, .pairs = 1, .mean = sums->mean};
    double *room = NULL, *by_unit = NULL, *turned, *folded, *moved, *shifted, *total;
    pv_status status;
    PV_GOTO(done, work_new(ctx, &w));
    PV_GOTO(done, pv__alloc(ctx, P * P + folds + cells * (2 * P + 1) + P + 1, sizeof *room, &room));
    turned = room;
    folded = turned + P * P;
    moved = folded + folds;
    shifted = moved + cells * P;
    total = shifted + cells * (P + 1);
    for (size_t i = 0; i < P; i++)
        for (size_t j = 0; j < P; j++)
            turned[j * P + i] = map[i * P + j];
    w.map = turned;
    if (units->of) {
        PV_GOTO(done, sum_clusters(ctx, &w, &by_unit));
        w.by_unit = by_unit;
        w.form = form;
        PV_GOTO(done, pv__sum_rows(ctx, units->count, false, P + 1, add_unit_moments, &w, total));
    } else {
        fold(&w, form, folded);
        move_means(&w, map, form, moved, shifted);
        w.form = folded;
        w.centre = moved;
        w.shifted = shifted;
        PV_GOTO(done, pv__sum_rows_like(ctx, units->design.rows, units->design.shared, scores->like, P + 1, add_people,
                                        &w, total));
    }
    memcpy(fourth, total, P * sizeof *fourth);
    *spread = total[P];
done:
    pv__free(ctx, by_unit);
    pv__free(ctx, room);
    pv__free(ctx, w.room[0]);
    return status;
}
