/* From a table to a matrix: learning a schema, and applying it.
 *
 * A number column becomes (x - mean) / sd with the weighted mean and population standard deviation of the training
 * rows; a text column becomes one indicator for each level but the first.
 */
#include <limits.h>
#include <math.h>
#include <string.h>

#include "data/encode.h"
#include "base/number.h"

void pv_dataset_free(pv_ctx *ctx, pv_dataset *dataset) {
    if (!dataset)
        return;
    pv__free(ctx, dataset->x);
    pv__free(ctx, dataset->label);
    pv__free(ctx, dataset->weight);
    pv__free(ctx, dataset->frequency);
    pv__free(ctx, dataset->image_row);
    if (!dataset->images_borrowed)
        pv_images_free(ctx, dataset->images);
    pv__free(ctx, dataset->table_row);
    pv__free(ctx, dataset->group);
    pv__free(ctx, dataset->source);
    pv__free(ctx, dataset);
}

pv_targets pv_dataset_targets(const pv_dataset *dataset) {
    return (pv_targets){.n = dataset->rows,
                        .classes = dataset->classes,
                        .label = dataset->frequency ? NULL : dataset->label,
                        .frequency = dataset->frequency,
                        .weight = dataset->weight,
                        .set = dataset->matched ? dataset->group : NULL};
}

/* ---- the matrix -------------------------------------------------------------------------------------------------- */

/* Standard deviations from the mean, beyond which a cell is a mistake: models multiply and add such numbers, and what
 * overflows is no probability. */
static const double FARTHEST = 1e100;

static double standardise(double number, const pv_source_column *source) {
    return (number - source->mean) / source->sd;
}

static pv_status refuse_far(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, const pv_schema *schema,
                            const pv_dataset *data) {
    for (size_t i = 0; i < data->rows; i++)
        for (size_t s = 0; s < schema->sources; s++) {
            const pv_source_column *source = &schema->source[s];
            size_t row = data->table_row[i], column = plan->feature[s];
            if (source->type != PV_COLUMN_NUMBER)
                continue;
            double number = table->column[column].number[row];
            if (!(fabs(standardise(number, source)) <= FARTHEST))
                return PV__FAIL_CELL(ctx, table, row, column,
                                     "%g in column '%s' is too far from the mean %g of the rows that were learned from "
                                     "(standard deviation %g) to compute with; correct the cell",
                                     number, pv__show(source->name).text, source->mean, source->sd);
        }
    return pv__fail(ctx, PV_ERR_INTERNAL, "a cell is too far from the mean, and none is");
}

/* A block of rows at a time, so that the rows being filled stay in cache while the columns are gone through. code:
 * [sources], of text sources [rows] each. False where a number is farther than FARTHEST, or none. */
static bool fill_matrix(const pv_table *table, const pv__plan *plan, const pv_schema *schema, int32_t *const *code,
                        pv_dataset *data) {
    enum { BLOCK = 256 };
    const size_t features = (size_t)data->features;
    bool near = true;
    for (size_t begin = 0; begin < data->rows; begin += BLOCK) {
        size_t end = begin + BLOCK < data->rows ? begin + BLOCK : data->rows, f = 0;
        for (size_t s = 0; s < schema->sources; s++) {
            const pv_source_column *source = &schema->source[s];
            if (source->type == PV_COLUMN_NUMBER) {
                const double *number = table->column[plan->feature[s]].number;
                for (size_t i = begin; i < end; i++) {
                    double x = standardise(number[data->table_row[i]], source);
                    near &= fabs(x) <= FARTHEST; /* false for NaN as well */
                    data->x[i * features + f] = x;
                }
                f++;
                continue;
            }
            size_t indicators = (size_t)source->levels - 1;
            for (size_t i = begin; i < end; i++)
                for (size_t k = 0; k < indicators; k++)
                    data->x[i * features + f + k] = code[s][i] == (int32_t)k + 1;
            f += indicators;
        }
    }
    return near;
}

