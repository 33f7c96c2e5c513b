/* The rules by kind of subject, and what they share; the inside of why_judge.h. */
#ifndef RAYDBG_RELAY_WHY_WHY_RULES_H
#define RAYDBG_RELAY_WHY_WHY_RULES_H

#include "relay/why/why_judge.h"
#include "relay/why_records/why_names.h"

/* Each judges one subject into the report: its cause, and links of the chain. They may call each
 * other: a task's cause may be its actor's death. */
void why_rules_task(const struct why_records *records, const struct ray_attempt *attempt,
                    struct why_report *report);
/* True if the attempt called an exit, or was interrupted: Ray lists it as FINISHED, and its caller
 * gets an error. */
bool why_rules_exited(const struct why_records *records, const struct ray_attempt *attempt);
bool why_rules_interrupted(const struct ray_attempt *attempt);
/* The cause alone, of an attempt that has failed or finished. */
void why_rules_ended_task(const struct why_records *records, const struct ray_attempt *attempt,
                          struct why_report *report);
/* Adds what Ray does about a failure, and why the attempt is not the task's first. */
void why_rules_retries(const struct why_records *records, const struct ray_attempt *attempt,
                       struct why_report *report);
void why_rules_waiting_task(const struct why_records *records, const struct ray_attempt *attempt,
                            struct why_report *report);
void why_rules_running_task(const struct why_records *records, const struct ray_attempt *attempt,
                            struct why_report *report);
/* True if the task is stopped in a debugger: that is the cause. */
bool why_rules_own_pause(const struct why_records *records, const struct ray_attempt *attempt,
                         struct why_report *report);
/* If the task waits, or may wait, for one that is stopped in a debugger, that becomes the cause. */
void why_rules_others_pause(const struct why_records *records, const struct ray_attempt *attempt,
                            struct why_report *report);
/* True if the task is proven to wait for itself: that is the cause. */
bool why_rules_deadlock(const struct why_records *records, const struct ray_attempt *attempt,
                        struct why_report *report);
/* If the task may wait for itself, that becomes the cause. */
void why_rules_cycle(const struct why_records *records, const struct ray_attempt *attempt,
                     struct why_report *report);
void why_rules_actor(const struct why_records *records, const struct ray_actor *actor,
                     struct why_report *report);
void why_rules_worker(const struct why_records *records, const struct ray_worker *worker,
                      struct why_report *report);
void why_rules_node(const struct why_records *records, const struct ray_node *node,
                    struct why_report *report);
void why_rules_job(const struct why_records *records, const struct ray_job *job,
                   struct why_report *report);
void why_rules_group(const struct why_records *records, const struct ray_group *group,
                     struct why_report *report);
void why_rules_object(const struct why_records *records, const struct object_id *id,
                      struct why_report *report);

/* An actor's death from its cause; `worker`, which may be NULL, is the process in question. */
void why_rules_death(const struct why_records *records, const struct ray_actor_death *death,
                     const struct ray_worker *worker, struct why_report *report);
/* Why something that needs these resources, on a node with these labels, has no node. */
void why_rules_resources(const struct why_records *records, const struct ray_resources *needs,
                         const struct ray_labels *selector, struct why_report *report);
/* The same of an actor that has these resources for its life: it may start only where there is a
 * CPU. */
void why_rules_creation(const struct why_records *records, const struct ray_resources *needs,
                        const struct ray_labels *selector, struct why_report *report);
/* True if the node could run the attempt, if nothing else ran there. */
bool why_resources_could_run(const struct why_records *records,
                             const struct ray_node_resources *node,
                             const struct ray_attempt *attempt);
/* True if the attempt waits, as far as the tables tell, since this node has too little free of what
 * it needs: the node could run it, and no node can run it now. Of a
 * cluster whose free resources are not known each node may be the one. */
bool why_resources_lack(const struct why_records *records, const struct ray_attempt *waiting,
                        const struct ray_resource *need, const char *node_id);
/* True for the CPUs of a node or of a placement group: Ray lends them on while a task blocks. */
bool why_resources_is_cpu(const char *resource);
/* The resources that the actor has for its life. */
const struct ray_resources *why_resources_of(const struct ray_actor *actor);
/* The labels that the attempt's node must have; none if other labels will do, too. */
const struct ray_labels *why_labels_of(const struct ray_attempt *attempt);
/* True if the node, which may be NULL, has the labels. */
bool why_labels_match(const struct ray_labels *selector, const struct ray_node *node);
/* No node has the labels: that is the cause. */
void why_labels_tell(const struct why_records *records, const struct ray_labels *selector,
                     struct why_report *report);
/* Why something whose resources are free has no worker: that is the cause. */
void why_rules_start(const struct why_records *records, struct why_report *report);
/* Adds what the raylets say of workers that they could not start, as details; false if they say
 * nothing. */
bool why_rules_startup(const struct why_records *records, struct why_report *report);

/* Adds what the proof of a deadlock needs, if the attempt may be in one. */
void why_rules_need_proof(const struct why_records *records, const struct ray_attempt *attempt,
                          struct why_needs *needs);
/* Each adds a need, once, if there is room; `worker` and `node` may be NULL. why_judge.c. */
void why_judge_need_refs(const struct why_records *records, const struct ray_worker *worker,
                         struct why_needs *needs);
void why_judge_need_gauges(const struct ray_node *node, struct why_needs *needs);
/* Add what judging one of them needs; why_judge.c. */
void why_judge_need_task(const struct why_records *records, const struct ray_attempt *attempt,
                         struct why_needs *needs);
/* The needs of the attempt before, if there is one. */
void why_judge_need_previous(const struct why_records *records, const struct ray_attempt *attempt,
                             struct why_needs *needs);
void why_judge_need_actor(const struct why_records *records, const struct ray_actor *actor,
                          struct why_needs *needs);

/* The last attempt of the task that made an object, and the process that owns it; NULL if unknown.
 */
const struct ray_attempt *why_object_task(const struct why_records *records,
                                          const struct object_id *id);
const struct ray_worker *why_object_owner(const struct why_records *records,
                                          const struct object_id *id,
                                          const struct ray_attempt *maker);

#endif
