/* tests/oracle/oracle_file.h: reads text files of expected values.
 *
 * `case NAME key=value ...` begins a case, `array NAME COUNT` is followed by COUNT numbers, `end CASES` ends the file;
 * # begins a comment line. Any error in a file (missing key or array, wrong count, missing end) fails the running test,
 * so a damaged or empty file cannot pass. */
#ifndef PV_ORACLE_FILE_H
#define PV_ORACLE_FILE_H

#include <stdbool.h>
#include <stddef.h>

enum { ORACLE_ARRAYS = 40 };

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
/* The array, or NULL if the case has none. */
const double *oracle_values_or_null(const oracle_case *item, const char *array, size_t count);

/* Records a mismatch unless |got - expected| <= tolerance * max(floor, largest |expected|) for every entry. NaN is a
 * mismatch, and infinite expected values must be equal. Prints the case, the first wrong entry and both values, and
 * continues, so that one run shows every failing case. */
void oracle_compare(const oracle_case *item, const char *what, const double *got, const double *expected, size_t count,
                    double tolerance, double floor);
/* Records a mismatch for another reason. */
void oracle_mismatch(const oracle_case *item, const char *reason);
/* Fails the running test if a mismatch was recorded since the last call. */
void oracle_finish(void);

#endif
