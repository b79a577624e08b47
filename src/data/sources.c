/* Columns of a table as features: what is learned about each column.
 *
 * A number column becomes (x - mean) / scale with the weighted mean of the training rows and their population standard
 * deviation, or less if a few extreme values dominate it (spread.c). A text column becomes one indicator for each level
 * except the first, the reference. Levels are in the order the user gave (pandas categories), else in natural order,
 * 5-9 before 10-14, except that a level whose name means missing is never the first.
 *
 * A missing cell becomes the mean of the numbers, or the most frequent level. If the schema has an indicator of missing
 * cells, that is 1 and the levels' indicators are 0. A level that training did not have gets the mean of the rare
 * levels there, weighted by their rows, so that a model predicts for it what it learned about rare levels. If there are
 * none, or under another rule, it is treated as a missing cell or as the reference.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "base/openmp.h"
#include "data/columns.h"
#include "data/schema_learn.h"
#include "base/number.h"

size_t pv_source_width(const pv_source_column *source) {
    return (source->type == PV_COLUMN_NUMBER ? 1 : (size_t)source->levels - 1) + source->missing;
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

static bool any_missing(const pv_column *column, const pv_dataset *data) {
    for (size_t i = 0; i < data->rows; i++)
        if (pv__cell_missing(column, data->table_row[i]))
            return true;
    return false;
}

typedef struct scale {
    double mean, sd;
} scale;

/* Learns the scales of the number sources from `first` on: each column by one thread of one rank. */
static pv_status learn_scales(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, const pv_dataset *data,
                              size_t first, pv_schema *schema) {
    bool all_rows = pv__all_rows(table, data);
    size_t count = schema->sources - first;
    int team = pv__columns_team(ctx, count, data->rows); /* an upper bound: later there may be fewer */
    scale *found = NULL;
    pv__spread_bins *bins = NULL; /* [team] */
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, count, sizeof *found, &found));
    PV_GOTO(done, pv__alloc(ctx, (size_t)team, sizeof *bins, &bins));
#pragma omp parallel for num_threads(pv__columns_team(ctx, count, data->rows)) schedule(dynamic)
    for (size_t i = 0; i < count; i++) {
        size_t s = first + i;
        bool number = (plan->made && plan->made[s]) || !plan->category[s];
        if (number && pv__encoding_makes(ctx, plan, i))
            pv__scale_learn(pv__encoding_numbers(plan, table, s), data, all_rows,
                            plan->made && plan->made[s] ? NULL : &plan->glance[s], &bins[omp_get_thread_num()],
                            &found[i].mean, &found[i].sd);
    }
    if (plan->shared)
        PV_GOTO(done, pv__share_array(ctx, count, found, sizeof *found));
    for (size_t i = 0; i < count; i++) {
        schema->source[first + i].mean = found[i].mean;
        schema->source[first + i].sd = found[i].sd;
    }
done:
    pv__free(ctx, found);
    pv__free(ctx, bins);
    return status;
}

static pv_status check_scale(pv_ctx *ctx, const pv_table *table, size_t column, const pv_source_column *source) {
    if (!isfinite(source->mean) || !isfinite(source->sd))
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, column + 1,
                           "the values of column '%s' are too large to be standardised;\nscale them down",
                           pv__show(source->name).text);
    return PV_OK;
}

/* chosen: the user declared that they are categories. */
static pv_status learn_levels(pv_ctx *ctx, const pv_table *table, size_t column, const pv_dataset *data, bool chosen,
                              pv_source_column *source, int32_t **code) {
    pv_column categories;
    PV_TRY(pv__categories_make(ctx, table, column, data, PV__LEVELS_MAX, &categories));
    pv_status status = chosen || table->column[column].type == PV_COLUMN_NUMBER
                           ? PV_OK
                           : pv__misread_check(ctx, table, column, categories.level, categories.levels);
    if (status != PV_OK)
        goto done;
    if (categories.levels > PV__LEVELS_MAX) {
        pv__shown name = pv__show(source->name), word = pv__show_item(source->name);
        status = pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, column + 1,
                             "column '%s' has more than %d different texts, too many for categories;\nleave it out "
                             "with `exclude=%s`, or with `id=%s` if it names the rows",
                             name.text, PV__LEVELS_MAX, word.text, word.text);
        goto done;
    }
    PV_GOTO(done, pv__categories_sort(ctx, data, true, &categories));
    PV_GOTO(done, pv__alloc(ctx, (size_t)categories.levels + 1, sizeof *source->rows, &source->rows));
    for (size_t i = 0; i < data->rows; i++)
        if (categories.code[i] >= 0)
            source->rows[categories.code[i]] += data->weight ? data->weight[i] : 1;
    source->level = categories.level;
    source->levels = categories.levels;
    *code = categories.code;
    categories.level = NULL;
    categories.code = NULL;
done:
    pv__categories_free(ctx, &categories);
    return status;
}

