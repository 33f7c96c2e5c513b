/* Where the recorded bytes are. */
#ifndef RAYDBG_TESTS_TEST_DATA_H
#define RAYDBG_TESTS_TEST_DATA_H

/* The absolute path of tests/unit/data. */
extern const char test_data[];

#endif
