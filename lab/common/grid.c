/* Grids of fits: lists the cells and fits them. */
#include "prevail/prevail.h"
#include "lab/common/grid.h"
#include "lab/common/study.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/json.h"
#include "tool/files.h"
#include "tool/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const grid_network[GRID_NETWORKS] = {"convnet", "inception", "convnet-ordinal", "inception-ordinal"};
const char *const grid_design[GRID_DESIGNS] = {"balanced", "uniform"};
const char *const grid_method[GRID_METHODS] = {"ig-constant", "ig-linear", "ig-profile", "iw", "plain", "truth"};
const char *const grid_method_text[GRID_METHODS] = {"ig, constant", "ig, linear",       "ig, profile",
                                                    "iw",           "plain, corrected", "the truth"};

#define AT(field) offsetof(grid_options, field)

const pv_option grid_option_table[] = {
    /* before the options of fit, which would otherwise hide the study's */
    {"seed", PV_OPTION_INT, AT(shared.seed), "1", 0, 1e15, NULL, NULL, "Seed of every random stream."},
    {"data", PV_OPTION_TEXT, AT(data), NULL, 0, 0, NULL, "FILE", "Images, as fit has them, instead of simulated ones."},
    {"outcome", PV_OPTION_TEXT, AT(target), NULL, 0, 0, NULL, "COL",
     "nodules: their column of labels. Default: labels, or --votes."},
    {"cases", PV_OPTION_INT, AT(cases), NULL, 5, 1e6, NULL, NULL,
     "Malignant nodules of simulated data. Default: 342, the paper's."},
    {"controls", PV_OPTION_INT, AT(controls), NULL, 5, 1e6, NULL, NULL, "Benign ones. Default: 1065, the paper's."},
    {"prevalence-n", PV_OPTION_TEXT, AT(prevalence_n), "rows", 0, 0, NULL, "N",
     "Observations that the prevalence rests on, as in fit."},
    {"sizes", PV_OPTION_TEXT, AT(sizes), NULL, 0, 0, NULL, "SPEC",
     "Sizes of the networks, as in fit --model: views=3,size=24,low=16,channels=32-64-64,features=64. Default: the "
     "paper's."},
    {"methods", PV_OPTION_TEXT, AT(methods), NULL, 0, 0, NULL, "LIST",
     "Of ig-constant, ig-linear (information gain with the paper's auxiliary networks), ig-profile, iw, plain (with "
     "prior correction; fitted once for all prevalences). Default: all."},
    {"folds", PV_OPTION_INT, AT(folds), "3", 2, 20, NULL, NULL, "Folds of the cross-validation."},
    {"fold", PV_OPTION_TEXT, AT(fold), NULL, 0, 0, NULL, "LIST", "Which of them, from 1. Default: all."},
    {"group", PV_OPTION_TEXT, AT(roles.roles.group), NULL, 0, 0, NULL, "COL",
     "Rows with the same value in this column (a patient, a centre) stay in one fold, or on one side of --validation. "
     "Never a feature."},
    {"positive", PV_OPTION_TEXT, AT(roles.roles.positive), NULL, 0, 0, NULL, "LABEL",
     "nodules: the label that prevalences refer to, as in fit."},
    CLI_OPTION_MISSING(grid_options, roles.roles.missing),
    {"quick", PV_OPTION_FLAG, AT(quick), NULL, 0, 0, NULL, NULL,
     "Another set of defaults: small images, tiny networks, two prevalences and few epochs; seconds, for a first "
     "look."},
    CLI_OPTION_END};

const char *const grid_without[] = {"strata",     "prevalence-by", CLI_PHASE_OPTIONS, "loss",       "marginal",
                                    "model",      "design",        "max-iter",        "tolerance",  "vi-rate",
                                    "prevalence", "infer",         "draws",           "components", "samples",
                                    "steps",      "chains",        "warmup",          NULL};

static bool needs_no_prevalence(int method) {
    return method == GRID_PLAIN || method == GRID_TRUTH;
}

