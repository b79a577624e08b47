/* auto: a mixture of other models, its members, each fitted separately (infer/stack_fit.c).
 *
 *   r_k(y|x)  =  log p_k(y|x) - log p_k(y)                      a member's log-likelihood ratio, p_k(y) its marginal
 *   q_k(y|x)  ~  p(y) exp max(r_k(y|x), max_z r_k(z|x) - c)     adapted to the prevalence p(y), with bounded ratios:
 *                                                               for two labels r_k is clipped to -c .. c
 *   p(y|x)    =  sum_k v_k q_k(y|x)                             v_k >= 0, sum_k v_k = 1
 *
 * The bound limits the loss caused by an overconfident member: m units of a label do not support likelihood ratios much
 * larger than m (docs/method.md, 17). The spec "auto:prevalence+linear+mlp:16" lists the members; "prevalence" is r =
 * 0. "linear@5" uses the first five inputs only; the inputs after them are for additive members, or are scores of
 * external models. "linear@7:1", a linear model whose slope rescales the score, is such a score: the single input after
 * the first seven. "auto" alone is the value of the option, before members are known.
 *
 * Parameters: c, whose sign is ignored; log p(y) [classes]; for each member log v, up to a constant, and except for the
 * prevalence log p_k(y) [classes] and the member's own parameters. Any finite values are valid.
 */
#include "core/log_add.h"
#include "model/stack.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char NAME[] = "auto", GUESS[] = "prevalence";

size_t pv__stack_member_params(const pv_model *model, size_t member) {
    const pv_model *own = model->member[member];
    return 1 + (own ? (size_t)model->classes + own->params : 0);
}

/* The number at text and, in *end, what follows it; -1 if there is none. */
static long number_at(const char *text, const char **end) {
    char *after;
    if (*text < '0' || *text > '9')
        return -1;
    long number = strtol(text, &after, 10);
    *end = after;
    return number;
}

/* Number of inputs that a member uses, and in *from the first of them, parsed from what follows the @ in its spec,
 * which is removed; 0 if this is invalid. */
static int inputs_of(const pv_model *model, char *spec, int *from) {
    char *at = strchr(spec, '@');
    const char *end = "@";
    *from = 0;
    if (!at)
        return model->inputs;
    long first = 0, inputs = number_at(at + 1, &end);
    if (*end == ':') {
        first = inputs;
        inputs = number_at(end + 1, &end);
    }
    *at = '\0';
    if (*end != '\0' || inputs < 1 || inputs > model->inputs || first > model->inputs - inputs)
        return 0;
    *from = (int)first;
    return (int)inputs;
}

/* Adds the member whose spec is text .. end. */
static pv_status add_member(pv_ctx *ctx, pv_model *model, const char *text, const char *end) {
    char *spec;
    size_t size = (size_t)(end - text);
    PV_TRY(pv__alloc(ctx, size + 1, 1, &spec));
    memcpy(spec, text, size);
    int from, inputs = inputs_of(model, spec, &from);
    pv_status status = PV_OK;
    pv_model *made = NULL;
    if (inputs == 0 && model->inputs > 0)
        status = pv__fail(ctx, PV_ERR_USAGE, "`model=%s`: a member takes other inputs than there are", model->spec);
    else if (strcmp(spec, GUESS) != 0)
        status = strncmp(spec, NAME, strlen(NAME)) == 0
                     ? pv__fail(ctx, PV_ERR_USAGE, "`model=%s`: a mixture is not a member of another", model->spec)
                     : pv__model_new(ctx, spec, inputs, false, model->classes, &made);
    if (status == PV_OK && made && pv__model_takes_views(made))
        status = pv__fail(ctx, PV_ERR_USAGE, "`model=%s`: its members take tables", model->spec);
    pv__free(ctx, spec);
    if (status != PV_OK) {
        pv_model_free(ctx, made);
        return status;
    }
    model->member_from[model->members] = from;
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
    PV_TRY(pv__alloc(ctx, PV__STACK_MEMBERS_MAX, sizeof *model->member_from, &model->member_from));
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

/* ---- work: that of each member, followed by log v [members], a member's output [rows][classes], and the inputs of a
 * member that uses only some of them [rows][inputs] */

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
    PV_GOTO(fail, pv__alloc(ctx, model->members + rows * (size_t)(model->classes + model->inputs), sizeof(double),
                            &made->block));
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

void pv__stack_weights(const pv_model *model, const double *w, double *log_weight) {
    const double *own = w + 1 + model->classes;
    for (size_t m = 0; m < model->members; own += pv__stack_member_params(model, m++))
        log_weight[m] = own[0];
    pv_log_softmax((int)model->members, log_weight, log_weight);
}

/* The inputs that member m uses; copied to room if they are not all inputs. */
static const double *inputs_for(const pv_model *model, size_t m, size_t n, const double *x, double *room) {
    size_t d = (size_t)model->inputs, own = (size_t)model->member[m]->inputs, from = (size_t)model->member_from[m];
    for (size_t i = 0; own < d && i < n; i++)
        memcpy(room + i * own, x + i * d + from, own * sizeof *room);
    return own < d ? room : x;
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
            pv_model_forward(member, work->member[m], own + 1 + k, n, inputs_for(model, m, n, x, said + n * k), said);
        for (size_t i = 0; i < n; i++) {
            double *row = said + i * k;
            for (size_t y = 0; !member && y < k; y++)
                row[y] = log_prior[y];
            pv__stack_move(k, member ? own + 1 : log_prior, cap, log_prior, row);
            for (size_t y = 0; y < k; y++)
                loglik[i * k + y] = pv__log_add(loglik[i * k + y], row[y] + log_weight[m]);
        }
    }
}

