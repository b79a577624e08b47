/* Calibration samples of the study of sets, their rules, and what these do in the population.
 *
 * Peers: sets by one threshold for all labels (split conformal sets that are marginally valid for the proportions of
 * the calibration rows); calls by the thresholds whose estimated errors are just within the wanted ones (plug-in).
 */
#include "lab/sets/sets.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double sets_shift[SETS_SHIFTS] = {0.001, 0.1, 0.5};
static const char *const label_name[SETS_LABEL_MOST] = {"0", "1", "2"};

static int labels_of(sets_kind kind) {
    return kind == SETS_LABELS ? 3 : 2;
}

/* ---- the population ---------------------------------------------------------------------------------------------- */

/* person: a score's part that the rows of a person share, or NULL. */
static void draw_row(sets_kind kind, pv_rng *rng, int label, const double *person, double *p) {
    static const double corner[3][2] = {{0, 0}, {2, 0}, {1, 1.8}};
    double z = pv_rng_normal(rng);
    if (kind == SETS_LABELS) {
        double x[2] = {corner[label][0] + z, corner[label][1] + pv_rng_normal(rng)}, sum = 0;
        for (int y = 0; y < 3; y++) {
            p[y] = exp(-0.5 * (pow(x[0] - corner[y][0], 2) + pow(x[1] - corner[y][1], 2)));
            sum += p[y];
        }
        for (int y = 0; y < 3; y++)
            p[y] /= sum;
        return;
    }
    if (person)
        z = sqrt(0.8) * *person + sqrt(0.2) * z;
    z += 2.2 * label;
    double eta = 2.2 * z - 2.42;
    if (kind == SETS_WRONG)
        eta = 0.5 * eta + 2 * sin(3 * z);
    else if (kind != SETS_TIES)
        eta -= log(99);
    p[1] = 1 / (1 + exp(-eta));
    if (kind == SETS_TIES)
        p[1] = floor(10 * p[1] + 0.5) / 10;
    p[0] = 1 - p[1];
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

pv_status sets_truth_of(pv_ctx *ctx, sets_study *s, sets_kind kind) {
    sets_truth *t = &s->truth[kind];
    (void)ctx;
    t->labels = labels_of(kind);
    for (int y = 0; y < t->labels; y++) {
        pv_rng rng = pv_rng_stream(s->seed, PV_STREAM_STUDY_SETS,
                                   UINT64_MAX - (uint64_t)SETS_LABEL_MOST * (uint64_t)kind - (uint64_t)y);
        t->own[y] = cli_alloc(SETS_POPULATION, sizeof(double));
        t->last[y] = cli_alloc(SETS_POPULATION, sizeof(double));
        t->seen[y] = cli_alloc((size_t)SETS_SEEN * SETS_LABEL_MOST, sizeof(double));
        for (size_t i = 0; i < SETS_POPULATION; i++) {
            double p[SETS_LABEL_MOST];
            draw_row(kind, &rng, y, NULL, p);
            t->own[y][i] = p[y];
            t->last[y][i] = p[t->labels - 1];
            if (i < SETS_SEEN)
                memcpy(t->seen[y] + i * (size_t)t->labels, p, (size_t)t->labels * sizeof *p);
        }
        qsort(t->own[y], SETS_POPULATION, sizeof(double), by_size);
        qsort(t->last[y], SETS_POPULATION, sizeof(double), by_size);
    }
    return PV_OK;
}

void sets_truth_free(sets_truth *t) {
    for (int y = 0; y < t->labels; y++) {
        free(t->own[y]);
        free(t->last[y]);
        free(t->seen[y]);
    }
}

/* Share of sorted values that are below a limit, or at most it. */
static double share_below(const double *sorted, size_t n, double limit, bool or_equal) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (sorted[middle] < limit || (or_equal && sorted[middle] <= limit))
            low = middle + 1;
        else
            high = middle;
    }
    return (double)low / (double)n;
}

/* ---- a calibration sample ---------------------------------------------------------------------------------------- */

typedef struct sample {
    size_t rows;
    double *p; /* [rows][labels] */
    int32_t *label, *unit;
} sample;

