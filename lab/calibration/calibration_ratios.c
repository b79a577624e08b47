/* The paper's figure of log odds ratios: one data set, fitted at each assumed prevalence. Seven panels show the
 * posterior densities of ig (plug-in, as in the paper, and profile), the point estimates of iw, and for 0/1 covariates
 * the estimates from their marginal distributions among training, all and test rows; the eighth shows all estimates of
 * iw.
 *
 *   log [ p^(x=1|y=1)/p^(x=0|y=1) ] - log [ p^(x=1|y=0)/p^(x=0|y=0) ]      (the paper prints y=1 in both)
 *
 * The posterior of vi is a mixture of Gaussians, so a coefficient's density is one of its marginals, without smoothing.
 */
#include "lab/calibration/calibration_sample.h"
#include "lab/common/canvas.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { POINTS = 161, PARTS = 3 };
static const pv_ink inks[] = {PV_INK_NEGATIVE, PV_INK_EXPECTED, PV_INK_POSITIVE, PV_INK_IG,
                              PV_INK_PLUGIN,   PV_INK_KNOWN,    PV_INK_IW,       PV_INK_PLAIN};

/* The density of one coefficient. */
typedef struct ratio_curves {
    double x[POINTS], y[POINTS];
} ratio_curves;

typedef struct ratios {
    ratio_curves curve[CAL_PREVALENCES_MAX][2][CAL_FEATURES]; /* plug-in, profile */
    double iw[CAL_PREVALENCES_MAX][CAL_FEATURES];
    double empirical[PARTS][CAL_FEATURES]; /* training, all, test rows; NaN: not a 0/1 column */
} ratios;

/* ---- data of the figure ------------------------------------------------------------------------------------------ */

/* The mixture's marginal density of the parameter, and so of the coefficient w/scale. Eight parameters have full
 * covariances.
 */
static double density_at(const pv_mixture *m, size_t parameter, double scale, double x) {
    double sum = 0;
    for (size_t k = 0; k < m->components; k++) {
        const double *row = m->factor + (k * m->dims + parameter) * m->dims;
        double variance = 0;
        for (size_t j = 0; j <= parameter; j++)
            variance += row[j] * row[j];
        double z = (x * scale - m->mean[k * m->dims + parameter]) / sqrt(variance);
        sum += m->weight[k] * exp(-0.5 * z * z) / sqrt(2 * 3.14159265358979323846 * variance);
    }
    return sum * scale;
}

static void moments(const pv_mixture *m, size_t parameter, double *mean, double *sd) {
    double first = 0, second = 0;
    for (size_t k = 0; k < m->components; k++) {
        const double *row = m->factor + (k * m->dims + parameter) * m->dims;
        double variance = 0, at = m->mean[k * m->dims + parameter];
        for (size_t j = 0; j <= parameter; j++)
            variance += row[j] * row[j];
        first += m->weight[k] * at;
        second += m->weight[k] * (at * at + variance);
    }
    *mean = first;
    *sd = sqrt(second - first * first);
}

static void note_curves(const pv_classifier *fit, const cal_sample *s, ratio_curves *curve) {
    const pv_mixture *m = &fit->posterior->mixture;
    for (size_t j = 0; j < CAL_FEATURES; j++) {
        double scale = s->scaled->source[j].sd, mean, sd;
        moments(m, j + 1, &mean, &sd);
        for (size_t i = 0; i < POINTS; i++) {
            curve[j].x[i] = (mean + 4 * sd * (2 * (double)i / (POINTS - 1) - 1)) / scale;
            curve[j].y[i] = density_at(m, j + 1, scale, curve[j].x[i]);
        }
    }
}

/* From the proportions of 1 among the rows of each label; rows: indices into the table. */
static double empirical(const cal_sample *s, size_t feature, size_t n, const size_t *row, const int32_t *label) {
    double count[2][2] = {{0, 0}, {0, 0}};
    for (size_t i = 0; i < n; i++) {
        double x = s->table->column[feature].number[row[i]];
        if (x != 0 && x != 1)
            return (double)NAN;
        count[label[i]][x > 0]++;
    }
    return log(count[1][1] / count[1][0]) - log(count[0][1] / count[0][0]);
}

static pv_status fit_one(pv_ctx *ctx, const calibration *c, size_t k, int method, const cal_sample *s, ratios *r) {
    char stated[34] = "1=";
    pv_format_double(c->prevalence[k], stated + 2, sizeof stated - 2);
    pv_fit_options options = cal_fit_options(c->options, method, stated, c->prevalence_n, c->prior,
                                             (int64_t)((uint64_t)c->options->shared.seed % 9007199254740992));
    pv_classifier *fit = NULL;
    double w[CAL_COEFFICIENTS];
    pv_status status = study_fit(ctx, (size_t)method, s->scaled, s->training, &options, &fit);
    if (study_fit_failed(status))
        return PV_OK; /* leaves out its curve */
    if (status == PV_OK && method == CAL_IW) {
        status = pv_classifier_coefficients(ctx, fit, w);
        memcpy(r->iw[k], w + 1, sizeof r->iw[k]);
    } else if (status == PV_OK) {
        note_curves(fit, s, r->curve[k][method == CAL_PROFILE]);
    }
    pv_classifier_free(ctx, fit);
    return status;
}

