/* Cells of a grid as files: FOLDER/cells/convnet_balanced_iw_0.01_fold1.json.
 *
 * A cell's file records everything that its numbers depend on (settings): options of the fit and of the images, and the
 * hash of the data. A file with different settings is an error that names the first difference, so that results of two
 * runs are never mixed.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "prevail/prevail.h"
#include "lab/common/grid.h"
#include "tool/console.h"
#include "tool/json.h"

pv_fit_options grid_fit_options(const grid *g, const grid_cell *cell, char stated[GRID_STATED]) {
    static const int loss[GRID_TRUTH] = {PV_LOSS_IG, PV_LOSS_IG, PV_LOSS_IG, PV_LOSS_IW, PV_LOSS_PLAIN};
    static const int marginal[GRID_TRUTH] = {PV_MARGINAL_AUXILIARY_CONSTANT, PV_MARGINAL_AUXILIARY_LINEAR,
                                             PV_MARGINAL_PROFILE, PV_MARGINAL_PROFILE, PV_MARGINAL_PROFILE};
    pv_fit_options fit = g->options->fit;
    size_t used = 0;
    for (int y = 0; y < g->training.data->classes; y++)
        used += (size_t)snprintf(stated + used, GRID_STATED - used, "%s%.17g", y ? "," : "",
                                 g->prevalence[cell->prevalence][y]);
    fit.prevalence = cell->method == GRID_PLAIN ? NULL : stated;
    fit.prevalence_n = g->options->prevalence_n;
    fit.loss = loss[cell->method];
    fit.marginal = marginal[cell->method];
    fit.model = g->model[cell->network];
    fit.design = grid_design[cell->design];
    fit.seed = g->options->shared.seed;
    return fit;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

static void set_options(pv_result *object, const pv_option *table, const void *options) {
    char text[512];
    for (const pv_option *row = table; row->name; row++) {
        pv_option_get(row, options, text, sizeof text);
        pv__value_set(object, row->name, pv__value_text(text));
    }
}

static pv_result *settings_of(const grid *g, const grid_cell *cell) {
    char stated[GRID_STATED], hash[48], folds[32];
    pv_fit_options fit = grid_fit_options(g, cell, stated);
    pv_result *settings = pv__value_object();
    snprintf(hash, sizeof hash, "%016llx-%016llx", (unsigned long long)g->training.table->hash,
             (unsigned long long)g->training.data->images->hash);
    snprintf(folds, sizeof folds, "%zu of %zu", cell->fold + 1, g->folds);
    set_options(settings, pv_fit_option_table, &fit);
    set_options(settings, pv_image_option_table, &g->roles.image);
    pv__value_set(settings, "target", pv__value_text(g->roles.roles.target));
    pv__value_set(settings, "positive", pv__value_text(g->training.schema->labels[g->training.data->classes - 1]));
    pv__value_set(settings, "group", pv__value_text(g->roles.roles.group ? g->roles.roles.group : ""));
    pv__value_set(settings, "fold", pv__value_text(folds));
    pv__value_set(settings, "data", pv__value_text(hash));
    pv__value_set(settings, "version", pv__value_text(PV_VERSION));
    return settings;
}

static int cell_path(const grid *g, const grid_cell *cell, char *path, size_t size) {
    bool plain = cell->method == GRID_PLAIN;
    return snprintf(path, size, "%s/cells/%s_%s_%s%s%s_fold%zu.json", g->options->shared.output,
                    grid_network[cell->network], grid_design[cell->design], grid_method[cell->method], plain ? "" : "_",
                    plain ? "" : g->prevalence_name[cell->prevalence], cell->fold + 1);
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

/* [n][k] */
static pv_result *json_rows(size_t n, size_t k, const double *values) {
    pv_result *rows = pv__value_list();
    for (size_t i = 0; i < n; i++) {
        pv_result *row = pv__value_list();
        for (size_t y = 0; y < k; y++)
            pv__value_append(row, pv__value_real(values[i * k + y]));
        pv__value_append(rows, row);
    }
    return rows;
}

