/* Reference rows of three or more labels: the number of people of each label in each cell (docs/method.md, 10.5).
 *
 * A row is assigned to the label with the largest ratio r(y), which does not depend on the prevalence; its confidence
 * is that ratio divided by the sum of all. Rows assigned to a label are split at the median confidence, with equal
 * weight on each label of the reference and equal values together; they are not split if either part has fewer than
 * FEW_PEOPLE. Every row is scored by a model fitted without it, using the sample's likelihood; with many rows per
 * parameter, by the model itself.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "infer/combined.h"
#include "infer/cross_fit.h"

enum { FEWEST = 20, FEW_PEOPLE = 16, MOST = 10000 };

pv_status pv__label_cells_alloc(pv_ctx *ctx, int classes, pv_label_cells **cells) {
    pv_label_cells *made;
    *cells = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->classes = classes;
    pv_status status = pv__alloc(ctx, pv__label_cells_numbers(classes), sizeof *made->cut, &made->cut);
    if (status != PV_OK) {
        pv__free(ctx, made);
        return status;
    }
    made->units = made->cut + classes;
    made->known = made->units + classes;
    *cells = made;
    return PV_OK;
}

void pv__label_cells_free(pv_ctx *ctx, pv_label_cells *cells) {
    if (!cells)
        return;
    pv__free(ctx, cells->cut);
    pv__free(ctx, cells);
}

/* The label with the largest ratio, and that ratio divided by the sum of all. */
static size_t favoured(int classes, const double *score, double *confidence) {
    size_t best = 0;
    double top = 0, sum = 0;
    for (size_t y = 1; y < (size_t)classes; y++)
        if (score[y - 1] > top) {
            top = score[y - 1];
            best = y;
        }
    for (size_t y = 0; y < (size_t)classes; y++)
        sum += exp((y ? score[y - 1] : 0) - top);
    *confidence = 1 / sum;
    return best;
}

size_t pv__label_cell_of(const pv_label_cells *cells, const double *score) {
    double confidence;
    size_t best = favoured(cells->classes, score, &confidence);
    return 2 * best + (confidence > cells->cut[best]);
}

/* ---- splits ------------------------------------------------------------------------------------------------------ */

typedef struct sure {
    double confidence, share, people;
    size_t label;
} sure;

static int by_confidence(const void *a, const void *b) {
    const sure *x = a, *y = b;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return x->confidence < y->confidence ? -1 : x->confidence > y->confidence;
}

/* The split of rows of one label, in order. */
static double cut_of(const sure *row, size_t n) {
    double all = 0, people = 0, before = 0, below = 0;
    for (size_t i = 0; i < n; i++) {
        all += row[i].share;
        people += row[i].people;
    }
    for (size_t i = 0, end; i < n; i = end) {
        double here = 0, count = 0;
        for (end = i; end < n && row[end].confidence == row[i].confidence; end++) {
            here += row[end].share;
            count += row[end].people;
        }
        if (before + 0.5 * here > 0.5 * all)
            return i > 0 && below >= FEW_PEOPLE && people - below >= FEW_PEOPLE
                       ? 0.5 * (row[i - 1].confidence + row[i].confidence)
                       : 1;
        before += here;
        below += count;
    }
    return 1;
}

static pv_status cut(pv_ctx *ctx, const pv__scored_rows *r, const double *mass, pv_label_cells *cells) {
    sure *all;
    PV_TRY(pv__alloc(ctx, r->n, sizeof *all, &all));
    for (size_t i = 0; i < r->n; i++) {
        all[i].label = favoured(r->classes, r->score + i * (size_t)(r->classes - 1), &all[i].confidence);
        all[i].share = r->weight[i] / mass[r->label[i]];
        all[i].people = r->weight[i];
    }
    qsort(all, r->n, sizeof *all, by_confidence);
    for (size_t y = 0, from = 0, to; y < (size_t)r->classes; y++, from = to) {
        for (to = from; to < r->n && all[to].label == y;)
            to++;
        cells->cut[y] = cut_of(all + from, to - from);
    }
    pv__free(ctx, all);
    return PV_OK;
}

/* ---- counts ------------------------------------------------------------------------------------------------------ */

/* The effective number of people of each label. */
static pv_status count(pv_ctx *ctx, const pv__scored_rows *r, const double *mass, pv_label_cells *cells) {
    size_t k = (size_t)r->classes, width = 2 * k;
    double *share = NULL;
    pv_status status = PV_OK;
    for (size_t i = 0; i < r->n; i++)
        cells->known[(size_t)r->label[i] * width + pv__label_cell_of(cells, r->score + i * (k - 1))] += r->weight[i];
    memcpy(cells->units, mass, k * sizeof *mass);
    if (r->cluster || r->sampling)
        PV_TRY(pv__alloc(ctx, r->n, width * sizeof *share, &share));
    for (size_t y = 0; share && y < k && status == PV_OK; y++) {
        memset(share, 0, r->n * width * sizeof *share);
        for (size_t i = 0; i < r->n; i++)
            if (r->label[i] == (int32_t)y)
                share[i * width + pv__label_cell_of(cells, r->score + i * (k - 1))] = r->weight[i];
        const pv__sampled how = {r->n, width, share, r->cluster, r->sampling};
        status = pv__effective_units(ctx, &how, &cells->units[y]);
        for (size_t c = 0; c < width; c++)
            cells->known[y * width + c] *= cells->units[y] / mass[y];
    }
    pv__free(ctx, share);
    return status;
}

