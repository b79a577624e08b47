/* Pictures of the calibration study, after the paper's figures in section 6: calibration on training rows, held-out
 * rows and the population; log odds ratios; expected and empirical error rates. */
#include "study_calibration.h"

#include <math.h>

#include "svg.h"

static const double LEFT = 60, TOP = 72, SIDE = 210, GAP = 66, ROW = 272;

static svg_panel panel_at(size_t column, size_t row) {
    return (svg_panel){.x = LEFT + (double)column * (SIDE + GAP), .y = TOP + (double)row * ROW, SIDE, SIDE, 0, 1, 0, 1};
}

static void draw_key(FILE *out, double y, int methods) {
    svg_panel page = {0, 0, 1, 1, 0, 1, 1, 0}; /* pixels */
    for (int m = 0; m < methods; m++) {
        double x = LEFT + 142.0 * m;
        svg_segment(out, &page, x, y, x + 20, y, cal_colour[m], 2, NULL);
        svg_text(out, x + 25, y + 4, "start", 11, "#333", cal_method[m]);
    }
}

/* ---- calibration curves ------------------------------------------------------------------------------------------ */

/* Bins of too little mass say nothing. */
static size_t curve_of(const calibration *c, size_t k, int method, int part, double *x, double *y) {
    judge_bins sum = cal_bins(c, k, method, part);
    double total = 0;
    for (int i = 0; i < JUDGE_BINS; i++)
        total += sum.mass[i];
    size_t n = 0;
    for (int i = 0; i < JUDGE_BINS; i++)
        if (sum.mass[i] > 2e-4 * total && sum.y[i] > 0) {
            x[n] = sum.p[i] / sum.mass[i];
            y[n++] = sum.y[i] / sum.mass[i];
        }
    for (size_t i = 0; part != CAL_HELDOUT_ROWS && i < n; i++) {
        x[i] = log10(x[i]);
        y[i] = log10(y[i]);
    }
    return n;
}

static void write_calibration(FILE *out, const void *what) {
    const calibration *c = what;
    static const char *const titles[] = {"training, weighted by \xCE\xB2", "held-out, adapted", "true population"};
    svg_begin(out, LEFT + 3 * (SIDE + GAP), TOP + (double)c->prevalences * ROW, "Calibration");
    svg_text(out, LEFT, 18, "start", 13, "#000",
             "Share of positives against predicted probability, summed over data sets");
    draw_key(out, 36, CAL_FITTED);
    for (size_t k = 0; k < c->prevalences; k++)
        for (int which = 0; which < CAL_PARTS; which++) {
            svg_panel p = panel_at((size_t)which, k);
            char title[64];
            if (which != CAL_HELDOUT_ROWS) {
                p.x0 = p.y0 = floor(log10(c->prevalence[k]) - 1.4);
                p.x1 = p.y1 = 0;
            }
            svg_clip(out, &p);
            svg_segment(out, &p, p.x0, p.x0, p.x1, p.x1, "#999", 1, "4 3");
            for (int m = 0; m < CAL_FITTED; m++) {
                double x[JUDGE_BINS], y[JUDGE_BINS];
                size_t n = curve_of(c, k, m, which, x, y);
                svg_line(out, &p, n, x, y, cal_colour[m], 1.5, NULL);
                svg_points(out, &p, n, x, y, cal_colour[m], 5, 1);
            }
            svg_unclip(out);
            snprintf(title, sizeof title, "%s, prevalence %g", titles[which], c->prevalence[k]);
            svg_axes(out, &p, title, which == CAL_HELDOUT_ROWS ? "probability" : "log10 probability",
                     which == CAL_HELDOUT_ROWS ? "share of positives" : "log10 share of positives");
        }
    svg_end(out);
}

/* ---- log odds ratios --------------------------------------------------------------------------------------------- */

/* Relative to the truth, so that all share one axis. The bar is the spread over data sets, the point their mean. */
static void write_odds_ratios(FILE *out, const void *what) {
    const calibration *c = what;
    double width = LEFT + 40 + (double)c->prevalences * (SIDE + 30);
    svg_begin(out, fmax(width, LEFT + 142.0 * CAL_FITTED), TOP + 320, "Log odds ratios");
    svg_text(out, LEFT, 18, "start", 13, "#000",
             "Log odds ratio over the truth: mean over data sets, bar one standard deviation over them");
    draw_key(out, 36, CAL_FITTED);
    for (int j = 1; j < CAL_COEFFICIENTS; j++)
        svg_text(out, LEFT + 34, TOP + 270 * (j - 0.5) / CAL_FEATURES + 4, "end", 11, "#000", cal_feature[j]);
    for (size_t k = 0; k < c->prevalences; k++) {
        svg_panel p = {LEFT + 42 + (double)k * (SIDE + 30), TOP, SIDE, 270, -1.5, 3.5, 0, CAL_FEATURES};
        char title[48];
        svg_clip(out, &p);
        svg_segment(out, &p, 1, p.y0, 1, p.y1, "#999", 1, "4 3");
        svg_segment(out, &p, 0, p.y0, 0, p.y1, "#ddd", 1, NULL);
        for (int j = 1; j < CAL_COEFFICIENTS; j++)
            for (int m = 0; m < CAL_FITTED; m++) {
                cal_coefficient one = cal_coefficient_of(c, k, m, j);
                double y = CAL_FEATURES - j + 0.5 - 0.15 * (m - 2), x = one.mean / one.truth;
                double reach = one.spread / fabs(one.truth);
                svg_segment(out, &p, x - reach, y, x + reach, y, cal_colour[m], 1.3, NULL);
                svg_points(out, &p, 1, &x, &y, cal_colour[m], 5, 1);
            }
        svg_unclip(out);
        snprintf(title, sizeof title, "prevalence %g", c->prevalence[k]);
        svg_axes(out, &p, title, "estimate / truth", NULL);
    }
    svg_end(out);
}

