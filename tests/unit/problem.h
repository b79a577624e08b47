/* tests/unit/problem.h: rows to fit, from a simulated study or images, with table and schema. */
#ifndef PV_TEST_PROBLEM_H
#define PV_TEST_PROBLEM_H

#include "check.h"

typedef struct problem {
    pv_table *table;
    pv_schema *schema;
    pv_dataset *data;
} problem;

/* Takes ownership of the table. */
static inline problem learn(pv_ctx *own, pv_table *table, const pv_roles *roles) {
    problem p = {.table = table};
    CHECK_OK(own, pv_schema_learn(own, table, roles, &p.schema, &p.data));
    return p;
}

static inline void problem_free(pv_ctx *own, problem *p) {
    pv_dataset_free(own, p->data);
    pv_schema_free(own, p->schema);
    pv_table_free(own, p->table);
}

/* The study of nodules: cases and controls from a population with this prevalence. */
static inline problem nodules_of(pv_ctx *own, int64_t cases, int64_t controls, double prevalence, uint64_t seed) {
    pv_simulation simulation = {.cases = cases, .controls = controls, .prevalence = prevalence, .seed = seed};
    pv_table *table;
    CHECK_OK(own, pv_simulate(own, "nodules", &simulation, &table, NULL));
    return learn(own, table, &(pv_roles){.target = "malignant"});
}

static inline problem nodules(pv_ctx *own, int64_t each, uint64_t seed) {
    return nodules_of(own, each, each, 0.01, seed);
}

/* Small images of discs, with views as specified by `image`. */
static inline problem discs(pv_ctx *own, pv_image_options *image) {
    pv_table *table;
    CHECK_OK(own, pv_table_read(own, PV_TEST_DIR "/arrays/discs.npz", NULL, &table));
    return learn(own, table, &(pv_roles){.target = "labels", .image = image});
}

static inline pv_status try_fit(pv_ctx *own, const problem *p, const pv_fit_options *options) {
    pv_classifier *classifier;
    pv_status status = pv_fit(own, p->schema, p->data, options, &classifier);
    pv_classifier_free(own, classifier);
    return status;
}

static inline pv_classifier *fit(pv_ctx *own, const problem *p, const pv_fit_options *options) {
    pv_classifier *classifier;
    CHECK_OK(own, pv_fit(own, p->schema, p->data, options, &classifier));
    return classifier;
}

/* Without reference ratios from its training rows, an unknown prevalence is inferred from a classifier's draws. */
static inline void drop_reference(pv_ctx *own, pv_classifier *classifier) {
    pv_reference_free(own, classifier->reference);
    classifier->reference = NULL;
}

/* ---- whole files ------------------------------------------------------------------------------------------------- */

/* Adds a NUL that is not counted; the caller frees. */
static inline unsigned char *read_all(const char *file, size_t *size) {
    FILE *stream = fopen(file, "rb");
    assert_non_null(stream);
    fseek(stream, 0, SEEK_END);
    *size = (size_t)ftell(stream);
    rewind(stream);
    unsigned char *bytes = malloc(*size + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *size, stream), *size);
    bytes[*size] = 0;
    fclose(stream);
    return bytes;
}

static inline void write_all(const char *file, const void *bytes, size_t size) {
    FILE *stream = fopen(file, "wb");
    assert_non_null(stream);
    assert_int_equal(fwrite(bytes, 1, size, stream), size);
    assert_int_equal(fclose(stream), 0);
}

static inline void check_same_files(const char *a, const char *b) {
    size_t size, other;
    unsigned char *first = read_all(a, &size), *second = read_all(b, &other);
    assert_int_equal(size, other);
    assert_memory_equal(first, second, size);
    free(first);
    free(second);
}

#endif
