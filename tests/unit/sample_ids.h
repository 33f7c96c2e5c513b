/* Ids of the lengths that Ray's have, from two hex digits: UNIQUE_ID("a1") is "a1a1…". */
#ifndef RAYDBG_TESTS_SAMPLE_IDS_H
#define RAYDBG_TESTS_SAMPLE_IDS_H

#define FOUR_TIMES(two) two two two two
#define EIGHT_TIMES(two) FOUR_TIMES(two) FOUR_TIMES(two)

#define JOB_ID(two) FOUR_TIMES(two)
#define ACTOR_ID(two) EIGHT_TIMES(two) EIGHT_TIMES(two)
#define TASK_ID(two) EIGHT_TIMES(two) EIGHT_TIMES(two) EIGHT_TIMES(two)
#define UNIQUE_ID(two) TASK_ID(two) FOUR_TIMES(two)

#endif