static pv_status make_matrix(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, const pv_schema *schema,
                             int32_t *const *code, pv_dataset *data) {
    data->features = schema->features;
    PV_TRY(pv__resize(ctx, data->rows, (size_t)data->features * sizeof *data->x, &data->x));
    if (!fill_matrix(table, plan, schema, code, data))
        return refuse_far(ctx, table, plan, schema, data);
    return PV_OK;
}

static void free_codes(pv_ctx *ctx, int32_t **code, size_t n) {
    for (size_t s = 0; code && s < n; s++)
        pv__free(ctx, code[s]);
    pv__free(ctx, code);
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

/* Weighted mean and population sd in a form that does not overflow: convex sums, deviations scaled by the largest.
 * sd is 0 where all values are equal. */
static void learn_scale(const double *number, const pv_dataset *data, double *mean, double *sd) {
    double total = 0, first = number[data->table_row[0]], largest = 0, square = 0;
    bool constant = true;
    for (size_t i = 0; i < data->rows; i++) {
        total += data->weight ? data->weight[i] : 1;
        constant = constant && number[data->table_row[i]] == first;
    }
    *mean = 0;
    for (int pass = 0; pass < 2; pass++) { /* the second removes the rounding error of the first */
        double sum = 0;
        for (size_t i = 0; i < data->rows; i++)
            sum += (data->weight ? data->weight[i] : 1) / total * (number[data->table_row[i]] - *mean);
        *mean += sum;
    }
    for (size_t i = 0; i < data->rows; i++)
        largest = fmax(largest, fabs(number[data->table_row[i]] - *mean));
    for (size_t i = 0; i < data->rows; i++) {
        double deviation = (number[data->table_row[i]] - *mean) / largest;
        square += (data->weight ? data->weight[i] : 1) / total * deviation * deviation;
    }
    *sd = constant ? 0 : largest * sqrt(square);
}

/* 1, 2, 3, ... down the table: a row number that someone forgot, more likely than a measurement. */
static void warn_of_counter(pv_ctx *ctx, const double *number, const pv_dataset *data, const char *name) {
    enum { ENOUGH = 50 };
    bool counts = data->rows >= ENOUGH;
    for (size_t i = 1; counts && i < data->rows; i++)
        counts = number[data->table_row[i]] - number[data->table_row[i - 1]] ==
                 (double)(data->table_row[i] - data->table_row[i - 1]);
    if (counts)
        pv__log(ctx, PV_LOG_WARNING,
                "column '%s' counts the rows and is taken as a feature; if it is not a measurement, use `id` %s",
                pv__show(name).text, pv__show_word(name).text);
}

static pv_status learn_number(pv_ctx *ctx, const pv_table *table, size_t column, const pv_dataset *data,
                              pv_source_column *source) {
    learn_scale(table->column[column].number, data, &source->mean, &source->sd);
    warn_of_counter(ctx, table->column[column].number, data, source->name);
    if (!isfinite(source->mean) || !isfinite(source->sd))
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, column + 1,
                           "the values of column '%s' are too large to be standardised; scale them down",
                           pv__show(source->name).text);
    return PV_OK;
}

static pv_status learn_levels(pv_ctx *ctx, const pv_table *table, size_t column, const pv_dataset *data,
                              pv_source_column *source, int32_t **code) {
    pv_column categories;
    PV_TRY(pv__categories_make(ctx, table, column, data, PV__LEVELS_MAX, &categories));
    pv_status status;
    if (categories.levels > PV__LEVELS_MAX) {
        char *text = categories.level[0], *comma = strchr(text, ',');
        double value;
        if (comma)
            *comma = '.';
        bool decimal_comma = comma && pv__number_parse(text, strlen(text), &value);
        pv__shown name = pv__show(source->name), word = pv__show_word(source->name);
        status = pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, column + 1,
                             "column '%s' has more than %d different texts, too many for categories%s; leave it out "
                             "with `exclude` %s, or with `id` %s if it names the rows",
                             name.text, PV__LEVELS_MAX,
                             decimal_comma ? " (they look like numbers with a decimal comma: `decimal` ,)" : "",
                             word.text, word.text);
        goto done;
    }
    PV_GOTO(done, pv__categories_sort(ctx, data, &categories));
    source->level = categories.level;
    source->levels = categories.levels;
    *code = categories.code;
    categories.level = NULL;
    categories.code = NULL;