pv_status pv__label_cells_new(pv_ctx *ctx, const pv__scored_rows *r, pv_label_cells **cells) {
    double mass[PV_REFERENCE_LABELS] = {0};
    size_t counting[PV_REFERENCE_LABELS] = {0};
    *cells = NULL;
    if (r->classes > PV_REFERENCE_LABELS)
        return PV_OK;
    for (size_t i = 0; i < r->n; i++) {
        mass[r->label[i]] += r->weight[i];
        counting[r->label[i]] += r->weight[i] > 0;
    }
    for (int y = 0; y < r->classes; y++)
        if (counting[y] < FEWEST)
            return PV_OK;
    pv_label_cells *made;
    PV_TRY(pv__label_cells_alloc(ctx, r->classes, &made));
    pv_status status = cut(ctx, r, mass, made);
    if (status == PV_OK)
        status = count(ctx, r, mass, made);
    if (status == PV_OK)
        *cells = made;
    else
        pv__label_cells_free(ctx, made);
    return status;
}

/* ---- reference of a fit ------------------------------------------------------------------------------------------ */

typedef struct pieces {
    size_t n;
    double *score, *weight, *fold;
    int32_t *label, *cluster;
} pieces;

static void put(const pv__cross *c, const double *w, const double *offset, size_t i, double weight, pieces *to) {
    double *z = to->score + to->n * c->logits;
    pv__cross_logits(c, w, i, z);
    for (size_t l = 0; l < c->logits; l++)
        z[l] = fmin(fmax(z[l] - offset[l], -PV_REFERENCE_SCORE), PV_REFERENCE_SCORE);
    to->label[to->n] = c->problem->targets.label[i];
    to->cluster[to->n] = c->problem->design->cluster ? c->problem->design->cluster[i] : 0;
    to->weight[to->n++] = weight;
}

/* Scores each row by the model without its fold; no rows if a fold cannot be fitted. */
static pv_status put_folds(pv_ctx *ctx, pv__cross *c, const double *w, const double *offset, pieces *to) {
    PV_TRY(pv__alloc(ctx, PV__CROSS_FOLDS, c->p * sizeof *to->fold, &to->fold));
    PV_TRY(pv__cross_new(ctx, c->problem, w, false, c));
    for (size_t k = 0; k < PV__CROSS_FOLDS; k++) {
        bool made = pv__leave_out(c, w, k);
        PV_TRY(pv__go_on(ctx));
        if (!made) {
            to->n = 0;
            return PV_OK;
        }
        for (size_t i = 0; i < c->n; i++)
            if (c->share[i * PV__CROSS_FOLDS + k] > 0)
                put(c, c->w, offset, i, c->share[i * PV__CROSS_FOLDS + k], to);
        memcpy(to->fold + k * c->p, c->w, c->p * sizeof *c->w);
        for (size_t l = 0; l < c->logits; l++)
            to->fold[k * c->p + l * c->size] -= offset[l];
    }
    return PV_OK;
}

/* Scores evenly spaced rows of each label by the model itself. */
static void put_some(const pv__cross *c, const double *w, const double *offset, pieces *to) {
    const pv_targets *t = &c->problem->targets;
    size_t all[PV_REFERENCE_LABELS] = {0}, at[PV_REFERENCE_LABELS] = {0};
    for (size_t i = 0; i < c->n; i++)
        all[t->label[i]]++;
    for (size_t i = 0; i < c->n; i++) {
        size_t y = (size_t)t->label[i];
        if (at[y]++ / PV__RUN % ((all[y] + MOST - 1) / MOST) == 0)
            put(c, w, offset, i, pv__weight(t, i), to);
    }
}

pv_status pv__label_cells_of_fit(pv_ctx *ctx, pv__cross *c, const pv_classifier *classifier, bool many,
                                 pv_reference **made) {
    const pv_combination *m = classifier->combination;
    const double *w = m && pv__has_combination(c->problem) ? m->efficient : classifier->w;
    double offset[PV_REFERENCE_LABELS] = {0};
    size_t room = many ? c->logits * (MOST + 2 * PV__RUN) + MOST + 2 * PV__RUN : PV__CROSS_FOLDS * c->n;
    pieces all = {.n = 0};
    pv_label_cells *cells = NULL;
    pv_status status;
    room = many || c->problem->targets.weight ? room : c->n;
    for (size_t l = 0; l < c->logits; l++)
        offset[l] = classifier->log_marginal[l + 1] - classifier->log_marginal[0];
    PV_GOTO(done, pv__alloc(ctx, room, c->logits * sizeof *all.score, &all.score));
    PV_GOTO(done, pv__alloc(ctx, room, sizeof *all.weight, &all.weight));
    PV_GOTO(done, pv__alloc(ctx, room, sizeof *all.label, &all.label));
    PV_GOTO(done, pv__alloc(ctx, room, sizeof *all.cluster, &all.cluster));
    if (many)
        put_some(c, classifier->w, offset, &all);
    else
        PV_GOTO(done, put_folds(ctx, c, w, offset, &all));
    const pv__scored_rows rows = {.n = all.n,
                                  .classes = (int)c->logits + 1,
                                  .score = all.score,
                                  .weight = all.weight,
                                  .label = all.label,
                                  .cluster = c->problem->design->cluster ? all.cluster : NULL,
                                  .sampling = c->problem->design->sampling};
    PV_GOTO(done, pv__label_cells_new(ctx, &rows, &cells));
    if (!cells)
        goto done;
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof **made, made));
    (*made)->cells = cells;
    cells = NULL;
    if (many)
        goto done;
    (*made)->folds = PV__CROSS_FOLDS;
    (*made)->params = c->p;
    (*made)->fold = all.fold;
    all.fold = NULL;
done:
    pv__label_cells_free(ctx, cells);
    pv__free(ctx, all.score);
    pv__free(ctx, all.weight);
    pv__free(ctx, all.label);
    pv__free(ctx, all.cluster);
    pv__free(ctx, all.fold);
    return status;
}
