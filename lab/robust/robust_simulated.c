/* Case-control samples of populations whose log odds are no straight line, and how the lines fitted to them fare. */
#include "prevail/prevail.h"
#include "lab/common/judge.h"
#include "lab/robust/robust.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { JUDGED = 100000 };

struct robust_population {
    robust_truth truth;
    double prevalence, intercept;
    double best[ROBUST_PARAMS]; /* the population's own best line */
    double *x, *p;              /* [JUDGED][FEATURES] as the model sees them, [JUDGED] true risks */
    double information;         /* about the outcome that there is: entropy of the prevalence less mean entropy of p */
};

/* ---- the population ---------------------------------------------------------------------------------------------- */

static double log_odds(robust_truth truth, const double *z) {
    switch (truth) {
    case ROBUST_LINEAR:
        return 0.8 * z[0] - 0.5 * z[1];
    case ROBUST_SQUARE:
        return 0.8 * z[0] - 0.5 * z[1] + 0.4 * z[0] * z[0];
    case ROBUST_STEP:
        return 1.5 * (z[0] > 0.5) - 0.5 * z[1];
    case ROBUST_INTERACTION:
        return 0.8 * z[0] - 0.5 * z[1] + 0.6 * z[0] * z[1];
    case ROBUST_HEAVY:
    case ROBUST_TRUTHS:
        break;
    }
    return 1.2 * z[0] - 0.5 * z[1];
}

static void show(robust_truth truth, const double *z, double *x) {
    memcpy(x, z, ROBUST_FEATURES * sizeof *x);
    if (truth == ROBUST_HEAVY)
        x[0] = exp(z[0]);
}

/* Means over the population by the trapezium rule in z1 and z2, exact but for the step, which lies between points; z3
 * has no part in it. */
static const double WIDTH = 7, SPACING = 0.04;

static double prevalence_at(robust_truth truth, double intercept) {
    double sum = 0, weight = 0, z[ROBUST_FEATURES] = {0};
    for (z[0] = 0.5 * SPACING - WIDTH; z[0] < WIDTH; z[0] += SPACING)
        for (z[1] = -WIDTH; z[1] < WIDTH; z[1] += SPACING) {
            double w = exp(-0.5 * (z[0] * z[0] + z[1] * z[1]));
            sum += w * pv_sigmoid(intercept + log_odds(truth, z));
            weight += w;
        }
    return sum / weight;
}

static void find_intercept(robust_population *p) {
    double low = -30, high = 30;
    for (int step = 0; step < 50; step++) {
        double middle = 0.5 * (low + high);
        *(prevalence_at(p->truth, middle) < p->prevalence ? &low : &high) = middle;
    }
    p->intercept = 0.5 * (low + high);
}

/* Newton's method for the line of largest mean log-likelihood; x3 does not matter, so its slope is 0. */
static void find_best(robust_population *p) {
    enum { B = 3 };
    double b[B] = {pv_logit(p->prevalence), 0, 0};
    for (int step = 0; step < 60; step++) {
        double g[B] = {0}, H[B][B] = {{0}}, z[ROBUST_FEATURES] = {0}, x[ROBUST_FEATURES], largest = 0;
        for (z[0] = 0.5 * SPACING - WIDTH; z[0] < WIDTH; z[0] += SPACING)
            for (z[1] = -WIDTH; z[1] < WIDTH; z[1] += SPACING) {
                double w = exp(-0.5 * (z[0] * z[0] + z[1] * z[1]));
                show(p->truth, z, x);
                double row[B] = {1, x[0], x[1]}, q = pv_sigmoid(b[0] + b[1] * x[0] + b[2] * x[1]);
                double residual = w * (pv_sigmoid(p->intercept + log_odds(p->truth, z)) - q);
                for (int i = 0; i < B; i++) {
                    g[i] += residual * row[i];
                    for (int j = 0; j < B; j++)
                        H[i][j] += w * q * (1 - q) * row[i] * row[j];
                }
            }
        for (int i = 0; i < B; i++) /* elimination; H is positive definite */
            for (int j = i + 1; j < B; j++) {
                double factor = H[j][i] / H[i][i];
                for (int l = i; l < B; l++)
                    H[j][l] -= factor * H[i][l];
                g[j] -= factor * g[i];
            }
        for (int i = B - 1; i >= 0; i--) {
            for (int j = i + 1; j < B; j++)
                g[i] -= H[i][j] * g[j];
            g[i] /= H[i][i];
            largest = fmax(largest, fabs(g[i]));
        }
        for (int i = 0; i < B; i++)
            b[i] += g[i] * fmin(1, 2 / largest);
        if (largest < 1e-9)
            break;
    }
    memcpy(p->best, b, sizeof b);
    p->best[B] = 0;
}

