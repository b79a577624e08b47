/* Results of a grid of fits, for nodules and ratings alike: tables as text and Markdown, CSV, JSON. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prevail/prevail.h"
#include "lab/common/grid_report.h"
#include "lab/common/study.h"
#include "lab/common/tables.h"
#include "tool/console.h"
#include "tool/json.h"

static const char *const network_title[GRID_NETWORKS] = {"ConvNet", "Inception", "ConvNet, ordinal output",
                                                         "Inception, ordinal output"};
static const char *const design_title[GRID_DESIGNS] = {"rebalanced batches", "batches without rebalancing"};
static const char *const predictions_name[GRID_PREDICTIONS] = {"adapted", "own"};

/* ---- values ------------------------------------------------------------------------------------------------------ */

double *grid_values(const grid_results *r, size_t network, size_t design, size_t prevalence, size_t method,
                    int predictions) {
    const grid *g = r->g;
    size_t at = ((network * g->designs.count + design) * g->prevalences + prevalence) * g->methods.count + method;
    return r->value + (at * GRID_PREDICTIONS + (size_t)predictions) * g->fold.count * (size_t)r->kind->columns;
}

/* Positions refer to the lists, by which values are indexed. */
static int judge_all(grid_results *r) {
    grid *g = r->g;
    size_t columns = (size_t)r->kind->columns;
    for (size_t n = 0; n < g->networks.count; n++)
        for (size_t d = 0; d < g->designs.count; d++)
            for (size_t p = 0; p < g->prevalences; p++)
                for (size_t m = 0; m < g->methods.count; m++)
                    for (size_t f = 0; f < g->fold.count; f++) {
                        const grid_cell *cell = grid_at(g, (int)g->networks.index[n], (int)g->designs.index[d],
                                                        (int)g->methods.index[m], p, g->fold.index[f]);
                        for (int a = 0; a < GRID_PREDICTIONS; a++) {
                            double *to = grid_values(r, n, d, p, m, a) + f * columns;
                            pv_status status = r->kind->judge(g, cell, p, a == GRID_ADAPTED, to);
                            if (status != PV_OK)
                                return cli_fail(g->call, status);
                        }
                    }
    return CLI_OK;
}

/* Mean over the folds in which the metric is defined; returns their number. */
static size_t mean_of(const grid_results *r, const double *values, int column, double *mean, double *sd) {
    return study_mean(values + column, r->g->fold.count, (size_t)r->kind->columns, mean, sd);
}

/* ---- tables ------------------------------------------------------------------------------------------------------ */

static study_layout layout_of(bool markdown) {
    return (study_layout){markdown, 8, 16, 6};
}

static void print_values(FILE *out, const grid_results *r, const study_layout *layout, const char *prevalence,
                         const char *name, const double *values) {
    char cell[STUDY_COLUMNS][STUDY_CELL];
    for (int c = 0; c < r->kind->shown; c++) {
        double mean, sd;
        size_t folds = mean_of(r, values, c, &mean, &sd);
        study_value_text(mean, layout->markdown ? sd : (double)NAN, 3, cell[c], sizeof cell[c]);
        if (folds && folds < r->g->fold.count)
            study_partial_text(layout, folds, r->g->fold.count, cell[c], sizeof cell[c]);
    }
    study_table_row(out, layout, prevalence, name, r->kind->shown, cell);
}

static void print_paper(FILE *out, const grid_results *r, const study_layout *layout, int network, int design,
                        const char *prevalence) {
    for (int loss = 0; loss < GRID_PAPER_LOSSES; loss++) {
        const double *paper = r->kind->paper(network, design, prevalence, loss);
        char cell[STUDY_COLUMNS][STUDY_CELL];
        for (int c = 0; paper && c < r->kind->shown; c++)
            study_value_text(paper[c], NAN, c < r->kind->paper_losses ? 3 : 2, cell[c], sizeof cell[c]);
        if (paper)
            study_table_row(out, layout, prevalence, loss == GRID_PAPER_IG ? "paper: IG" : "paper: IW", r->kind->shown,
                            cell);
    }
}

static void print_group(FILE *out, const grid_results *r, size_t n, size_t d, bool markdown) {
    const grid *g = r->g;
    study_layout layout = layout_of(markdown);
    const char *titles[STUDY_COLUMNS];
    int network = (int)g->networks.index[n], design = (int)g->designs.index[d];
    for (int c = 0; c < r->kind->shown; c++)
        titles[c] = markdown ? r->kind->column[c].name : r->kind->column[c].title;
    fprintf(out, "%s%s, %s\n\n", markdown ? "## " : "", network_title[network], design_title[design]);
    study_table_head(out, &layout, markdown ? "prevalence" : "prev.", "method", r->kind->shown, titles);
    for (size_t p = 0; p < g->prevalences; p++) {
        print_paper(out, r, &layout, network, design, g->prevalence_name[p]);
        for (size_t m = 0; m < g->methods.count; m++) {
            print_values(out, r, &layout, g->prevalence_name[p], grid_method_text[g->methods.index[m]],
                         grid_values(r, n, d, p, m, GRID_ADAPTED));
            if (g->methods.index[m] == GRID_IW)
                print_values(out, r, &layout, g->prevalence_name[p], "iw, not adapted",
                             grid_values(r, n, d, p, m, GRID_OWN));
        }
    }
    grid_print_trouble(out, g, network, design);
    grid_print_marginals(out, g, network, design, markdown);
    fputc('\n', out);
}

