/* Results of the calibration study: text and Markdown tables, CSV, JSON. */
#include "lab/calibration/calibration.h"
#include "lab/common/study.h"
#include "lab/common/tables.h"
#include "tool/command.h"
#include "tool/json.h"

#include <math.h>
#include <string.h>

/* The paper's table in section 6: ELL, accuracy, TNR, TPR, NPV, PPV, AUC; NaN where the paper prints NaN. */
enum { PAPER_COLUMNS = 7, PAPER_PREVALENCES = 3 };
static const int paper_quantity[PAPER_COLUMNS] = {CAL_ell, CAL_accuracy, CAL_tnr, CAL_tpr, CAL_npv, CAL_ppv, CAL_auc};
static const double paper_prevalence[PAPER_PREVALENCES] = {0.1, 0.01, 0.001};
static const double paper_value[PAPER_PREVALENCES][2][PAPER_COLUMNS] = {
    {{-0.307, 0.77, 0.71, 0.84, 0.84, 0.72, 0.83}, {-0.125, 0.55, 1.0, 0.02, 0.54, 1.0, 0.81}},
    {{-0.373, 0.77, 0.72, 0.83, 0.83, 0.72, 0.83}, {-0.015, 0.54, 1.0, 0.0, 1.0, NAN, 0.81}},
    {{-0.443, 0.77, 0.70, 0.84, 0.84, 0.71, 0.83}, {-0.008, 0.54, 1.0, 0.0, 1.0, NAN, 0.79}}};

static const int shape_quantity[] = {CAL_nll,
                                     CAL_ece,
                                     CAL_gap_fpr,
                                     CAL_gap_fnr,
                                     CAL_marginal,
                                     CAL_in_the_large,
                                     CAL_slope,
                                     CAL_gap_fpr_population,
                                     CAL_gap_fnr_population,
                                     CAL_lost};
static const char *const shape_title[] = {"nll", "ece",   "gap FPR",     "gap FNR",     "p(y|w)/pi",
                                          "E/O", "slope", "gap FPR pop", "gap FNR pop", "lost"};
enum { SHAPES = sizeof shape_quantity / sizeof *shape_quantity };

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static study_layout layout_of(bool markdown) {
    return (study_layout){markdown, 10, 19, 12};
}

static void fill_row(const calibration *c, size_t k, int method, int n, const int *quantity, char cell[][STUDY_CELL]) {
    for (int i = 0; i < n; i++) {
        double mean, error;
        cal_mean(c, k, method, quantity[i], &mean, &error);
        study_value_text(mean, error, 3, cell[i], sizeof cell[i]);
    }
}

static void print_performance(FILE *out, const calibration *c, bool markdown) {
    study_layout layout = layout_of(markdown);
    static const char *const titles[PAPER_COLUMNS] = {"ELL", "accuracy", "TNR", "TPR", "NPV", "PPV", "AUC"};
    static const int own[PAPER_COLUMNS] = {CAL_ell, CAL_own_accuracy, CAL_own_tnr, CAL_own_tpr, -1, -1, CAL_auc};
    static const int inferred[PAPER_COLUMNS] = {CAL_ell,          CAL_inferred_accuracy, CAL_inferred_tnr,
                                                CAL_inferred_tpr, CAL_inferred_npv,      CAL_inferred_ppv,
                                                CAL_auc};
    char cell[PAPER_COLUMNS][STUDY_CELL], first[24];
    study_table_head(out, &layout, "prevalence", "method", PAPER_COLUMNS, titles);
    for (size_t k = 0; k < c->prevalences; k++) {
        snprintf(first, sizeof first, "%g", c->prevalence[k]);
        for (int p = 0; p < PAPER_PREVALENCES; p++)
            for (int m = 0; m < 2 && c->prevalence[k] == paper_prevalence[p]; m++) {
                for (int i = 0; i < PAPER_COLUMNS; i++)
                    study_value_text(paper_value[p][m][i], NAN, i ? 2 : 3, cell[i], sizeof cell[i]);
                study_table_row(out, &layout, first, m ? "paper: IW" : "paper: IG", PAPER_COLUMNS, cell);
            }
        for (int m = 0; m < CAL_METHODS; m++) {
            fill_row(c, k, m, PAPER_COLUMNS, paper_quantity, cell);
            study_table_row(out, &layout, first, cal_method[m], PAPER_COLUMNS, cell);
            if (m < CAL_FITTED) {
                char name[40];
                snprintf(name, sizeof name, "%s*", cal_method[m]);
                fill_row(c, k, m, PAPER_COLUMNS, inferred, cell);
                study_table_row(out, &layout, first, name, PAPER_COLUMNS, cell);
            }
            if (m != CAL_IW)
                continue;
            for (int i = 0; i < PAPER_COLUMNS; i++) {
                double mean = NAN, error = NAN;
                if (own[i] >= 0)
                    cal_mean(c, k, m, own[i], &mean, &error);
                study_value_text(mean, error, 3, cell[i], sizeof cell[i]);
            }
            study_table_row(out, &layout, first, "iw, not adapted", PAPER_COLUMNS, cell);
        }
    }
}