/* ---- lists ------------------------------------------------------------------------------------------------------- */

static int wrong_list(cli_call *call, const char *option, const char *text, const char *const *words, size_t count) {
    char choices[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof choices; i++)
        used += (size_t)snprintf(choices + used, sizeof choices - used, "%s%s", i ? ", " : "", words[i]);
    return cli_error(call, PV_ERR_USAGE, NULL, "--%s %s: choose from %s, separated by commas, each once", option, text,
                     choices);
}

/* The words named in a list. NULL: all of them. */
static int read_list(cli_call *call, const char *option, const char *text, const char *const *words, size_t count,
                     grid_list *list) {
    bool chosen[GRID_FOLDS_MAX] = {false};
    for (const char *at = text; at; at = *at ? at + 1 : NULL) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < count && (strlen(words[i]) != length || strncmp(words[i], at, length) != 0))
            i++;
        if (i == count || chosen[i])
            return wrong_list(call, option, text, words, count);
        chosen[i] = true;
        at += length;
        if (*at && !at[1])
            return wrong_list(call, option, text, words, count);
    }
    for (size_t i = 0; i < count; i++)
        if (!text || chosen[i])
            list->index[list->count++] = i;
    return CLI_OK;
}

static int read_folds(cli_call *call, const grid_options *options, grid *g) {
    char number[GRID_FOLDS_MAX][24];
    const char *words[GRID_FOLDS_MAX];
    g->folds = (size_t)options->folds;
    for (size_t f = 0; f < g->folds; f++) {
        snprintf(number[f], sizeof number[f], "%zu", f + 1);
        words[f] = number[f];
    }
    return read_list(call, "fold", options->fold, words, g->folds, &g->fold);
}

/* ---- prevalences ------------------------------------------------------------------------------------------------- */

/* Label proportions of all rows. */
void grid_shares(const grid *g, double *share) {
    pv_targets targets = pv_dataset_targets(g->training.data);
    double total = 0;
    pv_label_mass(&targets, share);
    for (int y = 0; y < targets.classes; y++)
        total += share[y];
    for (int y = 0; y < targets.classes; y++)
        share[y] /= total;
}

/* Two labels: prevalence of the positive one. Grades: that of the first, with the rest divided among the others; or
 * "observed". */
static int read_prevalence(grid *g, const grid_kind *kind, const char *word, size_t length) {
    size_t k = (size_t)g->training.data->classes;
    double p, *to = g->prevalence[g->prevalences];
    char *name = g->prevalence_name[g->prevalences];
    const char *end = pv_parse_real(word, &p);
    snprintf(name, sizeof g->prevalence_name[0], "%.*s", (int)length, word);
    if (kind->grades && strcmp(name, "observed") == 0) {
        grid_shares(g, to);
    } else if (!end || end != word + length || !(p >= 1e-6 && p <= 1 - 1e-6) ||
               length >= sizeof g->prevalence_name[0]) {
        return cli_error(g->call, PV_ERR_USAGE, NULL,
                         kind->grades ? "--prevalences: '%s' is neither 'observed' nor a prevalence of the first grade"
                                      : "--prevalences: '%s' is not a number between 0 and 1",
                         name);
    } else {
        for (size_t y = 0; y < k; y++)
            to[y] = kind->grades ? (y == 0 ? p : (1 - p) / (double)(k - 1)) : (y == 1 ? p : 1 - p);
    }
    for (size_t i = 0; i < g->prevalences; i++)
        if (strcmp(g->prevalence_name[i], name) == 0 || g->prevalence[i][0] == to[0])
            return cli_error(g->call, PV_ERR_USAGE, NULL, "--prevalences: %s is there twice", name);
    g->prevalences++;
    return CLI_OK;
}

