/* Dates in tables: days since 1970-01-01, in the Gregorian calendar.
 *
 * Unambiguous forms: 2020-04-03 and 2020/04/03, with a time after a blank or T (03:04, 03:04:05.6, Z); 3.4.2020; 3 Apr
 * 2020, 3-Apr-2020, 03APR2020; Apr 3, 2020. With slashes or dashes, 3/4/2020 can be the third of April or the fourth of
 * March: such a column is accepted if at least one of its dates settles the order, and rejected otherwise.
 */
#include <math.h>
#include <string.h>

#include "data/csv.h"

enum {
    NONE,
    CERTAIN,
    DAY_FIRST,
    MONTH_FIRST,
    EITHER
}; /* kind of a text; the last three are for dates whose numbers decide */

typedef struct date {
    int year, month, day;
    double time; /* as a fraction of the day */
} date;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c | 32) >= 'a' && (c | 32) <= 'z';
}

/* Reads a number of `least` to `most` digits at *at; -1 if there is none. */
static int take_number(const char **at, const char *end, int least, int most) {
    int value = 0, n = 0;
    for (; *at < end && is_digit(**at) && n < most; n++)
        value = 10 * value + (*(*at)++ - '0');
    return n < least || (*at < end && is_digit(**at)) ? -1 : value;
}

static bool take(const char **at, const char *end, char c) {
    bool there = *at < end && **at == c;
    *at += there;
    return there;
}

/* Reads the name of a month at *at, in full or as three letters; 0 if there is none. */
static int take_month(const char **at, const char *end) {
    static const char *const names[] = {"january", "february", "march",     "april",   "may",      "june",
                                        "july",    "august",   "september", "october", "november", "december"};
    size_t n = 0;
    while (*at + n < end && is_letter((*at)[n]))
        n++;
    for (int m = 0; m < 12; m++)
        if ((n == 3 || n == strlen(names[m])) && pv__same_letters(*at, names[m], n)) {
            *at += n;
            return m + 1;
        }
    return 0;
}

static bool is_leap(int year) {
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static bool exists(const date *d) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return d->year >= 1000 && d->year <= 9999 && d->month >= 1 && d->month <= 12 && d->day >= 1 &&
           d->day <= days[d->month - 1] + (d->month == 2 && is_leap(d->year));
}

/* Days since 1970 by Hinnant's algorithm: years begin in March, so that the leap day comes last. */
static double days_of(const date *d) {
    int y = d->year - (d->month <= 2), era = y / 400, of_era = y - 400 * era;
    int of_year = (153 * (d->month + (d->month > 2 ? -3 : 9)) + 2) / 5 + d->day - 1;
    int days = 146097 * era + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
    return days + d->time;
}

/* Reads what follows a date: nothing, or a time. */
static bool take_time(const char **at, const char *end, date *d) {
    if (*at == end)
        return true;
    if (!take(at, end, 'T') && !take(at, end, ' '))
        return false;
    int hour = take_number(at, end, 2, 2), minute = take(at, end, ':') ? take_number(at, end, 2, 2) : -1, second = 0;
    double part = 0, place = 0.1;
    if (take(at, end, ':'))
        second = take_number(at, end, 2, 2);
    if (take(at, end, '.'))
        for (; *at < end && is_digit(**at); place /= 10)
            part += place * (*(*at)++ - '0');
    take(at, end, 'Z');
    d->time = (hour + (minute + (second + part) / 60) / 60) / 24;
    return *at == end && hour >= 0 && hour < 24 && minute >= 0 && minute < 60 && second >= 0 && second < 61;
}

/* Two numbers and a year, separated by a mark: first and second in the order written. */
static int parse_numbers(const char *at, const char *end, date *d) {
    int first = take_number(&at, end, 1, 2);
    char mark = at < end ? *at : 0;
    if (first < 0 || (mark != '.' && mark != '/' && mark != '-'))
        return NONE;
    at++;
    int second = take_number(&at, end, 1, 2);
    if (second < 0 || !take(&at, end, mark))
        return NONE;
    d->year = take_number(&at, end, 4, 4);
    d->day = first;
    d->month = second;
    if (!take_time(&at, end, d))
        return NONE;
    if (mark == '.')
        return exists(d) ? CERTAIN : NONE;
    date turned = {d->year, first, second, d->time};
    bool day_first = exists(d), month_first = exists(&turned);
    if (!day_first)
        *d = turned;
    return day_first && month_first ? EITHER : day_first ? DAY_FIRST : month_first ? MONTH_FIRST : NONE;
}

