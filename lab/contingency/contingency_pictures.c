/* Figures of the contingency study, after the paper's three figures: the posterior in (p0, p1) and in logit space, with
 * the iso-curve of the empirical log odds ratio and draws, and the posterior of the log odds ratio. */
#include "prevail/prevail.h"
#include "lab/common/canvas.h"
#include "lab/contingency/contingency.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 60, CURVE = 200, COLUMNS_MAX = 8 };
static const double WIDTH = 290, HEIGHT = 300, LOG_RANGE = 10;

typedef struct column {
    const study_posterior *posterior;
    char title[48];
    size_t n; /* number of draws shown */
    double *eta0, *eta1;
} column;

typedef struct figure {
    const study_table *table;
    const char *name, *title;
    column column[COLUMNS_MAX];
    size_t columns;
} figure;

/* Selects evenly spaced draws. */
static void take_draws(const study_table *table, column *c) {
    const study_posterior *posterior = c->posterior;
    c->n = table->draws < posterior->count ? table->draws : posterior->count;
    c->eta0 = cli_alloc(c->n, sizeof *c->eta0);
    c->eta1 = cli_alloc(c->n, sizeof *c->eta1);
    for (size_t i = 0; i < c->n; i++) {
        const double *draw = posterior->draws + 2 * (i * posterior->count / c->n);
        c->eta0[i] = draw[0];
        c->eta1[i] = draw[1];
    }
}

static double quantile_of(size_t n, const double *values, double p) {
    double *copy = cli_alloc(n, sizeof *copy);
    memcpy(copy, values, n * sizeof *copy);
    double q = pv_quantile(n, copy, p);
    free(copy);
    return q;
}

/* log density at the centres of the panel's cells, of (p0, p1) or (eta0, eta1); shown down to LOG_RANGE below its
 * maximum there. */
static void add_heat(study_canvas *canvas, double lo, double hi, const pv_mixture *mixture, bool logits) {
    double *value = cli_alloc((size_t)CELLS * CELLS, sizeof *value), high = -HUGE_VAL;
    for (size_t j = 0; j < CELLS; j++)
        for (size_t i = 0; i < CELLS; i++) {
            double x = lo + (hi - lo) * ((double)i + 0.5) / CELLS, y = lo + (hi - lo) * ((double)j + 0.5) / CELLS;
            const double w[] = {logits ? x : pv_logit(x), logits ? y : pv_logit(y)};
            double log_density = pv_mixture_log_density(mixture, w);
            if (!logits)
                log_density -= log(x * (1 - x) * y * (1 - y));
            value[j * CELLS + i] = log_density;
            high = fmax(high, log_density);
        }
    for (size_t i = 0; i < (size_t)CELLS * CELLS; i++)
        value[i] = fmax(value[i], high - LOG_RANGE);
    pv_series heat = {.mark = PV_MARK_HEAT,
                      .ink = PV_INK_NEGATIVE,
                      .name = "log density",
                      .n = (size_t)CELLS * CELLS,
                      .y = value,
                      .columns = CELLS};
    study_series(canvas, &heat);
    free(value);
}

static void finish_panel(study_canvas *canvas, const char *title, const char *x, const char *y, double lo, double hi) {
    pv_panel panel = {.title = title,
                      .x = {.label = x, .lo = lo, .hi = hi},
                      .y = {.label = y, .lo = lo, .hi = hi},
                      .width = WIDTH,
                      .height = HEIGHT};
    study_panel(canvas, &panel);
}

static const char *iso_name(study_canvas *canvas, const figure *f) {
    return study_text(canvas, "log odds ratio %.2f", f->table->lor);
}

static void add_probabilities(study_canvas *canvas, const figure *f, const column *c) {
    static const double extents[] = {0.02, 0.05, 0.1, 0.2, 0.5, 1};
    double *p0 = cli_alloc(c->n, sizeof *p0), *p1 = cli_alloc(c->n, sizeof *p1), cx[CURVE], cy[CURVE];
    for (size_t i = 0; i < c->n; i++) {
        p0[i] = pv_sigmoid(c->eta0[i]);
        p1[i] = pv_sigmoid(c->eta1[i]);
    }
    double most = fmax(quantile_of(c->n, p0, 0.97), quantile_of(c->n, p1, 0.97));
    size_t e = 0;
    while (e < 5 && extents[e] < most)
        e++;
    add_heat(canvas, 0, extents[e], &c->posterior->mixture, false);
    study_points(canvas, PV_INK_TEXT, "draws", c->n, p0, p1, 0.9);
    study_segment(canvas, PV_INK_MUTED, "p0 = p1", true, 0, 0, 1, 1);
    for (size_t i = 0; i < CURVE; i++) {
        cx[i] = extents[e] * ((double)i + 0.01) / CURVE;
        cy[i] = pv_sigmoid(f->table->lor + pv_logit(cx[i]));
    }
    if (isfinite(f->table->lor))
        study_line(canvas, PV_INK_EXPECTED, iso_name(canvas, f), false, CURVE, cx, cy);
    finish_panel(canvas, c->title, "p0 = p(Y=1|X=0)", "p1 = p(Y=1|X=1)", 0, extents[e]);
    free(p0);
    free(p1);
}

