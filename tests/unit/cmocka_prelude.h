/* What cmocka wants included before itself. */
#ifndef RAYDBG_TESTS_CMOCKA_PRELUDE_H
#define RAYDBG_TESTS_CMOCKA_PRELUDE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
