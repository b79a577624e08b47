/* The table that a command learns from: its options and how it is read, as fit, cv and sweep have them. */
#include "prevail/prevail.h"
#include "tool/console.h"
#include "tool/data.h"
#include "tool/training.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

const cli_argument cli_training_arguments[] = {
    {"DATA", "A CSV file with a header row; - reads standard input; builtin:esoph and builtin:contingency are "
             "embedded. For images an NPZ, NPY or IDX file, whose arrays of one number or text a row are the columns."},
    {NULL, NULL}};

const cli_hint cli_training_hints[] = {
    {"class-weight", "prevalence", NULL},
    {"class-weights", "prevalence", NULL},
    {"prior-correction", "prevalence", NULL},
    {"label", "target", NULL},
    {"outcome", "target", NULL},
    {"response", "target", NULL},
    {"y", "target", NULL},
    {"formula", "features", NULL},
    {"matched", NULL,
     "sets matched one to one have no option of their own yet: keep what was matched on among the features, and "
     "--group COL keeps a set together in cv"},
    {"strata", NULL,
     "strata that rows were sampled by are features like others: keep their columns in; --group COL keeps rows "
     "together in cv"},
    {"drop", "exclude", NULL},
    {"ignore", "exclude", NULL},
    {"factors", "categorical", NULL},
    {"random-state", "seed", NULL},
    {NULL, NULL, NULL}};

const pv_option cli_sample_table[] = {{"population-sample", PV_OPTION_TEXT, offsetof(cli_sample, path), NULL, 0, 0,
                                       NULL, "FILE",
                                       "A CSV file with rows of the true population, their labels unknown: for ig, in "
                                       "the place of --prevalence or beside "
                                       "it. The model's p(y|w) is then what it predicts for them on average."},
                                      CLI_OPTION_END};

/* ---- groups ------------------------------------------------------------------------------------------------------ */

/* The group's column is none of the features, and read as text: it joins the excluded ones. */
static char *exclude_group(const pv_roles *roles, const char *group) {
    size_t size = 2 * strlen(group) + 4 + (roles->exclude ? strlen(roles->exclude) : 0);
    char *list = cli_alloc(size, 1), *end = list;
    if (roles->exclude && *roles->exclude)
        end += sprintf(list, "%s,", roles->exclude);
    *end++ = '"';
    for (const char *c = group; *c; c++) {
        if (*c == '"')
            *end++ = '"';
        *end++ = *c;
    }
    *end = '"';
    return list;
}

static int check_group(cli_call *call, const cli_roles *options) {
    const char *group = options->group;
    if (!*group)
        return cli_error(call, PV_ERR_USAGE, NULL, "--group needs the name of a column");
    if (strcmp(group, options->roles.target) == 0)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--group %s: this is the target; name the column of what stays together", group);
    if (options->roles.weights && strcmp(group, options->roles.weights) == 0)
        return cli_error(call, PV_ERR_USAGE, NULL,
                         "--group %s: these are the weights; name the column of what stays together", group);
    return CLI_OK;
}

