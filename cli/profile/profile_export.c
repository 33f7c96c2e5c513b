#include "cli/profile/profile_export.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- stacks --- */

/* A buffer for cpu_profile_path(); the caller frees. */
static const struct cpu_frame **path_room(const struct cpu_profile *profile)
{
    size_t depth = 0;
    for (size_t i = 0; i < profile->node_count; i++)
        depth = profile->nodes[i].depth > depth ? profile->nodes[i].depth : depth;
    return mem_array(depth + 1, sizeof(const struct cpu_frame *));
}

void profile_export_folded(const struct cpu_profile *profile, struct buf *out)
{
    const struct cpu_frame **path = path_room(profile);
    for (size_t i = 1; i < profile->node_count; i++) {
        if (!profile->nodes[i].self)
            continue;
        size_t depth = cpu_profile_path(profile, i, path);
        for (size_t k = 0; k < depth; k++) {
            buf_add_string(out, k ? ";" : "");
            cpu_profile_frame(path[k], out);
        }
        buf_printf(out, " %" PRIu64 "\n", profile->nodes[i].self);
    }
    free(path);
}

static void add_frames(const struct cpu_profile *profile, struct buf *out)
{
    for (size_t i = 0; i < profile->frame_count; i++) {
        const struct cpu_frame *frame = &profile->frames[i];
        buf_add_string(out, i ? ",{\"name\":" : "{\"name\":");
        message_quote(out, frame->function);
        if (*frame->file) {
            buf_add_string(out, ",\"file\":");
            message_quote(out, frame->file);
        }
        if (frame->line)
            buf_printf(out, ",\"line\":%" PRId64, frame->line);
        buf_add_string(out, "}");
    }
}

static void add_samples(const struct cpu_profile *profile, struct buf *out)
{
    const struct cpu_frame **path = path_room(profile);
    struct buf weights = {0};
    const char *comma = "";
    for (size_t i = 1; i < profile->node_count; i++) {
        if (!profile->nodes[i].self)
            continue;
        size_t depth = cpu_profile_path(profile, i, path);
        buf_printf(&weights, "%s%" PRIu64, comma, profile->nodes[i].self);
        buf_printf(out, "%s[", comma);
        for (size_t k = 0; k < depth; k++)
            buf_printf(out, "%s%td", k ? "," : "", path[k] - profile->frames);
        buf_add_string(out, "]");
        comma = ",";
    }
    buf_printf(out, "],\"weights\":[%s", weights.data ? weights.data : "");
    buf_free(&weights);
    free(path);
}

void profile_export_speedscope(const struct cpu_profile *profile, const char *title,
                               struct buf *out)
{
    buf_add_string(out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
                        "\"exporter\":\"raydbg " RAYDBG_VERSION "\",\"name\":");
    message_quote(out, title);
    buf_add_string(out, ",\"shared\":{\"frames\":[");
    add_frames(profile, out);
    buf_add_string(out, "]},\"profiles\":[{\"type\":\"sampled\",\"name\":");
    message_quote(out, title);
    buf_printf(out, ",\"unit\":\"none\",\"startValue\":0,\"endValue\":%" PRIu64 ",\"samples\":[",
               profile->samples);
    add_samples(profile, out);
    buf_add_string(out, "]}]}\n");
}

/* --- SVG --- */

enum { WIDTH = 1200, MARGIN = 10, ROW = 17, HEAD = 40, LETTER = 7 };

static void add_escaped(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        const char *entity = text[i] == '&'   ? "&amp;"
                             : text[i] == '<' ? "&lt;"
                             : text[i] == '>' ? "&gt;"
                             : text[i] == '"' ? "&quot;"
                                              : NULL;
        if (entity)
            buf_add_string(out, entity);
        else
            buf_add(out, &text[i], 1);
    }
}

/* Appends the beginning of the text that fits into `room` characters. */
static void add_label(struct buf *out, const char *text, size_t room)
{
    size_t len = 0, count = 0, cut = 0;
    while (text[len]) {
        size_t size = text_utf8(text + len, strlen(text + len));
        len += size ? size : 1;
        if (++count + 2 <= room)
            cut = len;
    }
    add_escaped(out, text, count <= room ? len : cut);
    if (count > room)
        buf_add_string(out, "..");
}

