"""`tenbin serve`: the report over all runs of a folder, for the browser of whoever may see it.

files     a file of the folder → JSON, believed in nothing
listing   a folder → its runs, finished, going on and damaged
library   chosen runs → a page, built when asked for and kept while nothing changes
access    who may ask: host names, tokens, headers of every answer
incoming  what a client sends, within bounds of time and size
handling  addresses → answers; read-only
server    connections, so many at a time
"""
