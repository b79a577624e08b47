/* The training table of fit, cv and sweep: its options, and reading it. */
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const cli_argument cli_training_arguments[] = {
    {"DATA", "A CSV file with a header row; - reads standard input; builtin:esoph, builtin:infert and "
             "builtin:contingency are built in. A Parquet file, a query (\"SELECT ... FROM 'visits/*.parquet'\"), "
             "sqlite:FILE?TABLE or postgresql://...#TABLE, where DuckDB, SQLite or libpq is installed. For images an "
             "NPZ, NPY or IDX file, whose arrays with one number or text per row are the columns."},
    {NULL, NULL}};

const cli_hint cli_training_hints[] = {
    {"class-weight", "prevalence", NULL},
    {"class-weights", "prevalence", NULL},
    {"prior-correction", "prevalence", NULL},
    {"label", "outcome", NULL},
    {"response", "outcome", NULL},
    {"y", "outcome", NULL},
    {"formula", "terms", NULL},
    {"clogit", "matched", NULL},
    {"phase-one", NULL, "it determines the prevalences, so that there is nothing to assume: use prevail fit or cv"},
    {"subcohort", NULL, "it determines the prevalence, so that there is nothing to assume: use prevail fit or cv"},
    {"header", "no-header", NULL},
    {"sep", "separator", NULL},
    {"delimiter", "separator", NULL},
    {"delim", "separator", NULL},
    {"dec", "decimal", NULL},
    {"na-strings", "na", NULL},
    {"na-values", "na", NULL},
    {"drop", "exclude", NULL},
    {"ignore", "exclude", NULL},
    {"factors", "categorical", NULL},
    {"random-state", "seed", NULL},
    {NULL, NULL, NULL}};

const pv_option cli_sample_table[] = {
    {"population-sample", PV_OPTION_TEXT, offsetof(cli_sample, path), NULL, 0, 0, NULL, "FILE",
     "A CSV file with unlabelled rows of the target population, for ig, instead of --prevalence or in addition to it. "
     "p(y|w) is then the model's mean prediction for them, weighted if the file has the column of --weights. With "
     "--prevalence the weighted estimate of a linear model uses them as control variates, which makes it more "
     "precise."},
    CLI_OPTION_END};

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Rejects options that have no effect for an image network, or for one that learns votes. */
static int check_idle_for_images(cli_call *call, const cli_roles *options) {
    static const char *const tables[] = {"features",  "exclude", "reference", "categorical",
                                         "collinear", "id",      "terms",     "offset"};
    static const char *const labels[] = {"weights", "positive"}, *const votes[] = {"votes-min", "binarise"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (cli_given(call, tables[i]))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s is for tables, not for images: leave it out", tables[i]);
    for (size_t i = 0; i < 2; i++) {
        if (options->image.votes && cli_given(call, labels[i]))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s cannot be used with --votes%s", labels[i],
                             i ? ": state the prevalence by label, as in --prevalence below=0.9,above=0.1"
                               : ", whose rows have equal weight: leave it out");
        if (!options->image.votes && cli_given(call, votes[i]))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s needs --votes: name the array of votes", votes[i]);
    }
    return CLI_OK;
}

int cli_training_prepare(cli_call *call, const char *path, const pv_fit_options *fit, cli_roles *options) {
    int64_t views, size;
    int code = CLI_OK;
    pv_status status = pv_model_views(call->ctx, fit->model, &views, &size);
    if (status == PV_OK && views == 0)
        code = cli_check_idle_but(call, pv_image_option_table, "votes", "images",
                                  "choose a network for them with --model convnet or inception");
    if (status == PV_OK && code == CLI_OK)
        status = pv_roles_complete(call->ctx, path, fit, &options->roles, &options->image);
    if (status != PV_OK)
        return cli_fail(call, status);
    return code == CLI_OK && views > 0 ? check_idle_for_images(call, options) : code;
}

int cli_training_read(cli_call *call, const char *path, const cli_roles *options, cli_training *training) {
    int code = cli_read(call, NULL, path, &options->roles, &training->table);
    return code == CLI_OK ? cli_training_learn(call, options, training) : code;
}