static sample draw(const sets_cell *c, pv_rng *rng) {
    int k = labels_of(c->kind);
    size_t each = c->kind == SETS_UNITS ? SETS_PERSON : 1, most = 0;
    for (int y = 0; y < k; y++)
        most += each * (size_t)c->rows[y == k - 1];
    sample made = {0, cli_alloc(most * (size_t)k, sizeof(double)), cli_alloc(most, sizeof(int32_t)),
                   cli_alloc(most, sizeof(int32_t))};
    int32_t person = 0;
    for (int y = 0; y < k; y++)
        for (size_t i = 0; i < (size_t)c->rows[y == k - 1]; i++, person++) {
            double shared = pv_rng_normal(rng);
            for (size_t j = 0; j < each; j++, made.rows++) {
                draw_row(c->kind, rng, y, each > 1 ? &shared : NULL, made.p + made.rows * (size_t)k);
                made.label[made.rows] = y;
                made.unit[made.rows] = person;
            }
        }
    return made;
}

static void sample_free(sample *a) {
    free(a->p);
    free(a->label);
    free(a->unit);
}

static pv_status rule_of(pv_ctx *ctx, const sets_study *s, const sets_cell *c, const sample *a, pv_result **rule) {
    char coverage[32], place[64];
    int k = labels_of(c->kind);
    pv_probs *probs = NULL;
    pv_settings *settings = NULL;
    snprintf(coverage, sizeof coverage, "%.17g", s->options->coverage);
    snprintf(place, sizeof place, "%.17g-%.17g", s->options->low, s->options->high);
    pv_status status = pv_probs_new(ctx, a->rows, label_name, k, k, a->p, a->label, NULL, &probs);
    if (status == PV_OK)
        status = pv_sets_settings_new(ctx, &settings);
    if (status == PV_OK)
        status = pv_settings_set(ctx, settings, "coverage", coverage);
    if (status == PV_OK && k == 2)
        status = pv_settings_set(ctx, settings, "refer", s->options->refer);
    if (status == PV_OK && k == 2)
        status = pv_settings_set(ctx, settings, "prevalence", place);
    if (status == PV_OK)
        status = pv_sets_calibrate(ctx, probs, c->kind == SETS_UNITS ? a->unit : NULL, settings, rule);
    pv_settings_free(ctx, settings);
    pv_probs_free(ctx, probs);
    return status;
}

/* ---- sets -------------------------------------------------------------------------------------------------------- */

static double mixture(const double *of_label, int k, double last) {
    double sum = last * of_label[k - 1];
    for (int y = 0; y < k - 1; y++)
        sum += (1 - last) / (k - 1) * of_label[y];
    return sum;
}

static void find_sets(const sets_truth *t, const pv_result *labels, sets_outcome *to) {
    double threshold[SETS_LABEL_MOST], several[SETS_LABEL_MOST] = {0};
    int k = t->labels;
    for (int y = 0; y < k; y++) {
        threshold[y] = pv_result_number(pv_result_get(pv_result_child(labels, (size_t)y), "threshold"));
        to->cover[y] = 1 - share_below(t->own[y], SETS_POPULATION, threshold[y], false);
    }
    for (int i = 0; i < SETS_SHIFTS; i++)
        to->at[i] = mixture(to->cover, k, sets_shift[i]);
    for (int of = 0; of < k; of++)
        for (size_t i = 0; i < SETS_SEEN; i++) {
            int size = 0;
            for (int y = 0; y < k; y++)
                size += t->seen[of][i * (size_t)k + (size_t)y] >= threshold[y];
            several[of] += (size > 1) / (double)SETS_SEEN;
        }
    to->several = mixture(several, k, sets_shift[1]);
}