static void add_logits(study_canvas *canvas, const figure *f, const column *c) {
    double low = fmin(quantile_of(c->n, c->eta0, 0.005), quantile_of(c->n, c->eta1, 0.005));
    double high = fmax(quantile_of(c->n, c->eta0, 0.995), quantile_of(c->n, c->eta1, 0.995));
    double margin = 0.12 * (high - low), lor = f->table->lor;
    low -= margin;
    high += margin;
    add_heat(canvas, low, high, &c->posterior->mixture, true);
    study_points(canvas, PV_INK_TEXT, "draws", c->n, c->eta0, c->eta1, 0.9);
    study_segment(canvas, PV_INK_MUTED, "p0 = p1", true, low, low, high, high);
    if (isfinite(lor))
        study_segment(canvas, PV_INK_EXPECTED, iso_name(canvas, f), false, low, low + lor, high, high + lor);
    finish_panel(canvas, study_text(canvas, "%s: log odds", c->title),
                 "\xCE\xB7"
                 "0",
                 "\xCE\xB7"
                 "1",
                 low, high);
}

/* Shows four standard deviations of the exact posterior around the middle, at least 3 on either side. */
static void add_ratio(study_canvas *canvas, const figure *f, const column *c) {
    const study_posterior *p = c->posterior;
    const study_exact *exact = &p->exact;
    double reach = fmax(4 * p->vi.sd[STUDY_LOR], 3), mean = p->vi.mean[STUDY_LOR], x[CURVE], y[CURVE], top = 0;
    for (size_t i = 0; i < CURVE; i++) {
        x[i] = mean - reach + 2 * reach * (double)i / (CURVE - 1);
        y[i] = study_mixture_lor_density(&p->mixture, x[i]);
        top = fmax(top, y[i]);
    }
    for (size_t i = 0; i < STUDY_POINTS; i++)
        top = fmax(top, exact->density[i]);
    top *= 1.1;
    if (isfinite(f->table->lor))
        study_segment(canvas, PV_INK_IW, "frequentist", false, f->table->lor, 0, f->table->lor, top);
    study_segment(canvas, PV_INK_NEGATIVE, "mean", false, mean, 0, mean, top);
    study_line(canvas, PV_INK_EMPIRICAL, "variational", false, CURVE, x, y);
    study_line(canvas, PV_INK_POSITIVE, "exact", true, STUDY_POINTS, exact->lor, exact->density);
    pv_panel panel = {.title = study_text(canvas, "%s: log odds ratio", c->title),
                      .x = {.label = "\xCE\xB7"
                                     "1 - \xCE\xB7"
                                     "0",
                            .lo = mean - reach,
                            .hi = mean + reach},
                      .y = {.label = "density", .lo = 0, .hi = top},
                      .width = WIDTH,
                      .height = HEIGHT};
    study_panel(canvas, &panel);
}

static int write_figure(cli_call *call, figure *f) {
    study_canvas canvas = {0};
    for (size_t c = 0; c < f->columns; c++)
        take_draws(f->table, &f->column[c]);
    for (size_t c = 0; c < f->columns; c++)
        add_probabilities(&canvas, f, &f->column[c]);
    for (size_t c = 0; c < f->columns; c++)
        add_logits(&canvas, f, &f->column[c]);
    for (size_t c = 0; c < f->columns; c++)
        add_ratio(&canvas, f, &f->column[c]);
    for (size_t c = 0; c < f->columns; c++) {
        free(f->column[c].eta0);
        free(f->column[c].eta1);
    }
    return study_figure(
        call, &canvas, f->name, f->title,
        "Above: the posterior of p0 and p1 (darker: higher log density), draws of it, and the curve of "
        "the observed log odds ratio. Middle: the same in log odds. Below: the posterior of the log odds "
        "ratio, by a mixture of Gaussians and exactly by quadrature.",
        f->columns);
}

static void add(figure *f, const study_posterior *p, const char *prefix) {
    if (!p || f->columns == COLUMNS_MAX)
        return;
    f->column[f->columns].posterior = p;
    char *title = f->column[f->columns].title;
    if (isnan(p->prevalence_n))
        snprintf(title, sizeof f->column->title, "%s", prefix);
    else
        snprintf(title, sizeof f->column->title, "%sN_pr = %g", prefix, p->prevalence_n);
    f->columns++;
}

int study_contingency_pictures(cli_call *call, const study_table *table) {
    figure models = {.table = table, .name = "models", .title = "Posteriors by model."};
    figure plugin = {.table = table,
                     .name = "prevalence_plugin",
                     .title = "ig with the plug-in marginal, by strength of the prevalence prior."};
    figure profile = {.table = table,
                      .name = "prevalence_profile",
                      .title = "ig with p(x) profiled out, by strength of the prevalence prior."};
    const study_posterior *first[2] = {NULL, NULL};
    for (size_t i = 0; i < table->posteriors; i++) {
        const study_posterior *p = &table->posterior[i];
        int which = strcmp(p->loss, "ig_profile") == 0;
        if (isnan(p->prevalence_n))
            continue;
        if (!first[which])
            first[which] = p;
        else
            add(which ? &profile : &plugin, p, "");
    }
    add(&models, &table->posterior[1], "iw");
    add(&models, &table->posterior[0], "bias-free (plain)");
    add(&models, first[0], "ig, plug-in, ");
    add(&models, first[1], "ig, profile, ");
    int code = write_figure(call, &models);
    if (code == CLI_OK && plugin.columns)
        code = write_figure(call, &plugin);
    if (code == CLI_OK && profile.columns)
        code = write_figure(call, &profile);
    return code;
}
