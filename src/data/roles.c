/* Assigns roles to the columns of a table. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/schema_learn.h"
#include "base/number.h"

#define ROLE(name, field, metavar, help)                                                                               \
    { name, PV_OPTION_TEXT, offsetof(pv_roles, field), NULL, 0, 0, NULL, metavar, help }

const pv_option pv_role_option_table[] = {
    ROLE("outcome", target, "COL",
         "The column to predict. Required; images: labels, or `votes`. CASES/CONTROLS: two columns of counts, the "
         "people with and without the outcome in each row."),
    ROLE("positive", positive, "LABEL",
         "Two classes: the label that `prevalence`, odds ratios and rates refer to. Default: 1 of 0 and 1, or the one "
         "whose name is case, yes, true, malignant or similar. For other labels, such as 1 and 2, `prevalence` must "
         "name it."),
    ROLE("order", order, "LABELS",
         "All labels in order, comma-separated, as in low,medium,high, for `model=ordinal`. Default: numbers by size, "
         "texts alphabetically."),
    ROLE("weights", weights, "COL", "A column of counts or weights, one non-negative number per row."),
    {"weights-are", PV_OPTION_CHOICE, offsetof(pv_roles, weights_are), "auto", 0, 0, "auto|counts|sampling", NULL,
     "counts: a row represents that many identical rows. sampling: a row represents that many people of the population "
     "(inverse sampling probabilities); use `infer=robust` for intervals. auto: counts if all are whole numbers."},
    ROLE("offset", offset, "COL",
         "A column of numbers added to the log odds with a coefficient of 1 (a known effect, the logarithm of a time "
         "under observation). Two labels, or `model=ordinal`; predict needs the column as well. Never a feature."),
    ROLE("cluster", cluster, "COL",
         "Rows with the same value in this column were sampled together (a household, a practice): `infer=robust` "
         "treats them as one unit, and folds do not split them. Never a feature."),
    ROLE("id", id, "COL", "A column that names rows; never a feature."),
    ROLE("group", group, "COL",
         "Rows with the same value in this column (a patient, a centre) stay in one fold, or on one side of "
         "`validation`. Never a feature."),
    ROLE("matched", matched, "COL",
         "A column that identifies matched sets (each case with its controls): odds ratios by conditional likelihood, "
         "as in R's clogit. Absolute risks need `prevalence` and `population-sample` as well. Never a feature."),
    ROLE("strata", strata, "COLS",
         "Columns that define the sampling strata (a site, an age group), comma-separated. Each combination of their "
         "levels is a stratum with its own prevalence, given by `prevalence-by`, `phase-one` or `subcohort`. With "
         "sampling weights or clusters and none of these options, they are the strata of a survey, used in the "
         "variances of `infer=robust`. They are categories, and features unless `features` or `exclude` leaves them "
         "out."),
    ROLE("features", features, "COLS", "Only these columns are features, comma-separated. Default: all others."),
    ROLE("exclude", exclude, "COLS", "Columns that are not features, comma-separated."),
    ROLE("reference", reference, "COL=LEVEL",
         "Reference levels of text columns, comma-separated. Default: the first in natural order, 5-9 before 10-14."),
    ROLE("categorical", categorical, "COLS", "Numeric columns to treat as categories, comma-separated."),
    ROLE(
        "terms", terms, "TERMS",
        "Features computed from columns, comma-separated: log(COL), sqrt(COL), ns(COL,DF) (a natural spline), "
        "poly(COL,DEGREE) (orthogonal polynomials), A:B (an interaction). A column inside a function is not a feature "
        "by itself unless listed too, as in age,log(age); columns of interactions remain features. The model keeps "
        "knots and other learned numbers for predict. score(COL), for `model=auto`: cross-fitted log-likelihood ratios "
        "of another model, as a further candidate."),
    {"missing", PV_OPTION_CHOICE, offsetof(pv_roles, missing), "refuse", 0, 0, "refuse|drop|indicator|impute", "WHAT",
     "Missing cells. refuse: stop and show where. drop: leave such rows out and report how many. impute: the mean or "
     "the most frequent level, which the model keeps for predict. indicator: impute, and add an indicator column, "
     "COLUMN (missing)."},
    {"collinear", PV_OPTION_CHOICE, offsetof(pv_roles, collinear), "warn", 0, 0, "warn|refuse|keep", NULL,
     "Columns that are exact linear combinations of others. warn: continue with a warning. refuse: stop. keep: "
     "continue without a warning. Without a prior, warn stops too."},
    {"constant", PV_OPTION_CHOICE, offsetof(pv_roles, constant), "drop", 0, 0, "drop|refuse", NULL,
     "Columns with the same value in every row. drop: leave them out with a note; if none is left, the model is an "
     "intercept. refuse: stop."},
    {0}};

/* ---- encodings --------------------------------------------------------------------------------------------------- */