/* Explains the star, and prints the inferred proportion. */
static void print_inferred(FILE *out, const calibration *c, bool markdown) {
    study_layout layout = layout_of(markdown);
    static const char *const titles[] = {"inferred share"};
    char cell[1][STUDY_CELL], first[24];
    static const int quantity[] = {CAL_inferred};
    fputs("\n* adapted to label shares that the test rows tell themselves (vb, true:1), as in the paper; without a "
          "star to "
          "their own.\nThe share of malignant ones among the test rows is 0.526 on average.\n\n",
          out);
    study_table_head(out, &layout, "prevalence", "method", 1, titles);
    for (size_t k = 0; k < c->prevalences; k++)
        for (int m = 0; m < CAL_FITTED; m++) {
            snprintf(first, sizeof first, "%g", c->prevalence[k]);
            fill_row(c, k, m, 1, quantity, cell);
            study_table_row(out, &layout, first, cal_method[m], 1, cell);
        }
}

static void print_shape(FILE *out, const calibration *c, bool markdown) {
    study_layout layout = layout_of(markdown);
    char cell[SHAPES][STUDY_CELL], first[24];
    study_table_head(out, &layout, "prevalence", "method", SHAPES, shape_title);
    for (size_t k = 0; k < c->prevalences; k++)
        for (int m = 0; m < CAL_METHODS; m++) {
            snprintf(first, sizeof first, "%g", c->prevalence[k]);
            fill_row(c, k, m, SHAPES, shape_quantity, cell);
            study_table_row(out, &layout, first, cal_method[m], SHAPES, cell);
        }
}

/* Averages over the seven slopes, relative to the true sizes; the CSV file has the details. */
static void print_slopes(FILE *out, const calibration *c, bool markdown) {
    study_layout layout = layout_of(markdown);
    static const char *const titles[] = {"bias/truth", "error/truth", "90 % coverage", "sd/error"};
    char cell[4][STUDY_CELL], first[24];
    study_table_head(out, &layout, "prevalence", "method", 4, titles);
    for (size_t k = 0; k < c->prevalences; k++)
        for (int m = 0; m < CAL_FITTED; m++) {
            double bias = 0, error = 0, coverage = 0, ratio = 0;
            for (int j = 1; j < CAL_COEFFICIENTS; j++) {
                cal_coefficient one = cal_coefficient_of(c, k, m, j);
                double off = one.mean - one.truth;
                bias += off / one.truth / CAL_FEATURES;
                error += sqrt(off * off + one.spread * one.spread) / fabs(one.truth) / CAL_FEATURES;
                coverage += one.coverage / CAL_FEATURES;
                ratio += one.sd / one.spread / CAL_FEATURES;
            }
            snprintf(first, sizeof first, "%g", c->prevalence[k]);
            study_value_text(bias, NAN, 3, cell[0], sizeof cell[0]);
            study_value_text(error, NAN, 3, cell[1], sizeof cell[1]);
            study_value_text(coverage, NAN, 3, cell[2], sizeof cell[2]);
            study_value_text(ratio, NAN, 3, cell[3], sizeof cell[3]);
            study_table_row(out, &layout, first, cal_method[m], 4, cell);
        }
}

static void print_real(FILE *out, const nodules *n, bool markdown) {
    study_layout layout = layout_of(markdown);
    char cell[NOD_QUANTITIES][STUDY_CELL], first[24];
    study_table_head(out, &layout, "prevalence", "method", NOD_QUANTITIES, nod_quantity);
    for (int m = 0; m < NOD_METHODS; m++) {
        for (int q = 0; q < NOD_QUANTITIES; q++) {
            double mean, sd;
            nod_mean(n, m, q, &mean, &sd);
            snprintf(cell[q], sizeof cell[q], "%.3f (%.3f)", mean, sd);
        }
        snprintf(first, sizeof first, "%.3f", n->prevalence);
        study_table_row(out, &layout, first, nod_method(m), NOD_QUANTITIES, cell);
    }
}

typedef struct all {
    const calibration *c;
    const nodules *real;
} all;

static size_t data_sets(const calibration *c) {
    double unused;
    return cal_mean(c, 0, CAL_TRUTH, CAL_auc, &unused, &unused);
}

