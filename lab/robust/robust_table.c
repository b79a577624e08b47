/* A table that is a population of its own: samples of cases and controls are drawn from it, and the lines fitted to
 * them judged by all the other rows, each label weighted back to its share of the table. */
#include "prevail/prevail.h"
#include "lab/robust/robust.h"
#include "tool/console.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct robust_table {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
    size_t *person, people; /* rows of data, a row of weight v as v people */
    size_t count[2];        /* people of each label */
};

/* A row of weight 3 is three people. */
static int fill_people(cli_call *call, robust_table *t) {
    size_t rows = t->data->rows, n = 0;
    for (int pass = 0; pass < 2; pass++) {
        n = 0;
        for (size_t i = 0; i < rows; i++) {
            double weight = t->data->weight ? t->data->weight[i] : 1;
            if (weight != floor(weight) || weight > 1e6)
                return cli_error(call, PV_ERR_INPUT, NULL, "--weights must be whole numbers of people");
            for (size_t c = 0; c < (size_t)weight; c++, n++) {
                if (pass == 0)
                    continue;
                t->person[n] = i;
                t->count[t->data->label[i]]++;
            }
        }
        if (pass == 0)
            t->person = cli_alloc(n, sizeof *t->person);
    }
    t->people = n;
    return CLI_OK;
}

int robust_table_read(cli_call *call, robust_study *s) {
    const robust_options *o = s->options;
    robust_table *t = s->table = cli_alloc(1, sizeof *t);
    pv_roles roles = {.target = o->target, .positive = o->positive, .weights = o->weights, .missing = PV_MISSING_DROP};
    if (!o->target)
        return cli_error(call, PV_ERR_USAGE, NULL, "--data needs --target, the column of the outcome");
    pv_status status = pv_table_read(call->ctx, o->data, &(pv_csv_options){.roles = &roles}, &t->table);
    if (status == PV_OK)
        status = pv_schema_learn(call->ctx, t->table, &roles, &t->schema, &t->data);
    if (status != PV_OK)
        return cli_fail(call, status);
    if (t->data->classes != 2 || !t->data->label)
        return cli_error(call, PV_ERR_INPUT, o->data, "the study is of two labels");
    int code = fill_people(call, t);
    for (size_t i = 0; code == CLI_OK && i < s->sizes; i++)
        for (int y = 0; y < 2 && code == CLI_OK; y++)
            if (2 * s->rows[i] > t->count[y])
                code = cli_error(call, PV_ERR_USAGE, NULL,
                                 "--rows %zu: there are %zu people of label %s, and half of them are to be left for "
                                 "judging; ask for fewer",
                                 s->rows[i], t->count[y], t->schema->labels[y]);
    return code;
}

const pv_table *robust_table_of(const robust_table *t) {
    return t->table;
}

void robust_table_free(cli_call *call, robust_table *t) {
    if (!t)
        return;
    pv_dataset_free(call->ctx, t->data);
    pv_schema_free(call->ctx, t->schema);
    pv_table_free(call->ctx, t->table);
    free(t->person);
    free(t);
}

/* The people in random order, the first so many of each label in front; returns how many were taken. */
static size_t deal(const robust_table *t, uint64_t seed, uint64_t replicate, size_t each, size_t *order) {
    pv_rng rng = pv_rng_stream(seed, PV_STREAM_STUDY_PEOPLE, replicate);
    size_t *all = cli_alloc(t->people, sizeof *all), left[2] = {each, each}, taken = 0, rest = 2 * each;
    memcpy(all, t->person, t->people * sizeof *all);
    pv_rng_shuffle(&rng, t->people, all);
    for (size_t i = 0; i < t->people; i++) {
        int32_t y = t->data->label[all[i]];
        if (left[y]) {
            left[y]--;
            order[taken++] = all[i];
        } else {
            order[rest++] = all[i];
        }
    }
    free(all);
    return taken;
}

static pv_status judge(pv_ctx *ctx, const robust_table *t, size_t each, const pv_classifier *fit,
                       const pv_dataset *others, robust_outcome *out) {
    pv_prediction *found = NULL;
    pv_status status = pv_predict(ctx, fit, others, NULL, NULL, &found);
    if (status != PV_OK)
        return status;
    double share = (double)t->count[1] / (double)t->people, risk = 0, gain = 0, null[2] = {log1p(-share), log(share)};
    for (size_t i = 0; i < others->rows; i++) {
        int32_t y = others->label[i];
        double w = (double)t->count[y] / (double)(t->count[y] - each) / (double)t->people;
        risk += w * found->p[2 * i + 1];
        gain += w * (found->log_p[2 * i + (size_t)y] - null[y]);
    }
    out->ratio = risk / share;
    out->loss = gain / -(share * null[1] + (1 - share) * null[0]);
    pv_prediction_free(ctx, found);
    return PV_OK;
}

static pv_status fit_one(pv_ctx *ctx, const robust_study *s, size_t each, uint64_t replicate, const pv_schema *schema,
                         const pv_dataset *learn, const pv_dataset *others, int method, robust_outcome *out) {
    const robust_table *t = s->table;
    pv_fit_options options = robust_fit_options(s, method, replicate);
    double share = (double)t->count[1] / (double)t->people;
    char stated[80], first[34], second[34];
    pv_format_double(1 - share, first, sizeof first);
    pv_format_double(share, second, sizeof second);
    snprintf(stated, sizeof stated, "%s,%s", first, second);
    options.prevalence = stated;
    pv_classifier *fit = NULL;
    pv_status status = study_fit(ctx, (size_t)method, schema, learn, &options, &fit);
    if (status == PV_OK)
        status = judge(ctx, t, each, fit, others, out);
    if (status == PV_OK) {
        out->done = 1;
        out->exponent = fit->agreement ? fit->agreement->exponent : (double)NAN;
        out->z = fit->agreement ? fit->agreement->z[1] : (double)NAN;
        out->p_value = fit->agreement ? fit->agreement->p_value : (double)NAN;
    }
    pv_classifier_free(ctx, fit);
    return status;
}

pv_status robust_table_replicate(pv_ctx *ctx, const robust_study *s, size_t cell, size_t replicate) {
    const robust_table *t = s->table;
    size_t each = s->rows[cell], *order = cli_alloc(t->people, sizeof *order);
    pv_schema *scaled = NULL;
    pv_dataset *learn = NULL, *others = NULL;
    double *counts = NULL;
    size_t taken = deal(t, s->seed, replicate, each, order);
    pv_status status = pv_dataset_take(ctx, t->data, taken, order, &learn);
    if (status == PV_OK)
        status = pv_dataset_take(ctx, t->data, t->people - taken, order + taken, &others);
    if (status == PV_OK)
        status = pv_schema_rescale(ctx, t->schema, learn, &scaled);
    if (status == PV_OK) {
        pv_dataset_rescale(t->schema, scaled, learn);
        pv_dataset_rescale(t->schema, scaled, others);
        counts = learn->weight; /* people, by now */
        learn->weight = NULL;
    }
    for (int m = s->first; m < s->last && status == PV_OK; m++) {
        status = fit_one(ctx, s, each, replicate, scaled, learn, others, m, robust_at(s, cell, replicate, m));
        if (study_fit_failed(status))
            status = PV_OK;
    }
    if (counts)
        learn->weight = counts; /* freed with it */
    pv_dataset_free(ctx, learn);
    pv_dataset_free(ctx, others);
    pv_schema_free(ctx, scaled);
    free(order);
    return status;
}