static int read_prevalences(grid *g, const grid_kind *kind) {
    const char *text = g->options->prevalences;
    int code = CLI_OK;
    for (const char *at = text; at && code == CLI_OK; at = *at ? at + 1 : NULL) {
        size_t length = strcspn(at, ",");
        if (g->prevalences == GRID_PREVALENCES_MAX)
            return cli_error(g->call, PV_ERR_USAGE, NULL, "--prevalences %s: at most %d", text,
                             (int)GRID_PREVALENCES_MAX);
        code = read_prevalence(g, kind, at, length);
        at += length;
    }
    return code;
}

/* ---- data -------------------------------------------------------------------------------------------------------- */

static int read_models(grid *g) {
    const char *sizes = g->options->sizes;
    for (size_t i = 0; i < g->networks.count; i++) {
        char *spec = g->model[g->networks.index[i]];
        bool ordinal = g->networks.index[i] >= GRID_NOMINAL;
        const char *name = grid_network[g->networks.index[i] % GRID_NOMINAL];
        const char *given = sizes && *sizes ? sizes : NULL;
        int length = snprintf(spec, sizeof g->model[0], "%s%s%s%s%s", name, given || ordinal ? ":" : "",
                              given ? given : "", given && ordinal ? "," : "", ordinal ? "output=ordinal" : "");
        if (length >= (int)sizeof g->model[0])
            return cli_error(g->call, PV_ERR_USAGE, NULL, "--sizes is too long");
        int64_t views, size;
        pv_status status = pv_model_views(g->call->ctx, spec, &views, &size);
        if (status != PV_OK)
            return cli_fail(g->call, status);
    }
    return CLI_OK;
}

/* Requires two labels, or grades from votes, depending on the study. */
static int check_data(grid *g, const grid_kind *kind) {
    const pv_dataset *data = g->training.data;
    if (kind->grades && (!data->frequency || data->classes != 5))
        return cli_error(g->call, PV_ERR_INPUT, g->path, "the study needs votes from 1 to 5; there are %d labels%s",
                         data->classes, data->frequency ? "" : " and no votes");
    if (!kind->grades && data->classes != 2)
        return cli_error(g->call, PV_ERR_INPUT, g->path, "%d labels in '%s'; the study needs two", data->classes,
                         g->roles.roles.target);
    return CLI_OK;
}

static int read_data(grid *g, const grid_kind *kind) {
    const grid_options *options = g->options;
    const char *model = g->model[g->networks.index[0]];
    g->roles = options->roles;
    g->roles.roles.target = options->target;
    g->path = options->data;
    if (kind->grades && options->target)
        return cli_error(g->call, PV_ERR_USAGE, NULL, "study ratings predicts votes: name their array with --votes");
    if (kind->grades && cli_given(g->call, "binarise"))
        return cli_error(g->call, PV_ERR_USAGE, NULL, "study ratings predicts the grades: leave --binarise out");
    if (kind->grades && !g->roles.image.votes)
        g->roles.image.votes = "votes";
    if (!g->path) {
        int code = grid_simulate(g, kind->grades);
        return code == CLI_OK ? check_data(g, kind) : code;
    }
    pv_fit_options fit = options->fit;
    fit.model = model;
    int code = cli_training_prepare(g->call, g->path, &fit, &g->roles);
    if (code == CLI_OK && !kind->grades && g->roles.image.votes && !cli_given(g->call, "binarise"))
        g->roles.image.binarise = 3;
    if (code == CLI_OK)
        code = cli_training_read(g->call, g->path, &g->roles, &g->training);
    return code == CLI_OK ? check_data(g, kind) : code;
}