/* The first data set of the first prevalence, fitted at every assumed prevalence. */
static pv_status fill(pv_ctx *ctx, const calibration *c, ratios *r) {
    static const int methods[] = {CAL_PLUGIN, CAL_PROFILE, CAL_IW};
    cal_sample s = {0};
    pv_status status = cal_sample_new(ctx, c, 0, 0, &s);
    for (size_t k = 0; k < c->prevalences; k++) {
        size_t entered =
            pv_checkpoint_enter(ctx, "ratios", k); /* fits are otherwise distinguished only by their method */
        for (size_t m = 0; m < 3 && status == PV_OK; m++)
            status = fit_one(ctx, c, k, methods[m], &s, r);
        pv_checkpoint_leave(ctx, entered);
    }
    if (status == PV_OK) {
        const pv_dataset *parts[PARTS] = {s.training, s.data, s.testing};
        for (size_t p = 0; p < PARTS; p++)
            for (size_t j = 0; j < CAL_FEATURES; j++)
                r->empirical[p][j] = empirical(&s, j, parts[p]->rows, parts[p]->table_row, parts[p]->label);
    }
    cal_sample_free(ctx, &s);
    return status;
}

/* ---- figure ------------------------------------------------------------------------------------------------------ */

static void draw_upright(study_canvas *canvas, pv_ink ink, const char *name, bool dashed, double at, double top) {
    if (isfinite(at))
        study_segment(canvas, ink, name, dashed, at, 0, at, top);
}

static void draw_covariate(study_canvas *canvas, const calibration *c, const ratios *r, size_t j) {
    static const char *const names[PARTS] = {"empirical: training", "all", "test"};
    static const pv_ink greys[PARTS] = {PV_INK_GRID, PV_INK_MUTED, PV_INK_EMPIRICAL};
    double top = 0;
    for (size_t k = 0; k < c->prevalences; k++)
        for (size_t m = 0; m < 2; m++)
            for (size_t i = 0; i < POINTS; i++)
                top = fmax(top, r->curve[k][m][j].y[i]);
    for (size_t p = 0; p < PARTS; p++)
        draw_upright(canvas, greys[p], names[p], false, r->empirical[p][j], top);
    for (size_t k = 0; k < c->prevalences; k++) {
        const ratio_curves *curve = r->curve[k][0];
        study_line(canvas, inks[k], study_text(canvas, "ig, plug-in, %g", c->prevalence[k]), false, POINTS, curve[j].x,
                   curve[j].y);
        draw_upright(canvas, inks[k], study_text(canvas, "iw, %g", c->prevalence[k]), true, r->iw[k][j], top);
    }
    /* those of profile are nearly equal at all prevalences, so one is shown */
    study_line(canvas, cal_ink[CAL_PROFILE], study_text(canvas, "ig, profile, %g", c->prevalence[0]), false, POINTS,
               r->curve[0][1][j].x, r->curve[0][1][j].y);
    draw_upright(canvas, PV_INK_TEXT, "truth", true, c->truth[0][1 + j], 0.25 * top);
    pv_panel panel = {.title = study_text(canvas, "%s", cal_feature[1 + j]),
                      .x = {.label = "log odds ratio"},
                      .y = {.label = "density", .lo = 0, .hi = 1.05 * top},
                      .width = 330,
                      .height = 300};
    study_panel(canvas, &panel);
}

/* The eighth panel: the sizes of the estimates of iw; negative ones are left out, as in the paper. */
static void draw_together(study_canvas *canvas, const calibration *c, const ratios *r, const char *const *names) {
    for (size_t k = 0; k < c->prevalences; k++) {
        double x[CAL_FEATURES], y[CAL_FEATURES];
        for (size_t j = 0; j < CAL_FEATURES; j++) {
            x[j] = r->iw[k][j] / c->truth[0][1 + j];
            y[j] = (double)(CAL_FEATURES - 1 - j);
        }
        study_points(canvas, inks[k], study_text(canvas, "iw, %g", c->prevalence[k]), CAL_FEATURES, x, y, 3.2);
    }
    pv_panel panel = {.title = "iw, all covariates",
                      .x = {.label = "estimate over truth", .lo = 0.01, .hi = 10, .log = true},
                      .y = {.name = names, .n_names = CAL_FEATURES},
                      .width = 330,
                      .height = 300};
    study_panel(canvas, &panel);
}

static void clear(ratios *r) {
    double *all = (double *)(void *)r;
    for (size_t i = 0; i < sizeof *r / sizeof *all; i++)
        all[i] = (double)NAN;
}

int calibration_ratios(cli_call *call, const calibration *c) {
    ratios *r = cli_alloc(1, sizeof *r);
    study_canvas canvas = {0};
    const char *names[CAL_FEATURES]; /* from bottom to top */
    for (size_t j = 0; j < CAL_FEATURES; j++)
        names[CAL_FEATURES - 1 - j] = cal_feature[1 + j];
    clear(r);
    pv_status status = fill(call->ctx, c, r);
    if (status != PV_OK) {
        free(r);
        return cli_fail(call, status);
    }
    for (size_t j = 0; j < CAL_FEATURES; j++)
        draw_covariate(&canvas, c, r, j);
    draw_together(&canvas, c, r, names);
    free(r);
    return study_figure(
        call, &canvas, "odds_densities", "Log odds ratios of one data set.",
        "Posterior densities of ig and estimates of iw (dashed) at each assumed prevalence; grey: from "
        "the covariate's shares among training, all and test rows (0/1 covariates). Last: iw's together.",
        4);
}
