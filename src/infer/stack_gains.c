/* The gains of a mixture and of its candidates: mean log scores in the population, on rows not used for fitting, with
 * standard errors by unit for a design that fixes strata and labels.
 */
#include <math.h>
#include <string.h>

#include "design/unit_sums.h"
#include "infer/stacking.h"

static const double *ones(void *state, size_t slot, size_t begin, size_t n) {
    (void)slot, (void)begin, (void)n;
    return state;
}

/* The evaluated rows of the first repeat, which are all rows, as sampling units. */
typedef struct judged {
    size_t n;
    pv__units *units;
    int32_t *cell, *cluster; /* [n] */
    double *people;          /* [n] */
    size_t *at;              /* [rows], index of each row among them */
    double *value;           /* [n], value per person */
    double *a;               /* [n], from all repeats */
    double *mean;            /* [cells] */
    double one[PV__ROW_BLOCK];
} judged;

static void judged_clear(pv_ctx *ctx, judged *j) {
    pv__units_free(ctx, j->units);
    pv__free(ctx, j->cell);
    pv__free(ctx, j->at);
    pv__free(ctx, j->people);
}

static pv_status judged_new(pv_ctx *ctx, const pv__stacking *s, judged *j) {
    size_t cells = (size_t)s->problem->design->strata * s->k, n = s->start[s->judged];
    *j = (judged){.n = n};
    PV_TRY(pv__alloc(ctx, 2 * n, sizeof *j->cell, &j->cell));
    PV_TRY(pv__alloc(ctx, s->data->rows, sizeof *j->at, &j->at));
    PV_TRY(pv__alloc(ctx, 3 * n + cells, sizeof *j->people, &j->people));
    j->cluster = j->cell + n;
    j->value = j->people + n;
    j->a = j->value + n;
    j->mean = j->a + n;
    for (size_t i = 0; i < n; i++) {
        size_t row = s->row[i];
        j->at[row] = i;
        j->cell[i] = (int32_t)pv__stack_cell(s, row);
        j->cluster[i] = s->data->clustered ? s->data->group[row] : 0;
        j->people[i] = pv__stack_counts(s->data) ? s->data->weight[row] : 1;
    }
    for (size_t i = 0; i < pv__stack_judged(s); i++)
        j->a[j->at[s->row[i]]] += s->a[i];
    for (size_t i = 0; i < PV__ROW_BLOCK; i++)
        j->one[i] = 1;
    const pv__units_design design = {.rows = n,
                                     .cells = cells,
                                     .cells_per_stratum = s->k,
                                     .cell = j->cell,
                                     .people = j->people,
                                     .cluster = s->data->clustered ? j->cluster : NULL};
    return pv__units_new(ctx, &design, &j->units);
}

/* The mean over the population of log p minus that of `than` [start[parts]][classes]; NULL: of the prevalence. */
static pv_status gain_of(pv_ctx *ctx, const pv__stacking *s, judged *j, const double *log_p, const double *than,
                         double *gain, double *se) {
    double square = 0;
    *gain = 0;
    memset(j->value, 0, j->n * sizeof *j->value);
    for (size_t i = 0; i < pv__stack_judged(s); i++) {
        size_t row = s->row[i], y = (size_t)s->data->label[row];
        double own = s->a[i] * (log_p[i * s->k + y] - (than ? than[i * s->k + y] : s->log_prior[y]));
        if (!(s->a[i] > 0))
            continue;
        *gain += own;
        j->value[j->at[row]] += own / j->people[j->at[row]];
    }
    const pv__scores scores = {
        .parts = 1, .logits = 1, .size = 1, .residual = {j->value}, .x = ones, .state = (void *)j->one};
    pv__unit_sums sums = {.square = &square, .mean = j->mean};
    PV_TRY(pv__units_sum(ctx, j->units, &scores, &sums));
    *se = sqrt(square);
    return PV_OK;
}

static pv_status name_of(pv_ctx *ctx, const pv__candidate *candidate, char **name) {
    char text[64];
    bool same = !candidate->model || strcmp(candidate->model, "linear") == 0;
    pv__format(text, sizeof text, "%s%s%s", same ? candidate->name : candidate->model, candidate->prior ? " " : "",
               candidate->prior ? candidate->prior : "");
    return pv__strdup(ctx, text, name);
}

pv_status pv__stack_tell(pv_ctx *ctx, const pv__stacking *s, pv_stacked *told) {
    judged j;
    pv_status status;
    PV_GOTO(done, judged_new(ctx, s, &j));
    for (size_t c = 0; c < s->count; c++) {
        pv_candidate *own = &told->candidate[c];
        own->weight = s->v[c];
        own->gain = own->se = own->lead = own->lead_se = (double)NAN;
        PV_GOTO(done, name_of(ctx, s->candidate[c], &own->name));
        if (!s->sound[c])
            continue;
        const double *log_p = s->log_p + c * pv__stack_judged(s) * s->k;
        PV_GOTO(done, gain_of(ctx, s, &j, log_p, NULL, &own->gain, &own->se));
        PV_GOTO(done, gain_of(ctx, s, &j, s->mixed, log_p, &own->lead, &own->lead_se));
    }
    PV_GOTO(done, gain_of(ctx, s, &j, s->mixed, NULL, &told->gain, &told->se));
    told->guess = 0;
    for (size_t i = 0; i < pv__stack_judged(s); i++)
        told->guess += s->a[i] * s->log_prior[s->data->label[s->row[i]]];
    told->cap = s->cap;
    told->folds = (int64_t)s->judged;
    told->repeats = (int64_t)s->repeats;
done:
    judged_clear(ctx, &j);
    return status;
}
