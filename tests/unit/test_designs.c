/* Designs from rows to evaluation: simulated strata, cohorts and surveys; predictions averaged over proportions,
 * metrics by stratum, prevalences inferred by stratum, folds, case-cohort samples. All compared with direct
 * computation.
 */
#include "unit/check.h"

#include <unistd.h>

typedef struct held {
    pv_table *table, *known;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c;
    char path[64];
} held;

static pv_design_simulation simulation(int64_t strata, int64_t rows) {
    return (pv_design_simulation){.rows = rows,
                                  .strata = strata,
                                  .prevalence = 0.1,
                                  .cohort = 20000,
                                  .sets = 50,
                                  .per_case = 2,
                                  .uneven = true,
                                  .seed = 4};
}

static void write_known(pv_ctx *ctx, held *h) {
    pv_output output = {0};
    snprintf(h->path, sizeof h->path, "/tmp/test_designs.%ld.csv", (long)getpid());
    CHECK_OK(ctx, pv_output_open(ctx, h->path, &output));
    CHECK_OK(ctx, pv_table_write(ctx, h->known, &output));
    CHECK_OK(ctx, pv_output_commit(ctx, &output));
    pv_output_discard(ctx, &output);
}

/* Three sites with different enrichment; sites may be features. */
static held fit_sites(pv_ctx *ctx, bool features, int infer) {
    held h = {0};
    pv_design_simulation how = simulation(3, 600);
    CHECK_OK(ctx, pv_simulate_design(ctx, "sites", &how, &h.table, &h.known, NULL));
    write_known(ctx, &h);
    pv_roles roles = {.target = "y", .strata = "site", .exclude = features ? NULL : "site"};
    CHECK_OK(ctx, pv_schema_learn(ctx, h.table, &roles, &h.schema, &h.data));
    pv_fit_options options = pv_fit_options_default();
    options.prevalence_by = h.path;
    options.infer = infer;
    options.draws = 200;
    CHECK_OK(ctx, pv_fit(ctx, h.schema, h.data, &options, &h.c));
    return h;
}

static void release(pv_ctx *ctx, held *h) {
    unlink(h->path);
    pv_classifier_free(ctx, h->c);
    pv_dataset_free(ctx, h->data);
    pv_schema_free(ctx, h->schema);
    pv_table_free(ctx, h->table);
    pv_table_free(ctx, h->known);
}

/* A row without a stratum: the mean over the proportions of its predictions in each. */
static void averages_over_shares(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    held h = fit_sites(ctx, false, PV_INFER_ML);
    const pv_stratified *of = h.c->stratified;
    size_t n = h.data->rows;
    double *loglik = calloc(2 * n, sizeof *loglik);
    CHECK_OK(ctx, pv_predict_loglik(ctx, h.c, h.data, loglik));
    for (size_t i = 0; i < n; i += 2)
        h.data->stratum[i] = -1;
    pv_prediction *said;
    CHECK_OK(ctx, pv_predict_in(ctx, h.c, h.data, "design", NULL, &said));
    for (size_t i = 0; i < n; i++) {
        double mean = 0;
        for (int s = 0; s < of->strata; s++) {
            double p[2];
            for (int y = 0; y < 2; y++)
                p[y] = exp(loglik[2 * i + (size_t)y] - of->log_marginal[2 * s + y]) * of->design[2 * s + y];
            double own = p[1] / (p[0] + p[1]);
            mean += of->share[s] * own;
            if (h.data->stratum[i] == s)
                CHECK_NEAR(said->p[2 * i + 1], own, 1e-12);
        }
        if (h.data->stratum[i] < 0)
            CHECK_NEAR(said->p[2 * i + 1], mean, 1e-12);
    }
    pv_prediction_free(ctx, said);
    free(loglik);
    release(ctx, &h);
    pv_ctx_free(ctx);
}

static double by_name(const pv_metrics *metrics, const char *name) {
    for (const pv_metric_row *row = pv_metric_table; row->name; row++)
        if (strcmp(row->name, name) == 0)
            return pv_metric_get(metrics, row);
    return NAN;
}