static bool is_constant(const pv_source_column *source) {
    return source->type == PV_COLUMN_NUMBER ? !(source->sd > 0) : source->levels < 2;
}

/* Removes constant columns from schema, plan and codes. */
static void drop_constant(pv_ctx *ctx, pv__encoding *plan, pv_schema *schema, int32_t **code) {
    size_t kept = 0;
    for (size_t s = 0; s < schema->sources; s++) {
        pv_source_column source = schema->source[s];
        int32_t *codes = code[s];
        code[s] = NULL;
        if (is_constant(&source)) {
            pv__source_clear(ctx, &source);
            pv__free(ctx, codes);
            continue;
        }
        plan->feature[kept] = plan->feature[s];
        plan->category[kept] = plan->category[s];
        code[kept] = codes;
        schema->source[kept++] = source;
    }
    schema->sources = plan->features = kept;
}

static pv_status treat_constant(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv__encoding *plan,
                                pv_schema *schema, int32_t **code) {
    char **names;
    size_t n = 0;
    bool drop = roles->constant == PV_CONSTANT_DROP;
    PV_TRY(pv__alloc(ctx, schema->sources, sizeof *names, &names));
    for (size_t s = 0; s < schema->sources; s++) {
        const pv_source_column *source = &schema->source[s];
        if (is_constant(source)) {
            names[n++] = source->name;
            drop = drop && !pv__terms_use(schema, source->name);
        }
    }
    pv_status status = PV_OK;
    char joined[320];
    pv__join(names, n, 5, joined, sizeof joined);
    if (n > 0 && drop) {
        pv__log(ctx, PV_LOG_INFO, "%s: %s the same value in every row and %s left out: %s", table->source,
                n == 1 ? "a column has" : "columns have", n == 1 ? "is" : "are", joined);
        drop_constant(ctx, plan, schema, code);
    } else if (n > 0) {
        status = pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, n == 1 ? pv__table_lookup(table, names[0]) + 1 : 0,
                             "%s the same value in every row: %s;\nleave %s out with `exclude%s%s`",
                             n == 1 ? "a column has" : "columns have", joined, n == 1 ? "it" : "them",
                             n == 1 ? "=" : "", n == 1 ? pv__show_item(names[0]).text : "");
    }
    pv__free(ctx, names);
    return status;
}

pv_status pv__schema_name_features(pv_ctx *ctx, pv_schema *schema) {
    size_t features = 0;
    for (size_t s = 0; s < schema->sources; s++)
        features += pv_source_width(&schema->source[s]);
    if (features > INT_MAX)
        return pv__fail(ctx, PV_ERR_INPUT, "too many features: %zu;\nleave columns out with `exclude`", features);
    PV_TRY(pv__alloc(ctx, features, sizeof *schema->feature, &schema->feature));
    for (size_t s = 0; s < schema->sources; s++) {
        const pv_source_column *source = &schema->source[s];
        if (source->type == PV_COLUMN_NUMBER)
            PV_TRY(pv__strdup(ctx, source->name, &schema->feature[schema->features++]));
        for (int32_t k = 1; source->type == PV_COLUMN_TEXT && k < source->levels; k++) {
            size_t size = strlen(source->name) + strlen(source->level[k]) + 2;
            char **name = &schema->feature[schema->features];
            PV_TRY(pv__alloc(ctx, size, 1, name));
            pv__format(*name, size, "%s=%s", source->name, source->level[k]);
            schema->features++;
        }
        if (source->missing) {
            size_t size = strlen(source->name) + sizeof " (missing)";
            PV_TRY(pv__alloc(ctx, size, 1, &schema->feature[schema->features]));
            pv__format(schema->feature[schema->features++], size, "%s (missing)", source->name);
        }
    }
    return PV_OK;
}

static pv_status name_features(pv_ctx *ctx, const pv_table *table, pv_schema *schema) {
    PV_TRY(pv__schema_name_features(ctx, schema));
    size_t features = (size_t)schema->features;
    size_t at, earlier;
    PV_TRY(pv__names_duplicate(ctx, schema->feature, features, &at, &earlier));
    if (at < features)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                           "a column and a category of another are both called '%s';\nrename the column",
                           pv__show(schema->feature[at]).text);
    return PV_OK;
}

/* Moves a level to the front; the others keep their order. */
static void put_first(pv_source_column *source, int32_t level, int32_t *code, size_t rows) {
    char *first = source->level[level];
    double count = source->rows[level];
    for (int32_t l = level; l > 0; l--) {
        source->level[l] = source->level[l - 1];
        source->rows[l] = source->rows[l - 1];
    }
    source->level[0] = first;
    source->rows[0] = count;
    for (size_t i = 0; i < rows; i++)
        code[i] = code[i] == level ? 0 : code[i] >= 0 && code[i] < level ? code[i] + 1 : code[i];
}

