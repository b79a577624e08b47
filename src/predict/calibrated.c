/* An unknown prevalence of two labels with ratios that are themselves estimated, by the log ratios s of reference rows
 * whose labels are known and which the model has not seen (docs/method.md, 10.5).
 *
 * Among them f_1(s)/f_0(s) = exp(a + b s), the model's own claim being a = 0, b = 1; f_0 is free. The target rows come
 * from pi f_1 + (1 - pi) f_0. With f_0 profiled out (Qin 1999) the log-likelihood of all rows is, for given pi,
 *
 *   l(a, b, c) = sum over cases (a + b s) + sum over target rows log(1 - pi + pi e^(a + b s))
 *                + N log(1 + e^(c - a)) - sum over all rows log(1 + e^(c + b s)) ,
 *
 * stationary in a, b and c: the multiplier of "f_1 is a density" is mu = 1/(1 + e^(a - c)). Newton's method in three
 * unknowns. As a function of z = logit pi, with a and b integrated out about their best (Laplace's method),
 *
 *   l(pi) - 1/2 log det(-d2l/d(a, b)2)
 *
 * takes the place of the likelihood with ratios taken as right. Where l itself is largest,
 *
 *   dl/dz = sum over target rows of pi e^(a + b s)/(1 - pi + pi e^(a + b s)), less their number times pi .
 *
 * Target rows are put into BINS bins of s where there are more: nothing then depends on their number.
 */
#include "predict/calibrated.h"

#include <math.h>
#include <string.h>

enum { BINS = 4096, NEWTON = 60, SIDE = 400, FEWEST = 24 };
static const double DROP = 30, Z_MAX = 200;

/* ---- the rows ---------------------------------------------------------------------------------------------------- */

double pv__calibrated_score(const pv_unknown_sample *sample, size_t i) {
    double s = sample->loglik[2 * i + 1] - sample->loglik[2 * i] - sample->log_marginal[1] + sample->log_marginal[0];
    return fmin(fmax(s, -PV_REFERENCE_SCORE), PV_REFERENCE_SCORE);
}

static double weight_of(const pv_unknown_sample *sample, size_t i) {
    if (sample->label && sample->label[i] >= 0)
        return 0;
    return sample->weight ? sample->weight[i] : 1;
}

/* The target rows behind the reference's, in bins where there are many. */
static void put_rows(const pv_unknown_sample *sample, pv__calibrated *c) {
    double least = HUGE_VAL, most = -HUGE_VAL;
    size_t begin = c->reference, bins = 0;
    for (size_t i = 0; i < sample->n; i++) {
        double s = pv__calibrated_score(sample, i);
        least = fmin(least, s);
        most = fmax(most, s);
        bins += weight_of(sample, i) > 0;
    }
    bool whole = bins <= BINS;
    bins = whole ? bins : BINS;
    double width = (most - least) / BINS;
    for (size_t i = 0, next = begin; i < sample->n; i++) {
        double v = weight_of(sample, i), s = pv__calibrated_score(sample, i);
        if (!(v > 0))
            continue;
        size_t at = next++;
        if (!whole) {
            size_t bin = width > 0 ? (size_t)((s - least) / width) : 0;
            at = begin + (bin < BINS ? bin : BINS - 1);
        }
        c->target[at] += v;
        c->score[at] += (s - c->score[at]) * v / c->target[at];
        c->targets += v;
    }
    c->points = begin + bins;
}

