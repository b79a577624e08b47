/* Reference ratios: log likelihood ratios log p(1|x)/p(1) - log p(0|x)/p(0) of labelled rows that were not used to fit
 * the model, from which an unknown prevalence is inferred (docs/method.md, 10.5). For a logistic model they are those
 * of the training rows, each from a model fitted without the row's fold. That fit is Newton's method starting at the
 * model of all rows: to convergence if there are few rows per parameter, else one step with the information of a
 * subset.
 *
 * With MANY rows of each label per parameter, leaving some out changes slopes by half a percent, so the rows are scored
 * by the model itself, using MOST evenly spaced rows per label.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/core.h"
#include "data/schema_learn.h"
#include "infer/combined.h"
#include "infer/cross_fit.h"

enum { FEWEST = 20, MOST = 10000, MANY = 200, ENOUGH = 1000000 };
enum { HELD = 4 * PV__CROSS_PARAMS }; /* numbers in the buffer for rows assembled from columns: stacks may be small */

/* ---- the struct -------------------------------------------------------------------------------------------------- */

void pv_reference_free(pv_ctx *ctx, pv_reference *reference) {
    if (!reference)
        return;
    pv__free(ctx, reference->score);
    pv__free(ctx, reference->weight);
    pv__free(ctx, reference->column);
    pv__free(ctx, reference->fold);
    pv__label_cells_free(ctx, reference->cells);
    pv__free(ctx, reference);
}

typedef struct scored {
    double score, weight;
} scored;

static int by_score(const void *a, const void *b) {
    double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return x < y ? -1 : x > y;
}

/* Merges rows of equal score, in order. Returns the number left. */
static size_t join(scored *row, size_t n) {
    size_t made = 0;
    qsort(row, n, sizeof *row, by_score);
    for (size_t i = 0; i < n; i++)
        if (made > 0 && row[made - 1].score == row[i].score)
            row[made - 1].weight += row[i].weight;
        else
            row[made++] = row[i];
    return made;
}

/* If there are too many, merges neighbours into groups of about equal weight. */
static size_t group(scored *row, size_t rows) {
    size_t n = join(row, rows);
    double total = 0, before = 0;
    for (size_t i = 0; i < n; i++)
        total += row[i].weight;
    if (n <= PV_REFERENCE_POINTS)
        return n;
    size_t made = 0, last = SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        size_t slot = (size_t)(PV_REFERENCE_POINTS * ((before + 0.5 * row[i].weight) / total));
        before += row[i].weight;
        if (slot != last) {
            row[made++] = row[i];
        } else {
            scored *to = &row[made - 1];
            to->weight += row[i].weight;
            to->score += (row[i].score - to->score) * row[i].weight / to->weight;
        }
        last = slot;
    }
    return made;
}

pv_status pv_reference_new(pv_ctx *ctx, size_t n, const double *score, const int32_t *label, const double *weight,
                           pv_reference **reference) {
    *reference = NULL;
    pv_reference *made = NULL;
    scored *row[2] = {NULL, NULL};
    size_t count[2] = {0, 0};
    pv_status status;
    for (int y = 0; y < 2; y++)
        PV_GOTO(done, pv__alloc(ctx, n, sizeof *row[y], &row[y]));
    for (size_t i = 0; i < n; i++) {
        double v = weight ? weight[i] : 1;
        if (label[i] != 0 && label[i] != 1)
            PV_GOTO(done, pv__fail(ctx, PV_ERR_INPUT, "row %zu: %d is not a label: 0 or 1", i + 1, (int)label[i]));
        if (!pv_weight_sound(v) || isnan(score[i]))
            PV_GOTO(done, pv__fail(ctx, PV_ERR_INPUT, "row %zu: a weight or a score that is not a number", i + 1));
        if (v > 0)
            row[label[i]][count[label[i]]++] =
                (scored){fmin(fmax(score[i], -PV_REFERENCE_SCORE), PV_REFERENCE_SCORE), v};
    }
    if (count[0] < 2 || count[1] < 2)
        PV_GOTO(done, pv__fail(ctx, PV_ERR_INPUT, "reference rows of one label only:\ngive at least two of each"));
    for (int y = 0; y < 2; y++)
        count[y] = group(row[y], count[y]);
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *made, &made));
    PV_GOTO(done, pv__alloc(ctx, count[0] + count[1], sizeof(double), &made->score));
    PV_GOTO(done, pv__alloc(ctx, count[0] + count[1], sizeof(double), &made->weight));
    for (size_t i = 0; i < count[0] + count[1]; i++) {
        const scored *from = i < count[0] ? &row[0][i] : &row[1][i - count[0]];
        made->score[i] = from->score;
        made->weight[i] = from->weight;
    }
    for (int y = 0; y < 2; y++) {
        made->count[y] = count[y];
        for (size_t i = 0; i < count[y]; i++)
            made->units[y] += row[y][i].weight;
    }
    *reference = made;
    made = NULL;
