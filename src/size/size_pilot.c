/* The distribution of scores in a pilot: its cases and controls, as they are.
 *
 * Scores x (log odds where all lie strictly between 0 and 1) are calibrated first: a + b x is fitted to the pilot's
 * labels by maximum likelihood, and s = a + b x - log(n_1/n_0) is the log-likelihood ratio. Only a rising relation is
 * accepted, with cases and controls that overlap: otherwise a maximum does not exist.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "core/core.h"
#include "data/data.h"
#include "size/size.h"

enum { STEPS = 60, FEWEST = 10 };

typedef struct row {
    double score;
    int32_t label; /* 1: case */
} row;
typedef struct pilot {
    pv_ctx *ctx;
    const pv_table *table;
    size_t rows, score, outcome; /* columns */
    row *row;
    char *label[2];
    double people[2];
} pilot;

static pv_status add_label(pilot *p, size_t i, int32_t *code) {
    const pv_column *column = &p->table->column[p->outcome];
    char number[PV__NUMBER_TEXT];
    if (pv__cell_missing(column, i))
        return PV__FAIL_CELL(p->ctx, p->table, i, p->outcome,
                             "column '%s' (`outcome`) is empty here;\nfill it in, or leave the row out",
                             pv__show(column->name).text);
    const char *text = pv__cell_text(column, i, number);
    for (*code = 0; *code < 2 && p->label[*code]; ++*code)
        if (strcmp(p->label[*code], text) == 0)
            return PV_OK;
    if (*code == 2)
        return PV__FAIL_CELL(p->ctx, p->table, i, p->outcome,
                             "'%s' is a third label of column '%s' (`outcome`);\nname a column with two labels",
                             pv__show(text).text, pv__show(column->name).text);
    return pv__strdup(p->ctx, text, &p->label[*code]);
}

static pv_status find_positive(const pilot *p, const pv_size_options *o, int *positive) {
    *positive = p->label[1] ? pv_labels_positive((const char *const *)p->label) : -1;
    if (!p->label[1])
        return pv__fail(p->ctx, PV_ERR_INPUT,
                        "%s: column '%s' (`outcome`) has one label only, '%s';\na pilot needs cases and controls",
                        p->table->source, pv__show(o->outcome).text, pv__show(p->label[0]).text);
    if (o->positive) {
        *positive = pv__label_find(p->label, 2, o->positive, strlen(o->positive));
        if (*positive < 0)
            return pv__no_label(p->ctx, "`positive`", o->positive, strlen(o->positive), p->label, 2);
    }
    if (*positive < 0)
        return pv__fail(p->ctx, PV_ERR_USAGE,
                        "which label of column '%s' is that of cases, '%s' or '%s'?\nsay so with `positive`",
                        pv__show(o->outcome).text, pv__show(p->label[0]).text, pv__show(p->label[1]).text);
    return PV_OK;
}

static pv_status read_rows(pilot *p, const pv_size_options *o) {
    bool probabilities = true;
    int positive;
    PV_TRY(pv__number_column(p->ctx, p->table, "`score`", o->score, &p->score));
    PV_TRY(pv_table_find(p->ctx, p->table, "`outcome`", o->outcome, &p->outcome));
    PV_TRY(pv__alloc(p->ctx, p->rows, sizeof *p->row, &p->row));
    for (size_t i = 0; i < p->rows; i++) {
        double x = pv__cell_number(&p->table->column[p->score], i);
        if (!isfinite(x))
            return PV__FAIL_CELL(p->ctx, p->table, i, p->score,
                                 "column '%s' (`score`) %s;\nfill it in, or leave the row out", pv__show(o->score).text,
                                 isnan(x) ? "is empty here" : "is not finite here");
        p->row[i].score = x;
        probabilities = probabilities && x > 0 && x < 1;
        PV_TRY(add_label(p, i, &p->row[i].label));
    }
    PV_TRY(find_positive(p, o, &positive));
    for (size_t i = 0; i < p->rows; i++) {
        p->row[i].label = p->row[i].label == positive;
        p->row[i].score = probabilities ? pv_logit(p->row[i].score) : p->row[i].score;
        p->people[p->row[i].label]++;
    }
    if (fmin(p->people[0], p->people[1]) < FEWEST)
        return pv__fail(p->ctx, PV_ERR_INPUT,
                        "%s: the pilot has %.0f cases and %.0f controls;\nits scores tell a distribution from %d of "
                        "each on",
                        p->table->source, p->people[1], p->people[0], FEWEST);
    return PV_OK;
}

static int by_score(const void *a, const void *b) {
    const row *x = a, *y = b;
    return x->score < y->score ? -1 : x->score > y->score ? 1 : x->label - y->label;
}

/* Mean and standard deviation; scores are standardised by them. */
static bool standardise(pilot *p) {
    double mean = 0, square = 0;
    for (size_t i = 0; i < p->rows; i++)
        mean += p->row[i].score / (double)p->rows;
    for (size_t i = 0; i < p->rows; i++)
        square += pow(p->row[i].score - mean, 2) / (double)p->rows;
    for (size_t i = 0; i < p->rows; i++)
        p->row[i].score = (p->row[i].score - mean) / sqrt(square);
    return square > 0 && isfinite(square);
}