static void print_all(FILE *out, const all *a, bool markdown) {
    const calibration *c = a->c;
    const char *head = markdown ? "## " : "";
    fprintf(
        out,
        "%sHeld-out rows\n\n%zu simulated data sets of 679 nodules; N_pr %s. In brackets: standard error of the mean, "
        "in\nunits of the last digit. Decisions by predictions adapted to the held-out label shares.\n\n",
        head, data_sets(c), c->prevalence_n);
    print_performance(out, c, markdown);
    print_inferred(out, c, markdown);
    fprintf(
        out,
        "\n%sCalibration\n\nnll, ece, gaps: held-out; p(y|w)/pi: marginal over the stated prevalence; E/O to lost: in "
        "the\npopulation.\n\n",
        head);
    print_shape(out, c, markdown);
    fprintf(out, "\n%sLog odds ratios\n\nMeans over the seven slopes.\n\n", head);
    print_slopes(out, c, markdown);
    if (a->real) {
        fprintf(
            out,
            "\n%sReal nodules\n\n%zu rows, %zu positive; %zu splits, %zu rows to learn from (half of them positive), "
            "%zu to judge.\nIn brackets: standard deviation over splits.\n\n",
            head, a->real->rows, a->real->positives, a->real->splits, a->real->trained, a->real->judged);
        print_real(out, a->real, markdown);
    }
}

