/* Parts of a schema as JSON for model files: its terms, and the format of its file. */
#include <math.h>

#include "base/value.h"
#include "data/schema_learn.h"
#include "infer/model_file.h"

static pv_result *term_of(const pv_term *term) {
    pv_result *columns = pv__value_list(), *parameters = pv__value_list(), *cells = pv__value_list();
    for (size_t i = 0; i < 2 && term->column[i]; i++)
        pv__value_append(columns, pv__value_text(term->column[i]));
    for (size_t i = 0; i < term->parameters; i++)
        pv__value_append(parameters, pv__value_real(term->parameter[i]));
    for (size_t i = 0; term->cell && i < 2 * term->features; i++)
        pv__value_append(cells, pv__value_integer(term->cell[i]));
    return pv__value_pack("tvivv", "kind", pv_term_kind_name(term->kind), "columns", columns, "degree", term->degree,
                          "parameters", parameters, "cells", cells);
}

pv_result *pv__terms_to_json(const pv_schema *schema) {
    pv_result *list = pv__value_list();
    for (size_t t = 0; t < schema->terms; t++)
        pv__value_append(list, term_of(&schema->term[t]));
    return list;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* Kind and sizes; NULL if they are consistent. */
static const char *get_sizes(const pv_result *from, pv_term *to) {
    const char *kind = pv_result_text(pv_result_get(from, "kind"));
    size_t columns = pv_result_count(pv_result_get(from, "columns"));
    size_t cells = pv_result_count(pv_result_get(from, "cells"));
    int64_t degree = pv__value_integer_of(pv_result_get(from, "degree"));
    if (!kind || !pv_term_kind_find(kind, &to->kind) || to->kind == PV_TERM_PLAIN)
        return "a term is of no known kind";
    bool product = to->kind == PV_TERM_PRODUCT, basis = to->kind == PV_TERM_NS || to->kind == PV_TERM_POLY;
    bool smooth = to->kind == PV_TERM_SMOOTH;
    if (columns != (product ? 2 : 1) || degree < (smooth ? 3 : basis) ||
        degree > (smooth  ? PV__KNOTS_MAX
                  : basis ? PV__DEGREES_MAX
                          : 0) ||
        cells % 2 != 0 || (cells > 0) != product)
        return "a term is damaged";
    to->degree = (int)degree;
    to->features = product ? cells / 2 : basis ? (size_t)degree : 1;
    to->parameters = pv_result_count(pv_result_get(from, "parameters"));
    if (smooth) {
        size_t knots = (size_t)degree, each = 2 * knots + 1;
        to->features = to->parameters > 2 + knots ? (to->parameters - 2 - knots) / each : 0;
        bool sound = to->features > 0 && to->features <= PV__CURVES_MAX;
        return sound && to->parameters == pv__smooth_parameters(to) ? NULL : "a smooth has too few or too many numbers";
    }
    return to->parameters == pv__basis_parameters(to) ? NULL : "a term has too few or too many numbers";
}

static pv_status get_term(pv_ctx *ctx, const pv_result *from, pv_term *to, const char **wrong) {
    const pv_result *columns = pv_result_get(from, "columns"), *parameters = pv_result_get(from, "parameters"),
                    *cells = pv_result_get(from, "cells");
    *wrong = get_sizes(from, to);
    for (size_t i = 0; !*wrong && i < pv_result_count(columns); i++) {
        const char *name = pv_result_text(pv_result_child(columns, i));
        if (name)
            PV_TRY(pv__strdup(ctx, name, &to->column[i]));
        else
            *wrong = "a term has no column";
    }
    if (*wrong)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, to->parameters, sizeof *to->parameter, &to->parameter));
    for (size_t i = 0; i < to->parameters; i++) {
        const pv_result *value = pv_result_child(parameters, i);
        to->parameter[i] = pv__value_is_number(value) ? pv__value_number_of(value) : (double)NAN;
    }
    if (to->kind != PV_TERM_PRODUCT)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, to->features, 2 * sizeof *to->cell, &to->cell));
    for (size_t i = 0; i < 2 * to->features; i++) {
        int64_t level = pv__value_integer_of(pv_result_child(cells, i));
        to->cell[i] = level >= 0 && level < PV__LEVELS_MAX ? (int32_t)level : -1;
    }
    return PV_OK;
}

pv_status pv__terms_from_json(pv_ctx *ctx, const pv_result *list, pv_schema *schema, const char **wrong) {
    size_t made = 0, n = pv_result_count(list);
    *wrong = NULL;
    if (n == 0)
        return PV_OK;
    PV_TRY(pv__alloc(ctx, n, sizeof *schema->term, &schema->term));
    schema->terms = n;
    for (size_t t = 0; !*wrong && t < n; t++) {
        PV_TRY(get_term(ctx, pv_result_child(list, t), &schema->term[t], wrong));
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

/* ---- file format ------------------------------------------------------------------------------------------------- */

bool pv__is_written_as_usual(const pv_written *written) {
    return !written->no_header && !written->separator && !written->decimal && !written->na && !written->names &&
           !written->quote;
}

pv_result *pv__written_to_json(const pv_written *written) {
    const char *const names[] = {"separator", "decimal", "na", "names", "quote"};
    const char *const texts[] = {written->separator, written->decimal, written->na, written->names, written->quote};
    pv_result *object = pv__value_object();
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i])
            pv__value_set(object, names[i], pv__value_text(texts[i]));
    if (written->no_header)
        pv__value_set(object, "no_header", pv__value_flag(true));
    return object;
}

/* The texts are checked later, like any reader's options, when a file is read with them. */
pv_status pv__written_from_json(pv_ctx *ctx, const pv_result *object, pv_written *written, const char **wrong) {
    const pv_csv_options as = {.separator = pv_result_text(pv_result_get(object, "separator")),
                               .decimal = pv_result_text(pv_result_get(object, "decimal")),
                               .na = pv_result_text(pv_result_get(object, "na")),
                               .names = pv_result_text(pv_result_get(object, "names")),
                               .quote = pv_result_text(pv_result_get(object, "quote")),
                               .no_header = pv__value_is_true(pv_result_get(object, "no_header"))};
    *wrong = object && !pv__value_is(object, PV_RESULT_OBJECT) ? "how its file was written is damaged" : NULL;
    return *wrong ? PV_OK : pv__written_of(ctx, &as, written);
}