/* Log-loss and AUC with each row weighted by p(s,y)/n_sy, computed directly; stratum < 0: all rows. */
static void weigh(const held *h, const pv_prediction *said, int stratum, double *log_loss, double *auc) {
    const pv_stratified *of = h->c->stratified;
    size_t n = h->data->rows;
    double count[6] = {0}, *v = calloc(n, sizeof *v), total = 0, pairs = 0, won = 0;
    for (size_t i = 0; i < n; i++)
        count[2 * h->data->stratum[i] + h->data->label[i]]++;
    *log_loss = 0;
    for (size_t i = 0; i < n; i++) {
        int s = h->data->stratum[i], cell = 2 * s + h->data->label[i];
        v[i] = stratum >= 0 && s != stratum ? 0 : of->share[s] * of->prevalence[cell] / count[cell];
        total += v[i];
        *log_loss -= v[i] * said->log_p[2 * i + (size_t)h->data->label[i]];
    }
    *log_loss /= total;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (h->data->label[i] > h->data->label[j] && v[i] > 0 && v[j] > 0) {
                double a = said->p[2 * i + 1], b = said->p[2 * j + 1];
                pairs += v[i] * v[j];
                won += v[i] * v[j] * (a > b ? 1 : a == b ? 0.5 : 0);
            }
    *auc = won / pairs;
    free(v);
}

static void metrics_are_stated_by_stratum(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    held h = fit_sites(ctx, true, PV_INFER_ML);
    const pv_predict_options wanted = {.likelihood = true};
    pv_judge_options how = pv_judge_options_default();
    how.stated_for = "population";
    how.bootstrap = 200;
    pv_prediction *said;
    pv_judgement *j;
    double log_loss, auc;
    CHECK_OK(ctx, pv_predict(ctx, h.c, h.data, NULL, &wanted, &said));
    CHECK_OK(ctx, pv_judge(ctx, h.data, h.schema->labels, said, &how, &j));
    weigh(&h, said, -1, &log_loss, &auc);
    CHECK_NEAR(by_name(&j->found.value, "log_loss"), log_loss, 1e-12);
    CHECK_NEAR(by_name(&j->found.value, "holdout_nll"), log_loss, 1e-9); /* the marginal is that of the population */
    CHECK_NEAR(by_name(&j->found.value, "auc"), auc, 1e-12);
    assert_true(by_name(&j->found.lo, "log_loss") < log_loss && by_name(&j->found.hi, "log_loss") > log_loss);
    assert_int_equal(j->strata, 3);
    for (int s = 0; s < 3; s++) {
        weigh(&h, said, s, &log_loss, &auc);
        assert_int_equal(j->stratum[s].rows, 200);
        CHECK_NEAR(j->stratum[s].stated[1], h.c->stratified->prevalence[2 * s + 1], 1e-12);
        CHECK_NEAR(by_name(&j->stratum[s].value, "log_loss"), log_loss, 1e-12);
        CHECK_NEAR(by_name(&j->stratum[s].value, "auc"), auc, 1e-12);
    }
    pv_judgement_free(ctx, j);
    /* Unweighted rows: holdout_nll adapts to the label proportions of each stratum's rows, not to those of all rows. */
    how.stated_for = "rows";
    double sum = 0, d[3];
    for (int s = 0; s < 3; s++)
        d[s] = h.c->stratified->design[2 * s + 1];
    for (size_t i = 0; i < h.data->rows; i++) {
        int s = h.data->stratum[i], y = h.data->label[i];
        double odds = exp(said->log_p[2 * i + 1] - said->log_p[2 * i]) *
                      exp(h.c->stratified->log_marginal[2 * s] - h.c->stratified->log_marginal[2 * s + 1]) * d[s] /
                      (1 - d[s]);
        sum -= log(y ? odds / (1 + odds) : 1 / (1 + odds));
    }
    CHECK_OK(ctx, pv_judge(ctx, h.data, h.schema->labels, said, &how, &j));
    CHECK_NEAR(by_name(&j->found.value, "holdout_nll"), sum / (double)h.data->rows, 1e-10);
    pv_judgement_free(ctx, j);
    pv_prediction_free(ctx, said);
    release(ctx, &h);
    pv_ctx_free(ctx);
}

