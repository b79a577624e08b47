/* Metrics of validations, as cv and sweep print them. */
#include "common.h"

#include <math.h>
#include <string.h>

double cli_metric(const pv_metrics *metrics, const pv_metric_row *row) {
    double value;
    memcpy(&value, (const char *)metrics + row->offset, sizeof value);
    return value;
}

const char *cli_metric_text(double value, char *text, size_t size) {
    if (isnan(value))
        snprintf(text, size, "-");
    else
        snprintf(text, size, "%.4g", value);
    return text;
}

json_t *cli_json_validation(const pv_validation *validation) {
    pv_metrics mean, sd, defined, pooled;
    pv_validation_summary(validation, &mean, &sd, &defined, &pooled);
    json_t *metrics = json_object();
    for (const pv_metric_row *row = pv_metric_table; row->name; row++) {
        json_t *entry = json_object();
        cli_json_set(entry, "value", cli_json_real(cli_metric(&pooled, row)));
        cli_json_set(entry, "mean", cli_json_real(cli_metric(&mean, row)));
        cli_json_set(entry, "sd", cli_json_real(cli_metric(&sd, row)));
        cli_json_set(entry, "folds", json_integer((json_int_t)cli_metric(&defined, row)));
        cli_json_set(metrics, row->name, entry);
    }
    return metrics;
}

bool cli_validation_warn(cli_call *call, const pv_validation *validation, const char *what) {
    bool trouble = false;
    size_t parts = validation->folds * validation->repeats;
    static const pv_stop bad[] = {PV_STOP_MAX_ITER, PV_STOP_MAX_TIME, PV_STOP_DIVERGED, PV_STOP_NO_PROGRESS};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        size_t count = 0;
        for (size_t i = 0; i < parts; i++)
            count += validation->stop[i] == bad[b] ? 1 : 0;
        if (count)
            cli_warn(call, "%s: %zu of %zu fits ended with %s, not converged", what, count, parts,
                     pv_stop_name(bad[b]));
        trouble = trouble || count;
    }
    return trouble;
}
