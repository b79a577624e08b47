/* Figures of the calibration study, after those in section 6 of the paper: calibration on training rows, held-out rows
 * and the population; log odds ratios; expected and empirical error rates. */
#include "prevail/prevail.h"
#include "lab/calibration/calibration.h"
#include "lab/common/canvas.h"
#include "tool/command.h"

#include <math.h>

static const double WIDTH = 300, HEIGHT = 310;

/* ---- calibration curves ------------------------------------------------------------------------------------------ */

/* Leaves out bins with too little mass. */
static size_t curve_of(const judge_bins *sum, double least, double *x, double *y) {
    double total = 0;
    for (int i = 0; i < JUDGE_BINS; i++)
        total += sum->mass[i];
    size_t n = 0;
    for (int i = 0; i < JUDGE_BINS; i++)
        if (sum->mass[i] > least * total && (least <= 0 || sum->y[i] > 0)) {
            x[n] = sum->p[i] / sum->mass[i];
            y[n++] = sum->y[i] / sum->mass[i];
        }
    return n;
}

static void add_curve(study_canvas *canvas, pv_ink ink, const char *name, const judge_bins *sum, double least) {
    double x[JUDGE_BINS], y[JUDGE_BINS];
    size_t n = curve_of(sum, least, x, y);
    study_line(canvas, ink, name, false, n, x, y);
    study_points(canvas, ink, NULL, n, x, y, 2.6);
}

static int write_calibration(cli_call *call, const calibration *c) {
    static const char *const titles[] = {"training, weighted by \xCE\xB2", "held-out, adapted", "true population"};
    study_canvas canvas = {0};
    for (size_t k = 0; k < c->prevalences; k++)
        for (int which = 0; which < CAL_PARTS; which++) {
            bool log = which != CAL_HELDOUT_ROWS;
            double lo = log ? pow(10, floor(log10(c->prevalence[k]) - 1.4)) : 0;
            study_segment(&canvas, PV_INK_MUTED, NULL, true, lo, lo, 1, 1);
            for (int m = 0; m < CAL_FITTED; m++) {
                judge_bins sum = cal_bins(c, k, m, which);
                add_curve(&canvas, cal_ink[m], cal_method[m], &sum, 2e-4);
            }
            pv_panel panel = {.title = study_text(&canvas, "%s, prevalence %g", titles[which], c->prevalence[k]),
                              .x = {.label = "predicted probability", .lo = lo, .hi = 1, .log = log},
                              .y = {.label = "share of positives", .lo = lo, .hi = 1, .log = log},
                              .width = 380,
                              .height = 350};
            study_panel(&canvas, &panel);
        }
    return study_figure(call, &canvas, "calibration", "Calibration.",
                        "Share of positives against predicted probability, summed over data sets; the dashed line is "
                        "right.",
                        CAL_PARTS);
}

/* ---- log odds ratios --------------------------------------------------------------------------------------------- */

/* Relative to the truth, so that all coefficients share one axis. The bar is the spread over data sets, the point their
 * mean. */
static int write_odds_ratios(cli_call *call, const calibration *c) {
    const char *names[CAL_FEATURES];
    study_canvas canvas = {0};
    for (int j = 1; j < CAL_COEFFICIENTS; j++)
        names[CAL_FEATURES - j] = cal_feature[j];
    for (size_t k = 0; k < c->prevalences; k++) {
        study_segment(&canvas, PV_INK_MUTED, NULL, true, 1, -1, 1, CAL_FEATURES);
        for (int m = 0; m < CAL_FITTED; m++) {
            double x[CAL_FEATURES], y[CAL_FEATURES], lo[CAL_FEATURES], hi[CAL_FEATURES];
            for (int j = 1; j < CAL_COEFFICIENTS; j++) {
                cal_coefficient one = cal_coefficient_of(c, k, m, j);
                double reach = one.spread / fabs(one.truth);
                x[j - 1] = one.mean / one.truth;
                y[j - 1] = CAL_FEATURES - j - 0.15 * (m - 2);
                lo[j - 1] = x[j - 1] - reach;
                hi[j - 1] = x[j - 1] + reach;
            }
            pv_series spans = {.mark = PV_MARK_SPANS,
                               .ink = cal_ink[m],
                               .name = cal_method[m],
                               .n = CAL_FEATURES,
                               .x = x,
                               .y = y,
                               .lo = lo,
                               .hi = hi,
                               .size = 2.6};
            study_series(&canvas, &spans);
        }
        pv_panel panel = {.title = study_text(&canvas, "prevalence %g", c->prevalence[k]),
                          .x = {.label = "estimate over truth", .lo = -1.5, .hi = 3.5},
                          .y = {.name = names, .n_names = CAL_FEATURES},
                          .height = 420};
        study_panel(&canvas, &panel);
    }
    return study_figure(
        call, &canvas, "odds_ratios", "Log odds ratios over the truth.",
        "Mean over data sets; the bar is one standard deviation over them. The dashed line is the truth.", 0);
}

