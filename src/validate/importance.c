/* The importance of each column: the loss of information when its cells are permuted among the rows.
 *
 *   loss(c)  =  sum_n a_n ( log p(y_n|x_n) - log p(y_n|x_n with x_nc of row s(n)) ),   a_n = v_n stated(y_n)/m_{y_n},
 *
 * where m_y is the mass of label y. s assigns rows by systematic sampling: row i is used a_i n times, rounded up or
 * down, and then the order is shuffled. The permuted cells are therefore distributed as in the target population rather
 * than the sample, where balanced labels would over-represent the cells of cases. With equal weights, s is a
 * permutation.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "predict/predict.h"
#include "validate/dependence.h"
#include "validate/validate.h"

#define AT(field) offsetof(pv_importance_options, field)

enum { ROWS = 20000, ROWS_OF_DRAWS = 2000 };

const pv_option pv_importance_option_table[] = {
    {"permutations", PV_OPTION_INT, AT(permutations), "5", 1, 1e6, NULL, "N",
     "With `importance`: number of permutations of each column."},
    {"importance-rows", PV_OPTION_INT, AT(rows), "0", 0, 1e15, NULL, "N",
     "With `importance`: the largest number of rows to use, evenly spaced; 0: 20000, or 2000 for a model with a "
     "posterior, each of whose draws predicts them."},
    {"seed", PV_OPTION_INT, AT(seed), "1", 0, 9007199254740992.0, NULL, "S", "Seed of the permutations."},
    {0}};

pv_importance_options pv_importance_options_default(void) {
    pv_importance_options options = {0};
    pv_options_default(pv_importance_option_table, &options);
    return options;
}

typedef struct work {
    const pv_classifier *classifier;
    const pv_roles *roles;
    const pv_population *population;
    pv_table *table;  /* the rows used */
    pv_dataset *data; /* their data set */
    double *a;        /* [data->rows], weights to the target population, with sum 1 */
    double *share;    /* [table->rows], the same for rows of the table */
    size_t *deal;     /* [table->rows] */
} work;

/* ---- rows -------------------------------------------------------------------------------------------------------- */

/* Selects the rows of the table that were evaluated, at most `most`. */
static pv_status take_rows(pv_ctx *ctx, const pv_table *table, const pv_dataset *judged, size_t most, work *w) {
    size_t *row, n = 0;
    PV_TRY(pv__alloc(ctx, judged->rows + 1, sizeof *row, &row));
    for (size_t i = 0; i < judged->rows; i++) /* adjacent duplicates come from rows of counts */
        if (n == 0 || row[n - 1] != judged->table_row[i])
            row[n++] = judged->table_row[i];
    if (n > most) {
        for (size_t i = 0; i < most; i++)
            row[i] = row[(size_t)((double)i * ((double)n / (double)most))];
        n = most;
    }
    pv_status status = pv_table_take(ctx, table, n, row, &w->table);
    pv__free(ctx, row);
    return status;
}

static pv_status weigh(pv_ctx *ctx, const double *stated, work *w) {
    pv_targets targets = pv_dataset_targets(w->data);
    size_t n = w->data->rows, k = (size_t)targets.classes;
    double *mass;
    PV_TRY(pv__alloc(ctx, k, sizeof *mass, &mass));
    pv_label_mass(&targets, mass);
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *w->a, &w->a));
    PV_GOTO(done, pv__alloc(ctx, w->table->rows, sizeof *w->share, &w->share));
    PV_GOTO(done, pv__alloc(ctx, w->table->rows, sizeof *w->deal, &w->deal));
    double total = 0;
    for (size_t i = 0; i < n; i++) {
        size_t y = (size_t)w->data->label[i];
        w->a[i] = (w->data->weight ? w->data->weight[i] : 1) * stated[y] / mass[y];
        total += w->a[i];
    }
    for (size_t i = 0; i < n; i++) { /* a label without rows leaves a total below 1 */
        w->a[i] /= total;
        w->share[w->data->table_row[i]] += w->a[i];
    }
done:
    pv__free(ctx, mass);
    return status;
}

