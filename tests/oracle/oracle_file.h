/* tests/oracle/oracle_file.h: reads the plain text files of expected values.
 *
 * `case NAME key=value ...` opens a case, `array NAME COUNT` is followed by COUNT numbers, `end CASES` closes the file;
 * # starts a comment line. Whatever is wrong with a file (no such key or array, a wrong count, no end) fails the
 * running test: a file that is damaged or empty cannot pass. */
#ifndef PV_ORACLE_FILE_H
#define PV_ORACLE_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum { ORACLE_ARRAYS = 20 };

typedef struct oracle_array {
    char name[32];
    size_t count;
    double *value; /* [count] */
} oracle_array;

typedef struct oracle_case {
    char name[128];
    char keys[256]; /* " key=value key=value " */
    oracle_array array[ORACLE_ARRAYS];
    size_t arrays;
} oracle_case;

typedef struct oracle_file {
    oracle_case *item; /* [count] */
    size_t count;
} oracle_file;

/* The caller frees with oracle_file_free. */
oracle_file *oracle_file_read(const char *path);
void oracle_file_free(oracle_file *file);

const oracle_case *oracle_find(const oracle_file *file, const char *name);
bool oracle_is(const oracle_case *item, const char *key, const char *value);
void oracle_text(const oracle_case *item, const char *key, char *text, size_t size);
double oracle_number(const oracle_case *item, const char *key);

bool oracle_has(const oracle_case *item, const char *array);
/* The array, which must have count entries; borrowed. */
const double *oracle_values(const oracle_case *item, const char *array, size_t count);
/* The array, or NULL where the case has none. */
const double *oracle_values_or_null(const oracle_case *item, const char *array, size_t count);

/* A mismatch unless |got - expected| <= tolerance * max(floor, largest |expected|) for every entry; NaN fails, and an
 * infinite expected value must be met exactly. Prints the case, the first such entry and both values, and goes on, so
 * that one run shows every case that is off. */
void oracle_compare(const oracle_case *item, const char *what, const double *got, const double *expected, size_t count,
                    double tolerance, double floor);
/* A mismatch with a reason of its own. */
void oracle_mismatch(const oracle_case *item, const char *reason);
/* Fails the running test if there was a mismatch since the last call. */
void oracle_finish(void);

#endif
