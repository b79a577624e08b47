#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "oracle_file.h"

static oracle_case *add_case(oracle_file *file, size_t *room, char *text) {
    if (file->count == *room) {
        *room = *room ? 2 * *room : 64;
        file->item = realloc(file->item, *room * sizeof *file->item);
        assert_non_null(file->item);
    }
    oracle_case *item = &file->item[file->count++];
    memset(item, 0, sizeof *item);
    int used = 0;
    if (sscanf(text, "%127s%n", item->name, &used) != 1)
        fail_msg("a case without a name");
    text[strcspn(text, "\n")] = '\0';
    int length = snprintf(item->keys, sizeof item->keys, "%s ", text + used);
    if (length < 0 || (size_t)length >= sizeof item->keys)
        fail_msg("%s: too many keys", item->name);
    return item;
}

static void add_array(FILE *stream, oracle_case *item, const char *text) {
    if (item->arrays == ORACLE_ARRAYS)
        fail_msg("%s: too many arrays", item->name);
    oracle_array *array = &item->array[item->arrays++];
    if (sscanf(text, "%31s %zu", array->name, &array->count) != 2)
        fail_msg("%s: bad array line: %s", item->name, text);
    array->value = calloc(array->count + 1, sizeof *array->value);
    assert_non_null(array->value);
    for (size_t i = 0; i < array->count; i++) {
        char word[64], *end = word;
        if (fscanf(stream, "%63s", word) == 1)
            array->value[i] = strtod(word, &end);
        if (end == word || *end)
            fail_msg("%s: array %s: entry %zu is not a number", item->name, array->name, i);
    }
}

oracle_file *oracle_file_read(const char *path) {
    FILE *stream = fopen(path, "r");
    if (!stream)
        fail_msg("cannot read %s", path);
    oracle_file *file = calloc(1, sizeof *file);
    assert_non_null(file);
    size_t room = 0, expected = SIZE_MAX;
    oracle_case *item = NULL;
    char line[1024];
    while (fgets(line, sizeof line, stream)) {
        if (line[0] == '#' || line[0] == '\n')
            continue;
        if (strncmp(line, "case ", 5) == 0)
            item = add_case(file, &room, line + 5);
        else if (strncmp(line, "array ", 6) == 0 && item)
            add_array(stream, item, line + 6);
        else if (strncmp(line, "end ", 4) == 0)
            expected = (size_t)strtoul(line + 4, NULL, 10);
        else
            fail_msg("%s: unexpected line: %s", path, line);
    }
    fclose(stream);
    if (file->count != expected)
        fail_msg("%s: %zu cases, its last line promises %zu", path, file->count, expected);
    return file;
}

void oracle_file_free(oracle_file *file) {
    if (!file)
        return;
    for (size_t i = 0; i < file->count; i++)
        for (size_t a = 0; a < file->item[i].arrays; a++)
            free(file->item[i].array[a].value);
    free(file->item);
    free(file);
}

const oracle_case *oracle_find(const oracle_file *file, const char *name) {
    for (size_t i = 0; i < file->count; i++)
        if (strcmp(file->item[i].name, name) == 0)
            return &file->item[i];
    fail_msg("no case %s", name);
    return NULL;
}

void oracle_text(const oracle_case *item, const char *key, char *text, size_t size) {
    char start[64];
    snprintf(start, sizeof start, " %s=", key);
    const char *at = strstr(item->keys, start);
    if (!at) {
        fail_msg("%s: no key %s", item->name, key);
        return;
    }
    at += strlen(start);
    snprintf(text, size, "%.*s", (int)strcspn(at, " "), at);
}

bool oracle_is(const oracle_case *item, const char *key, const char *value) {
    char text[128] = "";
    oracle_text(item, key, text, sizeof text);
    return strcmp(text, value) == 0;
}

double oracle_number(const oracle_case *item, const char *key) {
    char text[128] = "", *end;
    oracle_text(item, key, text, sizeof text);
    double number = strtod(text, &end);
    if (end == text || *end)
        fail_msg("%s: key %s is not a number: %s", item->name, key, text);
    return number;
}

static const oracle_array *find_array(const oracle_case *item, const char *name) {
    for (size_t a = 0; a < item->arrays; a++)
        if (strcmp(item->array[a].name, name) == 0)
            return &item->array[a];
    return NULL;
}

bool oracle_has(const oracle_case *item, const char *array) {
    return find_array(item, array) != NULL;
}

const double *oracle_values_or_null(const oracle_case *item, const char *array, size_t count) {
    const oracle_array *found = find_array(item, array);
    if (!found)
        return NULL;
    if (found->count != count)
        fail_msg("%s: array %s has %zu entries, not %zu", item->name, array, found->count, count);
    return found->value;
}

const double *oracle_values(const oracle_case *item, const char *array, size_t count) {
    const double *values = oracle_values_or_null(item, array, count);
    if (!values)
        fail_msg("%s: no array %s", item->name, array);
    return values;
}

static size_t mismatches;

void oracle_compare(const oracle_case *item, const char *what, const double *got, const double *expected, size_t count,
                    double tolerance, double floor) {
    double scale = floor;
    for (size_t i = 0; i < count; i++)
        if (isfinite(expected[i]))
            scale = fmax(scale, fabs(expected[i]));
    for (size_t i = 0; i < count; i++) {
        bool same = isfinite(expected[i]) ? fabs(got[i] - expected[i]) <= tolerance * scale : got[i] == expected[i];
        if (!same) {
            print_error("%s: %s[%zu] is %.17g, expected %.17g (off by %.2g of the largest, %.2g allowed)\n", item->name,
                        what, i, got[i], expected[i], fabs(got[i] - expected[i]) / scale, tolerance);
            mismatches++;
            return;
        }
    }
}

void oracle_mismatch(const oracle_case *item, const char *reason) {
    print_error("%s: %s\n", item->name, reason);
    mismatches++;
}

void oracle_finish(void) {
    size_t found = mismatches;
    mismatches = 0;
    if (found)
        fail_msg("%zu mismatches", found);
}
