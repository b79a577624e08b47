/* From a file and settings to a classifier: what prevail fit does, in one call. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "infer/infer.h"
#include "plan/plan.h"

/* ---- roles --------------------------------------------------------------------------------------------------------
 */

/* The default outcome of a file of images. */
static pv_status find_target(pv_ctx *ctx, const char *path, pv_roles *roles, pv_image_options *image) {
    static const char *const votes[] = {"votes", "frequencies"};
    pv_archive *archive;
    PV_TRY(pv_archive_open(ctx, path, &archive));
    size_t count = pv_archive_count(archive);
    if (pv_archive_find(archive, "labels") < count)
        roles->target = "labels";
    for (size_t i = 0; i < 2 && !roles->target && !image->votes; i++)
        if (pv_archive_find(archive, votes[i]) < count)
            image->votes = votes[i];
    pv_archive_free(ctx, archive);
    if (roles->target || image->votes)
        return PV_OK;
    return pv__fail_at(ctx, PV_ERR_USAGE, path, 0, 0,
                       "has no array 'labels', 'votes' or 'frequencies':\nname the labels with `outcome`, an array in "
                       "it or a file of one, or readers' votes with `votes`");
}

static pv_status refuse_table(pv_ctx *ctx, const char *path, const char *model) {
    return pv__fail_at(ctx, PV_ERR_USAGE, path, 0, 0,
                       "is not a file of arrays, and `model=%s` takes images:\ngive an NPZ, NPY or IDX file; tables "
                       "are for linear and mlp",
                       model);
}

static pv_status check_arrays(pv_ctx *ctx, const char *path, const char *model) {
    struct stat about;
    if (pv_archive_recognise(path))
        return PV_OK;
    if (access(path, R_OK) != 0 && strcmp(path, "-") != 0)
        return pv__fail_at(ctx, PV_ERR_PATH, path, 0, 0, "cannot be read: %s;\ncheck the name", strerror(errno));
    if (stat(path, &about) == 0 && S_ISREG(about.st_mode) && about.st_size == 0)
        return pv__fail_at(ctx, PV_ERR_FORMAT, path, 0, 0, "is empty;\ncopy it again");
    return refuse_table(ctx, path, model);
}

static pv_status complete_images(pv_ctx *ctx, const char *path, const char *model, pv_roles *roles,
                                 pv_image_options *image) {
    PV_TRY(check_arrays(ctx, path, model));
    if (image->votes && roles->target)
        return pv__fail(ctx, PV_ERR_USAGE, "give `outcome` or `votes`, not both");
    if (!image->votes && !roles->target)
        PV_TRY(find_target(ctx, path, roles, image));
    if (image->votes)
        roles->target = image->votes;
    roles->image = image;
    return PV_OK;
}

/* Settings of the columns that follow from the fit. Without a prior, collinear columns have no unique effects. */
static pv_status follow_fit(pv_ctx *ctx, const pv_fit_options *fit, pv_roles *roles) {
    roles->smooth = pv__model_is_smooth(fit->model) ? HUGE_VAL : 0;
    if (pv__mixes(fit))
        PV_TRY(pv__candidates_smooth(ctx, fit->candidates, &roles->smooth));
    bool prior = fit->infer != PV_INFER_ML && strcmp(fit->prior, "none") != 0;
    if (!prior && roles->collinear == PV_COLLINEAR_WARN)
        roles->collinear = PV_COLLINEAR_REFUSE;
    return PV_OK;
}

pv_status pv_roles_complete(pv_ctx *ctx, const char *path, const pv_fit_options *fit, pv_roles *roles,
                            pv_image_options *image) {
    roles->prevalence = fit->prevalence;
    PV_TRY(follow_fit(ctx, fit, roles));
    PV_TRY(pv_model_views(ctx, fit->model, &image->views, &image->size));
    if (image->views == 0)
        roles->votes = image->votes;
    if (image->views > 0)
        PV_TRY(complete_images(ctx, path, fit->model, roles, image));
    else if (!roles->target && !roles->votes && pv_archive_recognise(path))
        return pv__fail_at(ctx, PV_ERR_USAGE, path, 0, 0,
                           "is a file of arrays, and `model=%s` takes columns:\nfor images choose `model=convnet` or "
                           "inception, for columns name the one to predict with `outcome`",
                           fit->model);
    return pv_roles_check(ctx, roles);
}

