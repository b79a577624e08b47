/* Tables of the plug-in that pretends: what the real one computes, row by row and in plain C. */
#include "pretend.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS_MAX = 16, INPUTS_MOST = 40 };

struct pv__matrix {
    size_t n, inputs;
    float *x; /* [n][inputs] */
};

struct pv__passes {
    pv__passes_spec spec;
    size_t width[LAYERS_MAX + 1];
    size_t widest;
    double *value, *slope; /* [layers + 1][widest], of a row */
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

static pv__plugin_code passes_open(const pv__passes_spec *spec, pv__passes **passes, char *why) {
    snprintf(why, PV_PLUGIN_TEXT, "pretended");
    pv__passes *made = calloc(1, sizeof *made);
    *passes = made;
    if (!made)
        return PV_PLUGIN_MEMORY;
    made->spec = *spec;
    for (int l = 0; l <= spec->layers; l++) {
        made->width[l] = spec->width[l];
        made->widest = made->width[l] > made->widest ? made->width[l] : made->widest;
    }
    size_t size = ((size_t)spec->layers + 1) * made->widest;
    made->value = calloc(2 * size, sizeof *made->value);
    made->slope = made->value + size;
    return made->value ? PV_PLUGIN_OK : PV_PLUGIN_MEMORY;
}

static void passes_close(pv__passes *passes) {
    if (passes)
        free(passes->value);
    free(passes);
}

/* Where the weight from i to o of layer l is; i = -1: o's bias. */
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

/* After it: the slopes of the outputs are in place. */
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
}
