/* Computes the numbers that terms make from a table's columns, and learns their parameters. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "data/schema_learn.h"

enum { PRODUCTS_MAX = PV__LEVELS_MAX };

static int compare(const void *a, const void *b) {
    double left = *(const double *)a, right = *(const double *)b;
    return (left > right) - (left < right);
}

/* The rows of a table and how to process them. */
typedef struct maker {
    pv_ctx *ctx;
    const pv_table *table;
    const pv_dataset *data;
    const pv_schema *schema;
    int32_t *const *code; /* codes of the plain sources */
    int unseen;           /* rule for unknown levels */
} maker;

/* A column of a product: the codes of a text column, or numbers by row of the table. */
typedef struct factor {
    bool text;
    const int32_t *code;
    pv__numbers numbers;
    int32_t levels;
} factor;

static factor factor_of(const maker *m, const char *name) {
    size_t s = pv__schema_find(m->schema, name);
    if (s < pv__schema_plain(m->schema) && m->schema->source[s].type == PV_COLUMN_TEXT)
        return (factor){.text = true, .code = m->code[s], .levels = m->schema->source[s].levels};
    return (factor){.numbers = pv__column_numbers(&m->table->column[pv__table_lookup(m->table, name)]), .levels = 1};
}

static double factor_value(const factor *f, int32_t level, size_t i, size_t row, int unseen) {
    if (!f->text)
        return pv__number_at(f->numbers, row);
    if (f->code[i] == PV__UNSEEN && unseen == PV_UNSEEN_REFERENCE)
        return 0;
    return f->code[i] < 0 ? (double)NAN : f->code[i] == level;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

static pv_status refuse_domain(const maker *m, const pv_term *term, size_t column) {
    for (size_t i = 0; i < m->data->rows; i++) {
        size_t row = m->data->table_row[i];
        bool log = term->kind == PV_TERM_LOG;
        double number = pv__cell_number(&m->table->column[column], row);
        if (isnan(number) || (log ? number > 0 : number >= 0))
            continue;
        return PV__FAIL_CELL(m->ctx, m->table, row, column,
                             "%g has no %s, and %s(%s) is one of the terms;\ncorrect the cell, or leave the row out",
                             number, log ? "logarithm" : "square root", pv_term_kind_name(term->kind),
                             pv__show(term->column[0]).text);
    }
    return PV_OK;
}

/* made [term->features], columns of the plan, each [table->rows]. Works in blocks because the basis writes a row's
 * features together. */
static pv_status make_function(const maker *m, const pv_term *term, double *const *made) {
    enum { BLOCK = 64 };
    size_t column = pv__table_lookup(m->table, term->column[0]), width = term->features;
    pv__numbers numbers = pv__column_numbers(&m->table->column[column]);
    double x[BLOCK], value[BLOCK * PV__DEGREES_MAX];
    if (term->kind == PV_TERM_LOG || term->kind == PV_TERM_SQRT)
        PV_TRY(refuse_domain(m, term, column));
    for (size_t begin = 0; begin < m->data->rows; begin += BLOCK) {
        size_t n = m->data->rows - begin < BLOCK ? m->data->rows - begin : BLOCK;
        const size_t *row = m->data->table_row + begin;
        for (size_t i = 0; i < n; i++)
            x[i] = pv__number_at(numbers, row[i]);
        pv__basis_fill(term, x, n, value);
        for (size_t k = 0; k < width; k++)
            for (size_t i = 0; i < n; i++)
                made[k][row[i]] = value[i * width + k];
    }
    return PV_OK;
}

static void make_product(const maker *m, const pv_term *term, double *const *made) {
    const factor a = factor_of(m, term->column[0]), b = factor_of(m, term->column[1]);
    for (size_t k = 0; k < term->features; k++)
        for (size_t i = 0; i < m->data->rows; i++) {
            size_t row = m->data->table_row[i];
            double left = factor_value(&a, term->cell[2 * k], i, row, m->unseen);
            double right = factor_value(&b, term->cell[2 * k + 1], i, row, m->unseen);
            made[k][row] = left * right;
        }
}

/* Whether a row has the reference level, which no other indicator of its column represents. */
static void make_level(const maker *m, const pv_term *term, double *made) {
    size_t s = pv__schema_find(m->schema, term->column[0]);
    const pv_source_column *source = &m->schema->source[s];
    double others[PV__LEVELS_MAX + 1];
    for (size_t i = 0; i < m->data->rows; i++) {
        int32_t code = m->code[s][i];
        double rest = code == 0;
        if (code < 0) {
            pv__source_unknown(source, code, m->unseen, others);
            rest = 1;
            for (size_t k = 0; k < pv_source_width(source); k++)
                rest -= others[k];
        }
        made[m->data->table_row[i]] = rest;
    }
}

static pv_status make(const maker *m, const pv_term *term, double **made) {
    for (size_t k = 0; k < term->features; k++)
        PV_TRY(pv__alloc(m->ctx, m->table->rows, sizeof **made, &made[k]));
    if (term->kind == PV_TERM_PRODUCT)
        make_product(m, term, made);
    else if (term->kind == PV_TERM_LEVEL)
        make_level(m, term, made[0]);
    else
        return make_function(m, term, made);
    return PV_OK;
}

pv_status pv__terms_apply(pv_ctx *ctx, const pv_table *table, const pv_dataset *data, const pv_schema *schema,
                          int32_t *const *code, int unseen, pv__encoding *plan) {
    const maker m = {ctx, table, data, schema, code, unseen};
    size_t s = pv__schema_plain(schema);
    for (size_t t = 0; t < schema->terms; t++) {
        PV_TRY(make(&m, &schema->term[t], plan->made + s));
        s += schema->term[t].features;
    }
    return PV_OK;
}

/* ---- learning ---------------------------------------------------------------------------------------------------- */

static pv_status learn_function(const maker *m, pv_term *term) {
    pv__numbers numbers = pv__column_numbers(&m->table->column[pv__table_lookup(m->table, term->column[0])]);
    double *sorted;
    size_t n = 0;
    PV_TRY(pv__alloc(m->ctx, m->data->rows, sizeof *sorted, &sorted));
    for (size_t i = 0; i < m->data->rows; i++) {
        double number = pv__number_at(numbers, m->data->table_row[i]);
        if (!isnan(number))
            sorted[n++] = number;
    }
    qsort(sorted, n, sizeof *sorted, compare);
    pv_status status = pv__basis_learn(m->ctx, sorted, n, term);
    pv__free(m->ctx, sorted);
    return status;
}

/* Learns the curved part of a number column; no features if it has none. */
static pv_status learn_smooth(const maker *m, size_t most, pv_term *term) {
    pv__numbers numbers = pv__column_numbers(&m->table->column[pv__table_lookup(m->table, term->column[0])]);
    double *rows;
    size_t n = 0;
    PV_TRY(pv__alloc(m->ctx, m->data->rows, 2 * sizeof *rows, &rows));
    for (size_t i = 0; i < m->data->rows; i++) {
        double number = pv__number_at(numbers, m->data->table_row[i]);
        if (isnan(number))
            continue;
        rows[2 * n] = number;
        rows[2 * n++ + 1] = m->data->weight ? m->data->weight[i] : 1;
    }
    pv_status status = pv__smooth_learn(m->ctx, rows, n, most, term);
    pv__free(m->ctx, rows);
    return status;
}

/* Finds the pairs of levels that occur, without the references; a number counts as one level. */
static pv_status learn_product(const maker *m, pv_term *term) {
    const factor a = factor_of(m, term->column[0]), b = factor_of(m, term->column[1]);
    int32_t first_a = a.text, first_b = b.text;
    size_t width = (size_t)b.levels, found = 0;
    bool *seen;
    PV_TRY(pv__alloc(m->ctx, (size_t)a.levels * width, sizeof *seen, &seen));
    for (size_t i = 0; i < m->data->rows; i++) {
        int32_t at_a = a.text ? a.code[i] : 0, at_b = b.text ? b.code[i] : 0;
        if (at_a < first_a || at_b < first_b || seen[(size_t)at_a * width + (size_t)at_b])
            continue;
        seen[(size_t)at_a * width + (size_t)at_b] = true;
        found++;
    }
    pv_status status = PV_OK;
    if (found == 0 || found > PRODUCTS_MAX)
        status = pv__fail(m->ctx, PV_ERR_USAGE,
                          found == 0 ? "`terms`: no row is in the interaction '%s:%s';\nleave it out"
                                     : "`terms`: the interaction '%s:%s' has more than 200 features;\nleave it out",
                          pv__show(term->column[0]).text, pv__show(term->column[1]).text);
    if (status == PV_OK)
        status = pv__alloc(m->ctx, found, 2 * sizeof *term->cell, &term->cell);
    for (int32_t i = first_a; status == PV_OK && i < a.levels; i++)
        for (int32_t j = first_b; j < b.levels; j++)
            if (seen[(size_t)i * width + (size_t)j]) {
                term->cell[2 * term->features] = i;
                term->cell[2 * term->features++ + 1] = j;
            }
    pv__free(m->ctx, seen);
    return status;
}

/* Appends one of the two columns to the name of a product. */
static void name_factor(const pv_schema *schema, const char *name, int32_t level, char *text, size_t size) {
    size_t s = pv__schema_find(schema, name);
    if (s < pv__schema_plain(schema) && schema->source[s].type == PV_COLUMN_TEXT)
        pv__format(text, size, "%s=%s", name, schema->source[s].level[level]);
    else
        pv__format(text, size, "%s", name);
}

static size_t name_size(const pv_schema *schema, const char *name, int32_t level) {
    size_t s = pv__schema_find(schema, name), size = strlen(name) + 2;
    if (s < pv__schema_plain(schema) && schema->source[s].type == PV_COLUMN_TEXT)
        size += strlen(schema->source[s].level[level]);
    return size;
}

/* Names a feature: log(a), ns(a,3).1, a:b, a:b=level. */
static pv_status name_feature(pv_ctx *ctx, const pv_schema *schema, const pv_term *term, size_t k, char **name) {
    const char *a = term->column[0], *b = term->column[1], *word = pv_term_kind_name(term->kind);
    const int32_t *cell = term->cell ? term->cell + 2 * k : NULL;
    size_t size = cell                          ? name_size(schema, a, cell[0]) + name_size(schema, b, cell[1])
                  : term->kind == PV_TERM_LEVEL ? name_size(schema, a, 0)
                                                : strlen(a) + 64;
    PV_TRY(pv__alloc(ctx, size, 1, name));
    if (cell) {
        name_factor(schema, a, cell[0], *name, size);
        size_t used = strlen(*name);
        (*name)[used++] = ':';
        name_factor(schema, b, cell[1], *name + used, size - used);
    } else if (term->kind == PV_TERM_LEVEL) {
        pv__format(*name, size, "%s=%s", a, schema->source[pv__schema_find(schema, a)].level[0]);
    } else if (term->kind == PV_TERM_SMOOTH) {
        pv__format(*name, size, "s(%s).%zu", a, k + 1);
    } else if (term->degree > 0) {
        pv__format(*name, size, "%s(%s,%d).%zu", word, a, term->degree, k + 1);
    } else {
        pv__format(*name, size, "%s(%s)", word, a);
    }
    return PV_OK;
}

/* Makes space for more sources, zeroed, in schema and plan. */
static pv_status grow(pv_ctx *ctx, size_t more, pv_schema *schema, pv__encoding *plan) {
    size_t n = schema->sources, all = n + more;
    PV_TRY(pv__resize(ctx, all, sizeof *schema->source, &schema->source));
    PV_TRY(pv__resize(ctx, all, sizeof *plan->feature, &plan->feature));
    PV_TRY(pv__resize(ctx, all, sizeof *plan->category, &plan->category));
    PV_TRY(pv__resize(ctx, all, sizeof *plan->made, &plan->made));
    for (size_t s = n; s < all; s++) {
        schema->source[s] = (pv_source_column){.type = PV_COLUMN_NUMBER};
        plan->category[s] = false;
        plan->made[s] = NULL;
    }
    return PV_OK;
}

/* Appends terms after those of the user: a curved part for each number column, and the reference level for each
 * categorical one. With two levels there is only one contrast, to which their mean adds nothing. */
static pv_status add_smooths(pv_ctx *ctx, pv_schema *schema) {
    PV_TRY(pv__resize(ctx, schema->terms + schema->sources, sizeof *schema->term, &schema->term));
    for (size_t s = schema->offset; s < schema->sources; s++) {
        const pv_source_column *source = &schema->source[s];
        bool number = source->type == PV_COLUMN_NUMBER;
        if (!number && source->levels < 3)
            continue;
        pv_term *term = &schema->term[schema->terms];
        *term = (pv_term){.kind = number ? PV_TERM_SMOOTH : PV_TERM_LEVEL};
        PV_TRY(pv__strdup(ctx, source->name, &term->column[0]));
        schema->terms++;
    }
    return PV_OK;
}

/* Moves scores of other models, which are features of no other candidate, behind all other terms. */
static void put_scores_last(pv_schema *schema) {
    for (size_t t = 0, left = schema->terms; left > 0; left--) {
        const pv_term own = schema->term[t];
        if (own.kind != PV_TERM_SCORE) {
            t++;
            continue;
        }
        for (size_t i = t; i + 1 < schema->terms; i++)
            schema->term[i] = schema->term[i + 1];
        schema->term[schema->terms - 1] = own;
    }
}

/* The maximum number of features per curved part: fewer if there are many columns. */
static size_t curves_of(const pv_schema *schema) {
    const size_t all = 240, least = 3;
    size_t columns = 0;
    for (size_t t = 0; t < schema->terms; t++)
        columns += schema->term[t].kind == PV_TERM_SMOOTH;
    size_t each = columns > 0 ? all / columns : all;
    return each < least ? least : each;
}

static pv_status learn_term(const maker *m, size_t curves, pv_term *term) {
    if (term->kind == PV_TERM_SMOOTH)
        return learn_smooth(m, curves, term);
    term->features = term->kind == PV_TERM_LEVEL;
    return term->kind == PV_TERM_LEVEL     ? PV_OK
           : term->kind == PV_TERM_PRODUCT ? learn_product(m, term)
                                           : learn_function(m, term);
}

pv_status pv__terms_learn(pv_ctx *ctx, const pv_table *table, const pv_dataset *data, int32_t *const *code, bool smooth,
                          pv_schema *schema, pv__encoding *plan) {
    const maker m = {ctx, table, data, schema, code, PV_UNSEEN_REFUSE};
    if (smooth)
        PV_TRY(add_smooths(ctx, schema));
    if (schema->terms == 0)
        return PV_OK;
    put_scores_last(schema);
    size_t curves = curves_of(schema), kept = 0, n = schema->terms;
    PV_TRY(pv__alloc(ctx, plan->features, sizeof *plan->made, &plan->made));
    for (size_t t = 0; t < n; t++) {
        pv_term learned = schema->term[t]; /* counted in the schema once its sources are added */
        pv_status status = learn_term(&m, curves, &learned);
        size_t features = learned.features, first = schema->sources;
        learned.features = 0;
        schema->term[t] = (pv_term){0};
        schema->term[kept] = learned;
        PV_TRY(status);
        if (features == 0) { /* the column has too few values */
            pv__term_clear(ctx, &schema->term[kept]);
            continue;
        }
        PV_TRY(grow(ctx, features, schema, plan));
        schema->sources = plan->features = first + features;
        schema->term[kept].features = features;
        for (size_t k = 0; k < features; k++) {
            plan->feature[first + k] = pv__table_lookup(table, learned.column[0]);
            PV_TRY(name_feature(ctx, schema, &schema->term[kept], k, &schema->source[first + k].name));
        }
        PV_TRY(make(&m, &schema->term[kept++], plan->made + first));
    }
    schema->terms = kept;
    return PV_OK;
}

bool pv__term_tells_missing(const pv_schema *schema, size_t s) {
    size_t first = pv__schema_plain(schema);
    const pv_term *term = schema->term;
    for (; s >= first + term->features; term++)
        first += term->features;
    if (s != first || term->kind == PV_TERM_PRODUCT || term->kind == PV_TERM_SCORE ||
        pv__schema_find(schema, term->column[0]) < pv__schema_plain(schema))
        return false;
    for (const pv_term *before = schema->term; before < term; before++)
        if (before->kind != PV_TERM_PRODUCT && strcmp(before->column[0], term->column[0]) == 0)
            return false;
    return true;
}
