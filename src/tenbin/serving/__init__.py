"""`tenbin serve`: the report over all runs of a folder, for the browser of whoever may see it.

listing   a folder → its runs, finished and going on
library   chosen runs → a page, built when asked for and kept while nothing changes
access    who may ask: host names, tokens, headers of every answer
server    addresses → answers; read-only
"""
