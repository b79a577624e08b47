/* lab/common/tables.h: tables as text and as Markdown. */
#ifndef PREVAIL_LAB_COMMON_TABLES_H
#define PREVAIL_LAB_COMMON_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { STUDY_CELL = 24, STUDY_COLUMNS = 20 };

/* Column widths apply to text. */
typedef struct study_layout {
    bool markdown;
    int first, second, cell;
} study_layout;

/* "0.77 (1)": the error in units of the last digit; "-" if there is no mean, no parentheses if there is no error. */
void study_value_text(double mean, double error, int digits, char *text, size_t size);
/* Marks a mean over only some of n: "1.000, 1 of 3", in text "1.000*". */
void study_partial_text(const study_layout *layout, size_t some, size_t n, char *text, size_t size);
void study_table_head(FILE *out, const study_layout *layout, const char *first, const char *second, int n,
                      const char *const *titles);
void study_table_row(FILE *out, const study_layout *layout, const char *first, const char *second, int n,
                     char cell[][STUDY_CELL]);
void study_csv_number(FILE *out, double value); /* a comma followed by the number, or by nothing if it is NaN */

#endif