/* Assigns rows by systematic sampling with probability proportional to their share, then shuffles. */
static void deal_rows(work *w, uint64_t seed, size_t column, size_t permutation) {
    size_t n = w->table->rows, at = 0;
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_IMPORTANCE, ((uint64_t)column << 32) + permutation);
    double u = pv_rng_uniform(&rng), passed = w->share[0];
    for (size_t i = 0; i < n; i++) {
        double place = ((double)i + u) / (double)n;
        while (passed < place && at + 1 < n)
            passed += w->share[++at];
        w->deal[i] = at;
    }
    pv_rng_shuffle(&rng, n, w->deal);
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

static double mean_of(const work *w, const pv_dataset *data, const pv_prediction *said) {
    double mean = 0;
    for (size_t i = 0; i < data->rows; i++)
        mean += w->a[i] * said->log_p[i * (size_t)said->classes + (size_t)data->label[i]];
    return mean;
}

/* Mean of log p(y|x) over the rows of a table, which has the rows evaluated in w, possibly with permuted cells. */
static pv_status mean_log_p(pv_ctx *ctx, const work *w, const pv_table *table, double *mean) {
    pv_dataset *data = NULL;
    pv_prediction *said = NULL;
    pv_status status;
    PV_GOTO(done, pv_schema_apply(ctx, w->classifier->schema, table, w->roles, &data));
    PV_GOTO(done, pv_predict(ctx, w->classifier, data, w->population, NULL, &said));
    *mean = mean_of(w, data, said);
done:
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, data);
    return status;
}

static void deal_cells(const work *w, size_t c, pv_column *to) {
    const pv_column *from = &w->table->column[c];
    for (size_t i = 0; i < w->table->rows; i++) {
        if (from->type == PV_COLUMN_NUMBER)
            to->number[i] = pv_table_number(w->table, c, w->deal[i]);
        else
            to->code[i] = from->code[w->deal[i]];
    }
}

static pv_status lose_column(pv_ctx *ctx, work *w, size_t column, double whole, const pv_importance_options *options,
                             pv_column_importance *found) {
    pv_table dealt = *w->table; /* a copy that replaces one column */
    pv_column *columns = NULL, own;
    void *cells = NULL;
    size_t c = 0, n = (size_t)options->permutations;
    pv_status status;
    PV_TRY(pv_table_find(ctx, w->table, "the model", found->name, &c));
    own = w->table->column[c];
    PV_GOTO(done, pv__alloc(ctx, w->table->columns, sizeof *columns, &columns));
    PV_GOTO(done, pv__alloc(ctx, w->table->rows, own.type == PV_COLUMN_NUMBER ? sizeof *own.number : sizeof *own.code,
                            &cells));
    memcpy(columns, w->table->column, w->table->columns * sizeof *columns);
    dealt.column = columns;
    columns[c].single = NULL;
    if (own.type == PV_COLUMN_NUMBER)
        columns[c].number = cells;
    else
        columns[c].code = cells;
    double square = 0;
    for (size_t p = 0; p < n; p++) {
        double mean;
        deal_rows(w, (uint64_t)options->seed, column, p);
        deal_cells(w, c, &columns[c]);
        PV_GOTO(done, mean_log_p(ctx, w, &dealt, &mean));
        double loss = whole - mean, step = (loss - found->loss) / (double)(p + 1);
        square += (loss - found->loss) * (loss - found->loss - step);
        found->loss += step;
        if (pv__interrupted(ctx))
            PV_GOTO(done, pv__fail(ctx, PV_ERR_INTERRUPTED, "importance: stopped on request"));
    }
    found->sd = n > 1 ? sqrt(square / (double)(n - 1)) : (double)NAN;
done:
    pv__free(ctx, columns);
    pv__free(ctx, cells);
    return status;
}

static int by_loss(const void *left, const void *right) {
    const pv_column_importance *a = left, *b = right;
    return a->loss != b->loss ? (a->loss < b->loss ? 1 : -1) : strcmp(a->name, b->name);
}

static double entropy(int classes, const double *stated) {
    double sum = 0;
    for (int y = 0; y < classes; y++)
        sum -= stated[y] > 0 ? stated[y] * log(stated[y]) : 0;
    return sum;
}

