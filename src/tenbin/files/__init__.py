"""Files that somebody else wrote or named: which may be read, and how they are opened.

Knows paths and bytes; knows no format, no task and no setting.
"""