static void draw_person(pv_rng *rng, double *z) {
    for (int j = 0; j < ROBUST_FEATURES; j++)
        z[j] = pv_rng_normal(rng);
}

static double entropy(double p) {
    return -p * log(p) - (1 - p) * log1p(-p);
}

robust_population *robust_populations_new(const robust_study *s) {
    robust_population *made = cli_alloc((size_t)s->truths, sizeof *made);
    for (int t = 0; t < s->truths; t++) {
        robust_population *p = &made[t];
        *p = (robust_population){.truth = (robust_truth)s->truth[t], .prevalence = s->options->prevalence};
        p->x = cli_alloc(JUDGED * (ROBUST_FEATURES + 1), sizeof *p->x);
        p->p = p->x + (size_t)JUDGED * ROBUST_FEATURES;
        find_intercept(p);
        find_best(p);
        pv_rng rng = pv_rng_stream(s->seed, PV_STREAM_STUDY_PEOPLE, UINT64_MAX);
        double mean = 0, sum = 0, z[ROBUST_FEATURES];
        for (size_t i = 0; i < JUDGED; i++) {
            draw_person(&rng, z);
            show(p->truth, z, p->x + i * ROBUST_FEATURES);
            p->p[i] = pv_sigmoid(p->intercept + log_odds(p->truth, z));
            mean += p->p[i] / JUDGED;
            sum += entropy(p->p[i]) / JUDGED;
        }
        p->information = entropy(mean) - sum;
    }
    return made;
}

void robust_populations_free(robust_population *population, int truths) {
    for (int t = 0; population && t < truths; t++)
        free(population[t].x);
    free(population);
}

/* ---- one sample -------------------------------------------------------------------------------------------------- */

typedef struct sample {
    double *x; /* [rows][FEATURES], standardised */
    int32_t *label;
    double mean[ROBUST_FEATURES], sd[ROBUST_FEATURES];
} sample;

static void standardise(sample *s, size_t n) {
    for (size_t j = 0; j < ROBUST_FEATURES; j++) {
        s->mean[j] = s->sd[j] = 0;
        for (size_t i = 0; i < n; i++)
            s->mean[j] += s->x[ROBUST_FEATURES * i + j] / (double)n;
        for (size_t i = 0; i < n; i++)
            s->sd[j] += pow(s->x[ROBUST_FEATURES * i + j] - s->mean[j], 2) / (double)n;
        s->sd[j] = sqrt(s->sd[j]);
        for (size_t i = 0; i < n; i++)
            s->x[ROBUST_FEATURES * i + j] = (s->x[ROBUST_FEATURES * i + j] - s->mean[j]) / s->sd[j];
    }
}

/* People come until both groups are full; those of a full group are sent home. */
static void draw_sample(const robust_population *p, uint64_t seed, uint64_t index, size_t each, sample *s) {
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_STUDY_PEOPLE, index);
    size_t left[2] = {each, each}, n = 0;
    while (left[0] + left[1]) {
        double z[ROBUST_FEATURES];
        draw_person(&rng, z);
        int y = pv_rng_uniform(&rng) < pv_sigmoid(p->intercept + log_odds(p->truth, z));
        if (!left[y])
            continue;
        left[y]--;
        show(p->truth, z, s->x + ROBUST_FEATURES * n);
        s->label[n++] = y;
    }
    standardise(s, n);
}

static void coefficients_of(const sample *s, const double *w, double *b) {
    b[0] = w[0];
    for (int j = 0; j < ROBUST_FEATURES; j++) {
        b[1 + j] = w[1 + j] / s->sd[j];
        b[0] -= b[1 + j] * s->mean[j];
    }
}

