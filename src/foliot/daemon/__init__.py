"""The daemon: one process that follows a repository, or runs an application, until it is told to stop.

serve.py    one life of it, from its options to its end        load.py     the application that `--app` names
directories.py   where it keeps things                         systemd.py  ready, alive, stopping
heartbeat.py  a ping each minute, for a service outside
listen.py   its REST API                                       api_shell.py  commands that come over it
"""
