"""`tenbin serve`: reports of all runs in a folder, read-only, for a browser.

served_files    regular files of the folder, read with limits and not trusted
index           the folder's runs: finished, partial, in progress, damaged
headlines       what the list shows of the scores of a run
leaderboards    the leaderboard of all runs, built in the background
pages           pages of chosen runs, built on request and cached while their files are unchanged
access          who may ask: host names, tokens, headers of every answer
request_limits  limits of time and size for what a client sends
handler         addresses → answers
server          connections, a limited number at a time
"""
