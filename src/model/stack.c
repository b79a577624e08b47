/* auto: a mixture of other models, its members, each fitted by itself (infer/stack_fit.c).
 *
 *   r_k(y|x)  =  log p_k(y|x) - log p_k(y)                      a member's log-likelihood ratio, p_k(y) its marginal
 *   q_k(y|x)  ~  p(y) exp max(r_k(y|x), max_z r_k(z|x) - c)     moved to the prevalence p(y), capped: of two labels the
 *                                                               log-likelihood ratio is kept within -c .. c
 *   p(y|x)    =  sum_k v_k q_k(y|x)                             v_k >= 0, sum_k v_k = 1
 *
 * The cap limits what a member that is too sure of itself can cost: m units of a label do not support likelihood ratios
 * far beyond m (docs/method.md, 17). The spec "auto:prevalence+linear+mlp:16" names the members; "prevalence" is
 * r = 0. "auto" is what options say: it has no members yet.
 *
 * Parameters: c, of which the sign does not count; log p(y) [classes]; of each member log v, in proportion, and but for
 * the prevalence log p_k(y) [classes] and the member's own. Any finite numbers are sound.
 */
#include "model/stack.h"

#include <math.h>
#include <string.h>

static const char NAME[] = "auto", GUESS[] = "prevalence";

size_t pv__stack_member_params(const pv_model *model, size_t member) {
    const pv_model *own = model->member[member];
    return 1 + (own ? (size_t)model->classes + own->params : 0);
}

/* "linear+mlp:16" from text on; the token's end. */
static pv_status add_member(pv_ctx *ctx, pv_model *model, const char *text, const char *end) {
    char *spec;
    size_t size = (size_t)(end - text);
    PV_TRY(pv__alloc(ctx, size + 1, 1, &spec));
    memcpy(spec, text, size);
    pv_status status = PV_OK;
    pv_model *made = NULL;
    if (strcmp(spec, GUESS) != 0)
        status = strncmp(spec, NAME, strlen(NAME)) == 0
                     ? pv__fail(ctx, PV_ERR_USAGE, "`model=%s`: a mixture is not a member of another", model->spec)
                     : pv__model_new(ctx, spec, model->inputs, false, model->classes, &made);
    if (status == PV_OK && made && pv__model_takes_views(made))
        status = pv__fail(ctx, PV_ERR_USAGE, "`model=%s`: its members take tables", model->spec);
    pv__free(ctx, spec);
    if (status != PV_OK) {
        pv_model_free(ctx, made);
        return status;
    }
    model->member[model->members++] = made;
    model->params += pv__stack_member_params(model, model->members - 1);
    return PV_OK;
}

static pv_status parse(pv_ctx *ctx, pv_model *model, const char *spec, bool *mine) {
    size_t length = strlen(NAME);
    *mine = strncmp(spec, NAME, length) == 0 && (spec[length] == '\0' || spec[length] == ':');
    if (!*mine)
        return PV_OK;
    model->params = 1 + (size_t)model->classes;
    if (spec[length] == '\0')
        return PV_OK;
    PV_TRY(pv__alloc(ctx, PV__STACK_MEMBERS_MAX, sizeof *model->member, &model->member));
    const char *at = spec + length, *end;
    do {
        at++;
        end = at + strcspn(at, "+");
        if (model->members == PV__STACK_MEMBERS_MAX)
            return pv__fail(ctx, PV_ERR_USAGE, "`model=%s`: more than %d members", spec, (int)PV__STACK_MEMBERS_MAX);
        PV_TRY(add_member(ctx, model, at, end));
        at = end;
    } while (*at);
    return PV_OK;
}

pv_status pv__stack_spec(pv_ctx *ctx, size_t members, const char *const *member, char **spec) {
    size_t size = sizeof NAME + 1;
    for (size_t m = 0; m < members; m++)
        size += strlen(member[m] ? member[m] : GUESS) + 1;
    PV_TRY(pv__alloc(ctx, size, 1, spec));
    size_t at = (size_t)pv__format(*spec, size, "%s", NAME);
    for (size_t m = 0; m < members; m++)
        at += (size_t)pv__format(*spec + at, size - at, "%c%s", m ? '+' : ':', member[m] ? member[m] : GUESS);
    return PV_OK;
}

/* ---- work: that of each member, and behind each other log v [members] and a member's output [rows][classes] ------ */

static void work_free(pv_ctx *ctx, pv_model_work *work) {
    for (size_t m = 0; work->member && m < work->members; m++)
        pv_model_work_free(ctx, work->member[m]);
    pv__free(ctx, work->member);
}