static double loss_of(const pilot *p, const double *b) {
    double loss = 0;
    for (size_t i = 0; i < p->rows; i++)
        loss -= pv_log_sigmoid((p->row[i].label ? 1 : -1) * (b[0] + b[1] * p->row[i].score));
    return loss;
}

/* Newton's method with halved steps; false: it finds none. */
static bool calibrate(const pilot *p, double *b) {
    b[0] = log(p->people[1] / p->people[0]);
    b[1] = 0;
    double loss = loss_of(p, b);
    for (int step = 0; step < STEPS; step++) {
        double g[2] = {0}, a[4] = {0}, next[2], moved;
        for (size_t i = 0; i < p->rows; i++) {
            double x = p->row[i].score, q = pv_sigmoid(b[0] + b[1] * x), w = q * (1 - q), r = p->row[i].label - q;
            g[0] += r;
            g[1] += r * x;
            a[0] += w;
            a[1] += w * x;
            a[3] += w * x * x;
        }
        a[2] = a[1];
        if (!pv__solve_small(2, a, g) || !isfinite(g[0]) || !isfinite(g[1]))
            return false;
        double scale = 2;
        do {
            scale *= 0.5;
            next[0] = b[0] + scale * g[0];
            next[1] = b[1] + scale * g[1];
            moved = loss_of(p, next);
        } while (!(moved <= loss) && scale > 1e-8);
        b[0] = next[0];
        b[1] = next[1];
        if (fabs(loss - moved) <= 1e-13 * loss && scale * fmax(fabs(g[0]), fabs(g[1])) < 1e-7)
            return true;
        loss = moved;
    }
    return false;
}

/* Rows that are sorted: the AUC, and the variances of placements. Cases are ranked above controls of lower scores. */
static void put_placements(const pilot *p, pv__size_scores *to) {
    double below[2] = {0}, sum[2] = {0}, square[2] = {0};
    for (size_t i = 0, end; i < p->rows; i = end) {
        double tied[2] = {0};
        for (end = i; end < p->rows && p->row[end].score <= p->row[i].score; end++)
            tied[p->row[end].label]++;
        for (int y = 0; y < 2; y++) {
            double at = (below[!y] + 0.5 * tied[!y]) / p->people[!y], own = y ? at : 1 - at;
            sum[y] += tied[y] * own / p->people[y];
            square[y] += tied[y] * own * own / p->people[y];
        }
        below[0] += tied[0];
        below[1] += tied[1];
    }
    to->auc = sum[1];
    for (int y = 0; y < 2; y++)
        to->placement[y] = fmax(0, square[y] - sum[y] * sum[y]);
}

static pv_status scores_of(pilot *p, const pv_size_options *o, pv__size_scores *to) {
    double b[2];
    if (!standardise(p))
        return pv__fail(p->ctx, PV_ERR_INPUT,
                        "%s: column '%s' (`score`) has one value only, or numbers too large to "
                        "compare;\nname a column of scores",
                        p->table->source, pv__show(o->score).text);
    qsort(p->row, p->rows, sizeof *p->row, by_score);
    put_placements(p, to);
    if (!(to->auc > 0.5))
        return pv__fail(p->ctx, PV_ERR_INPUT,
                        "%s: column '%s' (`score`) ranks cases below controls: its AUC is %.3f;\nname a score that "
                        "rises with the risk, or the other label with `positive`",
                        p->table->source, pv__show(o->score).text, to->auc);
    if (!calibrate(p, b) || !(b[1] > 0))
        return pv__fail(p->ctx, PV_ERR_INPUT,
                        "%s: column '%s' (`score`) separates cases from controls, so that no risk can be fitted to "
                        "it;\nuse scores from rows that the model was not fitted to (prevail cv)",
                        p->table->source, pv__show(o->score).text);
    PV_TRY(pv__size_scores_new(p->ctx, p->rows, to));
    for (size_t i = 0; i < p->rows; i++) {
        int y = p->row[i].label;
        to->score[i] = b[0] + b[1] * p->row[i].score - log(p->people[1] / p->people[0]);
        to->mass[y][i] = 1 / p->people[y];
        to->mass[!y][i] = 0;
    }
    to->people[0] = p->people[0];
    to->people[1] = p->people[1];
    return PV_OK;
}

pv_status pv__size_pilot(pv_ctx *ctx, const pv_table *table, const pv_size_options *options, pv__size_scores *scores) {
    pilot p = {.ctx = ctx, .table = table, .rows = table->rows};
    pv_status status = read_rows(&p, options);
    if (status == PV_OK)
        status = scores_of(&p, options, scores);
    pv__free(ctx, p.row);
    pv__free(ctx, p.label[0]);
    pv__free(ctx, p.label[1]);
    return status;
}