/* Training and held-out rows for each fold. */
static int make_folds(grid *g) {
    const pv_dataset *data = g->training.data;
    size_t *row = cli_alloc(data->rows, sizeof *row);
    int32_t *fold = cli_alloc(data->rows, sizeof *fold);
    pv_status status = pv_folds_make(g->call->ctx, g->training.schema, data, (int64_t)g->folds,
                                     (uint64_t)g->options->shared.seed, 0, fold);
    for (size_t f = 0; f < g->folds && status == PV_OK; f++)
        for (int inside = 0; inside < 2 && status == PV_OK; inside++) {
            size_t n = 0;
            for (size_t i = 0; i < data->rows; i++)
                if (((size_t)fold[i] == f) == (inside == 1))
                    row[n++] = i;
            status = pv_dataset_take(g->call->ctx, data, n, row, inside ? &g->held_out[f] : &g->learned[f]);
        }
    free(row);
    free(fold);
    return status == PV_OK ? CLI_OK : cli_fail(g->call, status);
}

/* ---- cells ------------------------------------------------------------------------------------------------------- */

static void list_cells(grid *g) {
    size_t most = g->networks.count * g->designs.count * g->methods.count * g->prevalences * g->fold.count;
    g->cell = cli_alloc(most, sizeof *g->cell);
    for (size_t n = 0; n < g->networks.count; n++)
        for (size_t d = 0; d < g->designs.count; d++)
            for (size_t m = 0; m < g->methods.count; m++)
                for (size_t p = 0; p < (needs_no_prevalence((int)g->methods.index[m]) ? 1 : g->prevalences); p++)
                    for (size_t f = 0; f < g->fold.count; f++)
                        g->cell[g->cells++] = (grid_cell){.network = (int)g->networks.index[n],
                                                          .design = (int)g->designs.index[d],
                                                          .method = (int)g->methods.index[m],
                                                          .prevalence = p,
                                                          .fold = g->fold.index[f]};
    size_t k = (size_t)g->training.data->classes;
    for (size_t i = 0; i < g->cells; i++) {
        grid_cell *cell = &g->cell[i];
        cell->loglik = cli_alloc(grid_rows(g, cell->fold) * k, sizeof *cell->loglik);
        cell->used = cli_alloc(grid_epochs(g, cell) * k, sizeof *cell->used);
        cell->exact = cli_alloc(grid_epochs(g, cell) * k, sizeof *cell->exact);
    }
}

const grid_cell *grid_at(const grid *g, int network, int design, int method, size_t prevalence, size_t fold) {
    for (size_t i = 0; i < g->cells; i++) {
        const grid_cell *c = &g->cell[i];
        if (c->network == network && c->design == design && c->method == method && c->fold == fold &&
            (c->prevalence == prevalence || needs_no_prevalence(method)))
            return c;
    }
    return NULL;
}

size_t grid_rows(const grid *g, size_t fold) {
    return g->held_out[fold]->rows;
}

void grid_defaults(const cli_call *call, grid_options *options, const char *prevalences) {
    if (!options->prevalences)
        options->prevalences = prevalences;
    if (!cli_given(call, "cases"))
        options->cases = 342; /* as in the paper */
    if (!cli_given(call, "controls"))
        options->controls = 1065;
    if (!options->quick)
        return;
    if (!cli_given(call, "cases"))
        options->cases = 40;
    if (!cli_given(call, "controls"))
        options->controls = 40;
    if (!options->sizes)
        options->sizes = "views=3,size=12,low=4,channels=8-8,features=8";
    if (!cli_given(call, "epochs"))
        options->fit.epochs = 2;
    if (!cli_given(call, "rate"))
        options->fit.rate = 0.003;
}

int grid_begin(cli_call *call, const grid_options *options, const grid_kind *kind, grid *g) {
    *g = (grid){.call = call, .options = options, .study = kind->study};
    int code = read_list(call, "networks", options->networks, grid_network, kind->grades ? GRID_NETWORKS : GRID_NOMINAL,
                         &g->networks);
    if (code == CLI_OK)
        code = read_list(call, "batches", options->batches, grid_design, GRID_DESIGNS, &g->designs);
    if (code == CLI_OK)
        code = read_list(call, "methods", options->methods, grid_method, GRID_TRUTH, &g->methods);
    if (code == CLI_OK)
        code = read_folds(call, options, g);
    if (code == CLI_OK)
        code = read_models(g);
    if (code == CLI_OK)
        code = read_data(g, kind);
    if (code == CLI_OK && g->path)
        code = study_checkpoint_data(call, g->training.table, g->training.data->images);
    if (code == CLI_OK)
        code = read_prevalences(g, kind);
    if (code == CLI_OK)
        code = make_folds(g);
    if (code == CLI_OK && !g->path)
        g->methods.index[g->methods.count++] = GRID_TRUTH;
    if (code == CLI_OK)
        list_cells(g);
    for (size_t i = 0; i < g->cells && code == CLI_OK; i++)
        if (g->cell[i].method == GRID_TRUTH)
            code = grid_truth(g, kind->grades, &g->cell[i]);
    return code;
}

