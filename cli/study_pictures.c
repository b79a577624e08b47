/* The pictures of the contingency study, after the paper's three figures: the posterior in (p0, p1) and in logit space
 * with the iso-curve of the empirical log odds ratio and draws, and the posterior of the log odds ratio. */
#include "study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "svg.h"

enum { CELLS = 60, CURVE = 200, COLUMNS_MAX = 8 };
static const double SIDE = 190, GAP = 62, LEFT = 56, TOP = 58, ROW = 258, LOG_RANGE = 10;
static const char iso_colour[] = "#2e8b57", mean_colour[] = "#1f5fbf", frequentist_colour[] = "#8b5a2b";

typedef struct column {
    const study_posterior *posterior;
    char title[48];
} column;

typedef struct figure {
    const study_table *table;
    const char *title;
    column column[COLUMNS_MAX];
    size_t columns;
} figure;

/* Draws spread over all that there are, [draws] each; the caller frees both. */
static size_t take_draws(const study_table *table, const pv_posterior *posterior, double **eta0, double **eta1) {
    size_t n = table->draws < posterior->count ? table->draws : posterior->count;
    *eta0 = cli_alloc(n, sizeof **eta0);
    *eta1 = cli_alloc(n, sizeof **eta1);
    for (size_t i = 0; i < n; i++) {
        const double *draw = posterior->draws + 2 * (i * posterior->count / n);
        (*eta0)[i] = draw[0];
        (*eta1)[i] = draw[1];
    }
    return n;
}

static double quantile_of(size_t n, const double *values, double p) {
    double *copy = cli_alloc(n, sizeof *copy);
    memcpy(copy, values, n * sizeof *copy);
    double q = pv_quantile(n, copy, p);
    free(copy);
    return q;
}

/* log density at the centres of the panel's cells, of (p0, p1) or (eta0, eta1); drawn down to LOG_RANGE below its
 * greatest value there. */
static void draw_heat(FILE *out, const svg_panel *panel, const pv_mixture *mixture, bool logits) {
    double *value = cli_alloc((size_t)CELLS * CELLS, sizeof *value), high = -HUGE_VAL;
    for (size_t j = 0; j < CELLS; j++)
        for (size_t i = 0; i < CELLS; i++) {
            double x = panel->x0 + (panel->x1 - panel->x0) * ((double)i + 0.5) / CELLS;
            double y = panel->y0 + (panel->y1 - panel->y0) * ((double)j + 0.5) / CELLS;
            const double w[] = {logits ? x : pv_logit(x), logits ? y : pv_logit(y)};
            double log_density = pv_mixture_log_density(mixture, w);
            if (!logits)
                log_density -= log(x * (1 - x) * y * (1 - y));
            value[j * CELLS + i] = log_density;
            high = fmax(high, log_density);
        }
    svg_heat(out, panel, CELLS, CELLS, value, high - LOG_RANGE, high);
    free(value);
}

static void draw_probabilities(FILE *out, svg_panel panel, const figure *f, size_t c, size_t n, const double *eta0,
                               const double *eta1) {
    static const double extents[] = {0.02, 0.05, 0.1, 0.2, 0.5, 1};
    double *p0 = cli_alloc(n, sizeof *p0), *p1 = cli_alloc(n, sizeof *p1), cx[CURVE], cy[CURVE];
    for (size_t i = 0; i < n; i++) {
        p0[i] = pv_sigmoid(eta0[i]);
        p1[i] = pv_sigmoid(eta1[i]);
    }
    double most = fmax(quantile_of(n, p0, 0.97), quantile_of(n, p1, 0.97));
    size_t e = 0;
    while (e < 5 && extents[e] < most)
        e++;
    panel.x0 = panel.y0 = 0;
    panel.x1 = panel.y1 = extents[e];
    svg_clip(out, &panel);
    draw_heat(out, &panel, &f->column[c].posterior->posterior->mixture, false);
    svg_points(out, &panel, n, p0, p1, "#000", 2, 0.35);
    svg_segment(out, &panel, 0, 0, 1, 1, "#000", 1, "2 3");
    for (size_t i = 0; i < CURVE; i++) {
        cx[i] = panel.x1 * ((double)i + 0.01) / CURVE;
        cy[i] = pv_sigmoid(f->table->lor + pv_logit(cx[i]));
    }
    if (isfinite(f->table->lor))
        svg_line(out, &panel, CURVE, cx, cy, iso_colour, 1.8, NULL);
    svg_unclip(out);
    svg_axes(out, &panel, f->column[c].title, "p0 = p(Y=1|X=0)", "p1 = p(Y=1|X=1)");
    free(p0);
    free(p1);
}

static void draw_logits(FILE *out, svg_panel panel, const figure *f, size_t c, size_t n, const double *eta0,
                        const double *eta1) {
    double low = fmin(quantile_of(n, eta0, 0.005), quantile_of(n, eta1, 0.005));
    double high = fmax(quantile_of(n, eta0, 0.995), quantile_of(n, eta1, 0.995)), margin = 0.12 * (high - low);
    panel.x0 = panel.y0 = low - margin;
    panel.x1 = panel.y1 = high + margin;
    svg_clip(out, &panel);
    draw_heat(out, &panel, &f->column[c].posterior->posterior->mixture, true);
    svg_points(out, &panel, n, eta0, eta1, "#000", 2, 0.35);
    svg_segment(out, &panel, panel.x0, panel.x0, panel.x1, panel.x1, "#000", 1, "2 3");
    if (isfinite(f->table->lor))
        svg_segment(out, &panel, panel.x0, panel.x0 + f->table->lor, panel.x1, panel.x1 + f->table->lor, iso_colour,
                    1.8, NULL);
    svg_unclip(out);
    svg_axes(out, &panel, NULL,
             "\xCE\xB7"
             "0 (log odds)",
             "\xCE\xB7"
             "1 (log odds)");
}

