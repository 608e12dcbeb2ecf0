"""Simulation: the flows of a plan over virtual time, on as many virtual sites as are wanted.

In: a plan, a network, rates that change. Out: bytes per link, load per site and latency per query at every moment.
Does not: process rows, or look at a clock.
"""
