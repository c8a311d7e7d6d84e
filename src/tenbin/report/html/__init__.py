"""A report of stored runs as one HTML page that opens from disk and needs no network.

    model          records of everything that a page shows
    summary        a run's result → facts and scores
    sample         a sample → what the page shows of a document
    sample_blocks  samples → compressed blocks, and an index of every cell
    analyses       sweeps, consistency, comparisons of the runs
    messages       the interface's texts, in English and Japanese
    build          all of these → a page
    page           a page → HTML under a strict content security policy
    write          HTML → one file, or a file and a folder beside it

Stored values are not trusted: texts of models and data sets reach the page as JSON and are shown as
text.
"""