static pv_result *cell_json(const grid *g, const grid_cell *cell) {
    size_t k = (size_t)g->training.data->classes, n = grid_rows(g, cell->fold);
    pv_result *object = pv__value_object(), *marginal = pv__value_list(), *rows = pv__value_list();
    for (size_t y = 0; y < k; y++)
        pv__value_append(marginal, pv__value_real(cell->log_marginal[y]));
    for (size_t i = 0; i < n; i++)
        pv__value_append(rows, pv__value_integer((int64_t)g->held_out[cell->fold]->table_row[i]));
    pv__value_set(object, "settings", settings_of(g, cell));
    pv__value_set(object, "stop", pv__value_text(pv_stop_name(cell->stop)));
    pv__value_set(object, "seconds", pv__value_real(cell->seconds));
    pv__value_set(object, "device", cell->device[0] ? pv__value_text(cell->device) : pv__value_null());
    pv__value_set(object, "log_marginal", marginal);
    pv__value_set(object, "rows", rows);
    pv__value_set(object, "loglik", json_rows(n, k, cell->loglik));
    if (grid_traced(cell)) {
        pv__value_set(object, "marginal_used", json_rows(cell->epochs, k, cell->used));
        pv__value_set(object, "marginal_exact", json_rows(cell->epochs, k, cell->exact));
    }
    return object;
}

