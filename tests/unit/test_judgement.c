/* Evaluations compared with values computed by hand: populations of metrics, grades as two sides, another model's
 * probabilities, ensembles, votes, validations as one sample. */
#include <math.h>

#include "base/base.h"
#include "fixture.h"
#include "problem.h"

static const char table_text[] =
    "p__a,p__b,y,va,vb\n0.9,0.1,a,3,1\n0.6,0.4,b,1,1\n0.3,0.7,b,0,2\n0.2,0.8,b,1,3\n0.7,0.3,a,,2\n";

static pv_probs *probs_of(const pv_probs_options *options) {
    pv_probs *probs;
    put(table_text, strlen(table_text));
    ok(pv_probs_read(ctx, path, options, &probs));
    return probs;
}

static const pv_probs_options with_target = {.target = "y", .also = "va,vb"};
static const pv_predict_options judging = {.likelihood = true};

static pv_judge_options without_intervals(void) {
    pv_judge_options options = pv_judge_options_default();
    options.bootstrap = 0;
    return options;
}

/* Without weights, with an unknown original prevalence. */
static void probabilities_as_they_are(void **state) {
    (void)state;
    pv_probs *probs = probs_of(&with_target);
    pv_judge_options options = without_intervals();
    pv_prediction *said;
    pv_judgement *j;
    ok(pv_predict_probs(ctx, probs, NULL, NULL, &judging, &said));
    assert_null(said->prevalence);
    assert_false(said->elsewhere);
    ok(pv_judge(ctx, probs->data, probs->labels, said, &options, &j));
    near(j->found.value.accuracy, 0.8, 1e-15);
    near(j->observed[1], 0.6, 1e-15);
    near(j->stated[1], 0.6, 1e-15);
    assert_true(j->as_rows && !j->misleading && isnan(j->offset) && isnan(j->found.value.holdout_nll));
    assert_string_equal(j->labels[j->positive], "b");
    pv_judgement_free(ctx, j);
    options.stated_for = "population";
    assert_int_equal(pv_judge(ctx, probs->data, probs->labels, said, &options, &j), PV_ERR_USAGE);
    says("the population of these probabilities is unknown");
    assert_null(j);
    pv_prediction_free(ctx, said);
    pv_probs_free(ctx, probs);
}

/* Converted from one half to one fifth: the odds are divided by four. */
static void probabilities_elsewhere(void **state) {
    (void)state;
    const double from[] = {0.5, 0.5};
    pv_probs *probs = probs_of(&with_target);
    pv_judge_options options = without_intervals();
    pv_population *population;
    pv_prediction *said;
    pv_judgement *j;
    assert_int_equal(pv_population_of_probs(ctx, probs, NULL, "known:0.2", NULL, &population), PV_ERR_USAGE);
    says("`from=P`");
    assert_int_equal(pv_population_of_probs(ctx, probs, from, "design", NULL, &population), PV_ERR_USAGE);
    ok(pv_population_of_probs(ctx, probs, from, "known:0.2", NULL, &population));
    ok(pv_predict_probs(ctx, probs, from, population, &judging, &said));
    for (size_t i = 0; i < 5; i++) {
        double odds = probs->p[2 * i + 1] / probs->p[2 * i] / 4;
        near(said->p[2 * i + 1], odds / (1 + odds), 1e-14);
        near(said->log_p[2 * i], -log(1 + odds), 1e-14);
    }
    options.stated_for = "population";
    ok(pv_judge(ctx, probs->data, probs->labels, said, &options, &j));
    double log_loss = 0; /* a: mean of two rows, weight 0.8; b: of three, weight 0.2 */
    log_loss -= 0.8 * (said->log_p[0] + said->log_p[8]) / 2;
    log_loss -= 0.2 * (said->log_p[3] + said->log_p[5] + said->log_p[7]) / 3;
    near(j->found.value.log_loss, log_loss, 1e-14);
    near(j->stated[1], 0.2, 1e-15);
    near(j->offset, log(0.25), 1e-14);
    assert_false(j->as_rows || j->misleading);
    pv_judgement_free(ctx, j);
    options.stated_for = NULL;
    ok(pv_judge(ctx, probs->data, probs->labels, said, &options, &j));
    assert_true(j->as_rows && j->misleading);
    log_loss = -(said->log_p[0] + said->log_p[8] + said->log_p[3] + said->log_p[5] + said->log_p[7]) / 5;
    near(j->found.value.log_loss, log_loss, 1e-14); /* like all other metrics, for unweighted rows */
    pv_judgement_free(ctx, j);
    pv_prediction_free(ctx, said);
    pv_population_free(ctx, population);
    pv_probs_free(ctx, probs);
}

