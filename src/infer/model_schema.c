/* The schema of a model file: labels, columns and their levels, strata, terms, and how views are cut out of images. */
#include <math.h>

#include "data/schema_learn.h"
#include "infer/model_file.h"

/* Rows of each level; not all files have them. */
static pv_status get_rows(const pv__reader *r, json_t *from, pv_source_column *to) {
    json_t *rows = json_object_get(from, "rows");
    if (!rows)
        return PV_OK;
    if (json_array_size(rows) != (size_t)to->levels)
        return pv__model_damaged(r, "the rows of a column's levels are damaged");
    PV_TRY(pv__alloc(r->ctx, (size_t)to->levels, sizeof *to->rows, &to->rows));
    double all = 0;
    for (size_t k = 0; k < (size_t)to->levels; k++) {
        double value = json_number_value(json_array_get(rows, k));
        if (!(value >= 0))
            return pv__model_damaged(r, "the rows of a column's levels are damaged");
        to->rows[k] = value;
        all += value;
    }
    return isfinite(all) ? PV_OK : pv__model_damaged(r, "the rows of a column's levels are damaged");
}

static pv_status get_column(const pv__reader *r, json_t *from, pv_source_column *to) {
    PV_TRY(pv__model_text(r, from, "name", &to->name));
    to->missing = json_is_true(json_object_get(from, "missing"));
    to->auc = json_number_value(json_object_get(from, "auc"));
    if (!(to->auc >= 0 && to->auc <= 1))
        return pv__model_damaged(r, "what a column says of the labels is damaged");
    json_t *levels = json_object_get(from, "levels");
    if (!levels) {
        to->type = PV_COLUMN_NUMBER;
        to->mean = json_number_value(json_object_get(from, "mean"));
        to->sd = json_number_value(json_object_get(from, "sd"));
        return isfinite(to->mean) && to->sd > 0 && isfinite(to->sd)
                   ? PV_OK
                   : pv__model_damaged(r, "a column's scale is damaged");
    }
    to->type = PV_COLUMN_TEXT;
    size_t count = 0;
    if (json_array_size(levels) > PV__LEVELS_MAX) /* each makes a feature's name of the column's */
        return pv__model_damaged(r, "a column has more levels than a fit allows");
    pv_status status = pv__model_texts(r, levels, &to->level, &count);
    to->levels = (int32_t)count;
    PV_TRY(status);
    return count >= 1 ? get_rows(r, from, to) : pv__model_damaged(r, "a column has no levels");
}

static double number_or(json_t *value, double otherwise) {
    return json_is_number(value) ? json_number_value(value) : otherwise;
}

static pv_status get_image(const pv__reader *r, json_t *from, pv_schema *schema) {
    PV_TRY(pv__alloc(r->ctx, 1, sizeof *schema->image, &schema->image));
    pv_image_encoding *e = schema->image;
    PV_TRY(pv__model_text(r, from, "images", &e->images));
    PV_TRY(pv__model_text(r, from, "votes", &e->votes));
    PV_TRY(pv__model_text(r, from, "spacing", &e->spacing));
    json_int_t layout = json_integer_value(json_object_get(from, "layout"));
    json_int_t views = json_integer_value(json_object_get(from, "views"));
    json_int_t size = json_integer_value(json_object_get(from, "size"));
    e->binarise = json_number_value(json_object_get(from, "binarise"));
    e->votes_min = json_integer_value(json_object_get(from, "votes_min"));
    e->low = number_or(json_object_get(from, "low"), -HUGE_VAL);
    e->high = number_or(json_object_get(from, "high"), HUGE_VAL);
    e->mean = number_or(json_object_get(from, "mean"), NAN);
    e->sd = number_or(json_object_get(from, "sd"), NAN);
    e->field = number_or(json_object_get(from, "field"), NAN);
    e->rotate = number_or(json_object_get(from, "rotate"), NAN);
    e->shift = number_or(json_object_get(from, "shift"), NAN);
    e->scale = number_or(json_object_get(from, "scale"), NAN);
    e->flip = json_is_true(json_object_get(from, "flip"));
    bool good = layout >= PV_IMAGES_PLANES && layout <= PV_IMAGES_VIEWS && views >= 1 && views <= 255 && size >= 1 &&
                size <= 512 && e->low < e->high && isfinite(e->mean) && e->sd > 0 && isfinite(e->sd) && e->field > 0 &&
                isfinite(e->field) && e->rotate >= 0 && e->rotate <= 180 && isfinite(e->shift) && isfinite(e->scale);
    if (!good)
        return pv__model_damaged(r, "how it cuts views out of images is damaged");
    e->layout = (pv_image_layout)layout;
    e->views = (size_t)views;
    e->size = (size_t)size;
    schema->features = (int)(views * size * size);
    return PV_OK;
}

