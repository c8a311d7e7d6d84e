"""A report of stored runs as one HTML page that opens from disk and needs no network.

    model          records of everything that a page shows
    summary        a run's result → facts and scores
    sample         a sample → what the page shows of a document
    sample_blocks  samples → compressed blocks, and an index of every cell
    run_names      what the runs are called, and the settings by which they differ
    alignment      which tasks of several runs stand side by side
    analyses       sweeps, option order, consistency across languages
    comparison     every pair of runs, as far as they go together
    curve          figures of learning curves
    messages       the interface's texts, in English and Japanese
    build          all of these → a page
    page           a page → HTML under a strict content security policy
    write          HTML → one file, or a file and a folder beside it

Stored values are not trusted: texts of models and data sets reach the page as JSON and are shown as
text.
"""