/* 2020-04-03 */
static bool parse_iso(const char *at, const char *end, date *d) {
    d->year = take_number(&at, end, 4, 4);
    char mark = at < end && *at == '/' ? '/' : '-';
    if (d->year < 0 || !take(&at, end, mark))
        return false;
    d->month = take_number(&at, end, 1, 2);
    if (d->month < 0 || !take(&at, end, mark))
        return false;
    d->day = take_number(&at, end, 1, 2);
    return d->day >= 0 && take_time(&at, end, d) && exists(d);
}

/* 3 Apr 2020, 3-Apr-2020, 03APR2020, Apr 3, 2020 */
static bool parse_named(const char *at, const char *end, date *d) {
    d->month = take_month(&at, end);
    bool month_first = d->month > 0;
    if (month_first)
        take(&at, end, ' ');
    d->day = take_number(&at, end, 1, 2);
    char mark = at < end && *at == '-' ? '-' : ' ';
    if (month_first)
        take(&at, end, ',');
    take(&at, end, mark);
    if (!month_first) {
        d->month = take_month(&at, end);
        take(&at, end, mark);
    }
    d->year = take_number(&at, end, 4, 4);
    return d->month > 0 && d->day >= 0 && take_time(&at, end, d) && exists(d);
}

static int parse(const char *text, size_t length, date *d) {
    const char *end = text + length;
    *d = (date){0};
    if (length < 8 || length > 40)
        return NONE;
    if (parse_iso(text, end, d))
        return CERTAIN;
    *d = (date){0};
    if (parse_named(text, end, d))
        return CERTAIN;
    *d = (date){0};
    return parse_numbers(text, end, d);
}

bool pv__date_known(const char *text, size_t length) {
    date d;
    return parse(text, length, &d) != NONE;
}

/* The kind of a whole column, from those of its levels. */
static int kind_of(const pv_column *column, bool *mixed) {
    bool seen[EITHER + 1] = {false};
    for (int32_t i = 0; i < column->levels && !seen[NONE]; i++) {
        date d;
        seen[parse(column->level[i], strlen(column->level[i]), &d)] = true;
    }
    *mixed = seen[DAY_FIRST] && seen[MONTH_FIRST];
    if (seen[NONE])
        return NONE;
    return seen[DAY_FIRST] ? DAY_FIRST : seen[MONTH_FIRST] ? MONTH_FIRST : seen[EITHER] ? EITHER : CERTAIN;
}

static pv_status refuse(pv__reader *r, size_t c, const char *why) {
    const pv_column *column = &r->table->column[c];
    return pv__fail_at(
        r->ctx, PV_ERR_INPUT, r->input.name, 0, c + 1,
        "column '%s' has dates such as %s, %s;\nwrite them as 2020-04-03, or leave the column out with `exclude=%s`",
        pv__show(column->name).text, pv__show(column->level[0]).text, why, pv__show_item(column->name).text);
}

static pv_status convert(pv__reader *r, size_t c, bool month_first) {
    pv_column *column = &r->table->column[c];
    double *days, *number;
    PV_TRY(pv__alloc(r->ctx, (size_t)column->levels, sizeof *days, &days));
    pv_status status = pv__alloc(r->ctx, r->table->rows, sizeof *number, &number);
    for (int32_t i = 0; status == PV_OK && i < column->levels; i++) {
        date d;
        if (parse(column->level[i], strlen(column->level[i]), &d) == EITHER && month_first) {
            int month = d.day;
            d.day = d.month;
            d.month = month;
        }
        days[i] = days_of(&d);
    }
    for (size_t i = 0; status == PV_OK && i < r->table->rows; i++)
        number[i] = column->code[i] < 0 ? (double)NAN : days[column->code[i]];
    pv__free(r->ctx, days);
    if (status != PV_OK)
        return status;
    if (!r->options || !r->options->spelling) {
        pv__free(r->ctx, column->code);
        pv_string_list_free(r->ctx, column->level, (size_t)column->levels);
        column->code = NULL;
        column->level = NULL;
        column->levels = 0;
    }
    column->number = number;
    column->type = PV_COLUMN_NUMBER;
    pv__log(r->ctx, PV_LOG_INFO, "%s: column '%s' holds dates; they are taken as days since 1970-01-01", r->input.name,
            pv__show(column->name).text);
    return PV_OK;
}

pv_status pv__csv_dates(pv__reader *r) {
    for (size_t c = 0; c < r->table->columns; c++) {
        pv_column *column = &r->table->column[c];
        if (column->type != PV_COLUMN_TEXT || r->forced[c] != PV__FREE || column->levels == 0)
            continue;
        bool mixed;
        int kind = kind_of(column, &mixed);
        if (kind == NONE)
            continue;
        if (mixed)
            return refuse(r, c, "some with the day first, some with the month");
        if (kind == EITHER)
            return refuse(r, c, "which may have the day first or the month");
        PV_TRY(convert(r, c, kind == MONTH_FIRST));
    }
    return PV_OK;
}
