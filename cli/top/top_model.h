/* The state of `raydbg memory --top` and how keys change it: no terminal, no clock, no cluster.
 *
 * The screen is a stack of frames. A list frame shows the groups, or the references, of the choice
 * in the frame below it; above the lists are one object's facts, and its owner's. A choice is kept
 * by its name, not by its line: it stays chosen when the order changes. */
#ifndef RAYDBG_CLI_TOP_TOP_MODEL_H
#define RAYDBG_CLI_TOP_TOP_MODEL_H

#include "base/buf.h"
#include "cli/common/byte_units.h"
#include "cli/top/top_view.h"
#include "relay/pause/pause.h"

/* Keys are Unicode characters, or one of these. */
enum top_key {
    TOP_KEY_NONE = 0x110000,
    TOP_KEY_UP,
    TOP_KEY_DOWN,
    TOP_KEY_LEFT,
    TOP_KEY_RIGHT,
    TOP_KEY_PAGE_UP,
    TOP_KEY_PAGE_DOWN,
    TOP_KEY_HOME,
    TOP_KEY_END,
    TOP_KEY_ENTER,
    TOP_KEY_BACK,
    TOP_KEY_ESCAPE,
    TOP_KEY_F1, /* and on to F10 */
    TOP_KEY_F3 = TOP_KEY_F1 + 2,
    TOP_KEY_F6 = TOP_KEY_F1 + 5,
    TOP_KEY_F10 = TOP_KEY_F1 + 9,
};

enum top_frame_kind { TOP_LIST, TOP_OBJECT, TOP_OWNER };

struct top_frame {
    enum top_frame_kind kind;
    enum object_group_by by; /* of a list; OBJECT_BY_NOTHING: references */
    char *key;               /* the chosen group */
    /* The chosen reference; the subject of a TOP_OBJECT or TOP_OWNER. */
    struct object_id object;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    bool chosen;   /* there is a choice: one of the above */
    size_t cursor; /* the chosen line */
    size_t scroll; /* the first line that shows */
};

enum { TOP_FRAMES = OBJECT_BY_COUNT + 3, TOP_INTERVALS = 8 };
enum top_mode { TOP_BROWSE, TOP_FILTER, TOP_SORT_MENU, TOP_HELP };

/* A node's rates since the sweep before the last, and its counters. */
struct top_rate {
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)];
    int64_t created_bytes, spilled_bytes, taken_ms;
    double created, spilled; /* bytes/s; -1: not known yet */
};

/* Fields are for the files of cli/top and its tests. */
struct top_model {
    struct top_frame frames[TOP_FRAMES];
    size_t depth; /* the shown frame; 0: the overview */
    enum top_mode mode;
    enum object_sort_by sort_by;
    size_t menu_line, help_scroll;
    struct buf filter;
    char *task, *worker_id;
    enum byte_units units;
    size_t interval; /* index; see top_model_interval_ms() */
    bool paused;
    int columns, height;
    bool utf8;
    const char *source; /* address of the cluster or relay; borrowed */
    /* The data; all borrowed, except the rates. */
    const struct object_sweep *sweep;  /* the last sweep */
    const struct top_view *view;       /* of `sweep`, or of the one before until its view is made */
    const struct top_view *first;      /* the same of the first sweep; NULL: this is the first */
    const struct object_sweep *origin; /* the first sweep */
    const struct object_sweep *detail; /* locations and tasks of the shown object; may be NULL */
    bool detail_asked;                 /* `detail` is the answer for the shown object */
    const struct pause_list *pauses;   /* NULL: not known */
    bool stale;                        /* the view is of something else: rows are not shown */
    struct top_rate *rates;
    size_t rate_count;
    size_t objects;    /* number of different objects in the last sweep, */
    int64_t bytes;     /* and their bytes */
    size_t text_lines; /* of facts or help, set by drawing: scrolling ends there */
    /* The pending request, and a problem, for the status line; the caller sets them. */
    int64_t asked_ms; /* 0: none */
    char problem[512];
};

/* Actions that a key requests, as bits. */
enum top_action {
    TOP_DO_NOTHING = 0,
    TOP_DO_QUIT = 1,
    TOP_DO_VIEW = 2,   /* top_model_wanted() has changed */
    TOP_DO_ASK = 4,    /* take a sweep now */
    TOP_DO_DETAIL = 8, /* ask about the shown object, or its owner */
    TOP_DO_TIMER = 16, /* interval or pause has changed */
};

void top_model_init(struct top_model *model, const struct sweep_query *first);
void top_model_clear(struct top_model *model);
/* Returns bits of enum top_action. */
unsigned top_model_key(struct top_model *model, int key);
void top_model_resize(struct top_model *model, int columns, int height);

/* Sets a new sweep and calculates the rates. */
void top_model_set_sweep(struct top_model *model, const struct object_sweep *sweep);
/* Sets the view of top_model_wanted(), and the same view of the first sweep. */
void top_model_set_view(struct top_model *model, const struct top_view *view,
                        const struct top_view *first);
/* The contents of the shown list; the caller clears it. */
void top_model_wanted(const struct top_model *model, struct top_wanted *out);
/* True if the list needs the names or the ages of tasks. */
bool top_model_names_wanted(const struct top_model *model);
int64_t top_model_interval_ms(const struct top_model *model);

/* --- for keys --- */

/* Chooses the entry in line `frame->cursor`. */
void top_model_choose(struct top_model *model, struct top_frame *frame);
/* Moves the cursor to the chosen entry; if that is gone, the cursor stays and its line is
 * chosen. */
void top_model_find_chosen(struct top_model *model, struct top_frame *frame);
void top_model_keep_in_sight(const struct top_model *model, struct top_frame *frame);

/* --- for drawing --- */

struct top_layout {
    size_t nodes; /* that show in the header */
    bool more;    /* a line says how many nodes do not show */
    int path, title, list, list_lines, status, keys;
};
struct top_layout top_model_layout(const struct top_model *model);
const struct top_frame *top_model_frame(const struct top_model *model);
/* The list frame that is shown, or the one in which the shown object was chosen. */
const struct top_frame *top_model_list(const struct top_model *model);
const struct top_rate *top_model_rate(const struct top_model *model, const char *node_id);
/* The process that owns the shown object; -1: not known. */
int32_t top_model_owner(const struct top_model *model);
/* The name of a "group by": "node", "reference" for OBJECT_BY_NOTHING. */
const char *top_model_by_name(enum object_group_by by);

#endif
