"""The dashboard: pages for people, on the API's own functions. Installed with `pip install 'foliot[api]'`.

    request ─▶ api/guard.py   Host, path, headers
            ─▶ endpoint.py    who asks, scope, query and audit as in the API; forms; errors as pages
            ─▶ a handler      asks functions of foliot.api, or foliot.operations, and renders a template
            ─▶ view.py        Jinja2: every text is escaped, an unknown name is an error

**A page is a route** of a `Pages` group, as those of the API are: its scope, its query and its finders are
checked by the same code. Nothing here reads a store, a right or an origin by rules of its own.

**Every page works without JavaScript.** A form is sent, and answered by a redirect, or by the form with what
was typed. A form with a field `preview` is a dry run: its answer shows the effect and a button *Confirm*. The
script (static/script.js) only adds: it reads regions again after a hint, and handles keys.

**Time is the server's.** Relative times, zones, gaps and folds of clocks are computed here. Drawings are SVG
that templates write from the numbers of `drawing.py`.

**A store that is away** does not blank a page: `last_page.py` has the last one, which is shown with its age.

To add a page: a module with `pages = Pages(…)`, a template, a line in `application.py`, a row in
tests/dashboard/test_rights.py.
"""