done:
    pv_reference_free(ctx, made);
    pv__free(ctx, row[0]);
    pv__free(ctx, row[1]);
    return status;
}

/* ---- effective number of rows ---------------------------------------------------------------------------------------
 */

/* The number of people from weights alone: (sum v)^2 / sum v^2 for sampling weights; counts are people. */
static double people_of(const pv__sampled *s, double *share) {
    double sum = 0, squares = 0;
    memset(share, 0, s->cells * sizeof *share);
    for (size_t i = 0; i < s->rows; i++) {
        double own = 0;
        for (size_t k = 0; k < s->cells; k++) {
            own += s->share[i * s->cells + k];
            share[k] += s->share[i * s->cells + k];
        }
        sum += own;
        squares += own * own;
    }
    for (size_t k = 0; k < s->cells && sum > 0; k++)
        share[k] /= sum;
    return s->sampling && squares > 0 ? sum * sum / squares : sum;
}

pv_status pv__effective_units(pv_ctx *ctx, const pv__sampled *s, double *units) {
    double *share, *own = NULL, total = 0, free = 0, variance = 0, met = 0;
    size_t clusters = 0, cells = s->cells;
    pv_status status = PV_OK;
    PV_TRY(pv__alloc(ctx, cells, sizeof *share, &share));
    *units = people_of(s, share);
    for (size_t i = 0; s->cluster && i < s->rows; i++)
        clusters = (size_t)s->cluster[i] + 1 > clusters ? (size_t)s->cluster[i] + 1 : clusters;
    if (clusters == 0)
        goto done;
    PV_GOTO(done, pv__alloc(ctx, clusters, cells * sizeof *own, &own));
    for (size_t i = 0; i < s->rows; i++)
        for (size_t k = 0; k < cells; k++)
            own[(size_t)s->cluster[i] * cells + k] += s->share[i * cells + k];
    for (size_t c = 0; c < clusters; c++) {
        double mass = 0;
        for (size_t k = 0; k < cells; k++)
            mass += own[c * cells + k];
        total += mass;
        met += mass > 0;
        for (size_t k = 0; k < cells; k++)
            variance += (own[c * cells + k] - mass * share[k]) * (own[c * cells + k] - mass * share[k]);
    }
    for (size_t k = 0; k < cells; k++)
        free += share[k] * (1 - share[k]);
    if (variance > 0 && met > 1)
        *units = fmin(*units, total * total * free / variance * (met - 1) / met);
done:
    pv__free(ctx, own);
    pv__free(ctx, share);
    return status;
}

