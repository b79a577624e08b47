/* Warns of copied rows: many identical rows of one label, but not of the others, suggest that the labels were balanced
 * by duplication. A fit would count each copy as a person of its own.
 *
 * Among at most MOST rows, spread evenly over the table, the check computes for each label the fraction of rows equal
 * to an earlier one. Rows of categories alone that also occur with another label do not count as copies. Rows that are
 * assembled from columns of a packed file are not looked at, in one process or in several: it is read in long pieces,
 * and rows spread over it would read all of it again.
 */
#include <string.h>

#include "data/schema_learn.h"

enum { MOST = 20000, LEAST = 10 };
static const double OFTEN = 0.5, HARDLY = 0.1; /* limits: of a label's rows; for other labels, relative to that */

/* Keys of n rows of the data, computed from their features. */
static pv_status key_rows(pv_ctx *ctx, const pv_dataset *data, size_t n, pv__keyed *made) {
    size_t features = (size_t)data->features;
    double *x = NULL;
    uint64_t *key = NULL;
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, n * features, sizeof *x, &x));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *key, &key));
    for (size_t i = 0; i < n; i++) {
        made[i].row = (size_t)((double)i * ((double)data->rows / (double)n));
        const double *row = pv_dataset_rows(NULL, data, made[i].row, 1, x + i * features);
        if (row != x + i * features)
            memcpy(x + i * features, row, features * sizeof *x);
    }
    const pv__key_rows rows = {.n = n, .features = features, .x = x};
    PV_GOTO(done, pv__row_keys(ctx, &rows, 0, key));
    for (size_t i = 0; i < n; i++)
        made[i].key = key[i];
done:
    pv__free(ctx, key);
    pv__free(ctx, x);
    return status;
}

static void warn_of_copies(pv_ctx *ctx, const pv_schema *schema, int classes, const size_t *rows,
                           const size_t *copies) {
    double most = 0, least = 1;
    int label = 0;
    for (int k = 0; k < classes; k++) {
        double again = rows[k] > 0 ? (double)copies[k] / (double)rows[k] : 0;
        if (again > most && copies[k] >= LEAST) {
            most = again;
            label = k;
        }
        least = again < least ? again : least;
    }
    if (most < OFTEN || least > HARDLY * most)
        return;
    pv__log(ctx, PV_LOG_WARNING,
            "Rows with label '%s' are repeated (%zu distinct of %zu); rows with other labels hardly are. If they were "
            "copied to balance the labels, intervals are too short: leave the copies out (the prevalence corrects the "
            "imbalance), or name the column that identifies the original rows with `cluster`.",
            pv__show(schema->labels[label]).text, rows[label] - copies[label], rows[label]);
}

pv_status pv__suspect_repeats(pv_ctx *ctx, const pv_dataset *data, const pv_schema *schema) {
    if (!data->label || data->frequency || data->images || data->columns || data->weight || data->group ||
        data->features == 0)
        return PV_OK;
    size_t n = data->rows < MOST ? data->rows : MOST, classes = (size_t)data->classes;
    pv__keyed *row = NULL;
    size_t *count = NULL; /* [2][classes]: rows, and copies among them */
    pv_status status;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *row, &row));
    PV_GOTO(done, pv__alloc(ctx, 2 * classes, sizeof *count, &count));
    PV_GOTO(done, key_rows(ctx, data, n, row));
    pv__keyed_sort(n, row);
    for (size_t i = 0, end; i < n; i = end) {
        int label = data->label[row[i].row];
        bool own = true;
        for (end = i; end < n && row[end].key == row[i].key; end++) {
            own = own && data->label[row[end].row] == label;
            count[data->label[row[end].row]]++;
        }
        count[classes + (size_t)label] += own ? end - i - 1 : 0;
    }
    warn_of_copies(ctx, schema, data->classes, count, count + classes);
done:
    pv__free(ctx, count);
    pv__free(ctx, row);
    return status;
}