/* ---- running ----------------------------------------------------------------------------------------------------- */

/* All fits in the order of the cells, so that positions in a checkpoint do not depend on files already in the
 * folder. */
typedef struct fit_list {
    grid *g;
    grid_cell **cell;
} fit_list;

bool grid_traced(const grid_cell *cell) {
    return (cell->method == GRID_CONSTANT || cell->method == GRID_LINEAR) && cell->fold == 0;
}

size_t grid_epochs(const grid *g, const grid_cell *cell) {
    return grid_traced(cell) ? (size_t)pv_fit_options_used(&g->options->fit, true).epochs : 0;
}

static void keep_trace(const pv_trace *trace, size_t most, grid_cell *cell) {
    cell->epochs = trace->count < most ? trace->count : most;
    size_t n = cell->epochs * (size_t)trace->classes;
    memcpy(cell->used, trace->used, n * sizeof *cell->used);
    memcpy(cell->exact, trace->exact, n * sizeof *cell->exact);
}

static void find_device(pv_ctx *ctx, const cli_running *running, char device[GRID_DEVICE]) {
    const char *text;
    if (running->device != PV_DEVICE_CPU && pv_ctx_device(ctx, &text))
        snprintf(device, GRID_DEVICE, "%s, %s", text, pv_precision_name((pv_precision)running->precision));
}

static pv_status write_cell(pv_ctx *ctx, const grid *g, grid_cell *cell) {
    if (!cell->done || cell->written || !g->options->shared.output)
        return PV_OK;
    cell->written = true;
    return grid_cell_write(ctx, g, cell);
}

static pv_status fit_cell(pv_ctx *ctx, void *state, size_t index) {
    const fit_list *all = state;
    const grid *g = all->g;
    grid_cell *cell = all->cell[index];
    char stated[GRID_STATED];
    if (cell->done)
        return PV_OK;
    pv_fit_options options = grid_fit_options(g, cell, stated);
    options.trace = grid_traced(cell);
    options.command = g->call->line;
    pv_classifier *fit = NULL;
    const pv_dataset *data = g->learned[cell->fold];
    options = pv_fit_options_used(&options, data->images != NULL); /* shared by all cells */
    pv_status status = pv_fit(ctx, g->training.schema, data, &options, &fit);
    if (status == PV_OK && cli_was_stopped(fit, PV_STOP_INTERRUPTED))
        status = PV_ERR_INTERRUPTED;
    if (status == PV_OK) {
        size_t k = (size_t)fit->schema->classes;
        memcpy(cell->log_marginal, fit->log_marginal, k * sizeof *fit->log_marginal);
        cell->stop = fit->stop;
        cell->seconds = fit->seconds;
        find_device(ctx, &g->options->shared.running, cell->device);
        if (fit->trace)
            keep_trace(fit->trace, grid_epochs(g, cell), cell);
        status = pv_predict_loglik(ctx, fit, g->held_out[cell->fold], cell->loglik);
    }
    pv_classifier_free(ctx, fit);
    cell->done = status == PV_OK;
    return status == PV_OK ? write_cell(ctx, g, cell) : status;
}

