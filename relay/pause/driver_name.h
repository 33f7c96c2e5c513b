/* The name of a driver, which has no task whose name could stand for it. Pure. */
#ifndef RAYDBG_RELAY_PAUSE_DRIVER_NAME_H
#define RAYDBG_RELAY_PAUSE_DRIVER_NAME_H

/* The program in a job's entrypoint, which is the driver's command line: "train.py" of
 * "python -u /home/me/train.py --lr 1", "pkg.train" of "python -m pkg.train". NULL if there is
 * none, as in an interactive Python. The caller frees. */
char *driver_program(const char *entrypoint);

/* "driver train.py", or "driver" if `program` is NULL or empty. The caller frees. */
char *driver_name(const char *program);

#endif
