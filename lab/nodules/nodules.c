/* study nodules: the paper's section 9.1. Benign or malignant, from images, at several prevalences. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prevail/prevail.h"
#include "lab/common/canvas.h"
#include "lab/common/grid_paper.h"
#include "lab/common/study.h"
#include "lab/lab.h"
#include "tool/console.h"

/* The paper's twelve columns, followed by those that are only in the CSV and JSON files. The paper's NELL includes two
 * standard deviations (8.1), so it corresponds to log_loss_upper. */
static const grid_column columns[] = {{"log_loss_upper", "upper"},
                                      {"holdout_nll", "nll"},
                                      {"information_gain", "gain"},
                                      {"accuracy", "acc"},
                                      {"tnr", "tnr"},
                                      {"tpr", "tpr"},
                                      {"npv", "npv"},
                                      {"ppv", "ppv"},
                                      {"auc", "auc"},
                                      {"informedness", "I"},
                                      {"markedness", "M"},
                                      {"mcc", "mcc"},
                                      {"log_loss", "log_loss"},
                                      {"brier", "brier"},
                                      {"ece", "ece"}};
enum { COLUMNS = sizeof columns / sizeof *columns };

static pv_status judge(const grid *g, const grid_cell *cell, size_t prevalence, bool adapted, double *values) {
    grid_judged j = grid_judged_new(g, cell, prevalence, adapted);
    pv_metrics metrics;
    pv_status status = grid_assess(g, cell, prevalence, adapted, &j, &metrics);
    if (status == PV_OK)
        grid_metrics(&metrics, COLUMNS, columns, values);
    grid_judged_clear(&j);
    return status;
}

/* ---- ROC curves -------------------------------------------------------------------------------------------------- */

static const pv_ink prevalence_ink[] = {PV_INK_EMPIRICAL, PV_INK_NEGATIVE, PV_INK_EXPECTED, PV_INK_IG,
                                        PV_INK_POSITIVE,  PV_INK_PLUGIN,   PV_INK_KNOWN};
enum { INKS = sizeof prevalence_ink / sizeof *prevalence_ink };

/* The rows of all folds, each predicted by the model that was not fitted to it. */
typedef struct pooled {
    size_t rows;
    int32_t *label;
    double *log_p; /* [rows][2] */
} pooled;

static pooled pool_folds(const grid *g, int network, int design, int method, size_t prevalence, bool adapted) {
    pooled all = {0};
    for (size_t f = 0; f < g->fold.count; f++)
        all.rows += grid_rows(g, g->fold.index[f]);
    all.label = cli_alloc(all.rows, sizeof *all.label);
    all.log_p = cli_alloc(2 * all.rows, sizeof *all.log_p);
    size_t at = 0;
    for (size_t f = 0; f < g->fold.count; f++) {
        size_t fold = g->fold.index[f], rows = grid_rows(g, fold);
        grid_judged j = grid_judged_new(g, grid_at(g, network, design, method, prevalence, fold), prevalence, adapted);
        memcpy(all.label + at, g->held_out[fold]->label, rows * sizeof *all.label);
        memcpy(all.log_p + 2 * at, j.log_p, 2 * rows * sizeof *j.log_p);
        grid_judged_clear(&j);
        at += rows;
    }
    return all;
}

static void pooled_clear(pooled *all) {
    free(all->label);
    free(all->log_p);
}

/* False and true positive rate at threshold 0.5. */
static void operating_point(const pooled *all, double *fpr, double *tpr) {
    double called[2] = {0}, count[2] = {0};
    for (size_t i = 0; i < all->rows; i++) {
        count[all->label[i]]++;
        called[all->label[i]] += all->log_p[2 * i + 1] >= all->log_p[2 * i];
    }
    *fpr = called[0] / count[0];
    *tpr = called[1] / count[1];
}

static pv_status draw_curve(const grid *g, study_canvas *canvas, const pooled *all, pv_ink ink, const char *name) {
    pv_targets targets = {.n = all->rows, .classes = 2, .label = all->label};
    pv_curve_options options = pv_curve_options_default();
    pv_ranking *ranking = NULL;
    pv_curve curve = {0};
    options.points = 200;
    pv_status status = pv_ranking_new(g->call->ctx, &targets, all->log_p, -1, NULL, &ranking);
    if (status == PV_OK)
        status = pv_curve_make(g->call->ctx, ranking, PV_CURVE_roc, &options, &curve);
    if (status == PV_OK) {
        double *x = cli_alloc(2 * curve.points, sizeof *x), *y = x + curve.points;
        for (size_t c = 0; c < curve.columns; c++)
            for (size_t i = 0; i < curve.points; i++) {
                if (strcmp(curve.column[c], "fpr") == 0)
                    x[i] = curve.value[i * curve.columns + c];
                if (strcmp(curve.column[c], "tpr") == 0)
                    y[i] = curve.value[i * curve.columns + c];
            }
        study_line(canvas, ink, name, false, curve.points, x, y);
        free(x);
    }
    pv_curve_clear(g->call->ctx, &curve);
    pv_ranking_free(g->call->ctx, ranking);
    return status;
}