static void what_there_is_not_is_refused(void **state) {
    (void)state;
    pv_probs *probs = probs_of(&with_target);
    const struct {
        pv_judge_options options;
        const char *says;
    } bad[] = {{{.stated_for = "people"}, "is not a population"},
               {{.stated_for = "0.1-0.2"}, "not an interval"},
               {{.positive = "c"}, "there is no label 'c'"},
               {{.binarise = "a"}, "two labels already"}};
    pv_prediction *said;
    ok(pv_predict_probs(ctx, probs, NULL, NULL, &judging, &said));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        pv_judgement *j;
        assert_int_equal(pv_judge(ctx, probs->data, probs->labels, said, &bad[i].options, &j), PV_ERR_USAGE);
        says(bad[i].says);
    }
    pv_judgement *j;
    said->rows--;
    assert_int_equal(pv_judge(ctx, probs->data, probs->labels, said, NULL, &j), PV_ERR_USAGE);
    says("were predicted");
    pv_prediction_free(ctx, said);
    pv_probs_free(ctx, probs);
}

/* The last row has no vote for a: it has no weight, and is counted separately. */
static void votes_are_the_target(void **state) {
    (void)state;
    pv_probs *probs = probs_of(&with_target);
    pv_judge_options options = without_intervals();
    pv_prediction *said;
    pv_judgement *j;
    ok(pv_predict_probs(ctx, probs, NULL, NULL, &judging, &said));
    assert_int_equal(pv_dataset_votes(ctx, probs->table, "va,vb", probs->labels, 2, false, probs->data), PV_ERR_INPUT);
    ok(pv_dataset_votes(ctx, probs->table, "va,vb", probs->labels, 2, true, probs->data));
    assert_int_equal(probs->data->voteless, 1);
    assert_int_equal(probs->data->label[3], 1);
    ok(pv_judge(ctx, probs->data, probs->labels, said, &options, &j));
    assert_int_equal(j->rows, 4);
    assert_int_equal(j->dropped, 1);
    near(j->observed[1], (0.25 + 0.5 + 1 + 0.75) / 4, 1e-15);
    near(j->found.value.accuracy, (0.75 + 0.5 + 1 + 0.75) / 4, 1e-15);
    pv_judgement_free(ctx, j);
    pv_prediction_free(ctx, said);
    pv_probs_free(ctx, probs);
}

/* Three grades as two sides of the second: p(above | not the middle). */
static void grades_have_two_sides(void **state) {
    (void)state;
    static const char text[] = "p__1,p__2,p__3,y\n0.6,0.2,0.2,1\n0.1,0.5,0.4,3\n0.3,0.3,0.4,2\n0.5,0.1,0.4,3\n";
    const pv_probs_options reading = {.target = "y"};
    const double from[] = {0.25, 0.25, 0.5};
    pv_judge_options options = without_intervals();
    pv_probs *probs;
    pv_prediction *said;
    pv_judgement *j;
    put(text, strlen(text));
    ok(pv_probs_read(ctx, path, &reading, &probs));
    ok(pv_predict_probs(ctx, probs, from, NULL, &judging, &said));
    options.binarise = "2";
    options.positive = "below";
    options.stated_for = "population";
    ok(pv_judge(ctx, probs->data, probs->labels, said, &options, &j));
    assert_int_equal(j->classes, 2);
    assert_int_equal(j->positive, 0);
    assert_int_equal(j->rows, 3);
    assert_int_equal(j->uncertain, 1);
    near(j->stated[1], 2.0 / 3, 1e-15);
    near(j->offset, log(0.5), 1e-14);
    near(j->found.value.tpr, 1, 1e-15);
    near(j->found.value.log_loss, -log(0.75) / 3 - (log(0.8) + log(4.0 / 9)) / 3, 1e-14);
    near(said->log_p[0], log(0.6), 1e-15); /* the predictions themselves do not change */
    pv_judgement_free(ctx, j);
    const char *const bad[] = {"1", "3", "4"};
    for (size_t i = 0; i < 3; i++) {
        options.binarise = bad[i];
        assert_int_equal(pv_judge(ctx, probs->data, probs->labels, said, &options, &j), PV_ERR_USAGE);
        says("labels on both sides: 1, 2, 3");
    }
    pv_prediction_free(ctx, said);
    pv_probs_free(ctx, probs);
}

