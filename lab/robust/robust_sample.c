/* Populations whose log odds are not linear in the columns, and samples from them by label. */
#include "lab/robust/robust.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double SHARE = 0.3, HIGHER = 0.5; /* proportion of the stratum s = 1, and shift of x1 in it */

/* z1 and z2 are standard normal. */
static double log_odds(robust_truth truth, int s, const double *z) {
    double linear = 0.8 * z[0] - 0.5 * z[1];
    switch (truth) {
    case ROBUST_SQUARE15:
        return linear + 0.15 * z[0] * z[0];
    case ROBUST_SQUARE30:
        return linear + 0.3 * z[0] * z[0];
    case ROBUST_INTERACTION:
        return linear + 0.6 * z[0] * z[1];
    case ROBUST_STRATUM:
        return linear + (0.8 * HIGHER + 1) * s;
    case ROBUST_EXPLAINED:
        return linear + 0.8 * HIGHER * s;
    case ROBUST_RIGHT:
    case ROBUST_LOGNORMAL:
    case ROBUST_TRUTHS:
        break;
    }
    return linear;
}

/* The column x1 as given to the model. */
static double shown(robust_truth truth, int s, double z) {
    return truth == ROBUST_LOGNORMAL ? exp(z) : z + (robust_has_strata(truth) ? HIGHER * s : 0);
}

static double share_of(robust_truth truth, int s) {
    return robust_has_strata(truth) ? s ? SHARE : 1 - SHARE : !s;
}

/* ---- means over the population, by the trapezium rule in z1 and z2 ----------------------------------------------- */

static const double WIDTH = 7, SPACING = 0.04;

static double prevalence_at(robust_truth truth, double intercept, int s) {
    double sum = 0, weight = 0, z[2];
    for (z[0] = -WIDTH; z[0] < WIDTH; z[0] += SPACING)
        for (z[1] = -WIDTH; z[1] < WIDTH; z[1] += SPACING) {
            double w = exp(-0.5 * (z[0] * z[0] + z[1] * z[1]));
            sum += w * pv_sigmoid(intercept + log_odds(truth, s, z));
            weight += w;
        }
    return sum / weight;
}

static double prevalence_of(const robust_population *p, double intercept) {
    double sum = 0;
    for (int s = 0; s < 2; s++)
        sum += share_of(p->truth, s) > 0 ? share_of(p->truth, s) * prevalence_at(p->truth, intercept, s) : 0;
    return sum;
}

enum { BEST = 3 }; /* intercept, x1, x2: other columns are noise with slopes 0 */

/* Gradient and curvature of the mean log-likelihood of the linear predictor b. */
static void add_moments(const robust_population *p, int s, const double *b, double *g, double H[BEST][BEST]) {
    double z[2];
    for (z[0] = -WIDTH; z[0] < WIDTH; z[0] += SPACING)
        for (z[1] = -WIDTH; z[1] < WIDTH; z[1] += SPACING) {
            double w = share_of(p->truth, s) * exp(-0.5 * (z[0] * z[0] + z[1] * z[1]));
            double row[BEST] = {1, shown(p->truth, s, z[0]), z[1]};
            double q = pv_sigmoid(b[0] + b[1] * row[1] + b[2] * row[2]);
            double residual = w * (pv_sigmoid(p->intercept + log_odds(p->truth, s, z)) - q);
            for (int i = 0; i < BEST; i++) {
                g[i] += residual * row[i];
                for (int j = 0; j < BEST; j++)
                    H[i][j] += w * q * (1 - q) * row[i] * row[j];
            }
        }
}

static void find_best(robust_population *p) {
    double b[BEST] = {pv_logit(p->prevalence), 0, 0};
    for (int step = 0; step < 60; step++) {
        double g[BEST] = {0}, H[BEST][BEST] = {{0}}, largest = 0;
        for (int s = 0; s < 2; s++)
            if (share_of(p->truth, s) > 0)
                add_moments(p, s, b, g, H);
        for (int i = 0; i < BEST; i++) /* elimination; H is positive definite */
            for (int j = i + 1; j < BEST; j++) {
                double factor = H[j][i] / H[i][i];
                for (int l = i; l < BEST; l++)
                    H[j][l] -= factor * H[i][l];
                g[j] -= factor * g[i];
            }
        for (int i = BEST - 1; i >= 0; i--) {
            for (int j = i + 1; j < BEST; j++)
                g[i] -= H[i][j] * g[j];
            g[i] /= H[i][i];
            largest = fmax(largest, fabs(g[i]));
        }
        for (int i = 0; i < BEST; i++)
            b[i] += g[i] * fmin(1, 2 / largest);
        if (largest < 1e-9)
            break;
    }
    memcpy(p->best, b, sizeof b);
}