/* Packs the table into the checkpoint's folder. */
static int put_away(cli_call *call, const char *path, const char *checkpoint, pv_table **table) {
    char *folder = cli_copy(checkpoint), *slash = strrchr(folder, '/');
    if (slash)
        slash[slash == folder] = '\0';
    pv_status status = pv_table_put_away(call->ctx, slash ? folder : ".", table);
    free(folder);
    if (status != PV_OK)
        return cli_fail(call, status);
    cli_note(call, "%s does not fit --memory: it was packed into a file next to the checkpoint, for this run", path);
    return CLI_OK;
}

int cli_training_read_beside(cli_call *call, const char *path, const cli_roles *options,
                             const cli_checkpoint *checkpoint, cli_training *training) {
    const char *file = checkpoint->path;
    int code = cli_read(call, NULL, path, &options->roles, &training->table);
    if (code == CLI_OK && file && strcmp(file, "-") != 0 && cli_given(call, "memory") &&
        pv_ctx_ranks(call->ctx, NULL) == 1 && !pv_table_fits(call->ctx, training->table) &&
        (checkpoint->resume || access(file, F_OK) != 0)) /* a table that will be rejected is not packed */
        code = put_away(call, path, file, &training->table);
    return code == CLI_OK ? cli_training_learn(call, options, training) : code;
}

int cli_training_learn(cli_call *call, const cli_roles *options, cli_training *training) {
    pv_status status = pv_schema_learn(call->ctx, training->table, &options->roles, &training->schema, &training->data);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

int cli_read_sample(cli_call *call, const cli_sample *from, const cli_roles *options, const cli_training *training,
                    pv_dataset **sample) {
    *sample = NULL;
    if (!from->path)
        return CLI_OK;
    const pv_csv_options csv = cli_csv(call);
    pv_status status =
        pv_sample_read(call->ctx, training->schema, training->data, from->path, &options->roles, &csv, sample);
    if (status != PV_OK)
        return cli_fail(call, status);
    cli_note_dropped(call, from->path, (*sample)->image, (*sample)->dropped);
    if ((*sample)->features_hash == training->data->features_hash)
        cli_warn(call, "the population sample is the training table itself, which was sampled by label");
    return CLI_OK;
}

/* Whether the option has no effect with any of the losses. */
static bool is_idle(const pv_fit_options *fit, const pv_loss *losses, size_t n_losses, bool images, const char *name) {
    for (size_t l = 0; l < n_losses; l++) {
        pv_fit_options with = *fit;
        with.loss = (int)losses[l];
        if (!pv_fit_idle(&with, images, name))
            return false;
    }
    return true;
}

int cli_check_fit(cli_call *call, const pv_fit_options *fit, const pv_loss *losses, size_t n_losses, bool sample) {
    size_t n, idle = 0;
    int code = CLI_OK;
    const char **given = cli_given_of(call, pv_fit_option_table, &n);
    int64_t views = 0, size;
    pv_status status = pv_model_views(call->ctx, fit->model, &views, &size);
    for (size_t i = 0; i < n; i++)
        if (is_idle(fit, losses, n_losses, views > 0, given[i]))
            given[idle++] = given[i];
    for (size_t l = 0; l < n_losses && status == PV_OK; l++) {
        pv_fit_options with = *fit;
        with.loss = (int)losses[l];
        with = pv_fit_options_used(&with, views > 0);
        for (size_t i = 0; i < idle; i++) { /* each is rejected separately, and can be left out */
            code = cli_fail(call, pv_fit_check(call->ctx, &with, sample, &given[i], 1));
            cli_leave_out(call, given[i]);
        }
        if (idle > 0)
            break;
        status = pv_fit_check(call->ctx, &with, sample, NULL, 0);
    }
    free(given);
    if (code != CLI_OK)
        return code;
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

void cli_training_clear(cli_call *call, cli_training *training) {
    pv_dataset_free(call->ctx, training->data);
    pv_schema_free(call->ctx, training->schema);
    pv_table_free(call->ctx, training->table);
}

bool cli_was_stopped(const pv_classifier *c, pv_stop stop) {
    return c->stop == stop || (c->posterior && c->posterior->stop == stop);
}
