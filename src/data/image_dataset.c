/* Data sets of images: learning their encoding, and providing their rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/archive.h"
#include "data/schema_learn.h"

#define AT(field) offsetof(pv_image_options, field)

const pv_option pv_image_option_table[] = {
    {"images", PV_OPTION_TEXT, AT(images), NULL, 0, 0, NULL, "ARRAY",
     "The array of images [N][H][W], or volumes [N][D][H][W]. Default: images, or the only array."},
    {"votes", PV_OPTION_TEXT, AT(votes), NULL, 0, 0, NULL, "ARRAY|COL,...",
     "Soft labels instead of an outcome. Images: readers' grades, an array [N][readers] of whole numbers from 1 (0: no "
     "grade), whose frequencies are learned; or an array [N][grades] of frequencies that add up to 1. Tables: a column "
     "of votes (counts or proportions) for each label, in the order of the labels, or as LABEL=COL,...; a row counts "
     "towards each label by its proportion of votes."},
    {"votes-min", PV_OPTION_INT, AT(votes_min), "1", 1, 1e6, NULL, NULL,
     "Images with fewer votes count as missing: an error, or dropped with `missing=drop`."},
    {"binarise", PV_OPTION_REAL, AT(binarise), "0", 0, 1e6, NULL, "GRADE",
     "Learn two labels, below and above this grade, by the mean of each image's votes; images with exactly this mean "
     "are left out. 0: the grades are the labels. (eval `binarise` is different: it evaluates a model of grades, each "
     "row by its proportions of votes on either side.)"},
    {"spacing", PV_OPTION_TEXT, AT(spacing), NULL, 0, 0, NULL, "ARRAY",
     "Array with the size of a pixel or voxel: [N], [N][2] (y, x) or [N][3] (z, y, x). Default: spacing, if present."},
    {"ready-views", PV_OPTION_FLAG, AT(ready), NULL, 0, 0, NULL, NULL,
     "Arrays of four dimensions are views [N][V][H][W] ready for the network, not volumes."},
    {"window", PV_OPTION_TEXT, AT(window), NULL, 0, 0, NULL, "LOW,HIGH",
     "Intensities are clipped to this range, such as -1000,400 for lungs in Hounsfield units. Default: no clipping."},
    {"field", PV_OPTION_REAL, AT(field), "0", 0, 1e6, NULL, NULL,
     "Side of a view in pixels, or in the unit of the spacing. 0: the largest that stays inside the image."},
    {"rotate", PV_OPTION_REAL, AT(rotate), "180", 0, 180, NULL, "DEGREES",
     "Rotate training images by up to this angle; volumes are cut at any orientation unless it is 0."},
    {"no-flip", PV_OPTION_FLAG, AT(no_flip), NULL, 0, 0, NULL, NULL, "Do not mirror images in training."},
    {"shift", PV_OPTION_REAL, AT(shift), "0.05", 0, 0.5, NULL, NULL,
     "Shift training views by up to this fraction of the field."},
    {"scale", PV_OPTION_REAL, AT(scale), "0.1", 0, 0.5, NULL, NULL, "Scale training views by up to this fraction."},
    {0}};

const pv_image_options *pv_image_options_of(const pv_settings *settings) {
    return pv_settings_values(settings, pv_image_option_table);
}

void pv__image_encoding_free(pv_ctx *ctx, pv_image_encoding *image) {
    if (!image)
        return;
    pv__free(ctx, image->images);
    pv__free(ctx, image->votes);
    pv__free(ctx, image->spacing);
    pv__free(ctx, image);
}

pv_status pv__image_encoding_copy(pv_ctx *ctx, const pv_image_encoding *from, pv_image_encoding **to) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **to, to));
    **to = *from;
    (*to)->images = (*to)->votes = (*to)->spacing = NULL;
    PV_TRY(pv__strdup(ctx, from->images, &(*to)->images));
    PV_TRY(pv__strdup(ctx, from->votes, &(*to)->votes));
    return pv__strdup(ctx, from->spacing, &(*to)->spacing);
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

static pv_status parse_window(pv_ctx *ctx, const char *text, pv_image_encoding *e) {
    e->low = -HUGE_VAL;
    e->high = HUGE_VAL;
    if (!text)
        return PV_OK;
    char low[64];
    const char *comma = strchr(text, ',');
    size_t length = comma ? (size_t)(comma - text) : 0;
    bool good = comma && length < sizeof low;
    if (good) {
        memcpy(low, text, length);
        low[length] = '\0';
        good = pv__parse_real(low, &e->low) && pv__parse_real(comma + 1, &e->high) && e->low < e->high;
    }
    return good ? PV_OK
                : pv__fail(ctx, PV_ERR_USAGE, "`window=%s`: two numbers, the lower first, as in -1000,400", text);
}

/* The largest square field that stays inside every image under all rotations, scalings and shifts of the
 * augmentation. */
