/* lab/common/tables.h: tables as text and as Markdown. */
#ifndef PREVAIL_LAB_COMMON_TABLES_H
#define PREVAIL_LAB_COMMON_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { STUDY_CELL = 24, STUDY_COLUMNS = 20 };

/* Widths are those of text. */
typedef struct study_layout {
    bool markdown;
    int first, second, cell;
} study_layout;

/* "0.77 (1)": the error in units of the last digit; "-" where there is no mean, no bracket where there is no error. */
void study_value_text(double mean, double error, int digits, char *text, size_t size);
/* Adds to a mean that it is over some of n only: "1.000, 1 of 3", in text "1.000*". */
void study_partial_text(const study_layout *layout, size_t some, size_t n, char *text, size_t size);
void study_table_head(FILE *out, const study_layout *layout, const char *first, const char *second, int n,
                      const char *const *titles);
void study_table_row(FILE *out, const study_layout *layout, const char *first, const char *second, int n,
                     char cell[][STUDY_CELL]);
void study_csv_number(FILE *out, double value); /* a comma, then the number, nothing where it is NaN */

#endif