static void write_markdown(FILE *out, const void *what) {
    fputs("# Calibration: tables\n\n", out);
    print_all(out, what, true);
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

static void write_metrics(FILE *out, const void *what) {
    const calibration *c = ((const all *)what)->c;
    fputs("prevalence,method,quantity,mean,error,median,data_sets\n", out);
    for (size_t k = 0; k < c->prevalences; k++)
        for (int m = 0; m < CAL_METHODS; m++)
            for (int q = 0; q < CAL_QUANTITIES; q++) {
                double mean, error;
                size_t n = cal_mean(c, k, m, q, &mean, &error);
                fprintf(out, "%g,%s,%s", c->prevalence[k], cal_key[m], cal_quantity[q]);
                study_csv_number(out, mean);
                study_csv_number(out, error);
                study_csv_number(out, cal_median(c, k, m, q));
                fprintf(out, ",%zu\n", n);
            }
}

static void write_coefficients(FILE *out, const void *what) {
    const calibration *c = ((const all *)what)->c;
    fputs("prevalence,method,coefficient,truth,mean,spread,posterior_sd,coverage\n", out);
    for (size_t k = 0; k < c->prevalences; k++)
        for (int m = 0; m < CAL_FITTED; m++)
            for (int j = 0; j < CAL_COEFFICIENTS; j++) {
                cal_coefficient one = cal_coefficient_of(c, k, m, j);
                fprintf(out, "%g,%s,%s", c->prevalence[k], cal_key[m], cal_feature[j]);
                study_csv_number(out, one.truth);
                study_csv_number(out, one.mean);
                study_csv_number(out, one.spread);
                study_csv_number(out, one.sd);
                study_csv_number(out, one.coverage);
                fputc('\n', out);
            }
}

static void write_curves(FILE *out, const void *what) {
    const calibration *c = ((const all *)what)->c;
    fputs("prevalence,method,rows,probability,share,mass\n", out);
    for (size_t k = 0; k < c->prevalences; k++)
        for (int m = 0; m < CAL_METHODS; m++)
            for (int part = 0; part < CAL_PARTS; part++) {
                judge_bins sum = cal_bins(c, k, m, part);
                double total = 0;
                for (int i = 0; i < JUDGE_BINS; i++)
                    total += sum.mass[i];
                for (int i = 0; i < JUDGE_BINS; i++) {
                    if (!(sum.mass[i] > 0))
                        continue;
                    fprintf(out, "%g,%s,%s", c->prevalence[k], cal_key[m], cal_part[part]);
                    study_csv_number(out, sum.p[i] / sum.mass[i]);
                    study_csv_number(out, sum.y[i] / sum.mass[i]);
                    study_csv_number(out, sum.mass[i] / total);
                    fputc('\n', out);
                }
            }
}

static void write_real(FILE *out, const void *what) {
    const nodules *n = ((const all *)what)->real;
    fputs("method,quantity,mean,sd,splits\n", out);
    for (int m = 0; m < NOD_METHODS; m++)
        for (int q = 0; q < NOD_QUANTITIES; q++) {
            double mean, sd;
            size_t count = nod_mean(n, m, q, &mean, &sd);
            fprintf(out, "\"%s\",%s", nod_method(m), nod_quantity[q]);
            study_csv_number(out, mean);
            study_csv_number(out, sd);
            fprintf(out, ",%zu\n", count);
        }
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static pv_result *json_pair(double value, double error, const char *name) {
    pv_result *entry = pv__value_object();
    pv__value_set(entry, "value", pv__value_real(value));
    pv__value_set(entry, name, pv__value_real(error));
    return entry;
}

static pv_result *json_method(const calibration *c, size_t k, int m) {
    pv_result *object = pv__value_object(), *quantities = pv__value_object(), *coefficients = pv__value_object();
    for (int q = 0; q < CAL_QUANTITIES; q++) {
        double mean, error;
        cal_mean(c, k, m, q, &mean, &error);
        pv_result *entry = json_pair(mean, error, "error");
        pv__value_set(entry, "median", pv__value_real(cal_median(c, k, m, q)));
        pv__value_set(quantities, cal_quantity[q], entry);
    }
    for (int j = 0; j < CAL_COEFFICIENTS; j++) {
        cal_coefficient one = cal_coefficient_of(c, k, m, j);
        pv_result *entry = pv__value_object();
        pv__value_set(entry, "truth", pv__value_real(one.truth));
        pv__value_set(entry, "mean", pv__value_real(one.mean));
        pv__value_set(entry, "spread", pv__value_real(one.spread));
        pv__value_set(entry, "sd", pv__value_real(one.sd));
        pv__value_set(entry, "coverage", pv__value_real(one.coverage));
        pv__value_set(coefficients, cal_feature[j], entry);
    }
    pv__value_set(object, "quantities", quantities);
    if (m != CAL_TRUTH)
        pv__value_set(object, "coefficients", coefficients);
    else
        pv_result_free(coefficients);
    return object;
}

static pv_result *json_nodules(const nodules *n) {
    pv_result *object = pv__value_object(), *methods = pv__value_object();
    for (int m = 0; m < NOD_METHODS; m++) {
        pv_result *quantities = pv__value_object();
        for (int q = 0; q < NOD_QUANTITIES; q++) {
            double mean, sd;
            nod_mean(n, m, q, &mean, &sd);
            pv__value_set(quantities, nod_quantity[q], json_pair(mean, sd, "sd"));
        }
        pv__value_set(methods, m == NOD_UNCORRECTED ? "plain_uncorrected" : cal_key[m], quantities);
    }
    pv__value_set(object, "rows", pv__value_integer((int64_t)n->rows));
    pv__value_set(object, "positives", pv__value_integer((int64_t)n->positives));
    pv__value_set(object, "splits", pv__value_integer((int64_t)n->splits));
    pv__value_set(object, "methods", methods);
    return object;
}

static pv_result *json_result(cli_call *call, const all *a) {
    const calibration *c = a->c;
    pv_result *object = pv__value_object(), *prevalences = pv__value_object();
    for (size_t k = 0; k < c->prevalences; k++) {
        char key[32];
        pv_result *methods = pv__value_object();
        snprintf(key, sizeof key, "%g", c->prevalence[k]);
        for (int m = 0; m < CAL_METHODS; m++)
            pv__value_set(methods, cal_key[m], json_method(c, k, m));
        pv__value_set(prevalences, key, methods);
    }
    pv__value_set(object, "study", pv__value_text("calibration"));
    pv__value_set(object, "data_sets", pv__value_integer((int64_t)data_sets(c)));
    pv__value_set(object, "prevalence_n", pv__value_text(c->prevalence_n));
    pv__value_set(object, "prior", pv__value_text(c->prior));
    pv__value_set(object, "prevalences", prevalences);
    pv__value_set(object, "real", a->real ? json_nodules(a->real) : pv__value_null());
    pv__value_set(object, "seed", pv__value_integer(c->options->shared.seed));
    pv__value_set(object, "command", pv__value_text(call->line));
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    return object;
}

int calibration_report(cli_call *call, const calibration *c, const nodules *real) {
    const char *folder = c->options->shared.output;
    all a = {c, real};
    pv_result *object = json_result(call, &a);
    int code = CLI_OK;
    if (folder) {
        code = study_write_json(call, folder, "results.json", object);
        if (code == CLI_OK)
            code = study_write(call, folder, "tables.md", write_markdown, &a);
        if (code == CLI_OK)
            code = study_write(call, folder, "metrics.csv", write_metrics, &a);
        if (code == CLI_OK)
            code = study_write(call, folder, "coefficients.csv", write_coefficients, &a);
        if (code == CLI_OK)
            code = study_write(call, folder, "curves.csv", write_curves, &a);
        if (code == CLI_OK && real)
            code = study_write(call, folder, "real.csv", write_real, &a);
        if (code == CLI_OK)
            code = calibration_pictures(call, c, real);
    }
    if (code == CLI_OK && c->options->shared.running.json)
        cli_json_print(call, pv__value_share(object));
    else if (code == CLI_OK)
        print_all(stdout, &a, false);
    pv_result_free(object);
    return code;
}
