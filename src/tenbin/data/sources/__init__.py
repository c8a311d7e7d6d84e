"""Where rows come from: the user's choice, the catalogue's pinned sets, downloads, other files.

`choice` is what the user asked for; `pinned` and `places` find files of known and unknown sets;
`cache` and `download` fetch what is published.
"""
