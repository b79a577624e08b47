/* Parses a prevalence as a user writes it. */
#include <math.h>
#include <string.h>

#include "data/data.h"
#include "base/number.h"

/* The text being parsed and its context, for messages. */
typedef struct request {
    pv_ctx *ctx;
    const char *option;
    const char *text;
    char *const *labels;
    int classes;
    char joined[200]; /* the labels, joined */
} request;

static const char *skip_blanks(const char *text) {
    return text + strspn(text, " \t");
}

/* Parses a probability at *at and moves past it. */
static pv_status parse_probability(const request *r, const char **at, double *p) {
    const char *begin = skip_blanks(*at);
    size_t length = pv__number_prefix(begin, p);
    if (pv__is_hexadecimal(begin))
        return pv__fail(r->ctx, PV_ERR_USAGE, "%s: '%s' is not a decimal number;\nwrite a proportion such as 0.125",
                        r->option, pv__show_n(begin, strcspn(begin, ",")).text);
    if (length == 0)
        return pv__fail(r->ctx, PV_ERR_USAGE, "%s: '%s' is not a number where one is needed, in '%s';\nwrite %s",
                        r->option, pv__show(begin).text, pv__show(r->text).text,
                        *at > r->text && (*at)[-1] == '-' ? "an interval as LOW-HIGH" : "P, P,P,... or LABEL=P,...");
    *at = skip_blanks(begin + length);
    if (**at == '%' || **at == '/') {
        double below = 100;
        bool known = **at == '%' || (pv__number_prefix(*at + 1, &below) > 0 && below > 0);
        return pv__fail(r->ctx, PV_ERR_USAGE, "%s:\nwrite '%s' as a decimal number, such as %g", r->option,
                        pv__show(r->text).text, known && *p > 0 && *p < below ? *p / below : 0.01);
    }
    if (*p > 1 && *p < 100)
        return pv__fail(r->ctx, PV_ERR_USAGE,
                        "%s: %s is outside (0,1); a percentage is written as a proportion, %g %% as %g", r->option,
                        pv__show_n(begin, length).text, *p, *p / 100);
    if (!(*p > 0 && *p < 1))
        return pv__fail(r->ctx, PV_ERR_USAGE, "%s: %s is outside (0,1)%s", r->option, pv__show_n(begin, length).text,
                        *p == 0 && **at == ',' ? "; the decimal sign is a point, as in 0.005"
                                               : ";\ngive a number above 0 and below 1, such as 0.01");
    return PV_OK;
}

static pv_status expect_end(const request *r, const char *at) {
    if (*at == '\0')
        return PV_OK;
    return pv__fail(r->ctx, PV_ERR_USAGE,
                    "%s: '%s' is not understood after a number, in '%s';\nwrite P, P,P,... or LABEL=P,...", r->option,
                    pv__show(at).text, pv__show(r->text).text);
}

static pv_status wrong_count(const request *r, int given) {
    return pv__fail(r->ctx, PV_ERR_USAGE, "%s: %d number%s given for %d classes;\ngive one each for %s", r->option,
                    given, given == 1 ? "" : "s", r->classes, r->joined);
}

/* The label at the start of text that is followed by '='; the longest, because labels may contain '=' and commas. */
static int longest_label(const request *r, const char *text, size_t *length) {
    int best = -1;
    *length = 0;
    for (int y = 0; y < r->classes; y++) {
        size_t n = strlen(r->labels[y]);
        if ((best < 0 || n > *length) && strncmp(text, r->labels[y], n) == 0 && *skip_blanks(text + n) == '=') {
            best = y;
            *length = n;
        }
    }
    if (best < 0) { /* accepts 1 for 1.0 */
        *length = strcspn(text, "= \t");
        best = pv__label_find(r->labels, r->classes, text, *length);
    }
    return best;
}

static pv_status unknown_label(const request *r, const char *text) {
    char given[128];
    pv__format(given, sizeof given, "%.*s", (int)strcspn(text, "=,"), text);
    const char *near = pv_nearest(given, (const char *const *)r->labels, (size_t)r->classes);
    return pv__fail(r->ctx, PV_ERR_USAGE, "%s: there is no label '%s'; %s%s%s", r->option, pv__show(given).text,
                    near ? "did you mean '" : "the labels are ", near ? pv__show(near).text : r->joined,
                    near ? "'?" : "");
}