pv_status pv__calibrated_new(pv_ctx *ctx, const pv_unknown_sample *sample, const pv_reference *reference,
                             pv__calibrated *c) {
    size_t n = reference->count[0] + reference->count[1], room = n + (sample->n < BINS ? sample->n : BINS);
    *c = (pv__calibrated){.reference = n};
    PV_TRY(pv__alloc(ctx, 6 * room, sizeof *c->score, &c->score));
    c->target = c->score + room;
    c->known[0] = c->target + room;
    c->known[1] = c->known[0] + room;
    c->f[0] = c->known[1] + room;
    c->f[1] = c->f[0] + room;
    for (size_t i = 0; i < n; i++) {
        int y = i >= reference->count[0];
        c->score[i] = reference->score[i];
        c->known[y][i] = reference->weight[i];
        c->mass[y] += reference->weight[i];
    }
    put_rows(sample, c);
    c->total = c->mass[0] + c->mass[1] + c->targets;
    double mean = 0, square = 0;
    for (size_t i = 0; i < n; i++)
        mean += c->score[i] * (c->known[0][i] + c->known[1][i]) / (c->mass[0] + c->mass[1]);
    for (size_t i = 0; i < n; i++)
        square += (c->score[i] - mean) * (c->score[i] - mean) * (c->known[0][i] + c->known[1][i]);
    c->unit = sqrt(square / (c->mass[0] + c->mass[1]));
    return PV_OK;
}

void pv__calibrated_clear(pv_ctx *ctx, pv__calibrated *c) {
    pv__free(ctx, c->score);
    *c = (pv__calibrated){0};
}

/* ---- given pi ---------------------------------------------------------------------------------------------------- */

/* Gradient and second derivatives of l in (a, b, c); the value. slope: dl/dz. */
static double evaluate(const pv__calibrated *c, double z, const pv__tilt *at, double *g, double *h, double *slope) {
    double m = pv_sigmoid(at->c - at->a), dm = c->total * m * (1 - m), pi = pv_sigmoid(z), value = 0, expected = 0;
    memset(h, 0, 9 * sizeof *h);
    g[0] = -c->total * m;
    g[1] = 0;
    g[2] = c->total * m;
    h[0] = h[8] = dm;
    h[2] = h[6] = -dm;
    for (size_t i = 0; i < c->points; i++) {
        double s = c->score[i], cases = c->known[1][i], t = c->target[i], all = cases + c->known[0][i] + t;
        double e = at->c + at->b * s, v = pv_sigmoid(e), dv = all * v * (1 - v);
        value -= all * (e > 0 ? e + log1p(exp(-e)) : log1p(exp(e)));
        double along = -all * v + cases, twice = -dv;
        value += cases * (at->a + at->b * s);
        g[0] += cases;
        g[2] -= all * v;
        if (t > 0) {
            double o = z + at->a + at->b * s, u = pv_sigmoid(o), du = t * u * (1 - u);
            value += t * (o > 0 ? o + log1p(exp(-o)) : log1p(exp(o)));
            expected += t * u;
            g[0] += t * u;
            along += t * u;
            twice += du;
            h[0] += du;
            h[1] += du * s;
        }
        g[1] += along * s;
        h[4] += twice * s * s;
        h[5] -= dv * s;
        h[8] -= dv;
    }
    h[3] = h[1];
    h[7] = h[5];
    *slope = expected - c->targets * pi;
    double away = at->c - at->a;
    return value + c->targets * pv_log_sigmoid(-z) +
           c->total * (away > 0 ? away + log1p(exp(-away)) : log1p(exp(away)));
}

/* log det of -d2l/d(a, b)2, c at its best for each; NaN where l has no maximum there. */
static double log_curvature(const double *h) {
    double aa = h[0] - h[2] * h[2] / h[8], ab = h[1] - h[2] * h[5] / h[8], bb = h[4] - h[5] * h[5] / h[8];
    return aa < 0 ? log(aa * bb - ab * ab) : (double)NAN;
}

/* From where at is, and leaves it where l is stationary; false where Newton's method does not get there, or l has no
 * maximum there. */