void pv__encoding_free(pv_ctx *ctx, pv__encoding *plan) {
    pv__free(ctx, plan->vote);
    pv__free(ctx, plan->feature);
    pv__free(ctx, plan->category);
    pv__free(ctx, plan->chosen);
    for (size_t s = 0; plan->made && s < plan->features; s++)
        pv__free(ctx, plan->made[s]);
    pv__free(ctx, plan->made);
    pv__free(ctx, plan->term_column);
    pv__free(ctx, plan->glance);
    *plan = (pv__encoding){0};
}

pv_status pv__number_column(pv_ctx *ctx, const pv_table *table, const char *option, const char *name, size_t *column) {
    PV_TRY(pv_table_find(ctx, table, option, name, column));
    const pv_column *found = &table->column[*column];
    if (found->type == PV_COLUMN_NUMBER)
        return PV_OK;
    size_t row = 0;
    while (row + 1 < table->rows && found->code[row] < 0)
        row++;
    return PV__FAIL_CELL(ctx, table, row, *column, "%s: '%s' in column '%s' is not a number", option,
                         found->code[row] < 0 ? "" : pv__show(found->level[found->code[row]]).text,
                         pv__show(name).text);
}

static bool is_target(const pv__encoding *plan, size_t column) {
    return column == plan->target || column == plan->count[0] || column == plan->count[1];
}

/* Marks the listed columns. If `refuse` is given, rejects those that have a role in it. */
static pv_status mark(pv_ctx *ctx, const pv_table *table, const char *option, const char *text,
                      const pv__encoding *refuse, bool *marked) {
    char **names;
    size_t count;
    PV_TRY(pv__names_split(ctx, option, text, &names, &count));
    pv_status status = PV_OK;
    for (size_t i = 0; i < count && status == PV_OK; i++) {
        size_t c;
        status = pv_table_find(ctx, table, option, names[i], &c);
        if (status == PV_OK && refuse && (is_target(refuse, c) || c == refuse->weights))
            status = pv__fail(ctx, PV_ERR_USAGE, "%s: '%s' is the %s and cannot be a feature", option,
                              pv__show(names[i]).text, is_target(refuse, c) ? "outcome" : "weights");
        else if (status == PV_OK)
            marked[c] = true;
    }
    pv_string_list_free(ctx, names, count);
    return status;
}

/* The roles other than features. */
pv_status pv__encoding_parts(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv__encoding *plan) {
    plan->target = plan->weights = plan->group = plan->offset = table->columns;
    if (roles->target && roles->weights && strcmp(roles->target, roles->weights) == 0)
        return pv__fail(ctx, PV_ERR_USAGE, "column '%s' cannot be both `outcome` and `weights`",
                        pv__show(roles->target).text);
    PV_TRY(pv__counts_find(ctx, table, roles, plan));
    if (roles->target && !pv__encoding_counts(plan, table))
        PV_TRY(pv_table_find(ctx, table, "`outcome`", roles->target, &plan->target));
    if (roles->weights)
        PV_TRY(pv__number_column(ctx, table, "`weights`", roles->weights, &plan->weights));
    return roles->votes ? pv__encoding_votes(ctx, table, roles->votes, plan) : PV_OK;
}