/* ---- classifiers ------------------------------------------------------------------------------------------------- */

static problem study;
static pv_classifier *fitted[2];

static int prepare(void **state) {
    if (setup(state))
        return 1;
    study = nodules_of(ctx, 40, 40, 0.02, 13);
    for (int i = 0; i < 2; i++) {
        pv_fit_options options = pv_fit_options_default();
        options.prevalence = "0.02";
        options.prior = i ? "normal:0.3" : "normal:2";
        fitted[i] = fit(ctx, &study, &options);
    }
    return 0;
}

static int tidy(void **state) {
    pv_classifier_free(ctx, fitted[0]);
    pv_classifier_free(ctx, fitted[1]);
    problem_free(ctx, &study);
    return teardown(state);
}

static void same_metrics(const pv_metrics *a, const pv_metrics *b) {
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        double x = pv_metric_get(a, row), y = pv_metric_get(b, row);
        assert_true(isnan(x) ? isnan(y) : fabs(x - y) <= 1e-12);
    }
}

/* In one call and step by step; in the true population and in others. */
static void classifiers_in_a_population(void **state) {
    (void)state;
    pv_judge_options options = pv_judge_options_default();
    options.stated_for = "0.1";
    pv_prediction *said;
    pv_judgement *j;
    pv_assessment found;
    ok(pv_predict_in(ctx, fitted[0], study.data, "known:0.3", &judging, &said));
    const double share[] = {0.9, 0.1}, logs[] = {log(0.7), log(0.3)};
    pv_targets targets = pv_dataset_targets(study.data);
    pv_judged judged = {
        .log_p = said->log_p, .prevalence = said->prevalence, .loglik = said->log_p, .log_marginal = logs};
    pv_assess_options assess = pv_assess_options_default();
    assess.prevalence = share;
    ok(pv_assess_intervals(ctx, &targets, &judged, &assess, &found));
    ok(pv_judge_in(ctx, fitted[0], study.data, "known:0.3", &options, &j));
    same_metrics(&j->found.value, &found.value);
    same_metrics(&j->found.lo, &found.lo);
    same_metrics(&j->found.hi, &found.hi);
    near(j->offset, log(0.3 / 0.7), 1e-12);
    pv_judgement_free(ctx, j);
    ok(pv_judge_in(ctx, fitted[0], study.data, NULL, &options, &j));
    near(j->offset, pv_logit(exp(fitted[0]->log_marginal[1])), 1e-12);
    pv_judgement_free(ctx, j);
    pv_assessment_clear(ctx, &found);
    pv_prediction_free(ctx, said);
}

/* Each with its own encoding, averaged as probabilities, in the design of the first. */
static void ensembles_average(void **state) {
    (void)state;
    pv_roles roles = {.target = "malignant"};
    pv_population *population;
    pv_prediction *mean, *each[2];
    ok(pv_population_new(ctx, fitted[0], "design", NULL, &population));
    ok(pv_predict(ctx, fitted[0], study.data, population, &judging, &mean));
    for (int i = 0; i < 2; i++)
        ok(pv_predict(ctx, fitted[i], study.data, population, &judging, &each[i]));
    const pv_ensemble_rows rows = {.first = fitted[0], .table = study.table, .roles = &roles, .population = population};
    ok(pv_ensemble_add(ctx, &rows, fitted[1], "b.model", 1, mean));
    for (size_t i = 0; i < 2 * mean->rows; i++)
        near(mean->p[i], (each[0]->p[i] + each[1]->p[i]) / 2, 1e-12);
    for (int i = 0; i < 2; i++)
        pv_prediction_free(ctx, each[i]);
    pv_prediction_free(ctx, mean);
    pv_population_free(ctx, population);
}

/* ---- validations ------------------------------------------------------------------------------------------------- */