done:
    pv__categories_free(ctx, &categories);
    return status;
}

static pv_status refuse_constant(pv_ctx *ctx, const pv_table *table, const pv_schema *schema) {
    char **names;
    size_t n = 0;
    PV_TRY(pv__alloc(ctx, schema->sources, sizeof *names, &names));
    for (size_t s = 0; s < schema->sources; s++) {
        const pv_source_column *source = &schema->source[s];
        if (source->type == PV_COLUMN_NUMBER ? !(source->sd > 0) : source->levels < 2)
            names[n++] = source->name;
    }
    pv_status status = PV_OK;
    if (n > 0) {
        char joined[320];
        pv__join(names, n, 5, joined, sizeof joined);
        status = pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, n == 1 ? pv__table_lookup(table, names[0]) + 1 : 0,
                             "%s the same value in every row: %s; leave %s out with `exclude`",
                             n == 1 ? "a column has" : "columns have", joined, n == 1 ? "it" : "them");
    }
    pv__free(ctx, names);
    return status;
}

pv_status pv__schema_name_features(pv_ctx *ctx, pv_schema *schema) {
    size_t features = 0;
    for (size_t s = 0; s < schema->sources; s++)
        features += schema->source[s].type == PV_COLUMN_NUMBER ? 1 : (size_t)schema->source[s].levels - 1;
    if (features > INT_MAX)
        return pv__fail(ctx, PV_ERR_INPUT, "too many features: %zu; leave columns out with `exclude`", features);
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
                           "a column and a category of another are both called '%s'; rename the column",
                           pv__show(schema->feature[at]).text);
    return PV_OK;
}

/* Moves a level to the front, the others keeping their order. */
static void put_first(pv_source_column *source, int32_t level, int32_t *code, size_t rows) {
    char *first = source->level[level];
    for (int32_t l = level; l > 0; l--)
        source->level[l] = source->level[l - 1];
    source->level[0] = first;
    for (size_t i = 0; i < rows; i++)
        code[i] = code[i] == level ? 0 : code[i] < level ? code[i] + 1 : code[i];
}

/* `reference` column=level,... */
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
                pv__fail(ctx, PV_ERR_USAGE, "`reference` %s: write COLUMN=LEVEL, with a text column that is a feature",
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

static pv_status learn_sources(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, const char *reference,
                               const pv_dataset *data, pv_schema *schema, int32_t **code) {
    PV_TRY(pv__alloc(ctx, plan->features, sizeof *schema->source, &schema->source));
    schema->sources = plan->features;
    for (size_t s = 0; s < schema->sources; s++) {
        pv_source_column *source = &schema->source[s];
        size_t column = plan->feature[s];
        source->type = plan->category[s] ? PV_COLUMN_TEXT : PV_COLUMN_NUMBER;
        PV_TRY(pv__strdup(ctx, table->column[column].name, &source->name));
        if (plan->category[s])
            PV_TRY(learn_levels(ctx, table, column, data, source, &code[s]));
        else
            PV_TRY(learn_number(ctx, table, column, data, source));
    }
    PV_TRY(refuse_constant(ctx, table, schema));
    PV_TRY(set_references(ctx, reference, data->rows, schema, code));
    return name_features(ctx, table, schema);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static pv_status check_labels(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, const pv_column *labels) {
    const char *name = table->column[plan->target].name;
    if (labels->levels == 1)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, plan->target + 1,
                           "the target '%s' is '%s' in every row that is used; there is nothing to learn: check the "
                           "column and which rows were kept",
                           pv__show(name).text, pv__show(labels->level[0]).text);
    if (labels->levels > PV__CLASSES_MAX)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, plan->target + 1,
                           "the target '%s' has more than %d different values; it looks like a number or an id, not "
                           "like classes: name another with `target`",
                           pv__show(name).text, PV__CLASSES_MAX);
    return PV_OK;
}