/* The offset's column must be a number and have no other role. */
static pv_status check_offset(pv_ctx *ctx, const pv_roles *roles) {
    const struct {
        const char *option, *list;
    } lists[] = {{"exclude", roles->exclude}, {"categorical", roles->categorical}, {"strata", roles->strata}};
    if (roles->image)
        return pv__fail(ctx, PV_ERR_USAGE, "`offset` is for tables, and these rows are images:\nleave it out");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        char **names;
        size_t n;
        if (!lists[i].list)
            continue;
        PV_TRY(pv__names_split(ctx, lists[i].option, lists[i].list, &names, &n));
        bool found = pv__listed((const char *const *)names, n, roles->offset);
        pv_string_list_free(ctx, names, n);
        if (found)
            return pv__fail(ctx, PV_ERR_USAGE, "`offset`: '%s' is also named in `%s`; a column can have only one role",
                            pv__show(roles->offset).text, lists[i].option);
    }
    return PV_OK;
}

pv_status pv_roles_check(pv_ctx *ctx, const pv_roles *roles) {
    const char *group = pv__roles_group(roles), *option = pv__roles_grouping(roles);
    if (roles->votes && roles->target)
        return pv__fail(ctx, PV_ERR_USAGE, "give `outcome` or `votes`, not both");
    if (roles->votes && roles->positive)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`positive` cannot be used with `votes`: labels are in the order of their columns;\nname the "
                        "label of interest last");
    if (roles->votes && (roles->matched || roles->strata))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`%s` cannot be used with `votes`: it needs rows with one label each;\nleave it out",
                        roles->matched ? "matched" : "strata");
    if (roles->order && (roles->votes || roles->positive || pv__counts_slash(roles->target)))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`order` cannot be used with %s, which already gives the order:\nleave one out",
                        roles->votes      ? "`votes`"
                        : roles->positive ? "`positive`"
                                          : "`outcome` of counts");
    if (roles->offset)
        PV_TRY(check_offset(ctx, roles));
    if (!roles->target && !roles->votes)
        return pv__fail(ctx, PV_ERR_USAGE, "`outcome` is missing:\nname the column to predict");
    if (!group)
        return PV_OK;
    if (!*group)
        return pv__fail(ctx, PV_ERR_USAGE, "%s needs the name of a column", option);
    if (roles->group && (roles->matched || roles->cluster) && strcmp(roles->group, group) != 0)
        return pv__fail(ctx, PV_ERR_USAGE, "%s stay together already:\nleave `group` out, or %s",
                        roles->matched ? "matched sets" : "clusters", option);
    if (roles->matched && roles->cluster)
        return pv__fail(ctx, PV_ERR_USAGE, "a fit has either `matched` sets or a `cluster` column:\nleave one out");
    if (roles->matched && roles->weights)
        return pv__fail(
            ctx, PV_ERR_USAGE,
            "`weights` cannot be used with `matched`:\nwrite one row for each person of a set, and leave them out");
    if (roles->target && strcmp(group, roles->target) == 0)
        return pv__fail(ctx, PV_ERR_USAGE, "%s: '%s' is the outcome;\nname another column", option,
                        pv__show(group).text);
    if (roles->weights && strcmp(group, roles->weights) == 0)
        return pv__fail(ctx, PV_ERR_USAGE, "%s: '%s' is the column of weights;\nname another column", option,
                        pv__show(group).text);
    return PV_OK;
}

pv_status pv__encoding_training(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, pv__encoding *plan) {
    PV_TRY(pv_roles_check(ctx, roles));
    PV_TRY(pv__encoding_parts(ctx, table, roles, plan));
    const char *group = pv__roles_group(roles);
    return group ? pv_table_find(ctx, table, pv__roles_grouping(roles), group, &plan->group) : PV_OK;
}

