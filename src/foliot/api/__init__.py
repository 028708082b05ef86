"""The REST API: what people and programs ask of Foliot over HTTP. Installed by `pip install 'foliot[api]'`.

    request ─▶ guard.py     Host, path, headers of every answer, a problem for every error
            ─▶ endpoint.py  who asks (entry.py), may they, query, path, body; then the handler; then the audit
            ─▶ a handler    a few lines over foliot.operations
            ─▶ answers.py   what is sent, as types

**Add a group of routes.** A route is a function with a docstring; all that is known of it is its signature:

    routes = Group("jobs")

    @routes.post("/jobs/{job}/pause", Scope.OPERATE)
    async def pause(call: Call, job: JobView, body: PauseBody) -> Paused:
        '''Let the occurrences of a job pass without a run.'''

1. `query` and `body`, if the function has such parameters, are msgspec structs: unknown fields are refused.
   A query that is a `Paged` has `limit` and `cursor`; `call.page` and `call.cursor` read and make cursors.
2. `{job}` in a path is looked up, and hidden from who may not see it, by the function of that name in
   `Group(…, finders={"job": find_job})`; `finders.py` has those of jobs, runs and sources.
3. The type of the answer makes the OpenAPI document. Give `status=201` where it is not 200.
4. Every verb but GET takes `?dry_run=true` (`call.dry_run`) and writes an entry of the audit by itself.
5. Add the group to `GROUPS` in `application.py`. The router, `/openapi.json`, `/docs`, the reference page and
   the test of all rights (tests/api/test_rights.py) are made from it; a route without a row there fails.

Errors of `foliot.errors` become problems in `problem.py`; a handler raises `ProblemError` for its own.
"""
