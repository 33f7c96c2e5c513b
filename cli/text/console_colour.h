/* Colours a line of Python. Pure. */
#ifndef RAYDBG_CLI_TEXT_CONSOLE_COLOUR_H
#define RAYDBG_CLI_TEXT_CONSOLE_COLOUR_H

#include "base/buf.h"

/* Keywords, strings, numbers and comments have a colour each. A string of several lines is coloured
 * only in its first one: each line is seen alone. */
void colour_python(struct buf *out, const char *line);

#endif