/* Members are fitted separately, so there is no gradient. */
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

/* One member's log q(y|x), given its output; ratio 0 for the prevalence. */
static int describe_moved(const pv_model *model, pv__steps *steps, const double *w, const double *log_marginal,
                          int said) {
    size_t k = (size_t)model->classes;
    int prior = pv__steps_matrix(steps, 1, k, w + 1);
    if (said < 0)
        return pv__steps_log_softmax(steps, prior);
    int ratio = pv__steps_two(steps, PV__STEP_SUBTRACT, said, pv__steps_matrix(steps, 1, k, log_marginal));
    int top = pv__steps_one(steps, PV__STEP_TOP, ratio);
    int least = pv__steps_two(steps, PV__STEP_SUBTRACT, top, pv__steps_number(steps, fabs(w[0])));
    ratio = pv__steps_two(steps, PV__STEP_MAX, ratio, least);
    return pv__steps_log_softmax(steps, pv__steps_two(steps, PV__STEP_ADD, ratio, prior));
}

static int describe(const pv_model *model, pv__steps *steps, const pv__parameters *p, int x) {
    size_t k = (size_t)model->classes, at = 1 + k;
    double *log_weight = NULL;
    int sum = -1;
    if (model->members == 0)
        return describe_moved(model, steps, p->w, NULL, -1);
    if (steps->status == PV_OK)
        steps->status = pv__alloc(steps->ctx, model->members, sizeof *log_weight, &log_weight);
    if (log_weight)
        pv__stack_weights(model, p->w, log_weight);
    for (size_t m = 0; log_weight && m < model->members; at += pv__stack_member_params(model, m++)) {
        const pv_model *member = model->member[m];
        int said = -1;
        if (member) {
            pv__parameters own = pv__parameters_from(p, at + 1 + k, member->params);
            int own_x = pv__steps_slice(steps, x, (size_t)model->member_from[m], (size_t)member->inputs);
            said = member->architecture->describe(member, steps, &own, own_x);
        }
        int q = pv__steps_one(steps, PV__STEP_EXP, describe_moved(model, steps, p->w, p->w + at + 1, said));
        q = pv__steps_two(steps, PV__STEP_MULTIPLY, q, pv__steps_number(steps, exp(log_weight[m])));
        sum = m > 0 ? pv__steps_two(steps, PV__STEP_ADD, sum, q) : q;
    }
    pv__free(steps->ctx, log_weight);
    return pv__steps_one(steps, PV__STEP_LOG, sum);
}

const pv__architecture pv__stack = {.parse = parse,
                                    .is_bias = is_bias,
                                    .start = start,
                                    .output_bias = output_bias,
                                    .forward = forward,
                                    .backward = backward,
                                    .of_members = true,
                                    .work_new = work_new,
                                    .work_free = work_free,
                                    .describe = describe};
