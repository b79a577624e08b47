/* study ratings: the paper's section 9.2. Readers' grades 1 to 5 from images, as soft labels.
 *
 * The first four columns evaluate grades, the others benign (below 3) against malignant (above), by pv_binarise.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prevail/prevail.h"
#include "lab/common/canvas.h"
#include "lab/common/grid_paper.h"
#include "lab/common/study.h"
#include "lab/ratings/ratings.h"
#include "lab/lab.h"
#include "tool/console.h"

static const grid_column columns[] = {{"log_loss_upper", "upper"}, /* the paper's NELL (8.1) */
                                      {"holdout_nll", "nll"},
                                      {"information_gain", "gain"},
                                      {"one_off_accuracy", "oneoff"},
                                      {"accuracy", "acc"},
                                      {"tnr", "tnr"},
                                      {"tpr", "tpr"},
                                      {"npv", "npv"},
                                      {"ppv", "ppv"},
                                      {"auc", "auc"},
                                      {"informedness", "I"},
                                      {"markedness", "M"},
                                      {"mcc", "mcc"},
                                      {"log_loss", "log_loss"}};
enum { COLUMNS = sizeof columns / sizeof *columns };

enum { MIDDLE = 2 }; /* grade 3 */

/* Metrics of the two sides, as with eval --binarise. */
static pv_status assess_binarised(const grid *g, const grid_cell *cell, const grid_judged *j, pv_metrics *metrics) {
    static const double even[2] = {-0.69314718055994530942,
                                   -0.69314718055994530942}; /* not used by any of the columns */
    pv_targets grades = pv_dataset_targets(g->held_out[cell->fold]);
    double *share = cli_alloc(5 * j->rows, sizeof *share), *log_p = share + 2 * j->rows, *weight = log_p + 2 * j->rows;
    size_t uncertain;
    pv_status status = pv_binarise(g->call->ctx, &grades, MIDDLE, share, weight, &uncertain);
    pv_binarise_log(j->rows, RATING_GRADES, MIDDLE, j->log_p, log_p);
    pv_targets targets = {.n = j->rows, .classes = 2, .frequency = share, .weight = weight};
    if (status == PV_OK)
        status = pv_assess(g->call->ctx, &targets, log_p, even, log_p, NULL, metrics);
    free(share);
    return status;
}

static pv_status judge(const grid *g, const grid_cell *cell, size_t prevalence, bool adapted, double *values) {
    grid_judged j = grid_judged_new(g, cell, prevalence, adapted);
    pv_metrics grades, two;
    pv_status status = grid_assess(g, cell, prevalence, adapted, &j, &grades);
    if (status == PV_OK)
        status = assess_binarised(g, cell, &j, &two);
    if (status == PV_OK) {
        two.log_loss = grades.log_loss;
        two.log_loss_upper = grades.log_loss_upper;
        two.holdout_nll = grades.holdout_nll;
        two.information_gain = grades.information_gain;
        two.one_off_accuracy = grades.one_off_accuracy;
        grid_metrics(&two, COLUMNS, columns, values);
    }
    grid_judged_clear(&j);
    return status;
}

/* ---- histograms -------------------------------------------------------------------------------------------------- */

enum { BINS = 10 };
static const struct {
    rating_kind kind;
    pv_ink ink;
    const char *name;
} shown[] = {{RATING_BENIGN, PV_INK_NEGATIVE, "benign"},
             {RATING_UNSURE_BENIGN, PV_INK_KNOWN, "uncertain, benign"},
             {RATING_UNDECIDED, PV_INK_MUTED, "uncertain, even"},
             {RATING_UNSURE_MALIGNANT, PV_INK_IW, "uncertain, malignant"},
             {RATING_MALIGNANT, PV_INK_POSITIVE, "malignant"}};
enum { SHOWN = sizeof shown / sizeof *shown };

/* Rows of each kind in bins of their predicted probability of malignancy. */
static void draw_panel(const grid *g, study_canvas *canvas, int network, int design, int method, size_t prevalence,
                       bool adapted) {
    double count[RATING_KINDS][BINS] = {{0}};
    for (size_t f = 0; f < g->fold.count; f++) {
        size_t fold = g->fold.index[f];
        grid_judged j = grid_judged_new(g, grid_at(g, network, design, method, prevalence, fold), prevalence, adapted);
        for (size_t i = 0; i < j.rows; i++) {
            double sides[2], p;
            pv_binarise_log(1, RATING_GRADES, MIDDLE, j.log_p + i * RATING_GRADES, sides);
            p = exp(sides[1]);
            size_t bin = p >= 1 ? BINS - 1 : (size_t)(p * BINS);
            count[ratings_kind(g->held_out[fold]->frequency + i * RATING_GRADES)][bin]++;
        }
        grid_judged_clear(&j);
    }
    for (size_t s = 0; s < SHOWN; s++) {
        double lo[BINS], hi[BINS], middle[BINS];
        for (int b = 0; b < BINS; b++) { /* next to each other within the bin */
            lo[b] = (b + 0.08 + 0.84 * (double)s / SHOWN) / BINS;
            hi[b] = (b + 0.08 + 0.84 * (double)(s + 1) / SHOWN) / BINS;
            middle[b] = 0.5 * (lo[b] + hi[b]);
        }
        pv_series bars = {.mark = PV_MARK_BARS,
                          .ink = shown[s].ink,
                          .name = shown[s].name,
                          .n = BINS,
                          .x = middle,
                          .y = count[shown[s].kind],
                          .lo = lo,
                          .hi = hi};
        study_series(canvas, &bars);
    }
    pv_panel panel = {.title = study_text(canvas, "%s, prevalence %s",
                                          adapted ? grid_method_text[method] : "iw, not adapted",
                                          g->prevalence_name[prevalence]),
                      .x = {.label = "predicted probability of malignancy", .lo = 0, .hi = 1},
                      .y = {.label = "nodules"}};
    study_panel(canvas, &panel);
}