/* A method's curves at all prevalences, with the operating points of adapted (large) and own (small) predictions. */
static pv_status draw_method(const grid *g, study_canvas *canvas, int network, int design, int method) {
    pv_status status = PV_OK;
    study_segment(canvas, PV_INK_MUTED, NULL, true, 0, 0, 1, 1);
    for (size_t p = 0; p < g->prevalences && p < INKS && status == PV_OK; p++)
        for (int own = 0; own < 2 && status == PV_OK; own++) {
            double fpr, tpr;
            pooled all = pool_folds(g, network, design, method, p, own == 0);
            if (!own)
                status = draw_curve(g, canvas, &all, prevalence_ink[p],
                                    study_text(canvas, "prevalence %s", g->prevalence_name[p]));
            operating_point(&all, &fpr, &tpr);
            study_points(canvas, prevalence_ink[p], NULL, 1, &fpr, &tpr, own ? 2.5 : 5);
            pooled_clear(&all);
        }
    pv_panel panel = {.title = grid_method_text[method],
                      .x = {.label = "false positive rate", .lo = 0, .hi = 1},
                      .y = {.label = "true positive rate", .lo = 0, .hi = 1}};
    study_panel(canvas, &panel);
    return status;
}

static int draw_roc(const grid *g, int network, int design, const char *name) {
    study_canvas canvas = {0};
    pv_status status = PV_OK;
    for (size_t m = 0; m < g->methods.count && status == PV_OK; m++)
        status = draw_method(g, &canvas, network, design, (int)g->methods.index[m]);
    int code = study_figure(g->call, &canvas, name, "ROC curves with the operating point 0.5.",
                            "Rows of all folds, each predicted by the model that did not see it. Large points: where "
                            "the probability adapted to the label shares of the rows passes 0.5. Small points: where "
                            "the probability for the stated prevalence does.",
                            3);
    return status == PV_OK ? code : cli_fail(g->call, status);
}

/* ---- study ------------------------------------------------------------------------------------------------------- */

static int work(cli_call *call) {
    static const grid_kind kind = {.study = "nodules", .grades = false};
    static const grid_reported reported = {
        .title = "Nodules",
        .note = "log_loss_upper is stated for the stated prevalence, all others for the rows held out.",
        .columns = COLUMNS,
        .shown = PAPER_COLUMNS,
        .paper_losses = 3,
        .column = columns,
        .judge = judge,
        .paper = paper_nodules,
        .picture = "roc",
        .draw = draw_roc};
    grid_options options = *(const grid_options *)call->options;
    grid_defaults(call, &options, options.quick ? "0.5,0.01" : "0.5,0.25,0.1,0.01,0.001");
    grid g;
    int code = grid_begin(call, &options, &kind, &g);
    if (code == CLI_OK)
        code = grid_run(&g);
    if (code == CLI_OK)
        code = grid_report(&g, &reported);
    grid_clear(&g);
    return code;
}

/* ---- the command ------------------------------------------------------------------------------------------------- */

static int run(cli_call *call) {
    return study_run(
        call, &(study_plan){
                  .name = "nodules",
                  .title = "nodules",
                  .about = "Malignancy of lung nodules from CT images: the paper's section 9.1. prevail " PV_VERSION,
                  .work = work,
                  .has_cells = true});
}

static const pv_option option_table[] = {
    {"prevalences", PV_OPTION_TEXT, offsetof(grid_options, prevalences), NULL, 0, 0, NULL, "LIST",
     "Of the positive label, stated. Default: 0.5,0.25,0.1,0.01,0.001."},
    {"networks", PV_OPTION_TEXT, offsetof(grid_options, networks), NULL, 0, 0, NULL, "LIST",
     "Of convnet, inception. Default: both."},
    {"batches", PV_OPTION_TEXT, offsetof(grid_options, batches), NULL, 0, 0, NULL, "LIST",
     "Of balanced (as many rows of each label), uniform (rows as they come). Default: both."},
    CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, GRID_GROUPS, {NULL, NULL, 0}};
static const cli_example examples[] = {
    {"prevail-lab nodules --data lidc.npz --images hu --votes votes --votes-min 3 --missing drop --group patient "
     "--networks convnet --batches balanced --prevalences 0.5,0.01 -o out",
     "Part of the paper's section 9.1 on one's own images; the same command continues where it stopped."},
    {NULL, NULL}};

const cli_command lab_nodules = {
    .name = "nodules",
    .summary = "the paper's section 9.1: malignancy of lung nodules from images",
    .usage = "[options] [-o DIR] [--json]",
    .text = "Images of nodules, benign or malignant, learned by each network with each kind of batch, loss and stated "
            "prevalence, and judged on held-out folds with the twelve columns of the paper's "
            "tables.\n" GRID_TEXT_CELLS STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .without = grid_without,
    .options_size = sizeof(grid_options),
    .output =
        "For each network, kind of batch, stated prevalence and method the mean over folds of log_loss, holdout_nll, "
        "information_gain, accuracy, tnr, tpr, npv, ppv, auc, informedness, markedness and mcc, as in prevail eval, "
        "the paper's beside them. Decisions are by predictions adapted to the held-out rows' label shares; of iw also "
        "as they are. -o writes results.json, tables.md, metrics.csv, roc_NETWORK_BATCHES.svg, and cells/, a file for "
        "each fit.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