static void validations_are_one_sample(void **state) {
    (void)state;
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.02";
    pv_validation_options how = pv_validation_options_default();
    double width[3];
    for (int i = 0; i < 3; i++) {
        how.level = i == 2 ? 0.5 : 0.9;
        how.population = i == 1 ? "unknown" : "design";
        how.stated_for = i == 2 ? "0.3" : "rows";
        pv_validation *v;
        pv_judgement *j;
        ok(pv_cross_validate(ctx, study.schema, study.data, &options, &how, &v));
        near(v->observed[1], 0.5, 1e-15);
        ok(pv_validation_judge(ctx, v, study.schema->labels, 1, &j));
        near(j->stated[1], i == 2 ? 0.3 : i == 1 ? 0.5 : v->population[1], 1e-15);
        near(j->found.value.auc, v->pooled->auc, 1e-12);
        near(j->offset, pv_logit(v->population[1]), 1e-12); /* what the probabilities contain, not the rows */
        assert_true(i != 1 || fabs(v->population[1] - 0.5) > 1e-3);
        width[i] = j->found.hi.auc - j->found.lo.auc;
        pv_judgement_free(ctx, j);
        pv_validation_free(ctx, v);
    }
    assert_true(width[2] > 0 && width[2] < 0.6 * width[0]); /* intervals have the validation's level */
}

/* ---- failing allocations ----------------------------------------------------------------------------------------- */

static pv_status judge_poorly(pv_ctx *poor) {
    const double from[] = {0.5, 0.5};
    pv_judge_options options = without_intervals();
    pv_settings *settings = NULL;
    pv_probs *probs = NULL;
    pv_population *population = NULL;
    pv_prediction *said = NULL;
    pv_judgement *j = NULL, *own = NULL;
    double confusion[4];
    pv_status status;
    PV_GOTO(done, pv_judge_settings_new(poor, &settings));
    PV_GOTO(done, pv_probs_read(poor, path, &with_target, &probs));
    PV_GOTO(done, pv_population_of_probs(poor, probs, from, "known:0.2", NULL, &population));
    PV_GOTO(done, pv_predict_probs(poor, probs, from, population, &judging, &said));
    PV_GOTO(done, pv_dataset_votes(poor, probs->table, "va,vb", probs->labels, 2, true, probs->data));
    PV_GOTO(done, pv_judge(poor, probs->data, probs->labels, said, &options, &j));
    PV_GOTO(done, pv_probs_confusion(poor, probs, from, confusion));
    PV_GOTO(done, pv_predict_confusion(poor, fitted[0], study.data, confusion));
    PV_GOTO(done, pv_judge_in(poor, fitted[0], study.data, "design", &options, &own));
done:
    pv_judgement_free(poor, own);
    pv_judgement_free(poor, j);
    pv_prediction_free(poor, said);
    pv_population_free(poor, population);
    pv_probs_free(poor, probs);
    pv_settings_free(poor, settings);
    return status;
}

static pv_validation *validated;

static pv_status validation_poorly(pv_ctx *poor) {
    pv_judgement *j;
    pv_status status = pv_validation_judge(poor, validated, study.schema->labels, 1, &j);
    pv_judgement_free(poor, j);
    return status;
}

static void survives_lack_of_memory(void **state) {
    (void)state;
    pv_fit_options options = pv_fit_options_default();
    options.prevalence = "0.02";
    pv_validation_options how = pv_validation_options_default();
    put(table_text, strlen(table_text));
    sweep_memory(judge_poorly);
    ok(pv_cross_validate(ctx, study.schema, study.data, &options, &how, &validated));
    sweep_memory(validation_poorly);
    pv_validation_free(ctx, validated);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(probabilities_as_they_are),
                                       cmocka_unit_test(probabilities_elsewhere),
                                       cmocka_unit_test(what_there_is_not_is_refused),
                                       cmocka_unit_test(votes_are_the_target),
                                       cmocka_unit_test(grades_have_two_sides),
                                       cmocka_unit_test(classifiers_in_a_population),
                                       cmocka_unit_test(ensembles_average),
                                       cmocka_unit_test(validations_are_one_sample),
                                       cmocka_unit_test(survives_lack_of_memory)};
    return cmocka_run_group_tests(tests, prepare, tidy);
}