/* The bootstrap within strata and labels: the spread of the weighted mean loss compared with the formula. */
static void intervals_draw_within_strata(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    held h = fit_sites(ctx, true, PV_INFER_ML);
    const pv_predict_options wanted = {.likelihood = true};
    pv_judge_options how = pv_judge_options_default();
    how.stated_for = "population";
    how.bootstrap = SANITIZED ? 400 : 2000;
    pv_prediction *said;
    pv_judgement *j;
    CHECK_OK(ctx, pv_predict(ctx, h.c, h.data, NULL, &wanted, &said));
    CHECK_OK(ctx, pv_judge(ctx, h.data, h.schema->labels, said, &how, &j));
    double sum[6] = {0}, square[6] = {0}, count[6] = {0}, variance = 0;
    for (size_t i = 0; i < h.data->rows; i++) {
        int cell = 2 * h.data->stratum[i] + h.data->label[i];
        double loss = -said->log_p[2 * i + (size_t)h.data->label[i]];
        count[cell]++;
        sum[cell] += loss;
        square[cell] += loss * loss;
    }
    for (int c = 0; c < 6; c++) {
        double mass = h.c->stratified->share[c / 2] * h.c->stratified->prevalence[c], mean = sum[c] / count[c];
        variance += mass * mass * (square[c] / count[c] - mean * mean) / count[c];
    }
    double width = by_name(&j->found.hi, "log_loss") - by_name(&j->found.lo, "log_loss");
    CHECK_NEAR(width / (2 * 1.9599640 * sqrt(variance)), 1, SANITIZED ? 0.2 : 0.09);
    pv_judgement_free(ctx, j);
    pv_prediction_free(ctx, said);
    release(ctx, &h);
    pv_ctx_free(ctx);
}

/* Each stratum's prevalence is inferred from its own rows; small strata borrow from the others. */
static void unknown_is_inferred_by_stratum(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    held h = fit_sites(ctx, true, PV_INFER_ML);
    size_t row[600], count = 0, n = h.data->rows;
    for (size_t i = 0, few = 0; i < n; i++) /* the last stratum has only three rows */
        if (h.data->stratum[i] < 2 || few++ < 3)
            row[count++] = i;
    pv_dataset *part;
    pv_prediction *said;
    CHECK_OK(ctx, pv_dataset_take(ctx, h.data, count, row, &part));
    CHECK_OK(ctx, pv_predict_in(ctx, h.c, part, "unknown", NULL, &said));
    double *loglik = calloc(2 * count, sizeof *loglik), mean = 0;
    CHECK_OK(ctx, pv_predict_loglik(ctx, h.c, part, loglik));
    for (size_t s = 0; s < 2; s++) {
        pv_unknown_sample sample = {.n = 200,
                                    .classes = 2,
                                    .loglik = loglik + 2 * 200 * s, /* rows are ordered by stratum */
                                    .log_marginal = h.c->stratified->log_marginal + 2 * s};
        pv_unknown_options how = pv_unknown_options_default();
        pv_unknown_prevalence *alone;
        double p[400];
        CHECK_OK(ctx, pv_unknown_infer(ctx, &sample, h.schema->labels, &how, &alone));
        CHECK_OK(ctx, pv_unknown_predict(ctx, &sample, alone, p, NULL, NULL, NULL));
        CHECK_NEAR(said->strata->prevalence[2 * s + 1], alone->value[1], 1e-12);
        CHECK_NEAR(said->strata->inferred[s]->lo[1], alone->lo[1], 1e-12);
        for (size_t i = 0; i < 400; i++)
            CHECK_NEAR(said->p[400 * s + i], p[i], 1e-12);
        assert_false(said->strata->pooled[s]);
        mean += 200.0 / (double)count * alone->value[1];
        pv_unknown_prevalence_free(ctx, alone);
    }
    assert_true(said->strata->pooled[2]);
    mean += 3.0 / (double)count * said->strata->prevalence[5];
    CHECK_NEAR(said->prevalence[1], mean, 1e-12);
    /* One row of a stratum is enough. */
    pv_prediction_free(ctx, said);
    pv_dataset_free(ctx, part);
    CHECK_OK(ctx, pv_dataset_take(ctx, h.data, 401, row, &part));
    CHECK_OK(ctx, pv_predict_in(ctx, h.c, part, "unknown", NULL, &said));
    assert_true(said->strata->pooled[2]);
    CHECK_NEAR(said->p[800] + said->p[801], 1, 1e-12);
    pv_prediction_free(ctx, said);
    part->stratum[7] = -1;
    assert_int_equal(pv_predict_in(ctx, h.c, part, "unknown", NULL, &said), PV_ERR_INPUT);
    pv_dataset_free(ctx, part);
    free(loglik);
    release(ctx, &h);
    pv_ctx_free(ctx);
}

