/* Calls of two labels with a "refer" region between them, whose errors are controlled.
 *
 * Rows with a score v <= t are called. F_r and F_w are the distributions of v in the label that is right to call and in
 * the other one, and pi_w, pi_r the prevalences. The wrong share of the calls is at most e if and only if
 *
 *     F_w(t) <= c F_r(t),    c = e pi_r/((1 - e) pi_w),
 *
 * which is hardest where pi_w is largest in its interval. From n_r and n_w rows of the labels, independent:
 *
 *     band    F_r(t) >= L(t) = F^_r(t) - sqrt(log(1/d_1)/(2 n_r)) for all t, with probability 1 - d_1 (Massart 1990).
 *     test    given the rows of the right label, H_t: F_w(t) > c L(t) is rejected where P(Bin(n_w, c L(t)) <= x) <= d,
 *             x rows of the wrong label with v <= t. (Clopper and Pearson's bound.)
 *     chains  the candidates t are scores of the right label. From each of six starts t is increased until a test is
 * not rejected: fixed sequences at levels d_2/2 and five times d_2/10, so that any wrong rejection has probability at
 * most d_2. Starts must not depend on the wrong label's rows. The first is the t whose test has the most power if the
 * model is right, so that F_w(t) is the sum of its odds over the right label's rows with v <= t, divided by that of
 * all; the others are the smallest t at which 0, 3, 8, 16 or 32 wrong rows pass.
 *
 * So all thresholds that pass hold at once with probability 1 - d_1 - d_2, and any of them may be chosen. Scores may be
 * tied, and need not be calibrated or ordered as a likelihood ratio.
 */
#include <math.h>

#include "base/text.h"
#include "prevail/core.h"
#include "sets/sets.h"

enum { CANDIDATES = 4096, STARTS = 6 };
/* wrong rows that pass; -1: by power */
static const double start_rows[STARTS] = {-1, 0, 3, 8, 16, 32}, start_level[STARTS] = {0.5, 0.1, 0.1, 0.1, 0.1, 0.1};

/* P(Bin(n, p) <= x) */
static double at_most(double n, double p, double x) {
    if (x < 0 || p >= 1)
        return 0; /* p >= 1: not a hypothesis, no share exceeds 1 */
    return x >= n ? 1 : !(p > 0) ? 1 : pv_beta_cdf(n - x, x + 1, 1 - p);
}

static size_t by_rows(const double *bound, size_t n, double people, double rows, double level) {
    size_t from = 0;
    while (from < n && at_most(people, bound[from], rows) > level)
        from++;
    return from;
}

static size_t by_power(const double *bound, const double *expected, size_t n, double people, double level) {
    size_t best = n;
    double most = 0, passing = -1; /* the most wrong rows with which the test passes; it grows with the bound */
    for (size_t i = 0; i < n; i++) {
        while (passing < people && at_most(people, bound[i], passing + 1) <= level)
            passing++;
        double power = at_most(people, fmin(expected[i], 1 - 1e-9), passing);
        if (power > most) {
            most = power;
            best = i;
        }
    }
    return best;
}

/* Returns the first threshold that is not shown to hold. */
static size_t run_chain(const pv__sets_scores *wrong, const double *bound, size_t from, double level,
                        pv__sets_side *side) {
    size_t i = from;
    for (; i < side->candidates; i++) {
        if (at_most(wrong->people, bound[i], pv__sets_upto(wrong, side->at[i])) > level)
            return i;
        side->holds[i] = true;
    }
    return i;
}

/* The wrong label's share up to each distinct score, if the model is right. */
static void expect(const pv__sets_scores *right, bool of_first, double *share) {
    double sum = 0, before = 0;
    for (size_t i = 0; i < right->distinct; i++) {
        double p = fmin(fmax(fabs(right->value[i]), 1e-12), 1 - 1e-12);
        sum += (right->upto[i] - before) * (of_first ? p / (1 - p) : (1 - p) / p);
        before = right->upto[i];
        share[i] = sum;
    }
    for (size_t i = 0; i < right->distinct; i++)
        share[i] /= sum;
}