static pv_status work_new(pv_ctx *ctx, const pv_model *model, size_t rows, pv_model_work **work) {
    pv_model_work *made;
    PV_TRY(pv__alloc(ctx, 1, sizeof *made, &made));
    made->architecture = model->architecture;
    made->compute = pv__compute_best();
    made->rows = rows;
    made->members = model->members;
    pv_status status;
    PV_GOTO(fail, pv__alloc(ctx, model->members, sizeof(pv_model_work *), &made->member));
    for (size_t m = 0; m < model->members; m++)
        if (model->member[m])
            PV_GOTO(fail, pv_model_work_new(ctx, model->member[m], rows, &made->member[m]));
    PV_GOTO(fail, pv__alloc(ctx, model->members + rows * (size_t)model->classes, sizeof(double), &made->block));
    *work = made;
    return PV_OK;
fail:
    pv_model_work_free(ctx, made);
    return status;
}

/* ---- predictions ------------------------------------------------------------------------------------------------- */

void pv__stack_move(size_t classes, const double *log_marginal, double cap, const double *log_prior, double *loglik) {
    double top = -HUGE_VAL;
    for (size_t y = 0; y < classes; y++) {
        loglik[y] -= log_marginal[y];
        top = loglik[y] > top || isnan(loglik[y]) ? loglik[y] : top;
    }
    for (size_t y = 0; y < classes; y++)
        loglik[y] = (loglik[y] < top - cap ? top - cap : loglik[y]) + log_prior[y];
    pv_log_softmax((int)classes, loglik, loglik);
}

double pv__stack_log_sum(double a, double b) {
    double top = a > b ? a : b;
    return isfinite(top) ? top + log1p(exp((a > b ? b : a) - top)) : top;
}

void pv__stack_weights(const pv_model *model, const double *w, double *log_weight) {
    const double *own = w + 1 + model->classes;
    for (size_t m = 0; m < model->members; own += pv__stack_member_params(model, m++))
        log_weight[m] = own[0];
    pv_log_softmax((int)model->members, log_weight, log_weight);
}

static void forward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                    double *loglik) {
    size_t k = (size_t)model->classes, members = model->members;
    const double cap = fabs(w[0]), *log_prior = w + 1, *own = log_prior + k;
    double *log_weight = work->block, *said = log_weight + members;
    pv__stack_weights(model, w, log_weight);
    for (size_t i = 0; i < n * k; i++)
        loglik[i] = members ? -HUGE_VAL : log_prior[i % k];
    for (size_t i = 0; !members && i < n; i++)
        pv_log_softmax((int)k, loglik + i * k, loglik + i * k);
    for (size_t m = 0; m < members; own += pv__stack_member_params(model, m++)) {
        const pv_model *member = model->member[m];
        if (member)
            pv_model_forward(member, work->member[m], own + 1 + k, n, x, said);
        for (size_t i = 0; i < n; i++) {
            double *row = said + i * k;
            for (size_t y = 0; !member && y < k; y++)
                row[y] = log_prior[y];
            pv__stack_move(k, member ? own + 1 : log_prior, cap, log_prior, row);
            for (size_t y = 0; y < k; y++)
                loglik[i * k + y] = pv__stack_log_sum(loglik[i * k + y], row[y] + log_weight[m]);
        }
    }
}

/* Members are fitted one by one: nothing descends here. */
static void backward(const pv_model *model, pv_model_work *work, const double *w, size_t n, const double *x,
                     const double *loglik, const double *dloglik, double *dw) {
    (void)work, (void)w, (void)n, (void)x, (void)loglik, (void)dloglik;
    for (size_t i = 0; i < model->params; i++)
        dw[i] = (double)NAN;
}

static bool is_bias(const pv_model *model, size_t parameter) {
    return parameter >= 1 && parameter <= (size_t)model->classes;
}

static void start(const pv_model *model, uint64_t seed, double *w) {
    (void)seed;
    memset(w, 0, model->params * sizeof *w);
}

static double *output_bias(const pv_model *model, double *w, size_t *stride) {
    (void)model;
    *stride = 1;
    return w + 1;
}

const pv__architecture pv__stack = {.parse = parse,
                                    .is_bias = is_bias,
                                    .start = start,
                                    .output_bias = output_bias,
                                    .forward = forward,
                                    .backward = backward,
                                    .of_members = true,
                                    .work_new = work_new,
                                    .work_free = work_free};