static size_t cell_outcome(void *state, size_t index, pv_field *field) {
    const fit_list *all = state;
    grid_cell *cell = all->cell[index];
    size_t k = (size_t)all->g->training.data->classes, trace = grid_epochs(all->g, cell) * k * sizeof(double), n = 0;
    field[n++] = (pv_field){&cell->done, sizeof cell->done};
    field[n++] = (pv_field){&cell->stop, sizeof cell->stop};
    field[n++] = (pv_field){&cell->seconds, sizeof cell->seconds};
    field[n++] = (pv_field){&cell->epochs, sizeof cell->epochs};
    field[n++] = (pv_field){cell->device, sizeof cell->device};
    field[n++] = (pv_field){cell->log_marginal, sizeof cell->log_marginal};
    field[n++] = (pv_field){cell->loglik, grid_rows(all->g, cell->fold) * k * sizeof(double)};
    field[n++] = (pv_field){cell->used, trace};
    field[n++] = (pv_field){cell->exact, trace};
    return n;
}

static bool cell_sound(const void *state, size_t index) {
    const fit_list *all = state;
    const grid_cell *cell = all->cell[index];
    size_t k = (size_t)all->g->training.data->classes;
#define ONE(name, word) +1
    enum { STOPS = PV_STOP_LIST(ONE) };
#undef ONE
    return cell->done == 1 && (int)cell->stop >= 0 && (int)cell->stop < STOPS && cell->seconds >= 0 &&
           cell->epochs <= grid_epochs(all->g, cell) && memchr(cell->device, 0, sizeof cell->device) &&
           study_within(cell->log_marginal, k, -HUGE_VAL, 0, false) &&
           study_within(cell->loglik, grid_rows(all->g, cell->fold) * k, -HUGE_VAL, 0, false);
}

static int make_cell_folder(const grid *g) {
    char folder[4096];
    if (!g->options->shared.output)
        return CLI_OK;
    if (snprintf(folder, sizeof folder, "%s/cells", g->options->shared.output) >= (int)sizeof folder)
        return cli_error(g->call, PV_ERR_PATH, g->options->shared.output, "the name is too long");
    return cli_make_folder(g->call, folder);
}

int grid_run(grid *g) {
    fit_list all = {.g = g, .cell = cli_alloc(g->cells, sizeof(grid_cell *))};
    size_t count = 0, there = 0, finished = 0;
    int code = make_cell_folder(g);
    for (size_t i = 0; i < g->cells && code == CLI_OK; i++) {
        if (g->cell[i].method == GRID_TRUTH)
            continue;
        code = g->options->shared.output ? grid_cell_read(g, &g->cell[i]) : CLI_OK;
        there += g->cell[i].done ? 1 : 0;
        all.cell[count++] = &g->cell[i];
    }
    if (code == CLI_OK && there > 0)
        cli_note(g->call, "%zu of %zu fits are in %s already", there, count, g->options->shared.output);
    if (code == CLI_OK &&
        (there < count || pv_ctx_ranks(g->call->ctx, NULL) > 1)) { /* ranks may see different folders */
        pv_status status =
            pv_jobs_run_kept(g->call->ctx, "fits", count, true, fit_cell, cell_outcome, cell_sound, &all, &finished);
        cli_progress_clear(g->call);
        for (size_t i = there = 0; i < count; i++) {
            pv_status written = write_cell(g->call->ctx, g, all.cell[i]); /* cells fitted by other ranks */
            status = status == PV_OK ? written : status;
            there += all.cell[i]->done ? 1 : 0;
        }
        if (status == PV_ERR_INTERRUPTED)
            code = cli_error(g->call, status, NULL, "stopped on request: %zu of %zu fits are done%s", there, count,
                             g->options->shared.output && !g->options->shared.checkpoint.path
                                 ? "; the same command goes on from there"
                                 : "");
        else if (status != PV_OK)
            code = cli_fail(g->call, status);
    }
    free(all.cell);
    return code;
}