pv_status pv__sets_side_of(pv_ctx *ctx, const pv__sets_scores *right, const pv__sets_scores *wrong, bool of_first,
                           double error, double odds, double delta, pv__sets_side *side) {
    size_t step = 1 + (right->distinct - 1) / CANDIDATES, n = (right->distinct + step - 1) / step;
    double *bound = NULL, *expected = NULL, slack = sqrt(log(2 / delta) / (2 * right->people));
    pv_status status;
    *side = (pv__sets_side){.tolerance = error / (1 - error) / odds};
    side->everyone = side->tolerance >= 1;
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *bound, &bound));
    PV_GOTO(done, pv__alloc(ctx, right->distinct, sizeof *expected, &expected));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *side->at, &side->at));
    PV_GOTO(done, pv__alloc(ctx, n, sizeof *side->holds, &side->holds));
    side->candidates = n;
    expect(right, of_first, expected);
    for (size_t i = 0; i < n; i++) { /* the last is the largest score */
        size_t from = right->distinct - 1 - (n - 1 - i) * step;
        side->at[i] = right->value[from];
        side->holds[i] = false;
        bound[i] = side->tolerance * fmax(0, right->upto[from] / right->people - slack);
        expected[i] = expected[from]; /* i <= from */
    }
    size_t stopped = 0; /* where the chains at the second level have failed */
    for (int s = 0; s < STARTS && error > 0; s++) {
        double level = delta / 2 * start_level[s];
        size_t from = start_rows[s] < 0 ? by_power(bound, expected, n, wrong->people, level)
                                        : by_rows(bound, n, wrong->people, start_rows[s], level);
        if (s == 0)
            (void)run_chain(wrong, bound, from, level, side);
        else if (s == 1 || from > stopped)
            stopped = run_chain(wrong, bound, from, level, side);
    }
done:
    pv__free(ctx, expected);
    pv__free(ctx, bound);
    return status;
}

void pv__sets_side_free(pv_ctx *ctx, pv__sets_side *side) {
    pv__free(ctx, side->at);
    pv__free(ctx, side->holds);
}

/* ---- both labels ------------------------------------------------------------------------------------------------- */

/* The first label is called at scores up to `upto`, the second from `from` on. */
typedef struct calls {
    double upto, from; /* -INFINITY and INFINITY: never */
} calls;

/* The largest threshold below a limit that holds; -INFINITY: none. */
static double largest(const pv__sets_side *side, double below) {
    for (size_t i = side->candidates; i-- > 0;)
        if (side->holds[i] && side->at[i] < below)
            return side->at[i];
    return -(double)INFINITY;
}

static calls choose(const pv__sets_side side[2]) {
    calls c = {.from = -largest(&side[1], (double)INFINITY)};
    c.upto = largest(&side[0], c.from);
    if (isinf(c.from) && side[0].everyone)
        c.upto = (double)INFINITY;
    else if (isinf(c.upto) && side[1].everyone)
        c.from = -(double)INFINITY;
    return c;
}

/* Shares of the two labels' people that are called `called`; -1: referred. */
static void shares_of(const pv__sets_data *d, const calls *c, int called, double share[2]) {
    const pv_dataset *rows = d->probs->data;
    double sum[2] = {0, 0};
    share[0] = share[1] = 0;
    for (size_t i = 0; i < rows->rows; i++) {
        double p = d->probs->p[2 * i + 1];
        int y = rows->label[i], call = p <= c->upto ? 0 : p >= c->from ? 1 : -1;
        sum[y] += d->weight[i];
        share[y] += call == called ? d->weight[i] : 0;
    }
    share[0] /= sum[0];
    share[1] /= sum[1];
}

static pv_result *by_label(const pv__sets_data *d, const double share[2]) {
    pv_result *made = pv__value_object();
    for (int y = 0; y < 2; y++)
        (void)pv__value_set(made, d->probs->labels[y], pv__value_real(share[y]));
    return made;
}

static pv_result *in_population(const pv__sets_data *d, const double share[2]) {
    double at[2];
    for (int end = 0; end < 2; end++)
        at[end] = d->prevalence[end][0] * share[0] + d->prevalence[end][1] * share[1];
    return pv__value_pack("rr", "lo", fmin(at[0], at[1]), "hi", fmax(at[0], at[1]));
}

