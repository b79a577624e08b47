/* Tables from R's columns. */
#include "calls.h"

static void add_matrix(SEXP session, pv_table *table, SEXP matrix, R_xlen_t skip) {
    SEXP names = VECTOR_ELT(Rf_getAttrib(matrix, R_DimNamesSymbol), 1);
    R_xlen_t columns = Rf_xlength(names) - skip;
    if (columns <= 0)
        return;
    const double *cells = REAL(matrix) + skip * (R_xlen_t)Rf_nrows(matrix);
    need(session, pv_table_add_matrix(session_ctx(session), table, texts_of(names) + skip, (size_t)columns,
                                      PV_ARRAY_F64, cells, (ptrdiff_t)sizeof *cells, PV_PACKED, true));
}

static void add_column(SEXP session, pv_table *table, const char *name, SEXP column) {
    pv_ctx *ctx = session_ctx(session);
    if (Rf_isFactor(column)) {
        SEXP levels = Rf_getAttrib(column, R_LevelsSymbol);
        const char **texts = texts_of(levels);
        need(session, pv_table_add_codes(ctx, table, name, PV_ARRAY_I32, INTEGER(column), PV_PACKED, 1, texts,
                                         (size_t)Rf_xlength(levels), NULL));
    } else if (TYPEOF(column) == REALSXP) {
        need(session, pv_table_add_numbers(ctx, table, name, PV_ARRAY_F64, REAL(column), PV_PACKED, NULL, true));
    } else {
        Rf_error("column %s is neither a factor nor numeric", name);
    }
}

/* matrix: columns of numbers with names, of which the first `skip` are left out; NULL: none. columns: a named list of
 * factors and numbers. Numbers are used in place: the handle keeps them alive. */
SEXP call_table(SEXP session, SEXP source, SEXP rows, SEXP matrix, SEXP skip, SEXP columns) {
    SEXP kept = PROTECT(Rf_allocVector(VECSXP, 2));
    SET_VECTOR_ELT(kept, 0, matrix);
    SET_VECTOR_ELT(kept, 1, columns);
    SEXP handle = PROTECT(handle_new(HANDLE_TABLE, kept));
    pv_table *table = NULL;
    const char *name = text_of(source, 0);
    need(session, pv_table_new(session_ctx(session), name, (size_t)Rf_asReal(rows), &table));
    handle_set(handle, table);
    if (matrix != R_NilValue)
        add_matrix(session, table, matrix, Rf_asInteger(skip));
    SEXP names = Rf_getAttrib(columns, R_NamesSymbol);
    for (R_xlen_t i = 0; i < Rf_xlength(columns); i++)
        add_column(session, table, text_of(names, i), VECTOR_ELT(columns, i));
    UNPROTECT(2);
    return handle;
}
