/* Cells of a grid as files: FOLDER/cells/convnet_balanced_iw_0.01_fold1.json.
 *
 * A cell's file has everything that its numbers depend on (settings): options of the fit and of the images, and the
 * hash of the data. What is read back must have the same; anything else is refused with the first difference, so that
 * results of two runs are never mixed.
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

static void set_options(json_t *object, const pv_option *table, const void *options) {
    char text[512];
    for (const pv_option *row = table; row->name; row++) {
        pv_option_get(row, options, text, sizeof text);
        cli_json_set(object, row->name, cli_json_text(text));
    }
}

static json_t *settings_of(const grid *g, const grid_cell *cell) {
    char stated[GRID_STATED], hash[48], folds[32];
    pv_fit_options fit = grid_fit_options(g, cell, stated);
    json_t *settings = cli_json_object();
    snprintf(hash, sizeof hash, "%016llx-%016llx", (unsigned long long)g->training.table->hash,
             (unsigned long long)g->training.data->images->hash);
    snprintf(folds, sizeof folds, "%zu of %zu", cell->fold + 1, g->folds);
    set_options(settings, pv_fit_option_table, &fit);
    set_options(settings, pv_image_option_table, &g->roles.image);
    cli_json_set(settings, "target", cli_json_text(g->roles.roles.target));
    cli_json_set(settings, "positive", cli_json_text(g->training.schema->labels[g->training.data->classes - 1]));
    cli_json_set(settings, "group", cli_json_text(g->roles.roles.group ? g->roles.roles.group : ""));
    cli_json_set(settings, "fold", cli_json_text(folds));
    cli_json_set(settings, "data", cli_json_text(hash));
    cli_json_set(settings, "version", cli_json_text(PV_VERSION));
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
static json_t *json_rows(size_t n, size_t k, const double *values) {
    json_t *rows = cli_json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *row = cli_json_array();
        for (size_t y = 0; y < k; y++)
            cli_json_append(row, cli_json_real(values[i * k + y]));
        cli_json_append(rows, row);
    }
    return rows;
}

static json_t *cell_json(const grid *g, const grid_cell *cell) {
    size_t k = (size_t)g->training.data->classes, n = grid_rows(g, cell->fold);
    json_t *object = cli_json_object(), *marginal = cli_json_array(), *rows = cli_json_array();
    for (size_t y = 0; y < k; y++)
        cli_json_append(marginal, cli_json_real(cell->log_marginal[y]));
    for (size_t i = 0; i < n; i++)
        cli_json_append(rows, json_integer((json_int_t)g->held_out[cell->fold]->table_row[i]));
    cli_json_set(object, "settings", settings_of(g, cell));
    cli_json_set(object, "stop", cli_json_text(pv_stop_name(cell->stop)));
    cli_json_set(object, "seconds", cli_json_real(cell->seconds));
    cli_json_set(object, "device", cell->device[0] ? cli_json_text(cell->device) : json_null());
    cli_json_set(object, "log_marginal", marginal);
    cli_json_set(object, "rows", rows);
    cli_json_set(object, "loglik", json_rows(n, k, cell->loglik));
    if (grid_traced(cell)) {
        cli_json_set(object, "marginal_used", json_rows(cell->epochs, k, cell->used));
        cli_json_set(object, "marginal_exact", json_rows(cell->epochs, k, cell->exact));
    }
    return object;
}

pv_status grid_cell_write(pv_ctx *ctx, const grid *g, const grid_cell *cell) {
    char path[4096];
    if (cell_path(g, cell, path, sizeof path) >= (int)sizeof path)
        return PV_ERR_PATH;
    json_t *object = cell_json(g, cell);
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    json_decref(object);
    if (!text)
        return PV_ERR_MEMORY;
    pv_output output = {0};
    pv_status status = pv_output_open(ctx, path, &output);
    if (status == PV_OK) {
        fputs(text, output.stream);
        fputc('\n', output.stream);
        status = pv_output_commit(ctx, &output);
    }
    pv_output_discard(ctx, &output);
    free(text);
    return status;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* An option that the file does not know, since it is newer, must be as it is by default. */
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