static double largest_field(const pv_image_encoding *e, const pv_images *images) {
    bool volume = images->layout == PV_IMAGES_VOLUMES;
    double field = HUGE_VAL;
    for (size_t n = 0; n < images->rows; n++) {
        const double *spacing = images->spacing ? images->spacing + 3 * n : (const double[]){1, 1, 1};
        double side = fmin((double)images->height * spacing[1], (double)images->width * spacing[2]);
        field = fmin(field, volume ? fmin(side, (double)images->planes * spacing[0]) : side);
    }
    return field / ((e->rotate > 0 ? sqrt(2) : 1) * (1 + e->scale) + 2 * e->shift);
}

/* Mean and standard deviation of all pixels, clipped to the window, image by image. */
static pv_status learn_scale(pv_ctx *ctx, const pv_dataset *data, pv_image_encoding *e) {
    const pv_images *images = data->images;
    size_t count = images->planes * images->height * images->width;
    double *sums, total = 0, square = 0;
    float *pixels;
    PV_TRY(pv__alloc(ctx, data->rows, 2 * sizeof *sums, &sums));
    pv_status status = pv__alloc(ctx, count, sizeof *pixels, &pixels);
    for (size_t i = 0; i < data->rows && status == PV_OK; i++) {
        double mean = 0, spread = 0;
        pv_images_pixels(images, data->image_row[i], pixels);
        for (size_t j = 0; j < count; j++) {
            pixels[j] = (float)fmin(fmax(pixels[j], e->low), e->high);
            mean += (double)pixels[j];
        }
        mean /= (double)count;
        for (size_t j = 0; j < count; j++)
            spread += ((double)pixels[j] - mean) * ((double)pixels[j] - mean);
        sums[2 * i] = mean;
        sums[2 * i + 1] = spread / (double)count;
        total += mean;
    }
    e->mean = total / (double)data->rows;
    for (size_t i = 0; i < data->rows && status == PV_OK; i++)
        square += sums[2 * i + 1] + (sums[2 * i] - e->mean) * (sums[2 * i] - e->mean);
    e->sd = sqrt(square / (double)data->rows);
    pv__free(ctx, sums);
    if (status == PV_OK)
        pv__free(ctx, pixels);
    if (status == PV_OK && !(e->sd > 0 && isfinite(e->sd)))
        status = pv__fail_at(
            ctx, PV_ERR_INPUT, images->source, 0, 0, "all pixels of array '%s' are the same%s", images->pixels.name,
            isfinite(e->low) ? " inside the `window`;\nwiden it" : ";\ncheck that these are the images");
    return status;
}

/* Images stored as views must have the views that the network takes. */
static pv_status check_views(pv_ctx *ctx, const pv_image_encoding *e, const pv_images *images) {
    if (images->layout == PV_IMAGES_VIEWS &&
        (images->planes != e->views || images->height != e->size || images->width != e->size))
        return pv__fail_at(ctx, PV_ERR_INPUT, images->source, 0, 0,
                           "array '%s' has %zu views of %zu x %zu, the model takes %zu of %zu x %zu:\ngive its sizes "
                           "with `model`, as in convnet:views=3,size=28",
                           images->pixels.name, images->planes, images->height, images->width, e->views, e->size,
                           e->size);
    if (images->layout != PV_IMAGES_VIEWS && (images->height < 2 || images->width < 2))
        return pv__fail_at(ctx, PV_ERR_INPUT, images->source, 0, 0,
                           "array '%s': images of %zu x %zu are too small; at least 2 x 2 pixels are needed",
                           images->pixels.name, images->height, images->width);
    return PV_OK;
}

