"""The programs that race. Each is run as `python -m benchmarks.fire.contenders.NAME FOLDER JOBS LEAD`."""
