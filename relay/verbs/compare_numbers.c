#include "relay/verbs/compare.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- parsing numbers --- */

/* Parses a number as Python writes it: no hexadecimal and no "infinity", which strtod() would take.
 * Gives its end, or NULL. */
static const char *read_number(const char *text, double *out)
{
    const char *at = text + (*text == '-' || *text == '+');
    if (!isdigit((unsigned char)*at) && *at != '.' && !text_starts(at, "nan") &&
        !text_starts(at, "inf"))
        return NULL;
    if (text_starts(at, "infinity"))
        return NULL;
    if (at[0] == '0' && tolower((unsigned char)at[1]) == 'x')
        return NULL;
    char *end;
    *out = strtod(text, &end);
    return end > text && !isalnum((unsigned char)*end) && *end != '_' ? end : NULL;
}

/* True for the `len` bytes in front of the parenthesis of a wrapped number: "tensor(0.69,
 * device='cuda:0')", "np.float64(0.69)", "Decimal('0.69')". Behind the number comes the end of the
 * call, or other arguments. */
static bool is_wrapper(const char *text, size_t len)
{
    static const char *const names[] = {"tensor", "array", "Array", "Decimal", "Parameter"};
    static const char *const modules[] = {"np.", "numpy.", "torch.", "jnp."};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == len && !strncmp(text, names[i], len))
            return true;
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        if (text_starts(text, modules[i]))
            return true;
    return false;
}

/* "<tf.Tensor: shape=(), dtype=float32, numpy=0.69>" */
static const char *tensorflow_value(const char *text)
{
    static const char numpy[] = "numpy=";
    const char *at = text_starts(text, "<tf.") ? strstr(text, numpy) : NULL;
    return at && strstr(text, "shape=()") ? at + sizeof numpy - 1 : NULL;
}

bool compare_number(const char *text, double *out)
{
    const char *inside = tensorflow_value(text), *open = strchr(text, '(');
    const char *end = read_number(inside ? inside : text, out);
    if (inside)
        return end && text_equal(end, ">");
    if (end)
        return *end == '\0';
    if (!open || !is_wrapper(text, (size_t)(open - text)))
        return false;
    bool quoted = open[1] == '\'';
    end = read_number(open + 1 + quoted, out);
    if (end && quoted)
        end = *end == '\'' ? end + 1 : NULL;
    return end && (text_equal(end, ")") || (*end == ',' && text_ends(end, ")")));
}

/* --- outliers --- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

static double middle(double *values, size_t count)
{
    if (count == 0)
        return 0;
    qsort(values, count, sizeof *values, by_value);
    return count % 2 ? values[count / 2] : values[count / 2 - 1] / 2 + values[count / 2] / 2;
}

/* The unit for distances from the median; 0 if all values are equal. If more than half are equal,
 * the median deviation is 0 and the mean deviation replaces it. Both are scaled to equal the
 * standard deviation of normally distributed values. */
static double spread_of(const double *finite, size_t count, double median)
{
    double *distances = mem_array(count, sizeof *distances);
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        distances[i] = fabs(finite[i] - median);
        sum += distances[i] / (double)count;
    }
    double spread = 1.4826 * middle(distances, count);
    free(distances);
    return spread > 0 ? spread : 1.2533 * sum;
}

static size_t summarize(const double *values, size_t count, struct compare_numbers *numbers,
                        double *finite)
{
    size_t n = 0;
    *numbers = (struct compare_numbers){.count = count};
    for (size_t i = 0; i < count; i++)
        if (isnan(values[i]))
            numbers->nan++;
        else if (isinf(values[i]))
            numbers->inf++;
        else
            finite[n++] = values[i];
    for (size_t i = 0; i < n; i++)
        numbers->mean += finite[i] / (double)n;
    numbers->median = middle(finite, n); /* sorts `finite` */
    numbers->min = n ? finite[0] : 0;
    numbers->max = n ? finite[n - 1] : 0;
    return n;
}

void compare_judge(const double *values, size_t count, struct compare_numbers *numbers,
                   bool *outliers)
{
    enum { ENOUGH = 4 };
    const double far = 3.5; /* the threshold of Iglewicz and Hoaglin */
    double *finite = mem_array(count, sizeof *finite);
    size_t n = summarize(values, count, numbers, finite);
    double spread = spread_of(finite, n, numbers->median);
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        bool odd = isnan(values[i])   ? 2 * numbers->nan < count
                   : isinf(values[i]) ? 2 * numbers->inf < count
                                      : fabs(values[i] - numbers->median) > far * spread;
        outliers[i] = count >= ENOUGH && odd;
        if (outliers[i] || !isfinite(values[i]))
            continue;
        if (!any || values[i] < numbers->near_min)
            numbers->near_min = values[i];
        if (!any || values[i] > numbers->near_max)
            numbers->near_max = values[i];
        any = true;
    }
    free(finite);
}