/* Explains the columns: "nll holdout_nll: mean -log probability ...". */
static void print_legend(FILE *out, const grid_reported *kind) {
    for (int c = 0; c < kind->shown; c++) {
        const pv_metric_row *row = pv_metric_table;
        const char *name = kind->column[c].name, *title = kind->column[c].title;
        bool alike = strcmp(name, title) == 0;
        while (row->name && strcmp(row->name, name) != 0)
            row++;
        fprintf(out, "  %-6s %s%s%s\n", title, alike ? "" : name, alike ? "" : ": ", row->name ? row->text : "");
    }
}

static void print_all(FILE *out, const grid_results *r, bool markdown) {
    const grid *g = r->g;
    double share[GRID_CLASSES_MAX];
    grid_shares(g, share);
    fprintf(out, "%s%zu images of %s in %zu folds", markdown ? "## What was judged\n\n" : "", g->training.data->rows,
            g->path ? "the file" : "simulated nodules", g->folds);
    if (g->fold.count < g->folds)
        fprintf(out, ", %zu of which are shown", g->fold.count);
    fprintf(out, "; label shares");
    for (int y = 0; y < g->training.data->classes; y++)
        fprintf(out, " %.3f", share[y]);
    fprintf(out, ".\n");
    for (size_t n = 0; n < g->networks.count; n++)
        fprintf(out, "Network %s.\n", g->model[g->networks.index[n]]);
    grid_print_devices(out, g);
    if (g->options->quick)
        fputs("Quick settings (--quick): a first look, not to be compared with the paper's numbers.\n", out);
    fprintf(
        out,
        "Means over folds%s. Decisions by predictions adapted to the\nlabel shares of the rows held out; iw also as "
        "it predicts for the stated prevalence.\n%s\n%s\n\n",
        markdown ? ", in brackets their standard deviation in units of the last digit" : "", r->kind->note,
        markdown ? "A dash: undefined in every fold, as PPV is where nothing is called positive; the paper prints NaN "
                   "where one "
                   "fold has it undefined."
                 : "-: undefined in every fold. *: in some; the mean is over the others.");
    for (size_t n = 0; n < g->networks.count; n++)
        for (size_t d = 0; d < g->designs.count; d++)
            print_group(out, r, n, d, markdown);
    if (!markdown)
        print_legend(out, r->kind);
}

static void write_markdown(FILE *out, const void *what) {
    const grid_results *r = what;
    fprintf(out, "# %s: tables\n\n", r->kind->title);
    print_all(out, r, true);
}

/* ---- CSV --------------------------------------------------------------------------------------------------------- */

static void write_csv_metrics(FILE *out, const grid_results *r, size_t n, size_t d, size_t p, size_t m, int a) {
    const grid *g = r->g;
    const double *values = grid_values(r, n, d, p, m, a);
    for (int c = 0; c < r->kind->columns; c++) {
        double mean, sd;
        mean_of(r, values, c, &mean, &sd);
        fprintf(out, "%s,%s,%s,%s,%s,%s", grid_network[g->networks.index[n]], grid_design[g->designs.index[d]],
                g->prevalence_name[p], grid_method[g->methods.index[m]], predictions_name[a], r->kind->column[c].name);
        study_csv_number(out, mean);
        study_csv_number(out, sd);
        for (size_t f = 0; f < g->fold.count; f++)
            study_csv_number(out, values[f * (size_t)r->kind->columns + (size_t)c]);
        fputc('\n', out);
    }
}

