/* The schema in a model file: labels, columns and their levels, strata, terms, and how views are cut from images. */
#include <math.h>

#include "data/schema_learn.h"
#include "infer/model_file.h"

/* Rows of each level; some files lack them. */
static pv_status get_rows(const pv__reader *r, const pv_result *from, pv_source_column *to) {
    const pv_result *rows = pv_result_get(from, "rows");
    if (!rows)
        return PV_OK;
    if (pv_result_count(rows) != (size_t)to->levels)
        return pv__model_damaged(r, "the rows of a column's levels are damaged");
    PV_TRY(pv__alloc(r->ctx, (size_t)to->levels, sizeof *to->rows, &to->rows));
    double all = 0;
    for (size_t k = 0; k < (size_t)to->levels; k++) {
        double value = pv__value_number_of(pv_result_child(rows, k));
        if (!(value >= 0))
            return pv__model_damaged(r, "the rows of a column's levels are damaged");
        to->rows[k] = value;
        all += value;
    }
    return isfinite(all) ? PV_OK : pv__model_damaged(r, "the rows of a column's levels are damaged");
}

static pv_status get_column(const pv__reader *r, const pv_result *from, pv_source_column *to) {
    PV_TRY(pv__model_text(r, from, "name", &to->name));
    to->missing = pv__value_is_true(pv_result_get(from, "missing"));
    to->auc = pv__value_number_of(pv_result_get(from, "auc"));
    if (!(to->auc >= 0 && to->auc <= 1))
        return pv__model_damaged(r, "its separation of the labels is damaged");
    const pv_result *levels = pv_result_get(from, "levels");
    if (!levels) {
        to->type = PV_COLUMN_NUMBER;
        to->mean = pv__value_number_of(pv_result_get(from, "mean"));
        to->sd = pv__value_number_of(pv_result_get(from, "sd"));
        return isfinite(to->mean) && to->sd > 0 && isfinite(to->sd)
                   ? PV_OK
                   : pv__model_damaged(r, "a column's scale is damaged");
    }
    to->type = PV_COLUMN_TEXT;
    size_t count = 0;
    if (pv_result_count(levels) > PV__LEVELS_MAX) /* each level becomes the name of a feature */
        return pv__model_damaged(r, "a column has more levels than a fit allows");
    pv_status status = pv__model_texts(r, levels, &to->level, &count);
    to->levels = (int32_t)count;
    PV_TRY(status);
    return count >= 1 ? get_rows(r, from, to) : pv__model_damaged(r, "a column has no levels");
}

static double number_or(const pv_result *value, double otherwise) {
    return pv__value_is_number(value) ? pv__value_number_of(value) : otherwise;
}

static pv_status get_image(const pv__reader *r, const pv_result *from, pv_schema *schema) {
    PV_TRY(pv__alloc(r->ctx, 1, sizeof *schema->image, &schema->image));
    pv_image_encoding *e = schema->image;
    PV_TRY(pv__model_text(r, from, "images", &e->images));
    PV_TRY(pv__model_text(r, from, "votes", &e->votes));
    PV_TRY(pv__model_text(r, from, "spacing", &e->spacing));
    int64_t layout = pv__value_integer_of(pv_result_get(from, "layout"));
    int64_t views = pv__value_integer_of(pv_result_get(from, "views"));
    int64_t size = pv__value_integer_of(pv_result_get(from, "size"));
    e->binarise = pv__value_number_of(pv_result_get(from, "binarise"));
    e->votes_min = pv__value_integer_of(pv_result_get(from, "votes_min"));
    e->low = number_or(pv_result_get(from, "low"), -HUGE_VAL);
    e->high = number_or(pv_result_get(from, "high"), HUGE_VAL);
    e->mean = number_or(pv_result_get(from, "mean"), NAN);
    e->sd = number_or(pv_result_get(from, "sd"), NAN);
    e->field = number_or(pv_result_get(from, "field"), NAN);
    e->rotate = number_or(pv_result_get(from, "rotate"), NAN);
    e->shift = number_or(pv_result_get(from, "shift"), NAN);
    e->scale = number_or(pv_result_get(from, "scale"), NAN);
    e->flip = pv__value_is_true(pv_result_get(from, "flip"));
    bool good = layout >= PV_IMAGES_PLANES && layout <= PV_IMAGES_VIEWS && views >= 1 && views <= 255 && size >= 1 &&
                size <= 512 && e->low < e->high && isfinite(e->mean) && e->sd > 0 && isfinite(e->sd) && e->field > 0 &&
                isfinite(e->field) && e->rotate >= 0 && e->rotate <= 180 && isfinite(e->shift) && isfinite(e->scale);
    if (!good)
        return pv__model_damaged(r, "its description of views of images is damaged");
    e->layout = (pv_image_layout)layout;
    e->views = (size_t)views;
    e->size = (size_t)size;
    schema->features = (int)(views * size * size);
    return PV_OK;
}