void robust_population_find(robust_population *p) {
    double low = -30, high = 30;
    for (int step = 0; step < 50; step++) {
        double middle = 0.5 * (low + high);
        *(prevalence_of(p, middle) < p->prevalence ? &low : &high) = middle;
    }
    p->intercept = 0.5 * (low + high);
    for (int s = 0; s < 2; s++)
        p->stratum_prevalence[s] = prevalence_at(p->truth, p->intercept, s);
    find_best(p);
}

/* ---- one sample -------------------------------------------------------------------------------------------------- */

typedef struct sample {
    size_t rows;
    double *x; /* [1 + columns + 1][rows]: label, columns, stratum */
    double **column;
} sample;

/* Draws people until every group, a label or a label within a stratum, is full; further people of a full group are
 * discarded. */
static void draw_sample(const robust_population *p, uint64_t seed, uint64_t index, const sample *to) {
    bool strata = robust_has_strata(p->truth);
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_STUDY_PEOPLE, index);
    size_t left[2][2], n = 0;
    for (int y = 0; y < 2; y++) {
        left[0][y] = strata ? p->rows - p->rows / 2 : p->rows;
        left[1][y] = strata ? p->rows / 2 : 0;
    }
    while (n < to->rows) {
        double z[2] = {pv_rng_normal(&rng), pv_rng_normal(&rng)};
        int s = strata && pv_rng_uniform(&rng) < SHARE;
        int y = pv_rng_uniform(&rng) < pv_sigmoid(p->intercept + log_odds(p->truth, s, z));
        if (!left[s][y])
            continue;
        left[s][y]--;
        to->column[0][n] = y;
        to->column[1][n] = shown(p->truth, s, z[0]);
        to->column[2][n] = z[1];
        for (int j = 2; j < p->columns; j++)
            to->column[1 + j][n] = pv_rng_normal(&rng);
        to->column[1 + p->columns][n++] = s;
    }
}

static sample sample_new(const robust_population *p, size_t rows) {
    size_t columns = (size_t)p->columns + 2;
    sample s = {.rows = rows};
    s.x = cli_alloc(columns * s.rows, sizeof *s.x);
    s.column = cli_alloc(columns, sizeof *s.column);
    for (size_t i = 0; i < columns; i++)
        s.column[i] = s.x + i * s.rows;
    return s;
}

static void name_of(size_t i, const robust_population *p, char *name) {
    if (i == 0)
        snprintf(name, 8, "y");
    else if (i > (size_t)p->columns)
        snprintf(name, 8, "s");
    else
        snprintf(name, 8, "x%d", (int)i);
}

/* The prevalence of each stratum, and its proportion of the population. */
static pv_status table_of_strata(pv_ctx *ctx, const robust_population *p, pv_table **table) {
    static const double stratum[] = {0, 1};
    const double share[] = {1 - SHARE, SHARE};
    pv_status status = pv_table_new(ctx, "strata", 2, table);
    if (status == PV_OK)
        status = pv_table_add_numbers(ctx, *table, "s", PV_ARRAY_F64, stratum, PV_PACKED, NULL, false);
    if (status == PV_OK)
        status = pv_table_add_numbers(ctx, *table, "prevalence", PV_ARRAY_F64, p->stratum_prevalence, PV_PACKED, NULL,
                                      false);
    if (status == PV_OK)
        status = pv_table_add_numbers(ctx, *table, "share", PV_ARRAY_F64, share, PV_PACKED, NULL, false);
    return status;
}

/* ---- evaluation of the estimates --------------------------------------------------------------------------------- */

static pv_status coefficients(pv_ctx *ctx, const pv_classifier *fit, double *w, double *to) {
    pv_classifier other = *fit;
    other.w = w;
    return pv_classifier_coefficients(ctx, &other, to);
}