static pv_result *one_call(const pv__sets_data *d, const calls *c, int y, const pv__sets_side *side) {
    double share[2], worst = d->prevalence[y == 0 ? 1 : 0][1 - y]; /* largest prevalence of the wrong label */
    shares_of(d, c, y, share);
    double wrong = worst * share[1 - y], all = wrong + (1 - worst) * share[y], threshold = y == 0 ? c->upto : c->from;
    pv_result *made = pv__value_pack("rrb", "wanted", d->error[y], "tolerance", side->tolerance, "never",
                                     (int)(y == 0 ? c->upto < -1 : c->from > 2));
    (void)pv__value_set(made, "threshold", pv__value_real(isinf(threshold) && all > 0 ? (y == 0 ? 1 : 0) : threshold));
    (void)pv__value_set(made, "error", all > 0 ? pv__value_real(wrong / all) : pv__value_null());
    (void)pv__value_set(made, "shares", by_label(d, share));
    return made;
}

static void warn_of(const pv__sets_data *d, const calls *c, const pv__sets_side side[2], pv_result *warnings) {
    char text[512];
    for (int y = 0; y < 2; y++) {
        const char *name = d->probs->labels[y];
        bool never = y == 0 ? c->upto < -1 : c->from > 2;
        double worst = d->prevalence[y == 0 ? 1 : 0][1 - y];
        if (side[y].everyone)
            pv__format(text, sizeof text,
                       "the prevalence alone keeps the wrong share below %g if everyone is called '%s'; ask for less",
                       d->error[y], pv__show(name).text);
        else if (never && d->error[y] > 0)
            pv__format(text, sizeof text,
                       "no threshold shows that at most %g of those called '%s' are wrong at a prevalence of %.4g of "
                       "'%s': '%s' is never called; %s",
                       d->error[y], pv__show(name).text, worst, pv__show(d->probs->labels[1 - y]).text,
                       pv__show(name).text, "allow more errors, or calibrate on more rows");
        else
            continue;
        pv__sets_warn(d->ctx, warnings, text);
    }
}

static pv_status find_sides(const pv__sets_data *d, pv__sets_side side[2]) {
    pv__sets_scores score[2] = {{0}, {0}};
    double delta = (1 - d->options->confidence) / (d->error[0] > 0 && d->error[1] > 0 ? 2 : 1);
    pv_status status = PV_OK;
    for (int y = 0; y < 2 && status == PV_OK; y++) { /* calls of y: from low scores on, of p(1) or -p(1) */
        const double *worst = d->prevalence[y == 0 ? 1 : 0];
        for (int of = 0; of < 2 && status == PV_OK; of++)
            status = pv__sets_scores_of(d, of, 1, y == 0 ? 1 : -1, &score[of]);
        if (status == PV_OK)
            status = pv__sets_side_of(d->ctx, &score[y], &score[1 - y], y == 0, d->error[y], worst[1 - y] / worst[y],
                                      delta, &side[y]);
        pv__sets_scores_free(d->ctx, &score[0]);
        pv__sets_scores_free(d->ctx, &score[1]);
    }
    return status;
}

pv_status pv__sets_regions(const pv__sets_data *d, pv_result *warnings, pv_result **refer) {
    pv__sets_side side[2] = {{0}, {0}};
    pv_status status = find_sides(d, side);
    if (status == PV_OK) {
        calls c = choose(side);
        double share[2];
        pv_result *both = pv__value_object();
        for (int y = 0; y < 2; y++)
            (void)pv__value_set(both, d->probs->labels[y], one_call(d, &c, y, &side[y]));
        shares_of(d, &c, -1, share);
        *refer = pv__value_pack("rvb", "confidence", d->options->confidence, "prevalence",
                                pv__value_pack("rr", "lo", d->prevalence[0][1], "hi", d->prevalence[1][1]),
                                "all_referred", (int)(c.upto < -1 && c.from > 2));
        (void)pv__value_set(*refer, "calls", both);
        (void)pv__value_set(*refer, "referred",
                            pv__value_pack("vv", "shares", by_label(d, share), "population", in_population(d, share)));
        warn_of(d, &c, side, warnings);
    }
    pv__sets_side_free(d->ctx, &side[0]);
    pv__sets_side_free(d->ctx, &side[1]);
    return status;
}