void grid_clear(grid *g) {
    for (size_t i = 0; i < g->cells; i++) {
        free(g->cell[i].loglik);
        free(g->cell[i].used);
        free(g->cell[i].exact);
    }
    free(g->cell);
    for (size_t f = 0; f < GRID_FOLDS_MAX; f++) {
        pv_dataset_free(g->call->ctx, g->learned[f]);
        pv_dataset_free(g->call->ctx, g->held_out[f]);
    }
    cli_training_clear(g->call, &g->training);
    pv_archive_free(g->call->ctx, g->archive);
}

/* ---- results ----------------------------------------------------------------------------------------------------- */

void grid_predictions(const grid *g, const grid_cell *cell, size_t prevalence, double *loglik, double *log_marginal) {
    size_t k = (size_t)g->training.data->classes, rows = grid_rows(g, cell->fold);
    if (needs_no_prevalence(cell->method)) {
        pv_adapt(rows, (int)k, cell->loglik, cell->log_marginal, g->prevalence[prevalence], loglik);
        for (size_t y = 0; y < k; y++)
            log_marginal[y] = log(g->prevalence[prevalence][y]);
    } else {
        memcpy(loglik, cell->loglik, rows * k * sizeof *loglik);
        memcpy(log_marginal, cell->log_marginal, k * sizeof *log_marginal);
    }
}

void grid_print_devices(FILE *out, const grid *g) {
    size_t fits = 0, alike = 0;
    const char *one = "";
    for (size_t i = 0; i < g->cells; i++) {
        const grid_cell *cell = &g->cell[i];
        if (cell->method == GRID_TRUTH)
            continue;
        fits++;
        one = one[0] ? one : cell->device;
        alike += one[0] && strcmp(cell->device, one) == 0;
    }
    if (alike == fits && fits > 0)
        fprintf(out, "Fitted on %s.\n", one);
    else if (alike > 0)
        fprintf(out, "%zu of %zu fits on %s, the others elsewhere.\n", alike, fits, one);
}

void grid_print_trouble(FILE *out, const grid *g, int network, int design) {
    size_t fits = 0, diverged = 0;
    for (size_t i = 0; i < g->cells; i++)
        if (g->cell[i].network == network && g->cell[i].design == design && g->cell[i].method != GRID_TRUTH) {
            fits++;
            diverged += g->cell[i].stop == PV_STOP_DIVERGED;
        }
    if (diverged)
        fprintf(out, "\n%zu of %zu fits diverged; what the last finite epoch predicts is shown.\n", diverged, fits);
}

pv_result *grid_json(const grid *g) {
    pv_result *object = pv__value_object(), *shares = pv__value_list(), *models = pv__value_object(),
              *folds = pv__value_list();
    double share[GRID_CLASSES_MAX];
    char hash[24];
    grid_shares(g, share);
    for (int y = 0; y < g->training.data->classes; y++)
        pv__value_append(shares, pv__value_real(share[y]));
    for (size_t i = 0; i < g->networks.count; i++)
        pv__value_set(models, grid_network[g->networks.index[i]], pv__value_text(g->model[g->networks.index[i]]));
    for (size_t f = 0; f < g->folds; f++)
        pv__value_append(folds, pv__value_integer((int64_t)grid_rows(g, f)));
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)g->training.data->images->hash);
    pv__value_set(object, "study", pv__value_text(g->study));
    pv__value_set(object, "data", g->path ? pv__value_text(g->path) : pv__value_null());
    pv__value_set(object, "data_hash", pv__value_text(hash));
    pv__value_set(object, "rows", pv__value_integer((int64_t)g->training.data->rows));
    pv__value_set(object, "dropped", pv__value_integer((int64_t)g->training.data->dropped));
    pv__value_set(object, "shares", shares);
    pv__value_set(object, "fold_rows", folds);
    pv__value_set(object, "models", models);
    pv__value_set(object, "seed", pv__value_integer(g->options->shared.seed));
    pv__value_set(object, "command", pv__value_text(g->call->line));
    pv__value_set(object, "version", pv__value_text(PV_VERSION));
    return object;
}
