#include "design/units.h"

#include <math.h>
#include <string.h>

#include "compute/compute.h"

/* ---- which cell's mean, and what units were drawn in ------------------------------------------------------------- */

static size_t cell_of(const pv__units_design *d, size_t row) {
    return d->cell ? (size_t)d->cell[row] : 0;
}

/* Cells of one person have no spread of their own: those of a label are pooled; one that is alone joins the smallest
 * other cell of its label, and is taken as it is where there is none. */
static void pool_cells(const pv__units_design *d, pv__units *u) {
    size_t k = d->cells_per_stratum;
    for (size_t y = 0; y < k && y < d->cells; y++) {
        size_t lonely = 0, first = d->cells, smallest = d->cells;
        for (size_t c = y; c < d->cells; c += k) {
            u->pool[c] = c;
            if (!(u->people[c] > 0))
                continue;
            if (u->people[c] > 1)
                smallest = smallest == d->cells || u->people[c] < u->people[smallest] ? c : smallest;
            else if (lonely++ == 0)
                first = c;
        }
        size_t to = lonely > 1 || smallest == d->cells ? first : smallest;
        for (size_t c = y; lonely > 0 && c < d->cells; c += k)
            if (u->people[c] > 0 && u->people[c] <= 1)
                u->pool[c] = to;
    }
}

/* Clusters, or the rows of a survey, with the block that each was drawn in: a survey's stratum, else the cell where
 * every cluster has rows of one cell alone, else all of them are one block. */
static pv_status find_blocks(pv_ctx *ctx, pv__units *u) {
    const pv__units_design *d = &u->design;
    size_t strata = 1;
    bool mixed = false;
    u->count = d->cluster ? 0 : d->rows;
    for (size_t i = 0; i < d->rows; i++) {
        if (d->cluster && (size_t)d->cluster[i] >= u->count)
            u->count = (size_t)d->cluster[i] + 1;
        if (d->survey && (size_t)d->survey[i] >= strata)
            strata = (size_t)d->survey[i] + 1;
    }
    PV_TRY(pv__alloc(ctx, d->rows, sizeof *u->of, &u->of));
    PV_TRY(pv__alloc(ctx, u->count, sizeof *u->block, &u->block));
    for (size_t g = 0; g < u->count; g++)
        u->block[g] = -1;
    for (size_t i = 0; i < d->rows; i++) {
        size_t g = d->cluster ? (size_t)d->cluster[i] : i;
        int32_t own = d->survey ? d->survey[i] : (int32_t)u->pool[cell_of(d, i)];
        u->of[i] = (int32_t)g;
        if (!(pv__units_people(u, i) > 0))
            continue;
        mixed |= u->block[g] >= 0 && u->block[g] != own;
        u->block[g] = own;
    }
    u->blocks = d->survey ? strata : d->cells;
    for (size_t g = 0; !d->survey && mixed && g < u->count; g++)
        u->block[g] = u->block[g] < 0 ? -1 : 0;
    PV_TRY(pv__alloc(ctx, u->blocks, sizeof *u->in, &u->in));
    for (size_t g = 0; g < u->count; g++)
        if (u->block[g] >= 0)
            u->in[u->block[g]]++;
    return PV_OK;
}

static pv_status fill(pv_ctx *ctx, pv__units *u) {
    const pv__units_design *d = &u->design;
    PV_TRY(pv__alloc(ctx, d->cells, sizeof *u->people, &u->people));
    PV_TRY(pv__alloc(ctx, d->cells, sizeof *u->pool, &u->pool));
    for (size_t i = 0; i < d->rows; i++)
        u->people[cell_of(d, i)] += pv__units_people(u, i);
    pool_cells(d, u);
    if (d->cluster || d->survey)
        PV_TRY(find_blocks(ctx, u));
    else {
        u->blocks = d->cells;
        PV_TRY(pv__alloc(ctx, d->cells, sizeof *u->in, &u->in));
        for (size_t c = 0; c < d->cells; c++)
            u->in[u->pool[c]] += u->people[c];
    }
    for (size_t b = 0; b < u->blocks; b++) {
        u->units += u->in[b];
        u->df += u->in[b] > 0 ? u->in[b] - 1 : 0;
    }
    return PV_OK;
}