/* Labels are sorted, so that equal numbers written differently are neighbours. */
static pv_status refuse_twins(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, const pv_column *labels) {
    for (int32_t i = 1; i < labels->levels; i++) {
        double left, right;
        const char *a = labels->level[i - 1], *b = labels->level[i];
        if (pv__number_parse(a, strlen(a), &left) && pv__number_parse(b, strlen(b), &right) && left == right)
            return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, plan->target + 1,
                               "the target has the labels '%s' and '%s', one number in two spellings; use one",
                               pv__show(a).text, pv__show(b).text);
    }
    return PV_OK;
}

static pv_status move_positive(pv_ctx *ctx, const pv_dataset *data, const char *positive, pv_column *labels) {
    char joined[200];
    pv__join(labels->level, (size_t)labels->levels, 6, joined, sizeof joined);
    if (labels->levels != 2)
        return pv__fail(ctx, PV_ERR_USAGE, "`positive` is for two classes; the target has %d: %s; leave it out",
                        (int)labels->levels, joined);
    int32_t at = pv__label_find(labels->level, 2, positive, strlen(positive));
    if (at < 0) {
        char *const *words = labels->level;
        const char *near = pv_nearest(positive, (const char *const *)words, 2);
        return pv__fail(ctx, PV_ERR_USAGE, "`positive`: the target has no label '%s'; %s%s%s", pv__show(positive).text,
                        near ? "did you mean '" : "its labels are ", near ? pv__show(near).text : joined,
                        near ? "'?" : "");
    }
    if (at == 0) {
        char *first = labels->level[0];
        labels->level[0] = labels->level[1];
        labels->level[1] = first;
        for (size_t i = 0; i < data->rows; i++)
            labels->code[i] = 1 - labels->code[i];
    }
    return PV_OK;
}

/* Labels that say themselves which of two is the one of interest. */
static bool says_positive(const char *label, const char *other) {
    static const char *const pairs[][2] = {{"case", "control"},
                                           {"cases", "controls"},
                                           {"yes", "no"},
                                           {"y", "n"},
                                           {"true", "false"},
                                           {"t", "f"},
                                           {"positive", "negative"},
                                           {"pos", "neg"},
                                           {"malignant", "benign"},
                                           {"cancer", "benign"},
                                           {"cancer", "control"},
                                           {"disease", "healthy"},
                                           {"diseased", "healthy"},
                                           {"ill", "well"},
                                           {"sick", "healthy"},
                                           {"sick", "well"},
                                           {"dead", "alive"},
                                           {"event", "censored"},
                                           {"affected", "unaffected"},
                                           {"present", "absent"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pv__same_letters(label, pairs[i][0], SIZE_MAX) && pv__same_letters(other, pairs[i][1], SIZE_MAX))
            return true;
    return false;
}

/* Which of two labels is the positive one, where nobody said: NULL where spelling alone would decide. */
static const char *guess_positive(const pv_column *labels) {
    double a, b;
    const char *first = labels->level[0], *last = labels->level[1];
    if (pv__number_parse(first, strlen(first), &a) && pv__number_parse(last, strlen(last), &b))
        return last; /* sorted by value */
    return says_positive(first, last) ? first : says_positive(last, first) ? last : NULL;
}

/* The label of interest where it was named: by itself, or with its prevalence, LABEL=P. The caller frees *positive. */
static pv_status named_positive(pv_ctx *ctx, const pv_roles *roles, char **positive) {
    const char *text = roles->positive ? roles->positive : roles->prevalence;
    const char *end = roles->positive ? text + strlen(text) : text && !strchr(text, ',') ? strrchr(text, '=') : NULL;
    *positive = NULL;
    if (!end || (end == text && !roles->positive))
        return PV_OK;
    PV_TRY(pv__strdup(ctx, text, positive));
    (*positive)[end - text] = '\0';
    return PV_OK;
}

static pv_status learn_labels(pv_ctx *ctx, const pv_table *table, const pv__plan *plan, const pv_roles *roles,
                              pv_schema *schema, pv_dataset *data) {
    pv_column found;
    char *named = NULL;
    PV_TRY(pv__categories_make(ctx, table, plan->target, data, PV__CLASSES_MAX, &found));
    pv_status status;
    PV_GOTO(done, named_positive(ctx, roles, &named));
    PV_GOTO(done, check_labels(ctx, table, plan, &found));
    PV_GOTO(done, pv__categories_sort(ctx, data, &found));
    PV_GOTO(done, refuse_twins(ctx, table, plan, &found));
    const char *positive = named || found.levels != 2 ? named : guess_positive(&found);
    schema->positive_guessed = found.levels == 2 && !positive;
    if (positive)
        PV_GOTO(done, move_positive(ctx, data, positive, &found));
    PV_GOTO(done, pv__resize(ctx, (size_t)found.levels, sizeof *found.level, &found.level));
    data->label = found.code;
    data->classes = schema->classes = found.levels;
    schema->labels = found.level;
    found.code = NULL;
    found.level = NULL;
done:
    pv__free(ctx, named);
    pv__categories_free(ctx, &found);
    return status;
}

pv_status pv__labels_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema *schema,
                           pv_dataset *data) {
    pv__plan plan = {0};
    PV_TRY(pv__plan_training(ctx, table, roles, &plan));
    PV_TRY(pv__rows_select(ctx, table, &plan, roles->drop_missing, data));
    return learn_labels(ctx, table, &plan, roles, schema, data);
}

