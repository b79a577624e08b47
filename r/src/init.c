/* Registers the routines. */
#include "calls.h"

#include <R_ext/Rdynload.h>

#define CALL_ROW(name, count) {"call_" #name, (DL_FUNC)&call_##name, count},
static const R_CallMethodDef routines[] = {CALL_LIST(CALL_ROW){NULL, NULL, 0}};

void R_init_prevail(DllInfo *info);

void R_init_prevail(DllInfo *info) {
    R_registerRoutines(info, NULL, routines, NULL, NULL);
    R_useDynamicSymbols(info, FALSE);
    R_forceSymbols(info, TRUE);
}
