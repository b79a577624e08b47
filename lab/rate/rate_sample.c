/* Samples of the study of rates, their estimates, and those of other methods.
 *
 * Peers of the kinds test and sharp, all nominal 95 %:
 *   by label    Lang and Reiczigel (2014): Rogan and Gladen's estimate, a person of each kind added to sensitivity and
 *               specificity and z^2/2 to the apparent rate, moved by 2 z^2 (pi Se(1-Se)/nSe - (1-pi) Sp(1-Sp)/nSp)
 *   by verdict  Wald's of the stratified estimate
 *   at random   prediction-powered inference with the best multiple of the prediction (Angelopoulos et al. 2023)
 */
#include "lab/rate/rate.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>

static const double Z = 1.959963984540054;

/* Rows as they are drawn: -1 where a gold row's label is not asked for. */
typedef struct drawn {
    size_t rows;
    double *verdict; /* or score */
    int32_t *label, *stratum, *cluster;
} drawn;

static drawn drawn_new(size_t rows) {
    return (drawn){rows, cli_alloc(rows, sizeof(double)), cli_alloc(rows, sizeof(int32_t)),
                   cli_alloc(rows, sizeof(int32_t)), cli_alloc(rows, sizeof(int32_t))};
}

static void drawn_free(drawn *d) {
    free(d->verdict);
    free(d->label);
    free(d->stratum);
    free(d->cluster);
}

/* ---- the population ---------------------------------------------------------------------------------------------- */

static double verdict_of(const rate_cell *c, pv_rng *rng, int32_t label, int32_t stratum) {
    double u = pv_rng_uniform(rng);
    switch (c->kind) {
    case RATE_SHARP:
        return u < (label == 1 ? 0.97 : 0.005);
    case RATE_SCORES:
        return pv_rng_normal(rng) + 1.5 * label;
    case RATE_LABELS:
        return u < 0.8 ? label : (label + (u < 0.9 ? 1 : 2)) % 3;
    case RATE_STRATA:
        return u < (label == 1 ? 0.8 + 0.1 * stratum : 0.1 - 0.05 * stratum);
    default:
        return u < (label == 1 ? 0.85 : 0.07);
    }
}

/* A row of the population, or of a label of it (label >= 0). */
static void draw_row(const rate_cell *c, pv_rng *rng, int32_t label, drawn *d, size_t i) {
    double rate = c->rate;
    int32_t stratum = c->kind == RATE_STRATA ? pv_rng_uniform(rng) < 0.5 : 0;
    rate *= c->kind == RATE_STRATA ? 0.5 + stratum : 1;
    if (label < 0) {
        double u = pv_rng_uniform(rng);
        label = u < rate;
        if (c->kind == RATE_LABELS && !label)
            label = u < rate + 0.5 * (1 - rate) ? 0 : 2;
        /* four persons of five are of one label throughout */
        if (c->kind == RATE_CLUSTERS && i % RATE_PERSON > 0 && pv_rng_uniform(rng) < 0.8)
            label = d->label[i - i % RATE_PERSON];
    }
    d->stratum[i] = stratum;
    d->cluster[i] = (int32_t)(i / RATE_PERSON);
    d->label[i] = label;
    d->verdict[i] = verdict_of(c, rng, label, stratum);
}

static size_t wanted(double rows) {
    return (size_t)floor(rows + 0.5);
}

/* Gold rows of each label. */
static drawn gold_by_label(const rate_cell *c, const double *gold, pv_rng *rng) {
    size_t labels = c->kind == RATE_LABELS ? 3 : 2, at = 0, all = 0;
    for (size_t y = 0; y < labels; y++)
        all += wanted(gold[y == 1]);
    drawn d = drawn_new(all);
    for (size_t y = 0; y < labels; y++)
        for (size_t i = 0; i < wanted(gold[y == 1]); i++)
            draw_row(c, rng, (int32_t)y, &d, at++);
    for (size_t i = 0; c->kind == RATE_STRATA && i < all; i++) { /* the same number in both */
        d.stratum[i] = (int32_t)(i % 2);
        d.verdict[i] = verdict_of(c, rng, d.label[i], d.stratum[i]);
    }
    return d;
}

/* Leaves the labels of rows that were drawn for it, by verdict or at random, in known; the others are -1. Rows are in
 * random order, so that the first are as good as any. Persons are drawn whole. */
static void ask(const rate_cell *c, const double *gold, const drawn *d, int32_t *known) {
    size_t left[2] = {wanted(gold[0]), wanted(gold[1])}, both = left[0] + left[1];
    for (size_t i = 0; i < d->rows; i++) {
        int v = d->verdict[i] > 0.5;
        bool take = c->by == RATE_AT_RANDOM ? i < both : left[v] > 0;
        left[v] -= take && c->by == RATE_BY_VERDICT;
        known[i] = take ? d->label[i] : -1;
    }
}

/* ---- estimates --------------------------------------------------------------------------------------------------- */

