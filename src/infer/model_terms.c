/* Parts of a schema as JSON, for model files: its terms, and how its file was written. */
#include <math.h>

#include "base/json.h"
#include "data/schema_learn.h"
#include "infer/model_file.h"

static json_t *term_of(const pv_term *term) {
    json_t *columns = json_array(), *parameters = json_array(), *cells = json_array();
    int failed = 0;
    for (size_t i = 0; i < 2 && term->column[i]; i++)
        failed |= json_array_append_new(columns, pv__json_text(term->column[i]));
    for (size_t i = 0; i < term->parameters; i++)
        failed |= json_array_append_new(parameters, json_real(term->parameter[i]));
    for (size_t i = 0; term->cell && i < 2 * term->features; i++)
        failed |= json_array_append_new(cells, json_integer(term->cell[i]));
    json_t *object = json_pack("{s:s, s:o, s:i, s:o, s:o}", "kind", pv_term_kind_name(term->kind), "columns", columns,
                               "degree", term->degree, "parameters", parameters, "cells", cells);
    return failed ? json_decref(object), NULL : object;
}

json_t *pv__terms_to_json(const pv_schema *schema) {
    json_t *list = json_array();
    for (size_t t = 0; t < schema->terms; t++)
        if (json_array_append_new(list, term_of(&schema->term[t])) != 0)
            return json_decref(list), NULL;
    return list;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Kind and sizes; NULL: they fit each other. */
static const char *get_sizes(json_t *from, pv_term *to) {
    const char *kind = json_string_value(json_object_get(from, "kind"));
    size_t columns = json_array_size(json_object_get(from, "columns"));
    size_t cells = json_array_size(json_object_get(from, "cells"));
    json_int_t degree = json_integer_value(json_object_get(from, "degree"));
    if (!kind || !pv_term_kind_find(kind, &to->kind) || to->kind == PV_TERM_PLAIN)
        return "a term is of no known kind";
    bool product = to->kind == PV_TERM_PRODUCT, basis = to->kind == PV_TERM_NS || to->kind == PV_TERM_POLY;
    if (columns != (product ? 2 : 1) || degree < basis || degree > (basis ? PV__DEGREES_MAX : 0) || cells % 2 != 0 ||
        (cells > 0) != product)
        return "a term is damaged";
    to->degree = (int)degree;
    to->features = product ? cells / 2 : basis ? (size_t)degree : 1;
    to->parameters = json_array_size(json_object_get(from, "parameters"));
    return to->parameters == pv__basis_parameters(to) ? NULL : "a term has too few or too many numbers";
}

static pv_status get_term(pv_ctx *ctx, json_t *from, pv_term *to, const char **wrong) {
    json_t *columns = json_object_get(from, "columns"), *parameters = json_object_get(from, "parameters"),
           *cells = json_object_get(from, "cells");
    *wrong = get_sizes(from, to);
    for (size_t i = 0; !*wrong && i < json_array_size(columns); i++) {
        const char *name = json_string_value(json_array_get(columns, i));
        if (name)
            PV_TRY(pv__strdup(ctx, name, &to->column[i]));
        else
            *wrong = "a term has no column";
    }
    if (*wrong)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, to->parameters, sizeof *to->parameter, &to->parameter));
    for (size_t i = 0; i < to->parameters; i++) {
        json_t *value = json_array_get(parameters, i);
        to->parameter[i] = json_is_number(value) ? json_number_value(value) : (double)NAN;
    }
    if (to->kind != PV_TERM_PRODUCT)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, to->features, 2 * sizeof *to->cell, &to->cell));
    for (size_t i = 0; i < 2 * to->features; i++) {
        json_int_t level = json_integer_value(json_array_get(cells, i));
        to->cell[i] = level >= 0 && level < PV__LEVELS_MAX ? (int32_t)level : -1;
    }
    return PV_OK;
}

pv_status pv__terms_from_json(pv_ctx *ctx, json_t *list, pv_schema *schema, const char **wrong) {
    size_t made = 0, n = json_array_size(list);
    *wrong = NULL;
    if (n == 0)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, n, sizeof *schema->term, &schema->term));
    schema->terms = n;
    for (size_t t = 0; !*wrong && t < n; t++) {
        PV_TRY(get_term(ctx, json_array_get(list, t), &schema->term[t], wrong));
        made += schema->term[t].features;
        if (made > schema->sources)
            *wrong = "its terms make more columns than it has";
    }
    for (size_t t = 0; !*wrong && t < n; t++)
        *wrong = pv__term_wrong(schema, &schema->term[t]);
    for (size_t s = schema->sources - made; !*wrong && s < schema->sources; s++)
        if (schema->source[s].type != PV_COLUMN_NUMBER)
            *wrong = "a term makes a column of text";
    return PV_OK;
}

/* ---- how the file was written ------------------------------------------------------------------------------------ */

json_t *pv__written_to_json(const pv_written *written, bool *failed) {
    const char *const names[] = {"separator", "decimal", "na", "names", "quote"};
    const char *const texts[] = {written->separator, written->decimal, written->na, written->names, written->quote};
    bool usual = !written->no_header;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        usual = usual && !texts[i];
    if (usual)
        return NULL;
    json_t *object = json_object();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i] && json_object_set_new(object, names[i], pv__json_text(texts[i])) != 0)
            *failed = true;
    if (written->no_header && json_object_set_new(object, "no_header", json_true()) != 0)
        *failed = true;
    return object;
}

/* The texts are checked as those of any reader once a file is read with them. */
pv_status pv__written_from_json(pv_ctx *ctx, json_t *object, pv_written *written, const char **wrong) {
    const pv_csv_options as = {.separator = json_string_value(json_object_get(object, "separator")),
                               .decimal = json_string_value(json_object_get(object, "decimal")),
                               .na = json_string_value(json_object_get(object, "na")),
                               .names = json_string_value(json_object_get(object, "names")),
                               .quote = json_string_value(json_object_get(object, "quote")),
                               .no_header = json_is_true(json_object_get(object, "no_header"))};
    *wrong = object && !json_is_object(object) ? "how its file was written is damaged" : NULL;
    return *wrong ? PV_OK : pv__written_of(ctx, &as, written);
}
