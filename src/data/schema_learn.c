/* Learns a schema from a table, including its labels, and applies it to other tables. sources.c handles the
 * features. */
#include <string.h>

#include "data/columns.h"
#include "base/number.h"

void pv_dataset_free(pv_ctx *ctx, pv_dataset *dataset) {
    if (!dataset)
        return;
    pv__free(ctx, dataset->x);
    pv__columns_free(ctx, dataset->columns);
    pv__free(ctx, dataset->label);
    pv__free(ctx, dataset->weight);
    pv__free(ctx, dataset->frequency);
    pv__free(ctx, dataset->image_row);
    if (!dataset->images_borrowed)
        pv_images_free(ctx, dataset->images);
    pv__free(ctx, dataset->table_row);
    pv__free(ctx, dataset->group);
    pv__free(ctx, dataset->stratum);
    pv__free(ctx, dataset->source);
    pv__free(ctx, dataset);
}

pv_targets pv_dataset_targets(const pv_dataset *dataset) {
    return (pv_targets){.n = dataset->rows,
                        .classes = dataset->classes,
                        .label = dataset->frequency ? NULL : dataset->label,
                        .frequency = dataset->frequency,
                        .weight = dataset->weight,
                        .set = dataset->matched ? dataset->group : NULL,
                        .stratum = dataset->stratum,
                        .unit = dataset->matched || dataset->clustered ? dataset->group : NULL,
                        .block = dataset->clustered || dataset->sampling ? dataset->stratum : NULL,
                        .sampling = dataset->sampling};
}

pv_status pv_dataset_cluster(pv_ctx *ctx, pv_dataset *dataset, const int32_t *cluster) {
    int32_t *group;
    for (size_t i = 0; i < dataset->rows; i++)
        if (cluster[i] < 0 || (size_t)cluster[i] >= dataset->rows)
            return pv__fail(ctx, PV_ERR_INPUT, "row %zu has the cluster number %d;\nnumber clusters from 0", i + 1,
                            cluster[i]);
    PV_TRY(pv__alloc(ctx, dataset->rows, sizeof *group, &group));
    memcpy(group, cluster, dataset->rows * sizeof *group);
    pv__free(ctx, dataset->group);
    dataset->group = group;
    dataset->matched = false;
    dataset->clustered = true;
    return PV_OK;
}

static void free_codes(pv_ctx *ctx, int32_t **code, size_t n) {
    for (size_t s = 0; code && s < n; s++)
        pv__free(ctx, code[s]);
    pv__free(ctx, code);
}

/* ---- labels ------------------------------------------------------------------------------------------------------ */

static pv_status check_labels(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, const pv_column *labels) {
    const char *name = table->column[plan->target].name;
    if (labels->levels == 1)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, plan->target + 1,
                           "the outcome '%s' is '%s' in every row used; two labels are needed:\ncheck the column and "
                           "which rows were kept",
                           pv__show(name).text, pv__show(labels->level[0]).text);
    if (labels->levels > PV__CLASSES_MAX)
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, plan->target + 1,
                           "the outcome '%s' has more than %d different values; it looks like a measurement or an id, "
                           "not a class:\nname another with `outcome`",
                           pv__show(name).text, PV__CLASSES_MAX);
    return PV_OK;
}

/* Rejects different spellings of the same number. Labels are sorted, so these are neighbours. */
static pv_status refuse_twins(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, const pv_column *labels) {
    for (int32_t i = 1; i < labels->levels; i++) {
        double left, right;
        const char *a = labels->level[i - 1], *b = labels->level[i];
        if (pv__number_parse(a, strlen(a), &left) && pv__number_parse(b, strlen(b), &right) && left == right)
            return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, plan->target + 1,
                               "the outcome has the labels '%s' and '%s', one number written in two ways;\nuse one",
                               pv__show(a).text, pv__show(b).text);
    }
    return PV_OK;
}

/* Equal except for case and surrounding spaces. */
static bool reads_alike(const char *a, const char *b) {
    static const char spaces[] = " \t\r\n";
    a += strspn(a, spaces);
    b += strspn(b, spaces);
    size_t n = strlen(a), m = strlen(b);
    while (n > 0 && strchr(spaces, a[n - 1]))
        n--;
    while (m > 0 && strchr(spaces, b[m - 1]))
        m--;
    return n == m && pv__same_letters(a, b, n);
}

/* Rejects labels that read alike if two would be left, since they are most likely one label in two spellings: nobody
 * means three labels by Yes, yes and no. */
