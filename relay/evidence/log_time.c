#include "relay/evidence/log_time.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Reads exactly `count` digits; false if there are fewer. */
static bool read_digits(const char **at, const char *end, int count, int *out)
{
    *out = 0;
    for (int i = 0; i < count; i++) {
        if (*at == end || **at < '0' || **at > '9')
            return false;
        *out = *out * 10 + (*(*at)++ - '0');
    }
    return true;
}

static bool read_char(const char **at, const char *end, const char *any)
{
    if (*at == end || !**at || !strchr(any, **at))
        return false;
    (*at)++;
    return true;
}

static bool read_date(const char **at, const char *end, struct tm *tm)
{
    if (!read_digits(at, end, 4, &tm->tm_year) || !read_char(at, end, "-") ||
        !read_digits(at, end, 2, &tm->tm_mon) || !read_char(at, end, "-") ||
        !read_digits(at, end, 2, &tm->tm_mday))
        return false;
    tm->tm_year -= 1900;
    tm->tm_mon--;
    return tm->tm_year >= 70 && tm->tm_mon >= 0 && tm->tm_mon < 12 && tm->tm_mday >= 1 &&
           tm->tm_mday <= 31;
}

/* "07:36:06" or "07:36". */
static bool read_clock(const char **at, const char *end, struct tm *tm)
{
    if (!read_digits(at, end, 2, &tm->tm_hour) || !read_char(at, end, ":") ||
        !read_digits(at, end, 2, &tm->tm_min))
        return false;
    if (read_char(at, end, ":") && !read_digits(at, end, 2, &tm->tm_sec))
        return false;
    return tm->tm_hour < 24 && tm->tm_min < 60 && tm->tm_sec < 61;
}

static int64_t ms_of(struct tm *tm, int milli)
{
    tm->tm_isdst = -1;
    time_t seconds = mktime(tm);
    return seconds == (time_t)-1 ? 0 : (int64_t)seconds * 1000 + milli;
}

int64_t log_time_of(const char *line, size_t len)
{
    const char *at = line, *end = line + len;
    struct tm tm = {0};
    int milli = 0;
    read_char(&at, end, "[");
    if (!read_date(&at, end, &tm) || !read_char(&at, end, " T") || !read_clock(&at, end, &tm))
        return 0;
    if (read_char(&at, end, ",.") && !read_digits(&at, end, 3, &milli))
        milli = 0;
    return ms_of(&tm, milli);
}

int64_t log_time_parse(const char *text, int64_t now_ms)
{
    const char *at = text, *end = text + strlen(text);
    time_t now = (time_t)(now_ms / 1000);
    struct tm tm = {0}, today;
    localtime_r(&now, &today);
    if (read_date(&at, end, &tm)) {
        if (at != end && (!read_char(&at, end, " T") || !read_clock(&at, end, &tm)))
            return 0;
    } else {
        at = text;
        tm =
            (struct tm){.tm_year = today.tm_year, .tm_mon = today.tm_mon, .tm_mday = today.tm_mday};
        if (!read_clock(&at, end, &tm))
            return 0;
    }
    return at == end ? ms_of(&tm, 0) : 0;
}

char *log_time_text(int64_t ms, char out[LOG_TIME_TEXT])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    localtime_r(&seconds, &tm);
    snprintf(out, LOG_TIME_TEXT, "%02d:%02d:%02d.%03d", tm.tm_hour % 100, tm.tm_min % 100,
             tm.tm_sec % 100, (int)(ms % 1000));
    return out;
}