/* ---- the whole fit --------------------------------------------------------------------------------------------------
 */

static pv_status check_settings(pv_ctx *ctx, const pv_settings *settings, bool sample) {
    const pv_fit_options *fit = pv_fit_options_of(settings);
    if (fit && pv_roles_of(settings) && pv_image_options_of(settings) && pv_csv_options_of(settings))
        return pv_fit_settings_check(ctx, settings, sample || fit->sample);
    return pv__fail(ctx, PV_ERR_USAGE, "these are not the settings of a fit:\ncreate them with pv_fit_settings_new");
}

/* Learns from a table that was read with these roles. sample: rows of the population; NULL: none, or that in fit. */
static pv_status learn(pv_ctx *ctx, const pv_table *table, const pv_table *sample, const pv_roles *roles,
                       const pv_fit_options *fit, pv_classifier **classifier) {
    pv_schema *schema;
    pv_dataset *data, *population = NULL;
    pv_fit_options options = *fit;
    PV_TRY(pv_schema_learn(ctx, table, roles, &schema, &data));
    pv_status status;
    if (sample) {
        PV_GOTO(done, pv_sample_apply(ctx, schema, data, sample, roles, &population));
        options.sample = population;
    }
    status = pv_fit(ctx, schema, data, &options, classifier);
done:
    pv_dataset_free(ctx, population);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    return status;
}

pv_status pv_learn(pv_ctx *ctx, const char *path, const pv_settings *settings, pv_classifier **classifier) {
    *classifier = NULL;
    PV_TRY(check_settings(ctx, settings, false));
    pv_roles roles = *pv_roles_of(settings);
    pv_image_options image = *pv_image_options_of(settings);
    pv_csv_options reading = *pv_csv_options_of(settings);
    reading.roles = &roles;
    pv_table *table;
    PV_TRY(pv_roles_complete(ctx, path, pv_fit_options_of(settings), &roles, &image));
    PV_TRY(pv_table_read(ctx, path, &reading, &table));
    pv_fit_options fit = *pv_fit_options_of(settings);
    fit.csv = fit.csv ? fit.csv : pv_csv_options_of(settings);
    pv_status status = learn(ctx, table, NULL, &roles, &fit, classifier);
    pv_table_free(ctx, table);
    return status;
}

pv_status pv_learn_sampled(pv_ctx *ctx, const pv_table *table, const pv_table *sample, const pv_settings *settings,
                           pv_classifier **classifier) {
    *classifier = NULL;
    PV_TRY(check_settings(ctx, settings, sample != NULL));
    const pv_fit_options *fit = pv_fit_options_of(settings);
    pv_roles roles = *pv_roles_of(settings);
    pv_image_options image = *pv_image_options_of(settings);
    roles.prevalence = fit->prevalence;
    PV_TRY(follow_fit(ctx, fit, &roles));
    PV_TRY(pv_model_views(ctx, fit->model, &image.views, &image.size));
    if (image.views > 0 && !table->arrays)
        return refuse_table(ctx, table->source, fit->model);
    if (image.views > 0)
        roles.image = &image;
    else
        roles.votes = image.votes;
    if (image.views > 0 && image.votes && !roles.target)
        roles.target = image.votes;
    PV_TRY(pv_roles_check(ctx, &roles));
    return learn(ctx, table, sample, &roles, fit, classifier);
}

pv_status pv_learn_table(pv_ctx *ctx, const pv_table *table, const pv_settings *settings, pv_classifier **classifier) {
    return pv_learn_sampled(ctx, table, NULL, settings, classifier);
}

pv_status pv__training_new(pv_ctx *ctx, const pv_table *table, const pv_settings *settings, pv_roles *roles,
                           pv_schema **schema, pv_dataset **data) {
    int64_t views, size;
    *schema = NULL;
    *data = NULL;
    PV_TRY(check_settings(ctx, settings, false));
    const pv_fit_options *fit = pv_fit_options_of(settings);
    *roles = *pv_roles_of(settings);
    roles->prevalence = fit->prevalence;
    PV_TRY(follow_fit(ctx, fit, roles));
    PV_TRY(pv_model_views(ctx, fit->model, &views, &size));
    if (views > 0)
        return refuse_table(ctx, table->source, fit->model);
    roles->votes = pv_image_options_of(settings)->votes;
    PV_TRY(pv_roles_check(ctx, roles));
    return pv_schema_learn(ctx, table, roles, schema, data);
}