pv_status grid_cell_write(pv_ctx *ctx, const grid *g, const grid_cell *cell) {
    char path[4096];
    if (cell_path(g, cell, path, sizeof path) >= (int)sizeof path)
        return PV_ERR_PATH;
    pv_result *object = cell_json(g, cell);
    char *text;
    pv_output output = {0};
    pv_status status = pv__json_dump(ctx, object, "a setting is no UTF-8", &text);
    pv_result_free(object);
    if (status == PV_OK)
        status = pv_output_open(ctx, path, &output);
    if (status == PV_OK) {
        fputs(text, output.stream);
        fputc('\n', output.stream);
        status = pv_output_commit(ctx, &output);
    }
    pv_output_discard(ctx, &output);
    pv__free(ctx, text);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* An option that the file does not contain, because it is newer, must have its default. */
static bool is_default(const char *name, const char *value) {
    const pv_option *const tables[] = {pv_fit_option_table, pv_image_option_table};
    for (int i = 0; i < 2; i++) {
        const pv_option *row = pv_option_find(tables[i], name);
        if (!row)
            continue;
        pv_fit_options fit = pv_fit_options_default();
        pv_image_options image = {0};
        char text[512];
        pv_options_default(pv_image_option_table, &image);
        pv_option_get(row, i == 0 ? (const void *)&fit : &image, text, sizeof text);
        return strcmp(text, value) == 0;
    }
    return false;
}

static int compare(const grid *g, const char *path, const pv_result *found, const pv_result *wanted) {
    for (size_t i = 0; i < pv_result_count(wanted); i++) {
        const char *key = pv_result_name(wanted, i);
        const pv_result *value = pv_result_child(wanted, i);
        const pv_result *other = pv_result_get(found, key);
        const char *there = pv_result_text(other), *here = pv_result_text(value);
        if (other ? !pv__value_equal(value, other) : !is_default(key, here))
            return cli_error(g->call, PV_ERR_INPUT, path,
                             "is of another run: %s is '%.80s' there and '%.80s' here; give another folder with -o, or "
                             "remove the file to fit it anew",
                             key, there ? there : "", here);
    }
    for (size_t i = 0; i < pv_result_count(found); i++)
        if (!pv_result_get(wanted, pv_result_name(found, i)))
            return cli_error(g->call, PV_ERR_INPUT, path,
                             "is of another version, which has a setting '%.80s'; give another folder with -o",
                             pv_result_name(found, i));
    return CLI_OK;
}

static bool take_numbers(const pv_result *array, size_t n, double *values) {
    if (!pv__value_is(array, PV_RESULT_LIST) || pv_result_count(array) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const pv_result *value = pv_result_child(array, i);
        if (!pv__value_is_number(value) && !pv__value_is(value, PV_RESULT_NULL))
            return false;
        values[i] = pv__value_is(value, PV_RESULT_NULL) ? (double)NAN : pv_result_number(value);
    }
    return true;
}

static bool take_stop(const pv_result *word, pv_stop *stop) {
    const char *text = pv_result_text(word);
#define ONE(name, word) +1
    enum { STOPS = PV_STOP_LIST(ONE) };
#undef ONE
    for (int i = 0; text && i < STOPS; i++)
        if (strcmp(text, pv_stop_name((pv_stop)i)) == 0) {
            *stop = (pv_stop)i;
            return true;
        }
    return false;
}

/* [n][k] */
static bool take_rows(const pv_result *array, size_t n, size_t k, double *values) {
    bool good = pv__value_is(array, PV_RESULT_LIST) && pv_result_count(array) == n;
    for (size_t i = 0; i < n && good; i++)
        good = take_numbers(pv_result_child(array, i), k, values + i * k);
    return good;
}

static bool take_trace(const pv_result *object, size_t k, size_t most, grid_cell *cell) {
    const pv_result *used = pv_result_get(object, "marginal_used");
    cell->epochs = pv_result_count(used);
    return cell->epochs <= most && take_rows(used, cell->epochs, k, cell->used) &&
           take_rows(pv_result_get(object, "marginal_exact"), cell->epochs, k, cell->exact);
}

static bool take_cell(const grid *g, const pv_result *object, grid_cell *cell) {
    size_t k = (size_t)g->training.data->classes, rows = grid_rows(g, cell->fold);
    const pv_result *row = pv_result_get(object, "rows");
    bool good = take_numbers(pv_result_get(object, "log_marginal"), k, cell->log_marginal) &&
                take_stop(pv_result_get(object, "stop"), &cell->stop) &&
                take_rows(pv_result_get(object, "loglik"), rows, k, cell->loglik) && pv_result_count(row) == rows &&
                (!grid_traced(cell) || take_trace(object, k, grid_epochs(g, cell), cell));
    cell->seconds = pv_result_number(pv_result_get(object, "seconds"));
    const char *device = pv_result_text(pv_result_get(object, "device")); /* missing in files of earlier versions */
    snprintf(cell->device, sizeof cell->device, "%s", device ? device : "");
    for (size_t i = 0; i < rows && good; i++)
        good = pv__value_integer_of(pv_result_child(row, i)) == (int64_t)g->held_out[cell->fold]->table_row[i];
    return good;
}

int grid_cell_read(const grid *g, grid_cell *cell) {
    char path[4096];
    struct stat about;
    if (cell_path(g, cell, path, sizeof path) >= (int)sizeof path)
        return cli_error(g->call, PV_ERR_PATH, g->options->shared.output, "the name is too long");
    if (stat(path, &about) != 0)
        return CLI_OK;
    if (!S_ISREG(about.st_mode) || access(path, R_OK) != 0)
        return cli_error(g->call, PV_ERR_PATH, path, "cannot be read: %s; remove it, or give another folder with -o",
                         S_ISREG(about.st_mode) ? strerror(errno) : "it is not a regular file");
    pv_result *object = study_read_json(g->call, path), *wanted = settings_of(g, cell);
    const pv_result *found = pv_result_get(object, "settings");
    int code = found ? compare(g, path, found, wanted) : CLI_OK;
    if (code == CLI_OK && (!found || !take_cell(g, object, cell)))
        code = cli_error(g->call, PV_ERR_FORMAT, path, "is damaged; remove it, and the same command fits it anew");
    cell->done = cell->written = code == CLI_OK;
    pv_result_free(wanted);
    pv_result_free(object);
    return code;
}