/* Makes the offset's column the first feature. It must have no other role. */
static pv_status plan_offset(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, size_t id, const bool *wanted,
                             bool *excluded, pv__encoding *plan) {
    size_t c;
    if (!roles->offset)
        return PV_OK;
    PV_TRY(pv_table_find(ctx, table, "`offset`", roles->offset, &c));
    const char *part = is_target(plan, c)   ? "the outcome"
                       : c == plan->weights ? "the column of weights"
                       : c == plan->group   ? "the column of groups"
                       : c == id            ? "the column of ids"
                       : wanted[c]          ? "named in `features` as well"
                                            : NULL;
    if (part)
        return pv__fail(ctx, PV_ERR_USAGE, "`offset`: '%s' is %s; a column can have only one role",
                        pv__show(roles->offset).text, part);
    PV_TRY(pv__number_column(ctx, table, "`offset`", roles->offset, &c));
    excluded[c] = true;
    plan->offset = plan->feature[plan->features++] = c;
    return PV_OK;
}

/* How terms use a column. */
typedef struct term_use {
    bool named;    /* listed by itself */
    bool replaced; /* replaced by a function of it */
} term_use;

/* Adds the terms' columns to the plan; use [columns]: how each column is used. */
static pv_status plan_terms(pv_ctx *ctx, const pv_table *table, const pv_schema *schema, const bool *excluded,
                            const bool *category, size_t id, pv__encoding *plan, term_use *use) {
    PV_TRY(pv__alloc(ctx, 2 * schema->terms, sizeof *plan->term_column, &plan->term_column));
    plan->term_columns = 2 * schema->terms;
    for (size_t i = 0; i < plan->term_columns; i++) {
        const pv_term *term = &schema->term[i / 2];
        const char *name = term->column[i % 2];
        size_t *c = &plan->term_column[i];
        *c = table->columns;
        if (!name)
            continue;
        PV_TRY(pv_table_find(ctx, table, "`terms`", name, c));
        const char *part = is_target(plan, *c)                                 ? "outcome"
                           : *c == plan->weights                               ? "column of weights"
                           : *c == plan->group                                 ? "column of groups"
                           : *c == id                                          ? "column of ids"
                           : *c == plan->offset && term->kind == PV_TERM_PLAIN ? "offset"
                                                                               : NULL;
        if (part)
            return pv__fail(ctx, PV_ERR_USAGE, "`terms`: '%s' is the %s and cannot be a feature", pv__show(name).text,
                            part);
        if (term->kind == PV_TERM_PLAIN && excluded[*c])
            return pv__fail(ctx, PV_ERR_USAGE, "`terms`: '%s' is named in `exclude` as well;\nleave it out of one",
                            pv__show(name).text);
        use[*c].named |= term->kind == PV_TERM_PLAIN;
        if (term->kind == PV_TERM_PLAIN || term->kind == PV_TERM_PRODUCT)
            continue;
        use[*c].replaced = true;
        if (category[*c])
            return pv__fail(ctx, PV_ERR_USAGE,
                            "`terms`: '%s' is named in `categorical` and has no %s;\nleave it out of one",
                            pv__show(name).text, pv_term_kind_name(term->kind));
        PV_TRY(pv__number_column(ctx, table, "`terms`", name, c));
    }
    return PV_OK;
}

/* In a product, a category uses the levels of its column, which must be a feature. */
static pv_status check_products(pv_ctx *ctx, const pv_table *table, const pv_schema *schema, const bool *category,
                                const pv__encoding *plan) {
    for (size_t i = 0; i < plan->term_columns; i++) {
        size_t c = plan->term_column[i], f = 0;
        if (c == table->columns || (table->column[c].type == PV_COLUMN_NUMBER && !category[c]))
            continue;
        while (f < plan->features && plan->feature[f] != c)
            f++;
        if (f == plan->features)
            return pv__fail(ctx, PV_ERR_USAGE,
                            "`terms`: '%s' has categories, and an interaction needs their column as a feature;\nname "
                            "it in `terms` or `features`, or leave it out of `exclude`",
                            pv__show(schema->term[i / 2].column[i % 2]).text);
    }
    return PV_OK;
}