/* Four standard deviations of the exact posterior about the middle; wide ones are cut to keep panels comparable. */
static void draw_ratio(FILE *out, svg_panel panel, const figure *f, size_t c) {
    const study_posterior *p = f->column[c].posterior;
    const study_exact *exact = &p->exact;
    double reach = fmax(4 * p->vi.sd[STUDY_LOR], 3), x[CURVE], y[CURVE], top = 0;
    panel.x0 = p->vi.mean[STUDY_LOR] - reach;
    panel.x1 = p->vi.mean[STUDY_LOR] + reach;
    for (size_t i = 0; i < CURVE; i++) {
        x[i] = panel.x0 + (panel.x1 - panel.x0) * (double)i / (CURVE - 1);
        y[i] = study_mixture_lor_density(&p->posterior->mixture, x[i]);
        top = fmax(top, y[i]);
    }
    for (size_t i = 0; i < exact->points; i++)
        top = fmax(top, exact->density[i]);
    panel.y0 = 0;
    panel.y1 = 1.1 * top;
    svg_clip(out, &panel);
    if (isfinite(f->table->lor))
        svg_segment(out, &panel, f->table->lor, 0, f->table->lor, panel.y1, frequentist_colour, 1.5, NULL);
    svg_segment(out, &panel, p->vi.mean[STUDY_LOR], 0, p->vi.mean[STUDY_LOR], panel.y1, mean_colour, 1.5, NULL);
    svg_line(out, &panel, CURVE, x, y, "#222", 1.5, NULL);
    svg_line(out, &panel, exact->points, exact->lor, exact->density, "#d07000", 1.5, "4 4");
    svg_unclip(out);
    svg_axes(out, &panel, NULL,
             "log odds ratio \xCE\xB7"
             "1 - \xCE\xB7"
             "0",
             "density");
}

static void draw_key(FILE *out, double x, double y, double lor) {
    char text[64];
    snprintf(text, sizeof text, "log odds ratio = %.2f", lor);
    const struct {
        const char *colour, *dash, *text;
    } entries[] = {{iso_colour, NULL, text},
                   {"#000", "2 3", "p0 = p1"},
                   {frequentist_colour, NULL, "frequentist estimate"},
                   {mean_colour, NULL, "posterior mean"},
                   {"#222", NULL, "variational posterior"},
                   {"#d07000", "4 4", "exact, by quadrature"}};
    svg_panel page = {0, 0, 1, 1, 0, 1, 1, 0}; /* pixels */
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++, x += 148) {
        svg_segment(out, &page, x, y, x + 22, y, entries[i].colour, 1.8, entries[i].dash);
        svg_text(out, x + 27, y + 3.5, "start", 10.5, "#333", entries[i].text);
    }
}

static void write_figure(FILE *out, const void *what) {
    const figure *f = what;
    double width = LEFT + (double)f->columns * (SIDE + GAP), height = TOP + 3 * ROW - 4;
    svg_begin(out, fmax(width, LEFT + 6 * 148), height, f->title);
    svg_text(out, LEFT, 22, "start", 13, "#000", f->title);
    for (size_t c = 0; c < f->columns; c++) {
        svg_panel panel = {.x = LEFT + (double)c * (SIDE + GAP), .y = TOP, .width = SIDE, .height = SIDE};
        double *eta0, *eta1;
        size_t n = take_draws(f->table, f->column[c].posterior->posterior, &eta0, &eta1);
        draw_probabilities(out, panel, f, c, n, eta0, eta1);
        panel.y += ROW - 8;
        draw_logits(out, panel, f, c, n, eta0, eta1);
        panel.y += ROW - 8;
        draw_ratio(out, panel, f, c);
        free(eta0);
        free(eta1);
    }
    draw_key(out, LEFT, height - 14, f->table->lor);
    svg_end(out);
}

static void add(figure *f, const study_posterior *p, const char *prefix) {
    if (f->columns == COLUMNS_MAX)
        return;
    f->column[f->columns].posterior = p;
    char *title = f->column[f->columns].title;
    if (isnan(p->prevalence_n))
        snprintf(title, sizeof f->column->title, "%s", prefix);
    else
        snprintf(title, sizeof f->column->title, "%sN_pr = %g", prefix, p->prevalence_n);
    f->columns++;
}

int study_contingency_pictures(cli_call *call, const char *folder, const study_table *table) {
    figure models = {.table = table,
                     .title = "Posteriors of the contingency table by model (darker: higher log density)"};
    figure plugin = {
        .table = table,
        .title = "ig with the plug-in marginal, by strength of the prevalence prior (darker: higher log density)"};
    figure profile = {
        .table = table,
        .title = "ig with p(x) profiled out, by strength of the prevalence prior (darker: higher log density)"};
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
    add(&models, &table->posterior[1], "importance weighting (iw)");
    add(&models, &table->posterior[0], "bias-free (plain)");
    add(&models, first[0], "ig, plug-in, ");
    add(&models, first[1], "ig, profile, ");
    int code = study_write(call, folder, "models.svg", write_figure, &models);
    if (code == CLI_OK && plugin.columns)
        code = study_write(call, folder, "prevalence_plugin.svg", write_figure, &plugin);
    if (code == CLI_OK && profile.columns)
        code = study_write(call, folder, "prevalence_profile.svg", write_figure, &profile);
    return code;
}