/* known:P shifts the whole population, including the prevalences and proportions of its strata. */
static void shift_of_all_moves_strata(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    held h = fit_sites(ctx, true, PV_INFER_ML);
    pv_prediction *said;
    CHECK_OK(ctx, pv_predict_in(ctx, h.c, h.data, "known:0.3", NULL, &said));
    const pv_stratified *of = h.c->stratified;
    double home = 0, there = 0;
    for (int s = 0; s < 3; s++)
        home += of->share[s] * of->prevalence[2 * s + 1];
    for (int s = 0; s < 3; s++) {
        double cases = 0.3 * of->share[s] * of->prevalence[2 * s + 1] / home;
        double others = 0.7 * of->share[s] * of->prevalence[2 * s] / (1 - home);
        CHECK_NEAR(said->strata->share[s], cases + others, 1e-12);
        CHECK_NEAR(said->strata->prevalence[2 * s + 1], cases / (cases + others), 1e-12);
        there += said->strata->share[s] * said->strata->prevalence[2 * s + 1];
    }
    CHECK_NEAR(there, 0.3, 1e-12);
    pv_prediction_free(ctx, said);
    release(ctx, &h);
    pv_ctx_free(ctx);
}

static void folds_share_strata_evenly(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    held h = fit_sites(ctx, true, PV_INFER_ML);
    int32_t fold[600];
    int count[4][6] = {{0}};
    CHECK_OK(ctx, pv_folds_make(ctx, h.schema, h.data, 4, 1, 0, fold));
    for (size_t i = 0; i < h.data->rows; i++)
        count[fold[i]][2 * h.data->stratum[i] + h.data->label[i]]++;
    for (int c = 0; c < 6; c++)
        for (int f = 1; f < 4; f++)
            assert_true(abs(count[f][c] - count[0][c]) <= 1);
    /* A stratum with a single case: every fold would need it. */
    bool kept = false;
    for (size_t i = 0; i < h.data->rows; i++)
        if (h.data->stratum[i] == 1 && h.data->label[i] == 1) {
            h.data->label[i] = kept ? 0 : 1;
            kept = true;
        }
    assert_int_equal(pv_folds_make(ctx, h.schema, h.data, 4, 1, 0, fold), PV_ERR_INPUT);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "'s2' has 1 row"));
    release(ctx, &h);
    pv_ctx_free(ctx);
}

/* Out-of-fold predictions reported for the population: as if evaluated directly. */
static void validation_is_stated_for_strata(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    held h = fit_sites(ctx, true, PV_INFER_ML);
    pv_fit_options options = pv_fit_options_default();
    options.prevalence_by = h.path;
    pv_validation_options how = pv_validation_options_default();
    how.stated_for = "population";
    pv_validation *v;
    pv_judgement *j;
    CHECK_OK(ctx, pv_cross_validate(ctx, h.schema, h.data, &options, &how, &v));
    double *p = calloc(2 * h.data->rows, sizeof *p), log_loss, auc;
    for (size_t i = 0; i < 2 * h.data->rows; i++)
        p[i] = exp(v->log_p[i]);
    pv_prediction said = {.rows = h.data->rows, .classes = 2, .p = p, .log_p = v->log_p};
    weigh(&h, &said, -1, &log_loss, &auc);
    CHECK_NEAR(by_name(v->pooled, "log_loss"), log_loss, 1e-12);
    CHECK_NEAR(by_name(v->pooled, "auc"), auc, 1e-12);
    CHECK_OK(ctx, pv_validation_judge(ctx, v, h.schema->labels, 1, &j));
    CHECK_NEAR(by_name(&j->found.value, "log_loss"), log_loss, 1e-12);
    assert_int_equal(j->strata, 3);
    pv_judgement_free(ctx, j);
    pv_validation_free(ctx, v);
    free(p);
    release(ctx, &h);
    pv_ctx_free(ctx);
}