/* The result without permutation, in the stated population or else in that of the predictions. */
static pv_status find_whole(pv_ctx *ctx, const double *stated, work *w, pv_importance *found, double *whole) {
    size_t k = (size_t)w->classifier->schema->classes;
    pv_prediction *said = NULL;
    pv_status status;
    PV_GOTO(done, pv_predict(ctx, w->classifier, w->data, w->population, NULL, &said));
    if (!stated && !said->prevalence)
        PV_GOTO(done, pv__fail(ctx, PV_ERR_USAGE, "`importance` needs a population: the model has no prevalence"));
    PV_GOTO(done, pv__alloc(ctx, k, sizeof *found->stated, &found->stated));
    memcpy(found->stated, stated ? stated : said->prevalence, k * sizeof *found->stated);
    PV_GOTO(done, weigh(ctx, found->stated, w));
    *whole = mean_of(w, w->data, said);
    found->information = entropy((int)k, found->stated) + *whole;
done:
    pv_prediction_free(ctx, said);
    return status;
}

static pv_status find_all(pv_ctx *ctx, const double *stated, const pv_importance_options *options, work *w,
                          pv_importance *found) {
    const pv_schema *schema = w->classifier->schema;
    double whole;
    PV_TRY(find_whole(ctx, stated, w, found, &whole));
    found->rows = w->table->rows;
    found->permutations = options->permutations;
    PV_TRY(pv__alloc(ctx, pv_schema_columns(schema), sizeof *found->column, &found->column));
    for (size_t c = 0; c < pv_schema_columns(schema); c++) {
        PV_TRY(pv__strdup(ctx, pv_schema_column(schema, c, NULL), &found->column[c].name));
        found->columns++;
        PV_TRY(lose_column(ctx, w, c, whole, options, &found->column[c]));
    }
    pv__dependence *dependence;
    PV_TRY(pv__dependence_new(ctx, w->classifier, w->roles, w->population, w->table, w->share, &dependence));
    pv_status status = PV_OK;
    for (size_t c = 0; status == PV_OK && c < found->columns; c++)
        status = pv__dependence_find(ctx, dependence, &found->column[c]);
    pv__dependence_free(ctx, dependence);
    qsort(found->column, found->columns, sizeof *found->column, by_loss);
    return status;
}

pv_status pv_importance_find(pv_ctx *ctx, const pv_classifier *classifier, const pv_table *table, const pv_roles *roles,
                             const pv_population *population, const double *stated,
                             const pv_importance_options *options, pv_importance **importance) {
    pv_importance_options asked = options ? *options : pv_importance_options_default();
    if (asked.rows == 0)
        asked.rows = classifier->posterior ? ROWS_OF_DRAWS : ROWS;
    work w = {.classifier = classifier, .roles = roles, .population = population};
    pv_dataset *judged = NULL;
    pv_importance *found = NULL;
    void (*log)(void *, pv_log_level, const char *) = ctx->options.log;
    *importance = NULL;
    pv__evaluated asking = {.importance = true, .images = classifier->schema->image != NULL, .population = population};
    PV_TRY(pv__evaluation_check(ctx, &asking));
    pv_status status;
    ctx->options.log = NULL; /* warnings about these rows were already logged when they were evaluated */
    PV_GOTO(done, pv_schema_apply(ctx, classifier->schema, table, roles, &judged));
    asking.rows = true;
    asking.hard = judged->label && !judged->frequency;
    asking.strata = judged->stratum != NULL;
    PV_GOTO(done, pv__evaluation_check(ctx, &asking));
    PV_GOTO(done, take_rows(ctx, table, judged, (size_t)asked.rows, &w));
    PV_GOTO(done, pv_schema_apply(ctx, classifier->schema, w.table, roles, &w.data));
    PV_GOTO(done, pv__alloc(ctx, 1, sizeof *found, &found));
    PV_GOTO(done, find_all(ctx, stated, &asked, &w, found));
    *importance = found;
    found = NULL;
done:
    ctx->options.log = log;
    pv_importance_free(ctx, found);
    pv_dataset_free(ctx, judged);
    pv_dataset_free(ctx, w.data);
    pv_table_free(ctx, w.table);
    pv__free(ctx, w.a);
    pv__free(ctx, w.share);
    pv__free(ctx, w.deal);
    return status;
}

void pv_importance_free(pv_ctx *ctx, pv_importance *importance) {
    if (!importance)
        return;
    for (size_t c = 0; importance->column && c < importance->columns; c++) {
        pv__free(ctx, importance->column[c].name);
        pv__dependence_clear(ctx, &importance->column[c]);
    }
    pv__free(ctx, importance->column);
    pv__free(ctx, importance->stated);
    pv__free(ctx, importance);
}
