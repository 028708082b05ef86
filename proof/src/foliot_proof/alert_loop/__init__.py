"""Kills between a failure and its message: whatever dies, each episode is told, under one id.

    life       a real engine with a real webhook; its jobs fail and succeed by the number of the occurrence
    receiver   a real web server in a process of its own: writes down what it is sent, and is moody
    judge      computes the episodes from the stored attempts, and holds the messages against them

It goes on where the kill loop (`foliot_proof.kill_loop`) ends: same clock, same forks, same way to die.
"""