pv_status pv__units_new(pv_ctx *ctx, const pv__units_design *design, pv__units **units) {
    pv__units *made;
    *units = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->design = *design;
    pv_status status = fill(ctx, made);
    if (status != PV_OK) {
        pv__units_free(ctx, made);
        return status;
    }
    *units = made;
    return PV_OK;
}

void pv__units_free(pv_ctx *ctx, pv__units *units) {
    if (!units)
        return;
    pv__free(ctx, units->people);
    pv__free(ctx, units->pool);
    pv__free(ctx, units->of);
    pv__free(ctx, units->block);
    pv__free(ctx, units->in);
    pv__free(ctx, units);
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

typedef struct work {
    const pv__units *units;
    size_t parts, width;
    const pv__contrast *contrast;
    pv__influence influence;
    void *state;
    const double *mean;          /* [parts][cells][width] */
    const double *factor;        /* of pv__units_spread */
    double *room[PV__ROW_SLOTS]; /* [parts][block][width] values, [block][width] of them scaled, [width] twice */
    const double *by_unit;       /* [parts][count][width]: what units that are more than a row add up to; NULL */
} work;

static double factor_of(const pv__units *u, size_t block) {
    return u->in[block] > 1 ? u->in[block] / (u->in[block] - 1) : 1;
}

/* A contrast of a value and those after it. */
static double contrast_of(const work *w, const double *value, size_t i) {
    const pv__contrast *c = w->contrast;
    double sum = value[i];
    if (c && i % c->stride == c->first)
        for (size_t j = 1; j < c->stride; j++)
            sum -= c->shift[j - 1] * value[i + j];
    return sum;
}

static void add_means(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const work *w = state;
    double *values = w->room[slot];
    size_t cells = w->units->design.cells;
    w->influence(w->state, slot, begin, n, values);
    for (size_t part = 0; part < w->parts; part++)
        for (size_t r = 0; r < n; r++) {
            const double *value = values + (part * n + r) * w->width;
            double people = pv__units_people(w->units, begin + r);
            double *to = sums + (part * cells + w->units->pool[cell_of(&w->units->design, begin + r)]) * w->width;
            for (size_t i = 0; people > 0 && i < w->width; i++)
                to[i] += people * value[i];
        }
}

/* Values of the rows about their cells' means; of people that do not count, 0. */
static void centre(const work *w, size_t begin, size_t n, double *values) {
    const pv__units *u = w->units;
    for (size_t part = 0; part < w->parts; part++)
        for (size_t r = 0; r < n; r++) {
            double *value = values + (part * n + r) * w->width;
            size_t cell = u->pool[cell_of(&u->design, begin + r)];
            const double *mean = w->mean + (part * u->design.cells + cell) * w->width;
            bool counts = pv__units_people(u, begin + r) > 0;
            for (size_t i = 0; i < w->width; i++)
                value[i] = counts ? value[i] - mean[i] : 0;
        }
}

/* Values of n units, people[r] of each, whose squares have a factor; to sums as add_squares has them. */
static void add_values(const work *w, size_t slot, size_t n, const double *values, const double *people,
                       const double *factor, double *sums) {
    size_t width = w->width;
    double *scaled = w->room[slot] + w->parts * PV__ROW_BLOCK * width;
    double *second = sums + w->parts * width * width, *fourth = second + w->parts * width;
    for (size_t part = 0; part < w->parts; part++) {
        const double *own = values + part * n * width;
        for (size_t r = 0; r < n; r++)
            for (size_t i = 0; i < width; i++) {
                double contrast = contrast_of(w, own + r * width, i), square = factor[r] * contrast * contrast;
                scaled[r * width + i] = people[r] * factor[r] * own[r * width + i];
                second[part * width + i] += people[r] * square;
                fourth[part * width + i] += people[r] * square * square;
            }
        pv__compute_best()->matmul(width, width, n, own, 1, width, scaled, sums + part * width * width, true);
    }
}

static void add_squares(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const work *w = state;
    double *values = w->room[slot], people[PV__ROW_BLOCK], factor[PV__ROW_BLOCK];
    w->influence(w->state, slot, begin, n, values);
    centre(w, begin, n, values);
    for (size_t r = 0; r < n; r++) {
        people[r] = pv__units_people(w->units, begin + r);
        factor[r] = factor_of(w->units, w->units->pool[cell_of(&w->units->design, begin + r)]);
    }
    add_values(w, slot, n, values, people, factor, sums);
}

/* The same of clusters, whose sums are there. */
static void add_clusters(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const work *w = state;
    double *values = w->room[slot], people[PV__ROW_BLOCK], factor[PV__ROW_BLOCK];
    for (size_t part = 0; part < w->parts; part++)
        memcpy(values + part * n * w->width, w->by_unit + (part * w->units->count + begin) * w->width,
               n * w->width * sizeof *values);
    for (size_t r = 0; r < n; r++) {
        int32_t block = w->units->block[begin + r];
        people[r] = block >= 0;
        factor[r] = block < 0 ? 1 : factor_of(w->units, (size_t)block);
    }
    add_values(w, slot, n, values, people, factor, sums);
}

/* sum of (|L^-1 U|^2)^2 of the first part. */
static void add_spread(const work *w, size_t n, double *values, const double *weight, double *sums) {
    size_t width = w->width;
    for (size_t r = 0; r < n; r++) {
        double *x = values + r * width, norm = 0;
        for (size_t i = 0; weight[r] > 0 && i < width; i++) {
            for (size_t j = 0; j < i; j++)
                x[i] -= w->factor[i * width + j] * x[j];
            x[i] /= w->factor[i * width + i];
            norm += x[i] * x[i];
        }
        sums[0] += weight[r] * norm * norm;
    }
}

static void spread_rows(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const work *w = state;
    double *values = w->room[slot], weight[PV__ROW_BLOCK];
    w->influence(w->state, slot, begin, n, values);
    centre(w, begin, n, values);
    for (size_t r = 0; r < n; r++) {
        double factor = factor_of(w->units, w->units->pool[cell_of(&w->units->design, begin + r)]);
        weight[r] = pv__units_people(w->units, begin + r) * factor * factor;
    }
    add_spread(w, n, values, weight, sums);
}

static void spread_clusters(void *state, size_t slot, size_t begin, size_t n, double *sums) {
    const work *w = state;
    double *values = w->room[slot], weight[PV__ROW_BLOCK];
    memcpy(values, w->by_unit + begin * w->width, n * w->width * sizeof *values);
    for (size_t r = 0; r < n; r++) {
        int32_t block = w->units->block[begin + r];
        double factor = block < 0 ? 0 : factor_of(w->units, (size_t)block);
        weight[r] = factor * factor;
    }
    add_spread(w, n, values, weight, sums);
}

/* Sums of the rows' values by unit, about the mean of the block: [parts][count][width], which the caller frees. Every
 * rank has them all. */
static pv_status sum_clusters(pv_ctx *ctx, const work *w, double **made) {
    const pv__units *u = w->units;
    size_t width = w->width, rows = u->design.rows;
    double *mean = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, w->parts * u->count, width * sizeof **made, made));
    PV_GOTO(done, pv__alloc(ctx, w->parts * u->blocks, width * sizeof *mean, &mean));
    for (size_t begin = 0; begin < rows; begin += PV__ROW_BLOCK) {
        size_t n = rows - begin < PV__ROW_BLOCK ? rows - begin : PV__ROW_BLOCK;
        PV_GOTO(done, pv__go_on(ctx));
        w->influence(w->state, 0, begin, n, w->room[0]);
        centre(w, begin, n, w->room[0]);
        for (size_t part = 0; part < w->parts; part++)
            for (size_t r = 0; r < n; r++) {
                double people = pv__units_people(u, begin + r);
                double *to = *made + (part * u->count + (size_t)u->of[begin + r]) * width;
                for (size_t i = 0; i < width; i++)
                    to[i] += people * w->room[0][(part * n + r) * width + i];
            }
    }
    for (int pass = 0; pass < 2; pass++)
        for (size_t g = 0; g < w->parts * u->count; g++) {
            int32_t block = u->block[g % u->count];
            double *of = mean + (g / u->count * u->blocks + (size_t)(block < 0 ? 0 : block)) * width;
            double *value = *made + g * width;
            for (size_t i = 0; block >= 0 && i < width; i++)
                if (pass == 0)
                    of[i] += value[i] / u->in[block];
                else
                    value[i] -= of[i];
        }
