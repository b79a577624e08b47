/* Learning-rate schedules: the rate of a step relative to --rate.
 *
 *   cosine        (1 + cos(pi t)) / 2, t from 0 to 1 over the steps after the warm-up
 *   constant      1
 *   step:E:F      F to the power of the number of completed periods of E epochs
 *   warmup:E,...  before the others: rises linearly from 0 over E epochs
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

/* Reads a positive number that ends at `end` (or at the end of the text). */
static bool read_number(const char *text, char end, double *value, const char **rest) {
    const char *at = pv_parse_real(text, value);
    if (!at || !(*value > 0) || *at != end)
        return false;
    *rest = *at ? at + 1 : at;
    return true;
}

pv_status pv__schedule_parse(pv_ctx *ctx, const char *text, int64_t epochs, pv__schedule *schedule) {
    *schedule = (pv__schedule){.epochs = (double)epochs};
    const char *rest = text;
    bool good = true;
    if (strncmp(rest, "warmup:", 7) == 0)
        good = read_number(rest + 7, ',', &schedule->warmup, &rest);
    if (good && strncmp(rest, "step:", 5) == 0) {
        schedule->kind = PV_SCHEDULE_STEP;
        good = read_number(rest + 5, ':', &schedule->every, &rest) && read_number(rest, '\0', &schedule->factor, &rest);
    } else if (good) {
        schedule->kind = strcmp(rest, "constant") == 0 ? PV_SCHEDULE_CONSTANT : PV_SCHEDULE_COSINE;
        good = schedule->kind == PV_SCHEDULE_CONSTANT || strcmp(rest, "cosine") == 0;
    }
    if (!good || (schedule->kind == PV_SCHEDULE_STEP && schedule->factor > 1))
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`schedule=%s`: cosine, constant or step:EPOCHS:FACTOR (factor at most 1), with warmup:EPOCHS, "
                        "before it or without, as in warmup:2,cosine",
                        text);
    if (schedule->warmup >= schedule->epochs)
        return pv__fail(ctx, PV_ERR_USAGE,
                        "`schedule=%s`: the warm-up is as long as the %lld epochs;\nshorten it, or raise `epochs`",
                        text, (long long)epochs);
    return PV_OK;
}

double pv__schedule_at(const pv__schedule *s, double epoch, double next) {
    if (epoch < s->warmup)
        return fmin(next / s->warmup, 1);
    switch (s->kind) {
    case PV_SCHEDULE_CONSTANT:
        return 1;
    case PV_SCHEDULE_STEP:
        return pow(s->factor, floor(epoch / s->every));
    case PV_SCHEDULE_COSINE:
        break;
    }
    return 0.5 * (1 + cos(3.14159265358979323846 * ((epoch - s->warmup) / (s->epochs - s->warmup))));
}