static pv_status judge(pv_ctx *ctx, const robust_population *p, const pv_classifier *fit, robust_outcome *out) {
    const pv_combination *m = fit->combination;
    double *const estimate[ROBUST_ESTIMATES] = {m->efficient, m->weighted, fit->w};
    double b[1 + ROBUST_COLUMNS];
    size_t columns = (size_t)p->columns;
    for (int e = 0; e < ROBUST_ESTIMATES; e++) {
        pv_status status = coefficients(ctx, fit, estimate[e], b);
        if (status != PV_OK)
            return status;
        out->error[e] = b[1] - p->best[1];
        for (size_t j = 1; j <= columns; j++)
            out->square[e] += pow(b[j] - p->best[j], 2) / (double)columns;
    }
    pv_summary *summary;
    pv_status status = pv_classifier_summary(ctx, fit, 0.9, &summary);
    if (status != PV_OK)
        return status;
    for (size_t j = 0; j <= columns; j++) {
        const pv_coefficient *k = &summary->coefficient[j];
        double held = k->value.lo <= p->best[j] && p->best[j] <= k->value.hi;
        out->held[j < 2 ? j : 2] += j < 2 ? held : held / ((double)columns - 1);
    }
    out->p_value = m->p_value;
    out->done = 1;
    pv_summary_free(ctx, summary);
    pv_diagnosis *diagnosis;
    status = pv_diagnose(ctx, fit, NULL, &diagnosis);
    if (status != PV_OK)
        return status;
    for (size_t i = 0; i < diagnosis->count; i++) {
        const pv_check *check = &diagnosis->check[i];
        bool few = strcmp(check->name, "few_decide") == 0;
        out->few += few;
        out->names += few && strstr(check->warning, "log(x1)");
        out->strata += strcmp(check->name, "strata") == 0 && *check->warning;
    }
    pv_diagnosis_free(ctx, diagnosis);
    return PV_OK;
}

/* Draws people of the population, with any labels. */
static void draw_people(const robust_population *p, uint64_t seed, uint64_t index, const sample *to) {
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_STUDY_CLINIC, index);
    for (size_t n = 0; n < to->rows; n++) {
        to->column[1][n] = shown(p->truth, 0, pv_rng_normal(&rng));
        for (int j = 1; j < p->columns; j++)
            to->column[1 + j][n] = pv_rng_normal(&rng);
    }
}

static pv_status fit_sample(pv_ctx *ctx, const robust_population *p, const pv_table *table, const pv_table *people,
                            robust_outcome *out) {
    char features[8 * ROBUST_COLUMNS] = "x1", stated[40] = "1=";
    bool strata = robust_has_strata(p->truth);
    for (int j = 2; j <= p->columns; j++)
        snprintf(features + strlen(features), sizeof features - strlen(features), ",x%d", j);
    pv_roles roles = {.target = "y", .positive = "1", .features = features, .strata = strata ? "s" : NULL};
    pv_fit_options options = pv_fit_options_default();
    pv_schema *schema = NULL;
    pv_dataset *data = NULL, *others = NULL;
    pv_table *known = NULL;
    pv_classifier *fit = NULL;
    pv_format_double(p->prevalence, stated + 2, sizeof stated - 2);
    options.prevalence = strata ? NULL : stated;
    options.prevalence_by = strata ? "strata" : NULL;
    pv_status status = strata ? table_of_strata(ctx, p, &known) : PV_OK;
    options.known = known;
    if (status == PV_OK)
        status = pv_schema_learn(ctx, table, &roles, &schema, &data);
    if (status == PV_OK && people)
        status = pv_schema_apply(ctx, schema, people, NULL, &others);
    options.sample = others;
    if (status == PV_OK)
        status = pv_fit(ctx, schema, data, &options, &fit); /* with standard errors */
    if (status == PV_OK && fit->combination)
        status = judge(ctx, p, fit, out);
    pv_classifier_free(ctx, fit);
    pv_dataset_free(ctx, others);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, known);
    return status;
}

static pv_status table_of(pv_ctx *ctx, const robust_population *p, const char *source, const sample *s,
                          pv_table **table) {
    pv_status status = pv_table_new(ctx, source, s->rows, table);
    for (size_t i = 0; status == PV_OK && i < (size_t)p->columns + 2; i++) {
        char name[8];
        name_of(i, p, name);
        status = pv_table_add_numbers(ctx, *table, name, PV_ARRAY_F64, s->column[i], PV_PACKED, NULL, false);
    }
    return status;
}

static void sample_clear(sample *s) {
    free(s->x);
    free(s->column);
}

pv_status robust_replicate(pv_ctx *ctx, const robust_population *p, uint64_t seed, size_t replicate,
                           robust_outcome *out) {
    sample s = sample_new(p, 2 * p->rows), others = sample_new(p, p->people);
    pv_table *table = NULL, *people = NULL;
    draw_sample(p, seed, replicate, &s);
    draw_people(p, seed, replicate, &others);
    *out = (robust_outcome){0};
    pv_status status = table_of(ctx, p, "sample", &s, &table);
    if (status == PV_OK && p->people > 0)
        status = table_of(ctx, p, "people", &others, &people);
    if (status == PV_OK)
        status = fit_sample(ctx, p, table, people, out);
    pv_table_free(ctx, people);
    pv_table_free(ctx, table);
    sample_clear(&others);
    sample_clear(&s);
    return study_fit_failed(status) ? PV_OK : status;
}