/* "Unknown" as the reference would make every coefficient a comparison with people about whom nothing is known. */
static bool says_missing(const char *level) {
    static const char *const words[] = {"missing",      "unknown",       "not known", "not reported", "not recorded",
                                        "undetermined", "not available", "n/k",       "dk",           "(missing)"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (pv__same_letters(level, words[i], SIZE_MAX))
            return true;
    return false;
}

static void choose_reference(pv_source_column *source, int32_t *code, size_t rows) {
    int32_t level = 0;
    while (level + 1 < source->levels && says_missing(source->level[level]))
        level++;
    if (level > 0 && !says_missing(source->level[level]))
        put_first(source, level, code, rows);
}

/* Parses `reference`: column=level,... */
static pv_status set_references(pv_ctx *ctx, const char *text, size_t rows, pv_schema *schema, int32_t **code) {
    char **entries = NULL;
    size_t n = 0;
    PV_TRY(pv__names_split(ctx, "`reference`", text, &entries, &n));
    pv_status status = PV_OK;
    for (size_t e = 0; e < n && status == PV_OK; e++) {
        size_t s = 0, length = 0;
        for (; s < schema->sources; s++) {
            length = strlen(schema->source[s].name);
            if (strncmp(entries[e], schema->source[s].name, length) == 0 && entries[e][length] == '=')
                break;
        }
        if (s == schema->sources || schema->source[s].type != PV_COLUMN_TEXT) {
            status =
                pv__fail(ctx, PV_ERR_USAGE, "`reference=%s`:\nwrite COLUMN=LEVEL, with a text column that is a feature",
                         pv__show(entries[e]).text);
            break;
        }
        pv_source_column *source = &schema->source[s];
        const char *level = entries[e] + length + 1;
        int32_t at = pv__label_find(source->level, source->levels, level, strlen(level));
        char joined[200];
        pv__join(source->level, (size_t)source->levels, 8, joined, sizeof joined);
        if (at < 0)
            status = pv__fail(ctx, PV_ERR_USAGE, "`reference`: column '%s' has no level '%s'; it has %s",
                              pv__show(source->name).text, pv__show(level).text, joined);
        else
            put_first(source, at, code[s], rows);
    }
    pv_string_list_free(ctx, entries, n);
    return status;
}

/* Learns the scales of the columns that terms made. */
static pv_status learn_made(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, const pv_dataset *data,
                            pv_schema *schema) {
    size_t first = pv__schema_plain(schema);
    PV_TRY(learn_scales(ctx, table, plan, data, first, schema));
    for (size_t s = first; s < schema->sources; s++) {
        pv_source_column *source = &schema->source[s];
        source->missing = schema->missing == PV_MISSING_INDICATOR && pv__term_tells_missing(schema, s) &&
                          any_missing(&table->column[plan->feature[s]], data);
        PV_TRY(check_scale(ctx, table, plan->feature[s], source));
        if (!(source->sd > 0))
            return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, plan->feature[s] + 1,
                               "'%s' has the same value in every row;\nleave the term out of `terms`",
                               pv__show(source->name).text);
    }
    return PV_OK;
}

pv_status pv__sources_learn(pv_ctx *ctx, const pv_table *table, pv__encoding *plan, const pv_roles *roles,
                            const pv_dataset *data, pv_schema *schema, int32_t **code) {
    PV_TRY(pv__alloc(ctx, plan->features, sizeof *schema->source, &schema->source));
    schema->sources = plan->features;
    schema->missing = roles->missing;
    PV_TRY(learn_scales(ctx, table, plan, data, 0, schema));
    schema->offset = plan->offset < table->columns;
    for (size_t s = 0; s < schema->sources; s++) {
        pv_source_column *source = &schema->source[s];
        size_t column = plan->feature[s];
        source->type = plan->category[s] ? PV_COLUMN_TEXT : PV_COLUMN_NUMBER;
        PV_TRY(pv__strdup(ctx, table->column[column].name, &source->name));
        if (schema->offset && s == 0) { /* centred, so that the intercept refers to an average row; never scaled */
            source->sd = 1;
            PV_TRY(check_scale(ctx, table, column, source));
            continue;
        }
        source->missing = roles->missing == PV_MISSING_INDICATOR && any_missing(&table->column[column], data);
        if (!plan->category[s]) {
            pv__suspect_id(ctx, pv__table_numbers(table, column), data, source->name);
            PV_TRY(check_scale(ctx, table, column, source));
            continue;
        }
        PV_TRY(learn_levels(ctx, table, column, data, plan->chosen[s], source, &code[s]));
        if (!table->column[column].rank)
            choose_reference(source, code[s], data->rows);
    }
    PV_TRY(treat_constant(ctx, table, roles, plan, schema, code));
    PV_TRY(set_references(ctx, roles->reference, data->rows, schema, code));
    bool smooth = roles->smooth > 0 && (double)data->rows * (double)schema->sources <= roles->smooth;
    PV_TRY(pv__terms_learn(ctx, table, data, code, smooth, schema, plan));
    PV_TRY(learn_made(ctx, table, plan, data, schema));
    return name_features(ctx, table, schema);
}
