/* Tables of studies: the same cells as text and as Markdown; numbers in CSV. */
#include <math.h>
#include <string.h>

#include "prevail/prevail.h"
#include "lab/common/tables.h"

void study_value_text(double mean, double error, int digits, char *text, size_t size) {
    if (isnan(mean))
        snprintf(text, size, "-");
    else if (isnan(error))
        snprintf(text, size, "%.*f", digits, mean);
    else
        snprintf(text, size, "%.*f (%.0f)", digits, mean, fmax(ceil(error * pow(10, digits) - 1e-9), 0));
}

void study_partial_text(const study_layout *layout, size_t some, size_t n, char *text, size_t size) {
    size_t used = strlen(text);
    if (layout->markdown)
        snprintf(text + used, size - used, ", %zu of %zu", some, n);
    else
        snprintf(text + used, size - used, "*");
}

void study_table_row(FILE *out, const study_layout *layout, const char *first, const char *second, int n,
                     char cell[][STUDY_CELL]) {
    if (layout->markdown)
        fprintf(out, "| %s | %s |", first, second);
    else
        fprintf(out, "  %-*s %-*s", layout->first, first, layout->second, second);
    for (int i = 0; i < n; i++)
        if (layout->markdown)
            fprintf(out, " %s |", cell[i]);
        else
            fprintf(out, " %*s", layout->cell, cell[i]);
    fputc('\n', out);
}

void study_table_head(FILE *out, const study_layout *layout, const char *first, const char *second, int n,
                      const char *const *titles) {
    char cell[STUDY_COLUMNS][STUDY_CELL];
    for (int i = 0; i < n; i++)
        snprintf(cell[i], sizeof cell[i], "%s", titles[i]);
    study_table_row(out, layout, first, second, n, cell);
    if (layout->markdown) {
        fputs("|---|---|", out);
        for (int i = 0; i < n; i++)
            fputs("---|", out);
        fputc('\n', out);
    }
}

void study_csv_number(FILE *out, double value) {
    char number[32];
    fputc(',', out);
    if (isnan(value))
        return;
    size_t length = (size_t)pv_format_double(value, number, sizeof number);
    fwrite(number, 1, length, out);
}
