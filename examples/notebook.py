"""Jobs in a notebook: the engine runs in the background, and cells go on declaring jobs.

Each `# %%` begins a cell: VS Code, PyCharm, Spyder and jupytext open this file as a notebook.
"""

# %% Start the engine. It runs in threads of its own, so the notebook stays free.
from foliot import Every, Foliot

app = Foliot("sqlite:///notebook.db")
app.start()
seen: list[str] = []


# %% Declare a job. It is taken up at once; run the cell again with other code: that code runs.
@app.job(Every("1s"))
async def look() -> None:
    """Jobs share the notebook's variables."""
    seen.append("looked")


# %% Run it now, without waiting for its time.
key = app.wait(app.trigger("look"))
print("asked for", key)

# %% What is there, and what is next?
for status in app.wait(app.jobs()):
    print(status.name, status.schedule, "next at", status.next_at)

# %% What has run?
for attempt in app.wait(app.history("look", limit=3)):
    print(attempt.run_key, attempt.outcome or attempt.state)

# %% Why does it not run? Pause it, and ask.
app.wait(app.pause("look"))
print(app.wait(app.why("look")))
app.wait(app.resume("look"))

# %% End. What runs may finish; the file keeps the rest for the next start of the notebook.
app.stop()
