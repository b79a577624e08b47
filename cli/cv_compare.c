/* prevail cv --compare: fits with other settings, on the same folds, and by how much their metrics differ. Replicates
 * of the bootstrap draw the same rows for all, so that intervals are of paired differences. */
#include "cli/cv_compare.h"
#include "cli/classifier.h"
#include "cli/ensemble.h"
#include "cli/eval.h"
#include "cli/validation.h"

#include <stdlib.h>
#include <string.h>

/* One setting of a variant, NAME=VALUE or the name of a flag; text is cut at the sign. */
static int set(cli_call *call, const char *variant, char *text, pv_fit_options *fit) {
    char *value = strchr(text, '=');
    if (value)
        *value++ = '\0';
    const pv_option *row = pv_option_find(pv_fit_option_table, text);
    if (!row || strcmp(row->name, "seed") == 0)
        return cli_error(call, PV_ERR_USAGE, NULL, "--compare '%s': %s is not %s; write settings such as loss=plain",
                         variant, text, row ? "compared, since it deals the folds" : "an option of the fit");
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
    v->fit = pv_fit_options_used(&v->fit, images); /* what is of the fit as given alone */
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
                                  "--compare '%s': its metrics are stated for another population; state one for all "
                                  "with --stated-for, or use prevail sweep",
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

json_t *cv_compare_json(const cv_compared *c) {
    json_t *list = cli_json_array();
    for (size_t i = 0; i < c->count; i++) {
        json_t *one = cli_json_object();
        cli_json_set(one, "name", cli_json_text(c->variant[i].name));
        cli_json_set(one, "metrics", cli_json_validation(c->variant[i].found));
        cli_json_set(one, "differences", cli_json_assessment(&c->variant[i].difference));
        cli_json_append(list, one);
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
