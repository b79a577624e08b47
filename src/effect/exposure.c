/* The exposure: which values are compared, and the rows of the fit with everyone at each of them. Features are made
 * again from the changed column, so that splines, products and indicators follow. */
#include <math.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "data/data.h"
#include "effect/effect.h"

static const pv_column *column_of(const pv__exposure *e) {
    return &e->rows->column[e->column];
}

/* Whether the model has features of the column. */
static bool is_used(const pv_schema *schema, const char *name) {
    for (size_t i = 0; i < pv_schema_columns(schema); i++)
        if (strcmp(pv_schema_column(schema, i, NULL), name) == 0)
            return true;
    return false;
}

static pv_status find_column(const pv__exposure *e, const char *option, const char *name, size_t *column) {
    PV_TRY(pv_table_find(e->ctx, e->rows, option, name, column));
    return is_used(e->schema, name)
               ? PV_OK
               : pv__fail(e->ctx, PV_ERR_USAGE,
                          "%s: column '%s' is not in the model, so the risk does not depend on it:\nname one of the "
                          "model's columns, or leave it in `features`",
                          option, pv__show(name).text);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* The source of a categorical column; NULL: it is a number. */
static const pv_source_column *category_of(const pv_schema *schema, const char *name) {
    for (size_t s = 0; s < schema->sources; s++)
        if (schema->source[s].type == PV_COLUMN_TEXT && strcmp(schema->source[s].name, name) == 0)
            return &schema->source[s];
    return NULL;
}

/* A level as the column has it: its number, or its code. */
static pv_status value_of(const pv__exposure *e, const char *option, size_t column, const char *text, double *value) {
    const pv_column *of = &e->rows->column[column];
    const pv_source_column *category = category_of(e->schema, of->name);
    char known[256];
    if (category && pv__label_find(category->level, category->levels, text, strlen(text)) < 0) {
        pv__join(category->level, (size_t)category->levels, 8, known, sizeof known);
        return pv__fail(e->ctx, PV_ERR_USAGE, "%s: column '%s' has no level '%s':\ngive one of %s", option,
                        pv__show(of->name).text, pv__show(text).text, known);
    }
    if (of->type == PV_COLUMN_TEXT) {
        *value = pv__label_find(of->level, of->levels, text, strlen(text));
        if (*value >= 0)
            return PV_OK;
    } else if (pv__parse_real(text, value) && isfinite(*value)) {
        return PV_OK;
    }
    return pv__fail(e->ctx, PV_ERR_USAGE, "%s: '%s' is not a value of column '%s':\ngive %s", option,
                    pv__show(text).text, pv__show(of->name).text,
                    of->type == PV_COLUMN_TEXT ? "one of its levels" : "a number");
}

static pv_status add_level(pv__exposure *e, const char *text) {
    for (size_t l = 0; l < e->levels; l++)
        if (strcmp(e->level[l], text) == 0)
            return PV_OK;
    if (e->levels == PV__EFFECT_LEVELS)
        return pv__fail(e->ctx, PV_ERR_USAGE,
                        "`exposure`: column '%s' has more than %d levels:\ngive the two to compare with `from` and "
                        "`to`",
                        pv__show(e->options->exposure).text, PV__EFFECT_LEVELS);
    PV_TRY(pv__strdup(e->ctx, text, &e->level[e->levels]));
    e->levels++;
    return PV_OK;
}

/* The two values of a column of numbers; `count` is 3 if there are more. */
static size_t two_values(const pv__exposure *e, double two[2]) {
    const pv_column *of = column_of(e);
    size_t count = 0;
    for (size_t i = 0; i < e->rows->rows && count < 3; i++) {
        double x = of->number[i];
        bool known = isnan(x);
        for (size_t k = 0; k < count; k++)
            known = known || x == two[k];
        if (!known && count < 2)
            two[count] = x;
        count += !known;
    }
    if (count == 2 && two[0] > two[1]) {
        double first = two[1];
        two[1] = two[0];
        two[0] = first;
    }
    return count;
}

static pv_status add_numbers(pv__exposure *e) {
    double two[2];
    char text[PV__NUMBER_TEXT];
    if (two_values(e, two) != 2)
        return pv__fail(e->ctx, PV_ERR_USAGE,
                        "`exposure`: column '%s' is a number with more than two values:\nstate the two that are "
                        "compared with `from` and `to`",
                        pv__show(e->options->exposure).text);
    for (size_t k = 0; k < 2; k++) {
        (void)pv_format_double(two[k], text, sizeof text);
        PV_TRY(add_level(e, text));
    }
    return PV_OK;
}

/* That `from` and `to` are values of the column, and two. */
static pv_status check_values(const pv__exposure *e) {
    const pv_effect_options *o = e->options;
    double from = 0, to = 1;
    if (o->from)
        PV_TRY(value_of(e, "`from`", e->column, o->from, &from));
    if (o->to)
        PV_TRY(value_of(e, "`to`", e->column, o->to, &to));
    return o->from && o->to && from == to
               ? pv__fail(e->ctx, PV_ERR_USAGE, "`from` and `to` are the same value, '%s':\ngive two values",
                          pv__show(o->to).text)
               : PV_OK;
}

/* The first is what the others are compared with. */
static pv_status find_levels(pv__exposure *e) {
    const pv_effect_options *o = e->options;
    const pv_source_column *category = category_of(e->schema, o->exposure);
    PV_TRY(check_values(e));
    if (o->from)
        PV_TRY(add_level(e, o->from));
    if (o->from && o->to)
        return add_level(e, o->to);
    for (int32_t i = 0; category && i < category->levels; i++)
        if (!o->to || i == 0 || strcmp(category->level[i], o->to) == 0)
            PV_TRY(add_level(e, category->level[i]));
    if (!category)
        PV_TRY(add_numbers(e));
    if (o->to && e->levels > 1 && strcmp(e->level[e->levels - 1], o->to) != 0)
        return pv__fail(e->ctx, PV_ERR_USAGE, "`to`: '%s' cannot be compared with '%s':\ngive `from` too",
                        pv__show(o->to).text, pv__show(e->level[0]).text);
    return e->levels > 1 ? PV_OK
                         : pv__fail(e->ctx, PV_ERR_USAGE,
                                    "`from` and `to` leave a single value of column '%s', '%s':\ngive two values",
                                    pv__show(o->exposure).text, pv__show(e->level[0]).text);
}

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Gives every row the value. */
static void set_column(pv_table *rows, size_t column, double value) {
    pv_column *of = &rows->column[column];
    for (size_t i = 0; i < rows->rows; i++)
        if (of->type == PV_COLUMN_TEXT && of->code)
            of->code[i] = (int32_t)value;
        else if (of->number)
            of->number[i] = value;
}

/* The texts of numbers would stay those of the old ones. */
static void drop_texts(pv_ctx *ctx, pv_column *of) {
    if (of->type != PV_COLUMN_NUMBER)
        return;
    pv_string_list_free(ctx, of->level, (size_t)of->levels);
    pv__free(ctx, of->code);
    pv__free(ctx, of->rank);
    of->level = NULL;
    of->code = NULL;
    of->rank = NULL;
    of->levels = 0;
}

/* `at`: NAME=VALUE,... */
static pv_status set_others(const pv__exposure *e, pv_table *rows) {
    char **list = NULL;
    size_t n = 0;
    pv_status status;
    PV_GOTO(done, pv__names_split(e->ctx, "`at`", e->options->at, &list, &n));
    for (size_t i = 0; i < n; i++) {
        char *equals = strchr(list[i], '=');
        size_t column;
        double value;
        if (!equals) {
            status = pv__fail(e->ctx, PV_ERR_USAGE, "`at`: '%s' has no '=':\nwrite COLUMN=VALUE,...",
                              pv__show(list[i]).text);
            goto done;
        }
        *equals = '\0';
        PV_GOTO(done, find_column(e, "`at`", list[i], &column));
        if (column == e->column) {
            status = pv__fail(e->ctx, PV_ERR_USAGE, "`at`: '%s' is the exposure:\ngive its values with `from` and `to`",
                              pv__show(list[i]).text);
            goto done;
        }
        PV_GOTO(done, value_of(e, "`at`", column, equals + 1, &value));
        drop_texts(e->ctx, &rows->column[column]);
        set_column(rows, column, value);
    }
done:
    pv_string_list_free(e->ctx, list, n);
    return status;
}

static pv_status encode(pv__exposure *e, pv_table *rows, size_t level) {
    double value;
    pv_roles roles = {.missing = e->roles->missing};
    PV_TRY(value_of(e, level == 0 ? "`from`" : "`to`", e->column, e->level[level], &value));
    set_column(rows, e->column, value);
    PV_TRY(pv_schema_apply(e->ctx, e->schema, rows, &roles, &e->set[level]));
    return e->set[level]->rows == e->data->rows
               ? PV_OK
               : pv__fail(e->ctx, PV_ERR_INPUT,
                          "`exposure`: with column '%s' at '%s', %zu of %zu rows have no features (the model's terms "
                          "are not defined there):\ngive other values with `from` and `to`",
                          pv__show(e->options->exposure).text, pv__show(e->level[level]).text,
                          e->data->rows - e->set[level]->rows, e->data->rows);
}

static pv_status encode_all(pv__exposure *e) {
    size_t *row = NULL;
    pv_table *rows = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(e->ctx, e->rows->rows, sizeof *row, &row));
    for (size_t i = 0; i < e->rows->rows; i++)
        row[i] = i;
    PV_GOTO(done, pv_table_take(e->ctx, e->rows, e->rows->rows, row, &rows));
    drop_texts(e->ctx, &rows->column[e->column]);
    if (e->options->at)
        PV_GOTO(done, set_others(e, rows));
    for (size_t l = 0; l < e->levels; l++)
        PV_GOTO(done, encode(e, rows, l));
done:
    pv_table_free(e->ctx, rows);
    pv__free(e->ctx, row);
    return status;
}

