/* Tables of the simulated plug-in: computes the same as the real one, row by row in plain C. */
#include "pretend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS_MAX = 16, INPUTS_MOST = 40, DRAWS_MOST = 500 };

struct pv__matrix {
    size_t n, inputs;
    float *x; /* [n][inputs] */
};

struct pv__passes {
    pv__passes_spec spec;
    size_t width[LAYERS_MAX + 1];
    size_t widest;
    double *each, *target, *rho; /* [n], copied; NULL: not used */
    double *value, *slope;       /* [layers + 1][widest], for one row */
    double *kept;                /* [count][n], outputs of the last tied_forward */
    size_t count;
    int passes;
};

static pv__plugin_code matrix_open(size_t n, size_t inputs, pv__matrix **matrix, char *why) {
    snprintf(why, PV_PLUGIN_TEXT, "pretended");
    *matrix = pretends("memory") ? NULL : calloc(1, sizeof **matrix);
    if (!*matrix)
        return PV_PLUGIN_MEMORY;
    **matrix = (pv__matrix){n, inputs, calloc(n * inputs + 1, sizeof(float))};
    return (*matrix)->x ? PV_PLUGIN_OK : PV_PLUGIN_MEMORY;
}

static pv__plugin_code matrix_fill(pv__matrix *matrix, size_t begin, size_t rows, const double *x, char *why) {
    bool fits = true;
    for (size_t i = 0; i < rows * matrix->inputs; i++) {
        matrix->x[begin * matrix->inputs + i] = (float)x[i];
        fits &= fabs(x[i]) < 1e38;
    }
    snprintf(why, PV_PLUGIN_TEXT, "a number of the table is beyond single precision");
    return fits ? PV_PLUGIN_OK : PV_PLUGIN_UNFIT;
}

static void matrix_close(pv__matrix *matrix) {
    if (matrix)
        free(matrix->x);
    free(matrix);
}

static double *copy_of(size_t n, const double *from) {
    double *made = from ? calloc(n + 1, sizeof *made) : NULL;
    if (made)
        memcpy(made, from, n * sizeof *made);
    return made;
}

static pv__plugin_code passes_open(const pv__passes_spec *spec, pv__passes **passes, char *why) {
    snprintf(why, PV_PLUGIN_TEXT, "pretended");
    pv__passes *made = pretends("full") ? NULL : calloc(1, sizeof *made);
    *passes = made;
    if (!made)
        return PV_PLUGIN_MEMORY;
    made->spec = *spec;
    for (int l = 0; l <= spec->layers; l++) {
        made->width[l] = spec->width[l];
        made->widest = made->width[l] > made->widest ? made->width[l] : made->widest;
    }
    made->each = copy_of(spec->n, spec->each);
    made->target = copy_of(spec->n, spec->target);
    made->rho = copy_of(spec->n, spec->rho);
    size_t size = ((size_t)spec->layers + 1) * made->widest;
    made->value = calloc(2 * size, sizeof *made->value);
    made->slope = made->value + size;
    return made->value ? PV_PLUGIN_OK : PV_PLUGIN_MEMORY;
}

static void passes_close(pv__passes *passes) {
    if (passes) {
        free(passes->value);
        free(passes->kept);
        free(passes->each);
        free(passes->target);
        free(passes->rho);
    }
    free(passes);
}

/* Index of the weight from i to o in layer l; i = -1: bias of o. */
static size_t at(const pv__passes *s, int l, size_t i, size_t o) {
    size_t begin = 0, from = s->width[l], to = s->width[l + 1];
    for (int j = 0; j < l; j++)
        begin += (s->width[j] + 1) * s->width[j + 1];
    if (l == 0)
        return o * (1 + from) + (i == (size_t)-1 ? 0 : 1 + i);
    return begin + (i == (size_t)-1 ? from : i) * to + o;
}

static void row_forward(pv__passes *s, const double *w, size_t row) {
    for (size_t i = 0; i < s->width[0]; i++)
        s->value[i] = (double)s->spec.matrix->x[row * s->width[0] + i];
    for (int l = 0; l < s->spec.layers; l++) {
        const double *in = s->value + (size_t)l * s->widest;
        double *out = s->value + ((size_t)l + 1) * s->widest;
        for (size_t o = 0; o < s->width[l + 1]; o++) {
            out[o] = w[at(s, l, (size_t)-1, o)];
            for (size_t i = 0; i < s->width[l]; i++)
                out[o] += w[at(s, l, i, o)] * in[i];
            if (l + 1 < s->spec.layers && out[o] < 0)
                out[o] = 0;
        }
    }
}