static int draw_histograms(const grid *g, int network, int design, const char *name) {
    study_canvas canvas = {0};
    for (size_t m = 0; m < g->methods.count; m++)
        for (int own = 0; own < (g->methods.index[m] == GRID_IW ? 2 : 1); own++)
            for (size_t p = 0; p < g->prevalences; p++)
                draw_panel(g, &canvas, network, design, (int)g->methods.index[m], p, own == 0);
    return study_figure(g->call, &canvas, name, "Predicted malignancy of nodules by what their readers said.",
                        "Rows of all folds, each predicted by the model that did not see it. Malignant: more than half "
                        "of the votes above 3; benign: below; the others are uncertain and lean to the side that has "
                        "more votes.",
                        g->prevalences);
}

/* ---- study ------------------------------------------------------------------------------------------------------- */

static int work(cli_call *call) {
    static const grid_kind kind = {.study = "ratings", .grades = true};
    static const grid_reported reported = {
        .title = "Ratings",
        .note =
            "The first four columns are of the five grades, the others of benign (below 3) against malignant (above).",
        .columns = COLUMNS,
        .shown = PAPER_COLUMNS,
        .paper_losses = 3,
        .column = columns,
        .judge = judge,
        .paper = paper_ratings,
        .picture = "histograms",
        .draw = draw_histograms};
    grid_options options = *(const grid_options *)call->options;
    grid_defaults(call, &options, options.quick ? "observed,0.9" : "observed,0.9,0.999");
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
        call,
        &(study_plan){
            .name = "ratings",
            .title = "ratings",
            .about = "Readers' grades of lung nodules from CT images: the paper's section 9.2. prevail " PV_VERSION,
            .work = work,
            .has_cells = true});
}

static const pv_option option_table[] = {
    {"prevalences", PV_OPTION_TEXT, offsetof(grid_options, prevalences), NULL, 0, 0, NULL, "LIST",
     "Of the first grade, the others having equal shares of the rest, or 'observed', the shares of the data. Default: "
     "observed,0.9,0.999."},
    {"networks", PV_OPTION_TEXT, offsetof(grid_options, networks), "convnet,convnet-ordinal", 0, 0, NULL, "LIST",
     "Of convnet, inception, and convnet-ordinal, inception-ordinal, whose output is one number with thresholds for "
     "the "
     "grades."},
    {"batches", PV_OPTION_TEXT, offsetof(grid_options, batches), "balanced", 0, 0, NULL, "LIST",
     "Of balanced (as many rows of each label), uniform (rows as they come)."},
    CLI_OPTION_END};
static const cli_group groups[] = {{"Options", option_table, 0}, GRID_GROUPS, {NULL, NULL, 0}};
static const cli_example examples[] = {{"prevail-lab ratings --quick -o out", "A first look at section 9.2."},
                                       {NULL, NULL}};

const cli_command lab_ratings = {
    .name = "ratings",
    .summary = "the paper's section 9.2: readers' grades of lung nodules from images",
    .usage = "[options] [-o DIR] [--json]",
    .text = "Readers' votes on five grades, learned from images by each network with each kind of batch, loss and "
            "stated prevalence, and judged as grades and as benign (below 3) or malignant "
            "(above).\n" GRID_TEXT_CELLS STUDY_TEXT_RUNNING,
    .arguments = study_no_arguments,
    .groups = groups,
    .without = grid_without,
    .options_size = sizeof(grid_options),
    .output =
        "For each network, kind of batch, stated prevalence and method the mean over folds of log_loss, holdout_nll, "
        "information_gain and one_off_accuracy of the grades, accuracy to markedness of benign and malignant, as "
        "in prevail eval, the paper's beside them. -o writes results.json, tables.md, metrics.csv, "
        "histograms_NETWORK_BATCHES.svg, and cells/, a file for each fit.\n" STUDY_TEXT_FILES,
    .examples = examples,
    .run = run,
    .family = lab_commands};
