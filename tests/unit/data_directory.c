#include "test_data.h"

const char test_data[] = TEST_DATA;