/* For each label, from scores [n] of rows row [n] of a problem, grouped into tenths of the scores. */
static pv_status count_units(pv_ctx *ctx, const pv__problem *problem, size_t n, const double *score,
                             const int32_t *label, const double *weight, const size_t *row, pv_reference *made) {
    enum { CELLS = 10 };
    double edge[CELLS - 1], *share = NULL, *sorted = NULL;
    int32_t *cluster = NULL;
    pv_status status = PV_OK;
    if (!problem->design->cluster && !problem->design->sampling)
        return PV_OK;
    PV_GOTO(done, pv__alloc(ctx, n, CELLS * sizeof *share, &share));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *sorted, &sorted));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *cluster, &cluster));
    memcpy(sorted, score, n * sizeof *sorted);
    for (int j = 0; j < CELLS - 1; j++)
        edge[j] = pv_quantile(n, sorted, (j + 1.0) / CELLS);
    for (size_t i = 0; problem->design->cluster && i < n; i++)
        cluster[i] = problem->design->cluster[row[i]];
    for (int y = 0; y < 2 && status == PV_OK; y++) {
        memset(share, 0, n * CELLS * sizeof *share);
        for (size_t i = 0; i < n; i++) {
            size_t cell = 0;
            while (cell < CELLS - 1 && score[i] > edge[cell])
                cell++;
            share[i * CELLS + cell] = label[i] == y ? weight[i] : 0;
        }
        const pv__sampled how = {n, CELLS, share, problem->design->cluster ? cluster : NULL, problem->design->sampling};
        status = pv__effective_units(ctx, &how, &made->units[y]);
    }
done:
    pv__free(ctx, share);
    pv__free(ctx, sorted);
    pv__free(ctx, cluster);
    return status;
}

/* ---- scores by models without a fold --------------------------------------------------------------------------------
 */

/* Rows, possibly split into pieces, and the models that scored them. */
typedef struct pieces_of {
    double *score, *weight, *fold; /* fold [PV__CROSS_FOLDS][p] */
    int32_t *label;
    size_t *row;
} pieces_of;

/* Scores the rows, piece by piece, each by the model without its fold; *pieces: their number. efficient: the second
 * estimate that is combined with c; NULL: none. */
static pv_status score_folds(pv_ctx *ctx, const pv__cross *c, const pv__cross *efficient, const pv_combination *m,
                             const double *w, double offset, const pieces_of *to, size_t *pieces) {
    *pieces = 0;
    for (size_t k = 0; k < PV__CROSS_FOLDS; k++) {
        bool made = pv__leave_out(c, efficient ? m->weighted : w, k) &&
                    (!efficient || pv__combine_without(c, efficient, m, w, k));
        PV_TRY(pv__go_on(ctx));
        if (!made) {
            *pieces = 0;
            return PV_OK;
        }
        for (size_t i = 0; i < c->n; i++)
            if (c->share[i * PV__CROSS_FOLDS + k] > 0) {
                pv__cross_logits(c, c->w, i, &to->score[*pieces]);
                to->score[*pieces] -= offset;
                to->label[*pieces] = c->problem->targets.label[i];
                to->row[*pieces] = i;
                to->weight[(*pieces)++] = c->share[i * PV__CROSS_FOLDS + k];
            }
        memcpy(to->fold + k * c->p, c->w, c->p * sizeof *c->w);
        to->fold[k * c->p] -= offset;
    }
    return PV_OK;
}

/* ---- reference of a fit ------------------------------------------------------------------------------------------ */

/* Means and variances of the columns by label, from pieces of rows divided among ranks and threads. */
typedef struct moments {
    const pv__problem *problem;
    size_t d, run, stride, rows, width; /* uses every stride-th run of rows, `rows` in all; width: sums per piece */
} moments;

enum { PIECE = 1 << 14, ROOM = 16384, LONGEST = 64 }; /* a run is longer than PV__RUN: there are more of them */

