/* Matched sets: counts them. */
#include "design/design.h"

pv_status pv__matched_tell(pv_ctx *ctx, const pv_dataset *data) {
    size_t sets = 0, idle = 0, rows = 0;
    int32_t last = -1;
    for (size_t i = 0; i < data->rows; i++)
        last = data->group[i] > last ? data->group[i] : last;
    size_t *count;
    PV_TRY(pv__alloc(ctx, 2 * ((size_t)last + 1), sizeof *count, &count));
    for (size_t i = 0; i < data->rows; i++)
        count[2 * (size_t)data->group[i] + (data->label[i] == 1)]++;
    for (size_t s = 0; s <= (size_t)last; s++) {
        size_t of = count[2 * s] + count[2 * s + 1];
        sets += of > 0;
        idle += of > 0 && (count[2 * s] == 0 || count[2 * s + 1] == 0);
        rows += count[2 * s] == 0 || count[2 * s + 1] == 0 ? of : 0;
    }
    pv__free(ctx, count);
    pv__log(ctx, PV_LOG_INFO, "%zu matched sets", sets);
    if (idle)
        pv__log(ctx, idle == sets ? PV_LOG_WARNING : PV_LOG_INFO,
                "%zu of them, with %zu rows, lack a case or a control and carry no information", idle, rows);
    return PV_OK;
}