static pv_status new_encoding(pv_ctx *ctx, const pv_image_options *o, const pv_images *images, pv_schema *schema) {
    PV_TRY(pv__alloc(ctx, 1, sizeof *schema->image, &schema->image));
    pv_image_encoding *e = schema->image;
    *e = (pv_image_encoding){.layout = images->layout,
                             .binarise = o->binarise,
                             .votes_min = o->votes_min,
                             .views = (size_t)o->views,
                             .size = (size_t)o->size,
                             .rotate = o->rotate,
                             .shift = o->shift,
                             .scale = o->scale,
                             .flip = !o->no_flip};
    PV_TRY(pv__strdup(ctx, o->images ? o->images : "", &e->images));
    PV_TRY(pv__strdup(ctx, o->votes ? o->votes : "", &e->votes));
    PV_TRY(pv__strdup(ctx, !images->spacing ? "" : o->spacing ? o->spacing : "spacing", &e->spacing));
    PV_TRY(parse_window(ctx, o->window, e));
    PV_TRY(check_views(ctx, e, images));
    e->field = o->field > 0 ? o->field : largest_field(e, images);
    schema->features = (int)(e->views * e->size * e->size);
    return PV_OK;
}

/* Fills the rows of a data set whose outcome is the images' votes. */
static pv_status take_votes(pv_ctx *ctx, pv_images *images, pv_dataset *data) {
    size_t n = images->rows, k = (size_t)images->classes;
    data->rows = n;
    data->dropped = images->dropped;
    data->classes = images->classes;
    PV_TRY(pv__alloc(ctx, n, sizeof *data->table_row, &data->table_row));
    memcpy(data->table_row, images->index, n * sizeof *data->table_row);
    PV_TRY(pv__alloc(ctx, n, sizeof *data->label, &data->label));
    if (images->label) {
        memcpy(data->label, images->label, n * sizeof *data->label);
        return PV_OK;
    }
    PV_TRY(pv__alloc(ctx, n, k * sizeof *data->frequency, &data->frequency));
    memcpy(data->frequency, images->frequency, n * k * sizeof *data->frequency);
    for (size_t i = 0; i < n * k; i++) {
        const double *share = data->frequency + i / k * k;
        if (share[i % k] > share[data->label[i / k]])
            data->label[i / k] = (int32_t)(i % k);
    }
    return PV_OK;
}

/* The first row in the file with a vote of this grade, from 0; SIZE_MAX if there is none. */
static size_t first_voted(const pv_images *images, size_t grade) {
    size_t i = 0, k = (size_t)images->classes;
    while (i < images->rows && !(images->frequency[i * k + grade] > 0))
        i++;
    return i < images->rows ? images->index[i] : SIZE_MAX;
}

/* Rejects a largest grade that is separated by a gap from the others: it is more likely a typing error than a grade. */
static pv_status check_grades(pv_ctx *ctx, const pv_images *images, const char *votes) {
    for (size_t grade = 0; images->frequency && grade < (size_t)images->classes; grade++)
        if (first_voted(images, grade) == SIZE_MAX)
            return pv__fail_at(ctx, PV_ERR_INPUT, images->source, 0, 0,
                               "array '%s' has a vote of %d for image [%zu], but no vote of %zu; grades are 1 to K, "
                               "each with at least one vote",
                               votes, images->classes, first_voted(images, (size_t)images->classes - 1), grade + 1);
    return PV_OK;
}

/* The image of each row: among the rows with votes, or in the file. */
static pv_status link_rows(pv_ctx *ctx, bool votes, pv_dataset *data) {
    PV_TRY(pv__alloc(ctx, data->rows, sizeof *data->image_row, &data->image_row));
    for (size_t i = 0; i < data->rows; i++)
        data->image_row[i] = votes ? i : data->table_row[i];
    return PV_OK;
}

/* Reads the images of the table's rows, which must come from the same file and have the same number. */
static pv_status read_images(pv_ctx *ctx, const pv_table *table, const pv_image_roles *roles, pv_images **images) {
    PV_TRY(pv_images_of(ctx, table->archive, roles, images));
    size_t rows = (*images)->rows + (*images)->dropped;
    pv_status status = PV_OK;
    if (rows != table->rows)
        status = pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                             "array '%s' has %zu rows, the other arrays %zu;\nsave the same number of each",
                             pv__show((*images)->pixels.name).text, rows, table->rows);
    if (status != PV_OK) {
        pv_images_free(ctx, *images);
        *images = NULL;
    }
    return status;
}

