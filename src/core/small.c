/* Linear algebra for a handful of unknowns, where a call to LAPACK would cost more than the work itself. */
#include <math.h>

#include "core/core.h"

bool pv__solve_small(int n, double *a, double *b) {
    for (int column = 0; column < n; column++) {
        int pivot = column;
        for (int i = column + 1; i < n; i++)
            if (fabs(a[i * n + column]) > fabs(a[pivot * n + column]))
                pivot = i;
        if (!(fabs(a[pivot * n + column]) > 0))
            return false;
        for (int j = 0; j < n && pivot != column; j++) {
            double held = a[column * n + j];
            a[column * n + j] = a[pivot * n + j];
            a[pivot * n + j] = held;
        }
        double held = b[column];
        b[column] = b[pivot];
        b[pivot] = held;
        for (int i = column + 1; i < n; i++) {
            double factor = a[i * n + column] / a[column * n + column];
            for (int j = column; j < n; j++)
                a[i * n + j] -= factor * a[column * n + j];
            b[i] -= factor * b[column];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            b[i] -= a[i * n + j] * b[j];
        b[i] /= a[i * n + i];
    }
    return true;
}

bool pv__cholesky(size_t n, double *a, double floor) {
    for (size_t j = 0; j < n; j++) {
        double own = a[j * n + j], pivot = own;
        for (size_t l = 0; l < j; l++)
            pivot -= a[j * n + l] * a[j * n + l];
        if (floor > 0)
            pivot = fmax(pivot, floor * own + 1e-300);
        if (!(pivot > 0))
            return false;
        double root = sqrt(pivot);
        a[j * n + j] = root;
        for (size_t i = j + 1; i < n; i++) {
            double sum = a[i * n + j];
            for (size_t l = 0; l < j; l++)
                sum -= a[i * n + l] * a[j * n + l];
            a[i * n + j] = sum / root;
        }
    }
    return true;
}

bool pv__positive_definite(size_t n, double *a) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < i; j++)
            a[i * n + j] = 0.5 * (a[i * n + j] + a[j * n + i]);
    return pv__cholesky(n, a, 0);
}
