#include "proto/gcs_failures.h"

#include "proto/failure_reply.h"
#include "proto/gcs_state.h"
#include "proto/reply.h"

static void read_attempts(struct gcs_call *call, const struct rpc_reply *reply, bool timed)
{
    struct err err;
    struct ray_attempt *attempts = NULL;
    size_t count = 0;
    int64_t dropped = 0;
    bool good = gcs_call_answered(reply, &err) &&
                failure_reply_attempts(reply->bytes, reply->len, call->gcs->version, timed,
                                       &attempts, &count, &dropped, &err) == 0;
    call->fn.attempts(call->inflight.arg, good ? NULL : &err, attempts, count, dropped);
}

static void on_attempts(struct gcs_call *call, const struct rpc_reply *reply)
{
    read_attempts(call, reply, false);
}

void gcs_attempts(struct gcs *gcs, const char *task_id, gcs_attempts_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_attempts, arg);
    struct buf request = {0};
    struct err err = {0};
    call->fn.attempts = fn;
    if (task_id && request_task(gcs->filter, task_id, &request, &err)) {
        rpc_refuse(gcs->rpc, &err, gcs_call_on_reply, call);
        return;
    }
    gcs_call_send(call, gcs->channel, "/ray.rpc.TaskInfoGcsService/GetTaskEvents", &request);
}

static void on_timeline(struct gcs_call *call, const struct rpc_reply *reply)
{
    read_attempts(call, reply, true);
}

void gcs_timeline(struct gcs *gcs, gcs_attempts_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_timeline, arg);
    struct buf none = {0};
    call->fn.attempts = fn;
    gcs_call_send(call, gcs->channel, "/ray.rpc.TaskInfoGcsService/GetTaskEvents", &none);
}

static void on_actors(struct gcs_call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_actor *actors = NULL;
    size_t count = 0;
    bool good = gcs_call_answered(reply, &err) &&
                reply_actors(reply->bytes, reply->len, &actors, &count, &err) == 0;
    call->fn.actors(call->inflight.arg, good ? NULL : &err, actors, count);
}

void gcs_all_actors(struct gcs *gcs, gcs_actors_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_actors, arg);
    struct buf request = {0};
    call->fn.actors = fn;
    request_all_actors(&request);
    gcs_call_send(call, gcs->channel, "/ray.rpc.ActorInfoGcsService/GetAllActorInfo", &request);
}

static void on_jobs(struct gcs_call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_job *jobs = NULL;
    size_t count = 0;
    bool good = gcs_call_answered(reply, &err) &&
                reply_jobs(reply->bytes, reply->len, &jobs, &count, &err) == 0;
    call->fn.jobs(call->inflight.arg, good ? NULL : &err, jobs, count);
}

void gcs_submitted_jobs(struct gcs *gcs, gcs_jobs_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_jobs, arg);
    struct buf none = {0};
    call->fn.jobs = fn;
    gcs_call_send(call, gcs->channel, "/ray.rpc.JobInfoGcsService/GetAllJobInfo", &none);
}

static void on_groups(struct gcs_call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_group *groups = NULL;
    size_t count = 0;
    bool good = gcs_call_answered(reply, &err) &&
                failure_reply_groups(reply->bytes, reply->len, call->gcs->version, &groups, &count,
                                     &err) == 0;
    call->fn.groups(call->inflight.arg, good ? NULL : &err, groups, count);
}

void gcs_groups(struct gcs *gcs, gcs_groups_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_groups, arg);
    struct buf none = {0};
    call->fn.groups = fn;
    gcs_call_send(call, gcs->channel, "/ray.rpc.PlacementGroupInfoGcsService/GetAllPlacementGroup",
                  &none);
}

static void on_resources(struct gcs_call *call, const struct rpc_reply *reply)
{
    struct err err;
    struct ray_resource_state state;
    bool good = gcs_call_answered(reply, &err) &&
                failure_reply_resources(reply->bytes, reply->len, &state, &err) == 0;
    call->fn.resources(call->inflight.arg, good ? NULL : &err, good ? &state : NULL);
}

void gcs_resources(struct gcs *gcs, gcs_resources_fn fn, void *arg)
{
    struct gcs_call *call = gcs_call_new(gcs, on_resources, arg);
    struct buf none = {0};
    call->fn.resources = fn;
    gcs_call_send(call, gcs->channel,
                  "/ray.rpc.autoscaler.AutoscalerStateService/GetClusterResourceState", &none);
}