static pv_status check_spellings(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan,
                                 const pv_column *labels) {
    enum { MOST = 20 };
    const char *first = NULL, *second = NULL;
    int32_t distinct = 0;
    for (int32_t i = 0; i < labels->levels && labels->levels <= MOST; i++) {
        int32_t j = 0;
        while (j < i && !reads_alike(labels->level[i], labels->level[j]))
            j++;
        distinct += j == i;
        if (j < i && !first) {
            first = labels->level[j];
            second = labels->level[i];
        }
    }
    if (!first)
        return PV_OK;
    pv__shown one = pv__show(first), other = pv__show(second), name = pv__show(table->column[plan->target].name);
    if (labels->levels > 2 && distinct <= 2)
        return pv__fail_at(
            ctx, PV_ERR_INPUT, table->source, 0, plan->target + 1,
            "the outcome '%s' has the labels '%s' and '%s', which differ only in case or spaces:\nwrite them alike",
            name.text, one.text, other.text);
    pv__log(ctx, PV_LOG_WARNING,
            "%s: the outcome '%s' has the labels '%s' and '%s', which differ in case or spaces only", table->source,
            name.text, one.text, other.text);
    return PV_OK;
}

static pv_status move_positive(pv_ctx *ctx, const pv_dataset *data, const char *positive, pv_column *labels) {
    char joined[200];
    pv__join(labels->level, (size_t)labels->levels, 6, joined, sizeof joined);
    if (labels->levels != 2)
        return pv__fail(ctx, PV_ERR_USAGE, "`positive` is for two classes; the outcome has %d: %s;\nleave it out",
                        (int)labels->levels, joined);
    int32_t at = pv__label_find(labels->level, 2, positive, strlen(positive));
    if (at < 0) {
        char *const *words = labels->level;
        const char *near = pv_nearest(positive, (const char *const *)words, 2);
        return pv__fail(ctx, PV_ERR_USAGE, "`positive`: the outcome has no label '%s'; %s%s%s", pv__show(positive).text,
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

/* Orders the labels as `order` lists them, each once. */
static pv_status put_in_order(pv_ctx *ctx, const pv_dataset *data, const char *order, pv_column *labels) {
    char **names = NULL, **sorted = NULL, joined[200];
    int32_t *place = NULL; /* [levels], position of each label in the list; -1: not listed */
    size_t count = 0, found = 0, n = (size_t)labels->levels;
    pv_status status;
    PV_GOTO(done, pv__names_split(ctx, "`order`", order, &names, &count));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *place, &place));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *sorted, &sorted));
    for (size_t l = 0; l < n; l++)
        place[l] = -1;
    for (; found < count && found < n; found++) {
        int32_t at = pv__label_find(labels->level, labels->levels, names[found], strlen(names[found]));
        if (at < 0 || place[at] >= 0)
            break;
        place[at] = (int32_t)found;
        sorted[found] = labels->level[at];
    }
    pv__join(labels->level, n, 8, joined, sizeof joined);
    if (found < n || pv__names_entries(order) != n)
        PV_GOTO(done, pv__fail(ctx, PV_ERR_USAGE, "`order=%s`:\nlist each of the %zu labels once; they are %s",
                               pv__show(order).text, n, joined));
    for (size_t i = 0; i < data->rows; i++)
        labels->code[i] = place[labels->code[i]];
    memcpy(labels->level, sorted, n * sizeof *sorted);
done:
    pv_string_list_free(ctx, names, count);
    pv__free(ctx, sorted);
    pv__free(ctx, place);
    return status;
}

/* Whether of two labels this one is evidently the positive one. */
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

int pv_labels_positive(const char *const *labels) {
    double a, b;
    if (pv__number_parse(labels[0], strlen(labels[0]), &a) && pv__number_parse(labels[1], strlen(labels[1]), &b))
        return a > 0 && b > 0 ? -1 : a > b ? 0 : 1; /* 0 and 1, -1 and 1; for 1 and 2 both conventions are in use */
    return says_positive(labels[0], labels[1]) ? 0 : says_positive(labels[1], labels[0]) ? 1 : -1;
}

/* Guesses the positive one of two labels; NULL if only spelling order would decide. */
static const char *guess_positive(const pv_column *labels) {
    char *const *words = labels->level;
    int positive = pv_labels_positive((const char *const *)words);
    return positive < 0 ? NULL : labels->level[positive];
}

/* The positive label, if it was named by itself or with its prevalence, LABEL=P. The caller frees *positive. */
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