/* ---- groups ------------------------------------------------------------------------------------------------------ */

static pv_status group_of(pv__exposure *e, size_t column, size_t row, int32_t *group) {
    char number[PV__NUMBER_TEXT];
    if (pv__cell_missing(&e->rows->column[column], row))
        return PV__FAIL_CELL(e->ctx, e->rows, row, column,
                             "column '%s' (`by`) is empty here;\ngive every row its group",
                             pv__show(e->options->by).text);
    const char *text = pv__cell_text(&e->rows->column[column], row, number);
    for (size_t g = 0; g < e->groups; g++)
        if (strcmp(e->group[g], text) == 0) {
            *group = (int32_t)g;
            return PV_OK;
        }
    if (e->groups == PV__EFFECT_GROUPS)
        return pv__fail(e->ctx, PV_ERR_USAGE, "`by`: column '%s' has more than %d values:\nname a column of groups",
                        pv__show(e->options->by).text, PV__EFFECT_GROUPS);
    *group = (int32_t)e->groups;
    PV_TRY(pv__strdup(e->ctx, text, &e->group[e->groups]));
    e->groups++;
    return PV_OK;
}

static pv_status find_groups(pv__exposure *e) {
    size_t column, n = e->rows->rows;
    int32_t order[PV__EFFECT_GROUPS], place[PV__EFFECT_GROUPS];
    PV_TRY(pv_table_find(e->ctx, e->rows, "`by`", e->options->by, &column));
    if (column == e->column)
        return pv__fail(e->ctx, PV_ERR_USAGE,
                        "`by` and `exposure` are the same column, '%s':\nname a column that does not change with the "
                        "exposure",
                        pv__show(e->options->by).text);
    PV_TRY(pv__alloc(e->ctx, PV__EFFECT_GROUPS, sizeof *e->group, &e->group));
    PV_TRY(pv__alloc(e->ctx, n, sizeof *e->of, &e->of));
    for (size_t i = 0; i < n; i++)
        PV_TRY(group_of(e, column, i, &e->of[i]));
    PV_TRY(pv__levels_sort(e->ctx, e->group, (int32_t)e->groups, order));
    for (size_t g = 0; g < e->groups; g++)
        place[order[g]] = (int32_t)g;
    for (size_t i = 0; i < n; i++)
        e->of[i] = place[e->of[i]];
    return PV_OK;
}