/* ---- case-cohort samples ----------------------------------------------------------------------------------------- */

/* The slopes of plain log-loss, an intercept lower by log(1/F), and a prevalence equivalent to n_0 n_1/(n_0+n_1)
 * observations. */
static void subcohort_is_an_offset(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    pv_design_simulation how = simulation(2, 100);
    how.subcohort = 0.1;
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c, *plain;
    CHECK_OK(ctx, pv_simulate_design(ctx, "cohort", &how, &table, NULL, NULL));
    pv_roles roles = {.target = "y"};
    CHECK_OK(ctx, pv_schema_learn(ctx, table, &roles, &schema, &data));
    pv_fit_options options = pv_fit_options_default();
    options.infer = PV_INFER_ML;
    options.tolerance = 1e-10;
    options.match = PV_MATCH_NONE;
    options.weighting = "0";
    options.subcohort = 0.1;
    CHECK_OK(ctx, pv_fit(ctx, schema, data, &options, &c));
    double n1 = c->design[1] * (double)c->rows, n0 = c->design[0] * (double)c->rows, found[4], wanted[4];
    CHECK_NEAR(c->prevalence[1], n1 / (n1 + n0 / 0.1), 1e-12);
    CHECK_NEAR(1 / (c->prevalence_n * c->prevalence[0] * c->prevalence[1]), 1 / n0 + 1 / n1, 1e-12);
    CHECK_OK(ctx, pv_classifier_coefficients(ctx, c, found));
    options.subcohort = 0;
    options.weighting = "auto";
    options.loss = PV_LOSS_PLAIN;
    CHECK_OK(ctx, pv_fit(ctx, schema, data, &options, &plain));
    CHECK_OK(ctx, pv_classifier_coefficients(ctx, plain, wanted));
    CHECK_NEAR(found[0], wanted[0] + log(0.1), 1e-6);
    for (int i = 1; i < 4; i++)
        CHECK_NEAR(found[i], wanted[i], 1e-6);
    options.loss = PV_LOSS_IG;
    options.subcohort = 0.1;
    options.prevalence = "0.1";
    pv_classifier_free(ctx, c);
    assert_int_equal(pv_fit(ctx, schema, data, &options, &c), PV_ERR_USAGE);
    pv_classifier_free(ctx, plain);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    pv_ctx_free(ctx);
}

/* ---- simulated designs ------------------------------------------------------------------------------------------- */

static const pv_column *column(pv_ctx *ctx, const pv_table *table, const char *name) {
    size_t at;
    CHECK_OK(ctx, pv_table_find(ctx, table, "column", name, &at));
    return &table->column[at];
}

/* The cohort is from the given population; the second phase has the requested number of each kind. */
static void cohort_is_what_it_says(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    pv_design_simulation how = simulation(4, 800);
    how.cohort = 40000;
    how.uneven = false;
    pv_table *table, *known;
    CHECK_OK(ctx, pv_simulate_design(ctx, "cohort", &how, &table, &known, NULL));
    const double *count = column(ctx, known, "count")->number, *y = column(ctx, known, "y")->number;
    double all = 0, cases = 0;
    for (size_t i = 0; i < known->rows; i++) {
        all += count[i];
        cases += y[i] > 0 ? count[i] : 0;
        assert_true(count[i] >= 100);
    }
    CHECK_NEAR(all, 40000, 0);
    CHECK_NEAR(cases / all, 0.1, 4 * sqrt(0.09 / 40000));
    assert_int_equal(table->rows, 800);
    double drawn = 0;
    for (size_t i = 0; i < table->rows; i++)
        drawn += column(ctx, table, "y")->number[i];
    CHECK_NEAR(drawn, 400, 0);
    pv_table_free(ctx, table);
    pv_table_free(ctx, known);
    pv_ctx_free(ctx);
}