pv_status pv__encoding_learn(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, const pv_schema *schema,
                             pv__encoding *plan) {
    *plan = (pv__encoding){0};
    bool *wanted = NULL, *excluded = NULL, *category = NULL;
    term_use *use = NULL;
    size_t n = table->columns, id = n;
    bool only = roles->features && *roles->features;
    pv_status status;
    PV_GOTO(done, pv__encoding_training(ctx, table, roles, plan));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *wanted, &wanted));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *excluded, &excluded));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *category, &category));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *use, &use));
    PV_GOTO(done, mark(ctx, table, "`features`", roles->features, plan, wanted));
    PV_GOTO(done, mark(ctx, table, "`exclude`", roles->exclude, NULL, excluded));
    PV_GOTO(done, mark(ctx, table, "`categorical`", roles->categorical, NULL, category));
    PV_GOTO(done, mark(ctx, table, "`strata`", roles->strata, plan, category));
    if (roles->id) {
        PV_GOTO(done, pv_table_find(ctx, table, "`id`", roles->id, &id));
        excluded[id] = true;
    }
    if (plan->group < n)
        excluded[plan->group] = true;
    for (size_t i = 0; i < plan->votes; i++)
        excluded[plan->vote[i]] = true;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *plan->feature, &plan->feature));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *plan->category, &plan->category));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *plan->chosen, &plan->chosen));
    PV_GOTO(done, plan_offset(ctx, table, roles, id, wanted, excluded, plan));
    PV_GOTO(done, plan_terms(ctx, table, schema, excluded, category, id, plan, use));
    for (size_t c = 0; c < n; c++) {
        if (is_target(plan, c) || c == plan->weights || excluded[c] ||
            (!use[c].named && ((only && !wanted[c]) || use[c].replaced)))
            continue;
        plan->chosen[plan->features] = category[c];
        plan->category[plan->features] = category[c] || table->column[c].type == PV_COLUMN_TEXT;
        plan->feature[plan->features++] = c;
    }
    PV_GOTO(done, check_products(ctx, table, schema, category, plan));
    bool none = plan->features == (plan->offset < n) && schema->terms == 0;
    if (none && roles->constant == PV_CONSTANT_REFUSE)
        status = pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0,
                             "no column is left as a feature;\ncheck `features` and `exclude`");
    else if (none)
        pv__log(ctx, PV_LOG_INFO, "%s: no column is left as a feature: the model is an intercept", table->source);
done:
    pv__free(ctx, wanted);
    pv__free(ctx, excluded);
    pv__free(ctx, category);
    pv__free(ctx, use);
    if (status != PV_OK)
        pv__encoding_free(ctx, plan);
    return status;
}

/* A number column of training must be a number column here; numbers can be read as texts if training had texts. */
static pv_status find_source(pv_ctx *ctx, const pv_table *table, const pv_schema *schema,
                             const pv_source_column *source, size_t *column) {
    *column = pv__table_lookup(table, source->name);
    if (*column == table->columns) {
        char suggestion[340];
        pv__table_suggest(ctx, table, source->name, suggestion, sizeof suggestion);
        return pv__fail_at(ctx, PV_ERR_INPUT, table->source, 0, 0, "the model needs a column '%s'%s",
                           pv__show(source->name).text, suggestion);
    }
    const pv_column *found = &table->column[*column];
    if (source->type == PV_COLUMN_TEXT || found->type == PV_COLUMN_NUMBER)
        return PV_OK;
    size_t row = 0;
    while (row + 1 < table->rows && found->code[row] < 0)
        row++;
    const char *text = found->code[row] < 0 ? "" : found->level[found->code[row]];
    const char *why = "", *decimal = schema->written.decimal;
    double value;
    if (pv__number_parse(text, strlen(text), &value))
        why = decimal && strcmp(decimal, ",") == 0
                  ? "; the training table had decimal commas: if this one has points, add `decimal=.`"
                  : ", a text: its numbers are texts, as in quotes; write them as numbers";
    return PV__FAIL_CELL(ctx, table, row, *column, "column '%s' held numbers in training, here it holds '%s'%s",
                         pv__show(source->name).text, pv__show(text).text, why);
}