/* Masses [2], means [2][d] and sums of squares about them [2][d] for a piece. */
static void describe_piece(const moments *m, size_t piece, double *sums) {
    const pv_targets *targets = &m->problem->targets;
    size_t end = m->rows - piece * PIECE < PIECE ? m->rows : (piece + 1) * PIECE, d = m->d;
    double room[HELD];
    const double *held = room;
    size_t from = 0, most = HELD / d;
    for (size_t at = piece * PIECE; at < end; at++) {
        size_t first = at - at % m->run, i = first * m->stride + at % m->run;
        if ((at - first) % most == 0) { /* the next rows of the run */
            size_t left = end - at < m->run - at % m->run ? end - at : m->run - at % m->run;
            held = pv__rows_get(NULL, &m->problem->rows, i, left < most ? left : most, room);
            from = at;
        }
        int y = targets->label[i];
        double v = pv__weight(targets, i), *mass = sums + y;
        if (!(v > 0))
            continue;
        *mass += v;
        double share = v / *mass;
        const double *restrict x = held + (at - from) * d;
        double *restrict mean = sums + 2 + (size_t)y * d, *restrict square = mean + 2 * d;
        for (size_t j = 0; j < d; j++) {
            double delta = x[j] - mean[j];
            mean[j] += delta * share;
            square[j] += v * delta * (x[j] - mean[j]);
        }
    }
}

/* Merges the moments of a piece into those of the pieces before it. */
static void add_piece(size_t d, const double *piece, double *sums) {
    for (size_t y = 0; y < 2; y++) {
        double before = sums[y], all = before + piece[y], share = piece[y] / all;
        if (!(piece[y] > 0))
            continue;
        sums[y] = all;
        for (size_t j = 0; j < d; j++) {
            double *mean = &sums[2 + y * d + j], *square = mean + 2 * d;
            const double *own = &piece[2 + y * d + j];
            double delta = *own - *mean;
            *mean = before > 0 ? *mean + delta * share : *own;
            *square += own[2 * d] + (before > 0 ? delta * delta * before * share : 0);
        }
    }
}

static pv_status refer_columns(pv_ctx *ctx, const pv__problem *problem, pv_reference *made) {
    size_t d = (size_t)pv_model_inputs(problem->model), size;
    if (d == 0 || d > PV_REFERENCE_COLUMNS)
        return PV_OK;
    moments m = {.problem = problem, .d = d, .width = 2 + 4 * d};
    m.stride = 1 + problem->rows.n / ENOUGH; /* means and variances from this many rows are accurate enough */
    for (m.run = LONGEST; m.run * d > ROOM;)
        m.run /= 2;
    size_t over = problem->rows.n % (m.run * m.stride);
    m.rows = problem->rows.n / (m.run * m.stride) * m.run + (over < m.run ? over : m.run);
    size_t pieces = (m.rows + PIECE - 1) / PIECE;
    pv__part part = pv__problem_part(ctx, problem, pieces);
    double *own = NULL, *all = NULL, *sums = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, part.last - part.first, m.width * sizeof *own, &own));
    PV_GOTO(done, pv__alloc(ctx, m.width, sizeof *sums, &sums));
    PV_GOTO(done, pv__alloc(ctx, 4 * d, sizeof(double), &made->column));
    made->columns = d;
    PV__EACH_CHUNK_BY(pv__threads_for(ctx, part.last - part.first), part.last - part.first, i,
                      { describe_piece(&m, part.first + i, own + i * m.width); });
    PV_GOTO(done,
            pv__collect(ctx, part.shared, own, (part.last - part.first) * m.width * sizeof *own, (void **)&all, &size));
    for (size_t piece = 0; piece < pieces; piece++)
        add_piece(d, all + piece * m.width, sums);
    memcpy(made->column, sums + 2, 4 * d * sizeof *sums);
    for (size_t j = 0; j < 2 * d; j++)
        made->column[2 * d + j] /= sums[j / d];
done:
    pv__free(ctx, own);
    pv__free(ctx, all);
    pv__free(ctx, sums);
    return status;
}