static pv_status table_of(pv_ctx *ctx, const rate_cell *c, const drawn *d, const int32_t *known, pv_table **table) {
    static const char *const names[] = {"0", "1", "2"};
    PV_TRY(pv_table_new(ctx, "drawn", d->rows, table));
    PV_TRY(pv_table_add_numbers(ctx, *table, "verdict", PV_ARRAY_F64, d->verdict, PV_PACKED, NULL, true));
    if (known)
        PV_TRY(pv_table_add_codes(ctx, *table, "label", PV_ARRAY_I32, known, PV_PACKED, 0, names, 3, NULL));
    if (c->kind == RATE_STRATA)
        PV_TRY(pv_table_add_codes(ctx, *table, "stratum", PV_ARRAY_I32, d->stratum, PV_PACKED, 0, names, 2, NULL));
    if (c->kind == RATE_CLUSTERS)
        PV_TRY(pv_table_add_numbers(ctx, *table, "person", PV_ARRAY_I32, d->cluster, PV_PACKED, NULL, false));
    return PV_OK;
}

static pv_status settings_of(pv_ctx *ctx, const rate_cell *c, double width, pv_settings **settings) {
    static const char *const ways[] = {"label", "verdict", "random"};
    char text[32];
    PV_TRY(pv_rate_settings_new(ctx, settings));
    PV_TRY(pv_settings_set(ctx, *settings, c->kind == RATE_SCORES ? "score" : "verdict", "verdict"));
    PV_TRY(pv_settings_set(ctx, *settings, "outcome", "label"));
    PV_TRY(pv_settings_set(ctx, *settings, "positive", "1"));
    PV_TRY(pv_settings_set(ctx, *settings, "gold-by", ways[c->by]));
    if (c->kind == RATE_STRATA)
        PV_TRY(pv_settings_set(ctx, *settings, "strata", "stratum"));
    if (c->kind == RATE_CLUSTERS)
        PV_TRY(pv_settings_set(ctx, *settings, "cluster", "person"));
    (void)pv_format_double(width, text, sizeof text);
    return pv_settings_set(ctx, *settings, "width", text);
}

static double number_at(const pv_result *result, const char *a, const char *b, const char *c) {
    return pv_result_number(pv_result_at(result, (const char *const[]){a, b, c, NULL}));
}

/* The interval of a sample with so many gold rows; more [2] (NULL: not wanted): those that a width takes. */
static pv_status estimate(pv_ctx *ctx, const rate_cell *c, const drawn *sample, const drawn *gold, const int32_t *known,
                          double width, pv_result **result) {
    pv_table *tables[2] = {NULL, NULL};
    pv_settings *settings = NULL;
    pv_status status = table_of(ctx, c, sample, gold ? NULL : known, &tables[0]);
    if (status == PV_OK && gold)
        status = table_of(ctx, c, gold, gold->label, &tables[1]);
    if (status == PV_OK)
        status = settings_of(ctx, c, width, &settings);
    if (status == PV_OK)
        status = pv_rate_estimate(ctx, tables[0], tables[1], settings, result);
    pv_settings_free(ctx, settings);
    pv_table_free(ctx, tables[1]);
    pv_table_free(ctx, tables[0]);
    return status;
}

/* Gold rows with what the plan adds. */
static void add_planned(const rate_cell *c, const pv_result *result, double gold[2]) {
    const pv_result *more = pv_result_at(result, (const char *const[]){"width", "more", NULL});
    double reachable = number_at(result, "width", "reachable", NULL);
    gold[0] = gold[1] = NAN;
    if (!(reachable > 0))
        return;
    if (c->by == RATE_AT_RANDOM) {
        gold[0] = gold[1] = 0.5 * (c->gold[0] + c->gold[1] + pv_result_number(more));
        return;
    }
    for (int i = 0; i < 2; i++)
        gold[i] = c->gold[i] + pv_result_number(pv_result_get(more, i ? "1" : "0"));
}

/* ---- peers ------------------------------------------------------------------------------------------------------- */

static double lang_reiczigel(double apparent, double people, double se, double n_se, double sp, double n_sp,
                             double *half) {
    apparent = (apparent * people + 0.5 * Z * Z) / (people + Z * Z);
    se = (se * n_se + 1) / (n_se + 2);
    sp = (sp * n_sp + 1) / (n_sp + 2);
    double rate = (apparent + sp - 1) / (se + sp - 1);
    double a = se * (1 - se) / (n_se + 2), b = sp * (1 - sp) / (n_sp + 2);
    *half = Z / (se + sp - 1) *
            sqrt(apparent * (1 - apparent) / (people + Z * Z) + rate * rate * a + (1 - rate) * (1 - rate) * b);
    return rate + 2 * Z * Z * (rate * a - (1 - rate) * b);
}

/* Counts of gold rows by label and verdict, and of the sample by verdict. */
typedef struct table {
    double gold[2][2], sample[2], people;
} table;

static void count(const drawn *d, const int32_t *label, double gold[2][2], double sample[2]) {
    for (size_t i = 0; i < d->rows; i++) {
        int v = d->verdict[i] > 0.5;
        if (sample)
            sample[v]++;
        if (gold && label[i] >= 0)
            gold[label[i]][v]++;
    }
}