static bool settle(const pv__calibrated *c, double z, pv__tilt *at, double *value, double *slope) {
    double g[3], h[9];
    for (int i = 0; i < NEWTON; i++) {
        *value = evaluate(c, z, at, g, h, slope);
        double curvature = log_curvature(h); /* before h is solved with */
        for (int j = 0; j < 3; j++)
            g[j] = -g[j];
        if (!isfinite(*value) || !pv__solve_small(3, h, g))
            return false;
        double size = fmax(fmax(fabs(g[0]), fabs(g[1]) * c->unit), fabs(g[2])), shrink = size > 1 ? 1 / size : 1;
        at->a += shrink * g[0];
        at->b += shrink * g[1];
        at->c += shrink * g[2];
        if (size < 1e-8) {
            *value -= 0.5 * curvature;
            return isfinite(*value) && isfinite(at->a) && isfinite(at->b) && isfinite(at->c);
        }
    }
    return false;
}

/* The reference alone: a logistic regression of the label on s. Then pi with these ratios, by EM. */
static bool begin(const pv__calibrated *c, pv__tilt *at, double *z) {
    double design = log(c->mass[1] / c->mass[0]), a = 0, b = 1;
    for (int i = 0; i < NEWTON; i++) {
        double ga = 0, gb = 0, haa = 0, hab = 0, hbb = 0;
        for (size_t j = 0; j < c->reference; j++) {
            double s = c->score[j], v = c->known[0][j] + c->known[1][j], p = pv_sigmoid(design + a + b * s);
            ga += c->known[1][j] - v * p;
            gb += (c->known[1][j] - v * p) * s;
            haa += v * p * (1 - p);
            hab += v * p * (1 - p) * s;
            hbb += v * p * (1 - p) * s * s;
        }
        double det = haa * hbb - hab * hab;
        if (!(det > 1e-12 * haa * hbb))
            return false;
        double da = (hbb * ga - hab * gb) / det, db = (haa * gb - hab * ga) / det;
        double size = fmax(fabs(da), fabs(db) * c->unit), shrink = size > 1 ? 1 / size : 1;
        a += shrink * da;
        b += shrink * db;
        if (size < 1e-8)
            break;
    }
    double pi = 0.5;
    for (int i = 0; i < 100; i++) {
        double sum = 0, logit = pv_logit(pi);
        for (size_t j = c->reference; j < c->points; j++)
            sum += c->target[j] * pv_sigmoid(logit + a + b * c->score[j]);
        pi = fmin(fmax(sum / c->targets, 1e-6), 1 - 1e-6);
    }
    *z = pv_logit(pi);
    double cases = c->mass[1] + c->targets * pi;
    *at = (pv__tilt){a, b, a + log(cases / (c->total - cases))};
    return isfinite(a) && isfinite(b);
}

/* ---- the posterior ----------------------------------------------------------------------------------------------- */

typedef struct walk {
    double z[2 * SIDE + 1], log[2 * SIDE + 1];
    pv__tilt tilt[2 * SIDE + 1];
    size_t count[2]; /* to the left and to the right of the middle */
} walk;

/* The density at z, prior included. */
static bool density(const pv__calibrated *c, const double *alpha, double z, pv__tilt *at, double *value,
                    double *slope) {
    if (!settle(c, z, at, value, slope))
        return false;
    *value += alpha[0] * pv_log_sigmoid(-z) + alpha[1] * pv_log_sigmoid(z);
    *slope += alpha[1] - (alpha[0] + alpha[1]) * pv_sigmoid(z);
    return true;
}

/* Where l and the prior are largest, by the sign of the slope. */
static bool find_mode(const pv_ctx *ctx, const pv__calibrated *c, const double *alpha, pv__tilt *at, double *z) {
    double value, slope, low = -Z_MAX, high = Z_MAX, reach = 0.5, last = (double)NAN;
    for (int i = 0; i < 100 && high - low > 1e-3 && !pv__interrupted(ctx); i++) {
        pv__tilt here = *at;
        if (!density(c, alpha, *z, &here, &value, &slope)) { /* too far for Newton's method: not so far, then */
            if (isnan(last))
                return false;
            *(*z > last ? &high : &low) = *z;
            *z = 0.5 * (*z + last);
            continue;
        }
        *at = here;
        last = *z;
        *(slope > 0 ? &low : &high) = *z;
        bool open = low == -Z_MAX || high == Z_MAX;
        *z = open ? *z + (slope > 0 ? reach : -reach) : 0.5 * (low + high);
        reach *= 1.5;
        if (fabs(*z) > Z_MAX)
            return false;
    }
    return density(c, alpha, *z, at, &value, &slope);
}

