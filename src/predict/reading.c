/* Calibration of a classifier's log ratios s by labelled rows that were not used to fit it, for predictions in a
 * population with known prevalence. The calibration model is
 *
 *   log f_1(s)/f_0(s) = a + b s ,
 *
 * where a = 0, b = 1 is what the classifier claims. The logistic regression of the label on s has slope b and intercept
 * a + log(m_1/m_0), where m_y is the mass of the rows of label y. Its inverse information is the covariance of both,
 * except that the variance of a is too large by 1/m_0 + 1/m_1, because the numbers of labels say nothing about a
 * (Prentice and Pyke 1979). In a population of prevalence pi
 *
 *   logit p(1|s) = logit pi + a + b s ,
 *
 * with a normal error whose variance is that of a + b s. Requires rows of both labels that s does not separate.
 */
#include <math.h>

#include "predict/predict.h"

enum { NEWTON = 60 };

/* Gradient and information of the logistic regression at `at`. */
static void sums(const pv_reference *r, double design, const pv_reading *at, double *gradient, double *information) {
    size_t n = r->count[0] + r->count[1];
    gradient[0] = gradient[1] = information[0] = information[1] = information[2] = 0;
    for (size_t i = 0; i < n; i++) {
        double s = r->score[i], v = r->weight[i], p = pv_sigmoid(design + at->shift + at->slope * s);
        double off = v * ((i >= r->count[0]) - p), curve = v * p * (1 - p);
        gradient[0] += off;
        gradient[1] += off * s;
        information[0] += curve;
        information[1] += curve * s;
        information[2] += curve * s * s;
    }
}

bool pv__reading_of(const pv_reference *r, pv_reading *reading) {
    double mass[2] = {0}, g[2], h[3];
    for (size_t i = 0; i < r->count[0] + r->count[1]; i++)
        mass[i >= r->count[0]] += r->weight[i];
    double design = log(mass[1] / mass[0]), size = HUGE_VAL;
    *reading = (pv_reading){.slope = 1};
    for (int i = 0; i < NEWTON && size > 1e-9; i++) {
        sums(r, design, reading, g, h);
        double det = h[0] * h[2] - h[1] * h[1];
        if (!(det > 1e-12 * h[0] * h[2]))
            break;
        double shift = (h[2] * g[0] - h[1] * g[1]) / det, slope = (h[0] * g[1] - h[1] * g[0]) / det;
        size = fmax(fabs(shift), fabs(slope));
        double shrink = size > 1 ? 1 / size : 1;
        reading->shift += shrink * shift;
        reading->slope += shrink * slope;
        reading->covariance[0] = h[2] / det - 1 / mass[0] - 1 / mass[1];
        reading->covariance[1] = -h[1] / det;
        reading->covariance[2] = h[0] / det;
    }
    reading->covariance[0] = fmax(0, reading->covariance[0]);
    return size <= 1e-9 && fabs(reading->slope) <= 1e3;
}

pv_status pv_reference_read(pv_ctx *ctx, const pv_reference *r, pv_reading *reading) {
    if (pv__reading_of(r, reading))
        return PV_OK;
    return pv__fail(ctx, PV_ERR_INPUT,
                    "the labelled rows cannot recalibrate the probabilities: they are all equal, or separate the "
                    "labels perfectly;\ngive more labelled rows");
}

double pv__reading_error(const pv_reading *reading, double s) {
    const double *v = reading->covariance;
    return sqrt(fmax(0, v[0] + 2 * s * v[1] + s * s * v[2]));
}

void pv__reading_predict(const pv_reading *reading, const pv_unknown_sample *sample, double prior, double level,
                         double *log_p, double *p, double *lo, double *hi) {
    double z = level > 0 ? pv_normal_quantile(0.5 + 0.5 * level) : 0;
    for (size_t i = 0; i < sample->n; i++) {
        double s = pv__score_of(sample, i), at = prior + reading->shift + reading->slope * s;
        double sd = pv__reading_error(reading, s);
        for (int y = 0; y < 2; y++) {
            double sign = y ? 1 : -1;
            log_p[2 * i + (size_t)y] = pv_log_sigmoid(sign * at);
            p[2 * i + (size_t)y] = pv_sigmoid(sign * at);
            if (lo) {
                lo[2 * i + (size_t)y] = pv_sigmoid(sign * at - z * sd);
                hi[2 * i + (size_t)y] = pv_sigmoid(sign * at + z * sd);
            }
        }
    }
}