pv_status pv__exposure_find(pv__exposure *e, const pv_table *table) {
    PV_TRY(pv_table_take(e->ctx, table, e->data->rows, e->data->table_row, &e->rows));
    PV_TRY(find_column(e, "`exposure`", e->options->exposure, &e->column));
    PV_TRY(find_levels(e));
    if (e->options->by)
        PV_TRY(find_groups(e));
    return encode_all(e);
}

void pv__exposure_clear(pv__exposure *e) {
    for (size_t l = 0; l < PV__EFFECT_LEVELS; l++) {
        pv__free(e->ctx, e->level[l]);
        pv_dataset_free(e->ctx, e->set[l]);
    }
    for (size_t g = 0; g < e->groups; g++)
        pv__free(e->ctx, e->group[g]);
    pv__free(e->ctx, e->group);
    pv__free(e->ctx, e->of);
    pv_table_free(e->ctx, e->rows);
}

double pv__exposure_rows(const pv__exposure *e, int32_t group, size_t level) {
    const pv_column *of = column_of(e);
    double value, count = 0, low = HUGE_VAL, high = -HUGE_VAL;
    bool number = of->type == PV_COLUMN_NUMBER && !category_of(e->schema, of->name);
    if (of->type == PV_COLUMN_TEXT)
        value = pv__label_find(of->level, of->levels, e->level[level], strlen(e->level[level]));
    else if (!pv__parse_real(e->level[level], &value))
        return 0;
    for (size_t i = 0; i < e->rows->rows; i++) {
        double x = of->type == PV_COLUMN_TEXT ? (double)of->code[i] : of->number[i];
        if (group >= 0 && e->of[i] != group)
            continue;
        count += x == value;
        low = x < low ? x : low;
        high = x > high ? x : high;
    }
    if (number && count <= 0)
        return value >= low && value <= high ? -1 : -2;
    return count;
}
