"""The command line.

In: arguments and files. Out: results on stdout, messages on stderr, exit 0 when fine, 1 when something failed, 2 for
bad input. Does not: decide anything; each command calls the rooms below and shows what they say.
"""