static pv_status learn_labels(pv_ctx *ctx, const pv_table *table, const pv__encoding *plan, const pv_roles *roles,
                              pv_schema *schema, pv_dataset *data) {
    pv_column found = {0};
    char *named = NULL;
    pv_status status;
    PV_GOTO(done, named_positive(ctx, roles, &named));
    if (pv__encoding_counts(plan, table)) {
        status = pv__counts_learn(ctx, table, plan, named, schema, data);
        goto done;
    }
    PV_GOTO(done, pv__categories_make(ctx, table, plan->target, data, PV__CLASSES_MAX, &found));
    PV_GOTO(done, check_labels(ctx, table, plan, &found));
    PV_GOTO(done, pv__categories_sort(ctx, data, false, &found));
    PV_GOTO(done, refuse_twins(ctx, table, plan, &found));
    PV_GOTO(done, check_spellings(ctx, table, plan, &found));
    const char *positive = named || found.levels != 2 || roles->order ? named : guess_positive(&found);
    schema->positive_guessed = found.levels == 2 && !positive && !roles->order;
    if (roles->order)
        PV_GOTO(done, put_in_order(ctx, data, roles->order, &found));
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
    pv__encoding plan = {0};
    PV_TRY(pv__encoding_training(ctx, table, roles, &plan));
    PV_TRY(pv__rows_select(ctx, table, &plan, roles->missing, "", data));
    return learn_labels(ctx, table, &plan, roles, schema, data);
}

pv_status pv__groups_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_dataset *data) {
    size_t c;
    const char *group = pv__roles_group(roles);
    if (!group)
        return PV_OK;
    data->matched = roles->matched != NULL;
    data->clustered = !data->matched && roles->cluster;
    PV_TRY(pv_table_find(ctx, table, pv__roles_grouping(roles), group, &c));
    const pv_column *column = &table->column[c];
    for (size_t i = 0; i < data->rows; i++)
        if (pv__cell_missing(column, data->table_row[i]))
            return PV__FAIL_CELL(ctx, table, data->table_row[i], c, "no %s in column '%s'; every row needs one",
                                 data->matched     ? "set"
                                 : data->clustered ? "cluster"
                                                   : "group",
                                 pv__show(column->name).text);
    if (column->type == PV_COLUMN_NUMBER) { /* table made in memory: order of first appearance, as for texts */
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
                           "has images, and this model takes columns:\nchoose `model=convnet` or inception, or name "
                           "the feature columns with `features`");
    pv__encoding plan;
    PV_TRY(pv__terms_parse(ctx, roles->terms, schema));
    PV_TRY(pv__encoding_learn(ctx, table, roles, schema, &plan));
    pv__terms_drop_plain(ctx, schema);
    plan.shared = pv__shares(ctx);
    int32_t **code = NULL;
    size_t coded = plan.features; /* terms will add features */
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, coded, sizeof *code, &code));
    PV_GOTO(done, pv__alloc(ctx, coded, sizeof *plan.glance, &plan.glance));
    PV_GOTO(done, pv__rows_select(ctx, table, &plan, roles->missing,
                                  ", or learn from them with `missing=indicator` or impute", data));
    PV_GOTO(done, roles->votes ? pv__votes_learn(ctx, table, roles->votes, schema, data)
                               : learn_labels(ctx, table, &plan, roles, schema, data));
    PV_GOTO(done, pv__sources_learn(ctx, table, &plan, roles, data, schema, code));
    PV_GOTO(done, pv__sources_fill(ctx, table, &plan, schema, code, PV_UNSEEN_REFUSE, true, data));
    PV_GOTO(done, pv__suspect_leaks(ctx, data, schema));
    if (roles->collinear != PV_COLLINEAR_KEEP)
        status = pv__collinear_check(ctx, table, data, schema, roles->collinear == PV_COLLINEAR_REFUSE);
done:
    free_codes(ctx, code, coded);
    pv__encoding_free(ctx, &plan);
    return status;
}

/* If reading the table's file failed, reports that instead of any error that follows from it. */
static pv_status read_whole(pv_ctx *ctx, const pv_table *table, pv_status status) {
    pv_status read = status == PV_ERR_INTERRUPTED ? PV_OK : pv__packed_unchanged(ctx, table);
    return read == PV_OK ? status : read;
}

/* A data set without rows that records its source. */
static pv_status dataset_of(pv_ctx *ctx, const pv_table *table, pv_dataset **dataset) {
    PV_TRY(pv__alloc(ctx, 1, sizeof **dataset, dataset));
    return pv__strdup(ctx, table->source, &(*dataset)->source);
}

