/* qsort_r where the C library has none, here and on Windows. Heap sort: in place, n log n comparisons whatever the
 * order. */
#include <stdlib.h>

typedef struct heap {
    char *base;
    size_t size;
    int (*compare)(const void *, const void *, void *);
    void *state;
} heap;

static void swap(char *a, char *b, size_t size) {
    for (size_t i = 0; i < size; i++) {
        char c = a[i];
        a[i] = b[i];
        b[i] = c;
    }
}

static void sink(const heap *h, size_t at, size_t n) {
    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        char *larger = h->base + child * h->size;
        if (child + 1 < n && h->compare(larger, larger + h->size, h->state) < 0) {
            larger += h->size;
            child++;
        }
        char *here = h->base + at * h->size;
        if (h->compare(here, larger, h->state) >= 0)
            return;
        swap(here, larger, h->size);
    }
}

void qsort_r(void *base, size_t n, size_t size, int (*compare)(const void *, const void *, void *), void *state) {
    const heap h = {base, size, compare, state};
    for (size_t i = n / 2; i-- > 0;)
        sink(&h, i, n);
    for (size_t i = n; i-- > 1;) {
        swap(h.base, h.base + i * size, size);
        sink(&h, 0, i);
    }
}