static void judge(const robust_population *p, const sample *s, const pv_classifier *fit, robust_outcome *out) {
    double b[ROBUST_PARAMS], *risk = cli_alloc(JUDGED, sizeof *risk);
    coefficients_of(s, fit->w, b);
    for (size_t i = 0; i < JUDGED; i++) {
        double f = b[0];
        for (size_t j = 0; j < ROBUST_FEATURES; j++)
            f += b[1 + j] * p->x[ROBUST_FEATURES * i + j];
        risk[i] = fmin(fmax(pv_sigmoid(f), 1e-300), 1 - 1e-16);
    }
    judge_rows rows = {.n = JUDGED, .p = risk, .y = p->p};
    out->ratio = judge_in_the_large(&rows);
    out->loss = judge_excess(&rows) / p->information;
    free(risk);
}

static void place(const robust_population *p, const sample *s, const pv_posterior *posterior, robust_outcome *out) {
    double below[ROBUST_PARAMS] = {0}, b[ROBUST_PARAMS];
    for (size_t i = 0; i < posterior->count; i++) {
        coefficients_of(s, posterior->draws + i * posterior->dims, b);
        for (int j = 0; j < ROBUST_PARAMS; j++)
            below[j] += b[j] < p->best[j];
    }
    for (int j = 0; j < ROBUST_PARAMS; j++)
        out->place[j] = (below[j] + 0.5) / ((double)posterior->count + 1);
}

static pv_status fit_one(pv_ctx *ctx, const robust_study *study, const robust_population *p, const sample *s,
                         size_t rows, uint64_t replicate, int method, robust_outcome *out) {
    static char zero[] = "0", one[] = "1", x1[] = "x1", x2[] = "x2", x3[] = "x3", y[] = "y";
    char *labels[] = {zero, one}, *names[] = {x1, x2, x3}, stated[34] = "1=";
    pv_source_column source[ROBUST_FEATURES];
    for (int j = 0; j < ROBUST_FEATURES; j++)
        source[j] = (pv_source_column){.name = names[j], .type = PV_COLUMN_NUMBER, .mean = s->mean[j], .sd = s->sd[j]};
    pv_schema schema = {.target = y,
                        .labels = labels,
                        .classes = 2,
                        .sources = ROBUST_FEATURES,
                        .source = source,
                        .features = ROBUST_FEATURES,
                        .feature = names};
    pv_dataset data = {.rows = rows, .features = ROBUST_FEATURES, .x = s->x, .label = s->label, .classes = 2};
    pv_fit_options options = robust_fit_options(study, method, replicate);
    pv_format_double(p->prevalence, stated + 2, sizeof stated - 2);
    options.prevalence = stated;
    pv_classifier *fit = NULL;
    pv_status status = study_fit(ctx, (size_t)method, &schema, &data, &options, &fit);
    if (status == PV_OK) {
        out->done = 1;
        judge(p, s, fit, out);
        out->exponent = fit->agreement ? fit->agreement->exponent : (double)NAN;
        out->z = fit->agreement ? fit->agreement->z[1] : (double)NAN;
        out->p_value = fit->agreement ? fit->agreement->p_value : (double)NAN;
        if (fit->posterior)
            place(p, s, fit->posterior, out);
    }
    pv_classifier_free(ctx, fit);
    return status;
}

pv_status robust_replicate(pv_ctx *ctx, const robust_study *study, size_t cell, size_t replicate) {
    const robust_population *p = &study->population[cell / study->sizes];
    size_t each = study->rows[cell % study->sizes];
    sample s = {.x = cli_alloc(2 * ROBUST_FEATURES * each, sizeof(double)),
                .label = cli_alloc(2 * each, sizeof(int32_t))};
    /* Smaller samples are the first people of the larger ones. */
    draw_sample(p, study->seed, replicate, each, &s);
    pv_status status = PV_OK;
    for (int m = study->first; m < study->last && status == PV_OK; m++) {
        status = fit_one(ctx, study, p, &s, 2 * each, replicate, m, robust_at(study, cell, replicate, m));
        if (study_fit_failed(status))
            status = PV_OK;
    }
    free(s.x);
    free(s.label);
    return status;
}