/* Even steps from the mode to where the density is gone on either side; false: they were too many, or the way ended. */
static bool take_steps(const pv_ctx *ctx, const pv__calibrated *c, const double *alpha, double mode, pv__tilt at,
                       double step, walk *w) {
    double value, slope, top = -HUGE_VAL;
    w->count[0] = w->count[1] = 0;
    for (int side = 0; side < 2; side++) {
        pv__tilt here = at;
        for (int i = side; i <= SIDE; i++) { /* the middle belongs to the left */
            size_t slot = side ? SIDE + (size_t)i : SIDE - (size_t)i;
            double z = mode + (side ? i : -i) * step;
            if (pv__interrupted(ctx) || !density(c, alpha, z, &here, &value, &slope))
                return w->count[side] > 0 && w->log[side ? slot - 1 : slot + 1] < top - 8;
            w->z[slot] = z;
            w->log[slot] = value;
            w->tilt[slot] = here;
            w->count[side] = (size_t)i;
            top = fmax(top, value);
            if (value < top - DROP)
                break;
            if (i == SIDE)
                return false;
        }
    }
    return true;
}

pv_status pv__calibrated_solve(pv_ctx *ctx, pv__calibrated *c, const double *alpha, pv__pair *pair, pv__tilt **tilt,
                               bool *solved) {
    walk *w;
    pv__tilt at;
    double mode, step = 0.5;
    *solved = false;
    *tilt = NULL;
    PV_TRY(pv__alloc(ctx, 1, sizeof *w, &w));
    pv_status status = PV_OK;
    bool good = c->targets > 0 && c->unit > 0 && begin(c, &at, &mode) && find_mode(ctx, c, alpha, &at, &mode);
    bool found = good;
    for (int round = 0; found && round < 8;
         round++, step *= 0.5) { /* a step may be too long for Newton's method, too */
        PV_GOTO(done, pv__go_on(ctx));
        good = take_steps(ctx, c, alpha, mode, at, step, w);
        if (good && w->count[0] + w->count[1] >= FEWEST)
            break;
    }
    PV_GOTO(done, pv__go_on(ctx));
    if (!good)
        goto done;
    size_t count = w->count[0] + w->count[1] + 1, first = SIDE - w->count[0];
    PV_GOTO(done, pv__pair_fill(ctx, pair, count, w->z + first, w->log + first));
    PV_GOTO(done, pv__alloc(ctx, count, sizeof **tilt, tilt));
    memcpy(*tilt, w->tilt + first, count * sizeof **tilt);
    c->at = at;
    c->mode = mode;
    *solved = true;
done:
    pv__free(ctx, w);
    return status;
}

/* Masses of f_0 and f_1 on the points, at the mode. */
void pv__calibrated_densities(pv__calibrated *c) {
    double mu = pv_sigmoid(c->at.c - c->at.a), sum[2] = {0, 0};
    for (size_t i = 0; i < c->points; i++) {
        double all = c->known[0][i] + c->known[1][i] + c->target[i], e = exp(c->at.a + c->at.b * c->score[i]);
        c->f[0][i] = all / (c->total * (1 - mu + mu * e));
        c->f[1][i] = c->f[0][i] * e;
        sum[0] += c->f[0][i];
        sum[1] += c->f[1][i];
    }
    for (size_t i = 0; i < c->points; i++)
        for (int y = 0; y < 2; y++)
            c->f[y][i] /= sum[y];
}