static pv_status get_labels(const pv__reader *r, pv_schema *schema) {
    const pv_result *list = pv_result_get(r->root, "labels");
    size_t classes = 0;
    if (pv_result_count(list) > PV__LABELS_MAX)
        return pv__model_damaged(r, "it has more labels than a fit allows");
    pv_status status = pv__model_texts(r, list, &schema->labels, &classes);
    schema->classes = (int)classes;
    PV_TRY(status);
    return classes >= 2 ? PV_OK : pv__model_damaged(r, "it has fewer than two labels");
}

static pv_status get_strata(const pv__reader *r, const pv_result *from, pv_schema *schema) {
    const pv_result *columns = pv_result_get(from, "columns"), *keys = pv_result_get(from, "keys");
    pv_strata *strata;
    PV_TRY(pv__alloc(r->ctx, 1, sizeof *strata, &strata));
    schema->strata = strata;
    if (!pv__value_is(columns, PV_RESULT_LIST) || !pv__value_is(keys, PV_RESULT_LIST) ||
        pv_result_count(keys) > r->payload_size)
        return pv__model_damaged(r, "its strata are damaged");
    PV_TRY(pv__alloc(r->ctx, pv_result_count(columns), sizeof *strata->column, &strata->column));
    strata->columns = pv_result_count(columns);
    for (size_t i = 0; i < strata->columns; i++) {
        PV_TRY(get_column(r, pv_result_child(columns, i), &strata->column[i]));
        if (strata->column[i].type != PV_COLUMN_TEXT)
            return pv__model_damaged(r, "its strata are damaged");
    }
    size_t count = pv_result_count(keys);
    PV_TRY(pv__alloc(r->ctx, count, sizeof *strata->key, &strata->key));
    for (size_t s = 0; s < count; s++)
        strata->key[s] = pv__value_integer_of(pv_result_child(keys, s));
    strata->count = (int32_t)count;
    bool sound;
    PV_TRY(pv__strata_name(r->ctx, strata, &sound));
    return sound ? PV_OK : pv__model_damaged(r, "its strata are damaged");
}

pv_status pv__model_schema(const pv__reader *r, pv_schema *schema) {
    PV_TRY(get_labels(r, schema));
    PV_TRY(pv__model_text(r, r->root, "target", &schema->target));
    PV_TRY(pv__model_text(r, r->root, "weights", &schema->weights));
    schema->votes = pv__value_is_true(pv_result_get(r->root, "votes"));
    schema->sampling = pv__value_is_true(pv_result_get(r->root, "sampling"));
    if (pv_result_get(r->root, "cluster"))
        PV_TRY(pv__model_text(r, r->root, "cluster", &schema->cluster));
    if (pv_result_get(r->root, "strata"))
        PV_TRY(get_strata(r, pv_result_get(r->root, "strata"), schema));
    const char *wrong;
    PV_TRY(pv__written_from_json(r->ctx, pv_result_get(r->root, "written"), &schema->written, &wrong));
    if (wrong)
        return pv__model_damaged(r, wrong);
    const pv_result *list = pv_result_get(r->root, "columns");
    if (!pv__value_is(list, PV_RESULT_LIST))
        return pv__model_damaged(r, "its columns are missing");
    const char *missing = pv_result_text(pv_result_get(r->root, "missing"));
    pv_missing rule = PV_MISSING_REFUSE;
    if (missing && (!pv_missing_find(missing, &rule) || rule == PV_MISSING_MODEL))
        return pv__model_damaged(r, "its rule for missing cells is unknown");
    schema->missing = (int)rule;
    if (pv_result_get(r->root, "image"))
        return get_image(r, pv_result_get(r->root, "image"), schema);
    PV_TRY(pv__alloc(r->ctx, pv_result_count(list), sizeof *schema->source, &schema->source));
    schema->sources = pv_result_count(list);
    for (size_t i = 0; i < schema->sources; i++)
        PV_TRY(get_column(r, pv_result_child(list, i), &schema->source[i]));
    PV_TRY(pv__terms_from_json(r->ctx, pv_result_get(r->root, "terms"), schema, &wrong));
    if (wrong)
        return pv__model_damaged(r, wrong);
    schema->offset = pv__value_is_true(pv_result_get(r->root, "offset"));
    const pv_source_column *first = schema->source;
    if (schema->offset &&
        !(pv__schema_plain(schema) > 0 && first->type == PV_COLUMN_NUMBER && first->sd == 1 && !first->missing))
        return pv__model_damaged(r, "its offset is damaged");
    return pv__schema_name_features(r->ctx, schema);
}
