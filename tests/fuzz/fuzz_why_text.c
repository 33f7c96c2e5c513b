/* The texts of programs and of Ray that relay/why and `raydbg logs` read: tracebacks, last words,
 * logs. Nothing is read past their end, frames are whole, and a terminal gets no control character
 * except those that set colours. */
#include "fuzz.h"

#include "relay/evidence/log_lines.h"
#include "relay/why_records/crash_log.h"
#include "relay/why_records/memory_kill.h"
#include "relay/why_records/process_end.h"
#include "relay/why_records/why_report.h"

#include <string.h>

static void try_report(const char *text)
{
    struct why_report report = {0};
    struct crash_log crash;
    why_report_traceback(&report, text);
    memory_kill_tell(text, &report);
    for (size_t i = 0; i < report.frame_count; i++)
        check(report.frames[i].file && report.frames[i].function);
    why_report_clear(&report);
    char *exception = why_report_exception(text), *words = why_first_words(text);
    check(!strchr(exception, '\n') && !strchr(words, '\n'));
    free(exception);
    free(words);
    if (crash_log_read(text, &crash))
        check(crash.signal[0] &&
              (!crash.stack || (crash.stack >= text && crash.stack < text + strlen(text))));
    struct process_end end = process_end_of_text(NULL, text);
    check(end.exit_code >= -255 && end.exit_code <= 255);
}

/* The shown text, given in two parts at any position. */
static void try_lines(const char *text, size_t size, const struct log_lines_options *options)
{
    size_t cut = size ? (size_t)(unsigned char)text[0] % size : 0;
    struct log_lines whole = {.options = *options}, parts = {.options = *options};
    struct buf one = {0}, two = {0};
    log_lines_add(&whole, text, size, &one);
    log_lines_end(&whole, &one);
    log_lines_add(&parts, text, cut, &two);
    log_lines_add(&parts, text + cut, size - cut, &two);
    log_lines_end(&parts, &two);
    check(one.len == two.len && (!one.len || memcmp(one.data, two.data, one.len) == 0));
    for (size_t i = 0; options->terminal && i < one.len; i++) {
        unsigned char c = (unsigned char)one.data[i];
        check(c >= ' ' || c == '\n' || c == '\t' || c == '\033');
        check(c != '\033' || (i + 1 < one.len && one.data[i + 1] == '['));
    }
    buf_free(&one);
    buf_free(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct log_lines_options options[] = {{0},
                                                       {.terminal = true},
                                                       {.prefix = "out  "},
                                                       {.has_markers = true},
                                                       {.only_behind = "f"},
                                                       {.only_behind = "f", .tail = 2}};
    char *text = malloc(size + 1);
    check(text);
    memcpy(text, data, size);
    text[size] = '\0';
    try_report(text);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        try_lines(text, size, &options[i]);
    free(text);
    return 0;
}