/* Whether folds can be fitted: a logistic model whose smooth loss is a sum over rows. */
static bool can_cross(const pv__problem *problem) {
    bool profiled = pv_loss_has_marginal(pv__problem_loss(problem));
    return !(problem->targets.classes > PV_REFERENCE_LABELS ||
             (problem->targets.classes > 2 && problem->model->offset) || !problem->targets.label ||
             pv__rows_are_images(&problem->rows) || problem->batch > 0 || problem->unlabelled > 0 ||
             pv__strata_of(problem) || pv_loss_is_relative(pv__problem_loss(problem)) ||
             !pv_model_has_coefficients(problem->model) ||
             (profiled && problem->plan->options.marginal != PV_MARGINAL_PROFILE) ||
             (problem->plan->map && problem->plan->prior.kind == PV_PRIOR_LAPLACE));
}

/* ---- evenly spaced rows of each label, scored by the model itself ------------------------------------------------ */

/* The number of rows of each label, and of those that count: in total, and before this rank's. */
typedef struct counts {
    size_t all[2], before[2], own[2], counting[2];
    size_t begin, end; /* range of the rank's rows */
} counts;

static pv_status count_rows(pv_ctx *ctx, const pv__problem *problem, counts *c) {
    const pv_targets *t = &problem->targets;
    size_t chunks = pv__chunks(t->n), units = pv__reduce_units(chunks), size;
    pv__part part = pv__problem_part(ctx, problem, units);
    uint64_t mine[4] = {0}, *each;
    int rank;
    (void)pv_ctx_ranks(ctx, &rank);
    c->begin = part.first * chunks / units * PV_CHUNK;
    c->end = part.last * chunks / units * PV_CHUNK;
    c->end = c->end < t->n ? c->end : t->n;
    pv_targets slice = pv__targets_slice(t, c->begin, c->end - c->begin);
    double mass[2];
    if (!t->weight)
        pv_label_mass(&slice, mass);
    for (int y = 0; !t->weight && y < 2; y++)
        mine[y] = mine[2 + y] = (uint64_t)mass[y];
    for (size_t i = c->begin; t->weight && i < c->end; i++) {
        mine[t->label[i]]++;
        mine[2 + t->label[i]] += t->weight[i] > 0;
    }
    PV_TRY(pv__collect(ctx, part.shared, mine, sizeof mine, (void **)&each, &size));
    for (size_t r = 0; r < size / sizeof mine; r++)
        for (int y = 0; y < 2; y++) {
            c->all[y] += (size_t)each[4 * r + (size_t)y];
            c->counting[y] += (size_t)each[4 * r + 2 + (size_t)y];
            c->before[y] += part.shared && (int)r < rank ? (size_t)each[4 * r + (size_t)y] : 0;
        }
    c->own[0] = (size_t)mine[0];
    c->own[1] = (size_t)mine[1];
    pv__free(ctx, each);
    return PV_OK;
}

typedef struct picked {
    double score, weight;
    int64_t label, row;
} picked;

/* A buffer of adjacent rows assembled from columns, some of which are needed. */
typedef struct nearby {
    size_t first, rows;
    const double *x;
    double room[HELD];
} nearby;

static double logit_near(const pv__cross *c, const double *w, size_t i, nearby *near) {
    size_t left = c->problem->rows.n - i;
    double z;
    if (!c->problem->rows.made)
        return pv__cross_logits(c, w, i, &z), z;
    if (i < near->first || i - near->first >= near->rows) {
        near->first = i;
        near->rows = HELD / (size_t)pv_model_inputs(c->problem->model);
        near->rows = near->rows < PV__RUN ? near->rows : PV__RUN;
        near->rows = left < near->rows ? left : near->rows;
        near->x = pv__rows_get(NULL, &c->problem->rows, i, near->rows, near->room);
    }
    size_t d = (size_t)pv_model_inputs(c->problem->model);
    return pv__cross_logit(c, w, near->x + (i - near->first) * d + c->problem->model->offset);
}