static pv_status get_labels(const pv__reader *r, pv_schema *schema) {
    json_t *list = json_object_get(r->root, "labels");
    size_t classes = 0;
    if (json_array_size(list) > PV__LABELS_MAX)
        return pv__model_damaged(r, "it has more labels than a fit allows");
    pv_status status = pv__model_texts(r, list, &schema->labels, &classes);
    schema->classes = (int)classes;
    PV_TRY(status);
    return classes >= 2 ? PV_OK : pv__model_damaged(r, "it has fewer than two labels");
}

static pv_status get_strata(const pv__reader *r, json_t *from, pv_schema *schema) {
    json_t *columns = json_object_get(from, "columns"), *keys = json_object_get(from, "keys");
    pv_strata *strata;
    PV_TRY(pv__alloc(r->ctx, 1, sizeof *strata, &strata));
    schema->strata = strata;
    if (!json_is_array(columns) || !json_is_array(keys) || json_array_size(keys) > r->payload_size)
        return pv__model_damaged(r, "its strata are damaged");
    PV_TRY(pv__alloc(r->ctx, json_array_size(columns), sizeof *strata->column, &strata->column));
    strata->columns = json_array_size(columns);
    for (size_t i = 0; i < strata->columns; i++) {
        PV_TRY(get_column(r, json_array_get(columns, i), &strata->column[i]));
        if (strata->column[i].type != PV_COLUMN_TEXT)
            return pv__model_damaged(r, "its strata are damaged");
    }
    size_t count = json_array_size(keys);
    PV_TRY(pv__alloc(r->ctx, count, sizeof *strata->key, &strata->key));
    for (size_t s = 0; s < count; s++)
        strata->key[s] = json_integer_value(json_array_get(keys, s));
    strata->count = (int32_t)count;
    bool sound;
    PV_TRY(pv__strata_name(r->ctx, strata, &sound));
    return sound ? PV_OK : pv__model_damaged(r, "its strata are damaged");
}

pv_status pv__model_schema(const pv__reader *r, pv_schema *schema) {
    PV_TRY(get_labels(r, schema));
    PV_TRY(pv__model_text(r, r->root, "target", &schema->target));
    PV_TRY(pv__model_text(r, r->root, "weights", &schema->weights));
    schema->votes = json_is_true(json_object_get(r->root, "votes"));
    schema->sampling = json_is_true(json_object_get(r->root, "sampling"));
    if (json_object_get(r->root, "strata"))
        PV_TRY(get_strata(r, json_object_get(r->root, "strata"), schema));
    const char *wrong;
    PV_TRY(pv__written_from_json(r->ctx, json_object_get(r->root, "written"), &schema->written, &wrong));
    if (wrong)
        return pv__model_damaged(r, wrong);
    json_t *list = json_object_get(r->root, "columns");
    if (!json_is_array(list))
        return pv__model_damaged(r, "its columns are missing");
    const char *missing = json_string_value(json_object_get(r->root, "missing"));
    pv_missing rule = PV_MISSING_REFUSE;
    if (missing && (!pv_missing_find(missing, &rule) || rule == PV_MISSING_MODEL))
        return pv__model_damaged(r, "its rule for missing cells is not known");
    schema->missing = (int)rule;
    if (json_object_get(r->root, "image"))
        return get_image(r, json_object_get(r->root, "image"), schema);
    PV_TRY(pv__alloc(r->ctx, json_array_size(list), sizeof *schema->source, &schema->source));
    schema->sources = json_array_size(list);
    for (size_t i = 0; i < schema->sources; i++)
        PV_TRY(get_column(r, json_array_get(list, i), &schema->source[i]));
    PV_TRY(pv__terms_from_json(r->ctx, json_object_get(r->root, "terms"), schema, &wrong));
    if (wrong)
        return pv__model_damaged(r, wrong);
    schema->offset = json_is_true(json_object_get(r->root, "offset"));
    const pv_source_column *first = schema->source;
    if (schema->offset &&
        !(pv__schema_plain(schema) > 0 && first->type == PV_COLUMN_NUMBER && first->sd == 1 && !first->missing))
        return pv__model_damaged(r, "its offset is damaged");
    return pv__schema_name_features(r->ctx, schema);
}