pv_status pv__images_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema *schema,
                           pv_dataset *data) {
    const pv_image_options *o = roles->image;
    pv_image_roles wanted = {.images = o->images,
                             .votes = o->votes,
                             .spacing = o->spacing,
                             .group = "",
                             .views = o->ready,
                             .unlabelled = !o->votes,
                             .drop_missing = roles->missing == PV_MISSING_DROP,
                             .votes_min = o->votes_min,
                             .binarise = o->binarise};
    PV_TRY(read_images(ctx, table, &wanted, &data->images));
    if (o->votes) {
        PV_TRY(check_grades(ctx, data->images, o->votes));
        PV_TRY(take_votes(ctx, data->images, data));
        schema->labels = data->images->labels;
        schema->classes = data->images->classes;
        data->images->labels = NULL;
        data->images->classes = 0;
    } else {
        PV_TRY(pv__labels_learn(ctx, table, roles, schema, data));
    }
    PV_TRY(link_rows(ctx, o->votes != NULL, data));
    PV_TRY(new_encoding(ctx, o, data->images, schema));
    PV_TRY(learn_scale(ctx, data, schema->image));
    data->features = schema->features;
    data->image = schema->image;
    return PV_OK;
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

/* Maps the file's classes (grades, or below and above) to those of the model. */
static pv_status match_votes(pv_ctx *ctx, const pv_images *images, const pv_schema *schema, pv_dataset *data) {
    size_t from = (size_t)images->classes, to = (size_t)schema->classes;
    double *wide = NULL;
    data->classes = schema->classes;
    if (!data->frequency)
        return PV_OK; /* below and above, as in training */
    if (from > to)
        return pv__fail_at(ctx, PV_ERR_INPUT, images->source, 0, 0,
                           "array '%s' has a vote of %zu for image [%zu]; the model's grades end at %s:\ncorrect it",
                           schema->image->votes, from, first_voted(images, from - 1), schema->labels[to - 1]);
    PV_TRY(pv__alloc(ctx, data->rows, to * sizeof *wide, &wide));
    for (size_t i = 0; i < data->rows; i++)
        memcpy(wide + i * to, data->frequency + i * from, from * sizeof *wide);
    pv__free(ctx, data->frequency);
    data->frequency = wide;
    return PV_OK;
}

static pv_status check_layout(pv_ctx *ctx, const pv_image_encoding *e, const pv_images *images) {
    static const char *const words[] = {"images [N][H][W]", "volumes [N][D][H][W]", "views [N][V][H][W]"};
    if (images->layout != e->layout)
        return pv__fail_at(ctx, PV_ERR_INPUT, images->source, 0, 0,
                           "array '%s' contains %s; the model was fitted to %s", images->pixels.name,
                           words[images->layout], words[e->layout]);
    return check_views(ctx, e, images);
}

pv_status pv__images_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, const pv_roles *roles,
                           pv_dataset *data) {
    const pv_image_encoding *e = schema->image;
    bool votes = roles->target && *e->votes;
    pv_image_roles wanted = {.images = *e->images ? e->images : NULL,
                             .votes = votes ? e->votes : NULL,
                             .spacing = e->spacing,
                             .group = "",
                             .views = e->layout == PV_IMAGES_VIEWS,
                             .unlabelled = !votes,
                             .drop_missing = roles->missing == PV_MISSING_DROP,
                             .votes_min = e->votes_min,
                             .binarise = votes ? e->binarise : 0,
                             .members_only = true};
    if (!table->arrays)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                           "is a table; the model was fitted to images:\ngive an NPZ, NPY or IDX file");
    PV_TRY(read_images(ctx, table, &wanted, &data->images));
    PV_TRY(check_layout(ctx, e, data->images));
    if (votes) {
        PV_TRY(take_votes(ctx, data->images, data));
        PV_TRY(match_votes(ctx, data->images, schema, data));
    } else {
        PV_TRY(pv__labels_apply(ctx, schema, table, roles, data));
    }
    PV_TRY(link_rows(ctx, votes, data));
    data->features = schema->features;
    data->image = e;
    return PV_OK;
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

const double *pv_dataset_rows(const pv_ctx *ctx, const pv_dataset *data, size_t begin, size_t n, double *buffer) {
    size_t d = (size_t)data->features;
    if (data->columns) {
        const double *own = pv__columns_own(data, begin, n);
        if (own)
            return own;
        pv__columns_rows(data, begin, n, buffer);
        return buffer;
    }
    if (!data->images)
        return data->x + begin * d;
#pragma omp parallel for num_threads(pv__threads_for(ctx, n)) schedule(dynamic)
    for (size_t i = 0; i < n; i++)
        pv_views_cut(data->image, data->images, data->image_row[begin + i], NULL, buffer + i * d);
    return buffer;
}