/* Selects runs of rows at equal distances for each label. *made, freed by the caller: *count of all rows. */
static pv_status pick_rows(pv_ctx *ctx, const pv__cross *c, const counts *rows, const double *w, double offset,
                           picked **made, size_t *count) {
    const pv_targets *t = &c->problem->targets;
    size_t every[2], at[2], own = 0, room = 0;
    nearby near;
    near.first = near.rows = 0;
    for (int y = 0; y < 2; y++) {
        every[y] = (rows->all[y] + MOST - 1) / MOST;
        at[y] = rows->before[y];
        room += (rows->own[y] / (PV__RUN * every[y]) + 2) * PV__RUN;
    }
    picked *mine;
    PV_TRY(pv__alloc(ctx, room, sizeof *mine, &mine));
    for (size_t i = rows->begin; i < rows->end; i++) {
        int32_t y = t->label[i];
        if (at[y]++ / PV__RUN % every[y] != 0)
            continue;
        double score = logit_near(c, w, i, &near) - offset;
        mine[own++] = (picked){.score = score, .weight = pv__weight(t, i), .label = y, .row = (int64_t)i};
    }
    pv_status status = pv__collect(ctx, c->problem->shared, mine, own * sizeof *mine, (void **)made, count);
    *count /= sizeof *mine;
    pv__free(ctx, mine);
    return status;
}

/* The reference from evenly spaced rows. */
static pv_status refer_to_some(pv_ctx *ctx, const pv__cross *c, const counts *rows, const double *w, double offset,
                               pv_reference **made) {
    picked *all = NULL;
    size_t n;
    double *score = NULL;
    int32_t *label = NULL;
    size_t *row = NULL;
    pv_status status;
    PV_GOTO(done, pick_rows(ctx, c, rows, w, offset, &all, &n));
    PV_GOTO(done, pv__alloc(ctx, n, 2 * sizeof *score, &score));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *label, &label));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *row, &row));
    for (size_t i = 0; i < n; i++) {
        score[i] = all[i].score;
        score[n + i] = all[i].weight;
        label[i] = (int32_t)all[i].label;
        row[i] = (size_t)all[i].row;
    }
    if (!score || !label || !row)
        goto done;
    PV_GOTO(done, pv_reference_new(ctx, n, score, label, score + n, made));
    status = count_units(ctx, c->problem, n, score, label, score + n, row, *made);
done:
    pv__free(ctx, all);
    pv__free(ctx, score);
    pv__free(ctx, label);
    pv__free(ctx, row);
    return status;
}

/* ---- rows scored by models fitted without them ------------------------------------------------------------------- */

/* *made NULL: not possible. */
static pv_status refer_to_folds(pv_ctx *ctx, pv__cross *c, const pv_classifier *classifier, double offset,
                                pv_reference **made) {
    const pv_combination *m = classifier->combination;
    bool both = m && pv__has_combination(c->problem) && m->use != PV_ESTIMATE_EFFICIENT;
    pv__cross other = {.ctx = c->ctx, .problem = c->problem, .n = c->n, .p = c->p, .logits = 1, .size = c->p};
    size_t pieces = 0, room = c->problem->targets.weight ? PV__CROSS_FOLDS * c->n : c->n;
    pieces_of all = {.score = NULL};
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, room, 2 * sizeof *all.score, &all.score));
    PV_GOTO(done, pv__alloc(ctx, room, sizeof *all.label, &all.label));
    PV_GOTO(done, pv__alloc(ctx, room, sizeof *all.row, &all.row));
    PV_GOTO(done, pv__alloc(ctx, PV__CROSS_FOLDS, c->p * sizeof *all.fold, &all.fold));
    all.weight = all.score + room;
    PV_GOTO(done, pv__cross_new(ctx, c->problem, both ? m->weighted : classifier->w, both, c));
    if (both)
        PV_GOTO(done, pv__cross_new(ctx, c->problem, m->efficient, false, &other));
    PV_GOTO(done, pv__go_on(ctx));
    PV_GOTO(done, score_folds(ctx, c, both ? &other : NULL, m, classifier->w, offset, &all, &pieces));
    if (pieces == 0 || !all.score || !all.label)
        goto done;
    PV_GOTO(done, pv_reference_new(ctx, pieces, all.score, all.label, all.weight, made));
    PV_GOTO(done, count_units(ctx, c->problem, pieces, all.score, all.label, all.weight, all.row, *made));
    (*made)->folds = PV__CROSS_FOLDS;
    (*made)->params = c->p;
    (*made)->fold = all.fold;
    all.fold = NULL;