static void write_csv(FILE *out, const void *what) {
    const grid_results *r = what;
    const grid *g = r->g;
    fputs("network,batches,prevalence,method,predictions,metric,mean,sd", out);
    for (size_t f = 0; f < g->fold.count; f++)
        fprintf(out, ",fold%zu", g->fold.index[f] + 1);
    fputc('\n', out);
    for (size_t n = 0; n < g->networks.count; n++)
        for (size_t d = 0; d < g->designs.count; d++)
            for (size_t p = 0; p < g->prevalences; p++)
                for (size_t m = 0; m < g->methods.count; m++)
                    for (int a = 0; a < GRID_PREDICTIONS; a++)
                        write_csv_metrics(out, r, n, d, p, m, a);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static pv_result *json_metrics(const grid_results *r, const double *values) {
    pv_result *object = pv__value_object();
    for (int c = 0; c < r->kind->columns; c++) {
        double mean, sd;
        pv_result *entry = pv__value_object();
        size_t folds = mean_of(r, values, c, &mean, &sd);
        pv__value_set(entry, "value", pv__value_real(mean));
        pv__value_set(entry, "sd", pv__value_real(sd));
        pv__value_set(entry, "folds", pv__value_integer((int64_t)folds));
        pv__value_set(object, r->kind->column[c].name, entry);
    }
    return object;
}

static pv_result *json_paper(const grid_results *r, int network, int design, const char *prevalence, int loss) {
    const double *paper = r->kind->paper(network, design, prevalence, loss);
    pv_result *object = paper ? pv__value_object() : pv__value_null();
    for (int c = 0; paper && c < r->kind->shown; c++)
        pv__value_set(object, r->kind->column[c].name, pv__value_real(paper[c]));
    return object;
}

static pv_result *json_deviation(const grid *g, const grid_cell *cell) {
    if (!cell || !cell->epochs)
        return pv__value_null(); /* not traced, or not requested */
    grid_deviation found = grid_deviation_of(g, cell);
    pv_result *object = pv__value_object();
    pv__value_set(object, "epochs", pv__value_integer((int64_t)cell->epochs));
    pv__value_set(object, "largest_deviation", pv__value_real(found.most));
    pv__value_set(object, "mean_deviation", pv__value_real(found.mean));
    pv__value_set(object, "last_deviation", pv__value_real(found.last));
    return object;
}

static pv_result *json_row(const grid_results *r, size_t n, size_t d, size_t p, size_t m) {
    const grid *g = r->g;
    int network = (int)g->networks.index[n], design = (int)g->designs.index[d], method = (int)g->methods.index[m];
    pv_result *row = pv__value_object(), *stated = pv__value_list();
    for (int y = 0; y < g->training.data->classes; y++)
        pv__value_append(stated, pv__value_real(g->prevalence[p][y]));
    pv__value_set(row, "network", pv__value_text(grid_network[network]));
    pv__value_set(row, "batches", pv__value_text(grid_design[design]));
    pv__value_set(row, "prevalence", pv__value_text(g->prevalence_name[p]));
    pv__value_set(row, "stated", stated);
    pv__value_set(row, "method", pv__value_text(grid_method[method]));
    pv__value_set(row, "metrics", json_metrics(r, grid_values(r, n, d, p, m, GRID_ADAPTED)));
    pv__value_set(row, "own", json_metrics(r, grid_values(r, n, d, p, m, GRID_OWN)));
    pv__value_set(row, "marginal", json_deviation(g, grid_at(g, network, design, method, p, 0)));
    pv__value_set(
        row, "paper",
        method == GRID_PLAIN || method == GRID_PROFILE || method == GRID_TRUTH
            ? pv__value_null()
            : json_paper(r, network, design, g->prevalence_name[p], method == GRID_IW ? GRID_PAPER_IW : GRID_PAPER_IG));
    return row;
}

static pv_result *json_result(const grid_results *r) {
    const grid *g = r->g;
    pv_result *object = grid_json(g), *rows = pv__value_list();
    for (size_t n = 0; n < g->networks.count; n++)
        for (size_t d = 0; d < g->designs.count; d++)
            for (size_t p = 0; p < g->prevalences; p++)
                for (size_t m = 0; m < g->methods.count; m++)
                    pv__value_append(rows, json_row(r, n, d, p, m));
    pv__value_set(object, "results", rows);
    return object;
}

/* ---- the whole report -------------------------------------------------------------------------------------------- */

static int write_files(grid_results *r, pv_result *object) {
    cli_call *call = r->g->call;
    const char *folder = r->g->options->shared.output;
    int code = study_write_json(call, folder, "results.json", object);
    if (code == CLI_OK)
        code = study_write(call, folder, "tables.md", write_markdown, r);
    if (code == CLI_OK)
        code = study_write(call, folder, "metrics.csv", write_csv, r);
    for (size_t n = 0; n < r->g->networks.count; n++)
        for (size_t d = 0; d < r->g->designs.count && code == CLI_OK; d++) {
            char name[80];
            int network = (int)r->g->networks.index[n], design = (int)r->g->designs.index[d];
            snprintf(name, sizeof name, "%s_%s_%s", r->kind->picture, grid_network[network], grid_design[design]);
            code = r->kind->draw(r->g, network, design, name);
            if (code == CLI_OK)
                code = grid_draw_marginals(r->g, network, design);
        }
    return code;
}

int grid_report(grid *g, const grid_reported *kind) {
    size_t groups = g->networks.count * g->designs.count * g->prevalences * g->methods.count;
    grid_results r = {
        .g = g,
        .kind = kind,
        .value = cli_alloc(groups * GRID_PREDICTIONS * g->fold.count * (size_t)kind->columns, sizeof *r.value)};
    int code = judge_all(&r);
    if (code == CLI_OK) {
        pv_result *object = json_result(&r);
        if (g->options->shared.output)
            code = write_files(&r, object);
        if (code == CLI_OK && g->options->shared.running.json)
            cli_json_print(g->call, pv__value_share(object));
        else if (code == CLI_OK)
            print_all(stdout, &r, false);
        pv_result_free(object);
    }
    free(r.value);
    return code;
}
