/* The labels of nodes, which a task or an actor may require. */
#include "base/buf.h"
#include "base/text.h"
#include "relay/why/why_rules.h"

#include <string.h>

static const char *value_of(const struct ray_node *node, const char *key)
{
    for (size_t i = 0; i < node->labels.count; i++)
        if (text_equal(node->labels.items[i].key, key))
            return node->labels.items[i].value;
    return NULL;
}

/* True if `value` is one of "eu,us)", the list up to its end. */
static bool is_in_list(const char *list, const char *value)
{
    size_t len = strlen(value);
    while (*list && *list != ')') {
        list += strspn(list, " ");
        size_t item = strcspn(list, ",)"), trimmed = item;
        while (trimmed && list[trimmed - 1] == ' ')
            trimmed--;
        if (trimmed == len && memcmp(list, value, len) == 0)
            return true;
        list += item + (list[item] == ',');
    }
    return false;
}

/* "eu", "!eu", "in(eu,us)" or "!in(eu,us)". */
static bool has_value(const char *wanted, const char *value)
{
    bool without = *wanted == '!', found;
    wanted += without;
    if (text_starts(wanted, "in("))
        found = value && is_in_list(wanted + 3, value);
    else
        found = value && text_equal(wanted, value);
    return found != without;
}

const struct ray_labels *why_labels_of(const struct ray_attempt *attempt)
{
    static const struct ray_labels none;
    return attempt->has_fallback ? &none : &attempt->selector;
}

bool why_labels_match(const struct ray_labels *selector, const struct ray_node *node)
{
    for (size_t i = 0; i < selector->count; i++)
        if (!node || !has_value(selector->items[i].value, value_of(node, selector->items[i].key)))
            return false;
    return true;
}

void why_labels_tell(const struct why_records *records, const struct ray_labels *selector,
                     struct why_report *report)
{
    struct buf text = {0};
    for (size_t i = 0; i < selector->count; i++)
        buf_printf(&text, "%s%s: %s", i ? ", " : "", selector->items[i].key,
                   selector->items[i].value);
    why_report_cause(report, "infeasible", "no node has the labels that it needs, {%s}", text.data);
    buf_free(&text);
    for (size_t i = 0; i < records->node_count; i++) {
        const struct ray_node *node = &records->nodes[i];
        for (size_t k = 0; node->is_alive && k < selector->count; k++) {
            const struct ray_label *it = &selector->items[k];
            const char *value = value_of(node, it->key);
            if (!has_value(it->value, value))
                why_list_add(&report->details, "%s has %s%s%s", node->ip,
                             value ? it->key : "no label ", value ? ": " : "",
                             value ? value : it->key);
        }
    }
    why_list_add(&report->ray, "Ray keeps it waiting for a node that has them, without limit");
}