/* Finds the columns of the terms; the first stands for the features that the term makes. */
static pv_status apply_terms(pv_ctx *ctx, const pv_table *table, const pv_schema *schema, pv__encoding *plan) {
    size_t s = pv__schema_plain(schema);
    PV_TRY(pv__alloc(ctx, 2 * schema->terms, sizeof *plan->term_column, &plan->term_column));
    plan->term_columns = 2 * schema->terms;
    for (size_t i = 0; i < plan->term_columns; i++) {
        const pv_term *term = &schema->term[i / 2];
        plan->term_column[i] = table->columns;
        if (!term->column[i % 2])
            continue;
        size_t plain = pv__schema_find(schema, term->column[i % 2]);
        bool text = plain < pv__schema_plain(schema) && schema->source[plain].type == PV_COLUMN_TEXT;
        const pv_source_column source = {.name = term->column[i % 2], .type = text ? PV_COLUMN_TEXT : PV_COLUMN_NUMBER};
        PV_TRY(find_source(ctx, table, schema, &source, &plan->term_column[i]));
        for (size_t k = 0; i % 2 == 0 && k < term->features; k++)
            plan->feature[s++] = plan->term_column[i];
    }
    return PV_OK;
}

pv_status pv__encoding_apply(pv_ctx *ctx, const pv_table *table, const pv_roles *roles, const pv_schema *schema,
                             pv__encoding *plan) {
    *plan = (pv__encoding){0};
    pv_status status;
    PV_GOTO(fail, pv__encoding_parts(ctx, table, roles, plan));
    PV_GOTO(fail, pv__alloc(ctx, schema->sources, sizeof *plan->feature, &plan->feature));
    PV_GOTO(fail, pv__alloc(ctx, schema->sources, sizeof *plan->category, &plan->category));
    plan->features = schema->sources;
    PV_GOTO(fail, pv__alloc(ctx, schema->sources, sizeof *plan->made, &plan->made));
    for (size_t s = 0; s < pv__schema_plain(schema); s++) {
        PV_GOTO(fail, find_source(ctx, table, schema, &schema->source[s], &plan->feature[s]));
        plan->category[s] = schema->source[s].type == PV_COLUMN_TEXT;
    }
    if (schema->offset)
        plan->offset = plan->feature[0];
    PV_GOTO(fail, apply_terms(ctx, table, schema, plan));
    return PV_OK;
fail:
    pv__encoding_free(ctx, plan);
    return status;
}

const pv_roles *pv_roles_of(const pv_settings *settings) {
    return pv_settings_values(settings, pv_role_option_table);
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

pv_status pv__roles_compare(pv_ctx *ctx, const pv_roles *roles, const char *before, const char *after) {
    char *text = NULL;
    size_t size = 0;
    pv_roles usual = {0};
    if (!pv__shares(ctx))
        return PV_OK;
    FILE *stream = open_memstream(&text, &size);
    if (!stream)
        return pv__fail(ctx, PV_ERR_MEMORY, "out of memory");
    pv_options_default(pv_role_option_table, &usual);
    fputs(before, stream);
    if (roles)
        pv__options_lines(stream, pv_role_option_table, roles, &usual);
    fputs(after, stream);
    pv_status status =
        fclose(stream) == 0 && text ? pv__ranks_compare(ctx, text) : pv__fail(ctx, PV_ERR_MEMORY, "out of memory");
    free(text);
    return status;
}