done:
    pv__free(ctx, mean);
    return status;
}

static pv_status work_new(pv_ctx *ctx, work *w) {
    size_t size = (w->parts + 1) * PV__ROW_BLOCK * w->width;
    PV_TRY(pv__alloc(ctx, PV__ROW_SLOTS * size, sizeof(double), &w->room[0]));
    for (size_t slot = 1; slot < PV__ROW_SLOTS; slot++)
        w->room[slot] = w->room[0] + slot * size;
    return PV_OK;
}

pv_status pv__units_sum(pv_ctx *ctx, const pv__units *units, size_t parts, size_t width, const pv__contrast *contrast,
                        pv__influence influence, void *state, pv__unit_sums *sums) {
    const pv__units_design *d = &units->design;
    work w = {.units = units,
              .parts = parts,
              .width = width,
              .contrast = contrast,
              .influence = influence,
              .state = state,
              .mean = sums->mean};
    size_t all = parts * width * (width + 2);
    double *total = NULL, *by_unit = NULL;
    bool shared = d->shared && !units->of;
    pv_status status;
    PV_GOTO(done, work_new(ctx, &w));
    PV_GOTO(done, pv__alloc(ctx, all, sizeof *total, &total));
    PV_GOTO(done, pv__sum_rows(ctx, d->rows, shared, parts * d->cells * width, add_means, &w, sums->mean));
    for (size_t i = 0; i < parts * d->cells; i++) {
        size_t pool = units->pool[i % d->cells];
        double people = 0;
        for (size_t c = 0; c < d->cells; c++)
            people += units->pool[c] == pool ? units->people[c] : 0;
        for (size_t j = 0; j < width; j++) /* one unit alone is taken as it is */
            sums->mean[i * width + j] = people > 1 ? sums->mean[i * width + j] / people : 0;
    }
    if (units->of) {
        PV_GOTO(done, sum_clusters(ctx, &w, &by_unit));
        w.by_unit = by_unit;
    }
    PV_GOTO(done, pv__sum_rows(ctx, by_unit ? units->count : d->rows, shared, all, by_unit ? add_clusters : add_squares,
                               &w, total));
    memcpy(sums->square, total, parts * width * width * sizeof *total);
    memcpy(sums->second, total + parts * width * width, parts * width * sizeof *total);
    memcpy(sums->fourth, total + parts * width * (width + 1), parts * width * sizeof *total);
done:
    pv__free(ctx, by_unit);
    pv__free(ctx, total);
    pv__free(ctx, w.room[0]);
    return status;
}

pv_status pv__units_spread(pv_ctx *ctx, const pv__units *units, size_t parts, size_t width, const double *factor,
                           pv__influence influence, void *state, const pv__unit_sums *sums, double *spread) {
    const pv__units_design *d = &units->design;
    work w = {.units = units,
              .parts = parts,
              .width = width,
              .influence = influence,
              .state = state,
              .mean = sums->mean,
              .factor = factor};
    double *by_unit = NULL;
    pv_status status;
    PV_GOTO(done, work_new(ctx, &w));
    if (units->of) {
        PV_GOTO(done, sum_clusters(ctx, &w, &by_unit));
        w.by_unit = by_unit;
    }
    status = pv__sum_rows(ctx, by_unit ? units->count : d->rows, d->shared && !by_unit, 1,
                          by_unit ? spread_clusters : spread_rows, &w, spread);
done:
    pv__free(ctx, by_unit);
    pv__free(ctx, w.room[0]);
    return status;
}