/* Weighted to the population, a survey has its prevalence, and the cluster effect does not bias the slopes. */
static void survey_is_of_the_population(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    pv_design_simulation how = simulation(3, SANITIZED ? 6000 : 30000);
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_classifier *c;
    double truth[5], found[5];
    CHECK_OK(ctx, pv_simulate_design(ctx, "survey", &how, &table, NULL, truth));
    pv_roles roles = {
        .target = "y", .weights = "weight", .cluster = "cluster", .strata = "site", .weights_are = PV_WEIGHTS_SAMPLING};
    CHECK_OK(ctx, pv_schema_learn(ctx, table, &roles, &schema, &data));
    pv_fit_options options = pv_fit_options_default();
    options.loss = PV_LOSS_PLAIN;
    options.infer = PV_INFER_ROBUST;
    CHECK_OK(ctx, pv_fit(ctx, schema, data, &options, &c));
    CHECK_OK(ctx, pv_classifier_coefficients(ctx, c, found));
    assert_null(c->schema->strata);
    const double wide = SANITIZED ? 0.3 : 0.1;
    CHECK_NEAR(found[0], truth[0], 2 * wide);
    CHECK_NEAR(found[1], truth[3], wide);
    CHECK_NEAR(found[2], truth[4], wide);
    CHECK_NEAR(found[3], truth[1] - truth[0], 2 * wide);
    pv_classifier_free(ctx, c);
    /* A cluster in two strata, then a stratum with a single cluster. */
    data->group[data->rows - 1] = data->group[0];
    assert_int_equal(pv_fit(ctx, schema, data, &options, &c), PV_ERR_INPUT);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "of one cluster, and of the strata 's1' and 's3'"));
    for (size_t i = 0; i < data->rows; i++)
        data->group[i] = data->stratum[i] == 1 ? 0 : 1 + (int32_t)i;
    assert_int_equal(pv_fit(ctx, schema, data, &options, &c), PV_ERR_INPUT);
    assert_non_null(strstr(pv_ctx_error(ctx)->message, "stratum 's2' has only one cluster"));
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
    pv_ctx_free(ctx);
}

static void matched_sets_have_one_case(void **state) {
    (void)state;
    pv_ctx *ctx = check_ctx(1);
    pv_design_simulation how = simulation(0, 0);
    pv_table *table, *again;
    CHECK_OK(ctx, pv_simulate_design(ctx, "matched", &how, &table, NULL, NULL));
    CHECK_OK(ctx, pv_simulate_design(ctx, "matched", &how, &again, NULL, NULL));
    assert_int_equal(table->rows, 150);
    assert_true(table->hash == again->hash);
    for (size_t i = 0; i < table->rows; i++) {
        CHECK_NEAR(column(ctx, table, "set")->number[i], 1 + (double)(i / 3), 0);
        CHECK_NEAR(column(ctx, table, "y")->number[i], i % 3 == 0, 0);
    }
    pv_table_free(ctx, table);
    pv_table_free(ctx, again);
    assert_int_equal(pv_simulate_design(ctx, "matched", &how, &table, &again, NULL), PV_ERR_USAGE);
    assert_int_equal(pv_simulate_design(ctx, "sities", &how, &table, NULL, NULL), PV_ERR_USAGE);
    assert_int_equal(pv_simulate_design(ctx, "sites", &how, &table, NULL, NULL), PV_ERR_USAGE);
    pv_ctx_free(ctx);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(averages_over_shares),
                                       cmocka_unit_test(metrics_are_stated_by_stratum),
                                       cmocka_unit_test(intervals_draw_within_strata),
                                       cmocka_unit_test(unknown_is_inferred_by_stratum),
                                       cmocka_unit_test(shift_of_all_moves_strata),
                                       cmocka_unit_test(folds_share_strata_evenly),
                                       cmocka_unit_test(validation_is_stated_for_strata),
                                       cmocka_unit_test(subcohort_is_an_offset),
                                       cmocka_unit_test(cohort_is_what_it_says),
                                       cmocka_unit_test(survey_is_of_the_population),
                                       cmocka_unit_test(matched_sets_have_one_case)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
