/* The file that -o names; "-" is standard output. */
#ifndef RAYDBG_CLI_COMMON_OUTPUT_FILE_H
#define RAYDBG_CLI_COMMON_OUTPUT_FILE_H

#include <stdbool.h>
#include <stdio.h>

/* False, with the error printed, if the file can be neither written nor made: for a command that
 * works for some time before it writes. */
bool output_file_check(const char *path);
/* NULL, with the error printed, if it cannot be written. */
FILE *output_file_open(const char *path);
/* Flushes it, and closes it unless it is standard output. Returns the command's exit code: that of
 * an error, which is printed, if not all could be written. */
int output_file_close(FILE *file, const char *path);

#endif