pv_status pv__groups_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_dataset *data) {
    size_t c;
    const char *group = pv__roles_group(roles);
    if (!group)
        return PV_OK;
    data->matched = roles->matched != NULL;
    PV_TRY(pv_table_find(ctx, table, data->matched ? "`matched`" : "`group`", group, &c));
    const pv_column *column = &table->column[c];
    for (size_t i = 0; i < data->rows; i++)
        if (pv__cell_missing(column, data->table_row[i]))
            return PV__FAIL_CELL(ctx, table, data->table_row[i], c, "no %s in column '%s'; every row needs one",
                                 data->matched ? "set" : "group", pv__show(column->name).text);
    if (column->type == PV_COLUMN_NUMBER) { /* a table made in memory: in order of first appearance, as texts are */
        pv_column found;
        PV_TRY(pv__categories_make(ctx, table, c, data, INT32_MAX - 1, &found));
        data->group = found.code;
        found.code = NULL;
        pv__categories_free(ctx, &found);
        return PV_OK;
    }
    PV_TRY(pv__alloc(ctx, data->rows, sizeof *data->group, &data->group));
    for (size_t i = 0; i < data->rows; i++)
        data->group[i] = column->code[data->table_row[i]];
    return PV_OK;
}

static pv_status learn_columns(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema *schema,
                               pv_dataset *data) {
    if (table->images && !roles->features)
        return pv__fail_at(ctx, PV_ERR_USAGE, table->source, 0, 0,
                           "has images, and this model takes columns: choose `model` convnet or inception, or name the "
                           "columns to learn from with `features`");
    pv__plan plan;
    PV_TRY(pv__plan_learn(ctx, table, roles, &plan));
    int32_t **code = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, plan.features, sizeof *code, &code));
    PV_GOTO(done, pv__rows_select(ctx, table, &plan, roles->drop_missing, data));
    PV_GOTO(done, learn_labels(ctx, table, &plan, roles, schema, data));
    PV_GOTO(done, learn_sources(ctx, table, &plan, roles->reference, data, schema, code));
    PV_GOTO(done, make_matrix(ctx, table, &plan, schema, code, data));
    if (!roles->keep_collinear)
        status = pv__collinear_check(ctx, table, data, schema);