/* Ranks that learn together must learn the same from the same table. */
static pv_status compare_ranks(pv_ctx *ctx, const pv_table *table, const pv_roles *roles) {
    char data[80];
    pv__format(data, sizeof data, "the data=%zu rows, %016llx\n", table->rows, (unsigned long long)table->hash);
    return pv__roles_compare(ctx, roles, data, "");
}

pv_status pv_schema_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv_schema **schema,
                          pv_dataset **dataset) {
    pv_schema *made = NULL;
    pv_dataset *data = NULL;
    *schema = NULL;
    *dataset = NULL;
    bool begun = ctx->ranks.begun;
    pv_status status;
    PV_GOTO(done, compare_ranks(ctx, table, roles));
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *made, &made));
    PV_GOTO(done, dataset_of(ctx, table, &data));
    PV_GOTO(done, (table->arrays && roles->image ? pv__images_learn : learn_columns)(ctx, table, roles, made, data));
    pv_roles named = *roles;
    if (made->image && *made->image->votes)
        named.target = made->image->votes;
    if (made->votes)
        named.target = roles->votes;
    PV_GOTO(done, pv__schema_name(ctx, &named, made));
    PV_GOTO(done, pv__written_copy(ctx, &table->written, &made->written));
    PV_GOTO(done, pv__weights_learn(ctx, table, roles, made, data));
    made->sampling = data->sampling;
    PV_GOTO(done, pv__groups_learn(ctx, table, roles, data));
    PV_GOTO(done, pv__strata_learn(ctx, table, roles, made, data));
    PV_GOTO(done, pv__suspect_sets(ctx, table, data, made));
    PV_GOTO(done, pv__suspect_repeats(ctx, data, made));
    PV_GOTO(done, pv__content_hash(ctx, made, table, roles, pv__shares(ctx), data));
done:
    status = read_whole(ctx, table, status);
    if (status == PV_OK) {
        *schema = made;
        *dataset = data;
    }
    ctx->ranks.begun = begun; /* until the fit each rank may be interrupted alone */
    if (status != PV_OK) {
        pv_schema_free(ctx, made);
        pv_dataset_free(ctx, data);
    }
    return status;
}

/* ---- applying ---------------------------------------------------------------------------------------------------- */

/* The column's codes among the given levels. The caller frees *code. */
static pv_status match_column(pv_ctx *ctx, const pv_table *table, size_t column, const pv_dataset *data,
                              char *const *levels, int32_t n, const char *what, bool refuse, int32_t **code) {
    pv_column categories;
    PV_TRY(pv__categories_make(ctx, table, column, data, INT32_MAX - 1, &categories));
    pv_status status = pv__categories_match(ctx, table, column, data, levels, n, what, refuse, &categories);
    if (status == PV_OK) {
        *code = categories.code;
        categories.code = NULL;
    }
    pv__categories_free(ctx, &categories);
    return status;
}

pv_status pv__labels_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, const pv_roles *roles,
                           pv_dataset *data) {
    pv__encoding plan = {0};
    PV_TRY(pv__encoding_parts(ctx, table, roles, &plan));
    PV_TRY(pv__rows_select(ctx, table, &plan, roles->missing, "", data));
    if (pv__encoding_counts(&plan, table))
        return pv__counts_apply(ctx, table, &plan, schema, data);
    if (plan.target == table->columns)
        return PV_OK;
    data->classes = schema->classes;
    return match_column(ctx, table, plan.target, data, schema->labels, schema->classes, "label", true, &data->label);
}

/* Counts rows with levels that training did not have, and reports the first. */
static void count_unseen(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, const pv__encoding *plan,
                         int32_t *const *code, int rule, pv_dataset *data) {
    static const char *const rules[] = {
        [PV_UNSEEN_OTHER] = "the average of the training data's rare levels, or a missing cell if there were none",
        [PV_UNSEEN_MISSING] = "missing cells are",
        [PV_UNSEEN_REFERENCE] = "the reference level is",
        [PV_UNSEEN_REFUSE] = ""};
    size_t row = 0, column = 0;
    for (size_t i = 0; i < data->rows; i++)
        for (size_t s = 0; s < schema->sources; s++)
            if (code[s] && code[s][i] == PV__UNSEEN) {
                row = data->unseen == 0 ? data->table_row[i] : row;
                column = data->unseen == 0 ? plan->feature[s] : column;
                data->unseen++;
                break;
            }
    if (data->unseen == 0 || (table->told && *table->told))
        return;
    const pv_column *first = &table->column[column];
    char number[PV__NUMBER_TEXT], count[80];
    if (table->told) /* more pieces may follow, so the total is not known yet */
        pv__format(count, sizeof count, "rows have");
    else
        pv__format(count, sizeof count, "%zu row%s", data->unseen, data->unseen == 1 ? " has" : "s have");
    if (table->told)
        *table->told = true;
    pv__log(ctx,
            rule == PV_UNSEEN_OTHER ? PV_LOG_WARNING
                                    : PV_LOG_INFO, /* if the user chose the rule, information is enough */
            "%s: %s a level that the training data did not have, the first in row %zu: '%s' in column '%s'; treated as "
            "%s (`unseen`)",
            table->source, count, table->before + row + 1, pv__show(pv__cell_text(first, row, number)).text,
            pv__show(first->name).text, rules[rule]);
}