/* Backward pass of a row, after forward: the derivatives of the outputs are set. */
static void row_backward(pv__passes *s, const double *w, double *dw) {
    for (int l = s->spec.layers - 1; l >= 0; l--) {
        const double *in = s->value + (size_t)l * s->widest, *dout = s->slope + ((size_t)l + 1) * s->widest;
        double *din = s->slope + (size_t)l * s->widest;
        memset(din, 0, s->widest * sizeof *din);
        for (size_t o = 0; o < s->width[l + 1]; o++) {
            dw[at(s, l, (size_t)-1, o)] += dout[o];
            for (size_t i = 0; i < s->width[l]; i++) {
                dw[at(s, l, i, o)] += dout[o] * in[i];
                din[i] += in[i] > 0 ? dout[o] * w[at(s, l, i, o)] : 0;
            }
        }
    }
}

static pv__plugin_code lost(pv__passes *s, char *why) {
    snprintf(why, PV_PLUGIN_TEXT, "it fell off the bus");
    return ++s->passes == 3 && pretends("lost") ? PV_PLUGIN_FAILED : PV_PLUGIN_OK;
}

static pv__plugin_code logistic(pv__passes *s, size_t count, const double *w, double *value, double *dw, char *why) {
    const size_t width = 1 + s->width[0];
    memset(value, 0, count * sizeof *value);
    memset(dw, 0, count * width * sizeof *dw);
    for (size_t c = 0; c < count; c++)
        for (size_t n = 0; n < s->spec.n; n++) {
            row_forward(s, w + c * width, n);
            double z = s->value[s->widest] + s->spec.shift;
            int32_t y = s->spec.label[n];
            double v = (s->spec.weight ? s->spec.weight[n] : 1) * s->spec.factor[y];
            value[c] += v * (fmax(z, 0) + log1p(exp(-fabs(z))) - y * z);
            s->slope[s->widest] = v * (1 / (1 + exp(-z)) - y);
            row_backward(s, w + c * width, dw + c * width);
        }
    return lost(s, why);
}

static pv__plugin_code outputs(pv__passes *s, const double *w, double *out, char *why) {
    const size_t last = s->width[s->spec.layers];
    for (size_t n = 0; n < s->spec.n; n++) {
        row_forward(s, w, n);
        memcpy(out + n * last, s->value + (size_t)s->spec.layers * s->widest, last * sizeof *out);
    }
    return lost(s, why);
}

static pv__plugin_code slopes(pv__passes *s, const double *w, const double *dout, double *dw, char *why) {
    const size_t last = s->width[s->spec.layers];
    for (int l = 0; l < s->spec.layers; l++)
        for (size_t o = 0; o < s->width[l + 1]; o++)
            for (size_t i = 0; i < s->width[l] + 1; i++)
                dw[at(s, l, i - 1, o)] = 0;
    for (size_t n = 0; n < s->spec.n; n++) {
        row_forward(s, w, n);
        memcpy(s->slope + (size_t)s->spec.layers * s->widest, dout + n * last, last * sizeof *dout);
        row_backward(s, w, dw);
    }
    return lost(s, why);
}

/* ---- rows coupled by the marginal -------------------------------------------------------------------------------- */

static double one_of(double z) {
    return 1 / (1 + exp(-z));
}

static pv__plugin_code tied_forward(pv__passes *s, size_t count, const double *w, double *sums, char *why) {
    const size_t n = s->spec.n, width = 1 + s->width[0];
    free(s->kept);
    s->kept = calloc(count * n + 1, sizeof *s->kept);
    s->count = count;
    if (!s->kept)
        return PV_PLUGIN_MEMORY;
    memset(sums, 0, 3 * count * sizeof *sums);
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < n; i++) {
            row_forward(s, w + c * width, i);
            double z = s->kept[c * n + i] = s->value[s->widest], rho = s->rho ? s->rho[i] : 0;
            sums[3 * c] += s->each[i] * (fmax(z, 0) + log1p(exp(-fabs(z)))) - s->target[i] * z;
            sums[3 * c + 1] += rho * one_of(-z);
            sums[3 * c + 2] += rho * one_of(z);
        }
    return lost(s, why);
}

static pv__plugin_code tied_sums(pv__passes *s, size_t count, const size_t *which, const double *scale, const double *m,
                                 pv__tied_sums *sums, char *why) {
    for (size_t c = 0; c < count; c++) {
        pv__tied_sums sum = {.smallest = HUGE_VAL};
        for (size_t i = 0; i < s->spec.n; i++) {
            double v = s->each[i], r = scale[c] * one_of(s->kept[which[c] * s->spec.n + i]) - 1, q = 1 + m[c] * r;
            if (!(v > 0))
                continue;
            sum.weight += v / q;
            sum.r += v * r / q;
            sum.rr += v * r * r / (q * q);
            sum.rq += v * r / (q * q);
            sum.logs += v * log(q);
            sum.smallest = fmin(sum.smallest, q);
        }
        sums[c] = sum;
    }
    return lost(s, why);
}