/* One threshold for all labels. */
static void find_pooled(const sets_study *s, const sets_truth *t, const sample *a, sets_outcome *to) {
    double *own = cli_alloc(a->rows, sizeof *own), cover[SETS_LABEL_MOST] = {0};
    int k = t->labels;
    for (size_t i = 0; i < a->rows; i++)
        own[i] = a->p[i * (size_t)k + (size_t)a->label[i]];
    qsort(own, a->rows, sizeof *own, by_size);
    double rank = floor((double)(a->rows + 1) * (1 - s->options->coverage) + 1e-9);
    double threshold = rank >= 1 ? own[(size_t)rank - 1] : 0;
    for (int y = 0; y < k; y++)
        cover[y] = 1 - share_below(t->own[y], SETS_POPULATION, threshold, false);
    to->pooled[0] = cover[0];
    to->pooled[1] = cover[k - 1];
    to->pooled_at = mixture(cover, k, sets_shift[0]);
    free(own);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* Shares of both labels called, in sorted samples of p(1); upto NaN, from NaN: never. */
static void shares_called(double *const last[2], const size_t n[2], double upto, double from, double share[2][2]) {
    for (int y = 0; y < 2; y++) {
        share[0][y] = isnan(upto) ? 0 : share_below(last[y], n[y], upto, true);
        share[1][y] = isnan(from) ? 0 : 1 - share_below(last[y], n[y], from, false);
    }
}

static bool is_wrong(double share[2][2], const double *error, double low, double high) {
    bool wrong = false;
    for (int y = 0; y < 2; y++) {
        double odds = y == 0 ? high / (1 - high) : (1 - low) / low;
        wrong = wrong || odds * share[y][1 - y] * (1 - error[y]) > error[y] * share[y][y];
    }
    return wrong;
}

static void find_plug_in(const sets_study *s, const sets_truth *t, const sample *a, const double *error,
                         sets_outcome *to) {
    double *last[2], share[2][2], upto = (double)NAN, from = (double)NAN;
    size_t n[2] = {0, 0};
    for (int y = 0; y < 2; y++)
        last[y] = cli_alloc(a->rows, sizeof(double));
    for (size_t i = 0; i < a->rows; i++)
        last[a->label[i]][n[a->label[i]]++] = a->p[2 * i + 1];
    for (int y = 0; y < 2; y++)
        qsort(last[y], n[y], sizeof(double), by_size);
    const double only[2][2] = {{error[0], 1}, {1, error[1]}};
    for (size_t i = 0; i < n[0]; i++) {
        shares_called(last, n, last[0][i], (double)NAN, share);
        upto = is_wrong(share, only[0], s->options->low, s->options->high) ? upto : last[0][i];
    }
    for (size_t i = n[1]; i-- > 0;) {
        shares_called(last, n, (double)NAN, last[1][i], share);
        from = is_wrong(share, only[1], s->options->low, s->options->high) ? from : last[1][i];
    }
    const size_t all[2] = {SETS_POPULATION, SETS_POPULATION};
    shares_called(t->last, all, upto, from, share);
    to->plain = is_wrong(share, error, s->options->low, s->options->high);
    free(last[0]);
    free(last[1]);
}

static void find_calls(const sets_study *s, const sets_truth *t, const sample *a, const pv_result *calls,
                       sets_outcome *to) {
    const size_t all[2] = {SETS_POPULATION, SETS_POPULATION};
    double limit[2], error[2], share[2][2], high = s->options->high;
    for (size_t y = 0; y < 2; y++) {
        limit[y] = pv_result_number(pv_result_get(pv_result_child(calls, y), "threshold"));
        error[y] = pv_result_number(pv_result_get(pv_result_child(calls, y), "wanted"));
    }
    shares_called(t->last, all, limit[0], limit[1], share);
    to->wrong = is_wrong(share, error, s->options->low, high);
    to->called = (1 - high) * (share[0][0] + share[1][0]) + high * (share[0][1] + share[1][1]);
    find_plug_in(s, t, a, error, to);
}

pv_status sets_replicate(pv_ctx *ctx, const sets_study *s, const sets_cell *c, size_t index, sets_outcome *to) {
    const sets_truth *t = &s->truth[c->kind];
    pv_rng rng = pv_rng_stream(s->seed, PV_STREAM_STUDY_SETS, index);
    sample a = draw(c, &rng);
    pv_result *rule = NULL;
    *to = (sets_outcome){.cover = {(double)NAN, (double)NAN, (double)NAN},
                         .wrong = (double)NAN,
                         .called = (double)NAN,
                         .plain = (double)NAN};
    pv_status status = rule_of(ctx, s, c, &a, &rule);
    if (status == PV_OK) {
        find_sets(t, pv_result_get(rule, "labels"), to);
        find_pooled(s, t, &a, to);
        if (t->labels == 2)
            find_calls(s, t, &a, pv_result_get(pv_result_get(rule, "refer"), "calls"), to);
        to->done = 1;
    }
    pv_result_free(rule);
    sample_free(&a);
    return status;
}