static int read_groups(cli_call *call, const pv_column *column, cli_training *training) {
    training->group = cli_alloc(training->data->rows, sizeof *training->group);
    for (size_t i = 0; i < training->data->rows; i++) {
        size_t row = training->data->table_row[i];
        training->group[i] = column->code[row];
        if (column->code[row] < 0)
            return cli_error(call, PV_ERR_INPUT, training->table->source,
                             "line %zu: no group in column '%s'; every row needs one",
                             pv_table_line(training->table, row), column->name);
    }
    return CLI_OK;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* A model for columns: nothing that is for images, and no file that is nothing else. */
static int check_table(cli_call *call, const char *path, const cli_roles *options, const char *model) {
    int code = cli_check_idle(call, pv_image_option_table, "images",
                              "choose a network for them with --model convnet or inception");
    if (code == CLI_OK && !options->roles.target && pv_archive_recognise(path))
        code = cli_error(call, PV_ERR_USAGE, path,
                         "is a file of arrays, and --model %s takes columns: for images choose --model convnet or "
                         "inception, for columns name the one to predict with --target",
                         model);
    return code;
}

/* Options that say nothing to a network for images, or to one that learns votes. */
static int check_idle_for_images(cli_call *call, const cli_roles *options) {
    static const char *const tables[] = {"features", "exclude", "reference", "categorical", "collinear", "id"};
    static const char *const labels[] = {"weights", "positive"}, *const votes[] = {"votes-min", "binarise"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        if (cli_given(call, tables[i]))
            return cli_error(call, PV_ERR_USAGE, NULL,
                             "--%s is for tables; the images are all that is learned from: "
                             "leave it out",
                             tables[i]);
    for (size_t i = 0; i < 2; i++) {
        if (options->image.votes && cli_given(call, labels[i]))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s does not go with --votes%s", labels[i],
                             i ? ": state the prevalence by label, as in --prevalence below=0.9,above=0.1"
                               : ", whose rows count alike: leave it out");
        if (!options->image.votes && cli_given(call, votes[i]))
            return cli_error(call, PV_ERR_USAGE, NULL, "--%s is of votes: name their array with --votes", votes[i]);
    }
    return CLI_OK;
}

/* The target where nobody said. */
static int find_target(cli_call *call, const char *path, cli_roles *options) {
    static const char *const votes[] = {"votes", "frequencies"};
    pv_archive *archive;
    pv_status status = pv_archive_open(call->ctx, path, &archive);
    if (status != PV_OK)
        return cli_fail(call, status);
    size_t count = pv_archive_count(archive);
    if (pv_archive_find(archive, "labels") < count)
        options->roles.target = "labels";
    for (size_t i = 0; i < 2 && !options->roles.target && !options->image.votes; i++)
        if (pv_archive_find(archive, votes[i]) < count)
            options->image.votes = votes[i];
    pv_archive_free(call->ctx, archive);
    if (options->roles.target || options->image.votes)
        return CLI_OK;
    return cli_error(call, PV_ERR_USAGE, path,
                     "has no array 'labels', 'votes' or 'frequencies': name the labels with --target, an array in it "
                     "or a file of one, or readers' votes with --votes");
}

/* A model for images: how they are used, and what the target is. */
static int prepare_images(cli_call *call, const char *path, cli_roles *options, const char *model) {
    pv_roles *roles = &options->roles;
    pv_status status = pv_model_views(call->ctx, model, &options->image.views, &options->image.size);
    if (status != PV_OK)
        return cli_fail(call, status);
    if (options->image.views == 0)
        return check_table(call, path, options, model);
    struct stat about;
    bool recognised = pv_archive_recognise(path);
    if (!recognised && access(path, R_OK) != 0 && strcmp(path, "-") != 0)
        return cli_error(call, PV_ERR_PATH, path, "cannot be read: %s; check the name", strerror(errno));
    if (!recognised && stat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size == 0)
        return cli_error(call, PV_ERR_FORMAT, path, "is empty; copy it again");
    if (!recognised)
        return cli_error(call, PV_ERR_USAGE, path,
                         "is not a file of arrays, and --model %s takes images: give an NPZ, NPY or IDX file%s", model,
                         cli_value(call, "model") ? "; for a table choose --model linear or mlp" : "");
    roles->image = &options->image;
    if (options->image.votes && roles->target)
        return cli_error(call, PV_ERR_USAGE, NULL, "give --target or --votes, not both");
    int code = options->image.votes || roles->target ? CLI_OK : find_target(call, path, options);
    if (code == CLI_OK)
        code = check_idle_for_images(call, options);
    if (options->image.votes)
        roles->target = options->image.votes;
    return code;
}

int cli_training_prepare(cli_call *call, cli_roles *options, const char *prevalence, const char *model,
                         cli_training *training) {
    return cli_training_prepare_file(call, call->argument[0], options, prevalence, model, training);
}

int cli_training_prepare_file(cli_call *call, const char *path, cli_roles *options, const char *prevalence,
                              const char *model, cli_training *training) {
    pv_roles *roles = &options->roles;
    int code = prepare_images(call, path, options, model);
    if (code != CLI_OK)
        return code;
    if (!roles->target)
        return cli_error(call, PV_ERR_USAGE, NULL, "--target is missing: name the column to predict");
    if (!roles->positive && prevalence && !strchr(prevalence, ',')) {
        /* --prevalence case=0.01 names the label of interest as well. */
        const char *equals = strrchr(prevalence, '=');
        if (equals && equals > prevalence) {
            training->positive = cli_copy(prevalence);
            training->positive[equals - prevalence] = '\0';
            roles->positive = training->positive;
        }
    }
    if (!options->group)
        return CLI_OK;
    roles->exclude = training->excluded = exclude_group(roles, options->group);
    return check_group(call, options);
}

int cli_training_read(cli_call *call, const char *path, const cli_roles *options, cli_training *training) {
    int code = cli_read_for_fit(call, path, &options->roles, &training->table);
    return code == CLI_OK ? cli_training_learn(call, options, training) : code;
}

int cli_training_learn(cli_call *call, const cli_roles *options, cli_training *training) {
    size_t at = 0;
    pv_status status =
        options->group ? pv_table_find(call->ctx, training->table, "--group", options->group, &at) : PV_OK;
    if (status == PV_OK)
        status = pv_dataset_learn(call->ctx, training->table, &options->roles, &training->encoding, &training->labels,
                                  &training->data);
    if (status != PV_OK)
        return cli_fail(call, status);
    return options->group ? read_groups(call, &training->table->column[at], training) : CLI_OK;
}

int cli_read_sample(cli_call *call, const cli_sample *from, const cli_roles *options, const cli_training *training,
                    pv_fit_input *input, pv_dataset **sample) {
    *sample = NULL;
    if (!from->path)
        return CLI_OK;
    pv_roles roles = {.drop_missing = options->roles.drop_missing};
    pv_table *table = NULL;
    int code = cli_read_for_model(call, training->encoding, from->path, &roles, &table);
    if (code == CLI_OK) {
        pv_status status = pv_dataset_apply(call->ctx, table, &roles, training->encoding, training->labels,
                                            training->data->classes, sample);
        code = status == PV_OK ? CLI_OK : cli_fail(call, status);
        if (code == CLI_OK)
            cli_note_dropped(call, from->path, *sample);
        input->sample = *sample;
        input->sample_source = from->path;
        input->sample_hash = table->hash;
        if (code == CLI_OK && table->hash == input->data_hash)
            cli_warn(call,
                     "the population sample is the training table itself, whose people were chosen by their labels");
    }
    pv_table_free(call->ctx, table);
    return code;
}

void cli_warn_of_strength(cli_call *call, const pv_fit_options *fit) {
    if (!pv_loss_has_marginal((pv_loss)fit->loss) && cli_given(call, "prevalence-n"))
        cli_warn(call, "--prevalence-n has no effect with --loss %s", pv_loss_name((pv_loss)fit->loss));
}

pv_fit_input cli_training_input(const cli_call *call, const cli_roles *options, const cli_training *training) {
    return (pv_fit_input){.data = training->data,
                          .encoding = training->encoding,
                          .labels = training->labels,
                          .target = options->roles.target,
                          .weights = options->roles.weights,
                          .source = training->table->source,
                          .data_hash = training->table->hash,
                          .command = call->line,
                          .group = training->group};
}

void cli_training_clear(cli_call *call, cli_training *training) {
    if (training->labels && training->data)
        pv_string_list_free(call->ctx, training->labels, (size_t)training->data->classes);
    if (training->data)
        pv_dataset_free(call->ctx, training->data);
    if (training->encoding)
        pv_encoding_free(call->ctx, training->encoding);
    pv_table_free(call->ctx, training->table);
    free(training->group);
    free(training->excluded);
    free(training->positive);
}

bool cli_was_stopped(const pv_classifier *c, pv_stop stop) {
    return c->stop == stop || (c->posterior && c->posterior->stop == stop);
}