static int compare(const grid *g, const char *path, json_t *found, json_t *wanted) {
    const char *key;
    json_t *value;
    json_object_foreach(wanted, key, value) {
        const json_t *other = json_object_get(found, key);
        const char *there = json_string_value(other), *here = json_string_value(value);
        if (other ? !json_equal(value, other) : !is_default(key, here))
            return cli_error(g->call, PV_ERR_INPUT, path,
                             "is of another run: %s is '%.80s' there and '%.80s' here; give another folder with -o, or "
                             "remove the file to fit it anew",
                             key, there ? there : "", here);
    }
    json_object_foreach(found, key, value) {
        if (!json_object_get(wanted, key))
            return cli_error(g->call, PV_ERR_INPUT, path,
                             "is of another version, which has a setting '%.80s'; give another folder with -o", key);
    }
    return CLI_OK;
}

static bool take_numbers(const json_t *array, size_t n, double *values) {
    if (!json_is_array(array) || json_array_size(array) != n)
        return false;
    for (size_t i = 0; i < n; i++) {
        const json_t *value = json_array_get(array, i);
        if (!json_is_number(value) && !json_is_null(value))
            return false;
        values[i] = json_is_null(value) ? (double)NAN : json_number_value(value);
    }
    return true;
}

static bool take_stop(const json_t *word, pv_stop *stop) {
    const char *text = json_string_value(word);
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
static bool take_rows(const json_t *array, size_t n, size_t k, double *values) {
    bool good = json_is_array(array) && json_array_size(array) == n;
    for (size_t i = 0; i < n && good; i++)
        good = take_numbers(json_array_get(array, i), k, values + i * k);
    return good;
}

static bool take_trace(const json_t *object, size_t k, size_t most, grid_cell *cell) {
    const json_t *used = json_object_get(object, "marginal_used");
    cell->epochs = json_array_size(used);
    return cell->epochs <= most && take_rows(used, cell->epochs, k, cell->used) &&
           take_rows(json_object_get(object, "marginal_exact"), cell->epochs, k, cell->exact);
}

static bool take_cell(const grid *g, const json_t *object, grid_cell *cell) {
    size_t k = (size_t)g->training.data->classes, rows = grid_rows(g, cell->fold);
    const json_t *row = json_object_get(object, "rows");
    bool good = take_numbers(json_object_get(object, "log_marginal"), k, cell->log_marginal) &&
                take_stop(json_object_get(object, "stop"), &cell->stop) &&
                take_rows(json_object_get(object, "loglik"), rows, k, cell->loglik) && json_array_size(row) == rows &&
                (!grid_traced(cell) || take_trace(object, k, grid_epochs(g, cell), cell));
    cell->seconds = json_number_value(json_object_get(object, "seconds"));
    const char *device = json_string_value(json_object_get(object, "device")); /* earlier versions have none */
    snprintf(cell->device, sizeof cell->device, "%s", device ? device : "");
    for (size_t i = 0; i < rows && good; i++)
        good = json_integer_value(json_array_get(row, i)) == (json_int_t)g->held_out[cell->fold]->table_row[i];
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
    json_error_t error;
    json_t *object = json_load_file(path, 0, &error), *wanted = settings_of(g, cell);
    json_t *found = json_object_get(object, "settings");
    int code = found ? compare(g, path, found, wanted) : CLI_OK;
    if (code == CLI_OK && (!found || !take_cell(g, object, cell)))
        code = cli_error(g->call, PV_ERR_FORMAT, path, "is damaged; remove it, and the same command fits it anew");
    cell->done = cell->written = code == CLI_OK;
    json_decref(wanted);
    json_decref(object);
    return code;
}
