/* Does what the commands fit, summary, diagnose, predict, eval, adjust and cv do, through the public interface: learns
 * from a study, inspects the model, predicts other people, and evaluates the predictions and the method. Prints one
 * number per line, SECTION NAME VALUE, named as in the commands' --json; tests/workflow.sh compares the two.
 *
 * cc workflow.c $(pkg-config --cflags --libs prevail) -lm && ./a.out study.csv outcome 0.01 people.csv probs.csv */
#include <math.h>
#include <prevail/prevail.h>
#include <stdio.h>
#include <stdlib.h>

static pv_ctx *ctx;

static void need(pv_status status) {
    if (status == PV_OK)
        return;
    const pv_error *error = pv_ctx_error(ctx);
    fprintf(stderr, "%s%s%s\n", error->file, error->file[0] ? ": " : "", error->message);
    exit(status == PV_ERR_USAGE || status == PV_ERR_INPUT ? 2 : 1);
}

static void tell(const char *section, const char *name, const char *part, double value) {
    printf("%s %s%s%s ", section, name, *part ? "." : "", part);
    if (isfinite(value))
        printf("%.17g\n", value);
    else
        printf("null\n");
}

static void tell_spread(const char *section, const char *name, const char *label, const pv_spread *spread) {
    char full[200];
    snprintf(full, sizeof full, "%s.%s", name, label);
    tell(section, full, "value", spread->mean);
    tell(section, full, "sd", spread->sd);
    tell(section, full, "lo", spread->lo);
    tell(section, full, "hi", spread->hi);
}

/* ---- fit, summary, diagnose -------------------------------------------------------------------------------------- */

static pv_classifier *learn(const char *path, const char *target, const char *prevalence) {
    pv_settings *settings;
    pv_classifier *model;
    need(pv_fit_settings_new(ctx, &settings));
    need(pv_settings_set(ctx, settings, "outcome", target));
    need(pv_settings_set(ctx, settings, "prevalence", prevalence));
    need(pv_settings_set(ctx, settings, "infer", "laplace"));
    need(pv_settings_set(ctx, settings, "draws", "200"));
    need(pv_learn(ctx, path, settings, &model));
    pv_settings_free(ctx, settings);
    return model;
}

static void show_model(const pv_classifier *model) {
    pv_summary *summary;
    need(pv_classifier_summary(ctx, model, 0.95, &summary));
    tell("fit", "loss", "", pv_classifier_number(model, PV_CLASSIFIER_LOSS_VALUE));
    tell("fit", "iterations", "", pv_classifier_number(model, PV_CLASSIFIER_ITERATIONS));
    tell("fit", "rows", "", pv_classifier_number(model, PV_CLASSIFIER_ROWS));
    for (size_t i = 0; i < summary->terms; i++) {
        const pv_coefficient *c = &summary->coefficient[i];
        tell_spread("fit", "coefficients", c->name, &c->value);
        tell_spread("summary", "coefficients", c->name, &c->value);
    }
    for (int y = 0; y < summary->classes; y++)
        tell("summary", "design", pv_classifier_label(model, y), pv_classifier_design(model)[y]);
    pv_summary_free(ctx, summary);
}

static void diagnose(const pv_classifier *model) {
    pv_diagnosis *found;
    need(pv_diagnose(ctx, model, NULL, &found));
    for (size_t i = 0; i < found->count; i++) {
        tell("diagnose", found->check[i].name, "ok", found->check[i].ok);
        tell("diagnose", found->check[i].name, "value", found->check[i].value);
    }
    pv_diagnosis_free(ctx, found);
}

/* ---- predict, adjust --------------------------------------------------------------------------------------------- */

static void tell_rows(const char *section, const pv_prediction *said) {
    for (size_t i = 0; i < said->rows; i++) {
        char row[32];
        size_t at = i * (size_t)said->classes + (size_t)said->classes - 1;
        snprintf(row, sizeof row, "%zu", i + 1);
        tell(section, row, "p", said->p[at]);
        if (said->lo) {
            tell(section, row, "lo", said->lo[at]);
            tell(section, row, "hi", said->hi[at]);
        }
    }
}

static void predict(const pv_classifier *model, const pv_dataset *people) {
    pv_predict_options options = pv_predict_options_default();
    pv_prediction *said;
    options.level = 0.8;
    need(pv_predict_in(ctx, model, people, "true", &options, &said));
    tell_rows("predict", said);
    pv_prediction_free(ctx, said);
    need(pv_predict_in(ctx, model, people, "unknown", &options, &said));
    tell_rows("unknown", said);
    for (int y = 0; y < said->classes; y++) {
        tell("unknown", "target_prevalence", pv_classifier_label(model, y), said->inferred->value[y]);
        tell("unknown", "prevalence", pv_classifier_label(model, y), said->prevalence[y]);
    }
    pv_prediction_free(ctx, said);
}