done:
    pv__free(ctx, all.score);
    pv__free(ctx, all.label);
    pv__free(ctx, all.row);
    pv__free(ctx, all.fold);
    pv__free(ctx, other.share);
    pv__free(ctx, other.total);
    return status;
}

pv_status pv__reference_of_ratios(pv_ctx *ctx, const pv__problem *problem, const pv_dataset *data, size_t n,
                                  const size_t *row, const double *ratio, pv_reference **reference) {
    size_t of_label[2] = {0, 0};
    double *weight;
    int32_t *label;
    PV_TRY(pv__alloc(ctx, n, sizeof *weight, &weight));
    pv_status status = pv__alloc(ctx, n, sizeof *label, &label);
    for (size_t i = 0; status == PV_OK && i < n; i++) {
        weight[i] = data->weight ? data->weight[row[i]] : 1;
        label[i] = data->label[row[i]];
        of_label[label[i]] += weight[i] > 0;
    }
    if (status == PV_OK && of_label[0] >= FEWEST && of_label[1] >= FEWEST)
        status = pv_reference_new(ctx, n, ratio, label, weight, reference);
    if (status == PV_OK && *reference) /* counts in pieces are different rows, without clusters or sampling weights */
        status = count_units(ctx, problem, n, ratio, label, weight, row, *reference);
    if (status == PV_OK && *reference)
        status = refer_columns(ctx, problem, *reference);
    pv__free(ctx, weight);
    pv__free(ctx, label);
    return status;
}

pv_status pv__reference_of_fit(pv_ctx *ctx, const pv__problem *problem, pv_classifier *classifier) {
    size_t params = pv_model_params(problem->model);
    if (problem->plan->misread || !can_cross(problem) || params > PV__CROSS_PARAMS ||
        classifier->stop == PV_STOP_INTERRUPTED || classifier->stop == PV_STOP_DIVERGED)
        return PV_OK;
    size_t logits = (size_t)problem->targets.classes - 1;
    pv__cross c = {
        .ctx = ctx, .problem = problem, .n = problem->rows.n, .p = params, .logits = logits, .size = params / logits};
    counts rows = {0};
    double offset = classifier->log_marginal[1] - classifier->log_marginal[0], fewest = problem->mass[0];
    for (size_t y = 1; y <= logits; y++)
        fewest = fmin(fewest, problem->mass[y]);
    bool many = fewest >= (double)(MANY * c.size);
    pv_status status;
    if (logits > 1) {
        status = pv__label_cells_of_fit(ctx, &c, classifier, many, &classifier->reference);
        goto done;
    }
    PV_GOTO(done, count_rows(ctx, problem, &rows));
    if (rows.counting[0] < FEWEST || rows.counting[1] < FEWEST)
        goto done;
    PV_GOTO(done, many ? refer_to_some(ctx, &c, &rows, classifier->w, offset, &classifier->reference)
                       : refer_to_folds(ctx, &c, classifier, offset, &classifier->reference));
    if (classifier->reference) {
        status = refer_columns(ctx, problem, classifier->reference);
        classifier->passes += problem->batch > 0 ? 0 : 1 / (1 + floor((double)problem->rows.n / (double)ENOUGH));
    }
done:
    if (status == PV_ERR_INTERRUPTED) {
        classifier->stop = PV_STOP_INTERRUPTED;
        status = PV_OK;
    }
    pv__free(ctx, c.share);
    pv__free(ctx, c.total);
    return status;
}