done:
    free_codes(ctx, code, plan.features);
    pv__plan_free(ctx, &plan);
    return status;
}

/* A dataset without rows that says what it is made of. */
static pv_status dataset_of(pv_ctx *ctx, const pv_table *table, pv_dataset **dataset) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **dataset, dataset));
    (*dataset)->hash = table->hash;
    return pv__strdup(ctx, table->source, &(*dataset)->source);
}

pv_status pv_schema_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema **schema,
                          pv_dataset **dataset) {
    pv_schema *made = NULL;
    pv_dataset *data = NULL;
    *schema = NULL;
    *dataset = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *made, &made));
    PV_GOTO(done, dataset_of(ctx, table, &data));
    PV_GOTO(done, (table->arrays && roles->image ? pv__images_learn : learn_columns)(ctx, table, roles, made, data));
    pv_roles named = *roles;
    if (made->image && *made->image->votes)
        named.target = made->image->votes;
    PV_GOTO(done, pv__schema_name(ctx, &named, made));
    PV_GOTO(done, pv__groups_learn(ctx, table, roles, data));
    *schema = made;
    *dataset = data;
done:
    if (status != PV_OK) {
        pv_schema_free(ctx, made);
        pv_dataset_free(ctx, data);
    }
    return status;
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

/* The column's codes among the given levels. The caller frees *code. */
static pv_status match_column(pv_ctx *ctx, const pv_table *table, size_t column, const pv_dataset *data,
                              char *const *levels, int32_t n, const char *what, int32_t **code) {
    pv_column categories;
    PV_TRY(pv__categories_make(ctx, table, column, data, INT32_MAX - 1, &categories));
    pv_status status = pv__categories_match(ctx, table, column, data, levels, n, what, &categories);
    if (status == PV_OK) {
        *code = categories.code;
        categories.code = NULL;
    }
    pv__categories_free(ctx, &categories);
    return status;
}

pv_status pv__labels_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, const pv_roles *roles,
                           pv_dataset *data) {
    pv__plan plan = {0};
    PV_TRY(pv__plan_parts(ctx, table, roles, &plan));
    PV_TRY(pv__rows_select(ctx, table, &plan, roles->drop_missing, data));
    if (plan.target == table->columns)
        return PV_OK;
    data->classes = schema->classes;
    return match_column(ctx, table, plan.target, data, schema->labels, schema->classes, "label", &data->label);
}

static pv_status apply_columns(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, const pv_roles *roles,
                               pv_dataset *data) {
    pv__plan plan;
    PV_TRY(pv__plan_apply(ctx, table, roles, schema, &plan));
    int32_t **code = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, plan.features, sizeof *code, &code));
    PV_GOTO(done, pv__rows_select(ctx, table, &plan, roles->drop_missing, data));
    if (plan.target < table->columns) {
        PV_GOTO(done,
                match_column(ctx, table, plan.target, data, schema->labels, schema->classes, "label", &data->label));
        data->classes = schema->classes;
    }
    for (size_t s = 0; s < schema->sources; s++)
        if (plan.category[s])
            PV_GOTO(done, match_column(ctx, table, plan.feature[s], data, schema->source[s].level,
                                       schema->source[s].levels, "level", &code[s]));
    status = make_matrix(ctx, table, &plan, schema, code, data);
done:
    free_codes(ctx, code, plan.features);
    pv__plan_free(ctx, &plan);
    return status;
}

pv_status pv_schema_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, const pv_roles *roles,
                          pv_dataset **dataset) {
    const pv_roles features_alone = {0};
    pv_dataset *data = NULL;
    *dataset = NULL;
    pv_status status;
    PV_GOTO(done, dataset_of(ctx, table, &data));
    PV_GOTO(done, (schema->image ? pv__images_apply : apply_columns)(ctx, schema, table,
                                                                     roles ? roles : &features_alone, data));
    *dataset = data;
    data = NULL;
done:
    pv_dataset_free(ctx, data);
    return status;
}