/* ---- eval -------------------------------------------------------------------------------------------------------- */

static void tell_judgement(const char *section, const pv_judgement *j) {
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        char name[64];
        snprintf(name, sizeof name, "metrics.%s", row->name);
        tell(section, name, "value", pv_metric_get(&j->found.value, row));
        tell(section, name, "lo", pv_metric_get(&j->found.lo, row));
        tell(section, name, "hi", pv_metric_get(&j->found.hi, row));
    }
    for (int y = 0; y < j->classes; y++)
        tell(section, "stated_for", j->labels[y], j->stated[y]);
    tell(section, "rows", "", (double)j->rows);
}

static void judge(const pv_classifier *model, const pv_dataset *people) {
    pv_judge_options options = pv_judge_options_default();
    pv_judgement *j;
    options.stated_for = "population";
    need(pv_judge_in(ctx, model, people, "known:0.2", &options, &j));
    tell_judgement("eval", j);
    pv_judgement_free(ctx, j);
}

/* Another model's probabilities: adjust, and eval --probs. */
static void take_probs(const char *path, const char *target) {
    const pv_probs_options reading = {.target = target};
    const pv_predict_options options = {.likelihood = true};
    pv_probs *probs;
    pv_population *population;
    pv_prediction *said;
    pv_judgement *j;
    need(pv_probs_read(ctx, path, &reading, &probs));
    double *from = calloc((size_t)probs->classes, sizeof *from);
    if (!from)
        exit(1);
    need(pv_prevalence_parse_one(ctx, "from", "0.01", probs->labels, probs->classes, from));
    need(pv_population_of_probs(ctx, probs, from, "known:0.3", NULL, &population));
    need(pv_predict_probs(ctx, probs, from, population, &options, &said));
    tell_rows("adjust", said);
    need(pv_judge(ctx, probs->data, probs->labels, said, NULL, &j));
    tell_judgement("probs", j);
    pv_judgement_free(ctx, j);
    pv_prediction_free(ctx, said);
    pv_population_free(ctx, population);
    pv_probs_free(ctx, probs);
    free(from);
}

/* ---- cv ---------------------------------------------------------------------------------------------------------- */

static void cross_validate(const char *path, const char *target, const char *prevalence) {
    pv_roles roles = {.target = target};
    const pv_csv_options csv = {.roles = &roles};
    pv_fit_options options = pv_fit_options_default();
    pv_validation_options how = pv_validation_options_default();
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    pv_validation *v;
    pv_metrics mean, sd, pooled, lo, hi;
    options.prevalence = prevalence;
    how.bootstrap = -1;
    need(pv_table_read(ctx, path, &csv, &table));
    need(pv_schema_learn(ctx, table, &roles, &schema, &data));
    need(pv_cross_validate(ctx, schema, data, &options, &how, &v));
    pv_validation_summary(v, &mean, &sd, NULL, &pooled);
    pv_validation_interval(v, &lo, &hi);
    const struct {
        const char *name;
        const pv_metrics *of;
    } part[] = {{"value", &pooled}, {"mean", &mean}, {"sd", &sd}, {"lo", &lo}, {"hi", &hi}};
    for (const pv_metric_row *row = pv_metric_table; row->name; row++)
        for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
            char name[64];
            snprintf(name, sizeof name, "metrics.%s", row->name);
            tell("cv", name, part[i].name, pv_metric_get(part[i].of, row));
        }
    pv_validation_free(ctx, v);
    pv_dataset_free(ctx, data);
    pv_schema_free(ctx, schema);
    pv_table_free(ctx, table);
}

int main(int argc, char **argv) {
    if (argc != 6 || pv_ctx_new(NULL, &ctx) != PV_OK)
        return fprintf(stderr, "usage: workflow STUDY.csv TARGET PREVALENCE PEOPLE.csv PROBS.csv\n"), 2;
    pv_classifier *model = learn(argv[1], argv[2], argv[3]);
    pv_roles labelled = pv_schema_roles(pv_classifier_schema(model));
    pv_dataset *people;
    show_model(model);
    diagnose(model);
    need(pv_dataset_read(ctx, pv_classifier_schema(model), argv[4], &labelled, NULL, &people));
    predict(model, people);
    judge(model, people);
    take_probs(argv[5], argv[2]);
    cross_validate(argv[1], argv[2], argv[3]);
    pv_dataset_free(ctx, people);
    pv_classifier_free(ctx, model);
    pv_ctx_free(ctx);
    return 0;
}