/* How to handle missing cells: as in training unless the caller chooses. */
static int missing_rule(const pv_schema *schema, const pv_roles *roles) {
    if (roles->missing != PV_MISSING_MODEL)
        return roles->missing;
    return schema->missing >= PV_MISSING_INDICATOR ? schema->missing : PV_MISSING_REFUSE;
}

static pv_status apply_columns(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, const pv_roles *roles,
                               pv_dataset *data) {
    pv__encoding plan;
    PV_TRY(pv__encoding_apply(ctx, table, roles, schema, &plan));
    int32_t **code = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, plan.features, sizeof *code, &code));
    PV_GOTO(done,
            pv__rows_select(ctx, table, &plan, missing_rule(schema, roles),
                            roles->missing == PV_MISSING_MODEL ? ", or predict them with `missing=impute`" : "", data));
    if (pv__encoding_counts(&plan, table))
        PV_GOTO(done, pv__counts_apply(ctx, table, &plan, schema, data));
    if (plan.target < table->columns) {
        PV_GOTO(done, match_column(ctx, table, plan.target, data, schema->labels, schema->classes, "label", true,
                                   &data->label));
        data->classes = schema->classes;
    }
    if (roles->votes)
        PV_GOTO(done, pv__votes_apply(ctx, table, roles->votes, schema->labels, schema->classes, data));
    for (size_t s = 0; s < schema->sources; s++)
        if (plan.category[s])
            PV_GOTO(done, match_column(ctx, table, plan.feature[s], data, schema->source[s].level,
                                       schema->source[s].levels, "level", roles->unseen == PV_UNSEEN_REFUSE, &code[s]));
    count_unseen(ctx, schema, table, &plan, code, roles->unseen, data);
    for (size_t s = 0; s < schema->sources; s++)
        if (!plan.category[s] && plan.feature[s] < table->columns)
            pv__suspect_unit(ctx, table, plan.feature[s], &schema->source[s], data);
    PV_GOTO(done, pv__terms_apply(ctx, table, data, schema, code, roles->unseen, &plan));
    status = pv__sources_fill(ctx, table, &plan, schema, code, roles->unseen, false, data);
done:
    free_codes(ctx, code, plan.features);
    pv__encoding_free(ctx, &plan);
    return status;
}

static pv_status apply_clusters(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, const pv_roles *roles,
                                pv_dataset *data) {
    const pv_roles own = {.cluster = pv__cluster_of(schema, roles)};
    if (!own.cluster || (!roles->cluster && pv__table_lookup(table, own.cluster) == table->columns))
        return PV_OK;
    return pv__groups_learn(ctx, table, &own, data);
}

pv_status pv_dataset_of_table(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, pv_dataset **dataset) {
    const pv_roles features_alone = {.missing = PV_MISSING_MODEL};
    return pv_schema_apply(ctx, schema, table, &features_alone, dataset);
}

pv_status pv_schema_apply(pv_ctx *ctx, const pv_schema *schema, const pv_table *table, const pv_roles *roles,
                          pv_dataset **dataset) {
    const pv_roles features_alone = {0};
    pv_dataset *data = NULL;
    *dataset = NULL;
    if (!roles)
        roles = &features_alone;
    pv_status status;
    PV_GOTO(done, dataset_of(ctx, table, &data));
    PV_GOTO(done, (schema->image ? pv__images_apply : apply_columns)(ctx, schema, table, roles, data));
    PV_GOTO(done, pv__strata_apply(ctx, schema, table, data));
    PV_GOTO(done, apply_clusters(ctx, schema, table, roles, data));
    PV_GOTO(done, pv__content_hash(ctx, schema, table, roles, false, data));
    data->sampling = schema->sampling && data->weight && roles->weights_are != PV_WEIGHTS_COUNTS;
    pv__weights_scale(data);
done:
    status = read_whole(ctx, table, status);
    if (status == PV_OK)
        *dataset = data;
    else
        pv_dataset_free(ctx, data);
    return status;
}