/* ---- expected and empirical rates -------------------------------------------------------------------------------- */

static int write_rates(cli_call *call, const calibration *c) {
    static const int shown[] = {CAL_PLUGIN, CAL_PROFILE, CAL_IW, CAL_PLAIN};
    enum { SHOWN = sizeof shown / sizeof *shown };
    study_canvas canvas = {0};
    for (size_t k = 0; k < c->prevalences; k++)
        for (size_t s = 0; s < SHOWN; s++) {
            const judge_rates *curve = c->curve + (k * CAL_METHODS + (size_t)shown[s]) * CAL_CURVE;
            double x[CAL_CURVE], y[4][CAL_CURVE];
            for (size_t i = 0; i < CAL_CURVE; i++) {
                x[i] = (double)i / (CAL_CURVE - 1);
                y[0][i] = curve[i].fpr;
                y[1][i] = curve[i].fnr;
                y[2][i] = curve[i].expected_fpr;
                y[3][i] = curve[i].expected_fnr;
            }
            study_line(&canvas, PV_INK_EMPIRICAL, "empirical", false, CAL_CURVE, x, y[0]);
            study_line(&canvas, PV_INK_EMPIRICAL, NULL, false, CAL_CURVE, x, y[1]);
            study_line(&canvas, PV_INK_EXPECTED, "expected", true, CAL_CURVE, x, y[2]);
            study_line(&canvas, PV_INK_EXPECTED, NULL, true, CAL_CURVE, x, y[3]);
            pv_panel panel = {.title = study_text(&canvas, "%s, prevalence %g", cal_method[shown[s]], c->prevalence[k]),
                              .x = {.label = "threshold", .lo = 0, .hi = 1},
                              .y = {.label = "FPR (falls), FNR (rises)", .lo = 0, .hi = 1},
                              .width = WIDTH,
                              .height = HEIGHT};
            study_panel(&canvas, &panel);
        }
    return study_figure(call, &canvas, "rates", "Expected and empirical error rates.",
                        "Held-out rows of the first data set, predictions adapted to their label shares.", SHOWN);
}

/* ---- real nodules ------------------------------------------------------------------------------------------------ */

static int write_real(cli_call *call, const nodules *real) {
    study_canvas canvas = {0};
    study_segment(&canvas, PV_INK_MUTED, NULL, true, 0, 0, 1, 1);
    for (int m = 0; m < NOD_METHODS; m++) {
        judge_bins sum = {{0}, {0}, {0}};
        for (size_t s = 0; s < real->splits; s++)
            judge_bins_sum(&sum, &real->bins[s * NOD_METHODS + (size_t)m]);
        add_curve(&canvas, m == NOD_UNCORRECTED ? PV_INK_EMPIRICAL : cal_ink[m], nod_method(m), &sum, 0);
    }
    pv_panel panel = {.x = {.label = "predicted probability", .lo = 0, .hi = 1},
                      .y = {.label = "share of positives", .lo = 0, .hi = 1},
                      .height = 380};
    study_panel(&canvas, &panel);
    return study_figure(call, &canvas, "real_calibration", "Calibration on real nodules.",
                        "At their natural prevalence, summed over splits.", 0);
}

int calibration_pictures(cli_call *call, const calibration *c, const nodules *real) {
    int code = write_calibration(call, c);
    if (code == CLI_OK)
        code = write_odds_ratios(call, c);
    if (code == CLI_OK)
        code = calibration_ratios(call, c);
    if (code == CLI_OK)
        code = write_rates(call, c);
    if (code == CLI_OK && real)
        code = write_real(call, real);
    return code;
}
