/* src/export/sql.h: a query under construction: its expressions (sql_expressions.c) and its subqueries (sql.c). */
#ifndef PV_SRC_SQL_H
#define PV_SRC_SQL_H

#include "export/export.h"

enum {
    TREES_MAX = 2000,
    COLUMNS_MAX = 1600, /* limit of columns in a table or subquery, and of columns that one names: that of PostgreSQL */
    NAMED = 1000        /* columns that one subquery names, unless a single step needs more */
};

typedef struct pv__sql {
    const pv__described *d;
    pv__out *out;
    pv__step_phase *phase;
    int *level;    /* [steps], level of the subquery within its phase that has the step's columns; 0: none */
    size_t *taken; /* [steps], how often a column of the step is used */
    size_t *named; /* [steps], number of columns of others that an expression of the step names */
    int *group;    /* [steps], index of the step's subquery within its level */
    int levels[3];
    pv__export_names names;
    char draws[32]; /* name of the table of draws, different from that of the rows */
} pv__sql;

static inline const pv__step *pv__sql_step(const pv__sql *w, int at) {
    return &w->d->steps.step[at];
}

/* Quoted names and literals; an identifier from two texts, the second possibly NULL; a table with its schema. */
void pv__sql_quoted(pv__out *out, char quote, const char *text);
void pv__sql_identifier(pv__out *out, const char *head, const char *tail);
void pv__sql_table(pv__out *out, const char *name);
void pv__sql_double(pv__out *out, double value);

bool pv__sql_stands_for(const pv__step *step);    /* its columns are those of other steps */
bool pv__sql_is_inline(const pv__sql *w, int at); /* it is inlined where it is used */
bool pv__sql_pattern(const pv__step *step);       /* it is a pattern of one or two columns */
size_t pv__sql_times(const pv__step *step,
                     int which); /* how often the pattern contains the first (0) or the second (1) column */
void pv__sql_column(const pv__sql *w, int at, size_t j); /* column j of a step, or its only one */
void pv__sql_expression(const pv__sql *w, const pv__step *step, size_t j);

#endif