/* label=p,label=p; one of two classes may be omitted. */
static pv_status parse_labelled(const request *r, double *prevalence) {
    int given = 0, last = 0;
    for (int y = 0; y < r->classes; y++)
        prevalence[y] = 0;
    for (const char *at = r->text;;) {
        at = skip_blanks(at);
        size_t length;
        int y = longest_label(r, at, &length);
        if (y < 0)
            return unknown_label(r, at);
        if (prevalence[y] > 0)
            return pv__fail(r->ctx, PV_ERR_USAGE, "%s: label '%s' is given twice;\ngive each once", r->option,
                            pv__show(r->labels[y]).text);
        at = skip_blanks(at + length);
        if (*at != '=')
            return expect_end(r, at);
        at++;
        PV_TRY(parse_probability(r, &at, &prevalence[y]));
        given++;
        last = y;
        if (*at != ',') {
            PV_TRY(expect_end(r, at));
            break;
        }
        at++;
    }
    if (given == 1 && r->classes == 2)
        prevalence[1 - last] = 1 - prevalence[last];
    else if (given != r->classes)
        return wrong_count(r, given);
    return PV_OK;
}

/* p, p-p or p,p,... */
static pv_status parse_numbers(const request *r, double *prevalence, double *low, double *high) {
    int given = 0;
    double p = 0;
    for (const char *at = r->text;;) {
        PV_TRY(parse_probability(r, &at, &p));
        if (given < r->classes)
            prevalence[given] = p;
        given++;
        if (*at == '-' && given == 1) {
            *low = p;
            at++;
            PV_TRY(parse_probability(r, &at, high));
            PV_TRY(expect_end(r, at));
            break;
        }
        if (*at != ',') {
            PV_TRY(expect_end(r, at));
            break;
        }
        at++;
    }
    if (given == 1 && r->classes == 2) {
        prevalence[1] = p;
        prevalence[0] = 1 - p;
    } else if (given == 1 && !isnan(*high)) {
        return pv__fail(r->ctx, PV_ERR_USAGE, "%s: an interval is for two classes; there are %d: %s", r->option,
                        r->classes, r->joined);
    } else if (given != r->classes) {
        return wrong_count(r, given);
    }
    return PV_OK;
}

static pv_status set_interval(const request *r, double *prevalence, double low, double high) {
    if (!(low < high))
        return pv__fail(r->ctx, PV_ERR_USAGE, "%s: the interval '%s' is %s", r->option, pv__show(r->text).text,
                        low > high ? "the wrong way round" : "a single number;\nwrite it once");
    prevalence[1] = sqrt(low * high);
    prevalence[0] = 1 - prevalence[1];
    return PV_OK;
}

pv_status pv_prevalence_parse(pv_ctx *ctx, const char *option, const char *text, char *const *labels, int classes,
                              double *prevalence, double *low, double *high) {
    request r = {.ctx = ctx, .option = option, .text = text, .labels = labels, .classes = classes};
    pv__join(labels, (size_t)classes, 6, r.joined, sizeof r.joined);
    *low = *high = (double)NAN;
    if (*skip_blanks(text) == '\0')
        return pv__fail(ctx, PV_ERR_USAGE, "%s: a number in (0,1) is needed", option);
    if (strchr(text, '='))
        PV_TRY(parse_labelled(&r, prevalence));
    else
        PV_TRY(parse_numbers(&r, prevalence, low, high));
    if (!isnan(*high))
        PV_TRY(set_interval(&r, prevalence, *low, *high));
    double sum = isnan(*high) ? 0 : 1;
    for (int y = 0; y < classes && isnan(*high); y++)
        sum += prevalence[y];
    if (!(fabs(sum - 1) <= 1e-9))
        return pv__fail(ctx, PV_ERR_USAGE, "%s: the numbers in '%s' add up to %.10g, not to 1", option,
                        pv__show(text).text, sum);
    for (int y = 0; y < classes; y++) {
        prevalence[y] /= sum;
        if (!(prevalence[y] > 0 && prevalence[y] < 1)) /* rounding leaves nothing for the other labels */
            return pv__fail(ctx, PV_ERR_USAGE,
                            "%s: '%s' leaves label '%s' a prevalence of %g;\ngive a less extreme one", option,
                            pv__show(text).text, pv__show(labels[y]).text, prevalence[y]);
    }
    return PV_OK;
}

pv_status pv_prevalence_parse_one(pv_ctx *ctx, const char *option, const char *text, char *const *labels, int classes,
                                  double *prevalence) {
    double low, high;
    PV_TRY(pv_prevalence_parse(ctx, option, text, labels, classes, prevalence, &low, &high));
    if (isnan(low))
        return PV_OK;
    return pv__fail(ctx, PV_ERR_USAGE, "%s %s:\ngive one prevalence, not an interval", option, pv__show(text).text);
}