/* ---- expected and empirical rates -------------------------------------------------------------------------------- */

static void write_rates(FILE *out, const void *what) {
    const calibration *c = what;
    static const char *const colours[2] = {"#1f5fbf", "#b5482f"};
    const int shown[] = {CAL_PLUGIN, CAL_PROFILE, CAL_IW, CAL_PLAIN};
    svg_begin(out, LEFT + 4 * (SIDE + GAP), TOP + (double)c->prevalences * ROW, "Expected and empirical rates");
    svg_text(out, LEFT, 18, "start", 13, "#000",
             "Held-out rows of the first data set, predictions adapted to their label shares");
    svg_panel page = {0, 0, 1, 1, 0, 1, 1, 0};
    static const char *const entries[4] = {"expected FPR", "empirical FPR", "expected FNR", "empirical FNR"};
    for (int i = 0; i < 4; i++) {
        double x = LEFT + 130.0 * i;
        svg_segment(out, &page, x, 36, x + 22, 36, colours[i / 2], 2, i % 2 ? "5 3" : NULL);
        svg_text(out, x + 27, 40, "start", 11, "#333", entries[i]);
    }
    for (size_t k = 0; k < c->prevalences; k++)
        for (size_t s = 0; s < 4; s++) {
            svg_panel p = panel_at(s, k);
            const judge_rates *curve = c->curve + (k * CAL_METHODS + (size_t)shown[s]) * CAL_CURVE;
            double x[CAL_CURVE], y[4][CAL_CURVE];
            char title[64];
            for (size_t i = 0; i < CAL_CURVE; i++) {
                x[i] = (double)i / (CAL_CURVE - 1);
                y[0][i] = curve[i].expected_fpr;
                y[1][i] = curve[i].fpr;
                y[2][i] = curve[i].expected_fnr;
                y[3][i] = curve[i].fnr;
            }
            for (int i = 0; i < 4; i++)
                svg_line(out, &p, CAL_CURVE, x, y[i], colours[i / 2], 1.6, i % 2 ? "5 3" : NULL);
            snprintf(title, sizeof title, "%s, prevalence %g", cal_method[shown[s]], c->prevalence[k]);
            svg_axes(out, &p, title, "threshold", "rate");
        }
    svg_end(out);
}

/* ---- real nodules ------------------------------------------------------------------------------------------------ */

static void write_real(FILE *out, const void *what) {
    const nodules *real = what;
    svg_panel page = {0, 0, 1, 1, 0, 1, 1, 0}, p = {LEFT, 44, 300, 300, 0, 1, 0, 1};
    svg_begin(out, 560, 400, "Calibration on real nodules");
    svg_text(out, LEFT, 22, "start", 13, "#000", "Real nodules at their natural prevalence, summed over splits");
    svg_segment(out, &p, 0, 0, 1, 1, "#999", 1, "4 3");
    for (int m = 0; m < NOD_METHODS; m++) {
        const char *colour = m == NOD_UNCORRECTED ? "#888888" : cal_colour[m];
        double x[JUDGE_BINS], y[JUDGE_BINS], at = 70 + 20.0 * m;
        size_t n = 0;
        judge_bins sum = {{0}, {0}, {0}};
        for (size_t s = 0; s < real->splits; s++)
            judge_bins_sum(&sum, &real->bins[s * NOD_METHODS + (size_t)m]);
        for (int i = 0; i < JUDGE_BINS; i++)
            if (sum.mass[i] > 0) {
                x[n] = sum.p[i] / sum.mass[i];
                y[n++] = sum.y[i] / sum.mass[i];
            }
        svg_line(out, &p, n, x, y, colour, 1.6, NULL);
        svg_points(out, &p, n, x, y, colour, 5, 1);
        svg_segment(out, &page, 390, at, 412, at, colour, 2, NULL);
        svg_text(out, 418, at + 4, "start", 11, "#333", nod_method(m));
    }
    svg_axes(out, &p, NULL, "probability", "share of positives");
    svg_end(out);
}

int calibration_pictures(cli_call *call, const char *folder, const calibration *c, const nodules *real) {
    int code = study_write(call, folder, "calibration.svg", write_calibration, c);
    if (code == CLI_OK)
        code = study_write(call, folder, "odds_ratios.svg", write_odds_ratios, c);
    if (code == CLI_OK)
        code = study_write(call, folder, "rates.svg", write_rates, c);
    if (code == CLI_OK && real)
        code = study_write(call, folder, "real.svg", write_real, real);
    return code;
}