static double stratified(const table *t, double *half) {
    double rate = 0, variance = 0;
    for (int v = 0; v < 2; v++) {
        double n = t->gold[0][v] + t->gold[1][v], s = t->sample[v] / t->people;
        rate += n > 0 ? s * t->gold[1][v] / n : 0;
    }
    for (int v = 0; v < 2; v++) {
        double n = t->gold[0][v] + t->gold[1][v], s = t->sample[v] / t->people, p = n > 0 ? t->gold[1][v] / n : 0;
        variance += (n > 0 ? s * s * p * (1 - p) / n : 0) + s * (p - rate) * (p - rate) / t->people;
    }
    *half = Z * sqrt(variance);
    return rate;
}

static double prediction_powered(const table *t, double *half) {
    double n = t->gold[0][0] + t->gold[0][1] + t->gold[1][0] + t->gold[1][1], y = (t->gold[1][0] + t->gold[1][1]) / n;
    double f = (t->gold[0][1] + t->gold[1][1]) / n, all = t->sample[1] / t->people, both = t->gold[1][1] / n - f * y;
    double spread = f * (1 - f), part = spread > 0 ? both / (spread * (1 + n / t->people)) : 0;
    double rest = y * (1 - y) - 2 * part * both + part * part * spread;
    *half = Z * sqrt(fmax(0, rest) / n + part * part * all * (1 - all) / t->people);
    return y + part * (all - f);
}

static void put_peer(const rate_cell *c, const drawn *sample, const drawn *gold, const int32_t *known,
                     rate_outcome *to) {
    table t = {.people = (double)sample->rows};
    double rate, half;
    to->peer_held = to->peer_width = NAN;
    if (c->kind != RATE_TEST && c->kind != RATE_SHARP)
        return;
    count(sample, known, gold ? NULL : t.gold, t.sample);
    if (gold)
        count(gold, gold->label, t.gold, NULL);
    double yes = t.gold[1][0] + t.gold[1][1], no = t.gold[0][0] + t.gold[0][1];
    if (c->by == RATE_BY_LABEL)
        rate = lang_reiczigel(t.sample[1] / t.people, t.people, t.gold[1][1] / yes, yes, t.gold[0][0] / no, no, &half);
    else if (c->by == RATE_BY_VERDICT)
        rate = stratified(&t, &half);
    else
        rate = prediction_powered(&t, &half);
    to->peer_held = rate - half <= c->rate && rate + half >= c->rate;
    to->peer_width = fmin(1, rate + half) - fmax(0, rate - half);
}

/* ---- a replicate ------------------------------------------------------------------------------------------------- */

static pv_status run_once(pv_ctx *ctx, const rate_study *s, const rate_cell *c, const double *gold_rows, pv_rng *rng,
                          double width, rate_outcome *to, pv_result **result) {
    drawn sample = drawn_new((size_t)s->options->rows), gold = {0};
    int32_t *known = cli_alloc(sample.rows, sizeof *known);
    for (size_t i = 0; i < sample.rows; i++)
        draw_row(c, rng, -1, &sample, i);
    if (c->by == RATE_BY_LABEL)
        gold = gold_by_label(c, gold_rows, rng);
    else
        ask(c, gold_rows, &sample, known);
    drawn *file = c->by == RATE_BY_LABEL ? &gold : NULL;
    pv_status status = estimate(ctx, c, &sample, file, known, width, result);
    if (status == PV_OK && to)
        put_peer(c, &sample, file, known, to);
    free(known);
    drawn_free(&gold);
    drawn_free(&sample);
    return status;
}

pv_status rate_replicate(pv_ctx *ctx, const rate_study *s, const rate_cell *c, size_t index, rate_outcome *to) {
    pv_rng rng = pv_rng_stream(s->seed, PV_STREAM_STUDY_RATE, index);
    pv_result *result = NULL, *again = NULL;
    double gold[2];
    pv_status status = run_once(ctx, s, c, c->gold, &rng, s->options->width, to, &result);
    to->planned = to->reached = NAN;
    if (status == PV_ERR_INPUT) { /* no gold row of a label: counted, and left out */
        to->value = to->held = to->below = to->width = to->peer_held = to->peer_width = NAN;
        return PV_OK;
    }
    if (status != PV_OK)
        return status;
    double lo = number_at(result, "rate", "1", "lo"), hi = number_at(result, "rate", "1", "hi");
    to->done = 1;
    to->value = number_at(result, "rate", "1", "value");
    to->held = lo <= c->rate && hi >= c->rate;
    to->below = hi < c->rate;
    to->width = hi - lo;
    if (s->options->width > 0) {
        add_planned(c, result, gold);
        if (gold[0] + gold[1] < (c->by == RATE_BY_LABEL ? 1e6 : 0.5 * (double)s->options->rows)) {
            to->planned = gold[0] + gold[1];
            status = run_once(ctx, s, c, gold, &rng, 0, NULL, &again);
            to->reached =
                status == PV_OK ? number_at(again, "rate", "1", "hi") - number_at(again, "rate", "1", "lo") : NAN;
        }
    }
    pv_result_free(again);
    pv_result_free(result);
    return status == PV_ERR_INPUT ? PV_OK : status;
}
