/* Simulated populations with an exact prevalence: quadrature over the features, and the intercept that gives it.
 *
 *   sum_k mass_k sigmoid(b + score_k) = prevalence
 *
 * is solved for b by Newton's method on the logarithm of both sides, which is nearly linear in b for rare outcomes,
 * kept inside a bracket. For common outcomes the same is done with the other label.
 */
#include <math.h>

#include "data/data.h"

/* Finds the nodes by Newton's method on the Legendre polynomial. */
void pv__gauss_legendre(int nodes, double low, double high, double *node, double *weight) {
    for (int i = 0; i < nodes; i++) {
        double x = cos(3.14159265358979323846 * (i + 0.75) / (nodes + 0.5)), slope = 1;
        for (int iteration = 0; iteration < 20; iteration++) {
            double before = 1, now = x;
            for (int k = 2; k <= nodes; k++) {
                double next = ((2 * k - 1) * x * now - (k - 1) * before) / k;
                before = now;
                now = next;
            }
            slope = nodes * (x * now - before) / (x * x - 1);
            double step = now / slope;
            x -= step;
            if (fabs(step) < 1e-15)
                break;
        }
        node[i] = 0.5 * (low + high) + 0.5 * (high - low) * x;
        weight[i] = (high - low) / ((1 - x * x) * slope * slope);
    }
}

double pv__solve_intercept(size_t points, const double *score, const double *mass, double prevalence) {
    double sign = prevalence > 0.5 ? -1 : 1, log_wanted = log(prevalence > 0.5 ? 1 - prevalence : prevalence);
    double low = score[0], high = score[0];
    for (size_t k = 1; k < points; k++) {
        low = fmin(low, score[k]);
        high = fmax(high, score[k]);
    }
    double left = pv_logit(prevalence) - high, right = pv_logit(prevalence) - low, b = 0.5 * (left + right);
    for (int iteration = 0; iteration < 100; iteration++) {
        double sum = 0, slope = 0;
        for (size_t k = 0; k < points; k++) {
            double p = pv_sigmoid(sign * (b + score[k]));
            sum += mass[k] * p;
            slope += mass[k] * p * (1 - p);
        }
        double excess = log(sum) - log_wanted; /* increases with sign * b */
        if (sign * excess > 0)
            right = b;
        else
            left = b;
        double next = b - sign * excess * sum / slope;
        if (!(next > left && next < right))
            next = 0.5 * (left + right);
        if (fabs(excess) < 1e-13 || fabs(next - b) <= 1e-15 * fabs(b))
            break;
        b = next;
    }
    return b;
}