/* A warm colour, the same for each function of a file. */
static void add_colour(struct buf *out, const char *file)
{
    unsigned tone = 7;
    for (; *file; file++)
        tone = tone * 31 + (unsigned char)*file;
    buf_printf(out, "rgb(%u,%u,%u)", 215 + tone % 40, 110 + tone / 40 % 110, 50 + tone / 4400 % 40);
}

static void add_box(const struct cpu_profile *profile, size_t position, double x, struct buf *out)
{
    const struct cpu_node *node = &profile->nodes[position];
    const struct cpu_frame *frame = &profile->frames[node->frame];
    double unit = (double)(WIDTH - 2 * MARGIN) / (double)profile->samples;
    double width = unit * (double)node->total;
    size_t y = HEAD + ROW * (position ? node->depth : 0);
    struct buf text = {0};
    if (position)
        cpu_profile_frame(frame, &text);
    else
        buf_add_string(&text, "all");
    buf_add_string(out, "<g><title>");
    add_escaped(out, text.data, text.len);
    buf_printf(out, ": %" PRIu64 " samples, %.1f %%, in %zu of %zu processes</title>", node->total,
               100.0 * (double)node->total / (double)profile->samples, node->processes,
               profile->nodes[0].processes);
    buf_printf(out,
               "<rect x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\" "
               "stroke=\"#fffdf5\" fill=\"",
               (double)MARGIN + unit * x, y, width, ROW - 1);
    add_colour(out, position ? frame->file : "");
    buf_add_string(out, "\"/>");
    if (width > 3 * LETTER) {
        buf_printf(out, "<text x=\"%.2f\" y=\"%zu\">", (double)MARGIN + unit * x + 3, y + ROW - 5);
        add_label(out, text.data, (size_t)((width - 6) / (double)LETTER));
        buf_add_string(out, "</text>");
    }
    buf_add_string(out, "</g>\n");
    buf_free(&text);
}

static int compare_nodes(const void *a, const void *b, void *arg)
{
    const struct cpu_node *nodes = arg;
    size_t one = *(const size_t *)a, two = *(const size_t *)b;
    if (nodes[one].parent != nodes[two].parent)
        return nodes[one].parent < nodes[two].parent ? -1 : 1;
    if (nodes[one].total != nodes[two].total)
        return nodes[one].total > nodes[two].total ? -1 : 1;
    return one < two ? -1 : one > two;
}

/* Each branch is put at the right of its wider siblings: a parent has a lower position than its
 * branches, and so has its own x by then. Returns the depth of what is wide enough. */
static size_t add_boxes(const struct cpu_profile *profile, struct buf *out)
{
    size_t count = profile->node_count, depth = 0;
    size_t *order = mem_array(count, sizeof *order);
    uint64_t *next = mem_array(count, sizeof *next); /* where the next branch of a node begins */
    for (size_t i = 0; i < count; i++)
        order[i] = i;
    qsort_r(order + 1, count - 1, sizeof *order, compare_nodes, profile->nodes);
    for (size_t i = 0; i < count; i++) {
        const struct cpu_node *node = &profile->nodes[order[i]];
        uint64_t x = order[i] ? next[node->parent] : 0;
        next[order[i]] = x;
        if (order[i])
            next[node->parent] += node->total;
        if ((double)node->total * 4 * (double)WIDTH < (double)profile->samples)
            continue;
        add_box(profile, order[i], (double)x, out);
        depth = node->depth > depth ? node->depth : depth;
    }
    free(next);
    free(order);
    return depth;
}

void profile_export_svg(const struct cpu_profile *profile, const char *title, struct buf *out)
{
    struct buf boxes = {0};
    size_t height = HEAD + ROW * (add_boxes(profile, &boxes) + 1) + MARGIN;
    buf_printf(out,
               "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
               "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%zu\" "
               "viewBox=\"0 0 %d %zu\" font-family=\"monospace\" font-size=\"11\">\n"
               "<rect width=\"100%%\" height=\"100%%\" fill=\"#fffdf5\"/>\n"
               "<text x=\"%d\" y=\"25\" font-size=\"15\">",
               WIDTH, height, WIDTH, height, MARGIN);
    add_escaped(out, title, strlen(title));
    buf_add_string(out, "</text>\n");
    buf_add(out, boxes.data, boxes.len);
    buf_add_string(out, "</svg>\n");
    buf_free(&boxes);
}
