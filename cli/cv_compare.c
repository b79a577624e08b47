/* prevail cv --compare: fits with other settings on the same folds, and differences of their metrics. Bootstrap
 * replicates draw the same rows for all fits, so intervals are those of paired differences. */
#include "cli/cv_compare.h"
#include "cli/classifier.h"
#include "cli/ensemble.h"
#include "cli/eval.h"
#include "cli/validation.h"

#include <stdlib.h>
#include <string.h>

/* Applies one setting of a variant, NAME=VALUE or the name of a flag; text is cut at the equals sign. */
static int set(cli_call *call, const char *variant, char *text, pv_fit_options *fit) {
    char *value = strchr(text, '=');
    if (value)
        *value++ = '\0';
    const pv_option *row = pv_option_find(pv_fit_option_table, text);
    if (!row || strcmp(row->name, "seed") == 0)
        return cli_error(call, PV_ERR_USAGE, NULL, "--compare '%s': %s is not %s; write settings such as loss=plain",
                         variant, text, row ? "compared, since it determines the folds" : "an option of the fit");
    pv_status status = pv_option_set(call->ctx, pv_fit_option_table, fit, row->name, value);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

static int read_variant(cli_call *call, bool images, bool sample, cv_variant *v) {
    char *rest = NULL;
    int code = CLI_OK;
    v->text = cli_copy(v->name);
    for (char *at = strtok_r(v->text, " ", &rest); at && code == CLI_OK; at = strtok_r(NULL, " ", &rest))
        code = set(call, v->name, at, &v->fit);
    if (code != CLI_OK)
        return code;
    v->fit = pv_fit_options_used(&v->fit, images); /* without settings that apply only to the fit as given */
    pv_status status = pv_fit_check(call->ctx, &v->fit, sample, NULL, 0);
    return status == PV_OK ? CLI_OK : cli_fail(call, status);
}

int cv_compare_read(cli_call *call, const char *list, const pv_fit_options *fit, bool images, bool sample,
                    cv_compared *to) {
    *to = (cv_compared){0};
    if (!list)
        return CLI_OK;
    to->names = cli_names(list, &to->count);
    to->variant = cli_alloc(to->count, sizeof *to->variant);
    int code = CLI_OK;
    for (size_t i = 0; i < to->count && code == CLI_OK; i++) {
        to->variant[i] = (cv_variant){.name = to->names[i], .fit = *fit};
        if (to->names[i][strspn(to->names[i], " ")] == '\0')
            code = cli_error(call, PV_ERR_USAGE, NULL, "--compare %s: a setting is empty; write loss=plain,model=mlp:4",
                             list);
        else
            code = read_variant(call, images, sample, &to->variant[i]);
    }
    return code;
}

static int find(cli_call *call, cv_variant *v, const pv_schema *schema, const pv_dataset *data,
                const pv_validation_options *how, const pv_validation *first, bool *trouble) {
    bool comparable = false;
    pv_status status = pv_cross_validate(call->ctx, schema, data, &v->fit, how, &v->found);
    cli_progress_clear(call);
    if (status == PV_OK)
        status = pv_validation_compare(call->ctx, first, v->found, how->bootstrap, (uint64_t)v->fit.seed,
                                       &v->difference, &comparable);
    if (status != PV_OK)
        return cli_fail(call, status);
    *trouble = cli_validation_warn(call, v->found, v->name) || *trouble;
    return comparable ? CLI_OK
                      : cli_error(call, PV_ERR_USAGE, NULL,
                                  "--compare '%s': its metrics are for another population; choose one for all with "
                                  "--stated-for, or use prevail sweep",
                                  v->name);
}

int cv_compare_find(cli_call *call, cv_compared *c, const pv_schema *schema, const pv_dataset *data,
                    const pv_validation_options *how, const pv_dataset *sample, const pv_validation *first,
                    bool *trouble) {
    int code = CLI_OK;
    for (size_t i = 0; i < c->count && code == CLI_OK; i++) {
        cv_variant *v = &c->variant[i];
        v->fit.sample = sample;
        v->fit.command = call->line;
        size_t entered = pv_checkpoint_enter(call->ctx, "compared", i + 1);
        code = find(call, v, schema, data, how, first, trouble);
        pv_checkpoint_leave(call->ctx, entered);
    }
    return code;
}

void cv_compare_print(const cv_compared *c, int classes, double level) {
    for (size_t i = 0; i < c->count; i++) {
        printf("\n  %s minus the fit as given, in the same folds; %.4g %% intervals of paired differences\n",
               c->variant[i].name, 100 * level);
        for (const pv_metric_row *row = pv_metric_table; row->name; row++)
            if (classes >= row->least) {
                eval_print_metric(row, classes, &c->variant[i].difference);
                putchar('\n');
            }
    }
}

pv_result *cv_compare_json(pv_ctx *ctx, const cv_compared *c) {
    pv_result *list = pv__value_list();
    for (size_t i = 0; i < c->count; i++) {
        pv_result *one = pv__value_object();
        pv__value_set(one, "name", pv__value_text(c->variant[i].name));
        pv__value_set(one, "metrics", cli_json_validation(c->variant[i].found));
        pv__value_set(one, "differences", cli_json_assessment(ctx, &c->variant[i].difference));
        pv__value_append(list, one);
    }
    return list;
}

void cv_compare_clear(cli_call *call, cv_compared *c) {
    for (size_t i = 0; i < c->count; i++) {
        free(c->variant[i].text);
        pv_validation_free(call->ctx, c->variant[i].found);
        pv_assessment_clear(call->ctx, &c->variant[i].difference);
    }
    free(c->variant);
    free(c->names);
    *c = (cv_compared){0};
}