static pv__plugin_code tied_backward(pv__passes *s, size_t count, const pv__tied_slope *slope, double *dw, char *why) {
    const size_t n = s->spec.n, inputs = s->width[0];
    memset(dw, 0, count * (1 + inputs) * sizeof *dw);
    for (size_t c = 0; c < count && c < s->count; c++)
        for (size_t i = 0; i < n; i++) {
            double z = s->kept[c * n + i], p1 = one_of(z), p0 = one_of(-z), v = s->each[i];
            double e = s->rho ? s->rho[i] : 0, *to = dw + c * (1 + inputs);
            if (slope[c].profile)
                e = v / (1 + slope[c].m * (slope[c].scale * p1 - 1));
            double dz = v * p1 - s->target[i] + slope[c].factor * e * p0 * p1;
            to[0] += dz;
            for (size_t j = 0; j < inputs; j++)
                to[1 + j] += dz * (double)s->spec.matrix->x[i * inputs + j];
        }
    return lost(s, why);
}

static pv__plugin_code mixed(pv__passes *s, size_t count, double shift, const double *pi, double *sums, char *why) {
    memset(sums, 0, 3 * count * sizeof *sums);
    for (size_t c = 0; c < count; c++)
        for (size_t i = 0; i < s->spec.n; i++) {
            double u = one_of(s->kept[i] - shift), rest = one_of(shift - s->kept[i]), v = s->each[i];
            double q = pi[2 * c + 1] * u + pi[2 * c] * rest, rho = pi[2 * c + 1] * u / q;
            if (!(v > 0))
                continue;
            sums[3 * c] += v * rho;
            sums[3 * c + 1] += v * rho * rho;
            sums[3 * c + 2] += v * log(q);
        }
    return lost(s, why);
}

/* ---- draws ------------------------------------------------------------------------------------------------------- */

static int by_size(const void *left, const void *right) {
    double a, b;
    memcpy(&a, left, sizeof a);
    memcpy(&b, right, sizeof b);
    return (a > b) - (a < b);
}

static double at_place(const double *sorted, size_t draws, double at) {
    size_t below = (size_t)floor(at), next = below + 1 < draws ? below + 1 : below;
    return sorted[below] + (at - floor(at)) * (sorted[next] - sorted[below]);
}

/* Predictions for one row and label with these log odds at the draws; room [draws]. */
static pv__spread_of_row spread_of(const pv__spread_spec *spec, bool ends, const double *odds, double sign,
                                   double *room) {
    double top = -HUGE_VAL, sum = 0, rest = 0;
    for (size_t d = 0; d < spec->draws; d++) {
        double z = sign * odds[d], log_p = fmin(z, 0) - log1p(exp(-fabs(z)));
        sum += room[d] = exp(log_p);
        top = fmax(top, log_p);
    }
    for (size_t d = 0; d < spec->draws; d++) {
        double z = sign * odds[d];
        rest += exp(fmin(z, 0) - log1p(exp(-fabs(z))) - top);
    }
    pv__spread_of_row of = {.mean = sum / (double)spec->draws, .log_mean = top + log(rest / (double)spec->draws)};
    if (!ends)
        return of;
    qsort(room, spec->draws, sizeof *room, by_size);
    of.low = at_place(room, spec->draws, spec->low);
    of.high = at_place(room, spec->draws, spec->high);
    return of;
}

static pv__plugin_code spreads(pv__passes *s, const pv__spread_spec *spec, size_t begin, size_t rows,
                               pv__spread_of_row *of, char *why) {
    double *odds = calloc(2 * spec->draws, sizeof *odds), *room = odds + spec->draws;
    if (!odds)
        return PV_PLUGIN_MEMORY;
    for (size_t o = 0; o < spec->outputs; o++)
        for (size_t i = 0; i < rows; i++) {
            for (size_t d = 0; d < spec->draws; d++) {
                row_forward(s, spec->w + d * (1 + s->width[0]), begin + i);
                odds[d] = s->value[s->widest] + spec->shift[o * spec->draws + d];
            }
            of[(o * rows + i) * 2] = spread_of(spec, spec->ends[o], odds, -1, room);
            of[(o * rows + i) * 2 + 1] = spread_of(spec, spec->ends[o], odds, 1, room);
        }
    free(odds);
    return lost(s, why);
}

void pretend_tables(pv__plugin *plugin) {
    plugin->inputs_most = INPUTS_MOST;
    plugin->matrix_open = matrix_open;
    plugin->matrix_fill = matrix_fill;
    plugin->matrix_close = matrix_close;
    plugin->passes_open = passes_open;
    plugin->passes_close = passes_close;
    plugin->logistic = logistic;
    plugin->outputs = outputs;
    plugin->slopes = slopes;
    plugin->tied_forward = tied_forward;
    plugin->tied_sums = tied_sums;
    plugin->tied_backward = tied_backward;
    plugin->mixed = mixed;
    plugin->draws_most = DRAWS_MOST;
    plugin->spreads = spreads;
}
